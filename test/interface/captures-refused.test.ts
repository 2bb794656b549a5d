import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { shareService } from '../fixtures/shared-service.ts';
import type { TestService } from '../fixtures/test-service.ts';
import { assertRefused, CAPTURES, type Caller, capture, dataOf, newCaller, VISA } from './vault-requests.ts';

const shared = shareService();

const OTHER = '5555555555554444';
const TRACK = `${VISA}=31011010000012345678`;
const CARD = 'chd.card: expected a card number of 12 to 19 digits';
const NAME = 'chd.name: expected a string of 1 to 255 characters without control characters';
const ONE_OF = 'chd: at least one of card, cvv and track_2 is required';
const AMOUNT = 'amount: expected an integer of 0 to 9007199254740991';
const CURRENCY = 'currency: expected an ISO 4217 currency code';
const TTL = 'expected an integer of 1 to 10080';
const TRACK_2 = 'chd.track_2: expected track 2 data';

const chd = (more: object) => capture({ chd: { card: VISA, ...more } });
const each = (values: readonly unknown[], name: string, body: (value: unknown) => unknown, desc: string) =>
  values.map((value) => [`${name} ${JSON.stringify(value)}`, body(value), desc] as const);

const WRONG: readonly (readonly [about: string, body: unknown, desc: string])[] = [
  ['an array', [capture()], 'body: expected an object'],
  ['no chd', capture({ chd: undefined }), 'chd: required'],
  ['chd null', capture({ chd: null }), 'chd: required'],
  ['chd an array', capture({ chd: [{ card: VISA }] }), 'chd: expected an object'],
  ['chd empty', capture({ chd: {} }), ONE_OF],
  ['only name and exp', capture({ chd: { name: 'Ana Lopez', exp: '12/29' } }), ONE_OF],
  ['card, cvv and track 2 empty or null', capture({ chd: { card: '', cvv: null, track_2: '' } }), ONE_OF],
  ...each(
    ['41111111111', '4'.repeat(20), '4111.1111.1111.1111', true, -4111111111111111, {}],
    'card',
    (card) => chd({ card }),
    CARD,
  ),
  [
    'a card that fails Luhn',
    chd({ card: '4111111111111112' }),
    'chd.card: expected a card number that passes the Luhn check',
  ],
  [
    'a track whose card fails Luhn',
    capture({ chd: { track_2: '4111111111111112=3101101' } }),
    'chd.track_2: expected a card number that passes the Luhn check',
  ],
  ['a card that contradicts track 2', chd({ card: OTHER, track_2: TRACK }), 'chd.card: contradicts track_2'],
  ...each(
    ['12', '12345', '12a', ' 123', 12, 12345, -123, true, ['123']],
    'cvv',
    (cvv) => chd({ cvv }),
    'chd.cvv: expected 3 or 4 digits',
  ),
  ...each(['1/29', '00/29', '13/29', '2029-12', 1229], 'exp', (exp) => chd({ exp }), 'chd.exp: expected MM/YY'),
  ...each(['x'.repeat(256), '🙂'.repeat(256), 'Ana\u0000', '\u0085Ana', 123456], 'name', (name) => chd({ name }), NAME),
  ...each(
    [
      'stripe',
      VISA,
      `${VISA}=`,
      `${VISA}=3113101`,
      `${VISA}=3100101`,
      `${VISA}=310110`,
      `${VISA}=3101101x`,
      `${VISA}^3101101`,
      `;;${TRACK}?`,
      `${TRACK}?77`,
      `;${TRACK}?;${TRACK}?`,
      `41111111111=3101101`,
      `${VISA}=3101101${'0'.repeat(14)}`,
      `4111 1111 1111 1111=3101101`,
      4111111111111111,
    ],
    'track 2',
    (track_2) => chd({ track_2 }),
    TRACK_2,
  ),
  ['no amount', capture({ amount: undefined }), 'amount: required'],
  ['amount null', capture({ amount: null }), 'amount: required'],
  ...each(
    [
      '',
      -1,
      0.5,
      '0.5',
      '1e3',
      '00',
      '0125',
      '+1',
      ' 125',
      '-1234',
      true,
      [],
      '9007199254740992',
      '99999999999999999999',
    ],
    'amount',
    (amount) => capture({ amount }),
    AMOUNT,
  ),
  ['no currency', capture({ currency: undefined }), 'currency: required'],
  ...each(
    ['', 'US', 'USDX', 'ABC', '840', 'U$D', 'uſd', 840, ['USD']],
    'currency',
    (currency) => capture({ currency }),
    CURRENCY,
  ),
  ['no additional_info', capture({ additional_info: undefined }), 'additional_info: required'],
  ['additional_info null', capture({ additional_info: null }), 'additional_info: required'],
  ...each(
    [[], 'text', 12345, true, ''],
    'additional_info',
    (info) => capture({ additional_info: info }),
    'additional_info: expected an object',
  ),
  [
    'pan_index in additional_info',
    capture({ additional_info: { pan_index: 'abcdef' } }),
    'additional_info: the key pan_index is reserved',
  ],
  [
    'pan_index null in additional_info',
    capture({ additional_info: { pan_index: null } }),
    'additional_info: the key pan_index is reserved',
  ],
  ['no ttl', capture({ ttl: undefined }), 'ttl: required'],
  ['ttl null', capture({ ttl: null, TTL: null }), 'ttl: required'],
  ...each(
    [0, 10081, -1, 1.5, '060', '1e3', '60.0', ' 60', '60m', true, '99999999999999999999'],
    'ttl',
    (ttl) => capture({ ttl }),
    `ttl: ${TTL}`,
  ),
  ...each([0, 10081, '060'], 'TTL', (value) => capture({ ttl: undefined, TTL: value }), `TTL: ${TTL}`),
  ['ttl and TTL that differ', capture({ ttl: 1440, TTL: 4320 }), 'ttl: contradicts TTL'],
];

