import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import { newCaller } from '../interface/vault-requests.ts';
import { DIGITS, NAME, NUMBER, type OpenSession, openSession, type Shop, startShop } from './card-form-shop.ts';
import { CONTROL, type DrivenBrowser, ENTER, TAB, type Where } from './driven-browser.ts';
import { untilPasses } from './until-passes.ts';

const CARD = `${[DIGITS, '1240', '123', NAME].join(TAB)}${ENTER}`;
const FIELD = 'document.querySelector("#number")';
/** The background of the dark theme. */
const DARK = 'rgb(22, 24, 29)';

/** The same claims for every browser, with its own keys and clipboard. */
export function describeCardForm(
  name: string,
  { skip, open: openBrowser }: { skip: string | false; open(): Promise<DrivenBrowser> },
): void {
  describe(`the card form in ${name}`, { skip, timeout: 240_000 }, () => {
    let service: TestService;
    let browser: DrivenBrowser;
    let shop: Shop;
    let key: string;
    const vault = (): string => `https://localhost:${service.ports.cards}`;

    before(async () => {
      service = await startTestService({ variables: { CARDVAULT_RATE_LIMIT_CAPTURE: '0' } });
      ({ key } = await newCaller(service));
      shop = await startShop(vault);
      browser = await openBrowser();
    });
    after(async () => {
      await browser?.close();
      shop?.stop();
      await service?.stop();
    });

    const open = (change: object): Promise<OpenSession> => openSession(service.call, key, change);
    const mount = async (options: object = {}): Promise<void> => {
      const { id, client_secret: clientSecret } = await open({ allowed_origins: [shop.origin] });
      await browser.open(`${shop.origin}/`);
      await browser.evaluate(`mountForm(${JSON.stringify({ session: id, clientSecret, ...options })})`);
    };
    const openHosted = async (): Promise<OpenSession> => {
      const session = await open({ return_url: `${shop.origin}/back` });
      await browser.open(session.url ?? '');
      await awaitValue(`${FIELD} !== null`, true);
      return session;
    };
    const typeInto = async (keys: string, where: Where): Promise<void> => {
      // Not by a script: WebKit lets a frame take the focus only after the buyer has touched it.
      // The frame gets its height a moment after the form is ready.
      await untilPasses(() => browser.click('#number', where));
      await browser.press(keys, where);
    };
    const awaitValue = (expression: string, expected: unknown, where: Where = 'page'): Promise<void> =>
      untilPasses(async () => assert.deepEqual(await browser.evaluate(expression, where), expected));
    const awaitNumber = (expected: string, where: Where): Promise<void> =>
      awaitValue(`${FIELD}.value`, expected, where);
    const submit = (): Promise<{ card?: object; code?: string; fields?: { field: string }[] }> =>
      browser.evaluate('submitForm()');

    it('takes a card that is typed into its frame, of which the page sees nothing', async () => {
      await mount({ appearance: { theme: 'dark', labels: 'hidden' }, locale: 'pt' });
      assert.equal(await browser.evaluate('document.documentElement.className', 'frame'), 'dark hidden-labels');
      assert.equal(await browser.evaluate('getComputedStyle(document.body).backgroundColor', 'frame'), DARK);
      // A browser that does not know a name says that there is none, as Firefox of the security code.
      const names = '[...document.querySelectorAll("input")].map(({ autocomplete }) => autocomplete)';
      const [number, exp, cvv, holder] = await browser.evaluate<string[]>(names, 'frame');
      assert.deepEqual([number, exp, cvv || 'cc-csc', holder], ['cc-number', 'cc-exp', 'cc-csc', 'cc-name']);
      await typeInto(CARD, 'frame');
      await awaitValue('events.includes("enter")', true);
      await awaitNumber(NUMBER, 'frame');
      // The frame grows with the form.
      assert.ok((await browser.evaluate<number>('document.querySelector("iframe").clientHeight')) > 100);
      const { card } = await submit();
      assert.deepEqual(card, { brand: 'visa', card: '411111******1111', exp: '12/2040' });
      const seen = await browser.evaluate<{ seen: string[]; changes: string; reach: string }>('look()');
      assert.deepEqual([seen.seen, seen.reach], [[], 'null']);
      assert.doesNotMatch(seen.changes, /[0-9]/);
    });

    it('groups a number that is pasted, and focuses the first field at fault', async () => {
      await mount({ locale: 'en' });
      await browser.evaluate(`(() => {
        const input = document.createElement('input');
        input.value = '2223-0031-2200-3222';
        document.body.append(input);
        input.focus();
        input.select();
      })()`);
      await browser.press(`${CONTROL}c`);
      await typeInto(`${CONTROL}v`, 'frame');
      await awaitNumber('2223 0031 2200 3222', 'frame');
      const { code, fields = [] } = await submit();
      assert.equal(code, 'invalid_fields');
      assert.deepEqual(fields.map(({ field }) => field).sort(), ['cvv', 'exp', 'name']);
      const text = await browser.evaluate('document.querySelector("#exp-error").textContent', 'frame');
      assert.equal(text, 'Enter the expiry date.');
      // The next keys reach that field.
      assert.equal(await browser.evaluate('document.activeElement.id', 'frame'), 'exp');
      await browser.press(['0940', '123', NAME].join(TAB), 'frame');
      await awaitValue('document.querySelector("#name").value', NAME, 'frame');
      const { card } = await submit();
      assert.deepEqual(card, { brand: 'mastercard', card: '222300******3222', exp: '09/2040' });
    });

    it('takes a card on the hosted page, and goes back with the status', async () => {
      const { id } = await openHosted();
      await typeInto(CARD, 'page');
      const back = `${shop.origin}/back?capture_session=${id}&status=completed`;
      await awaitValue('location.href', back);
    });

    it('opens for a page of its origins alone', async () => {
      const frameOf = async (origin: string): Promise<unknown> => {
        const { id } = await open({ allowed_origins: [origin] });
        await browser.open(`${shop.origin}/`);
        await browser.evaluate(`new Promise((resolve) => {
          const frame = document.createElement('iframe');
          frame.onload = resolve;
          frame.src = '${vault()}/v1/card/${id}';
          document.body.append(frame);
        })`);
        return browser.evaluate('document.querySelector("meta[name=origins]")?.content', 'frame');
      };
      assert.equal(await frameOf(shop.origin), shop.origin);
      // In its place is a page of the browser.
      assert.equal(await frameOf('https://other.example.com'), null);
    });

    it('is empty after the buyer has returned to the hosted page', async () => {
      const { url } = await openHosted();
      await typeInto(DIGITS, 'page');
      await awaitNumber(NUMBER, 'page');
      await browser.open(`${shop.origin}/`);
      await browser.back();
      await awaitValue('location.href', url);
      await awaitNumber('', 'page');
    });

    it('is empty after the buyer has returned to the page of the shop', async () => {
      await mount();
      await typeInto(DIGITS, 'frame');
      await awaitNumber(NUMBER, 'frame');
      await browser.open(`${shop.origin}/?next`);
      await browser.back();
      await awaitValue('location.href', `${shop.origin}/`);
      // A browser that did not keep the page loads it again, without the form.
      if (await browser.evaluate('document.querySelector("iframe") === null')) return;
      assert.equal(await browser.evaluate(`${FIELD}.value`, 'frame'), '');
      await typeInto(CARD, 'frame');
      const { card } = await submit();
      assert.deepEqual(card, { brand: 'visa', card: '411111******1111', exp: '12/2040' });
    });
  });
}
