import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, test } from 'node:test';
import { newKeyPair } from '../fixtures/rsa-key-pairs.ts';
import { shareService } from '../fixtures/shared-service.ts';
import { luhnPan, type TestService } from '../fixtures/test-service.ts';
import { inScope } from '../scope.ts';
import { newSender, openJose, openWssec, proxied, type Sender } from './proxy-requests.ts';

const shared = shareService();

const COUNT = inScope({ usual: 24, long: 64 });

interface Card {
  readonly pan: string;
  readonly name: string;
  readonly token: string;
  readonly capture: string;
  readonly cvv: string;
}

let service: TestService;
let me: Sender;
let cards: Card[];
before(async () => {
  service = await shared.open();
  me = await newSender(service);
  cards = await Promise.all(Array.from({ length: COUNT }, (_, index) => newCard(me, index)));
});
after(() => shared.close());

async function newCard(sender: Sender, index: number): Promise<Card> {
  const pan = luhnPan('411111');
  const name = `Holder "${index}"`;
  const cvv = String(1000 + index);
  const [token, capture] = await Promise.all([sender.token(pan, { name }), sender.capture({ card: pan, cvv })]);
  return { pan, name, token, capture, cvv };
}

const textOf = ({ token, capture }: Card): string =>
  `{{${token}:detokenize}};{{${token}:detokenize | extract:name}};{{${capture}:transaction | extract:cvv}}`;

test(`${COUNT} concurrent requests to /proxy/jose, each with its own data`, async () => {
  await Promise.all(
    cards.map(async (card) => {
      const payload = JSON.parse(await openJose(proxied(await me.jose({ mcc: textOf(card) }))));
      assert.equal(payload.mcc, `${card.pan};${card.name};${card.cvv}`);
    }),
  );
});

test(`${COUNT} concurrent requests to /proxy/wssec, each with its own data`, async () => {
  await Promise.all(
    cards.map(async (card) => {
      const content = openWssec(proxied(await me.wssec(`<a>${textOf(card)}</a>`)).xml);
      assert.equal(content, `<a>${card.pan};${card.name};${card.cvv}</a>`);
    }),
  );
});

test(`${COUNT} concurrent requests to /proxy/hash, each with its own data`, async () => {
  await Promise.all(
    cards.map(async (card) => {
      const { hashValue } = proxied(await me.hash(textOf(card), {}, 'type=SHA512'));
      const expected = `${card.pan};${JSON.stringify(card.name).slice(1, -1)};${card.cvv}`;
      assert.equal(hashValue, createHash('sha512').update(expected).digest('base64'));
    }),
  );
});

test(`${COUNT} concurrent requests of four accounts with their own keys, to all endpoints`, async () => {
  const accounts = await Promise.all(
    Array.from({ length: 4 }, async () => {
      const pairs = { processor: newKeyPair(), merchant: newKeyPair() };
      const sender = await newSender(service, { setup: pairs });
      return { pairs, sender, card: await newCard(sender, 0) };
    }),
  );
  await Promise.all(
    Array.from({ length: COUNT }, async (_, index) => {
      const { pairs, sender, card } = accounts[index % 4] ?? assert.fail();
      const expected = `${card.pan};${card.name};${card.cvv}`;
      if (index % 8 < 4) {
        const data = proxied(await sender.jose({ mcc: textOf(card) }));
        assert.equal(JSON.parse(await openJose(data, pairs)).mcc, expected);
      } else {
        const { xml } = proxied(await sender.wssec(`<a>${textOf(card)}</a>`));
        assert.equal(openWssec(xml, pairs), `<a>${expected}</a>`);
      }
    }),
  );
});

test(`${COUNT} concurrent requests that read the same record`, async () => {
  const [card = assert.fail()] = cards;
  const responses = await Promise.all(Array.from({ length: COUNT }, () => me.jose({ mcc: textOf(card) })));
  const values = responses.map((response) => proxied(response).value);
  assert.equal(new Set(values).size, COUNT);
  const last = JSON.parse(await openJose(proxied(responses.at(-1) ?? assert.fail())));
  assert.equal(last.mcc, `${card.pan};${card.name};${card.cvv}`);
});