describe('POST /transactions/requests', () => {
  let service: TestService;
  let me: Caller;
  before(async () => {
    service = await shared.open();
    me = await newCaller(service);
  });
  after(() => shared.close());

  const create = (body: unknown) => me.send('POST', CAPTURES, body);
  /** A good request with one value replaced by raw text. */
  const raw = (name: string, text: string) => JSON.stringify(capture({ [name]: 'HERE' })).replace('"HERE"', text);

  describe('400', () => {
    for (const [about, body, desc] of WRONG) {
      test(`${about}: states what is expected, repeats nothing, stores nothing`, async () => {
        assertRefused(await create(body), desc, body);
        assert.equal(await me.count('captures'), 0);
      });
    }

    test('numbers with fraction or exponent where an integer is expected', async () => {
      for (const number of ['10.0', '1e3', '10E0', '9007199254740992', '1e400', '-0'])
        assertRefused(await create(raw('amount', number)), AMOUNT, number);
      for (const number of ['60.0', '6e1', '60.5'])
        assertRefused(await create(raw('ttl', number)), `ttl: ${TTL}`, number);
      for (const number of ['4111111111111111.0', '4111111111111111e0', '4.111111111111111e15'])
        assertRefused(await create(raw('chd', `{"card":${number}}`)), CARD, number);
      for (const number of ['123.0', '1e2', '0.1'])
        assertRefused(await create(raw('chd', `{"cvv":${number}}`)), 'chd.cvv: expected 3 or 4 digits');
    });

    test('malformed JSON: duplicate keys anywhere, 33 levels, invalid UTF-8, a byte order mark', async () => {
      const bodies: [body: string | Uint8Array, desc: RegExp][] = [
        [
          raw('additional_info', '{"secretkey":1,"secretkey":2}'),
          /^malformed JSON at character [0-9]+: duplicate key$/,
        ],
        [raw('ttl', '60,"ttl":60'), /^malformed JSON at character [0-9]+: duplicate key$/],
        [raw('additional_info', `{"a":${'['.repeat(31)}${']'.repeat(31)}}`), /nested deeper than 32 levels$/],
        [Buffer.from(raw('additional_info', '{"a":"\xe9"}'), 'latin1'), /the body is not UTF-8$/],
        [`\ufeff${raw('ttl', '60')}`, /^malformed JSON at character 1: /],
      ];
      for (const [body, desc] of bodies) {
        const response = await create(body);
        assertRefused(response, desc);
        assert.doesNotMatch(response.text, /secretkey|4111/);
      }
      assert.equal(await me.count('captures'), 0);
    });

    test('additional_info beyond 16 KiB, in UTF-8 bytes as sent', async () => {
      const tooLong = 'additional_info: expected at most 16384 bytes';
      for (const info of [
        `{"a":"${'x'.repeat(16377)}"}`,
        `{"a":"${'é'.repeat(8188)}x"}`,
        `{"a":"${'\\u0041'.repeat(2729)}xxx"}`,
        `{${' '.repeat(16383)}}`,
      ]) {
        assert.equal(Buffer.byteLength(info), 16385);
        assertRefused(await create(raw('additional_info', info)), tooLong);
      }
      assert.equal(await me.count('captures'), 0);
    });

    test('pan_index, however it is escaped', async () => {
      const desc = 'additional_info: the key pan_index is reserved';
      assertRefused(await create(raw('additional_info', '{"pan\\u005findex":"abc"}')), desc);
    });
  });

  describe('200', () => {
    test('additional_info of exactly 16 KiB; a nested pan_index is data', async () => {
      for (const info of [`{"a":"${'x'.repeat(16376)}"}`, `{"a":"${'é'.repeat(8188)}"}`, `{${' '.repeat(16382)}}`]) {
        assert.equal(Buffer.byteLength(info), 16384);
        dataOf(await create(raw('additional_info', info)));
      }
      dataOf(await create(capture({ additional_info: { a: { pan_index: 'x' } } })));
      assert.equal(await me.count('captures'), 4);
    });

    test('the request that all of these differ from is accepted', async () => {
      dataOf(await create(raw('amount', '12500')));
    });
  });
});
