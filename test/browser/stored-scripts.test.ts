import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { whyNoChromium } from '../fixtures/chromium.ts';
import { isLong } from '../scope.ts';
import type { TestBrowser, Visitor } from './browser.ts';
import { checkLooks } from './looks.ts';
import { type AccountWithScripts, displayedCanary, newAccountWithScripts, scriptCanary } from './script-canaries.ts';
import { shareService } from './shared-service.ts';
import { moveTo, visit, visitWithin } from './tour.ts';

/** Elements that would exist if a text had become markup. */
const GROWN = 'img[src="x"], script:not([src]), a[href^="javascript:" i], [onerror], iframe';

describe('texts of other users are shown as text on every page', { skip: whyNoChromium() }, () => {
  const shared = shareService();
  let seeded: AccountWithScripts;
  let browser: TestBrowser;
  const ran: string[] = [];
  /** The paths whose looks were checked, and what was found; `accessibility.test.ts` checks all pages in the long tests. */
  const checked = new Set<string>();
  const faults: string[] = [];
  const visitors = new Map<string, Visitor>();

  before(async () => {
    const { service, browser: own } = await shared.open();
    browser = own;
    seeded = await newAccountWithScripts(service);
    for (const who of ['owner', 'operator'] as const) {
      const visitor = await seeded[who].visit(browser);
      await visitor.page.exposeFunction('canary', (name: string) => ran.push(name));
      visitor.page.on('dialog', () => ran.push('dialog'));
      visitors.set(who, visitor);
    }
  });
  afterEach(() => browser.check());
  after(() => shared.close());

  const pageOf = (who: 'owner' | 'operator'): Page => visitors.get(who)?.page as Page;
  /** Everything that a page says, also in its fields and to who hovers. */
  const textOf = (page: Page): Promise<string> =>
    page.locator('body').evaluate((body) => {
      const { innerText, querySelectorAll } = body as unknown as HTMLElementLike;
      const all = [...querySelectorAll.call(body, '[title], [aria-label], input, textarea')];
      return [innerText, ...all.flatMap((each) => [each.title, each.ariaLabel, each.value])].join('\n');
    });
  const assertText = async (page: Page, names: readonly string[]): Promise<void> => {
    const text = await textOf(page);
    for (const name of names) assert.ok(text.includes(displayedCanary(name)), `${page.url()} does not show ${name}`);
    assert.equal(await page.locator(GROWN).count(), 0, `${page.url()} holds more than text`);
    assert.deepEqual(ran, []);
  };
  const show = async (who: 'owner' | 'operator', path: string, ...names: string[]): Promise<Page> => {
    const page = pageOf(who);
    if (page.url() === 'about:blank') await visit(page, path);
    else await moveTo(page, path);
    await assertText(page, names);
    if (isLong || path === '/' || checked.has(path)) return page;
    // The frame around the pages of an operator differs from that of an account.
    const part = who === 'operator' && ![...checked].some((each) => each.startsWith('/operator')) ? 'html' : 'main';
    checked.add(path);
    // `accessibility.test.ts` checks the contrasts of a page of each kind.
    const options = { part, isSeenElsewhere: part === 'main' };
    await checkLooks(visitors.get(who) as Visitor, options).catch((error: Error) =>
      faults.push(`${path}: ${error.message}`),
    );
    return page;
  };

  it('a canary that runs is detected', async () => {
    const page = await show('owner', '/');
    await page.evaluate("canary('itself')");
    assert.deepEqual(ran.splice(0), ['itself']);
  });

  it('keys', async () => {
    const path = `/a/${seeded.account}/sandbox/keys`;
    const page = await show('owner', path, 'account', 'key');
    await visitWithin(page, `${path}?key=${seeded.key}`);
    await page.getByRole('button', { name: 'Edit key', exact: true }).click();
    await page.getByRole('dialog', { name: 'Edit API key' }).getByLabel('Note 1').waitFor();
    await assertText(page, ['key', 'description', 'note']);
  });

  it('tokens and captures', async () => {
    const path = `/a/${seeded.account}/sandbox`;
    await show('owner', `${path}/tokens`, 'tag');
    await show('owner', `${path}/tokens/${seeded.token}`, 'holder', 'tag', 'tag-link', 'key');
    await show('owner', `${path}/captures`);
    await show('owner', `${path}/captures/${seeded.capture}`, 'info-name', 'info', 'info-list');
  });

  it('sessions of the card form', async () => {
    const page = await show('owner', `/a/${seeded.account}/sandbox/card-form`);
    await page.getByRole('button', { name: /^Cancel session cs_/ }).click();
    await page.getByRole('dialog').getByText(seeded.session).waitFor();
    await assertText(page, ['order']);
    await page.getByRole('button', { name: 'Keep open', exact: true }).click();
  });

  it('payments', async () => {
    const path = `/a/${seeded.account}/sandbox`;
    await show('owner', `${path}/payments`, 'reference');
    const page = await show('owner', `${path}/payments/${seeded.payment}`, 'reference');
    await page.locator('summary').first().click();
    await assertText(page, ['reference']);
    await show('owner', `${path}/overview`, 'account');
  });

  it('requests and their responses', async () => {
    await show('owner', `/a/${seeded.account}/onboarding`, 'asked', 'answer', 'asked-again', 'owner', 'operator');
    await show('operator', '/operator/requests', 'account', 'asked', 'answer', 'asked-again', 'owner', 'operator');
  });

  it('users, invitations and approvals', async () => {
    await show('owner', `/a/${seeded.account}/team`, 'owner', 'owner-mail', 'invited');
    await show('owner', `/a/${seeded.account}/approvals`, 'wanted', 'owner');
    await show('owner', `/a/${seeded.account}/settings`, 'account');
    await show('owner', '/profile', 'owner', 'owner-mail', 'agent');
    await show('operator', '/operator/team', 'operator', 'operator-mail');
  });

  it('the audit log', async () => {
    for (const [who, path] of [
      ['owner', `/a/${seeded.account}/audit`],
      ['operator', `/operator/audit?account=${seeded.account}`],
    ] as const) {
      const page = await show(who, path, 'actor', 'target', 'outcome');
      await page
        .getByRole('row')
        .filter({ hasText: displayedCanary('outcome') })
        .getByRole('button')
        .click();
      await page.getByText(displayedCanary('detail')).first().waitFor();
      await assertText(page, ['detail-name', 'detail', 'target', 'address']);
    }
  });

  it('accounts, as operators see them', async () => {
    await show('operator', '/operator/accounts', 'account');
    await show('operator', `/operator/accounts/${seeded.account}`, 'account', 'asked-again', 'owner', 'invited');
    for (const path of ['overview', 'processors', 'keyring', 'health']) await show('operator', `/operator/${path}`);
  });

  it('these pages have an outline, are accessible and do not overflow', {
    skip: isLong && 'accessibility.test.ts',
  }, () => {
    assert.ok(checked.size > 20);
    assert.equal(faults.join('\n\n'), '');
  });

  it('search input, and parts of the address', async () => {
    const page = await show('owner', `/a/${seeded.account}/sandbox/tokens`);
    await page.getByRole('button', { name: /Search or jump to/ }).click();
    await page.getByRole('dialog').getByRole('combobox').fill(scriptCanary('typed'));
    await assertText(page, ['typed']);
    const canary = encodeURIComponent(scriptCanary('address'));
    for (const path of [
      `/a/${seeded.account}/sandbox/tokens/${canary}`,
      `/a/${seeded.account}/sandbox/payments?reference=${canary}&status=${canary}&cursor=${canary}`,
      `/a/${seeded.account}/audit?action=${canary}&target=${canary}&from=${canary}`,
      `/a/${canary}/sandbox/keys`,
      `/a/${seeded.account}/sandbox/keys?key=${canary}&create=${canary}`,
      `/join#${canary}`,
    ]) {
      await (path.includes('/sandbox/tokens/') || path.includes('#') ? visit(page, path) : moveTo(page, path));
      await assertText(page, []);
    }
  });
});

interface HTMLElementLike {
  readonly innerText: string;
  querySelectorAll(selector: string): Iterable<{ title?: string; ariaLabel?: string | null; value?: string }>;
}
