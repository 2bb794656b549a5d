import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import fc from 'fast-check';
import { type Currency, minorUnitDigits, parseCurrency } from '../../src/kernel/currency.ts';
import { shareService } from '../fixtures/shared-service.ts';
import type { TestResponse, TestService } from '../fixtures/test-service.ts';
import { inScope } from '../scope.ts';
import {
  assertRefused,
  followOnRequest,
  idOf,
  type Merchant,
  newMerchant,
  order,
  PAYMENTS,
  processed,
} from './payment-requests.ts';

const shared = shareService();

const LETTERS = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ'];
const CURRENCIES = LETTERS.flatMap((one) => LETTERS.flatMap((two) => LETTERS.map((three) => one + two + three)))
  .map(parseCurrency)
  .filter((currency): currency is Currency => currency !== undefined);

/** Minor units as a decimal with all decimals of the currency. */
function written(minor: bigint, digits: number): string {
  const unit = 10n ** BigInt(digits);
  return digits === 0 ? `${minor}` : `${minor / unit}.${String(minor % unit).padStart(digits, '0')}`;
}

/** The format of JSON numbers: without zeros at the end. */
const bare = (text: string): string => (text.includes('.') ? text.replace(/0+$/, '').replace(/\.$/, '') : text);

/** Amounts that the simulator approves: whole units of 1 to 5000, or more than 70000. */
const isApproved = (minor: bigint, digits: number): boolean => {
  const integer = minor / 10n ** BigInt(digits);
  return minor > 0n && (integer <= 5000n || integer > 70_000n);
};

/** The digits of an amount in the text of an answer; a number of JavaScript would round them. */
const digitsIn = ({ text }: TestResponse, name: string): string | undefined =>
  new RegExp(`"${name}":([^,}]+)`).exec(text)?.[1];

/** In `npm test` a fourth of them, other ones in each run; the number of decimals of each is tested by itself. */
const QUARTER = Math.floor(Math.random() * 4);
const SENT = inScope({ usual: CURRENCIES.filter((_, index) => index % 4 === QUARTER), long: CURRENCIES });

