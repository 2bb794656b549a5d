import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import type { Page, Request } from 'playwright-core';
import { newPerson } from '../console/console-client.ts';
import { whyNoChromium } from '../fixtures/chromium.ts';
import type { TestService } from '../fixtures/test-service.ts';
import { order, PAYMENTS } from '../interface/payment-requests.ts';
import { press } from './actions.ts';
import type { TestBrowser } from './browser.ts';
import { assertNoSideways } from './looks.ts';
import { visitAs } from './member.ts';
import { type ApiClient, CARDS, newApiClient, storeCaptures } from './seed-data.ts';
import { shareService } from './shared-service.ts';
import { settled, visit, visitWithin } from './tour.ts';
import { untilPasses } from './until-passes.ts';

const POLL_MS = 5000;
const UNATTENDED_MS = 5 * 60_000;

/** Lists that stay open while the merchant's servers work. */
describe('a list that stays open', { skip: whyNoChromium() }, () => {
  const shared = shareService();
  let service: TestService;
  let browser: TestBrowser;
  let account: string;
  let page: Page;
  let send: ApiClient;
  /** Searches that the page sent. */
  const sent = { polls: 0, reads: 0 };
  before(async () => {
    ({ service, browser } = await shared.open());
    account = await service.newAccount('Corner shop');
    await service.enablePayments(account);
    const { secret } = await service.newKey(account, { name: 'Live lists' });
    send = newApiClient(service, secret, 'sandbox');
    await pay();
    // A size of its own: the clock of its context is not taken over by others.
    const visitor = await visitAs(await newPerson(service, account, 'owner'), browser, { height: 790 });
    page = visitor.page;
    await page.clock.install({ time: service.now() });
    page.on('request', (request: Request) => {
      if (request.url().endsWith('/search')) sent[request.headers()['x-passive'] === undefined ? 'reads' : 'polls']++;
    });
    await visit(page, `/a/${account}/sandbox/payments`);
  });
  afterEach(() => browser.check());
  after(() => shared.close());

  let references = 0;
  const pay = async (): Promise<string> => {
    const reference = `LIVE-${++references}`;
    const card = { number: CARDS[0], expiration_date: '12/2031', security_code: '123', holder: 'Ana Lopez' };
    const response = await send(
      PAYMENTS,
      order('payment', { card, amount: 20, currency: 'USD', triggers: '', reference }),
    );
    assert.equal(response.status, 200, response.text);
    return reference;
  };
  /** The clock of the page also runs by itself, so one poll more may come in between. */
  const poll = async (): Promise<void> => {
    const before = sent.polls;
    await untilPasses(async () => {
      await page.clock.runFor(POLL_MS);
      assert.ok(sent.polls > before);
    });
  };
  const firstRow = () => page.getByRole('table', { name: 'Payments' }).getByRole('row').nth(1);

  it('shows new rows by itself', async () => {
    const reference = await pay();
    await poll();
    await firstRow().filter({ hasText: reference }).waitFor();
  });

  it('moves no row while one has the focus, and shows how many are new', async () => {
    const before = await firstRow().textContent();
    await firstRow().getByRole('link').focus();
    const [first, second] = [await pay(), await pay()];
    await poll();
    const button = page.getByRole('status').getByRole('button', { name: '2 new', exact: true });
    await button.waitFor();
    assert.equal(await firstRow().textContent(), before);
    await button.click();
    await firstRow().filter({ hasText: second }).waitFor();
    await page.getByRole('row').nth(2).filter({ hasText: first }).waitFor();
    await button.waitFor({ state: 'detached' });
    assert.equal(await page.locator(':focus').count(), 1, 'the keyboard stays at the table');
  });

  it('is read again by Search, also with the same filters', async () => {
    const before = sent.reads;
    const reference = await pay();
    await press(page, 'Search');
    await firstRow().filter({ hasText: reference }).waitFor();
    assert.equal(sent.reads, before + 1);
  });

  it('is sorted by the oldest first, which the address keeps', async () => {
    const newest = (await firstRow().textContent()) ?? '';
    const header = page.getByRole('columnheader', { name: 'Created' });
    assert.equal(await header.getAttribute('aria-sort'), 'descending');
    await header.getByRole('button').click();
    await page.waitForURL(/\?order=oldest$/);
    await page.locator('th[aria-sort="ascending"]').waitFor();
    await firstRow().filter({ hasText: 'LIVE-1' }).waitFor();
    await page.goBack();
    await untilPasses(async () => assert.equal(await firstRow().textContent(), newest));
  });

  it('of temporary card data and of audit records is sorted, too, also on a telephone', async () => {
    const lists = [
      ['sandbox/captures', 'Temporary card data', 'Created'],
      ['audit', 'Audit records', 'When'],
    ] as const;
    for (let count = 0; count < 2; count++) await storeCaptures(send);
    await page.setViewportSize({ width: 390, height: 790 });
    for (const [path, name, column] of lists) {
      await visitWithin(page, `/a/${account}/${path}`);
      const table = page.getByRole('table', { name });
      const rows = table.getByRole('row');
      await rows.nth(2).waitFor();
      await settled(page);
      const newest = await rows.nth(1).textContent();
      await table.getByRole('columnheader', { name: column }).getByRole('button').click();
      await page.waitForURL(/[?]order=oldest$/);
      await table.locator('th[aria-sort="ascending"]').waitFor();
      await untilPasses(async () => assert.notEqual(await rows.nth(1).textContent(), newest));
      await assertNoSideways(page);
      await page.reload();
      await table.locator('th[aria-sort="ascending"]').waitFor();
    }
    await page.setViewportSize({ width: 1280, height: 790 });
    await visitWithin(page, `/a/${account}/sandbox/payments`);
    await firstRow().waitFor();
  });

  it('is polled only while the page is visible and has input', async () => {
    const hide = (isHidden: boolean) =>
      page.evaluate(
        `Object.defineProperty(document, 'hidden', { value: ${isHidden}, configurable: true });
        document.dispatchEvent(new Event('visibilitychange'))`,
      );
    const assertNotPolled = async () => {
      const before = sent.polls;
      for (let count = 0; count < 4; count++) await page.clock.runFor(POLL_MS);
      assert.equal(sent.polls, before);
    };
    await hide(true);
    await assertNotPolled();
    const hidden = await pay();
    await hide(false);
    await firstRow().filter({ hasText: hidden }).waitFor();
    await page.clock.fastForward(UNATTENDED_MS);
    await assertNotPolled();
    const unattended = await pay();
    await page.mouse.move(200, 300);
    await firstRow().filter({ hasText: unattended }).waitFor();
  });

  it('cuts off no column at twice the size', async () => {
    for (const width of [640, 720, 960]) {
      await page.setViewportSize({ width, height: 790 });
      const hidden =
        'document.querySelector("table").parentElement.scrollWidth > document.querySelector("table").clientWidth';
      await untilPasses(async () => assert.equal(await page.evaluate(hidden), false, `${width} pixels`));
    }
    await page.setViewportSize({ width: 1280, height: 790 });
  });

  it('keeps its place when an audit record is open', async () => {
    await visitWithin(page, `/a/${account}/audit`);
    await settled(page);
    const rows = page.getByRole('table').getByRole('row');
    await rows.nth(1).getByRole('button').click();
    const before = await rows.nth(1).textContent();
    await service.newKey(account, { name: 'Made meanwhile' });
    await poll();
    await page
      .getByRole('status')
      .getByRole('button', { name: /^\d+ new$/ })
      .waitFor();
    assert.equal(await rows.nth(1).textContent(), before);
    await rows.nth(1).getByRole('button').click();
    await page.getByRole('status').getByRole('button').click();
    await rows.nth(1).filter({ hasText: 'key.created' }).waitFor();
  });
});
