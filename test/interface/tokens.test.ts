import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { countTurns } from '../fixtures/count-turns.ts';
import { shareService } from '../fixtures/shared-service.ts';
import { luhnPan, type TestService } from '../fixtures/test-service.ts';
import {
  assertForbidden,
  type Caller,
  card,
  cards,
  dataOf,
  newCaller,
  passesLuhn,
  TIME,
  TOKENIZE,
  tokensIn,
  UUID,
  VISA,
} from './vault-requests.ts';

const shared = shareService();

const LENGTHS = [12, 13, 14, 15, 16, 17, 18, 19];

/** Independent of the source: what a token of a card must look like. */
function assertForm(token: string, pan: string, scheme: number, bin: number): void {
  assert.notEqual(token, pan);
  if (scheme === 7) {
    assert.match(token, UUID);
    return;
  }
  assert.equal(token.length, pan.length);
  assert.equal(token.slice(0, bin), pan.slice(0, bin));
  assert.equal(token.slice(-4), pan.slice(-4));
  const middle = token.slice(bin, -4);
  if (scheme === 3) {
    assert.match(middle, /^[A-Za-z0-9]+$/);
    assert.match(middle, /[A-Za-z]/);
  } else {
    assert.match(middle, /^[0-9]+$/);
    assert.equal(passesLuhn(token), scheme === 8);
  }
}

