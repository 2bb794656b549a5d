import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, afterEach, before, describe, it } from 'node:test';
import type { Download, Page } from 'playwright-core';
import { approve, listApprovals } from '../../console/wire/approvals.ts';
import { createKey } from '../../console/wire/keys.ts';
import { createWebhook } from '../../console/wire/webhooks.ts';
import type { OpenCore } from '../../src/core.ts';
import { keyFingerprint } from '../../src/crypto/rsa-keys.ts';
import { DAY } from '../../src/kernel/clock.ts';
import { whyNoChromium } from '../fixtures/chromium.ts';
import { newKeyPair, privatePem, publicPem } from '../fixtures/rsa-key-pairs.ts';
import { luhnPan } from '../fixtures/test-service.ts';
import { startWebhookReceiver } from '../fixtures/webhook-receiver.ts';
import { onlyLong } from '../scope.ts';
import { dialogOf, notice, press } from './actions.ts';
import type { TestBrowser, Visitor } from './browser.ts';
import { fillKey, keyForm } from './key-form.ts';
import { assertNoSideways } from './looks.ts';
import { Memory } from './memory.ts';
import { CARDS, newApiClient, openSession, storeCards } from './seed-data.ts';
import type { SeededService } from './seeded-service.ts';
import { shareService } from './shared-service.ts';
import { saveSecret } from './sign-in-steps.ts';
import { headed, seededUsers, settled, visit, visitWithin, type Who } from './tour.ts';
import { untilPasses } from './until-passes.ts';

/** The format of the console. */
const fingerprintOf = ({ publicKey }: ReturnType<typeof newKeyPair>): string =>
  (keyFingerprint(publicKey).match(/.{1,4}/g) ?? []).join(' ');

