import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, afterEach, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { whyNoChromium } from '../fixtures/chromium.ts';
import { dialogOf, notice, press } from './actions.ts';
import type { TestBrowser, Visitor } from './browser.ts';
import { Memory } from './memory.ts';
import { CARDS } from './seed-data.ts';
import type { SeededService } from './seeded-service.ts';
import { shareService } from './shared-service.ts';
import { headed, settled, visit, visitWithin } from './tour.ts';

/** The main task of each operator page, executed once. */
describe('the pages of operators', { skip: whyNoChromium() }, () => {
  const shared = shareService();
  let filled: SeededService;
  let browser: TestBrowser;
  let operator: Visitor;
  let memory: Memory;
  before(async () => {
    ({ seeded: filled, browser } = await shared.open());
    operator = await filled.operator.visit(browser);
    memory = new Memory(operator.page);
    await visit(operator.page, '/operator/accounts');
  });
  afterEach(async () => {
    await memory.readMemory();
    browser.check();
  });
  after(() => shared.close());

  const open = async (path: string, heading: string): Promise<Page> => {
    await visitWithin(operator.page, path);
    await headed(operator.page, heading);
    await settled(operator.page);
    return operator.page;
  };

  /** Exports the list of the page as CSV. */
  async function exportList(page: Page): Promise<{ name: string; file: string }> {
    await press(page, 'Export');
    await dialogOf(page).getByRole('button', { name: 'Export list' }).waitFor();
    const downloading = page.waitForEvent('download');
    await press(dialogOf(page), 'Export list');
    const download = await downloading;
    await dialogOf(page)
      .getByText(/rows? exported/)
      .waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    return { name: download.suggestedFilename(), file: readFileSync(await download.path(), 'utf8') };
  }

  it('an operator suspends an account and resumes it', async () => {
    const page = await open(`/operator/accounts/${filled.northwind.account}`, 'Northwind Travel');
    for (const [verb, state] of [
      ['Suspend account', 'Suspended'],
      ['Reactivate account', 'Onboarding'],
    ] as const) {
      await filled.operator.stepUp();
      await press(page, verb);
      await press(dialogOf(page), verb);
      await dialogOf(page).waitFor({ state: 'hidden' });
      await page.getByRole('main').getByText(state, { exact: true }).first().waitFor();
    }
  });

  it('an operator configures a processor, and sees the encryption keys and the health of the service', async () => {
    const page = await open(`/operator/accounts/${filled.harbour.account}`, 'Harbour Books');
    await filled.operator.stepUp();
    // The panel of the sandbox is the first of the two.
    await page.getByRole('button', { name: 'Change settings', exact: true }).first().click();
    const dialog = dialogOf(page);
    for (const [value, then] of [
      ['-1', () => dialog.getByText('timeout-ms: enter a whole number from 50 to 300000.').waitFor()],
      ['2000', () => notice(page, 'Saved.')],
    ] as const) {
      await dialog.getByLabel('timeout-ms').fill(value);
      await press(dialog, 'Save settings');
      await then();
    }
    await dialog.waitFor({ state: 'hidden' });
    await page.getByRole('main').getByText('2000', { exact: true }).waitFor();
    await open('/operator/processors', 'Processors');
    await page.getByRole('row').filter({ hasText: 'The processor did not respond in time' }).waitFor();
    await press(page, /^Resolve manually/);
    await press(dialogOf(page), 'Resolve manually');
    for (const text of ['Choose what the processor shows', 'Enter what you saw at the processor'])
      await dialogOf(page).getByText(text).waitFor();
    await page.keyboard.press('Escape');
    await open('/operator/keyring', 'Encryption keys');
    for (const purpose of ['Encrypts the other keys', 'Card data of tokens', 'Requests and approvals'])
      await page.getByRole('row').filter({ hasText: purpose }).first().waitFor();
    await open('/operator/health', 'Health');
    for (const text of ['Ready, with warnings', 'Certificates of proxies', 'Needs attention'])
      await page.getByRole('main').getByText(text, { exact: true }).first().waitFor();
  });

  it('accounts are found by name, and their users and requests are listed', async () => {
    const page = await open('/operator/accounts', 'Accounts');
    await page.getByLabel('Find an account').fill('north');
    await page.getByRole('row').filter({ hasText: 'Harbour Books' }).waitFor({ state: 'detached' });
    const accounts = await exportList(page);
    assert.match(accounts.name, /^accounts-.*\.csv$/);
    assert.ok(accounts.file.includes('"Northwind Travel"') && !accounts.file.includes('Harbour Books'));
    await page.getByRole('link', { name: 'Northwind Travel' }).click();
    await headed(page, 'Northwind Travel');
    for (const text of ['Noor Visser', 'Requested by Noor Visser', 'noor@northwind.example'])
      await page.getByRole('main').getByText(text).first().waitFor();
    await open('/operator/team', 'Operators');
    await page.getByRole('row').filter({ hasText: 'Tomas Berg' }).waitFor();
    await open('/operator/audit', 'Audit log of the service');
    await press(page, 'Verify log');
    await page.getByRole('status').filter({ hasText: 'Log intact' }).waitFor();
  });

  it('the request log and the audit log of an account are exported as their filters show them', async () => {
    const { account } = filled.harbour;
    for (const [path, heading, expected] of [
      ['/operator/request-log', 'Request log', `"${account}"`],
      ['/operator/audit', 'Audit log of the service', '"account.created"'],
    ] as const) {
      const page = await open(`${path}?account=${account}`, heading);
      const { file } = await exportList(page);
      assert.ok(file.includes(expected), file.slice(0, 500));
      await operator.checkAccessibility({ isSeenElsewhere: true });
    }
  });

  it('no page showed a card number, complete or truncated, and no response contained one', async () => {
    await memory.assertNever([...CARDS, '411111******1111', '411111 ••••••']);
  });
});
