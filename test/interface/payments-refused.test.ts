import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { shareService } from '../fixtures/shared-service.ts';
import type { TestService } from '../fixtures/test-service.ts';
import { assertRefused, type Merchant, newMerchant, order, PAYMENTS, processed } from './payment-requests.ts';

const shared = shareService();

type Path = readonly (string | number)[];

/** A copy of the request with something else at the path; `undefined` leaves the member out. */
function changed(request: object, path: Path, value: unknown): object {
  const copy = structuredClone(request) as Record<string, unknown>;
  let at = copy;
  for (const step of path.slice(0, -1)) {
    at[step] ??= {};
    at = at[step] as Record<string, unknown>;
  }
  at[path.at(-1) ?? ''] = value;
  return copy;
}

const long = (characters: number): string => 'x'.repeat(characters);
const PARTY = ['first_name', 'last_name', 'country', 'address_1', 'address_2', 'city', 'state', 'postal_code'];
const CONTACT = ['email', 'phone_number', 'phone_type', 'phone_area_code'];
const NO_TEXT = [12_345, true, ['text'], { a: 'text' }, 'line\nbreak', long(256)];
const NO_OBJECT = ['text', 12_345, ['text'], false];

/** Values that do not fit, by the place that is named. */
const WRONG: readonly (readonly [path: string, values: readonly unknown[]])[] = [
  ['transaction_info', [undefined, null, ...NO_OBJECT]],
  [
    'transaction_info.type',
    [undefined, null, '', 'capture', 'payment_refund', 'authorization_void', 'Payment', 12_345],
  ],
  ['transaction_info.reference_code', NO_TEXT],
  ['card', [undefined, null, ...NO_OBJECT]],
  [
    'card.number',
    [undefined, null, '', '411111111111', '4111111111111112', '41111111111111111111', 'x4111111111111111'],
  ],
  ['card.number', [true, ['4111111111111111'], 4.5, '4111.1111.1111.1111', '４１１１１１１１１１１１１１１１']],
  [
    'card.expiration_date',
    [undefined, null, '', '13/2029', '00/29', '1/29', '12/129', '2029/12', '12-29', '1229', ' 12/29'],
  ],
  ['card.expiration_date', ['12/1929', '12/2129', 1229, true, ['12/29']]],
  ['card.security_code', ['12', '12345', '12a', ' 123', -123, 12.5, true, ['123']]],
  ['card.holder', NO_TEXT],
  ['order_info', [undefined, null, ...NO_OBJECT]],
  ['order_info.amount_details', [undefined, null, ...NO_OBJECT]],
  ['order_info.amount_details.currency', [undefined, null, '', 'US', 'USDX', 'QQQ', '840', 840, true, ' USD', '€€€']],
  ['order_info.amount_details.items_amount', ['01', '1e2', -1, '10.555', 10.555, true, [10], '1000000000000']],
  ['order_info.installments', [0, -1, 1000, '01', 1.5, '1.0', 'two', true, [1]]],
  ['order_info.descriptor', [...NO_TEXT.slice(0, -1), long(141)]],
  ['order_info.line_items', ['text', { a: 1 }, Array(101).fill({}), 12_345]],
  ['line_items', ['text', { a: 1 }, Array(101).fill({}), 12_345]],
  ...['bill_to', 'cardholder_info'].flatMap((group) => [
    [group, NO_OBJECT] as const,
    ...[...PARTY, ...CONTACT].map((name) => [`${group}.${name}`, NO_TEXT] as const),
    [`${group}.document`, NO_OBJECT] as const,
    ...['type', 'number', 'nationality'].map((name) => [`${group}.document.${name}`, NO_TEXT] as const),
  ]),
  ['device_info', NO_OBJECT],
  ['device_info.ip_address', NO_TEXT],
  ['device_info.fingerprint_session_id', NO_TEXT],
];

const MOVES = [
  ['capture', 'capture', 'capture_info'],
  ['refund', 'payment_refund', 'refund_info'],
  ['void', 'authorization_void', undefined],
] as const;

