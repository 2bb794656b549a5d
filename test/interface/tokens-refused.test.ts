import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { luhnPan, startTestService, type TestService } from '../fixtures/test-service.ts';
import { assertRefused, type Caller, card, cards, dataOf, newCaller, TOKENIZE, VISA } from './vault-requests.ts';

const OTHER = '5555555555554444';
const CARD = 'expected a card number of 12 to 19 digits';
const NAME = 'expected a string of 1 to 255 characters without control characters';
const SCHEME = 'expected one of 1 (sixTOKENfour), 3 (sixANTOKENfour), 7 (UUID), 8 (LuhnValid)';

/** Requests that are wrong in one place, and what is said about it. */
const WRONG: readonly (readonly [about: string, body: unknown, desc: string])[] = [
  ['an array', [cards([VISA])], 'body: expected an object'],
  ['a string', '"4111111111111111"', 'body: expected an object'],
  ['null', 'null', 'body: expected an object'],
  ['no chd', { tags: [], scheme: 1 }, 'chd: required'],
  ['chd null', cards([], { chd: null }), 'chd: required'],
  ['chd an object', cards([], { chd: card(VISA) }), 'chd: expected an array'],
  ['chd empty', cards([]), 'chd: expected 1 to 1000 entries'],
  ['1001 cards', cards(Array.from({ length: 1001 }, () => VISA)), 'chd: expected 1 to 1000 entries'],
  ['a card that is a string', cards([], { chd: [VISA] }), 'chd[0]: expected an object'],
  ['a card that is null', cards([], { chd: [card(VISA), null] }), 'chd[1]: expected an object'],
  ['no card number', cards([undefined]), 'chd[0].card: required'],
  ['card null', cards([null]), 'chd[0].card: required'],
  ['card empty', cards(['']), `chd[0].card: ${CARD}`],
  ['card of 11 digits', cards(['41111111111']), `chd[0].card: ${CARD}`],
  ['card of 20 digits', cards(['41111111111111111111']), `chd[0].card: ${CARD}`],
  ['card with letters', cards(['4111x11111111111']), `chd[0].card: ${CARD}`],
  ['card with a tab', cards(['4111\t111111111111']), `chd[0].card: ${CARD}`],
  ['card in digits of another script', cards(['٤١١١١١١١١١١١١١١١']), `chd[0].card: ${CARD}`],
  ['card of another type', cards([[VISA]]), `chd[0].card: ${CARD}`],
  ['card true', cards([true]), `chd[0].card: ${CARD}`],
  ['negative card', cards([-4111111111111111]), `chd[0].card: ${CARD}`],
  ['no name', cards([], { chd: [{ card: VISA, exp: '12/29' }] }), 'chd[0].name: required'],
  ['name null', cards([], { chd: [card(VISA, { name: null })] }), 'chd[0].name: required'],
  ['name empty', cards([], { chd: [card(VISA, { name: '' })] }), `chd[0].name: ${NAME}`],
  ['name a number', cards([], { chd: [card(VISA, { name: 12345 })] }), `chd[0].name: ${NAME}`],
  ['name of 256 characters', cards([], { chd: [card(VISA, { name: '🙂'.repeat(256) })] }), `chd[0].name: ${NAME}`],
  ['name with a line feed', cards([], { chd: [card(VISA, { name: 'Ana\nLopez' })] }), `chd[0].name: ${NAME}`],
  ['name with NUL', cards([], { chd: [card(VISA, { name: 'Ana\u0000Lopez' })] }), `chd[0].name: ${NAME}`],
  ['name with DEL', cards([], { chd: [card(VISA, { name: 'Ana\u007fLopez' })] }), `chd[0].name: ${NAME}`],
  ['name with a C1 control', cards([], { chd: [card(VISA, { name: 'Ana\u0085Lopez' })] }), `chd[0].name: ${NAME}`],
  ['no exp', cards([], { chd: [{ card: VISA, name: 'Ana Lopez' }] }), 'chd[0].exp: required'],
  ['exp null', cards([], { chd: [card(VISA, { exp: null })] }), 'chd[0].exp: required'],
  ...['', '1/29', '00/29', '13/29', '12/2029', '12-29', ' 12/29', '12/29\n', 1229].map(
    (exp) =>
      [
        `exp ${JSON.stringify(exp)}`,
        cards([], { chd: [card(VISA), card(OTHER), card(OTHER), card(VISA, { exp })] }),
        'chd[3].exp: expected MM/YY',
      ] as const,
  ),
  ['no tags', { chd: [card(VISA)], scheme: 1 }, 'tags: required'],
  ['tags null', cards([VISA], { tags: null }), 'tags: required'],
  ['tags a string', cards([VISA], { tags: 'online' }), 'tags: expected an array'],
  ['51 tags', cards([VISA], { tags: Array.from({ length: 51 }, () => 'x') }), 'tags: expected 0 to 50 entries'],
  ['a tag of 256 characters', cards([VISA], { tags: ['a', '🙂'.repeat(256)] }), ''],
  ['an empty tag', cards([VISA], { tags: ['a', ''] }), ''],
  ['a tag that is a number', cards([VISA], { tags: ['a', 12345] }), ''],
  ['a tag that is null', cards([VISA], { tags: ['a', null] }), ''],
  ['no scheme', { chd: [card(VISA)], tags: [] }, 'scheme: required'],
  ['scheme null', cards([VISA], { scheme: null }), 'scheme: required'],
  ...[0, 2, 4, 5, 6, 9, -1, '', '01', '+1', ' 1', '1.0', '1e0', true, [1], 'constructor', '99999999999999999999'].map(
    (scheme) => [`scheme ${JSON.stringify(scheme)}`, cards([VISA], { scheme }), `scheme: ${SCHEME}`] as const,
  ),
  [
    'an 8-digit BIN with UUID',
    cards([VISA], { scheme: 7, isEightDigitsBin: true }),
    'isEightDigitsBin: works only with schemes 1, 3 and 8',
  ],
  [
    'isEightDigitsBin as text',
    cards([VISA], { isEightDigitsBin: 'certainly' }),
    'isEightDigitsBin: expected true or false',
  ],
  ['isEightDigitsBin 1', cards([VISA], { isEightDigitsBin: 1 }), 'isEightDigitsBin: expected true or false'],
  ...['Persistent', 'persistent ', 'random', true, 0].map(
    (type) => [`type ${JSON.stringify(type)}`, cards([VISA], { type }), 'type: expected "persistent"'] as const,
  ),
];

