import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { MINUTE } from '../../src/kernel/clock.ts';
import { write } from '../../src/storage/database.ts';
import { newPerson, type UserClient } from '../console/console-client.ts';
import { whyNoChromium } from '../fixtures/chromium.ts';
import type { TestService } from '../fixtures/test-service.ts';
import { idOf, type Merchant, newMerchant, TIMES_OUT } from '../interface/payment-requests.ts';
import { onlyLong } from '../scope.ts';
import { dialogOf, notice, press } from './actions.ts';
import type { TestBrowser, Visitor } from './browser.ts';
import { checkLooks } from './looks.ts';
import { visitAs } from './member.ts';
import { shareService, startEmptyService } from './shared-service.ts';
import { button, enterCode } from './sign-in-steps.ts';
import { headed, settled, visit, visitWithin } from './tour.ts';
import { untilPasses } from './until-passes.ts';

const SETTINGS = { 'timeout-ms': '300', 'recovery-delay-ms': '30000' };
const UNTIL_FIRST_CHECK_MS = 31_000;
const STEP_UP_MS = 6 * MINUTE;
const LATER_MS = 3_600_000;

/** Operations whose response was lost, until a user has their outcome. */
describe('a payment with an unknown outcome', { skip: onlyLong || whyNoChromium() }, () => {
  const shared = shareService();
  let service: TestService;
  let origin: string;
  let browser: TestBrowser;
  let merchant: Merchant;
  let ana: UserClient;
  let visitor: Visitor;
  let page: Page;
  before(async () => {
    const opened = await shared.open();
    browser = opened.browser;
    // The records of payments and of the audit log have the same time here, unlike those of the seeded service.
    service = await startEmptyService(opened.service);
    origin = `https://localhost:${service.ports.console}`;
    merchant = await newMerchant(service, SETTINGS);
    ana = await newPerson(service, merchant.account, 'owner', 'Ana Lopez');
    visitor = await visitAs(ana, browser, { origin });
    page = visitor.page;
    await visit(page, `/a/${merchant.account}/sandbox/payments`);
  });
  afterEach(() => browser.check());
  after(async () => {
    await shared.close();
    await service?.stop();
  });

  /** Recovery does nothing about the payment in the time of the test: only users do. */
  async function postpone(id: string): Promise<void> {
    const postponed = write('update payments set due_at = due_at + ? where id = ?', [LATER_MS, id], 1);
    assert.ok((await service.core.database.commit({ writes: [postponed] })).committed);
    service.advance(UNTIL_FIRST_CHECK_MS);
  }
  const open = async (id: string, heading: RegExp): Promise<void> => {
    await visitWithin(page, `/a/${merchant.account}/sandbox/payments/${id}`);
    await headed(page, heading);
    await settled(page);
  };
  const events = (of = page): Locator => of.getByRole('list', { name: 'What happened next' }).getByRole('listitem');
  /** Follows the link of an event to its audit record, and the link of the record back to the payment. */
  async function followAudit(event: Locator, action: string, expected: readonly string[]): Promise<void> {
    const address = page.url();
    await event.getByRole('link', { name: 'Audit log' }).click();
    await headed(page, 'Audit log');
    await settled(page);
    assert.equal(new URL(page.url()).searchParams.get('action'), action);
    const table = page.getByRole('table', { name: 'Audit records' });
    await table.getByText(action, { exact: true }).waitFor();
    // The header, and the one record of this payment.
    await untilPasses(async () => assert.equal(await table.getByRole('row').count(), 2));
    await table.getByRole('button', { name: /^Show details of/ }).click();
    for (const text of expected) await table.getByText(text).first().waitFor();
    await page.getByRole('link', { name: 'Show payment' }).click();
    await settled(page);
    assert.equal(page.url(), address);
  }

  it('is resolved by a check with the processor, which the history and the audit log show', async () => {
    const id = await merchant.opened('authorization', { amount: 999, triggers: '_capture_timeout' });
    idOf(await merchant.move('capture', id, 500));
    await postpone(id);
    await open(id, /999\.00/);
    const warning = page.getByRole('status').filter({ hasText: 'Outcome of the capture unknown' });
    await warning.getByText('The processor did not respond in time').waitFor();
    await checkLooks(visitor, {});
    await press(warning, 'Check with the processor now');
    await notice(page, 'The outcome is known now.');
    await headed(page, /500\.00/);
    await warning.waitFor({ state: 'detached' });
    const confirmed = events().filter({ hasText: 'Resolved: confirmed by the processor' });
    await confirmed.getByText('1 inquiry').waitFor();
    await events().filter({ hasText: 'Outcome unknown' }).waitFor();
    await followAudit(confirmed, 'payment.resolved', ['The service']);
    await headed(page, /500\.00/);
  });

  it('is resolved manually with the second factor and a reason, when a check had no result', async () => {
    const triggers = '_inquiry_timeout_always_reversal_timeout_always';
    const id = await merchant.opened('authorization', { amount: TIMES_OUT, triggers });
    await postpone(id);
    service.advance(STEP_UP_MS);
    await open(id, /66,000\.00/);
    const warning = page.getByRole('status').filter({ hasText: 'Outcome of the authorization unknown' });
    await press(warning, 'Check with the processor now');
    await notice(page, 'The outcome is still unknown.');
    await warning.getByText('1 inquiry so far.').waitFor();
    await press(warning, 'Resolve manually');
    const form = dialogOf(page);
    await press(form, 'Resolve manually');
    for (const text of ['Choose what the processor shows', 'Enter what you saw at the processor'])
      await form.getByText(text).waitFor();
    // The keyboard is at the first field that needs an answer.
    await form.locator('input[type="radio"]:focus').waitFor();
    await visitor.checkAccessibility({ part: '[role=dialog]' });
    await form.getByText(id, { exact: false }).first().waitFor();
    await form.getByRole('radio', { name: 'It executed the operation' }).check();
    await form.getByRole('textbox', { name: 'Reason' }).fill('Booked in the records of the processor');
    await press(form, 'Resolve manually');
    await enterCode(page, ana.code());
    await notice(page, 'Outcome resolved manually.');
    await page.getByRole('dialog').first().waitFor({ state: 'detached' });
    await warning.waitFor({ state: 'detached' });
    const resolved = events().filter({ hasText: 'Resolved manually: accepted' });
    await resolved.getByText('by Ana Lopez').waitFor();
    await resolved.getByText('Reason: Booked in the records of the processor').waitFor();
    await page.getByRole('main').getByText('Authorized', { exact: true }).first().waitFor();
    await followAudit(resolved, 'payment.resolved-manually', ['Ana Lopez', 'Booked in the records of the processor']);
    visitor.errors.checkRefusals(/resolve/);
  });

  it('can be checked by an analyst, who cannot resolve it', async () => {
    const triggers = '_inquiry_timeout_always_reversal_timeout_always';
    const id = await merchant.opened('authorization', { amount: TIMES_OUT, triggers });
    const analyst = await visitAs(await newPerson(service, merchant.account, 'analyst'), browser, { origin });
    await visit(analyst.page, `/a/${merchant.account}/sandbox/payments/${id}`);
    await button(analyst.page, 'Check with the processor now').waitFor();
    assert.equal(await button(analyst.page, 'Resolve manually').count(), 0);
    assert.equal(await analyst.page.getByRole('link', { name: 'Audit log' }).count(), 0);
  });
});