describe('an invalid payment request', () => {
  let service: TestService;
  let me: Merchant;
  let authorized: string;
  let collected: string;
  before(async () => {
    service = await shared.open();
    me = await newMerchant(service);
    authorized = await me.opened();
    collected = await me.opened('payment');
  });
  after(() => shared.close());

  /** Nothing was made: no operation, no token, no kept answer. */
  const assertNothingMade = async (act: () => Promise<void>): Promise<void> => {
    const created = () => Promise.all([me.operations(), me.count('tokens'), me.count('idempotency')]);
    const before = await created();
    await act();
    assert.deepEqual(await created(), before);
  };

  for (const [path, values] of WRONG) {
    test(`${path}: ${values.map((value) => JSON.stringify(value)?.slice(0, 20) ?? 'missing').join(', ')}`, () =>
      assertNothingMade(async () => {
        for (const value of values) {
          for (const type of ['authorization', 'payment'] as const) {
            const body = changed(order(type), path.split('.'), value);
            assertRefused(await me.send('POST', PAYMENTS, body), { path }, value);
          }
        }
      }));
  }

  test('neither bill_to nor cardholder_info', async () => {
    const { bill_to: billTo, ...rest } = order();
    await assertNothingMade(async () => {
      for (const body of [rest, { ...rest, bill_to: null, cardholder_info: null }])
        assertRefused(await me.send('POST', PAYMENTS, body), { path: 'cardholder_info' });
    });
    processed(await me.send('POST', PAYMENTS, { ...rest, cardholder_info: billTo }));
  });

  for (const [move, type, group] of MOVES) {
    const path = (): string => `${PAYMENTS}/${move === 'refund' ? collected : authorized}/${move}`;
    const wrong: readonly (readonly [path: string, values: readonly unknown[]])[] = [
      ['transaction_info', [undefined, null, ...NO_OBJECT]],
      ['transaction_info.type', [undefined, null, '', 'payment', 'authorization', type.toUpperCase(), 12_345]],
      ...MOVES.filter(([, other]) => other !== type).map(([, other]) => ['transaction_info.type', [other]] as const),
      ['transaction_info.reference_code', NO_TEXT],
      ...(group === undefined
        ? []
        : [
            // An empty text must not mean the entire amount.
            [group, ['', ...NO_OBJECT]] as const,
            [`${group}.amount_details`, ['', ...NO_OBJECT]] as const,
            [`${group}.amount_details.total_amount`, [undefined, null, '', '01', '1e2', -1, true, [1], 'all']] as const,
            [`${group}.amount_details.total_amount`, [0, '0', '0.00', '1.234', 125.51, '125.51', 1e11]] as const,
          ]),
    ];
    describe(move, () => {
      const good = { transaction_info: { type }, ...(group && { [group]: { amount_details: { total_amount: 1 } } }) };
      for (const [field, values] of wrong) {
        // The expected value there is itself a word of the interface, and part of others.
        const sent = (value: unknown): unknown => (field === 'transaction_info.type' ? undefined : value);
        test(`${field}: ${values.map((value) => JSON.stringify(value)?.slice(0, 20) ?? 'missing').join(', ')}`, () =>
          assertNothingMade(async () => {
            for (const value of values)
              assertRefused(
                await me.send('POST', path(), changed(good, field.split('.'), value)),
                { path: field },
                sent(value),
              );
          }));
      }

      if (group !== undefined) {
        test('amount_details without total_amount, also with a currency', () =>
          assertNothingMade(async () => {
            for (const details of [{}, { currency: 'USD' }]) {
              const body = { ...good, [group]: { amount_details: details } };
              const field = `${group}.amount_details.total_amount`;
              assertRefused(await me.send('POST', path(), body), { path: field });
            }
          }));

        test('another currency, or an unknown one', () =>
          assertNothingMade(async () => {
            for (const currency of ['EUR', 'JPY', 'BHD', 'QQQ', '', 840].filter((each) => each !== '')) {
              const body = { ...good, [group]: { amount_details: { total_amount: 1, currency } } };
              const field = `${group}.amount_details.currency`;
              assertRefused(await me.send('POST', path(), body), { path: field }, currency);
            }
          }));
      }
    });
  }

  test('is malformed JSON, ambiguous, too deep or not UTF-8', () =>
    assertNothingMade(async () => {
      const text = JSON.stringify(order());
      const paths = [PAYMENTS, ...MOVES.map(([move]) => `${PAYMENTS}/${authorized}/${move}`)];
      for (const path of paths) {
        for (const body of ['', '{', `${text}x`, text.replace('{', '{"card":1,'), '['.repeat(40)])
          assertRefused(await me.send('POST', path, body), { code: 'malformed_json' });
        const bytes = Buffer.concat([Buffer.from(text.slice(0, -1)), Buffer.from([0xff])]);
        assertRefused(await me.send('POST', path, bytes), { code: 'malformed_json' });
        for (const body of ['[]', '"text"', '1', 'null', 'true'])
          assertRefused(await me.send('POST', path, body), { path: 'body' });
      }
    }));

  test('the first invalid member is reported', async () => {
    const body = { ...order(), card: { number: '1' }, order_info: null };
    assertRefused(await me.send('POST', PAYMENTS, body), { path: 'card.number' });
  });

  test('other members are ignored, also in place of a card number', async () => {
    const more = { card_number: '4111111111111112', extra: { type: 1 }, void_info: 1, capture_info: 'x' };
    processed(await me.send('POST', PAYMENTS, { ...order(), ...more }));
    const id = await me.opened();
    processed(
      await me.send('POST', `${PAYMENTS}/${id}/void`, { transaction_info: { type: 'authorization_void' }, ...more }),
    );
  });

  test('null and empty optional texts count as absent', async () => {
    const body = {
      ...order(),
      transaction_info: { type: 'authorization', reference_code: '' },
      bill_to: { first_name: '', email: null, document: null },
      cardholder_info: null,
      device_info: null,
      line_items: null,
    };
    const { transaction_info: info } = processed(await me.send('POST', PAYMENTS, body));
    assert.ok(!('reference_code' in info));
  });

  test('the maximum length of every member is accepted', async () => {
    const person = Object.fromEntries([...PARTY, ...CONTACT].map((name) => [name, '😀'.repeat(255)]));
    const body = {
      ...order(),
      transaction_info: { type: 'authorization', reference_code: 'é'.repeat(255) },
      order_info: {
        amount_details: { total_amount: '4999.99', currency: 'usd', items_amount: 0 },
        installments: '999',
        descriptor: long(140),
      },
      bill_to: person,
      cardholder_info: { ...person, document: { type: long(255), number: long(255), nationality: long(255) } },
      device_info: { ip_address: '2001:db8::1', fingerprint_session_id: long(255) },
      line_items: Array(100).fill({ any: ['thing', 1.5] }),
    };
    assert.equal(processed(await me.send('POST', PAYMENTS, body)).order_info.amount_details.currency, 'USD');
  });
});
