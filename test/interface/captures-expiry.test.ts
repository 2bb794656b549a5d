import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { eventually } from '../fixtures/eventually.ts';
import type { TestResponse, TestService } from '../fixtures/test-service.ts';
import { luhnPan, startTestService } from '../fixtures/test-service.ts';
import { isLong } from '../scope.ts';
import {
  assertForbidden,
  assertRefused,
  CAPTURES,
  type Caller,
  dataOf,
  newCaller,
  TIME,
  TOKENS,
  tokensIn,
  UUID,
  VISA,
} from './vault-requests.ts';

const GONE = 'id: no such capture, or its ttl has ended';
const TRACK = `${VISA}=31011010000012345678`;

let service: TestService;
let me: Caller;
before(async () => {
  service = await startTestService();
  me = await newCaller(service, { name: 'checkout' });
});
after(() => service.stop());

const tokenize = (id: string, body: unknown = { tags: [], scheme: 1 }, caller = me) =>
  caller.send('POST', `${CAPTURES}/${id}/tokenize`, body);

const endOf = async (id: string): Promise<number> =>
  Number((await service.core.database.read('select expires_at from captures where id = ?', id))[0]?.['expires_at']);

describe('the expiry of a capture', () => {
  const calls: Record<string, (id: string) => Promise<TestResponse>> = {
    'GET /transactions/requests/{id}': (id) => me.send('GET', `${CAPTURES}/${id}`),
    'GET /transactions/requests/{id}/inspect': (id) => me.send('GET', `${CAPTURES}/${id}/inspect`),
    'POST /transactions/requests/{id}/tokenize': (id) => tokenize(id, { tags: [], scheme: 7 }),
  };
  for (const [name, call] of Object.entries(calls)) {
    test(`${name}: served until the last millisecond, not later`, async () => {
      const id = await me.capture({ ttl: 3 });
      const end = await endOf(id);
      service.advance(end - service.now() - 300);
      const seen = { alive: 0, gone: 0 };
      for (let from = service.now(); seen.gone < 3; from = service.now()) {
        const response = await call(id);
        const alive = response.status === 200 && response.json.data.status !== 'fail';
        if (alive) seen.alive++;
        else seen.gone++;
        // A response that was in progress at the expiry may be either.
        if (service.now() < end) assert.ok(alive, response.text);
        if (from >= end) assert.ok(!alive, response.text);
        // Without a pause hundreds of requests keep the processor from the other tests.
        if (!isLong) await setTimeout(5);
      }
      assert.ok(seen.alive > 0);
    });
  }

  test('DELETE /transactions/requests/{id}: just before and at the expiry', async () => {
    const [early, late] = [await me.capture({ ttl: 2 }), await me.capture({ ttl: 1 })];
    service.advance((await endOf(late)) - service.now());
    assertRefused(await me.send('DELETE', `${CAPTURES}/${late}`), GONE, late);
    service.advance((await endOf(early)) - service.now() - 2000);
    dataOf(await me.send('DELETE', `${CAPTURES}/${early}`));
  });

  test('later every endpoint responds as for an unknown id', async () => {
    const id = await me.capture({ ttl: 10080 });
    service.advance((await endOf(id)) - service.now());
    assertRefused(await me.send('GET', `${CAPTURES}/${id}`), GONE, id);
    assert.deepEqual(dataOf(await me.send('GET', `${CAPTURES}/${id}/inspect`)), { id, status: 'fail' });
    assertRefused(await tokenize(id), GONE, id);
    assertRefused(await me.send('DELETE', `${CAPTURES}/${id}`), GONE, id);
  });

  test('the sweeper removes the rows of expired captures only', async () => {
    const owner = await newCaller(service);
    const valid = await owner.capture({ ttl: 60 });
    for (let count = 0; count < 10; count++) await owner.capture({ ttl: 1 });
    assert.equal(await owner.count('captures'), 11);
    service.advance(61_000);
    await eventually(async () => (await owner.count('captures')) === 1);
    assert.equal(dataOf(await owner.send('GET', `${CAPTURES}/${valid}`)).id, valid);
  });
});

