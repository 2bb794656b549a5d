import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { copyFileSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';
import type { Frame, FrameLocator, Locator, Page, Route } from 'playwright-core';
import { buildDocument } from '../../scripts/build-card-form.ts';
import type { Appearance } from '../../src/capture-sessions/appearance.ts';
import { whyNoChromium } from '../fixtures/chromium.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import { newCaller } from '../interface/vault-requests.ts';
import { listFinalReleases, unpackSources } from '../upgrade/releases.ts';
import { openBrowser, type TestBrowser, type VisitorOptions } from './browser.ts';
import {
  DIGITS,
  fillCard as fill,
  mountForm,
  NUMBER,
  type OpenSession,
  openSession,
  type Shop,
  shopPage,
  startShop,
  submitForm as submit,
} from './card-form-shop.ts';
import { untilPasses } from './until-passes.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const MOST_TABS = 10;

/** Presses Tab until something has the focus. */
async function tabTo(page: Page, focused: Locator): Promise<void> {
  for (let tabs = 0; tabs < MOST_TABS; tabs++) {
    await page.keyboard.press('Tab');
    if ((await focused.count()) > 0) return;
  }
  assert.fail(`not reached by ${MOST_TABS} tabs`);
}

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

  it('works under a policy without unsafe-inline and with Trusted Types', async () => {
    const { page, errors } = await browser.newVisitor({ origin: shop.origin });
    const violations = `(() => {
      window.violations = [];
      addEventListener('securitypolicyviolation', ({ violatedDirective }) => window.violations.push(violatedDirective));
    })()`;
    await page.addInitScript(violations);
    const frame = await mountForm(page, shop.strict, await open());
    // The policy is in force.
    await page.evaluate(`{
      const element = document.createElement('p');
      try { element.innerHTML = '<b>x</b>'; } catch {}
      element.setAttribute('style', 'color: red');
    }`);
    await page.waitForFunction('violations.length >= 2');
    assert.deepEqual((await page.evaluate<string[]>('violations')).sort(), [
      'require-trusted-types-for',
      'style-src-attr',
    ]);
    await fill(frame);
    await page.evaluate('form.update({ appearance: { theme: "dark" } })');
    await frame.locator('html.dark').waitFor();
    await page.waitForFunction('document.querySelector("iframe").clientHeight > 100');
    assert.equal((await submit(page)).card.brand, 'visa');
    assert.equal((await page.evaluate<string[]>('violations')).length, 2);
    errors.expect(/^console: This document requires 'TrustedHTML' assignment/);
    errors.expect(/^console: Applying inline style violates .* 'default-src 'none''/);
  });

  it('is one submission however often it is called at once', async () => {
    const { page } = await browser.newVisitor({ origin: shop.origin });
    let posts = 0;
    await page.route(`${vault()}/v1/card/*`, (route) => {
      if (route.request().method() === 'POST') posts++;
      return route.continue();
    });
    const frame = await mount(page, await open());
    await fill(frame);
    const results = await page.evaluate<unknown[]>('Promise.all([1, 2, 3].map(submitForm))');
    assert.equal(new Set(results.map((each) => JSON.stringify(each))).size, 1);
    assert.equal(posts, 1);
  });

  it('takes one of two cards that two documents of a session submit at once', async () => {
    const cards = [
      { number: NUMBER, shown: { brand: 'visa', card: '411111******1111', exp: '12/2040' } },
      { number: '5555 5555 5555 4444', shown: { brand: 'mastercard', card: '555555******4444', exp: '12/2040' } },
    ];
    let held = 0;
    let release = (): void => undefined;
    const both = new Promise<void>((resolve) => {
      release = resolve;
    });
    /** Holds each submission until that of the other document is sent, too. */
    const holdSubmission = async (route: Route): Promise<void> => {
      if (route.request().method() === 'POST') {
        held++;
        if (held === cards.length) release();
        await both;
      }
      return route.continue();
    };
    const session = await open();
    const pages: Page[] = [];
    for (const { number } of cards) {
      const { page } = await browser.newVisitor({ origin: shop.origin });
      await page.route(`${vault()}/v1/card/*`, holdSubmission);
      await fill(await mount(page, session), number);
      pages.push(page);
    }
    const outcomes = await Promise.all(pages.map((page) => submit(page)));
    const winner = outcomes.findIndex(({ result }) => result !== undefined);
    assert.equal(outcomes[1 - winner]?.code, 'session_completed', JSON.stringify(outcomes));
    const { result, card } = outcomes[winner];
    assert.deepEqual(card, cards[winner]?.shown);
    const { json } = await service.call('GET', `/v1/capture-sessions/${session.id}`, { key });
    const { status, result: shownResult, card: shownCard, attempts } = json.data;
    assert.deepEqual([status, shownResult, shownCard, attempts], ['completed', result, card, 0]);
    const capture = await service.call('GET', `/transactions/requests/${result.capture.id}`, { key });
    assert.equal(capture.json.data.pan, cards[winner]?.number.replaceAll(' ', ''));
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

  it('shows what is wrong with a field when the field is left, before any submission', async () => {
    const { page } = await browser.newVisitor({ origin: shop.origin });
    const frame = await mount(page, await open());
    const shown = frame.locator('.error:not(:empty)');
    const [number, exp] = [frame.getByLabel('Card number'), frame.getByLabel('Expiry date')];
    await number.fill('4111 1111 1111 1112');
    assert.equal(await shown.count(), 0);
    await number.press('Tab');
    await frame.locator('#exp:focus').waitFor();
    assert.deepEqual(await shown.allTextContents(), ['Check the card number.']);
    await exp.fill('01/20');
    assert.equal(await shown.count(), 1);
    await exp.press('Tab');
    await frame.locator('#cvv:focus').waitFor();
    assert.deepEqual(await shown.allTextContents(), ['Check the card number.', 'The card has expired.']);
    for (const field of [number, exp]) assert.equal(await field.getAttribute('aria-invalid'), 'true');
    // The page gets the codes.
    await page.waitForFunction(`(() => {
      const { number, exp } = JSON.parse(changes.at(-1)).fields;
      return number.error === 'invalid' && exp.error === 'expired';
    })()`);
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
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'], { origin: shop.origin });
    const paste = async (text: string, field: Locator): Promise<string> => {
      await page.locator('h1').click();
      await page.evaluate(`navigator.clipboard.writeText(${JSON.stringify(text)})`);
      await field.focus();
      for (const keys of ['Control+A', 'Control+V']) await page.keyboard.press(keys);
      // Before the field is left.
      return field.inputValue();
    };
    for (const text of ['5555 5555 5555 4444', '5555-5555-5555-4444', '\t5555555555554444\n'])
      assert.equal(await paste(text, number), '5555 5555 5555 4444', text);
    for (const text of ['12/2030', '12 30', '2030-12', '12 / 2030'])
      assert.equal(await paste(text, exp), '12/30', text);
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
    const completed = await open();
    await fill(await mount(page, completed));
    assert.equal((await submit(page)).card.brand, 'visa');
    await assert.rejects(mount(page, completed), /session_completed/);
    assert.equal((await submit(page)).code, 'session_completed');
    assert.equal(await page.frameLocator('iframe').locator('input').count(), 0);
  });

  it('works on a page that is cross-origin isolated and pins the script by its digest, and no other script runs', async () => {
    const { json } = await service.call('GET', '/v1/integrity.json', { environment: 'cards' });
    const isolation = {
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-embedder-policy': 'require-corp',
    };
    const pinned = (integrity: string): string =>
      shopPage(`${vault()}${json.url}`, ` integrity="${integrity}" crossorigin`);
    shop.serve('/isolated', pinned(json.integrity), isolation);
    const { page, errors } = await browser.newVisitor({ origin: shop.origin });
    const frame = await mountForm(page, `${shop.origin}/isolated`, await open());
    assert.equal(await page.evaluate('crossOriginIsolated'), true);
    await fill(frame);
    assert.equal((await submit(page)).card.brand, 'visa');
    const digest = createHash('sha384').update('another script').digest('base64');
    shop.serve('/altered', pinned(`sha384-${digest}`), isolation);
    await page.goto(`${shop.origin}/altered`);
    assert.equal(await page.evaluate('typeof CardVault'), 'undefined');
    errors.expect(/^console: Failed to find a valid digest in the 'integrity' attribute/);
  });

  it('speaks the first language of the browser that it knows, and otherwise English', async () => {
    const { page } = await browser.newVisitor({ origin: shop.origin, locale: 'pt-BR' });
    await (await mount(page, await open())).getByLabel('Número do cartão').waitFor();
    await (await mount(page, await open({ locale: 'es' }))).getByLabel('Número de tarjeta').waitFor();
    for (const [languages, label] of [
      [['fr-FR', 'es-AR', 'pt'], 'Número de tarjeta'],
      [['fr-FR', 'de'], 'Card number'],
    ] as const) {
      const { page: other } = await browser.newVisitor({ origin: shop.origin });
      await other.addInitScript(
        `Object.defineProperty(navigator, 'languages', { get: () => ${JSON.stringify(languages)} })`,
      );
      await (await mount(other, await open())).getByLabel(label).waitFor();
    }
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
  const formIn = (page: Page): Frame => {
    const frame = page.frames().find((each) => each.url().startsWith(vault()));
    assert.ok(frame !== undefined);
    return frame;
  };
  /** Checks the browser's accessibility tree: the name of each field is its label, and its description the error. */
  const assertDescribed = async (place: Page | Frame, labels: readonly string[]): Promise<void> => {
    const context = 'context' in place ? place.context() : place.page().context();
    const session = await context.newCDPSession(place);
    const { nodes } = await session.send('Accessibility.getFullAXTree');
    const fields = nodes.filter(({ role }) => role?.value === 'textbox');
    assert.deepEqual(fields.map(({ name }) => name?.value).sort(), [...labels].sort());
    const errors = await place.locator('.error:not(:empty)').allTextContents();
    assert.deepEqual(
      fields.map(({ description }) => description?.value),
      errors,
    );
    assert.equal(new Set(errors).size, labels.length);
  };
  const WIDER = 'document.documentElement.scrollWidth > document.documentElement.clientWidth';

  for (const { what, locale, appearance, ...look } of LOOKS)
    it(`is accessible and fits, framed and hosted: ${what}`, async () => {
      const visitor = await browser.newVisitor({ origin: shop.origin, width: 320, height: 400, ...look });
      const { page } = visitor;
      const framed = await mount(page, await open({ locale, appearance }));
      const frame = formIn(page);
      assert.equal(await framed.locator('html').evaluate(WIDER), false);
      // Its height follows what it holds.
      await page.waitForFunction('document.querySelector("iframe").clientHeight > 100');
      await visitor.checkAccessibility({ frame, isSeenElsewhere: true });
      assert.equal((await submit(page)).code, 'invalid_fields');
      await framed
        .locator('.error:not(:empty)')
        .nth(4 - 1)
        .waitFor();
      assert.equal(await framed.locator('html').evaluate(WIDER), false);
      await visitor.checkAccessibility({ frame });
      await assertDescribed(frame, LABELS[locale]);
      const hosted = await open({ allowed_origins: undefined, return_url: `${shop.origin}/back`, locale, appearance });
      await page.goto(hosted.url ?? '');
      await page.locator('button[type="submit"]').click();
      await page
        .locator('.error:not(:empty)')
        .nth(4 - 1)
        .waitFor();
      await assertDescribed(page, LABELS[locale]);
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
    await tabTo(page, frame.locator('#number:focus'));
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
    await page.getByLabel('Card number').waitFor();
    await tabTo(page, page.locator('#number:focus'));
    for (const text of [DIGITS, '1240', '123', 'Ana Lopez']) {
      await page.keyboard.type(text);
      if (text !== 'Ana Lopez') await page.keyboard.press('Tab');
    }
    await page.keyboard.press('Enter');
    await page.waitForURL(/status=completed/);
    const left = await open({ allowed_origins: undefined, return_url: `${shop.origin}/back` });
    await page.goto(left.url ?? '');
    await page.getByLabel('Card number').waitFor();
    await tabTo(page, page.locator(':focus', { hasText: 'Cancel and go back' }));
    await page.keyboard.press('Enter');
    await page.waitForURL(/status=cancelled/);
  });

  it('puts the focus into the number at the call of focus()', async () => {
    const { page } = await browser.newVisitor({ origin: shop.origin });
    const frame = await mount(page, await open());
    await page.evaluate('form.focus()');
    await frame.locator('#number:focus').waitFor();
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

  it('shows in the sandbox that it takes test cards, in colors that no appearance reaches', async () => {
    const transparent = '#ff00ff00';
    const appearance = {
      ...{ theme: 'dark', layout: 'compact', labels: 'hidden' },
      variables: {
        ...{ colorText: transparent, colorBackground: transparent, colorPrimary: transparent },
        ...{ colorDanger: transparent, colorPlaceholder: transparent, colorBorder: transparent },
        ...{ fontSize: '12px', fontFamily: 'cursive', borderRadius: '24px', spacing: '0px' },
      },
    };
    const { page } = await browser.newVisitor({ origin: shop.origin });
    /** Returns the colors of the notice, and those of the form around it. */
    const readColors = async (place: Page | FrameLocator): Promise<{ notice: string; form: string }> => {
      await place.getByText('Test mode: enter test cards only.').waitFor();
      return formIn(page).evaluate<{ notice: string; form: string }>(`(() => {
        const colorsOf = (element) => {
          const { color, backgroundColor } = getComputedStyle(element);
          return color + ' on ' + backgroundColor;
        };
        return { notice: colorsOf(document.querySelector('.sandbox')), form: colorsOf(document.body) };
      })()`);
    };
    const { notice } = await readColors(await mount(page, await open()));
    // Neither color is transparent.
    assert.match(notice, /^rgb\([^)]+\) on rgb\([^)]+\)$/);
    // The appearance is in force everywhere else.
    const expected = { notice, form: 'rgba(255, 0, 255, 0) on rgba(255, 0, 255, 0)' };
    assert.deepEqual(await readColors(await mount(page, await open({ appearance }))), expected);
    assert.deepEqual(await readColors(await mount(page, await open(), { appearance })), expected);
    const hosted = await open({ allowed_origins: undefined, return_url: `${shop.origin}/back`, appearance });
    await page.goto(hosted.url ?? '');
    assert.deepEqual(await readColors(page), expected);
  });

  it('works with the scripts of all releases', async () => {
    const { json } = await service.call('GET', '/v1/integrity.json', { environment: 'cards' });
    const released = readdirSync(join(ROOT, 'card-form', 'released'));
    const older = released.filter((name) => name.endsWith('.js') && !json.url.endsWith(name));
    for (const name of older) {
      const { page } = await browser.newVisitor({ origin: shop.origin });
      await fill(await mountForm(page, `${shop.origin}/?/v1/${name}`, await open()));
      assert.equal((await submit(page)).card.brand, 'visa', name);
    }
  });

  it('works with the form of each earlier release, with the present script and service', async () => {
    const digest = (text = ''): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
    for (const release of listFinalReleases()) {
      const folder = mkdtempSync(join(tmpdir(), 'cardvault-release-'));
      try {
        unpackSources(release, folder);
        // The configuration of the form extends this one.
        copyFileSync(join(ROOT, 'tsconfig.json'), join(folder, 'tsconfig.json'));
        const { LIMITS: limits } = await import(join(folder, 'src', 'kernel', 'limits.ts'));
        const html = await buildDocument(await import('vite'), { folder: join(folder, 'card-form'), limits });
        const [, style] = /<style>([\s\S]*?)<\/style>/.exec(html) ?? [];
        const [, script] = /<script>([\s\S]*?)<\/script>/.exec(html) ?? [];
        const { page } = await browser.newVisitor({ origin: shop.origin });
        let served = 0;
        await page.route(`${vault()}/v1/card/*`, async (route) => {
          if (route.request().method() !== 'GET') return route.continue();
          served++;
          const path = new URL(route.request().url()).pathname;
          const { headers } = await service.call('GET', path, { environment: 'cards' });
          const { 'content-length': _, ...heads } = headers as Record<string, string>;
          const policy = String(heads['content-security-policy'])
            .replace(/script-src [^;]+/, `script-src ${digest(script)}`)
            .replace(/style-src [^;]+/, `style-src ${digest(style)}`);
          return route.fulfill({
            body: html.replace('%ORIGINS%', shop.origin),
            headers: { ...heads, 'content-security-policy': policy },
          });
        });
        const frame = await mount(page, await open());
        assert.equal((await submit(page)).code, 'invalid_fields');
        await fill(frame);
        await page.evaluate('form.update({ appearance: { theme: "dark" } })');
        await frame.locator('html.dark').waitFor();
        assert.equal((await submit(page)).card.brand, 'visa', release);
        assert.equal(served, 1);
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
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

  const openHosted = async (change: object = {}): Promise<OpenSession> =>
    open({ allowed_origins: undefined, return_url: `${shop.origin}/back`, ...change });
  const refuse = async ({ id, client_secret: secret }: OpenSession, times: number): Promise<void> => {
    const headers = { authorization: `Bearer ${secret}`, origin: vault() };
    for (let count = 0; count < times; count++) {
      const body = { number: '', exp: '', attempt: randomUUID() };
      const { status } = await service.call('POST', `/v1/card/${id}`, { environment: 'cards', headers, body });
      assert.equal(status, 400);
    }
  };
  const NO_NUMBER = '4111111111111112';

  it('as a hosted page shows a failed or expired session with a button back', async () => {
    const visitor = await browser.newVisitor({ origin: vault() });
    const { page } = visitor;
    const leave = async ({ id }: OpenSession, text: string, status: string): Promise<void> => {
      // The fields are gone, and a screen reader says what has the focus instead.
      await page.locator('h1:focus', { hasText: text }).waitFor();
      assert.equal(await page.locator('input').count(), 0);
      await visitor.checkAccessibility();
      await page.getByRole('button', { name: 'Back to the shop' }).click();
      await page.waitForURL(`${shop.origin}/back?capture_session=${id}&status=${status}`);
    };
    const failed = await openHosted();
    await refuse(failed, 9);
    // The form sends no number that it knows to be wrong.
    await page.route(`${vault()}/v1/card/*`, (route) => {
      const isSubmission = route.request().method() === 'POST';
      const { attempt } = isSubmission ? route.request().postDataJSON() : { attempt: '' };
      return route.continue(isSubmission ? { postData: JSON.stringify({ number: NO_NUMBER, attempt }) } : {});
    });
    await page.goto(failed.url ?? '');
    await fill(page);
    await page.getByRole('button', { name: 'Continue' }).click();
    await leave(failed, 'There were too many attempts. Go back and start again.', 'failed');
    await page.goto(failed.url ?? '');
    await leave(failed, 'There were too many attempts. Go back and start again.', 'failed');
    await page.clock.install();
    const expired = await openHosted({ expires_in: 1 });
    await page.goto(expired.url ?? '');
    await fill(page);
    await page.clock.fastForward(60_000);
    await leave(expired, 'The time is over. Go back and start again.', 'expired');
  });

  it('as a hosted page whose time is over goes back with the end that its session had in another tab', async () => {
    const { page } = await browser.newVisitor({ origin: vault() });
    await page.clock.install();
    const session = await openHosted({ expires_in: 1 });
    await page.goto(session.url ?? '');
    await fill(page);
    const headers = { authorization: `Bearer ${session.client_secret}`, origin: vault() };
    const body = { number: DIGITS, exp: '12/40', name: 'Ana Lopez', cvv: '123', attempt: randomUUID() };
    await service.call('POST', `/v1/card/${session.id}`, { environment: 'cards', headers, body });
    await page.clock.fastForward(60_000);
    await page.waitForURL(`${shop.origin}/back?capture_session=${session.id}&status=completed`);
  });

  it('whose time is over rejects a submission with the end that its session had, once that is known', async () => {
    const { page } = await browser.newVisitor({ origin: shop.origin });
    await page.clock.install();
    const session = await open({ expires_in: 1 });
    await mountForm(page, shop.origin, session);
    let release = (): void => undefined;
    const isReleased = new Promise<void>((resolve) => {
      release = resolve;
    });
    await page.route(`${vault()}/v1/card/*/session`, async (route) => {
      await isReleased;
      return route.continue();
    });
    const headers = { authorization: `Bearer ${session.client_secret}`, origin: vault() };
    const body = { number: DIGITS, exp: '12/40', name: 'Ana Lopez', cvv: '123', attempt: randomUUID() };
    await service.call('POST', `/v1/card/${session.id}`, { environment: 'cards', headers, body });
    const asked = page.waitForRequest(/\/session$/);
    await page.clock.fastForward(60_000);
    await asked;
    const submission = page.evaluate('submitForm()');
    release();
    assert.deepEqual(await submission, { code: 'session_completed', fields: undefined });
  });

  it('as a hosted page returns immediately from a completed or cancelled session', async () => {
    const { page } = await browser.newVisitor({ origin: vault() });
    const completed = await openHosted();
    const headers = { authorization: `Bearer ${completed.client_secret}`, origin: vault() };
    const body = { number: DIGITS, exp: '12/40', name: 'Ana Lopez', cvv: '123', attempt: randomUUID() };
    await service.call('POST', `/v1/card/${completed.id}`, { environment: 'cards', headers, body });
    const cancelled = await openHosted();
    await service.call('DELETE', `/v1/capture-sessions/${cancelled.id}`, { key });
    for (const [{ id, url }, status] of [
      [completed, 'completed'],
      [cancelled, 'cancelled'],
    ] as const) {
      await page.goto(url ?? '');
      await page.waitForURL(`${shop.origin}/back?capture_session=${id}&status=${status}`);
    }
  });

  it('shows no field at the top when the session has no return_url, although the fragment has its secret', async () => {
    const { id, client_secret: secret } = await open();
    const { page } = await browser.newVisitor({ origin: vault() });
    await page.goto(`${vault()}/v1/card/${id}#${secret}`);
    await page.locator('main').waitFor();
    assert.equal(await page.locator('input').count(), 0);
    await page.getByText('This form does not exist any more.').waitFor();
    assert.equal((await service.call('GET', `/v1/capture-sessions/${id}`, { key })).json.data.status, 'open');
  });

  it('as a hosted page goes back as completed when it is cancelled while its submission has completed unseen', async () => {
    const { page, errors } = await browser.newVisitor({ origin: vault() });
    const session = await openHosted();
    let isSubmitted = false;
    await page.route(`${vault()}/v1/card/${session.id}`, async (route) => {
      const request = route.request();
      if (request.method() !== 'POST') return route.continue();
      const headers = { authorization: `Bearer ${session.client_secret}`, origin: vault() };
      const path = new URL(request.url()).pathname;
      const body = request.postDataJSON();
      const { status } = await service.call('POST', path, { environment: 'cards', body, headers });
      assert.equal(status, 200);
      isSubmitted = true;
      return route.abort('connectionreset');
    });
    await page.goto(session.url ?? '');
    await fill(page);
    await page.getByRole('button', { name: 'Continue' }).click();
    await untilPasses(async () => assert.ok(isSubmitted));
    await page.getByRole('button', { name: 'Cancel and go back' }).click();
    await page.waitForURL(`${shop.origin}/back?capture_session=${session.id}&status=completed`);
    errors.expect(/^not loaded: POST .*ERR_CONNECTION_RESET/);
  });

  it('is accessible without a connection, without a session and after completion', async () => {
    const visitor = await browser.newVisitor({ origin: vault() });
    const { page } = visitor;
    let status = 503;
    await page.route(`${vault()}/v1/card/*`, (route) =>
      route.request().method() === 'POST' && status === 503
        ? route.fulfill({ status, headers: { 'retry-after': '90' }, json: {} })
        : route.continue(),
    );
    const session = await openHosted({ description: 'Order 1' });
    await page.goto(session.url ?? '');
    await visitor.checkAccessibility();
    await fill(page);
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('status').getByText('No connection. Check it, then try again.').waitFor();
    assert.equal(await page.locator('input:enabled').count(), 0);
    await visitor.checkAccessibility();
    status = 200;
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.waitForURL(/status=completed/);
    visitor.errors.expect(/^503: POST /);

    await page.goto(`${vault()}/v1/card/cs_${'0'.repeat(24)}`);
    await page.getByText('This form does not exist any more.').waitFor();
    await visitor.checkAccessibility();
    visitor.errors.expect(/^404: GET /);

    await page.route('**/session', (route) => route.fulfill({ status: 403, json: {} }));
    await page.goto((await openHosted()).url ?? '');
    await page.getByText('No connection. Check it, then try again.').waitFor();
    await visitor.checkAccessibility();
    await page.unroute('**/session');

    const framed = await mount(page, await open());
    await fill(framed);
    await submit(page);
    assert.equal(await framed.locator('input:enabled').count(), 0);
    await visitor.checkAccessibility({ frame: formIn(page) });
  });

  it('is empty after the buyer has returned to it', async () => {
    const session = await open({ allowed_origins: undefined, return_url: `${shop.origin}/back` });
    const { page } = await browser.newVisitor({ origin: vault() });
    await page.goto(session.url ?? '');
    const number = page.getByLabel('Card number');
    // Playwright switches the back/forward cache off; these are the events of a page that goes there and comes back.
    for (const type of ['pagehide', 'pageshow']) {
      await number.fill(NUMBER);
      await page.evaluate(`window.dispatchEvent(new PageTransitionEvent('${type}', { persisted: true }))`);
      assert.equal(await number.inputValue(), '', type);
    }
    await number.fill(NUMBER);
    await page.goto(`${shop.origin}/`);
    await page.goBack();
    await number.waitFor();
    assert.equal(await number.inputValue(), '');
    const frame = await mount(page, await open());
    for (const type of ['pagehide', 'pageshow']) {
      await fill(frame);
      await formIn(page).evaluate(`window.dispatchEvent(new PageTransitionEvent('${type}', { persisted: true }))`);
      for (const input of await frame.locator('input').all()) assert.equal(await input.inputValue(), '', type);
    }
  });
});
