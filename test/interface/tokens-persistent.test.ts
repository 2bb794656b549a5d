import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { luhnPan, startTestService, type TestService } from '../fixtures/test-service.ts';
import { inScope } from '../scope.ts';
import { type Caller, card, cards, dataOf, newCaller, TOKENIZE, TOKENS, tokensIn } from './vault-requests.ts';

/** Concurrent requests for one card, and for many of them. */
const FOR_ONE = inScope({ usual: 8, long: 20 });
const FOR_MANY = inScope({ usual: 12, long: 40 });

const persistent = { type: 'persistent' };

describe('POST /v1/tokenization/simple, persistent', () => {
  let service: TestService;
  let me: Caller;
  let pan: string;
  before(async () => {
    service = await startTestService();
    me = await newCaller(service, { name: 'first' });
  });
  after(() => service.stop());

  const once = async (more: object, number = pan) =>
    (await tokensIn(await me.tokenize(cards([number], more))))[0] ?? '';
  const inspect = async (token: string) => dataOf(await me.send('GET', `${TOKENS}/${token}/inspect`));

  describe('200', () => {
    test('one token for each scheme and BIN width, and another without type', async () => {
      pan = luhnPan('455667');
      const forms = [
        { scheme: 1 },
        { scheme: 1, isEightDigitsBin: true },
        { scheme: 3 },
        { scheme: 3, isEightDigitsBin: true },
        { scheme: 7 },
        { scheme: 8 },
        { scheme: 8, isEightDigitsBin: true },
      ];
      const tokens = [];
      for (const form of forms) tokens.push(await once({ ...form, ...persistent }));
      assert.equal(new Set(tokens).size, forms.length);
      for (const [index, form] of forms.entries()) {
        assert.equal(await once({ ...form, ...persistent }), tokens[index]);
        assert.notEqual(await once(form), tokens[index]);
      }
      assert.equal(await me.count('tokens'), forms.length * 2);
      for (const token of tokens) assert.equal((await inspect(token)).card_truncated, `455667******${pan.slice(-4)}`);
    });

    test('sending the card again updates name and expiry, and keeps creator and creation time', async () => {
      pan = luhnPan('455667');
      const first = dataOf(await me.tokenize(cards([pan], { ...persistent, tags: ['a', 'b'] }))).tokens[0];
      service.advance(3_600_000);
      const other = await newCaller(service, { account: me.account, name: 'second' });
      const body = { chd: [card(pan, { name: 'Eva Ruiz', exp: '01/31' })], tags: ['b', 'c'], scheme: 1, ...persistent };
      const second = dataOf(await other.tokenize(body)).tokens[0];
      assert.deepEqual(second, { ...first, tags: ['a', 'b', 'c'] });
      assert.deepEqual(first.created_by, { user_id: me.keyId, name: 'first' });
      assert.deepEqual(await inspect(first.token), {
        token: first.token,
        card_truncated: first.card,
        exp: '01/2031',
        name: 'Eva Ruiz',
        status: 1,
        created_by: 'first',
        createdAt: first.createdAt,
      });
    });

    test('the first 50 tags are kept', async () => {
      pan = luhnPan('455667');
      const tags = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => `tag ${from + index}`);
      await once({ ...persistent, tags: tags(0, 30) });
      const { tokens } = dataOf(await me.tokenize(cards([pan], { ...persistent, tags: tags(20, 60) })));
      assert.deepEqual(tokens[0].tags, tags(0, 50));
      const again = dataOf(await me.tokenize(cards([pan], { ...persistent, tags: ['late'] }))).tokens;
      assert.deepEqual(again[0].tags, tags(0, 50));
    });

    test('twice in one request: one token, with the values of the later entry', async () => {
      pan = luhnPan('455667');
      const chd = [
        card(pan, { name: 'Early Bird', exp: '01/30' }),
        card(luhnPan('455667')),
        card(`${pan.slice(0, 4)} ${pan.slice(4)}`, { name: 'Late Riser', exp: '02/31' }),
      ];
      const [first, between, last] = tokensIn(await me.tokenize({ chd, tags: [], scheme: 8, ...persistent }));
      assert.equal(first, last);
      assert.notEqual(first, between);
      const { name, exp } = await inspect(first ?? '');
      assert.deepEqual({ name, exp }, { name: 'Late Riser', exp: '02/2031' });
    });

    test('without type every entry gets a separate token', async () => {
      pan = luhnPan('455667');
      const tokens = tokensIn(await me.tokenize(cards([pan, pan, pan])));
      assert.equal(new Set(tokens).size, 3);
      assert.ok(!tokens.includes(await once(persistent)));
    });

    test('a card that fails Luhn has status 0 among persistent ones', async () => {
      pan = luhnPan('455667');
      const { tokens } = dataOf(await me.tokenize(cards(['4111111111111112', pan], persistent)));
      assert.deepEqual(
        tokens.map(({ status }: { status: number }) => status),
        [0, 1],
      );
      assert.equal(await once(persistent), tokens[1].token);
    });

    test('after deletion the card gets another token', async () => {
      pan = luhnPan('455667');
      const token = await once({ scheme: 7, ...persistent });
      dataOf(await me.send('DELETE', TOKENS, { tokens: [token] }));
      const next = await once({ scheme: 7, ...persistent });
      assert.notEqual(next, token);
      assert.equal(await once({ scheme: 7, ...persistent }), next);
    });

    for (const scheme of inScope({ usual: [1, 7], long: [1, 3, 7, 8] })) {
      test(`scheme ${scheme}: ${FOR_ONE} concurrent requests for one card return one token with all tags`, async () => {
        const number = luhnPan('455667');
        const responses = await Promise.all(
          Array.from({ length: FOR_ONE }, (_, index) =>
            me.tokenize(cards([number], { scheme, tags: [`t${index}`], ...persistent })),
          ),
        );
        assert.equal(new Set(responses.flatMap(tokensIn)).size, 1);
        const { tokens } = dataOf(await me.tokenize(cards([number], { scheme, ...persistent })));
        assert.equal(new Set(tokens[0].tags).size, FOR_ONE);
      });
    }

    test('15 concurrent requests for one card with 55 tags: one token, 50 tags', async () => {
      const number = luhnPan('455667');
      const before = await me.count('tokens');
      const responses = await Promise.all(
        Array.from({ length: 15 }, (_, index) =>
          me.tokenize({
            chd: [card(number, { name: `Name ${index}` })],
            tags: [0, 1, 2, 3].map((offset) => `t${(4 * index + offset) % 55}`),
            scheme: 1,
            ...persistent,
          }),
        ),
      );
      assert.equal(new Set(responses.flatMap(tokensIn)).size, 1);
      assert.equal(await me.count('tokens'), before + 1);
      const [record] = dataOf(await me.tokenize(cards([number], persistent))).tokens;
      assert.equal(new Set(record.tags).size, 50);
    });

    test('concurrent requests for many cards in different orders and schemes', async () => {
      const pans = Array.from({ length: 20 }, () => luhnPan('455667'));
      const rounds = await Promise.all(
        Array.from({ length: FOR_MANY }, async (_, index) => {
          const turned = [...pans.slice(index % 20), ...pans.slice(0, index % 20)];
          const scheme = index % 2 === 0 ? 1 : 7;
          const tokens = tokensIn(await me.tokenize(cards(turned, { scheme, ...persistent })));
          return turned.map((number, offset) => `${scheme} ${number} ${tokens[offset]}`);
        }),
      );
      assert.equal(new Set(rounds.flat()).size, pans.length * 2);
    });

    test('concurrent requests on two nodes return one token', async () => {
      const directory = mkdtempSync(join(tmpdir(), 'cardvault-test-'));
      const nodes = [await startTestService({ directory }), await startTestService({ directory })];
      try {
        const { key } = await newCaller(nodes[0] as TestService);
        const pans = [luhnPan('455667'), luhnPan('455667', 12)];
        const responses = await Promise.all(
          Array.from({ length: FOR_MANY }, (_, index) =>
            (nodes[index % 2] as TestService).call('POST', TOKENIZE, {
              key,
              body: cards(pans, { scheme: 8, tags: [`t${index}`], ...persistent }),
            }),
          ),
        );
        assert.equal(new Set(responses.map((response) => tokensIn(response).join())).size, 1);
        const last = await (nodes[0] as TestService).call('POST', TOKENIZE, {
          key,
          body: cards(pans, { scheme: 8, ...persistent }),
        });
        for (const { tags } of dataOf(last).tokens) assert.equal(tags.length, FOR_MANY);
      } finally {
        for (const node of nodes) await node.stop();
        rmSync(directory, { recursive: true, force: true });
      }
    });
  });
});