describe('amounts', () => {
  let service: TestService;
  let me: Merchant;
  before(async () => {
    service = await shared.open();
    me = await newMerchant(service);
  });
  after(() => shared.close());

  /** With the amount as exactly these characters of JSON. */
  const send = (path: string, body: object, json: string): Promise<TestResponse> =>
    me.send('POST', path, JSON.stringify(body).replace('"AMOUNT"', json));
  const authorize = (currency: string, json: string): Promise<TestResponse> =>
    send(PAYMENTS, order('authorization', { amount: 'AMOUNT', currency }), json);

  test('there are currencies with every number of decimals', () => {
    assert.ok(CURRENCIES.length > 150);
    assert.deepEqual([...new Set(CURRENCIES.map(minorUnitDigits))].sort(), [0, 2, 3, 4]);
    for (const [currency, digits] of Object.entries({ USD: 2, JPY: 0, CLP: 0, BHD: 3, KWD: 3, CLF: 4, UYW: 4, COP: 2 }))
      assert.equal(minorUnitDigits(currency as Currency), digits, currency);
  });

  /** Authorized, captured in part, given back in part: what comes back is what was sent, digit by digit. */
  async function authorizeCaptureRefund(
    currency: Currency,
    authorized: bigint,
    captured: bigint,
    refunded: bigint,
  ): Promise<void> {
    const digits = minorUnitDigits(currency);
    const [all, part, back] = [authorized, captured, refunded].map((minor) => written(minor, digits)) as [
      string,
      string,
      string,
    ];
    const asText = await authorize(currency, `"${all}"`);
    assert.equal(digitsIn(asText, 'authorized_amount'), bare(all), asText.text);
    const asNumber = await authorize(currency.toLowerCase(), all);
    assert.equal(digitsIn(asNumber, 'authorized_amount'), bare(all), asNumber.text);
    assert.equal(processed(asNumber).order_info.amount_details.currency, currency);
    const id = idOf(asNumber);
    const capture = await send(`${PAYMENTS}/${id}/capture`, followOnRequest('capture', 'AMOUNT', currency), part);
    assert.equal(digitsIn(capture, 'total_amount'), bare(part), capture.text);
    const refund = await send(`${PAYMENTS}/${id}/refund`, followOnRequest('refund', 'AMOUNT'), `"${back}"`);
    assert.equal(digitsIn(refund, 'refunded_amount'), bare(back), refund.text);
    const rest = await me.move('refund', id);
    if (captured === refunded) assertRefused(rest, { code: 'payment_state', path: 'id' });
    else assert.equal(digitsIn(rest, 'total_amount'), bare(written(captured - refunded, digits)), rest.text);
    const shown = await me.show(id);
    const names = ['authorized_amount', 'collected_amount', 'refunded_amount'];
    assert.deepEqual(
      names.map((name) => digitsIn(shown, name)),
      [all, part, part].map(bare),
      shown.text,
    );
  }

  test('are returned exactly, in every currency', async () => {
    for (const currency of SENT) {
      const places = minorUnitDigits(currency);
      const most = 10n ** BigInt(12 + places) - 1n;
      const minor = fc
        .tuple(fc.integer({ min: 1, max: 12 + places }), fc.bigInt({ min: 1n, max: most }))
        .map(([digits, value]) => (value % 10n ** BigInt(digits)) + 1n)
        .map((value) => (value > most ? most : value))
        .filter((value) => isApproved(value, places));
      const amounts = minor.chain((authorized) =>
        fc
          .bigInt({ min: 1n, max: authorized })
          .chain((part) => fc.tuple(fc.constant(authorized), fc.constant(part), fc.bigInt({ min: 1n, max: part }))),
      );
      await fc.assert(
        fc.asyncProperty(amounts, ([authorized, part, refunded]) =>
          authorizeCaptureRefund(currency, authorized, part, refunded),
        ),
        { numRuns: 1, endOnFailure: true },
      );
    }
  });

  test('are returned exactly at both limits for every number of decimals', async () => {
    for (const currency of ['JPY', 'USD', 'BHD', 'CLF'] as Currency[]) {
      const most = 10n ** BigInt(12 + minorUnitDigits(currency)) - 1n;
      await authorizeCaptureRefund(currency, most, most, most);
      await authorizeCaptureRefund(currency, most, most - 1n, most - 2n);
      await authorizeCaptureRefund(currency, most, 1n, 1n);
      await authorizeCaptureRefund(currency, 1n, 1n, 1n);
    }
  });

  test('with fewer decimals than the currency has are accepted', async () => {
    for (const [currency, json, digits] of [
      ['USD', '10', '10'],
      ['USD', '10.0', '10'],
      ['USD', '10.00', '10'],
      ['USD', '"0.5"', '0.5'],
      ['BHD', '1.50', '1.5'],
      ['CLF', '"999999999999.9"', '999999999999.9'],
      ['JPY', '999999999999', '999999999999'],
    ] as const)
      assert.equal(digitsIn(await authorize(currency, json), 'authorized_amount'), digits, json);
  });

  const refusedIn = async (currency: string, amounts: readonly string[]): Promise<void> => {
    const before = await me.operations();
    for (const json of amounts) {
      const response = await authorize(currency, json);
      assertRefused(response, { path: 'order_info.amount_details.total_amount' }, json);
    }
    assert.equal(await me.operations(), before);
  };

  test('with more decimals than the currency has are rejected, including zeros', async () => {
    await refusedIn('USD', ['1.234', '"1.234"', '1.000', '"1.000"', '0.001', '1.0000000000000000000000']);
    await refusedIn('JPY', ['1.5', '1.0', '"1.0"', '"100.00"', '0.1']);
    await refusedIn('CLP', ['1.0', '"1.5"']);
    await refusedIn('BHD', ['1.2345', '"1.0000"']);
    await refusedIn('CLF', ['1.23456', '"1.00000"']);
  });

  test('of zero are rejected', () => refusedIn('USD', ['0', '"0"', '0.00', '"0.00"', '0.0', '-0', '-0.0']));

  test('with exponent, sign or leading zeros, or in another format, are rejected', async () => {
    const bad = ['1e2', '1E2', '1e+2', '1.5e1', '100e-1', '1e0', '-1', '-10.5', '1e-400', '1e400'];
    const texts = [
      '1e2',
      '-1',
      '+1',
      '01',
      '00.5',
      '007',
      '.5',
      '1.',
      '1,5',
      '1.000,00',
      ' 1',
      '1 ',
      '1\\n',
      '0x10',
      '١',
    ];
    const others = ['NaN', 'Infinity', '1_000', '--1', '1.2.3', '', 'ten', '{{x:transaction}}'];
    await refusedIn('USD', [
      ...bad,
      ...[...texts, ...others].map((text) => `"${text}"`),
      'true',
      '[1]',
      '{}',
      '{"rawJSON":"1"}',
    ]);
  });

  test('of 13 digits before the point are rejected', () =>
    refusedIn('USD', [
      '1000000000000',
      '"1000000000000"',
      '1000000000000.01',
      '9007199254740993',
      `"${'9'.repeat(400)}"`,
    ]));

  test('are rejected in captures and refunds by the same rules', async () => {
    for (const [move, type, group] of [
      ['capture', 'authorization', 'capture_info'],
      ['refund', 'payment', 'refund_info'],
    ] as const) {
      const id = await me.opened(type, { amount: 100 });
      for (const json of [
        '1.234',
        '"1.000"',
        '0',
        '"0.00"',
        '01',
        '1e1',
        '"1e1"',
        '-1',
        '"+1"',
        '100.01',
        '"101"',
        '1000000000000',
      ]) {
        const response = await send(`${PAYMENTS}/${id}/${move}`, followOnRequest(move, 'AMOUNT'), json);
        // A leading zero is no JSON.
        if (json === '01') assertRefused(response, { code: 'malformed_json' });
        else assertRefused(response, { path: `${group}.amount_details.total_amount` }, json);
      }
      processed(await send(`${PAYMENTS}/${id}/${move}`, followOnRequest(move, 'AMOUNT', 'usd'), '100.00'));
    }
  });

  test('of items may be zero and have the decimals of the currency', async () => {
    const withItems = (items: unknown) => {
      const body = order();
      return { ...body, order_info: { amount_details: { ...body.order_info.amount_details, items_amount: items } } };
    };
    for (const items of [0, '0.00', 12.5, '12.50', null, '999999999999.99'])
      processed(await me.send('POST', PAYMENTS, withItems(items)));
  });
});
