import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { isPostgres } from '../database.ts';
import { type House, luhnPan, startHouse } from '../house.ts';
import {
  assertRefused,
  CAPTURES,
  type Caller,
  cards,
  dataOf,
  eventually,
  newCaller,
  passesLuhn,
  TOKENS,
  tokensIn,
} from './vault.ts';

const DAY = 86_400_000;
const FULL = 'No free token is left for the cards of the request.';

/** All card numbers of 12 digits between this BIN and these last four: the ten that pass Luhn. */
const cardsBetween = (bin: string, last: string): string[] =>
  Array.from({ length: 100 }, (_, middle) => bin + String(middle).padStart(2, '0') + last).filter(passesLuhn);

describe('POST /v1/tokenization/simple, when tokens run out', () => {
  let house: House;
  before(async () => {
    house = await startHouse();
  });
  after(() => house.stop());

  const statuses = (data: { tokens: { status: number }[] }) => data.tokens.map(({ status }) => status);

  describe('an 8-digit BIN with scheme 1', () => {
    // Over PostgreSQL each that is taken already costs a way to the server and back.
    const [digits, space] = isPostgres ? [15, 900] : [16, 9000];
    const pan = luhnPan('45566712', digits);
    const eight = { scheme: 1, isEightDigitsBin: true };
    const taken = new Set<string>();
    let deleted: string[];
    let me: Caller;
    before(async () => {
      me = await newCaller(house);
    });

    test(`200: all ${space} tokens of one BIN and last four are given, each once`, async () => {
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
        assert.ok(token.startsWith(pan.slice(0, 8)) && token.endsWith(pan.slice(-4)) && token.length === digits);
        assert.ok(!passesLuhn(token));
      }
    });

    test('200: then the item has status 0 while others succeed', async () => {
      const data = dataOf(await me.tokenize(cards([pan, luhnPan('45566713'), pan], eight)));
      assert.deepEqual(statuses(data), [0, 1, 0]);
      assert.equal(data.tokens[0].token, '');
    });

    test('400: a request of nothing else, and no Idempotency-Key keeps that', async () => {
      for (let round = 0; round < 2; round++) {
        const answer = await me.tokenize(cards([pan], eight), { 'idempotency-key': 'full' });
        assertRefused(answer, FULL, pan);
        assert.equal(answer.headers['idempotent-replayed'], undefined);
      }
      assertRefused(await me.tokenize(cards([pan, '4111111111111112'], { ...eight, type: 'persistent' })), FULL, pan);
    });

    test('200: other spaces, accounts and schemes are not touched', async () => {
      assert.deepEqual(statuses(dataOf(await me.tokenize(cards([pan], { scheme: 3, isEightDigitsBin: true })))), [1]);
      const other = await newCaller(house, { account: me.account, environment: 'production' });
      assert.deepEqual(statuses(dataOf(await other.tokenize(cards([pan], eight)))), [1]);
    });

    test('400: deleted tokens stay reserved for 24 hours', async () => {
      deleted = [...taken].slice(100, 103);
      dataOf(await me.send('DELETE', TOKENS, { tokens: deleted }));
      assertRefused(await me.tokenize(cards([pan], eight)), FULL);
      house.advance(DAY - 60_000);
      // Longer than the sweeper takes to come round.
      await new Promise((resolve) => setTimeout(resolve, 6000));
      assertRefused(await me.tokenize(cards([pan], eight)), FULL);
    });

    test('200: then exactly they are given again, of 20 concurrent requests to three', async () => {
      house.advance(60_000);
      const rows = 'select count(*) as rows from tokens where deleted_at is not null';
      await eventually(async () => Number((await house.core.database.read(rows))[0]?.['rows']) === 0);
      const answers = await Promise.all(Array.from({ length: 20 }, () => me.tokenize(cards([pan], eight))));
      const given = answers.filter(({ status }) => status === 200).flatMap(tokensIn);
      assert.deepEqual(given.sort(), deleted.sort());
      for (const answer of answers.filter(({ status }) => status !== 200)) assertRefused(answer, FULL);
    });
  });

  describe('12 digits with scheme 1', () => {
    test('200: the 90 tokens that fail Luhn, asked for one by one and all at once', async () => {
      const me = await newCaller(house);
      const [pan = ''] = cardsBetween('455667', '0001');
      const answers = await Promise.all(Array.from({ length: 40 }, () => me.tokenize(cards([pan]))));
      const { tokens } = dataOf(await me.tokenize(cards(Array.from({ length: 60 }, () => pan))));
      const all = [...answers.flatMap(tokensIn), ...tokens.map(({ token }: { token: string }) => token)];
      const given = all.filter((token) => token !== '');
      assert.equal(given.length, 90);
      assert.equal(new Set(given).size, 90);
      assert.equal(all.length - given.length, 10);
    });
  });

  describe('13 digits with an 8-digit BIN and scheme 3', () => {
    test('200: the one hidden place takes each of the 52 letters, and never a digit', async () => {
      const me = await newCaller(house);
      const pan = luhnPan('45566712', 13);
      const form = { scheme: 3, isEightDigitsBin: true };
      const tokens = tokensIn(
        await me.tokenize(
          cards(
            Array.from({ length: 60 }, () => pan),
            form,
          ),
        ),
      );
      const places = tokens.filter((token) => token !== '').map((token) => token.slice(8, -4));
      assert.deepEqual(places.sort().join(''), 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz');
    });
  });

  describe('12 digits with scheme 8', () => {
    test('never a card number stored as token or capture, or sent along', async () => {
      const me = await newCaller(house);
      const pans = cardsBetween('455667', '4321');
      assert.equal(pans.length, 10);
      const [one = '', two = '', three = '', four = '', five = ''] = pans;
      await me.tokenize(cards([one], { scheme: 7 }));
      await me.tokenize(cards([two], { scheme: 1, type: 'persistent' }));
      const capture = await me.capture({ chd: { card: three } });
      const allowed = new Set(pans.slice(5));

      const data = dataOf(await me.tokenize(cards([four, five, four, five, four, five, four], { scheme: 8 })));
      const given = data.tokens.map(({ token }: { token: string }) => token).filter((token: string) => token !== '');
      assert.equal(given.length, 5);
      assert.deepEqual(new Set(given), allowed);

      const headers = { 'idempotency-key': 'tiny' };
      assertRefused(await me.tokenize(cards([four], { scheme: 8 }), headers), FULL, pans);
      dataOf(await me.send('DELETE', `${CAPTURES}/${capture}`));
      const freed = await me.tokenize(cards([four], { scheme: 8 }), headers);
      assert.deepEqual(tokensIn(freed), [three]);
      assert.equal(freed.headers['idempotent-replayed'], undefined);
      assertRefused(await me.tokenize(cards([four], { scheme: 8 })), FULL, pans);
    });

    test('20 concurrent requests share the nine tokens', async () => {
      const me = await newCaller(house);
      const [pan = '', ...others] = cardsBetween('455667', '8888');
      const answers = await Promise.all(Array.from({ length: 20 }, () => me.tokenize(cards([pan], { scheme: 8 }))));
      const given = answers.filter(({ status }) => status === 200).flatMap(tokensIn);
      assert.deepEqual(given.sort(), others.sort());
      for (const answer of answers.filter(({ status }) => status !== 200)) assertRefused(answer, FULL, pan);
    });

    test('cards stored elsewhere do not count: another account, the other environment', async () => {
      const [me, other] = [await newCaller(house), await newCaller(house)];
      const pans = cardsBetween('455667', '7777');
      await other.tokenize(cards(pans, { scheme: 7 }));
      const production = await newCaller(house, { account: me.account, environment: 'production' });
      await production.tokenize(cards(pans, { scheme: 7 }));
      const nine = cards(
        Array.from({ length: 9 }, () => pans[0]),
        { scheme: 8 },
      );
      assert.deepEqual(new Set(tokensIn(await me.tokenize(nine))), new Set(pans.slice(1)));
    });

    test('persistent: every card its own token, none of them a card', async () => {
      const me = await newCaller(house);
      const pans = cardsBetween('455667', '2222');
      const data = dataOf(await me.tokenize(cards(pans.slice(0, 4), { scheme: 8, type: 'persistent' })));
      const tokens = data.tokens.map(({ token }: { token: string }) => token);
      assert.equal(new Set(tokens).size, 4);
      for (const token of tokens) assert.ok(pans.slice(4).includes(token));
    });
  });
});
