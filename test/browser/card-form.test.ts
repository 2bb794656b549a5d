import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import type { FrameLocator, Page } from 'playwright-core';
import { whyNoChromium } from '../fixtures/chromium.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import { newCaller } from '../interface/vault-requests.ts';
import { openBrowser, type TestBrowser } from './browser.ts';
import {
  DIGITS,
  fillCard as fill,
  mountForm,
  NUMBER,
  type OpenSession,
  openSession,
  type Shop,
  startShop,
  submitForm as submit,
} from './card-form-shop.ts';

describe('the card form in a browser', { skip: whyNoChromium(), timeout: 180_000 }, () => {
  let service: TestService;
  let browser: TestBrowser;
  let key: string;
  let shop: Shop;
  const vault = (): string => `https://localhost:${service.ports.cards}`;

  before(async () => {
    service = await startTestService({ variables: { CARDVAULT_RATE_LIMIT_CAPTURE: '0' } });
    ({ key } = await newCaller(service));
    shop = await startShop(vault);
    browser = await openBrowser(service.ports.cards);
  });
  afterEach(() => browser.endVisits());
  after(async () => {
    await browser?.close();
    shop?.stop();
    await service?.stop();
  });

  const open = (change: object = {}): Promise<OpenSession> =>
    openSession(service.call, key, { allowed_origins: [shop.origin], ...change });
  const mount = (page: Page, session: OpenSession, options: object = {}): Promise<FrameLocator> =>
    mountForm(page, shop.origin, session, options);

  it('takes a card, of which the page sees nothing', async () => {
    const session = await open();
    const { page } = await browser.newVisitor({ origin: shop.origin });
    const frame = await mount(page, session);
    await fill(frame);
    const done = await submit(page);
    assert.deepEqual(done.card, { brand: 'visa', card: '411111******1111', exp: '12/2040' });
    assert.match(done.result.capture.id, /^[0-9a-f-]{36}$/);
    const seen = await page.evaluate<{ seen: string[]; changes: string; reach: string; storage: string }>('look()');
    assert.deepEqual(seen.seen, []);
    assert.equal(seen.reach, 'null');
    for (const digits of [DIGITS, DIGITS.slice(6, 12), '123', 'Ana'])
      assert.ok(![seen.changes, seen.storage].some((text) => text.includes(digits)), digits);
    const shown = (await service.call('GET', `/v1/capture-sessions/${session.id}`, { key })).json.data;
    assert.equal(shown.status, 'completed');
    assert.ok(!service.log.some((line) => line.includes(session.client_secret) || line.includes(DIGITS)));
  });

  it('is one submission however often it is called at once', async () => {
    const { page } = await browser.newVisitor({ origin: shop.origin });
    const frame = await mount(page, await open());
    await fill(frame);
    const results = await page.evaluate<unknown[]>('Promise.all([1, 2, 3].map(submitForm))');
    assert.equal(new Set(results.map((each) => JSON.stringify(each))).size, 1);
  });

  it('shows what is wrong beside its field, and focuses the first', async () => {
    const { page } = await browser.newVisitor({ origin: shop.origin });
    const frame = await mount(page, await open());
    await frame.getByLabel('Card number').fill('4111 1111 1111 1112');
    await frame.getByLabel('Expiry date').fill('01/20');
    const refused = await submit(page);
    assert.equal(refused.code, 'invalid_fields');
    assert.deepEqual(
      refused.fields.map(({ field, code }: { field: string; code: string }) => `${field} ${code}`),
      ['number invalid', 'exp expired', 'name required', 'cvv required'],
    );
    await frame.getByText('Check the card number.').waitFor();
    await frame.getByText('The card has expired.').waitFor();
    assert.equal(await frame.locator('input:focus').getAttribute('id'), 'number');
  });

  it('reads what is pasted and filled in any usual form, and groups digits without moving the caret', async () => {
    const { page } = await browser.newVisitor({ origin: shop.origin });
    const frame = await mount(page, await open());
    const number = frame.getByLabel('Card number');
    await number.fill('٤١١١-1111-1111-1111');
    assert.equal(await number.inputValue(), NUMBER);
    await number.fill('378282246310005');
    assert.equal(await number.inputValue(), '3782 822463 10005');
    await frame.getByText('Amex').waitFor();
    const exp = frame.getByLabel('Expiry date');
    for (const text of ['09/2040', '2040-09', '0940', '9/40']) {
      await exp.fill(text);
      await exp.blur();
      assert.equal(await exp.inputValue(), '09/40', text);
    }
    await number.fill('');
    await number.pressSequentially('41111');
    assert.equal(await number.inputValue(), '4111 1');
    await number.press('Home');
    await number.press('ArrowRight');
    await number.press('Delete');
    assert.equal(await number.inputValue(), '4111');
    assert.equal(await number.evaluate((input) => (input as unknown as { selectionStart: number }).selectionStart), 1);
  });

  it('says what is wrong with a session', async () => {
    const session = await open();
    const { page } = await browser.newVisitor({ origin: shop.origin });
    await assert.rejects(mount(page, { ...session, client_secret: 'A'.repeat(43) }), /session_invalid/);
    await service.call('DELETE', `/v1/capture-sessions/${session.id}`, { key });
    await assert.rejects(mount(page, session), /session_cancelled/);
  });

  for (const colorScheme of ['light', 'dark'] as const)
    it(`is accessible and fits into 320 px, ${colorScheme}`, async () => {
      const visitor = await browser.newVisitor({ origin: shop.origin, colorScheme, width: 320, height: 640 });
      const frame = await mount(visitor.page, await open({ locale: 'es' }));
      await frame.getByLabel('Número de tarjeta').waitFor();
      await visitor.checkAccessibility();
      const isWider = await frame.locator('html').evaluate((root) => {
        const { scrollWidth, clientWidth } = root as unknown as { scrollWidth: number; clientWidth: number };
        return scrollWidth > clientWidth;
      });
      assert.equal(isWider, false);
    });

  it('as a hosted page takes a card and goes back with the status', async () => {
    const session = await open({
      allowed_origins: undefined,
      return_url: `${shop.origin}/back?order=1#end`,
      description: 'Order 1',
    });
    const { page } = await browser.newVisitor({ origin: vault() });
    await page.goto(session.url ?? '');
    await page.getByText('Order 1').waitFor();
    await page.getByLabel('Card number').fill(NUMBER);
    await page.getByLabel('Expiry date').fill('12/40');
    await page.getByLabel('Security code').fill('123');
    await page.getByLabel('Name on card').fill('Ana Lopez');
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.waitForURL(`${shop.origin}/back?order=1&capture_session=${session.id}&status=completed#end`);
    const other = await open({ allowed_origins: undefined, return_url: `${shop.origin}/back` });
    await page.goto(other.url ?? '');
    await page.getByRole('button', { name: 'Cancel and go back' }).click();
    await page.waitForURL(`${shop.origin}/back?capture_session=${other.id}&status=cancelled`);
  });

  it('is empty after the buyer has returned to it', async () => {
    const session = await open({ allowed_origins: undefined, return_url: `${shop.origin}/back` });
    const { page } = await browser.newVisitor({ origin: vault() });
    await page.goto(session.url ?? '');
    await page.getByLabel('Card number').fill(NUMBER);
    await page.goto(`${shop.origin}/`);
    await page.goBack();
    await page.getByLabel('Card number').waitFor();
    assert.equal(await page.getByLabel('Card number').inputValue(), '');
  });
});
