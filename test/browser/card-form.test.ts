import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';
import type { FrameLocator, Page } from 'playwright-core';
import type { Appearance } from '../../src/capture-sessions/appearance.ts';
import { whyNoChromium } from '../fixtures/chromium.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import { newCaller } from '../interface/vault-requests.ts';
import { openBrowser, type TestBrowser, type VisitorOptions } from './browser.ts';
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
  afterEach(async () => {
    try {
      browser.check();
    } finally {
      await browser.endVisits();
    }
  });
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

  const LABELS = {
    en: ['Card number', 'Expiry date', 'Security code', 'Name on card'],
    es: ['Número de tarjeta', 'Vencimiento', 'Código de seguridad', 'Nombre en la tarjeta'],
    pt: ['Número do cartão', 'Validade', 'Código de segurança', 'Nome no cartão'],
  };
  /** 200 % of 640 pixels is 320 pixels of twice the size. */
  const LOOKS: readonly (Pick<VisitorOptions, 'colorScheme' | 'zoom'> & {
    readonly what: string;
    readonly locale: keyof typeof LABELS;
    readonly appearance: Appearance;
  })[] = [
    { what: '320 px, light', colorScheme: 'light', locale: 'es', appearance: {} },
    { what: '320 px, dark, floating labels', colorScheme: 'dark', locale: 'pt', appearance: { labels: 'floating' } },
    {
      ...{ what: '320 px, hidden labels, compact, large', colorScheme: 'light', locale: 'en' },
      appearance: { labels: 'hidden', layout: 'compact', variables: { fontSize: '24px' } },
    },
    { what: '200 %, dark, compact', colorScheme: 'dark', zoom: 2, locale: 'en', appearance: { layout: 'compact' } },
  ];
  const WIDER = 'document.documentElement.scrollWidth > document.documentElement.clientWidth';

  for (const { what, locale, appearance, ...look } of LOOKS)
    it(`is accessible and fits, framed and hosted: ${what}`, async () => {
      const visitor = await browser.newVisitor({ origin: shop.origin, width: 320, height: 400, ...look });
      const { page } = visitor;
      const framed = await mount(page, await open({ locale, appearance }));
      assert.equal(await framed.locator('html').evaluate(WIDER), false);
      // Its height follows what it holds.
      await page.waitForFunction('document.querySelector("iframe").clientHeight > 100');
      const hosted = await open({ allowed_origins: undefined, return_url: `${shop.origin}/back`, locale, appearance });
      await page.goto(hosted.url ?? '');
      await page.locator('button[type="submit"]').click();
      await page
        .locator('.error:not(:empty)')
        .nth(4 - 1)
        .waitFor();
      for (const name of LABELS[locale]) {
        const field = page.getByRole('textbox', { name });
        assert.equal(await field.getAttribute('aria-invalid'), 'true');
        // A hidden label is shown in the field.
        if (appearance.labels === 'hidden') assert.ok((await field.getAttribute('placeholder'))?.startsWith(name));
      }
      assert.equal(await page.evaluate(WIDER), false);
      await visitor.checkAccessibility();
    });

  it('is filled and sent with the keyboard alone', async () => {
    const { page } = await browser.newVisitor({ origin: shop.origin });
    const frame = await mount(page, await open());
    await page.evaluate('form.focus()');
    await frame.locator('#number:focus').waitFor();
    for (const text of [DIGITS, '1240', '123', 'Ana Lopez']) {
      await page.keyboard.type(text);
      if (text !== 'Ana Lopez') await page.keyboard.press('Tab');
    }
    // This is how Safari reports the key that ends a composition.
    await frame.locator('#name').dispatchEvent('keydown', { key: 'Enter', keyCode: 229 });
    await page.keyboard.press('Enter');
    await page.waitForFunction('events.includes("enter")');
    assert.deepEqual(await page.evaluate('events'), ['ready', 'enter']);
    assert.equal((await submit(page)).card.exp, '12/2040');
    const hosted = await open({ allowed_origins: undefined, return_url: `${shop.origin}/back` });
    await page.goto(hosted.url ?? '');
    await page.getByLabel('Card number').focus();
    for (const text of [DIGITS, '1240', '123', 'Ana Lopez']) {
      await page.keyboard.type(text);
      if (text !== 'Ana Lopez') await page.keyboard.press('Tab');
    }
    await page.keyboard.press('Enter');
    await page.waitForURL(/status=completed/);
  });

  it('takes what a browser fills into all fields, in any order', async () => {
    const { page } = await browser.newVisitor({ origin: shop.origin });
    const frame = await mount(page, await open());
    const form = page.frames().find((each) => each.url().startsWith(vault()));
    const names = await form?.evaluate(
      '[...document.querySelector("form").querySelectorAll("input")].map(({ autocomplete }) => autocomplete)',
    );
    assert.deepEqual(names, ['cc-number', 'cc-exp', 'cc-csc', 'cc-name']);
    // Browsers set the values and fire events that belong to no key.
    await form?.evaluate(`{
      const card = { 'cc-name': 'Ana Lopez', 'cc-csc': '1234', 'cc-exp': '12/2040', 'cc-number': '3782 8224 6310 005' };
      for (const [name, value] of Object.entries(card)) {
        const input = document.querySelector('[autocomplete=' + name + ']');
        input.value = value;
        for (const type of ['input', 'change']) input.dispatchEvent(new Event(type, { bubbles: true }));
      }
    }`);
    assert.equal(await frame.getByLabel('Card number').inputValue(), '3782 822463 10005');
    assert.deepEqual((await submit(page)).card, { brand: 'amex', card: '378282*****0005', exp: '12/2040' });
  });

  it('looks as it is updated, also after it was loaded again', async () => {
    const { page } = await browser.newVisitor({ origin: shop.origin });
    const frame = await mount(page, await open({ appearance: { theme: 'light', variables: { spacing: '4px' } } }));
    await page.evaluate('form.update({ appearance: { theme: "dark" }, locale: "es-AR" })');
    await frame.locator('html.dark').waitFor();
    assert.equal(await frame.locator('html').getAttribute('style'), '--spacing: 4px;');
    await frame.getByLabel('Número de tarjeta').fill(NUMBER);
    // A frame that is moved is loaded again, and starts empty.
    await page.evaluate('document.body.append(document.querySelector("iframe"))');
    await page.waitForFunction('events.join() === "ready,ready"');
    assert.equal(await frame.getByLabel('Número de tarjeta').inputValue(), '');
    assert.equal(await frame.locator('html').getAttribute('class'), 'dark');
    const thrown = (code: string): Promise<string> =>
      page.evaluate(`(() => { try { ${code}; } catch (error) { return error.name + ' ' + error.message; } })()`);
    assert.equal(
      await thrown('form.update({ appearance: { theme: "pink" } })'),
      'TypeError cardvault: appearance.theme',
    );
    for (const [change, name] of [
      ['session: "x"', 'session'],
      ['clientSecret: "x"', 'clientSecret'],
      ['origin: "https://a/b"', 'origin'],
      ['origin: "http://a"', 'origin'],
      ['locale: 1', 'locale'],
      ['css: "x"', 'unknown option css'],
    ] as const)
      assert.equal(
        await thrown(
          `CardVault.mount('#card', { session: 'cs_' + 'a'.repeat(24), clientSecret: 'A'.repeat(43), ${change} })`,
        ),
        `TypeError cardvault: ${name}`,
      );
  });

  it('works with the scripts of all releases', async () => {
    const { json } = await service.call('GET', '/v1/integrity.json', { environment: 'cards' });
    const released = readdirSync(join(import.meta.dirname, '..', '..', 'card-form', 'released'));
    const older = released.filter((name) => name.endsWith('.js') && !json.url.endsWith(name));
    for (const name of older) {
      const { page } = await browser.newVisitor({ origin: shop.origin });
      await fill(await mountForm(page, `${shop.origin}/?/v1/${name}`, await open()));
      assert.equal((await submit(page)).card.brand, 'visa', name);
    }
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
