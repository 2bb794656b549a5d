import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { whyNoChromium } from '../fixtures/chromium.ts';
import { openBrowser, type TestBrowser, type Visitor } from './browser.ts';
import { displayedCanary, type ServiceWithScripts, scriptCanary, startServiceWithScripts } from './script-canaries.ts';
import { moveTo, visit } from './tour.ts';

/** Elements that would exist if a text had become markup. */
const GROWN = 'img[src="x"], script:not([src]), a[href^="javascript:" i], [onerror], iframe';

describe('what others wrote stays text on every page', { skip: whyNoChromium() }, () => {
  let place: ServiceWithScripts;
  let browser: TestBrowser;
  const ran: string[] = [];
  const visitors = new Map<string, Visitor>();

  before(async () => {
    place = await startServiceWithScripts();
    browser = await openBrowser(place.service.ports.console);
    for (const who of ['owner', 'operator'] as const) {
      const visitor = await place[who].visit(browser);
      await visitor.page.context().exposeFunction('canary', (name: string) => ran.push(name));
      visitor.page.on('dialog', () => ran.push('dialog'));
      visitors.set(who, visitor);
    }
  });
  afterEach(() => browser.check());
  after(async () => {
    await browser?.close();
    await place?.service.stop();
  });

  const pageOf = (who: 'owner' | 'operator'): Page => visitors.get(who)?.page as Page;
  /** Everything that a page says, also in its fields and to who hovers. */
  const said = (page: Page): Promise<string> =>
    page.locator('body').evaluate((body) => {
      const { innerText, querySelectorAll } = body as unknown as HTMLElementLike;
      const all = [...querySelectorAll.call(body, '[title], [aria-label], input, textarea')];
      return [innerText, ...all.flatMap((each) => [each.title, each.ariaLabel, each.value])].join('\n');
    });
  const assertText = async (page: Page, names: readonly string[]): Promise<void> => {
    const text = await said(page);
    for (const name of names) assert.ok(text.includes(displayedCanary(name)), `${page.url()} does not show ${name}`);
    assert.equal(await page.locator(GROWN).count(), 0, `${page.url()} holds more than text`);
    assert.deepEqual(ran, []);
  };
  const show = async (who: 'owner' | 'operator', path: string, ...names: string[]): Promise<Page> => {
    const page = pageOf(who);
    if (page.url() === 'about:blank') await visit(page, path);
    else await moveTo(page, path);
    await assertText(page, names);
    return page;
  };

  it('a canary that is touched is heard', async () => {
    const page = await show('owner', '/');
    await page.evaluate("canary('itself')");
    assert.deepEqual(ran.splice(0), ['itself']);
  });

  it('keys', async () => {
    const path = `/a/${place.account}/sandbox/keys`;
    const page = await show('owner', path, 'account', 'key');
    await visit(page, `${path}?key=${place.key}`);
    await page.getByRole('button', { name: 'Edit key', exact: true }).click();
    await page.getByRole('dialog', { name: 'Edit API key' }).getByLabel('Note 1').waitFor();
    await assertText(page, ['key', 'description', 'note']);
  });

  it('tokens and captures', async () => {
    const path = `/a/${place.account}/sandbox`;
    await show('owner', `${path}/tokens`, 'tag');
    await show('owner', `${path}/tokens/${place.token}`, 'holder', 'tag', 'tag-link', 'key');
    await show('owner', `${path}/captures`);
    await show('owner', `${path}/captures/${place.capture}`, 'info-name', 'info', 'info-list');
  });

  it('payments', async () => {
    const path = `/a/${place.account}/sandbox`;
    await show('owner', `${path}/payments`, 'reference');
    const page = await show('owner', `${path}/payments/${place.payment}`, 'reference');
    await page.locator('summary').first().click();
    await assertText(page, ['reference']);
    await show('owner', `${path}/overview`, 'account');
  });

  it('requests and their answers', async () => {
    await show('owner', `/a/${place.account}/onboarding`, 'asked', 'answer', 'asked-again', 'owner', 'operator');
    await show('operator', '/operator/requests', 'account', 'asked', 'answer', 'asked-again', 'owner', 'operator');
  });

  it('users, invitations and approvals', async () => {
    await show('owner', `/a/${place.account}/team`, 'owner', 'owner-mail', 'invited');
    await show('owner', `/a/${place.account}/approvals`, 'wanted', 'owner');
    await show('owner', `/a/${place.account}/settings`, 'account');
    await show('owner', '/profile', 'owner', 'owner-mail', 'agent');
    await show('operator', '/operator/team', 'operator', 'operator-mail');
  });

  it('the audit log', async () => {
    for (const [who, path] of [
      ['owner', `/a/${place.account}/audit`],
      ['operator', `/operator/audit?account=${place.account}`],
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
    await show('operator', `/operator/accounts/${place.account}`, 'account', 'asked-again', 'owner', 'invited');
    for (const path of ['processors', 'keyring', 'health']) await show('operator', `/operator/${path}`);
  });

  it('what is typed into the search, and what stands in the address', async () => {
    const page = await show('owner', `/a/${place.account}/sandbox/tokens`);
    await page.getByRole('button', { name: /Search or jump to/ }).click();
    await page.getByRole('dialog').getByRole('combobox').fill(scriptCanary('typed'));
    await assertText(page, ['typed']);
    const word = encodeURIComponent(scriptCanary('address'));
    for (const path of [
      `/a/${place.account}/sandbox/tokens/${word}`,
      `/a/${place.account}/sandbox/payments?reference=${word}&status=${word}&cursor=${word}`,
      `/a/${place.account}/audit?action=${word}&target=${word}&from=${word}`,
      `/a/${word}/sandbox/keys`,
      `/a/${place.account}/sandbox/keys?key=${word}&create=${word}`,
      `/join#${word}`,
    ]) {
      await visit(page, path);
      await assertText(page, []);
    }
  });
});

interface HTMLElementLike {
  readonly innerText: string;
  querySelectorAll(selector: string): Iterable<{ title?: string; ariaLabel?: string | null; value?: string }>;
}
