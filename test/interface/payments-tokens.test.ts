import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { shareService } from '../fixtures/shared-service.ts';
import { luhnPan, type TestResponse, type TestService } from '../fixtures/test-service.ts';
import {
  assertRefused,
  CARD,
  FAILED,
  type Merchant,
  newMerchant,
  OPENED,
  REJECTED,
  TIMES_OUT,
} from './payment-requests.ts';
import { dataOf, passesLuhn, UUID } from './vault-requests.ts';

const shared = shareService();

const FORMS: Readonly<Record<string, RegExp>> = {
  1: /^[0-9]{16}$/,
  3: /^[0-9]{6}[A-Za-z0-9]{6}[0-9]{4}$/,
  7: UUID,
  8: /^[0-9]{16}$/,
};

describe('the token of a payment', () => {
  let service: TestService;
  let me: Merchant;
  before(async () => {
    service = await shared.open();
    me = await newMerchant(service, { 'timeout-ms': '400' });
  });
  after(() => shared.close());

  const cardIn = ({ json, text }: TestResponse) => {
    assert.equal(json.data.transaction_info.type, 'payment_response', text);
    return json.data.card;
  };

  for (const scheme of ['1', '3', '7', '8']) {
    test(`has the format of scheme ${scheme}, is persistent and refers to the card`, async () => {
      const own = await newMerchant(service, { 'payment-scheme': scheme });
      const pan = luhnPan('411111');
      const card = { ...CARD, number: pan };
      const created = cardIn(await own.order('payment', { card }));
      assert.deepEqual(created, {
        token: created.token,
        card: `${pan.slice(0, 6)}******${pan.slice(-4)}`,
        scheme: Number(scheme),
      });
      assert.match(created.token, FORMS[scheme] ?? assert.fail());
      if (scheme !== '7') assert.ok(created.token.startsWith(pan.slice(0, 6)) && created.token.endsWith(pan.slice(-4)));
      if (scheme === '1' || scheme === '8') assert.equal(passesLuhn(created.token), scheme === '8');
      assert.deepEqual(cardIn(await own.order('payment', { card })), created, 'the same again');
      const chd = [{ card: pan, name: 'Ana', exp: '12/29' }];
      const vaulted = await own.tokenize({ chd, tags: [], scheme: Number(scheme), type: 'persistent' });
      assert.equal(dataOf(vaulted).tokens[0].token, created.token, 'also for the vault');
      const byToken = { number: `{{${created.token}:detokenize}}`, expiration_date: `{{${created.token}:detokenize}}` };
      const used = await own.order('payment', { card: byToken, amount: 5002 });
      assert.equal(used.json.data.transaction_info.reason, 'Rejected');
    });
  }

  test('is returned whatever the outcome, and is the same each time', async () => {
    const tokens = new Set<string>();
    const outcomes = [1, REJECTED, FAILED, OPENED, TIMES_OUT, 40_001];
    const seen: string[] = [];
    for (const amount of outcomes) {
      const response = await me.order('payment', { amount });
      seen.push(response.json.data.transaction_info.status);
      tokens.add(cardIn(response).token);
    }
    assert.deepEqual(seen, ['Collected', 'Declined', 'ProcessorError', 'Opened', 'Opened', 'ProcessorError']);
    assert.equal(tokens.size, 1);
    const expired = await me.order('payment', { card: { ...CARD, expiration_date: '01/2020' } });
    assert.equal(expired.json.data.transaction_info.reason, 'ExpiredCard');
    assert.ok(tokens.has(cardIn(expired).token));
  });

  test('stores holder and expiry, and never the security code', async () => {
    const card = {
      number: luhnPan('520082'),
      expiration_date: '11/2031',
      security_code: '7391',
      holder: 'Žofie Ñandú',
    };
    const { token } = cardIn(await me.order('payment', { card }));
    const inspected = dataOf(await me.send('GET', `/v1/tokens/${token}/inspect`));
    assert.equal(inspected.name, 'Žofie Ñandú');
    assert.equal(inspected.exp, '11/2031');
    assert.equal(inspected.created_by, 'test');
    // The digits alone may be in a time or in the token.
    assert.doesNotMatch(JSON.stringify(inspected), /[":]7391[",}]/);
  });

  test('is not created for an authorization', async () => {
    const before = await me.count('tokens');
    const response = await me.order('authorization', { card: { ...CARD, number: luhnPan('411111') } });
    assert.ok(!('card' in response.json.data));
    assert.equal(await me.count('tokens'), before);
  });

  test('is not created when the number is a placeholder, only when it is in clear', async () => {
    const created = dataOf(
      await me.tokenize({ chd: [{ card: luhnPan('411111'), name: 'A', exp: '12/29' }], tags: [], scheme: 1 }),
    );
    const mark = `{{${created.tokens[0].token}:detokenize}}`;
    const captured = `{{${await me.capture()}:transaction}}`;
    const before = await me.count('tokens');
    for (const number of [mark, captured]) {
      const response = await me.order('payment', { card: { number, expiration_date: '12/29', security_code: '123' } });
      assert.equal(response.json.data.transaction_info.status, 'Collected');
      assert.ok(!('card' in response.json.data));
    }
    assert.equal(await me.count('tokens'), before);
    const clear = {
      number: luhnPan('411111'),
      expiration_date: mark,
      security_code: `{{${await me.capture()}:transaction}}`,
    };
    assert.match(cardIn(await me.order('payment', { card: clear })).token, UUID);
    assert.equal(await me.count('tokens'), before + 1);
  });

  test('is a single one also for concurrent payments', async () => {
    const card = { ...CARD, number: luhnPan('411111') };
    const responses = await Promise.all(Array.from({ length: 10 }, () => me.order('payment', { card })));
    assert.equal(new Set(responses.map((response) => cardIn(response).token)).size, 1);
    for (const { json } of responses) assert.equal(json.data.transaction_info.status, 'Collected');
  });

  test('is created again after it was deleted', async () => {
    const card = { ...CARD, number: luhnPan('411111') };
    const { token } = cardIn(await me.order('payment', { card }));
    await me.send('DELETE', '/v1/tokens', { tokens: [token] });
    assert.notEqual(cardIn(await me.order('payment', { card })).token, token);
  });

  test('that cannot be created because no value is free prevents the payment', async () => {
    const own = await newMerchant(service, { 'payment-scheme': '8' });
    // Two hidden digits: ten card numbers that pass the Luhn check, and five values that may be issued.
    const pans = Array.from({ length: 100 }, (_, hidden) => `411111${String(hidden).padStart(2, '0')}1111`).filter(
      passesLuhn,
    );
    assert.equal(pans.length, 10);
    const tokens = new Set<string>();
    let refused = 0;
    for (const number of pans) {
      const before = await own.operations();
      const response = await own.order(
        'payment',
        { card: { ...CARD, number } },
        { 'idempotency-key': number.slice(6, 8) },
      );
      if (response.status === 200) {
        const { token } = cardIn(response);
        assert.ok(passesLuhn(token) && token.length === 12 && !tokens.has(token), response.text);
        tokens.add(token);
      } else {
        refused++;
        assertRefused(response, { code: response.json.data.code, path: response.json.data.path }, number);
        assert.ok(['token_space_full', 'nothing_tokenized'].includes(response.json.data.code), response.text);
        assert.equal(await own.operations(), before);
      }
    }
    assert.ok(refused > 0 && tokens.size > 0, `${refused} ${tokens.size}`);
  });
});