describe('POST /transactions/requests/{transactionID}/tokenize', () => {
  describe('200', () => {
    test('the record of the token, without sensitive authentication data', async () => {
      const chd = { card: VISA, name: 'Eva Ruiz', exp: '07/31', cvv: '9182', track_2: TRACK };
      const id = await me.capture({ chd, additional_info: { note: 'private note' } });
      const response = await tokenize(id, { tags: ['web'], scheme: '3' });
      const [{ token, createdAt, ...record }] = dataOf(response).tokens;
      assert.deepEqual(record, {
        card: '411111******1111',
        tags: ['web'],
        scheme: 3,
        status: 1,
        created_by: { user_id: me.keyId, name: 'checkout' },
      });
      assert.match(createdAt, TIME);
      assert.match(token, /^411111[A-Za-z0-9]{6}1111$/);
      const inspection = await me.send('GET', `${TOKENS}/${token}/inspect`);
      assert.deepEqual(dataOf(inspection), {
        token,
        card_truncated: '411111******1111',
        exp: '07/2031',
        name: 'Eva Ruiz',
        status: 1,
        created_by: 'checkout',
        createdAt,
      });
      assert.doesNotMatch(response.text + inspection.text, /"9182"|private note|3101101/);
    });

    test('the capture remains valid and unchanged, and can be tokenized again', async () => {
      const id = await me.capture();
      const before = (await me.send('GET', `${CAPTURES}/${id}`)).text;
      const tokens = [...tokensIn(await tokenize(id)), ...tokensIn(await tokenize(`${id}`))];
      assert.equal(new Set(tokens).size, 2);
      assert.equal((await me.send('GET', `${CAPTURES}/${id}`)).text, before);
      await me.send('DELETE', `${CAPTURES}/${id}`);
      for (const token of tokens) dataOf(await me.send('GET', `${TOKENS}/${token}/inspect`));
    });

    test('name and expiry may be absent, in inspection too', async () => {
      const [token = ''] = tokensIn(await tokenize(await me.capture({ chd: { card: VISA } })));
      const { createdAt: _, ...inspection } = dataOf(await me.send('GET', `${TOKENS}/${token}/inspect`));
      assert.deepEqual(inspection, { token, card_truncated: '411111******1111', status: 1, created_by: 'checkout' });
    });

    test('card and expiry come from track 2 when they are not sent separately', async () => {
      const [token = ''] = tokensIn(await tokenize(await me.capture({ chd: { track_2: TRACK } })));
      assert.equal(dataOf(await me.send('GET', `${TOKENS}/${token}/inspect`)).exp, '01/2031');
    });

    test('persistent: the token of the card, also from tokenization; absent name and expiry change nothing', async () => {
      const card = luhnPan('455667');
      const more = { scheme: 8, type: 'persistent', tags: ['one'] };
      const chd = [{ card, name: 'Eva Ruiz', exp: '07/31' }];
      const tokens = tokensIn(await me.tokenize({ chd, ...more }));
      const response = await tokenize(await me.capture({ chd: { card } }), { ...more, tags: ['two'] });
      assert.deepEqual(tokensIn(response), tokens);
      assert.deepEqual(dataOf(response).tokens[0].tags, ['one', 'two']);
      const inspection = dataOf(await me.send('GET', `${TOKENS}/${tokens[0]}/inspect`));
      assert.deepEqual([inspection.name, inspection.exp], ['Eva Ruiz', '07/2031']);
      const id = await me.capture({ chd: { card, name: 'Ana Lopez' } });
      const concurrent = await Promise.all(Array.from({ length: 20 }, () => tokenize(id, more)));
      assert.deepEqual([...new Set(concurrent.flatMap(tokensIn))], tokens);
      assert.equal(dataOf(await me.send('GET', `${TOKENS}/${tokens[0]}/inspect`)).name, 'Ana Lopez');
    });

    test('every scheme and the 8-digit BIN', async () => {
      const card = luhnPan('45566712');
      const id = await me.capture({ chd: { card } });
      for (const scheme of [1, 3, 8]) {
        const [token = ''] = tokensIn(await tokenize(id, { tags: [], scheme, isEightDigitsBin: true }));
        assert.equal(token.slice(0, 8), card.slice(0, 8));
      }
      assert.match(
        tokensIn(await tokenize(id, { tags: [], scheme: 7, type: '', isEightDigitsBin: null }))[0] ?? '',
        UUID,
      );
    });
  });

  describe('400', () => {
    test('a capture without a card number', async () => {
      const id = await me.capture({ chd: { cvv: '123', name: 'Ana Lopez' } });
      assertRefused(await tokenize(id), 'id: the capture contains no card number', id);
    });

    test('no capture: missing, of another format, account or environment', async () => {
      const id = await me.capture();
      for (const other of ['00000000-0000-4000-8000-000000000000', VISA, 'x', id.toUpperCase()])
        assertRefused(await tokenize(other), GONE, other);
      for (const options of [{}, { account: me.account, environment: 'production' as const }])
        assertRefused(await tokenize(id, undefined, await newCaller(service, options)), GONE, id);
    });

    const wrong: readonly (readonly [about: string, body: unknown, desc: string | RegExp])[] = [
      ['no tags', { scheme: 1 }, 'tags: required'],
      ['tags null', { scheme: 1, tags: null }, 'tags: required'],
      ['51 tags', { scheme: 1, tags: Array.from({ length: 51 }, () => 'x') }, 'tags: expected 0 to 50 entries'],
      ['a tag that is no string', { scheme: 1, tags: [12345] }, /^tags\[0\]: expected a string/],
      ['no scheme', { tags: [] }, 'scheme: required'],
      ['scheme 2', { tags: [], scheme: 2 }, /^scheme: expected one of 1 \(.*, 3 \(.*, 7 \(.*, 8 \(/],
      ['UUID with an 8-digit BIN', { tags: [], scheme: 7, isEightDigitsBin: true }, /^isEightDigitsBin: works only/],
      ['another type', { tags: [], scheme: 1, type: 'random' }, 'type: expected "persistent"'],
      ['no body', '', /^malformed JSON at character 1: /],
    ];
    for (const [about, body, desc] of wrong) {
      test(about, async () => {
        const owner = await newCaller(service);
        assertRefused(await tokenize(await owner.capture(), body, owner), desc, body);
        assert.equal(await owner.count('tokens'), 0);
      });
    }

    test('a card for which no token is free', async () => {
      const owner = await newCaller(service);
      const card = luhnPan('455667', 12);
      const id = await owner.capture({ chd: { card } });
      const body = { tags: [], scheme: 8 };
      const responses = await Promise.all(Array.from({ length: 6 }, () => tokenize(id, body, owner)));
      const refused = responses.filter(({ status }) => status !== 200);
      assert.ok(refused.length === 1 || refused.length === 2);
      for (const response of refused)
        assertRefused(response, 'No free token is left for the cards of the request.', { card });
    });
  });

  describe('403', () => {
    test('every cause has the same body', async () => {
      const path = `${CAPTURES}/${await me.capture()}/tokenize`;
      const request = { method: 'POST', path, body: { tags: [], scheme: 1 } };
      await assertForbidden(service, request, 'captures:tokenize');
    });

    test('captures:tokenize alone is sufficient', async () => {
      const other = await newCaller(service, { account: me.account, permissions: ['captures:tokenize'] });
      dataOf(await tokenize(await me.capture(), undefined, other));
    });
  });
});
