import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import { newCaller } from '../interface/vault-requests.ts';
import { onlyLong } from '../scope.ts';
import { DIGITS, NAME, type OpenSession, openSession, type Shop, startShop } from './card-form-shop.ts';
import { type Firefox, openFirefox, whyNoFirefox } from './firefox.ts';
import { untilPasses } from './until-passes.ts';

const TAB = '\ue004';
const ENTER = '\ue007';
const CARD = `${[DIGITS, '1240', '123', NAME].join(TAB)}${ENTER}`;

describe('the card form in Firefox', { skip: onlyLong || whyNoFirefox(), timeout: 240_000 }, () => {
  let service: TestService;
  let firefox: Firefox;
  let shop: Shop;
  let key: string;

  before(async () => {
    service = await startTestService({ variables: { CARDVAULT_RATE_LIMIT_CAPTURE: '0' } });
    ({ key } = await newCaller(service));
    shop = await startShop(() => `https://localhost:${service.ports.cards}`);
    firefox = await openFirefox();
  });
  after(async () => {
    await firefox?.close();
    shop?.stop();
    await service?.stop();
  });

  const open = (change: object): Promise<OpenSession> => openSession(service.call, key, change);

  it('takes a card that is typed into its frame, of which the page sees nothing', async () => {
    const { id, client_secret: clientSecret } = await open({ allowed_origins: [shop.origin] });
    await firefox.open(`${shop.origin}/`);
    const appearance = { theme: 'dark', labels: 'hidden' };
    await firefox.evaluate(`mountForm(${JSON.stringify({ session: id, clientSecret, appearance, locale: 'pt' })})`);
    assert.equal(await firefox.evaluate('document.documentElement.className', 'frame'), 'dark hidden-labels');
    await firefox.evaluate('document.querySelector("#number").focus()', 'frame');
    await firefox.press(CARD, 'frame');
    await untilPasses(async () => assert.equal(await firefox.evaluate('events.includes("enter")'), true));
    assert.equal(await firefox.evaluate('document.querySelector("#number").value', 'frame'), '4111 1111 1111 1111');
    const { card } = await firefox.evaluate<{ card: object }>('submitForm()');
    assert.deepEqual(card, { brand: 'visa', card: '411111******1111', exp: '12/2040' });
    const seen = await firefox.evaluate<{ seen: string[]; changes: string; reach: string }>('look()');
    assert.deepEqual([seen.seen, seen.reach], [[], 'null']);
    assert.doesNotMatch(seen.changes, /[0-9]/);
  });

  it('takes a card on the hosted page, and goes back with the status', async () => {
    const { id, url } = await open({ return_url: `${shop.origin}/back` });
    await firefox.open(url ?? '');
    await untilPasses(async () =>
      assert.equal(await firefox.evaluate('document.querySelector("#number") !== null'), true),
    );
    await firefox.evaluate('document.querySelector("#number").focus()');
    await firefox.press(CARD);
    const back = `${shop.origin}/back?capture_session=${id}&status=completed`;
    await untilPasses(async () => assert.equal(await firefox.evaluate('location.href'), back));
  });

  it('opens for a page of its origins alone', async () => {
    const { id } = await open({ allowed_origins: ['https://other.example.com'] });
    await firefox.open(`${shop.origin}/`);
    await firefox.evaluate(`new Promise((resolve) => {
      const frame = document.createElement('iframe');
      frame.onload = resolve;
      frame.src = 'https://localhost:${service.ports.cards}/v1/card/${id}';
      document.body.append(frame);
    })`);
    // In its place is a page of the browser, with the same address.
    assert.equal(await firefox.evaluate('document.querySelector("meta[name=origins]")', 'frame'), null);
    assert.notEqual(
      await firefox.evaluate('document.documentURI', 'frame'),
      await firefox.evaluate('location.href', 'frame'),
    );
  });
});