describe('POST /v1/tokenization/simple', () => {
  let service: TestService;
  let me: Caller;
  before(async () => {
    service = await shared.open();
    me = await newCaller(service, { name: 'checkout' });
  });
  after(() => shared.close());

  describe('200', () => {
    for (const scheme of [1, 3, 7, 8]) {
      test(`scheme ${scheme}: the format for every length, unique and never the card number`, async () => {
        const pans = LENGTHS.flatMap((length) => Array.from({ length: 4 }, () => luhnPan('455667', length)));
        const response = await me.tokenize(cards(pans, { scheme }));
        const tokens = tokensIn(response);
        assert.equal(tokens.length, pans.length);
        for (const [index, pan] of pans.entries()) assertForm(tokens[index] ?? '', pan, scheme, 6);
        assert.equal(new Set(tokens).size, tokens.length);
        assert.ok(dataOf(response).tokens.every((record: { status: number }) => record.status === 1));
      });
    }

    for (const scheme of [1, 3, 8]) {
      test(`scheme ${scheme} with an 8-digit BIN keeps eight digits and the last four`, async () => {
        const pans = LENGTHS.filter((length) => length >= 16).map((length) => luhnPan('45566712', length));
        const tokens = tokensIn(await me.tokenize(cards(pans, { scheme, isEightDigitsBin: true })));
        for (const [index, pan] of pans.entries()) assertForm(tokens[index] ?? '', pan, scheme, 8);
      });
    }

    for (const scheme of [1, 3, 8]) {
      test(`scheme ${scheme}: an 8-digit BIN of a card with fewer than 16 digits keeps six`, async () => {
        const pans = LENGTHS.filter((length) => length < 16).map((length) => luhnPan('45566712', length));
        const tokens = tokensIn(await me.tokenize(cards(pans, { scheme, isEightDigitsBin: true })));
        for (const [index, pan] of pans.entries()) assertForm(tokens[index] ?? '', pan, scheme, 6);
      });
    }

    test('a card with fewer than 16 digits has one persistent token for both BIN widths, a longer one has two', async () => {
      for (const [length, count] of [
        [12, 1],
        [15, 1],
        [16, 2],
        [19, 2],
      ] as const) {
        const pan = luhnPan('45566712', length);
        const tokens = [];
        for (const isEightDigitsBin of [false, true, false])
          tokens.push(...tokensIn(await me.tokenize(cards([pan], { type: 'persistent', isEightDigitsBin }))));
        assert.equal(new Set(tokens).size, count, `${length} digits`);
      }
    });

    test('isEightDigitsBin false keeps six digits and is valid with every scheme', async () => {
      const pan = luhnPan('455667');
      const heads = new Set<string>();
      for (let round = 0; round < 30; round++) {
        const [token = ''] = tokensIn(await me.tokenize(cards([pan], { isEightDigitsBin: false })));
        heads.add(token.slice(6, 8));
      }
      assert.ok(heads.size > 1);
      assert.match(tokensIn(await me.tokenize(cards([pan], { scheme: 7, isEightDigitsBin: false })))[0] ?? '', UUID);
    });

    test('every hidden digit can have every value, whatever it was in the card', async () => {
      const tokens = tokensIn(await me.tokenize(cards(Array.from({ length: 1000 }, () => VISA))));
      assert.equal(new Set(tokens).size, 1000);
      for (let position = 6; position < 12; position++)
        assert.equal(new Set(tokens.map((token) => token[position])).size, 10);
    });

    test('the record of a token', async () => {
      const sentAt = service.now();
      const response = await me.tokenize(cards([VISA], { tags: ['web', 'Ñandú', 'web'], scheme: 3 }));
      const [{ token, createdAt, ...record }] = dataOf(response).tokens;
      assert.deepEqual(record, {
        card: '411111******1111',
        tags: ['web', 'Ñandú', 'web'],
        scheme: 3,
        status: 1,
        created_by: { user_id: me.keyId, name: 'checkout' },
      });
      assert.match(createdAt, TIME);
      assert.ok(Math.abs(Date.parse(createdAt) - sentAt) < 5000);
      assert.match(token, /^411111[A-Za-z0-9]{6}1111$/);
      assert.ok(!response.text.includes(VISA));
    });

    test('truncation has one star for each hidden digit', async () => {
      const pans = LENGTHS.map((length) => luhnPan('455667', length));
      const { tokens } = dataOf(await me.tokenize(cards(pans)));
      for (const [index, pan] of pans.entries())
        assert.equal(tokens[index].card, `455667${'*'.repeat(pan.length - 10)}${pan.slice(-4)}`);
    });

    test('a card may be a number of 12 to 19 digits, without loss of digits', async () => {
      for (const length of LENGTHS) {
        const pan = luhnPan('9223372', length);
        const text = `{"chd":[{"card":${pan},"name":"A","exp":"01/30"}],"tags":[],"scheme":7,"type":"persistent"}`;
        const asNumber = tokensIn(await me.tokenize(text));
        const asString = tokensIn(await me.tokenize(cards([pan], { scheme: 7, type: 'persistent' })));
        assert.deepEqual(asNumber, asString);
      }
    });

    test('blanks and dashes in a card are dropped, leading zeros are kept', async () => {
      const written = ['4111 1111 1111 1111', '4111-1111-1111-1111', ' 41111111-11111111 '];
      const tokens = tokensIn(await me.tokenize(cards([VISA, ...written], { type: 'persistent' })));
      assert.equal(new Set(tokens).size, 1);
      const zeros = luhnPan('000000', 12);
      const [record] = dataOf(await me.tokenize(cards([zeros]))).tokens;
      assert.equal(record.card, `000000**${zeros.slice(-4)}`);
    });

    test('the scheme may be a numeric string and is returned as an integer', async () => {
      for (const scheme of [1, 3, 7, 8]) {
        const [record] = dataOf(await me.tokenize(cards([VISA], { scheme: String(scheme) }))).tokens;
        assert.equal(record.scheme, scheme);
      }
    });

    test('null and empty optional fields count as absent, unknown fields are ignored', async () => {
      for (const more of [
        { type: null, isEightDigitsBin: null },
        { type: '' },
        { unknown: { deep: [1] }, chd: [card(VISA, { cvv: '123', more: null })] },
      ]) {
        const first = tokensIn(await me.tokenize(cards([VISA], more)));
        const second = tokensIn(await me.tokenize(cards([VISA], more)));
        assert.notDeepEqual(first, second);
      }
    });

    test('items are in the order of the request; one that fails Luhn has status 0 while the others succeed', async () => {
      const wrong = '4111111111111112';
      const pans = [luhnPan('510000'), wrong, luhnPan('520000'), luhnPan('530000', 19), wrong];
      const response = await me.tokenize(cards(pans, { tags: ['t'], scheme: '8' }));
      const { tokens } = dataOf(response);
      assert.deepEqual(
        tokens.map((record: { card: string }) => record.card.slice(0, 6)),
        pans.map((pan) => pan.slice(0, 6)),
      );
      assert.deepEqual(
        tokens.map((record: { status: number }) => record.status),
        [1, 0, 1, 1, 0],
      );
      const { createdAt, ...failed } = tokens[1];
      assert.deepEqual(failed, {
        card: '411111******1112',
        token: '',
        tags: ['t'],
        scheme: 8,
        status: 0,
        created_by: { user_id: me.keyId, name: 'checkout' },
      });
      assert.match(createdAt, TIME);
      assert.ok(!response.text.includes(wrong));
    });

    test('tags and name at their limits, counted in code points', async () => {
      const long = '🙂'.repeat(255);
      const tags = Array.from({ length: 50 }, (_, index) => (index === 0 ? long : `tag ${index}`));
      const body = { chd: [card(VISA, { name: long })], tags, scheme: 7 };
      const [record] = dataOf(await me.tokenize(body)).tokens;
      assert.deepEqual(record.tags, tags);
      const inspection = dataOf(await me.send('GET', `/v1/tokens/${record.token}/inspect`));
      assert.equal(inspection.name, long);
    });

    test('a name with quotes, backslashes or a lone surrogate is returned as it was sent', async () => {
      for (const name of ['"quoted" \\ /', '<b>&amp;</b>', 'a\ud800b', '\udc00'.repeat(60)]) {
        const [token] = tokensIn(await me.tokenize({ chd: [card(VISA, { name })], tags: [name], scheme: 7 }));
        const response = await me.send('GET', `/v1/tokens/${token}/inspect`);
        assert.equal(dataOf(response).name, name);
      }
    });

    test('an expired card may be stored', async () => {
      const [token] = tokensIn(await me.tokenize({ chd: [card(VISA, { exp: '01/00' })], tags: [], scheme: 1 }));
      assert.equal(dataOf(await me.send('GET', `/v1/tokens/${token}/inspect`)).exp, '01/2000');
    });

    test('nesting of 32 levels and a body of exactly 1 MiB', async () => {
      const deep = `{"chd":[${JSON.stringify(card(VISA))}],"tags":[],"scheme":1,"x":${'['.repeat(31)}${']'.repeat(31)}}`;
      dataOf(await me.tokenize(deep));
      const body = JSON.stringify(cards([VISA]));
      dataOf(await me.tokenize(body.padEnd(1024 * 1024)));
    });

    test('the path with a trailing slash, and media type parameters', async () => {
      const headers = { 'content-type': 'Application/JSON; charset=utf-8' };
      dataOf(await me.send('POST', `${TOKENIZE}/`, cards([VISA]), headers));
    });

    test('accounts and environments have separate tokens', async () => {
      const others = [
        await newCaller(service),
        await newCaller(service, { account: me.account, environment: 'production' }),
      ];
      const body = cards([luhnPan('455667')], { type: 'persistent', scheme: 7 });
      const mine = tokensIn(await me.tokenize(body));
      for (const other of others) {
        assert.notDeepEqual(tokensIn(await other.tokenize(body)), mine);
        assert.equal((await other.send('GET', `/v1/tokens/${mine[0]}/inspect`)).status, 400);
      }
    });
  });

  test('lets other requests have their turns while it works on many cards', async () => {
    const me = await newCaller(service);
    for (const scheme of [7, 8]) {
      const pans = Array.from({ length: 1000 }, () => luhnPan('411111'));
      const request = cards(pans, { scheme, type: 'persistent' });
      for (const isKnown of [false, true]) {
        const { result, turns } = await countTurns(() => me.tokenize(request));
        const tokens = tokensIn(result);
        // Two random card numbers of a thousand are the same once in two thousand runs.
        assert.equal(new Set(tokens).size, new Set(pans).size);
        assert.ok(turns > 20, `${turns} turns, scheme ${scheme}, ${isKnown ? 'known' : 'new'} cards`);
      }
    }
  });

  describe('403', () => {
    test('every cause has the same body', () =>
      assertForbidden(service, { method: 'POST', path: TOKENIZE, body: cards([VISA]) }, 'tokens:create'));
  });
});