/** Numbers that are none where an integer is meant, as they can only be written in raw JSON. */
const NUMBERS = [
  '4111111111111111.0',
  '4.111111111111111e15',
  '4111111111111111e0',
  '-4111111111111111',
  '41111111111',
];

describe('POST /v1/tokenization/simple', () => {
  let service: TestService;
  let me: Caller;
  before(async () => {
    service = await startTestService();
    me = await newCaller(service);
  });
  after(async () => {
    await service.stop();
  });

  const text = (member: string) =>
    `{"chd":[{"card":"${VISA}","name":"Ana Lopez","exp":"12/29"}],"tags":[],"scheme":1,${member}}`;

  describe('400', () => {
    for (const [about, body, desc] of WRONG) {
      test(`${about}: states what is expected, repeats nothing, stores nothing`, async () => {
        const tag = 'tags[1]: expected a string of 1 to 255 characters';
        assertRefused(
          await me.tokenize(body),
          desc === '' ? new RegExp(`^${tag.replace(/[[\]]/g, '\\$&')}`) : desc,
          body,
        );
        assert.equal(await me.count('tokens'), 0);
      });
    }

    test('numbers with fraction, exponent or sign', async () => {
      for (const number of NUMBERS) {
        const body = `{"chd":[{"card":${number},"name":"A","exp":"01/30"}],"tags":[],"scheme":1}`;
        assertRefused(await me.tokenize(body), `chd[0].card: ${CARD}`, number);
      }
      for (const number of ['1.0', '1e0', '10e-1', '-0'])
        assertRefused(
          await me.tokenize(`{"chd":[${JSON.stringify(card(VISA))}],"tags":[],"scheme":${number}}`),
          `scheme: ${SCHEME}`,
        );
    });

    test('one structure error rejects 999 valid cards and stores none of them', async () => {
      const good = Array.from({ length: 999 }, () => card(luhnPan('455667')));
      const body = { chd: [...good, card(luhnPan('455667'), { exp: '13/29' })], tags: [], scheme: 1 };
      assertRefused(await me.tokenize(body), 'chd[999].exp: expected MM/YY');
      assert.equal(await me.count('tokens'), 0);
    });

    test('no card of the request can be tokenized', async () => {
      for (const body of [
        cards(['4111111111111112']),
        cards(['4111111111111112', '5555555555554445'], { scheme: 7, type: 'persistent' }),
        cards(['455667123457', '4111111111111112'], { scheme: 8, isEightDigitsBin: true }),
      ])
        assertRefused(await me.tokenize(body), 'No card of the request can be tokenized.', body);
      assert.equal(await me.count('tokens'), 0);
    });

    const malformed: readonly (readonly [about: string, body: string | Uint8Array, desc: RegExp])[] = [
      ['nothing', '', /^malformed JSON at character 1: /],
      ['blanks', '  ', /^malformed JSON at character 3: /],
      ['a second value', `${text('"x":1')} 4111111111111111`, /expected the end of the body$/],
      ['an unfinished object', '{"chd":[{"card":"4111111111111111"', /^malformed JSON at character 35: /],
      ['a trailing comma', '{"scheme":1,}', /expected a key$/],
      ['single quotes', "{'4111111111111111':1}", /expected a key$/],
      ['a number with a leading zero', text('"x":04111111111111111'), /^malformed JSON at character /],
      ['NaN', text('"x":NaN'), /expected a value$/],
      ['a line feed in a string', text('"x":"4111\n1111"'), /control character in a string$/],
      ['a malformed escape', text('"x":"\\x41"'), /malformed escape$/],
      ['a duplicate key', text('"scheme":1'), /duplicate key$/],
      ['a duplicate key, written otherwise', text('"sch\\u0065me":1'), /duplicate key$/],
      ['a duplicate unknown key', text('"secretkey":1,"secretkey":2'), /duplicate key$/],
      ['a duplicate key far inside', text('"x":[{"secretkey":{"a":1,"a":1}}]'), /duplicate key$/],
      ['a duplicate __proto__', text('"__proto__":1,"__proto__":1'), /duplicate key$/],
      ['33 levels', text(`"x":${'['.repeat(32)}${']'.repeat(32)}`), /nested deeper than 32 levels$/],
      ['a thousand levels', '['.repeat(100_000), /nested deeper than 32 levels$/],
      ['a byte order mark', `\ufeff${text('"x":1')}`, /^malformed JSON at character 1: /],
      ['a byte that is no UTF-8', Buffer.from(text('"x":"\xff"'), 'latin1'), /the body is not UTF-8$/],
      ['an overlong form', Buffer.from(text('"x":"\xc0\xaf"'), 'latin1'), /the body is not UTF-8$/],
      ['a surrogate in UTF-8', Buffer.from(text('"x":"\xed\xa0\x80"'), 'latin1'), /the body is not UTF-8$/],
      ['UTF-16', Buffer.from(text('"x":1'), 'utf16le'), /^malformed JSON/],
    ];
    for (const [about, body, desc] of malformed) {
      test(`malformed JSON: ${about}`, async () => {
        const response = await me.tokenize(body);
        assertRefused(response, desc);
        assert.match(response.json.desc, /^malformed JSON/);
        assert.doesNotMatch(response.text, /4111|secretkey|__proto__/);
        assert.equal(await me.count('tokens'), 0);
      });
    }

    test('no value of a rejected request is in the log', () => {
      assert.ok(service.log.length > 0);
      for (const line of service.log) assert.doesNotMatch(line, /41111111|55555555|Ana Lopez|secretkey/);
    });
  });

  describe('413', () => {
    test('a body of 1 MiB and one byte', async () => {
      const body = JSON.stringify(cards([VISA])).padEnd(1024 * 1024 + 1);
      assertRefused(await me.tokenize(body), 'The body is too large.', [VISA], 413);
      assert.equal(await me.count('tokens'), 0);
    });
  });

  describe('415', () => {
    test('another or no media type, or a content encoding', async () => {
      const body = cards([VISA]);
      const types: Record<string, string>[] = [
        { 'content-type': 'text/plain' },
        { 'content-type': 'application/jsonp' },
        { 'content-type': '' },
        { 'content-encoding': 'identity' },
        { 'content-encoding': 'gzip' },
      ];
      for (const headers of types) assertRefused(await me.tokenize(body, headers), /not supported\.$/, body, 415);
      assert.equal(await me.count('tokens'), 0);
    });
  });

  describe('200', () => {
    test('the request that all of these differ from is accepted', async () => {
      dataOf(await me.send('POST', TOKENIZE, text('"x":1')));
      assert.equal(await me.count('tokens'), 1);
    });
  });
});