/** The main task of each page, executed once by a user of the role concerned. */
describe('the pages of the console', { skip: whyNoChromium() }, () => {
  const shared = shareService();
  let filled: SeededService;
  let browser: TestBrowser;
  const visitors = new Map<Who, Visitor>();
  const memories = new Map<Page, Memory>();
  /** Opened since the last test ended. */
  const used = new Set<Page>();
  before(async () => {
    ({ seeded: filled, browser } = await shared.open());
    for (const who of ['owner', 'developer'] as const) {
      const visitor = await seededUsers(filled)[who].visit(browser);
      visitors.set(who, visitor);
      memories.set(visitor.page, new Memory(visitor.page));
    }
  });
  afterEach(async () => {
    for (const page of used) await memories.get(page)?.readMemory();
    used.clear();
    browser.check();
  });
  after(() => shared.close());

  const of = (who: Who): Page => {
    const { page } = visitors.get(who) as Visitor;
    used.add(page);
    return page;
  };
  const account = (): string => `/a/${filled.harbour.account}`;
  const sandbox = (page: string): string => `${account()}/sandbox/${page}`;
  const production = (page: string): string => `${account()}/production/${page}`;
  const open = async (who: Who, path: string, heading: string | RegExp): Promise<Page> => {
    const page = of(who);
    if (page.url() === 'about:blank') await visit(page, path);
    else await visitWithin(page, path);
    await headed(page, heading);
    await settled(page);
    return page;
  };

  it('the overview counts the records, and leads to payments with an unknown outcome', async () => {
    const page = await open('owner', sandbox('overview'), 'Overview');
    for (const text of ['Temporary card data created', 'One payment has an unknown outcome', '21 in total'])
      await page.getByRole('main').getByText(text).waitFor();
    await page.getByText('30 days', { exact: true }).click();
    await page.getByText('Compared with the 30 days before').waitFor();
    await settled(page);
    await press(page.getByRole('main'), 'Show as table');
    const days = page.getByRole('table', { name: 'Payments', exact: true }).getByRole('row');
    await untilPasses(async () => assert.equal(await days.count(), 31));
    await page.getByRole('link', { name: 'View these payments' }).click();
    await headed(page, 'Payments');
    const rows = page.getByRole('table', { name: 'Payments' }).getByRole('row');
    await rows.filter({ hasText: 'HB-1021' }).waitFor();
    await untilPasses(async () => assert.equal(await rows.count(), 2));
  });

  it('the overview sums money by currency for any days, and leads to the payments of a figure', async () => {
    const page = await open('owner', sandbox('overview'), 'Overview');
    const money = page.getByRole('table', { name: 'By currency' }).getByRole('row');
    await page.getByText('Range', { exact: true }).click();
    // The payments of the seeded service began up to two weeks later than its clock says.
    const day = new Date(filled.service.now() + 20 * DAY).toISOString().slice(0, 'YYYY-MM-DD'.length);
    await page.getByLabel('From', { exact: true }).fill('2026-01-01');
    await page.getByLabel('To', { exact: true }).fill(day);
    await press(page, 'Apply');
    await page.getByText(`2026-01-01 to ${day}`).waitFor();
    await money.filter({ hasText: 'EUR' }).waitFor();
    const reasons = page.getByRole('table', { name: 'Reasons of declines and failures' });
    await reasons.getByRole('link').first().click();
    await headed(page, 'Payments');
    const { searchParams } = new URL(page.url());
    assert.deepEqual([searchParams.get('from'), searchParams.get('to')], ['2026-01-01', day]);
    assert.match(searchParams.get('status') ?? '', /^(Declined|ProcessorError)$/);
  });

  it('the bell counts the alerts, and leads to their list, where they are marked as seen', async () => {
    const page = await open('owner', sandbox('keys'), 'API keys');
    const bell = page.getByRole('banner').getByRole('link', { name: /^Alerts, \d+ not seen$/ });
    await bell.click();
    await headed(page, 'Alerts');
    const alerts = page.getByRole('table', { name: 'Alerts' });
    await alerts
      .getByText(/waits? for approval/)
      .first()
      .waitFor();
    await settled(page);
    for (let count = await alerts.getByRole('button').count(); count > 0; count--) {
      await press(alerts, 'Mark as seen');
      await untilPasses(async () => assert.equal(await alerts.getByRole('button').count(), count - 1));
    }
    await page.getByRole('banner').getByRole('link', { name: 'Alerts', exact: true }).waitFor();
    await alerts
      .getByRole('link', { name: /waits? for approval/ })
      .first()
      .click();
    await headed(page, 'Approvals');
  });

  it('a token is found by its last four digits, and a complete card number is never sent', async () => {
    const page = await open('owner', sandbox('tokens'), 'Tokens');
    const value = page.getByLabel('Search for');
    await page.getByLabel('Search by').selectOption('last_four');
    await value.fill(CARDS[0]);
    await press(page, 'Search');
    await page.getByRole('alert').filter({ hasText: 'This looks like a full card number' }).waitFor();
    await value.fill('1881');
    await press(page, 'Search');
    // The table is empty while the list is loading.
    await untilPasses(async () => {
      const found = await page.getByRole('table', { name: 'Tokens' }).getByRole('row').allTextContents();
      assert.ok(found.length > 2 && found.slice(1).every((row) => row.includes('ending in 1881')), found.join('\n'));
    });
    await page.getByRole('row').nth(1).getByRole('link').click();
    await headed(page, 'Token');
    await page.getByRole('main').getByText('Shop server').waitFor();
  });

  it('captures show their expiry, and one can be deleted immediately', async () => {
    const page = await open('developer', sandbox('captures'), 'Temporary card data');
    const rows = page.getByRole('table', { name: 'Temporary card data' }).getByRole('row');
    await untilPasses(async () => assert.equal(await rows.count(), 5));
    await page.getByRole('row').filter({ hasText: /0 USD/ }).first().getByRole('link').click();
    await press(page, 'Delete capture');
    await press(dialogOf(page), 'Delete capture');
    await headed(page, 'Temporary card data');
    await page.getByRole('row').nth(4).waitFor({ state: 'detached' });
  });

  it('the checklist with its commands and requests fits a telephone, and leads to the shop to try', async () => {
    const page = await open('owner', `${account()}/onboarding`, 'Onboarding');
    await page.setViewportSize({ width: 390, height: 844 });
    await page.getByRole('tabpanel').locator('pre').waitFor();
    const panel = 'document.querySelector("#commands").getBoundingClientRect().right';
    await untilPasses(async () => assert.ok(Number(await page.evaluate(panel)) <= 390));
    await assertNoSideways(page);
    const isCut = `[...document.querySelectorAll('[data-environment], td')].some((each) => each.scrollWidth > each.clientWidth + 1)`;
    await untilPasses(async () => assert.equal(await page.evaluate(isCut), false));
    await page.setViewportSize({ width: 1280, height: 800 });
    const shop = page.getByRole('region', { name: 'A shop to try' });
    assert.equal(await shop.locator('pre').textContent(), 'npm run example');
    const address = shop.getByRole('link', { name: 'Open the shop' });
    assert.deepEqual(
      [await address.getAttribute('href'), await address.getAttribute('rel')],
      ['http://127.0.0.1:3000', 'noreferrer'],
    );
    await shop.getByRole('link', { name: 'What the shop does, and its code' }).click();
    await headed(page, 'Example shop');
    await page.getByRole('main').getByText('npm run example', { exact: true }).waitFor();
    await page.goBack();
    await shop.getByRole('link', { name: 'How it takes cards from the browser' }).click();
    await headed(page, 'Cards from the browser');
    // The command has a published test number, which no other page shows.
    await visitWithin(page, sandbox('payments'));
    await headed(page, 'Payments');
  });

  it('an empty list in production leads to the keys, not to commands for the sandbox', async () => {
    const page = await open('developer', production('captures'), 'Temporary card data');
    const link = page.getByRole('main').getByRole('link', { name: 'View production keys' });
    assert.equal(await link.getAttribute('href'), production('keys'));
    assert.equal(await page.locator('a[href*="#commands"]').count(), 0);
  });

  it('a manual refund is listed in the history of the payment', async () => {
    await filled.harbour.developer.stepUp();
    const page = await open('developer', sandbox(`payments/${filled.harbour.payments.get('HB-1003')}`), /89\.50/);
    await press(page, 'Refund payment');
    const dialog = dialogOf(page);
    await dialog.getByText('Partial amount', { exact: true }).click();
    await dialog.getByLabel(/^Amount in EUR/).fill('-5');
    await press(dialog, /^Refund/);
    await dialog.getByText('Enter an amount, for example 12.50').waitFor();
    await dialog.getByLabel(/^Amount in EUR/).fill('90');
    await press(dialog, /^Refund/);
    await dialog.getByText('Enter at most 89.50 EUR').waitFor();
    await dialog.getByLabel(/^Amount in EUR/).fill('9.50');
    await press(dialog, 'Refund 9.50 EUR');
    await notice(page, '9.50 EUR refunded.');
    await headed(page, /80\.00/);
    await page.getByRole('main').getByText('Partly refunded', { exact: true }).waitFor();
    await page.getByRole('main').getByText('38.00 EUR').waitFor();
    assert.match((await page.getByRole('main').textContent()) ?? '', /Refund[\s\S]*20\.00[\s\S]*8\.50[\s\S]*9\.50/);
  });

  it('the card form is shown on the page in a frame of its own origin, and has every value of the editor', async () => {
    const page = await open('developer', sandbox('card-form'), 'Card form');
    const main = page.getByRole('main');
    assert.equal(await main.locator('iframe').count(), 0, 'a page that opens creates no session');
    await main.getByLabel('Font size').fill('20px');
    await press(main, 'Show the form');
    const frame = page.frameLocator('iframe[title="Card"]');
    await frame.getByLabel('Card number').fill('4111111111111111');
    const source = (await main.locator('iframe').getAttribute('src')) ?? '';
    assert.equal(new URL(source).origin, `https://localhost:${filled.service.ports.cards}`);
    assert.ok(!source.includes('#'), 'the address holds no secret');
    /** The value that the style sheet of the form computes. */
    const shows = (selector: string, property: string, expected: string): Promise<void> =>
      untilPasses(async () =>
        assert.equal(
          await frame
            .locator(selector)
            .first()
            .evaluate(
              (element, name) => element.ownerDocument.defaultView?.getComputedStyle(element).getPropertyValue(name),
              property,
            ),
          expected,
        ),
      );
    await shows('body', 'font-size', '20px');
    const values = [
      ['Fonts', 'Georgia, serif', 'body', 'font-family', 'Georgia, serif'],
      ['Font size', '18px', 'body', 'font-size', '18px'],
      ['Spacing', '20px', 'form', 'row-gap', '20px'],
      ['Corner radius', '3px', 'input', 'border-top-left-radius', '3px'],
      ['Text color', '#112233', 'body', 'color', 'rgb(17, 34, 51)'],
      ['Background color', '#fafbfc', 'body', 'background-color', 'rgb(250, 251, 252)'],
      ['Accent color', '#123456', ':root', '--color-primary', '#123456'],
      ['Error color', '#aa0000', ':root', '--color-danger', '#aa0000'],
      ['Placeholder color', '#445566', '.brand', 'color', 'rgb(68, 85, 102)'],
      ['Border color', '#778899', 'input', 'border-top-color', 'rgb(119, 136, 153)'],
    ] as const;
    for (const [label, value, selector, property, expected] of values) {
      await main.getByLabel(label, { exact: true }).fill(value);
      await shows(selector, property, expected);
      await main.getByText(`": "${value}"`).first().waitFor();
    }
    await main.getByLabel('Language').selectOption('pt');
    await frame.getByLabel('Número do cartão').waitFor();
    await main.getByLabel('Language').selectOption('');
    // A value that the service would refuse has a note at its field, and goes neither into the form nor into the code.
    for (const [label, value, fault] of [
      ['Fonts', 'a;b', 'Not used: enter 1 to 5 names'],
      ['Font size', '11px', 'Not used: enter 12px to 24px.'],
      ['Spacing', '25px', 'Not used: enter 0px to 24px.'],
      ['Border color', 'red', 'Not used: enter #rgb, #rrggbb or #rrggbbaa.'],
    ] as const) {
      await main.getByLabel(label, { exact: true }).fill(value);
      await main.getByText(fault).waitFor();
      await main.getByText(`": "${value}"`).first().waitFor({ state: 'detached' });
    }
    await shows('body', 'font-size', '16px');
    assert.equal(await frame.getByLabel('Card number').inputValue(), '4111 1111 1111 1111');
    assert.ok(!(await page.content()).includes('4111 1111'), 'the console holds what was typed');
    await visitors.get('developer')?.checkAccessibility();
  });

  it('the card form is tried with the chosen looks, and its session is listed', async () => {
    const page = await open('developer', sandbox('card-form'), 'Card form');
    const main = page.getByRole('main');
    await main.getByLabel('Language').selectOption('es');
    await main.getByLabel('Theme').selectOption('dark');
    await main.getByText('"theme": "dark"').waitFor();
    await press(main, 'Open the form as a page');
    await page.getByLabel('Número de tarjeta').fill('4111111111111111');
    await page.getByRole('button').last().click();
    await page.waitForURL(/card-form\?capture_session=cs_[0-9a-z]{24}&status=cancelled$/);
    await headed(page, 'Card form');
    await main.getByRole('table').getByText('Cancelled', { exact: true }).waitFor();
  });

  it('an open session of the card form is cancelled on a telephone, and the list shows its state, end and reason', async () => {
    await filled.harbour.developer.stepUp();
    const { secret } = await filled.service.newKey(filled.harbour.account);
    const id = await openSession(newApiClient(filled.service, secret, 'sandbox', 'telephone'), 'Order HB-2043');
    const page = await open('developer', sandbox('card-form'), 'Card form');
    const row = page
      .getByRole('main')
      .getByRole('row')
      .filter({ has: page.getByTitle(id, { exact: true }) });
    await row.getByText('The buyer can enter a card.').waitFor();
    await page.setViewportSize({ width: 390, height: 844 });
    await assertNoSideways(page);
    const button = row.getByRole('button', { name: /^Cancel session cs_/ });
    await button.press('Enter');
    const dialog = dialogOf(page);
    for (const text of [id, 'Order HB-2043', 'Sandbox']) await dialog.getByText(text, { exact: true }).waitFor();
    await assertNoSideways(page);
    await visitors.get('developer')?.checkAccessibility({ part: '[role="dialog"]' });
    await press(dialog, 'Keep open');
    await dialog.waitFor({ state: 'detached' });
    await untilPasses(async () => assert.ok(await button.evaluate((each) => each.matches(':focus'))));
    await button.press('Enter');
    await press(dialogOf(page), 'Cancel session');
    await notice(page, 'Session cancelled.');
    await button.waitFor({ state: 'detached' });
    const sessions = page.getByRole('group', { name: 'Sessions', exact: true }).first();
    await untilPasses(async () => assert.ok(await sessions.evaluate((each) => each.matches(':focus'))));
    // A card has all columns; a table of this width has these.
    for (const width of [390, 1024]) {
      await page.setViewportSize({ width, height: 844 });
      for (const text of ['Cancelled', 'Your server, a user or the buyer cancelled.'])
        await row.getByText(text, { exact: true }).waitFor();
      await row.locator('td').nth(5).locator('time').waitFor();
      await assertNoSideways(page);
    }
    await page.setViewportSize({ width: 1280, height: 800 });
  });

  it('a session that ends before its cancellation is confirmed is shown as it ended', async () => {
    await filled.harbour.developer.stepUp();
    const { secret: key } = await filled.service.newKey(filled.harbour.account);
    const id = await openSession(newApiClient(filled.service, key, 'sandbox', 'ended'), 'Order HB-2044');
    const page = of('developer');
    // With a list that is read from its beginning: on the page that is open, the new row may wait.
    await visit(page, sandbox('card-form'));
    const row = page
      .getByRole('main')
      .getByRole('row')
      .filter({ has: page.getByTitle(id, { exact: true }) });
    await press(row, /^Cancel session cs_/);
    const cancelled = await filled.service.call('DELETE', `/v1/capture-sessions/${id}`, { key });
    assert.equal(cancelled.status, 200, cancelled.text);
    await press(dialogOf(page), 'Cancel session');
    await dialogOf(page).getByRole('alert').getByText('This session has already ended.').waitFor();
    await press(dialogOf(page), 'Keep open');
    await row.getByText('Cancelled', { exact: true }).waitFor();
    assert.equal(await row.getByRole('button').count(), 0);
  });

  it('a webhook is created with its secret, changed, tried and deleted', async () => {
    await filled.harbour.developer.stepUp();
    const page = await open('developer', sandbox('webhooks'), 'Webhooks');
    const main = page.getByRole('main');
    await press(main, 'Create webhook');
    await dialogOf(page).getByLabel('Address').fill('https://10.0.0.1/cardvault');
    await press(dialogOf(page), 'Create webhook');
    // An address of a private network, refused at its field.
    await dialogOf(page).locator('[aria-invalid="true"]').waitFor();
    await dialogOf(page).getByLabel('Address').fill('https://books.harbour.example/cardvault');
    await dialogOf(page).getByLabel('All events, also those of later versions').uncheck();
    await dialogOf(page).getByLabel('payment.declined').check();
    await press(dialogOf(page), 'Create webhook');
    await dialogOf(page)
      .getByText(/^whsec_/)
      .waitFor();
    const secret =
      (await dialogOf(page)
        .getByText(/^whsec_/)
        .textContent()) ?? '';
    await dialogOf(page).getByLabel('I have stored it').check();
    await press(dialogOf(page), 'Done');
    await dialogOf(page).waitFor({ state: 'detached' });
    await main.getByRole('link', { name: 'https://books.harbour.example/cardvault' }).click();
    await headed(page, 'Webhook');
    assert.ok(!(await page.content()).includes(secret));
    await press(main, 'Edit webhook');
    await dialogOf(page).getByLabel('Description').fill('Bookshop');
    await press(dialogOf(page), 'Save changes');
    await notice(page, 'Webhook changed.');
    await main.getByText('Bookshop').waitFor();
    await press(main, 'Send test event');
    await main.getByRole('status').filter({ hasText: 'Not delivered: Address unknown or not allowed' }).waitFor();
    await press(main, 'Replace secret');
    await press(dialogOf(page), 'Replace secret');
    await dialogOf(page)
      .getByText(/^whsec_/)
      .waitFor();
    await dialogOf(page).getByLabel('I have stored it').check();
    await press(dialogOf(page), 'Done');
    await dialogOf(page).waitFor({ state: 'detached' });
    await press(main, 'Delete webhook');
    await press(dialogOf(page), 'Delete webhook');
    await notice(page, 'Webhook deleted.');
    await headed(page, 'Webhooks');
  });

  it('a delivery of a webhook is shown with its response and its body as sent, and sent again', async () => {
    const { developer, account: harbour } = filled.harbour;
    const receiver = await startWebhookReceiver();
    receiver.respond = (_, response) => void response.writeHead(503).end();
    try {
      await developer.stepUp();
      const { result } = await developer.call(
        createWebhook,
        { account: harbour, environment: 'sandbox' },
        { url: receiver.url, events: ['token.deleted'] },
      );
      const { secret: key } = await filled.service.newKey(harbour);
      const [token = ''] = await storeCards(newApiClient(filled.service, key, 'sandbox', 'delivered'), 0);
      const deleted = await filled.service.call('DELETE', '/v1/tokens', { key, body: { tokens: [token] } });
      assert.equal(deleted.status, 200, deleted.text);
      const received = (count: number): Promise<void> =>
        untilPasses(async () => {
          filled.service.advance(100);
          assert.equal(receiver.received.length, count);
        });
      await received(1);
      const page = await open('developer', sandbox(`webhooks/${result.webhook.id}`), 'Webhook');
      const main = page.getByRole('main');
      const row = main.getByRole('table', { name: 'Deliveries' }).getByRole('row').filter({ hasText: 'token.deleted' });
      await row.getByText('Waiting', { exact: true }).waitFor();
      await row.getByRole('cell', { name: '503', exact: true }).waitFor();
      await row.getByRole('cell', { name: '1', exact: true }).waitFor();
      receiver.respond = (_, response) => void response.writeHead(202).end();
      await press(row, 'Show: token.deleted');
      const dialog = dialogOf(page);
      await dialog.getByRole('heading', { name: 'Event' }).waitFor();
      await untilPasses(async () =>
        assert.equal(await dialog.locator('pre').textContent(), receiver.received[0]?.body),
      );
      assert.equal(receiver.received[0]?.event.data.token, token);
      await visitors.get('developer')?.checkAccessibility({ part: '[role="dialog"]' });
      await press(dialog, 'Send again');
      await notice(page, 'The event is sent again.');
      await dialog.waitFor({ state: 'detached' });
      await received(2);
      const [first, second] = receiver.received;
      assert.deepEqual([second?.id, second?.body], [first?.id, first?.body]);
      await untilPasses(async () => {
        await main.getByLabel('State').selectOption('delivered');
        await row.getByText('Delivered', { exact: true }).waitFor({ timeout: 2000 });
      });
      await row.getByRole('cell', { name: '202', exact: true }).waitFor();
    } finally {
      await receiver.stop();
    }
  });

  it('a key of the processor is shown with its fingerprint', async () => {
    const key = newKeyPair();
    await filled.harbour.developer.stepUp();
    const page = await open('developer', production('proxy'), 'Proxy');
    await press(page.getByRole('main'), /^Upload/);
    const field = dialogOf(page).getByRole('textbox').first();
    await field.fill(privatePem(key));
    await dialogOf(page).getByText('This is a private key. It was removed and not sent.').waitFor();
    assert.equal(await field.inputValue(), '');
    await field.fill(publicPem(key));
    await press(dialogOf(page), 'Upload');
    // Production takes two.
    await notice(page, 'Approval pending');
    await visitWithin(page, sandbox('proxy'));
    await press(page.getByRole('main'), /^Replace/);
    await dialogOf(page).getByRole('textbox').first().fill(publicPem(key));
    await press(dialogOf(page), 'Upload');
    await notice(page, 'Uploaded.');
    await page.getByRole('main').getByText(fingerprintOf(key)).waitFor();
  });

  it('a private key that was chosen as a file is not shown, and its public key can be downloaded', async () => {
    const key = newKeyPair();
    await filled.harbour.developer.stepUp();
    const page = await open('developer', sandbox('proxy'), 'Proxy');
    const main = page.getByRole('main');
    await press(main, /: Your private key$/);
    const buffer = Buffer.from(privatePem(key));
    await dialogOf(page)
      .locator('input[type="file"]')
      .first()
      .setInputFiles({ name: 'shop.pem', mimeType: 'application/x-pem-file', buffer });
    await dialogOf(page).getByRole('button', { name: 'Remove file' }).waitFor();
    const named = dialogOf(page).getByLabel('Your private key');
    assert.equal(await named.inputValue(), `shop.pem, ${buffer.length} bytes`);
    assert.ok(!(await page.content()).includes('PRIVATE KEY-----\n'));
    await press(dialogOf(page), 'Upload');
    await notice(page, 'Uploaded.');
    await main.getByText(fingerprintOf(key)).waitFor();
    const download = page.waitForEvent('download');
    // A second one takes over tomorrow.
    await main.getByRole('button', { name: 'Download public key' }).first().press('Enter');
    assert.equal(readFileSync(await (await download).path(), 'utf8'), publicPem(key));
  });

  it('the workbench creates an envelope, and explains an invalid placeholder', async () => {
    // The example names a token: it is not sent before that is known.
    const listing = '**/tokens/search';
    const { promise: isKnown, resolve: know } = Promise.withResolvers<void>();
    const page = of('developer');
    await page.route(listing, (route) => isKnown.then(() => route.continue()));
    await visitWithin(page, sandbox('workbench'));
    await headed(page, 'Workbench');
    await page.getByText('Proxy', { exact: true }).last().click();
    const run = page.getByRole('button', { name: 'Send request', exact: true });
    assert.ok(await run.isDisabled());
    know();
    await run.click();
    await page.unroute(listing);
    await page.getByRole('main').getByText('The endpoint returned 200').waitFor();
    assert.match((await page.getByRole('main').textContent()) ?? '', /eyJ[\w-]+\.[\w-]+\.[\w-]+/);
    await page
      .getByRole('textbox', { name: /^Request body/ })
      .fill('{\n  "card": "{{4111110000001111:detokenize | extract:cart}}"\n}');
    await press(page, 'Send request');
    const fault = page.getByRole('alert').filter({ hasText: 'The endpoint rejected the request with 400' });
    const expected = 'Placeholder 1, character 41 of the value: expected one of card, expiration, name, token.';
    await fault.getByText(expected, { exact: true }).waitFor();
    await fault.getByText('Line 2, column 52', { exact: true }).waitFor();
    await page.getByRole('textbox', { name: /^Request body/ }).fill('{\n  "card" "4"\n}');
    await press(page, 'Send request');
    await fault.getByText('This is not valid JSON: expected a colon.', { exact: true }).waitFor();
    await fault.getByText('Line 2, column 10', { exact: true }).waitFor();
  });

  it('the workbench stores a card, shows the command, and warns before the card of a person is sent', async () => {
    const page = await open('developer', sandbox('workbench'), 'Workbench');
    const sent: string[] = [];
    page.on('request', (request) => void sent.push(request.postData() ?? ''));
    const main = page.getByRole('main');
    await main.getByText('Tokens', { exact: true }).click();
    const body = page.getByRole('textbox', { name: /^Request body/ });
    const example = await body.inputValue();
    await press(page, 'Send request');
    await main.getByText('The endpoint returned 200').waitFor();
    await main.getByText('411111******1111').waitFor();
    const command = (await main.getByRole('group', { name: 'curl' }).textContent()) ?? '';
    assert.match(command, /\/v1\/tokenization\/simple.*x-api-key: \$KEY.*4111111111111111/s);
    const person = luhnPan('453201');
    await body.fill(example.replace('4111111111111111', person));
    const warning = page.getByRole('alert').filter({ hasText: 'This looks like the card number of a person' });
    await warning.waitFor();
    sent.length = 0;
    await press(page, 'Send request');
    await warning.getByText('Remove the card number, or select this box').waitFor();
    assert.ok(!sent.some((each) => each.includes(person)), 'the card number was sent');
    const stored = await page.evaluate('JSON.stringify([{ ...localStorage }, { ...sessionStorage }, location.href])');
    assert.ok(!String(stored).includes(person));
    await body.fill(example);
    await warning.waitFor({ state: 'detached' });
    // The example has a published test number, which no other page shows.
    await visitWithin(page, sandbox('payments'));
    await headed(page, 'Payments');
  });

  it('a page leads to its guide, which leads to others, and to the reference of the API', async () => {
    const page = await open('developer', sandbox('payments'), 'Payments');
    const reference = new URL((await page.getByRole('link', { name: 'API reference' }).getAttribute('href')) ?? '');
    assert.deepEqual([reference.port, reference.pathname], [String(filled.service.ports.sandbox), '/docs']);
    const response = await filled.service.call('GET', '/docs', {});
    assert.deepEqual([response.status, response.headers['content-type']], [200, 'text/html; charset=utf-8']);
    await page.getByRole('link', { name: 'Guide to this page' }).click();
    const guide = page.getByRole('article');
    await guide.getByRole('heading', { name: 'Authorize', exact: true }).waitFor();
    await headed(page, 'Payments');
    await guide.locator('[lang="en"]').or(page.locator('article[lang="en"]')).first().waitFor();
    await visitors.get('developer')?.checkAccessibility();
    await guide.getByRole('link', { name: 'simulator', exact: true }).first().click();
    await headed(page, 'The simulator');
    await guide.getByRole('table').first().getByText('4000000000000002').waitFor();
    await visitWithin(page, '/guides/guides/none');
    await page.getByRole('heading', { level: 1, name: 'Payments' }).waitFor({ state: 'detached' });
  });

  it('a test payment has the outcome that was chosen, and leads to the payment', async () => {
    const page = await open('developer', sandbox('test-payment'), 'Send a test payment');
    const main = page.getByRole('main');
    await main.getByRole('radio', { name: 'Card 4000000000009995' }).check();
    await press(main, 'Send test payment');
    await main.getByText('The payment was sent').waitFor();
    await main.getByText('Declined', { exact: true }).waitFor();
    await main.getByRole('radio', { name: 'Any other request' }).check();
    await press(main, 'Send test payment');
    await main.getByText('Authorized', { exact: true }).waitFor();
    await main.getByRole('link', { name: 'View the payment' }).click();
    await headed(page, /125\.00/);
    await page.getByText('TEST-PAYMENT').filter({ visible: true }).first().waitFor();
  });

  it('the audit log can be verified, filtered, read and downloaded', async () => {
    const page = await open('owner', `${account()}/audit`, 'Audit log');
    await press(page, 'Verify log');
    await page
      .getByRole('status')
      .filter({ hasText: /Log intact\s*\d+ records checked/ })
      .waitFor();
    await page.getByLabel('What', { exact: true }).fill('key.revoked');
    await press(page, 'Search');
    await page.getByRole('row').nth(2).waitFor({ state: 'detached' });
    assert.match((await page.getByRole('row').nth(1).textContent()) ?? '', /API key revoked.*Irene Castillo/);
    await press(page, 'Show details of API key revoked');
    await page.getByText('Position in the chain').waitFor();
    await page.getByRole('row').nth(1).click();
    await page.getByText('Position in the chain').waitFor({ state: 'detached' });
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'Export' }).click(),
    ]);
    const lines = await linesOf(download);
    assert.ok(lines.length > 60 && lines.every((line) => JSON.parse(line) !== null));
    for (const pan of CARDS) assert.ok(!lines.some((line) => line.includes(pan)));
  });

  it('the request log is filtered, and reached from the errors of the overview and from each key', async () => {
    const { service } = filled;
    const key = await service.newKey(filled.harbour.account, { name: 'Failing server' });
    const send = (requestId: string, card: string) =>
      service.call('POST', '/v1/tokenization/simple', {
        key: key.secret,
        body: { chd: [{ card, name: 'Ana Lopez', exp: '12/31' }], tags: [], scheme: 7 },
        headers: { 'x-request-id': requestId },
      });
    await send('stored-card', CARDS[0]);
    await send('broken-card', 'broken');
    // More than five of them in one second are counted, also where they take five seconds.
    await Promise.all(Array.from({ length: 30 }, (_, number) => send(`repeated-${number}`, 'broken')));
    service.advance(2000);
    await (service.core as OpenCore).requestLog.flush({ all: true });
    const page = await open('owner', sandbox('overview'), 'Overview');
    await page.getByRole('main').getByRole('link', { name: 'Errors', exact: true }).click();
    await headed(page, 'Request log');
    const rows = page.getByRole('table', { name: 'Requests' }).getByRole('row');
    const broken = rows.filter({ hasText: 'Failing server' });
    await broken.first().getByText('Invalid field').waitFor();
    await page
      .getByText(/^And \d+ more like this$/)
      .first()
      .waitFor();
    assert.equal(await rows.filter({ hasText: '200' }).count(), 0, 'errors only');
    await press(page.getByRole('main'), 'Show details of POST /v1/tokenization/simple');
    await page.getByText('chd[0].card', { exact: true }).waitFor();
    await page.getByRole('main').getByRole('link', { name: 'Failing server' }).click();
    await headed(page, 'API keys');
    await dialogOf(page).getByRole('link', { name: 'View its requests' }).click();
    await headed(page, 'Request log');
    await broken.filter({ hasText: '200' }).waitFor();
    assert.ok(page.url().endsWith(`/requests?key=${key.id}`), page.url());
    await page.getByLabel('Request id').fill('broken-card');
    await press(page, 'Search');
    await untilPasses(async () => assert.equal(await rows.count(), 2));
    assert.ok(!page.url().includes('broken-card'), page.url());
  });

  it('a key for the entire internet needs confirmation in production, and a change under dual control is requested', async () => {
    const page = await open('owner', `${production('keys')}?create=1`, 'API keys');
    const form = keyForm(page);
    await fillKey(page, 'everywhere');
    await press(form, 'Add address');
    const network = form.getByLabel('Address or network 1');
    await network.fill('10.9.9.9/8');
    await form.getByText('Means 10.0.0.0/8.').waitFor();
    assert.equal(await form.getByLabel('This key has to work from all').count(), 0);
    await network.fill('0.0.0.0/0');
    await form.getByText('Another user of your team has to approve this').waitFor();
    await press(form, 'Request approval');
    await form.getByText('Select this box, or list smaller networks.').waitFor();
    await form.getByLabel('This key has to work from all').and(page.locator(':focus')).waitFor();
    await press(form, 'Cancel');
    await form.waitFor({ state: 'hidden' });
  });

  it('an owner invites, a second user approves, and the link is shown once', async () => {
    const { owner, developer } = filled.harbour;
    await developer.stepUp();
    await owner.stepUp();
    const page = await open('owner', `${account()}/team`, 'Team');
    await press(page, 'Invite user');
    await dialogOf(page)
      .getByLabel(/^Email address/)
      .fill('nina@harbour.example');
    await press(dialogOf(page), 'Create link');
    await notice(page, 'Approval pending');
    const params = { account: filled.harbour.account };
    const [{ id, action }] = (await developer.call(listApprovals, params)).approvals;
    assert.equal(action, 'team.invite');
    await developer.call(approve, { ...params, id });
    await open('owner', `${account()}/approvals`, 'Approvals');
    const card = page.getByRole('article').filter({ hasText: 'nina@harbour.example' });
    await card.filter({ hasText: 'Developer' }).filter({ hasText: 'Dev Patel (dev@harbour.example)' }).waitFor();
    await press(card, 'Execute change: Invite a user');
    await press(dialogOf(page), 'Execute change');
    await page.getByRole('heading', { name: 'Send this link' }).waitFor();
    await page.getByText('Send this link to nina@harbour.example').waitFor();
    const link = await saveSecret(page);
    assert.ok(link.startsWith(`${browser.origin}/join#`), link);
    await open('owner', `${account()}/team`, 'Team');
    await page.getByRole('row').filter({ hasText: 'nina@harbour.example' }).waitFor();
    assert.ok(!(await page.content()).includes(link));
  });

  it('two users change production: one requests, another approves, the first executes', {
    skip: onlyLong,
  }, async () => {
    const [owner, developer] = [of('owner'), of('developer')];
    const title = 'Create an API key';
    await filled.harbour.owner.stepUp();
    await open('owner', `${account()}/approvals`, 'Approvals');
    const card = (page: Page, state: string) =>
      page
        .getByRole('article')
        .filter({ hasText: 'Till 4' })
        .filter({ has: page.getByText(state, { exact: true }) });
    await card(owner, 'Pending')
      .getByRole('button', { name: `Approve change: ${title}` })
      .click();
    await press(dialogOf(owner), 'Approve change');
    await notice(owner, 'Change approved.');
    await filled.harbour.developer.stepUp();
    await open('developer', `${account()}/approvals`, 'Approvals');
    await card(developer, 'Approved')
      .getByRole('button', { name: `Execute change: ${title}` })
      .click();
    await press(dialogOf(developer), 'Execute change');
    await developer.getByRole('heading', { name: 'Your new key' }).waitFor();
    assert.match(await saveSecret(developer), /^cv_production_/);
    await open('developer', production('keys'), 'API keys');
    await developer.getByRole('row').filter({ hasText: 'Till 4' }).waitFor();
  });

  it('an approver sees every address, also those that the list omits', { skip: onlyLong }, async () => {
    const { developer, account: id } = filled.harbour;
    await developer.stepUp();
    await filled.harbour.owner.stepUp();
    const last = '198.51.100.77/32';
    const many = Array.from({ length: 300 }, (_, index) => ({ cidr: `2001:db8:cafe::${index.toString(16)}/128` }));
    const traits = { name: 'Till 5', permissions: ['account:read'], allow_list: [...many, { cidr: last }] };
    await developer.call(createKey, { account: id, environment: 'production' }, traits);
    await open('owner', `${account()}/team`, 'Team');
    const page = await open('owner', `${account()}/approvals`, 'Approvals');
    const card = page.getByRole('article').filter({ hasText: 'Till 5' });
    await card.waitFor();
    assert.ok(!(await card.textContent())?.includes(last));
    await press(card, 'Approve change: Create an API key');
    await dialogOf(page).getByText(last).waitFor();
    await press(dialogOf(page), 'Cancel');
    await press(card, /^Show \d+ more lines$/);
    await card.getByText(last).waitFor();
    await press(card, 'Approve change: Create an API key');
    await press(dialogOf(page), 'Approve change');
    await notice(page, 'Change approved.');
  });

  it('no page showed a complete card number, and no response contained one', async () => {
    for (const memory of memories.values()) await memory.assertNever(CARDS);
  });
});

async function linesOf(download: Download): Promise<string[]> {
  return readFileSync(await download.path(), 'utf8')
    .trim()
    .split('\n');
}
