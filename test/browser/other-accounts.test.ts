import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import type { Response } from 'playwright-core';
import { routes } from '../../console/server/routes.ts';
import { pathOf, type UserClient } from '../console/console-client.ts';
import { whyNoChromium } from '../fixtures/chromium.ts';
import type { TestService } from '../fixtures/test-service.ts';
import { inScope } from '../scope.ts';
import type { TestBrowser, Visitor } from './browser.ts';
import { visitAs } from './member.ts';
import { Memory } from './memory.ts';
import { shareService } from './shared-service.ts';
import { signOut } from './sign-in-steps.ts';
import { moveTo, visit } from './tour.ts';
import { MARK, newVictim, type Victim } from './victim.ts';

describe('records of other accounts, in the browser', { skip: whyNoChromium() }, () => {
  const shared = shareService();
  let service: TestService;
  let account: string;
  let vera: UserClient;
  let mallory: UserClient;
  let mallorys: string;
  let ids: Victim['ids'];
  let browser: TestBrowser;
  /** Answers of the console's interface to its pages. */
  const responses: Response[] = [];

  before(async () => {
    ({ service, browser } = await shared.open());
    ({ account, vera, mallory, mallorys, ids } = await newVictim(service));
  });
  afterEach(() => browser.check());
  after(() => shared.close());

  const signedIn = async (person: UserClient, path = '/'): Promise<Visitor> => {
    const visitor = await visitAs(person, browser);
    visitor.page.on('response', (response) => {
      if (response.url().startsWith(`${browser.origin}/api/`)) responses.push(response);
    });
    await visit(visitor.page, path);
    return visitor;
  };

  it('the owner of another account finds nothing at any address', async () => {
    const { page } = await signedIn(mallory);
    const memory = new Memory(page);
    const records = (base: string) => [
      `${base}/sandbox/tokens/${ids.token}`,
      `${base}/sandbox/captures/${ids.capture}`,
      `${base}/sandbox/payments/${ids.payment}`,
      `${base}/sandbox/keys?key=${ids.key}`,
    ];
    // One of each kind, as each is loaded from the service: `roles.test.ts` has all pages.
    const closed = inScope({
      usual: [`/a/${account}/team`, `/a/${account}/sandbox/payments/${ids.payment}`, `/operator/accounts/${account}`],
      long: [
        ...['audit', 'team', 'sandbox/overview', 'production/keys'].map((each) => `/a/${account}/${each}`),
        ...records(`/a/${account}`),
        ...['accounts', `accounts/${account}`, 'health'].map((each) => `/operator/${each}`),
      ],
    });
    for (const path of closed) {
      await page.goto(path);
      await page.getByRole('heading', { name: 'Page not found' }).waitFor();
      await memory.readMemory();
    }
    await visit(page, '/');
    for (const path of records(`/a/${mallorys}`)) {
      await moveTo(page, path);
      await page
        .getByText(/does not exist|not found|has expired/)
        .first()
        .waitFor();
      await memory.readMemory();
    }
    await memory.assertNever([MARK, vera.email]);
  });

  it('nor does a client that calls the interface directly', async () => {
    const params = { account, environment: 'sandbox', person: vera.id, id: ids.payment, token: ids.token };
    const theirs = routes.filter(({ path }) => path.includes(':account'));
    assert.ok(theirs.length > 30);
    for (const { method, path } of theirs)
      for (const id of new Set([ids.payment, ids.capture, ids.session, ids.key, vera.id])) {
        const response = await mallory.send(
          method,
          pathOf({ path }, { params: { ...params, id } }),
          method === 'GET' ? undefined : {},
        );
        assert.deepEqual([response.status, response.json.code], [404, 'unknown_record'], `${method} ${path}`);
      }
  });

  it('after signing out, the back button shows nothing', async () => {
    const { page } = await signedIn(vera, `/a/${account}/sandbox/keys`);
    await page.getByText(MARK).first().waitFor();
    const other = await page.context().newPage();
    await other.goto(`${browser.origin}/a/${account}/team`);
    await other.getByText(vera.email).first().waitFor();
    await moveTo(page, `/a/${account}/sandbox/tokens`);
    await page.getByText(MARK).first().waitFor();
    await signOut(page);
    await other.getByRole('heading', { name: 'Sign in' }).waitFor();
    for (let steps = 0; steps < 3; steps++) {
      await page.goBack();
      if (!page.url().startsWith(browser.origin)) break;
      await page.getByRole('heading', { name: 'Sign in' }).waitFor();
      assert.ok(!(await page.content()).includes(MARK));
    }
    assert.ok(!(await other.content()).includes(vera.email));
  });

  it('no response may be cached', async () => {
    assert.ok(responses.length > 15);
    for (const response of responses) {
      const { 'cache-control': control = '' } = await response.allHeaders();
      assert.match(control, /no-store/, response.url());
    }
  });
});
