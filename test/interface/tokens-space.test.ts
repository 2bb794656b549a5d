import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { isPostgres } from '../fixtures/database.ts';
import { eventually } from '../fixtures/eventually.ts';
import { luhnPan, startTestService, type TestService } from '../fixtures/test-service.ts';
import { isLong } from '../scope.ts';
import {
  assertRefused,
  CAPTURES,
  type Caller,
  cards,
  dataOf,
  newCaller,
  passesLuhn,
  TOKENS,
  tokensIn,
} from './vault-requests.ts';

const DAY = 86_400_000;
const FULL = 'No free token is left for the cards of the request.';

/** All card numbers of 12 digits between this BIN and these last four: the ten that pass Luhn. */
const cardsBetween = (bin: string, last: string): string[] =>
  Array.from({ length: 100 }, (_, middle) => bin + String(middle).padStart(2, '0') + last).filter(passesLuhn);

describe('POST /v1/tokenization/simple, when no tokens are free', () => {
  let service: TestService;
  before(async () => {
    service = await startTestService();
  });
  after(() => service.stop());

  const statuses = (data: { tokens: { status: number }[] }) => data.tokens.map(({ status }) => status);

  describe('one BIN and last four with scheme 1', () => {
    // Over PostgreSQL each that is taken already costs a way to the server and back.
    const [digits, space, bin] = isPostgres || !isLong ? [13, 900, 6] : [16, 9000, 8];
    const pan = luhnPan('45566712', digits);
    const eight = { scheme: 1, isEightDigitsBin: true };
    const taken = new Set<string>();
    let deleted: string[];
    let me: Caller;
    before(async () => {
      me = await newCaller(service);
    });

    test(`200: all ${space} tokens of one BIN and last four are issued, each once`, async () => {
      const ninth = cards(
        Array.from({ length: space / 9 }, () => pan),
        eight,
      );
      for (let round = 0; round < 9; round++) {
        const data = dataOf(await me.tokenize(ninth));
        assert.ok(statuses(data).every((status) => status === 1));
        for (const { token } of data.tokens) taken.add(token);
      }
      assert.equal(taken.size, space);
      for (const token of taken) {
        assert.ok(token.startsWith(pan.slice(0, bin)) && token.endsWith(pan.slice(-4)) && token.length === digits);
        assert.ok(!passesLuhn(token));
      }
    });

    test('200: then the item has status 0 while others succeed', async () => {
      const data = dataOf(await me.tokenize(cards([pan, luhnPan('45566713'), pan], eight)));
      assert.deepEqual(statuses(data), [0, 1, 0]);
      assert.equal(data.tokens[0].token, '');
    });

    test('400: a request without other cards, which is not stored for an Idempotency-Key', async () => {
      for (let round = 0; round < 2; round++) {
        const response = await me.tokenize(cards([pan], eight), { 'idempotency-key': 'full' });
        assertRefused(response, FULL, pan);
        assert.equal(response.headers['idempotent-replayed'], undefined);
      }
      assertRefused(await me.tokenize(cards([pan, '4111111111111112'], { ...eight, type: 'persistent' })), FULL, pan);
    });

    test('200: other spaces, accounts and schemes are not affected', async () => {
      assert.deepEqual(statuses(dataOf(await me.tokenize(cards([pan], { scheme: 3, isEightDigitsBin: true })))), [1]);
      const other = await newCaller(service, { account: me.account, environment: 'production' });
      assert.deepEqual(statuses(dataOf(await other.tokenize(cards([pan], eight)))), [1]);
    });

    test('400: deleted tokens remain reserved for 30 days', async () => {
      deleted = [...taken].slice(100, 103);
      dataOf(await me.send('DELETE', TOKENS, { tokens: deleted }));
      assertRefused(await me.tokenize(cards([pan], eight)), FULL);
      service.advance(30 * DAY - 60_000);
      // Longer than the sweeper takes to come round.
      await new Promise((resolve) => setTimeout(resolve, 6000));
      assertRefused(await me.tokenize(cards([pan], eight)), FULL);
    });

    test('200: then exactly these are issued again, to three of 20 concurrent requests', async () => {
      service.advance(60_000);
      const rows = 'select count(*) as rows from tokens where deleted_at is not null';
      await eventually(async () => Number((await service.core.database.read(rows))[0]?.['rows']) === 0);
      const responses = await Promise.all(Array.from({ length: 20 }, () => me.tokenize(cards([pan], eight))));
      const issued = responses.filter(({ status }) => status === 200).flatMap(tokensIn);
      assert.deepEqual(issued.sort(), deleted.sort());
      for (const response of responses.filter(({ status }) => status !== 200)) assertRefused(response, FULL);
    });
  });

  describe('12 digits with scheme 1', () => {
    test('200: the 90 tokens that fail Luhn, requested one by one and all at once', async () => {
      const me = await newCaller(service);
      const [pan = ''] = cardsBetween('455667', '0001');
      const responses = await Promise.all(Array.from({ length: 40 }, () => me.tokenize(cards([pan]))));
      const { tokens } = dataOf(await me.tokenize(cards(Array.from({ length: 60 }, () => pan))));
      const all = [...responses.flatMap(tokensIn), ...tokens.map(({ token }: { token: string }) => token)];
      const issued = all.filter((token) => token !== '');
      assert.equal(issued.length, 90);
      assert.equal(new Set(issued).size, 90);
      assert.equal(all.length - issued.length, 10);
    });
  });

  describe('12 digits with an 8-digit BIN', () => {
    test('200: six digits are preserved, in the same space as without it', async () => {
      const me = await newCaller(service);
      const [pan = ''] = cardsBetween('455667', '0001');
      const all = tokensIn(await me.tokenize(cards(Array(60).fill(pan), { isEightDigitsBin: true })));
      const rest = tokensIn(await me.tokenize(cards(Array(60).fill(pan))));
      const issued = [...all, ...rest].filter((token) => token !== '');
      assert.equal(new Set(issued).size, 90);
      assert.ok(issued.every((token) => token.startsWith('455667')));
    });
  });

  describe('12 digits with scheme 1, when all 90 are issued', () => {
    // No brand has these first digits, so that the card form takes 12 of them.
    const [pan = ''] = cardsBetween('999999', '0001');
    let me: Caller;
    before(async () => {
      me = await newCaller(service);
      const issued = tokensIn(await me.tokenize(cards(Array(100).fill(pan)))).filter(Boolean);
      assert.equal(issued.length, 90);
    });

    /** How many rows of the caller there are, by table. */
    async function rows(): Promise<Record<string, number>> {
      const counts: Record<string, number> = {};
      for (const table of ['tokens', 'token_tags', 'captures', 'idempotency']) {
        const sql = `select 1 as found from ${table} where account = ?account`;
        counts[table] = (await service.core.database.read(sql, me.account)).length;
      }
      return counts;
    }

    test('400: a request for another one stores nothing', async () => {
      const stored = await rows();
      assert.equal(stored['tokens'], 90);
      for (const type of [undefined, 'persistent'])
        assertRefused(await me.tokenize(cards([pan, pan], { tags: ['full'], type })), FULL, pan);
      assert.deepEqual(await rows(), stored);
    });

    test('400: the card form reports the number as unavailable, stores nothing, and takes another card', async () => {
      const session = { allowed_origins: ['https://shop.example.com'], result: 'token', scheme: 1, tags: ['full'] };
      const { id, client_secret: secret } = dataOf(await me.send('POST', '/v1/capture-sessions', session));
      const submit = (number: string) =>
        service.call('POST', `/v1/card/${id}`, {
          environment: 'cards',
          headers: { origin: `https://localhost:${service.ports.cards}`, authorization: `Bearer ${secret}` },
          body: { number, exp: '12/40', name: 'Ana Lopez', cvv: '123', attempt: randomUUID() },
        });
      const stored = await rows();
      const refused = await submit(pan);
      assert.equal(refused.status, 400, refused.text);
      assert.deepEqual(refused.json, { status: 'open', errors: [{ field: 'number', code: 'unavailable' }] });
      assert.deepEqual(await rows(), stored);
      const shown = dataOf(await me.send('GET', `/v1/capture-sessions/${id}`));
      assert.deepEqual([shown.status, shown.attempts, shown.result], ['open', 1, undefined]);
      const completed = await submit(luhnPan('411111'));
      assert.equal(completed.status, 200, completed.text);
      assert.equal(completed.json.result.token.scheme, 1);
      assert.deepEqual(await rows(), { ...stored, tokens: 91, token_tags: 1 });
    });
  });

  describe('12 digits with scheme 8', () => {
    /** The half of the values that this caller may ever get, found with a card number of another space's making. */
    async function halfOf(me: Caller, pans: readonly string[]): Promise<string[]> {
      const issued = new Set<string>();
      for (const pan of pans.slice(0, 2)) {
        const tokens = tokensIn(await me.tokenize(cards(Array(10).fill(pan), { scheme: 8 }))).filter(Boolean);
        for (const token of tokens) issued.add(token);
        dataOf(await me.send('DELETE', TOKENS, { tokens }));
        await forgetDeleted();
      }
      return [...issued];
    }

    /** Has the values of deleted tokens be free at once. */
    const forgetDeleted = () =>
      service.core.database.commit({
        writes: [{ sql: 'delete from tokens where deleted_at is not null', rows: [[]] }],
      });

    test('exactly half of the values, and never a card number that is stored or in the same request', async () => {
      const me = await newCaller(service);
      const pans = cardsBetween('455667', '4321');
      assert.equal(pans.length, 10);
      const half = await halfOf(me, pans);
      assert.equal(half.length, 5);
      const [one = '', two = '', three = '', four = '', five = ''] = half;
      await me.tokenize(cards([one], { scheme: 7 }));
      await me.tokenize(cards([two], { scheme: 1, type: 'persistent' }));
      const capture = await me.capture({ chd: { card: three } });

      const data = dataOf(await me.tokenize(cards([four, four, four, four], { scheme: 8 })));
      const issued = data.tokens.map(({ token }: { token: string }) => token).filter((token: string) => token !== '');
      assert.deepEqual(issued, [five]);

      const headers = { 'idempotency-key': 'tiny' };
      assertRefused(await me.tokenize(cards([four], { scheme: 8 }), headers), FULL, pans);
      dataOf(await me.send('DELETE', `${CAPTURES}/${capture}`));
      const freed = await me.tokenize(cards([four], { scheme: 8 }), headers);
      assert.deepEqual(tokensIn(freed), [three]);
      assert.equal(freed.headers['idempotent-replayed'], undefined);
      assertRefused(await me.tokenize(cards([four], { scheme: 8 })), FULL, pans);
    });

    test('20 concurrent requests share the half', async () => {
      const me = await newCaller(service);
      const pans = cardsBetween('455667', '8888');
      const half = await halfOf(me, pans);
      const [pan = ''] = pans;
      const responses = await Promise.all(Array.from({ length: 20 }, () => me.tokenize(cards([pan], { scheme: 8 }))));
      const issued = responses.filter(({ status }) => status === 200).flatMap(tokensIn);
      assert.deepEqual(issued.sort(), half.filter((value) => value !== pan).sort());
      for (const response of responses.filter(({ status }) => status !== 200)) assertRefused(response, FULL, pan);
    });

    test('cards stored elsewhere do not count: another account, the other environment', async () => {
      const [me, other] = [await newCaller(service), await newCaller(service)];
      const pans = cardsBetween('455667', '7777');
      const half = await halfOf(me, pans);
      await other.tokenize(cards(pans, { scheme: 7 }));
      const production = await newCaller(service, { account: me.account, environment: 'production' });
      await production.tokenize(cards(pans, { scheme: 7 }));
      const [pan = ''] = pans;
      const issued = tokensIn(await me.tokenize(cards(Array(10).fill(pan), { scheme: 8 }))).filter(Boolean);
      assert.deepEqual(issued.sort(), half.filter((value) => value !== pan).sort());
    });

    test('persistent: a separate token for every card, none of them a card number', async () => {
      const me = await newCaller(service);
      const pans = cardsBetween('455667', '2222');
      const half = await halfOf(me, pans);
      const outside = pans.filter((pan) => !half.includes(pan));
      const data = dataOf(await me.tokenize(cards(outside, { scheme: 8, type: 'persistent' })));
      const tokens = data.tokens.map(({ token }: { token: string }) => token);
      assert.deepEqual(tokens.sort(), half.sort());
    });
  });
});
