import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { shareService } from '../fixtures/shared-service.ts';
import { luhnPan, type TestService } from '../fixtures/test-service.ts';
import {
  assertForbidden,
  assertRefused,
  CAPTURES,
  type Caller,
  card,
  cards,
  dataOf,
  newCaller,
  TIME,
  TOKENS,
  tokensIn,
  VISA,
} from './vault-requests.ts';

const shared = shareService();

const UNKNOWN = 'token: no such token';
const inspection = (token: string) => `${TOKENS}/${encodeURIComponent(token)}/inspect`;

let service: TestService;
let me: Caller;
before(async () => {
  service = await shared.open();
  me = await newCaller(service, { name: 'checkout' });
});
after(() => shared.close());

/** Texts that are no token: other forms, lengths, alphabets and a card number. */
const STRANGERS = [
  VISA,
  '4111110000009999',
  'x',
  '../account',
  "' or 1=1",
  '411111\u00001111',
  'ÿ'.repeat(20),
  '0'.repeat(99),
];

describe('GET /v1/tokens/{token}/inspect', () => {
  describe('200', () => {
    for (const scheme of [1, 3, 7, 8]) {
      test(`the record of a token of scheme ${scheme}, without the card number`, async () => {
        const pan = luhnPan('455667', 19);
        const body = { chd: [card(pan, { name: 'Eva Ruiz', exp: '07/31' })], tags: ['secret tag'], scheme };
        const [{ token, createdAt }] = dataOf(await me.tokenize(body)).tokens;
        const response = await me.send('GET', inspection(token));
        assert.deepEqual(dataOf(response), {
          token,
          card_truncated: `455667*********${pan.slice(-4)}`,
          exp: '07/2031',
          name: 'Eva Ruiz',
          status: 1,
          created_by: 'checkout',
          createdAt,
        });
        assert.match(createdAt, TIME);
        assert.ok(!response.text.includes(pan));
        assert.equal((await me.send('GET', `${inspection(token)}/`)).text, response.text);
      });
    }

    test('another key of the account can read it, and created_by is unchanged', async () => {
      const other = await newCaller(service, { account: me.account, name: 'other', permissions: ['tokens:inspect'] });
      const [token = ''] = tokensIn(await me.tokenize(cards([VISA])));
      assert.equal(dataOf(await other.send('GET', inspection(token))).created_by, 'checkout');
    });
  });

  describe('200, a card number in the name', () => {
    const name = `Ana ${VISA} Lopez 4111-1111 1111 1111`;
    const truncated = 'Ana 411111******1111 Lopez 411111******1111';

    test('is truncated for keys without tokens:detokenize, and complete for the others', async () => {
      const account = await service.newAccount();
      const creator = await newCaller(service, { account, permissions: ['tokens:create'] });
      const inspector = await newCaller(service, { account, permissions: ['tokens:inspect'] });
      const reader = await newCaller(service, { account, permissions: ['tokens:inspect', 'tokens:detokenize'] });
      const [token = ''] = tokensIn(await creator.tokenize({ chd: [card(VISA, { name })], tags: [], scheme: 7 }));
      const response = await inspector.send('GET', inspection(token));
      assert.equal(dataOf(response).name, truncated);
      assert.ok(!response.text.includes(VISA));
      assert.equal(dataOf(await reader.send('GET', inspection(token))).name, name);
    });

    test('creation returns the tags of its request unchanged, and those of earlier requests truncated', async () => {
      const account = await service.newAccount();
      const creator = await newCaller(service, { account, permissions: ['tokens:create'] });
      const reader = await newCaller(service, { account, permissions: ['tokens:create', 'tokens:detokenize'] });
      const tagged = async (caller: Caller, tags: readonly string[]): Promise<string[]> =>
        dataOf(await caller.tokenize(cards([VISA], { tags, scheme: 7, type: 'persistent' }))).tokens[0].tags;
      assert.deepEqual(await tagged(creator, [`of ${VISA}`]), [`of ${VISA}`]);
      assert.deepEqual(await tagged(creator, ['web']), ['of 411111******1111', 'web']);
      assert.deepEqual(await tagged(reader, ['web']), [`of ${VISA}`, 'web']);
      assert.deepEqual(await tagged(creator, [`of ${VISA}`]), [`of ${VISA}`, 'web']);
    });
  });

  describe('400', () => {
    test('a token that does not exist', async () => {
      for (const token of [...STRANGERS, 'x'.repeat(2000)])
        assertRefused(await me.send('GET', inspection(token)), UNKNOWN, token);
    });

    test('a token in other letters', async () => {
      const [token = ''] = tokensIn(await me.tokenize(cards([VISA], { scheme: 7 })));
      assertRefused(await me.send('GET', inspection(token.toUpperCase())), UNKNOWN, token);
    });

    test('a token of another account or environment', async () => {
      const [token = ''] = tokensIn(await me.tokenize(cards([VISA])));
      for (const options of [{}, { account: me.account, environment: 'production' as const }]) {
        const other = await newCaller(service, options);
        assertRefused(await other.send('GET', inspection(token)), UNKNOWN, token);
      }
    });

    test('the id of a capture', async () => {
      assertRefused(await me.send('GET', inspection(await me.capture())), UNKNOWN);
    });
  });

  describe('403', () => {
    test('every cause has the same body, whether the token exists or not', async () => {
      const [token = ''] = tokensIn(await me.tokenize(cards([VISA])));
      await assertForbidden(service, { method: 'GET', path: inspection(token) }, 'tokens:inspect');
      await assertForbidden(service, { method: 'GET', path: inspection('none') }, 'tokens:inspect');
    });
  });
});

