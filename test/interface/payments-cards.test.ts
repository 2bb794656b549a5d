import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Permission } from '../../src/accounts/permission.ts';
import { PERMISSIONS } from '../../src/accounts/permission.ts';
import { startTestService, type TestResponse, type TestService } from '../fixtures/test-service.ts';
import {
  assertRefused,
  CARD,
  infoOf,
  type Merchant,
  newMerchant,
  order,
  PAYMENTS,
  processed,
} from './payment-requests.ts';
import { capture, dataOf, newCaller } from './vault-requests.ts';

/** The simulator declines this card as rejected, so that the response shows whether it was used. */
const REJECTED_CARD = '4000000000000002';
const UNKNOWN_CAPTURE = '0f4e2c9a-5d1b-4b7e-9c3a-8a1d2e3f4b5c';

describe('the card of a payment', () => {
  let service: TestService;
  let me: Merchant;
  let token: string;
  let captured: string;
  before(async () => {
    service = await startTestService();
    me = await newMerchant(service, { 'erase-sad': 'false' });
    token = await newToken(REJECTED_CARD, '12/29');
    captured = await newCapture({ card: REJECTED_CARD, name: 'Ana Lopez', exp: '12/29', cvv: '123' });
  });
  after(() => service.stop());

  const newToken = async (card: string, exp: string): Promise<string> => {
    const chd = [{ card, name: 'Ana Lopez', exp }];
    return dataOf(await me.tokenize({ chd, tags: [], scheme: 7 })).tokens[0].token;
  };
  const newCapture = async (chd: object): Promise<string> => me.capture({ chd });
  const send = (card: object, amount?: unknown): Promise<TestResponse> => me.order('authorization', { card, amount });
  /** It is the card that the simulator rejects, with a good expiry. */
  const assertRead = (response: TestResponse): void => {
    processed(response, 'Fail');
    assert.equal(infoOf(response).reason, 'Rejected', response.text);
  };
  const permanent = (): string => `{{${token}:detokenize}}`;
  const temporary = (): string => `{{${captured}:transaction}}`;

  describe('is accepted:', () => {
    const cards: Readonly<Record<string, () => object>> = {
      'in clear': () => ({ ...CARD, number: REJECTED_CARD }),
      'in clear, as JSON numbers': () => ({
        number: Number(REJECTED_CARD),
        expiration_date: '12/29',
        security_code: 1234,
      }),
      'in clear, with blanks and dashes': () => ({ ...CARD, number: '4000 0000-0000 0002' }),
      'with number and expiry alone': () => ({ number: REJECTED_CARD, expiration_date: '12/2029' }),
      'with an expiry of two digits': () => ({ ...CARD, number: REJECTED_CARD, expiration_date: '12/29' }),
      'by a permanent token': () => ({ number: permanent(), expiration_date: permanent(), holder: permanent() }),
      'by a permanent token, the rest in clear': () => ({ ...CARD, number: permanent() }),
      'by a capture': () => ({
        number: temporary(),
        expiration_date: temporary(),
        security_code: temporary(),
        holder: temporary(),
      }),
      'by a token, its security code by a capture': () => ({
        number: permanent(),
        expiration_date: permanent(),
        security_code: temporary(),
      }),
      'by a token, the expiry of a capture, and a code in clear': () => ({
        number: permanent(),
        expiration_date: temporary(),
        security_code: '1234',
        holder: 'Ana Lopez',
      }),
      'with blanks around and within the placeholder': () => ({
        number: ` \t{{ ${token} : detokenize }}\r\n`,
        expiration_date: `\n{{\t${captured}\n:\ttransaction }} `,
      }),
      'with null and empty optional fields': () => ({
        number: REJECTED_CARD,
        expiration_date: '12/29',
        security_code: null,
        holder: '',
      }),
    };
    for (const [how, card] of Object.entries(cards)) test(how, async () => assertRead(await send(card())));

    test('19 digits as a JSON number, without loss', async () => {
      const pan = '6304000000000000000';
      const text = JSON.stringify(order('payment', { card: { number: 'HERE', expiration_date: '12/29' } }));
      const response = await me.send('POST', PAYMENTS, text.replace('"HERE"', pan));
      const { token: created } = processed(response).card;
      const one = await newMerchant(service, {}, { account: me.account });
      const read = await one.order('payment', { card: { number: pan, expiration_date: '12/29' } });
      assert.equal(processed(read).card.token, created, 'the same card');
    });

    test('the expiry of the record that the field refers to', async () => {
      const expired = await newToken(REJECTED_CARD, '01/20');
      const [good, bad] = [permanent(), `{{${expired}:detokenize}}`];
      assertRead(await send({ number: bad, expiration_date: good }));
      assert.equal(infoOf(await send({ number: good, expiration_date: bad })).reason, 'ExpiredCard');
    });

    test('as it was at the request: a later deletion of the token has no effect', async () => {
      const own = await newToken('4111111111111111', '12/29');
      const id = infoOf(await send({ number: `{{${own}:detokenize}}`, expiration_date: '12/29' })).transaction_id;
      await me.send('DELETE', '/v1/tokens', { tokens: [own] });
      processed(await me.move('capture', id));
      processed(await me.move('refund', id));
    });
  });

  describe('is rejected, without a transaction:', () => {
    const refused = async (card: object, code: string, path: string, sent?: unknown): Promise<void> => {
      const before = await me.operations();
      assertRefused(await send(card), { code, path }, sent);
      assertRefused(await me.order('payment', { card }), { code, path }, sent);
      assert.equal(await me.operations(), before);
    };
    const fields = ['number', 'expiration_date', 'security_code', 'holder'] as const;
    const forms: Readonly<Record<string, (mark: string) => string>> = {
      'text before': (mark) => `x${mark}`,
      'text behind': (mark) => `${mark}9`,
      'a second one beside it': (mark) => mark + mark,
      'a filter': (mark) => mark.replace('}}', ' | extract:card}}'),
      'a filter that the field would fit': (mark) => mark.replace('}}', '|extract:expiration|date:MM/YY}}'),
      'the encrypt filter': (mark) => mark.replace('}}', ' | encrypt}}'),
      'no end': (mark) => mark.replace('}}', '}'),
      'no verb': (mark) => mark.replace(/:[a-z]+/, ''),
      'another verb': (mark) => mark.replace(/:[a-z]+/, ':Transaction'),
      'a no-break space': (mark) => `\u00a0${mark}`,
      'nothing in it': () => '{{}}',
    };
    for (const field of fields) {
      for (const [what, form] of Object.entries(forms)) {
        test(`${field} with ${what}`, async () => {
          const mark = form(temporary());
          await refused({ ...CARD, [field]: mark }, 'invalid_placeholder', `card.${field}`, captured);
        });
      }
    }

    test('with the security code of a permanent token, which has none', () =>
      refused({ ...CARD, security_code: permanent() }, 'invalid_placeholder', 'card.security_code', token));

    test('with parts that a capture does not have', async () => {
      const codeOnly = await newCapture({ cvv: '123' });
      const mark = `{{${codeOnly}:transaction}}`;
      for (const field of ['number', 'expiration_date', 'holder'] as const)
        await refused({ ...CARD, [field]: mark }, 'invalid_placeholder', `card.${field}`, codeOnly);
      const bare = await newCapture({ card: REJECTED_CARD });
      const card = { ...CARD, security_code: `{{${bare}:transaction}}` };
      await refused(card, 'invalid_placeholder', 'card.security_code', bare);
    });

    test('with unknown tokens and captures, whose location is reported', async () => {
      const unknown = '4111117349251111';
      for (const field of ['number', 'expiration_date', 'holder'] as const)
        await refused({ ...CARD, [field]: `{{${unknown}:detokenize}}` }, 'unknown_token', `card.${field}`, unknown);
      for (const field of fields) {
        const mark = `{{${UNKNOWN_CAPTURE}:transaction}}`;
        await refused({ ...CARD, [field]: mark }, 'unknown_capture', `card.${field}`, UNKNOWN_CAPTURE);
        await refused({ ...CARD, [field]: '{{x:transaction}}' }, 'unknown_capture', `card.${field}`);
      }
      await refused({ ...CARD, number: `{{${token}:transaction}}` }, 'unknown_capture', 'card.number', token);
      await refused({ ...CARD, number: `{{${captured}:detokenize}}` }, 'unknown_token', 'card.number', captured);
    });

    test('with tokens and captures of another account', async () => {
      const other = await newMerchant(service);
      const production = await newCaller(service, { account: me.account, environment: 'production' });
      for (const caller of [other, production]) {
        const body = { chd: [{ card: REJECTED_CARD, name: 'A', exp: '12/29' }], tags: [], scheme: 7 };
        const foreign = dataOf(await caller.tokenize(body)).tokens[0].token;
        await refused({ ...CARD, number: `{{${foreign}:detokenize}}` }, 'unknown_token', 'card.number', foreign);
        const id = await caller.capture();
        await refused({ ...CARD, security_code: `{{${id}:transaction}}` }, 'unknown_capture', 'card.security_code', id);
      }
    });

    test('with an expired capture', async () => {
      const id = dataOf(await me.send('POST', '/transactions/requests', capture({ ttl: 1 }))).id;
      service.advance(60_000);
      await refused({ ...CARD, security_code: `{{${id}:transaction}}` }, 'unknown_capture', 'card.security_code', id);
    });
  });

  describe('requires the permissions of its placeholders', () => {
    const withOut = (missing: Permission): Promise<Merchant> =>
      newMerchant(
        service,
        { 'erase-sad': 'false' },
        { account: me.account, permissions: PERMISSIONS.filter((each) => each !== missing) },
      );

    for (const [missing, own, other] of [
      ['tokens:detokenize', permanent, temporary],
      ['captures:retrieve', temporary, permanent],
    ] as const) {
      test(`without ${missing}: 403 for its placeholders without an effect; others are accepted`, async () => {
        const key = await withOut(missing);
        const before = await me.operations();
        const unknown = own().replace(/\{\{[^:]+/, '{{unknown');
        for (const mark of [own(), unknown]) {
          const response = await key.order('authorization', { card: { ...CARD, number: mark } });
          assertRefused(response, { status: 403, code: 'access_denied' });
          assert.equal(response.json.message, 'Access denied.');
        }
        assert.equal(await me.operations(), before);
        assertRead(await key.order('authorization', { card: { ...CARD, number: other() } }));
        assertRead(await key.order('authorization', { card: { ...CARD, number: REJECTED_CARD } }));
      });
    }

    test('a payment tokenizes with payments:write only', async () => {
      const key = await newMerchant(service, {}, { account: me.account, permissions: ['payments:write'] });
      assert.equal(typeof processed(await key.order('payment')).card.token, 'string');
    });
  });
});
