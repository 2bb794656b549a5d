import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, afterEach, before, describe, it } from 'node:test';
import type { Locator, Page, Route } from 'playwright-core';
import { newPerson, type UserClient } from '../console/console-client.ts';
import { whyNoChromium } from '../fixtures/chromium.ts';
import type { TestService } from '../fixtures/test-service.ts';
import { type Merchant, newMerchant } from '../interface/payment-requests.ts';
import type { TestBrowser, Visitor } from './browser.ts';
import { visitAs } from './member.ts';
import { shareService } from './shared-service.ts';
import { button } from './sign-in-steps.ts';
import { settled, visit } from './tour.ts';
import { untilPasses } from './until-passes.ts';

/** Exports, saved views, and operations on several payments. */
describe('the daily work with a list of payments', { skip: whyNoChromium() }, () => {
  const shared = shareService();
  let service: TestService;
  let browser: TestBrowser;
  let merchant: Merchant;
  let ana: UserClient;
  let visitor: Visitor;
  let page: Page;
  let path: string;

  before(async () => {
    ({ service, browser } = await shared.open());
    merchant = await newMerchant(service);
    path = `/a/${merchant.account}/sandbox/payments`;
    ana = await newPerson(service, merchant.account, 'owner', 'Ana');
    visitor = await visitAs(ana, browser);
    page = visitor.page;
    await merchant.opened('authorization', { reference: 'DW-1', amount: 10 });
    await merchant.opened('payment', { reference: 'DW-2', amount: 20 });
    await merchant.opened('authorization', { reference: 'DW-3', amount: 30, currency: 'EUR' });
    await visit(page, path);
  });
  afterEach(() => browser.check());
  after(() => shared.close());

  const table = (of = page): Locator => of.getByRole('table', { name: 'Payments' });
  const row = (reference: string, of = page): Locator => table(of).getByRole('row').filter({ hasText: reference });
  const checkbox = (reference: string, of = page): Locator => row(reference, of).getByRole('checkbox');
  const dialog = (of = page): Locator => of.getByRole('dialog');
  const results = (of = page): Locator => dialog(of).getByRole('group', { name: 'Results' });
  /** Operations of a payment, with its first one. */
  const operations = async (id: string): Promise<number> => {
    const sql = 'select id from payment_operations where account = ?account and payment = ?';
    return (await service.core.database.read(sql, merchant.account, id)).length + 1;
  };
  const reload = async (of = page): Promise<void> => {
    await of.goto(path);
    await settled(of);
  };
  /** Two clicks before the page can show anything of the first. */
  const clickTwice = (what: Locator): Promise<void> =>
    what.evaluate((element) => {
      const control = element as unknown as { click(): void };
      control.click();
      control.click();
    });
  /** Sends the request of the page to the service, apart from the page. */
  const forward = async (route: Route): Promise<void> => {
    const request = route.request();
    const key = request.headers()['idempotency-key'] ?? '';
    const { pathname } = new URL(request.url());
    const response = await ana.send('POST', pathname, request.postDataJSON(), { 'idempotency-key': key });
    assert.equal(response.status, 200, response.text);
  };
  const select = async (references: readonly string[], of = page): Promise<void> => {
    for (const reference of references) await checkbox(reference, of).check();
  };
  const openBatch = async (action: string, submit: string, of = page): Promise<Locator> => {
    await button(of, action).click();
    const confirm = button(dialog(of), submit);
    await confirm.waitFor();
    await untilPasses(async () => assert.ok(await confirm.isEnabled()));
    return confirm;
  };

  it('says how many records there are, and exports what the filters show', async () => {
    await page.getByText('3 results', { exact: true }).waitFor();
    await button(page, 'Export').click();
    await visitor.checkAccessibility({ part: '[role=dialog]' });
    const downloading = page.waitForEvent('download');
    await button(dialog(), 'Export list').click();
    const download = await downloading;
    assert.match(download.suggestedFilename(), /^payments-sandbox-\d{4}-\d\d-\d\d-\d{6}\.csv$/);
    const file = readFileSync(await download.path(), 'utf8');
    assert.equal(file.split('\r\n').length, 5);
    for (const reference of ['DW-1', 'DW-2', 'DW-3']) assert.ok(file.includes(reference), file);
    await dialog().getByText('3 rows exported').waitFor();
    await button(dialog(), 'Close').first().click();
    await dialog().waitFor({ state: 'detached' });
  });

  it('saves filters as a view, which is found again after a reload', async () => {
    await button(page, 'More filters').click();
    await page.getByLabel('Reference begins with').fill('dw-3');
    await button(page, 'Search').click();
    await row('DW-1').waitFor({ state: 'detached' });
    await button(page, 'Views').click();
    await page.getByRole('menuitem', { name: 'Save filters as a view' }).click();
    await page.getByLabel('Name').fill('Threes');
    await clickTwice(button(dialog(), 'Save view'));
    await page.getByText('View saved.').waitFor();
    await reload();
    await row('DW-1').waitFor();
    await button(page, 'Views').click();
    await page.getByRole('menuitem', { name: 'Threes' }).click();
    await row('DW-1').waitFor({ state: 'detached' });
    assert.equal(await page.getByLabel('Reference begins with').inputValue(), 'dw-3');
    await button(page, 'Views').click();
    await page.getByRole('menuitem', { name: 'Rename or delete views' }).click();
    await visitor.checkAccessibility({ part: '[role=dialog]' });
    await page.getByLabel('Name').fill('All threes');
    await button(dialog(), 'Rename view').click();
    await button(dialog(), 'Delete view All threes').click();
    await dialog().getByText('No saved views yet').waitFor();
    await page.keyboard.press('Escape');
    await dialog().waitFor({ state: 'detached' });
    await reload();
  });

  it('captures several payments with one confirmation, by the keyboard, once for two clicks', async () => {
    const ids = [
      await merchant.opened('authorization', { reference: 'DW-A', amount: 1.5 }),
      await merchant.opened('authorization', { reference: 'DW-B', amount: 2 }),
    ];
    const collected = await merchant.opened('payment', { reference: 'DW-C', amount: 4 });
    await reload();
    for (const reference of ['DW-A', 'DW-B', 'DW-C']) {
      await checkbox(reference).focus();
      await page.keyboard.press('Space');
    }
    await page.getByText('3 payments selected').waitFor();
    const confirm = await openBatch('Capture payments', 'Capture 2 payments');
    await dialog().getByText('Total: 3.50 USD').waitFor();
    await dialog().getByText('1 selected payment is left out:').waitFor();
    await visitor.checkAccessibility({ part: '[role=dialog]' });
    await clickTwice(confirm);
    await dialog().getByText('2 of 2').waitFor();
    assert.equal(await results().getByText('Done').count(), 2);
    await visitor.checkAccessibility({ part: '[role=dialog]' });
    for (const id of ids) assert.equal(await operations(id), 2);
    assert.equal(await operations(collected), 1);
    await button(dialog(), 'Close').last().click();
    await page.getByText('3 payments selected').waitFor({ state: 'detached' });
    await row('DW-A').filter({ hasText: 'Collected' }).waitFor();
  });

  it('shows the result of the first request when its response was lost', async () => {
    const id = await merchant.opened('payment', { reference: 'DW-L', amount: 5 });
    await reload();
    let lost = 0;
    await page.route('**/refund', async (route) => {
      if (lost++ > 0) return route.continue();
      await forward(route);
      return route.abort('connectionreset');
    });
    await select(['DW-L']);
    await (await openBatch('Refund payments', 'Refund 1 payment')).click();
    await results().getByText('Done').waitFor();
    await page.unroute('**/refund');
    assert.equal(lost, 2);
    assert.equal(await operations(id), 2);
    visitor.errors.expect(/not loaded: POST .*refund/);
    await button(dialog(), 'Close').last().click();
    await dialog().waitFor({ state: 'detached' });
  });

  it('does nothing twice when the page is reloaded in the middle, or another tab does the same', async () => {
    const ids = [
      await merchant.opened('authorization', { reference: 'DW-X', amount: 6 }),
      await merchant.opened('authorization', { reference: 'DW-Y', amount: 7 }),
    ];
    const tab = await page.context().newPage();
    await Promise.all([reload(), visit(tab, path)]);
    // Both tabs have seen the payments as they are now.
    await select(['DW-X', 'DW-Y']);
    await select(['DW-X', 'DW-Y'], tab);
    const first = await openBatch('Void payments', 'Void 2 payments');
    const second = await openBatch('Void payments', 'Void 2 payments', tab);
    // The request arrives, and its response never does.
    const arrived = Promise.withResolvers<void>();
    await page.route('**/void', async (route) => {
      await forward(route);
      arrived.resolve();
    });
    await first.click();
    await arrived.promise;
    page.once('dialog', (question) => void question.accept());
    await page.goto(path);
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await second.click();
    await dialog(tab).getByText('2 of 2').waitFor();
    await untilPasses(async () => {
      for (const id of ids) assert.equal(await operations(id), 2);
    });
    await tab.close();
    await settled(page);
    await select(['DW-X', 'DW-Y']);
    await button(page, 'Void payments').click();
    await dialog().getByText('None of the selected payments allows this.').waitFor();
    for (const id of ids) assert.equal(await operations(id), 2);
    visitor.errors.checkRefusals(/void/);
  });
});