describe('DELETE /v1/tokens', () => {
  const remove = (tokens: unknown, path = TOKENS) => me.send('DELETE', path, { tokens });

  describe('200', () => {
    test('one entry for each distinct token, in the order of the request', async () => {
      const [one = '', two = ''] = tokensIn(await me.tokenize(cards([VISA, luhnPan('455667')], { scheme: 7 })));
      assert.deepEqual(dataOf(await remove([two, 'none', one, two, 'none', one])), {
        tokens: [
          { id: two, status: 'success' },
          { id: 'none', status: 'fail' },
          { id: one, status: 'success' },
        ],
      });
      for (const token of [one, two]) assertRefused(await me.send('GET', inspection(token)), UNKNOWN);
      assert.deepEqual(dataOf(await remove([one])), { tokens: [{ id: one, status: 'fail' }] });
    });

    test('with trailing slash, 1000 tokens at once, and no others', async () => {
      const tokens = tokensIn(await me.tokenize(cards(Array.from({ length: 1000 }, () => VISA))));
      const [remaining = ''] = tokensIn(await me.tokenize(cards([VISA])));
      const before = await me.count('tokens');
      const { tokens: responses } = dataOf(await remove(tokens, `${TOKENS}/`));
      assert.deepEqual(
        responses,
        tokens.map((id) => ({ id, status: 'success' })),
      );
      assert.equal(await me.count('tokens'), before - 1000);
      dataOf(await me.send('GET', inspection(remaining)));
    });

    test('texts that cannot be tokens fail', async () => {
      const tokens = [...STRANGERS, '', 'a\ud800b'];
      assert.deepEqual(
        dataOf(await remove(tokens)).tokens,
        tokens.map((id) => ({ id, status: 'fail' })),
      );
    });

    test('tokens of another account or environment fail and are unchanged', async () => {
      const [token = ''] = tokensIn(await me.tokenize(cards([VISA])));
      for (const options of [{}, { account: me.account, environment: 'production' as const }]) {
        const other = await newCaller(service, options);
        const response = await other.send('DELETE', TOKENS, { tokens: [token] });
        assert.deepEqual(dataOf(response).tokens, [{ id: token, status: 'fail' }]);
      }
      dataOf(await me.send('GET', inspection(token)));
    });

    test('neither card nor fingerprint of a deleted token remains', async () => {
      const owner = await newCaller(service);
      const [token = ''] = tokensIn(await owner.tokenize(cards([VISA], { type: 'persistent' })));
      dataOf(await owner.send('DELETE', TOKENS, { tokens: [token] }));
      const sql = 'select record, fingerprint, format from tokens where account = ?account';
      const rows = await service.core.database.read(sql, owner.account);
      assert.deepEqual(
        rows.map((row) => ({ ...row })),
        [{ record: null, fingerprint: null, format: null }],
      );
    });

    test('a capture that was tokenized remains', async () => {
      const id = await me.capture();
      const response = await me.send('POST', `${CAPTURES}/${id}/tokenize`, { tags: [], scheme: 1 });
      dataOf(await remove(tokensIn(response)));
      assert.equal(dataOf(await me.send('GET', `${CAPTURES}/${id}/inspect`)).status, 'success');
    });

    test('20 concurrent deletions: one succeeds', async () => {
      const tokens = tokensIn(await me.tokenize(cards([VISA], { scheme: 7 })));
      const responses = await Promise.all(Array.from({ length: 20 }, () => remove(tokens)));
      const statuses = responses.map((response) => dataOf(response).tokens[0].status).sort();
      assert.deepEqual(statuses, [...Array.from({ length: 19 }, () => 'fail'), 'success']);
    });
  });

  describe('400', () => {
    const wrong: readonly (readonly [about: string, body: unknown, desc: string | RegExp])[] = [
      ['an array', ['4111110000001111'], 'body: expected an object'],
      ['no tokens', { others: ['4111110000001111'] }, 'tokens: required'],
      ['tokens null', { tokens: null }, 'tokens: required'],
      ['tokens a string', { tokens: '4111110000001111' }, 'tokens: expected an array'],
      ['no token', { tokens: [] }, 'tokens: expected 1 to 1000 entries'],
      ['1001 tokens', { tokens: Array.from({ length: 1001 }, () => 'abcdef') }, 'tokens: expected 1 to 1000 entries'],
      ['a token that is null', { tokens: ['abcdef', null] }, 'tokens[1]: expected a string'],
      ['a token that is an object', { tokens: [{ id: 'abcdef' }] }, 'tokens[0]: expected a string'],
      ['malformed JSON', '{"tokens":["abcdef"', /^malformed JSON at character 20: /],
      [
        'duplicate keys',
        '{"tokens":["abcdef"],"tokens":["abcdef"]}',
        /^malformed JSON at character 22: duplicate key$/,
      ],
    ];
    for (const [about, body, desc] of wrong) {
      test(about, async () => assertRefused(await me.send('DELETE', TOKENS, body), desc, body));
    }

    test('a token as a number: nothing is deleted', async () => {
      const [token = ''] = tokensIn(await me.tokenize(cards([VISA])));
      assertRefused(await remove([token, Number(token)]), 'tokens[1]: expected a string', token);
      dataOf(await me.send('GET', inspection(token)));
    });
  });

  describe('403', () => {
    test('every cause has the same body, and nothing is deleted', async () => {
      const [token = ''] = tokensIn(await me.tokenize(cards([VISA])));
      const body = { tokens: [token] };
      await assertForbidden(service, { method: 'DELETE', path: TOKENS, body }, 'tokens:delete');
      dataOf(await me.send('GET', inspection(token)));
    });
  });

  test('415: no body at all', async () => {
    assertRefused(await me.send('DELETE', TOKENS), /not supported\.$/, undefined, 415);
  });
});
