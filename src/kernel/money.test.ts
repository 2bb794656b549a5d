import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { type Currency, minorUnitDigits, parseCurrency } from './currency.ts';
import { parseJson } from './json.ts';
import { formatDecimal, formatNumber, isDecimal, parseAmount, parseComparable, toComparable } from './money.ts';

function currencyOf(code: string): Currency {
  const currency = parseCurrency(code);
  assert.ok(currency !== undefined, code);
  return currency;
}

const LETTERS = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ'];
const CODES = LETTERS.flatMap((a) => LETTERS.flatMap((b) => LETTERS.map((c) => a + b + c)));
const CURRENCIES = CODES.flatMap((code) => parseCurrency(code) ?? []);
const [JPY, USD, KWD, CLF] = (['JPY', 'USD', 'KWD', 'CLF'] as const).map(currencyOf) as [
  Currency,
  Currency,
  Currency,
  Currency,
];

const currency = fc.constantFrom(...CURRENCIES);
/** The values that 12 digits and the decimals of the currency can hold. */
const money = currency.chain((of) =>
  fc.bigInt({ min: 0n, max: 10n ** BigInt(12 + minorUnitDigits(of)) - 1n }).map((minor) => ({ minor, currency: of })),
);

const MALFORMED = [
  '',
  ' ',
  '.',
  '.5',
  '5.',
  '5..0',
  '5.0.0',
  '-1',
  '-0',
  '+1',
  '01',
  '00',
  '00.5',
  '007',
  '1e3',
  '1E3',
  '1.5e1',
  '0x10',
  '1_000',
  '1,000',
  '1,5',
  '1 000',
  ' 1',
  '1 ',
  '1\n',
  '\n1',
  '1.5\n',
  '1.-5',
  '1.+5',
  'NaN',
  'Infinity',
  '１',
  '1.５',
  '١',
  '1n',
  '$1',
  'a1',
  '1a',
  '1.5a',
];

describe('parseAmount', () => {
  it('counts in the minor unit of the currency: 0, 2, 3 or 4 decimals', () => {
    assert.equal(parseAmount('10', JPY), 10n);
    assert.equal(parseAmount('10', USD), 1000n);
    assert.equal(parseAmount('10', KWD), 10_000n);
    assert.equal(parseAmount('10', CLF), 100_000n);
    assert.equal(parseAmount('10.5', USD), 1050n);
    assert.equal(parseAmount('10.05', USD), 1005n);
    assert.equal(parseAmount('10.50', USD), 1050n);
    assert.equal(parseAmount('0.01', USD), 1n);
    assert.equal(parseAmount('0.1', CLF), 1000n);
    assert.equal(parseAmount('1.005', KWD), 1005n);
    assert.equal(parseAmount('0', USD), 0n);
    assert.equal(parseAmount('0.00', USD), 0n);
  });

  it('accepts no more decimals than the currency has, counted as written', () => {
    for (const each of CURRENCIES) {
      const digits = minorUnitDigits(each);
      assert.equal(parseAmount(`1.${'0'.repeat(digits + 1)}`, each), undefined, each);
      if (digits > 0) assert.equal(parseAmount(`1.${'0'.repeat(digits)}`, each), 10n ** BigInt(digits), each);
    }
    assert.equal(parseAmount('10.0', JPY), undefined);
    assert.equal(parseAmount('10.500', USD), undefined);
  });

  it('accepts 12 digits before the point and no more', () => {
    assert.equal(parseAmount('999999999999', JPY), 999_999_999_999n);
    assert.equal(parseAmount('1000000000000', JPY), undefined);
    assert.equal(parseAmount('1000000000000', USD), undefined);
    assert.equal(parseAmount('1000000000000.00', USD), undefined);
  });

  it('is exact where a double is not', () => {
    assert.equal(parseAmount('999999999999.9999', CLF), 9_999_999_999_999_999n);
    assert.equal(parseAmount('900719925474.0993', CLF), 9_007_199_254_740_993n);
    // A double cannot represent the value.
    assert.notEqual(BigInt(Number('900719925474.0993') * 10_000), 9_007_199_254_740_993n);
    assert.equal(parseAmount('1.15', USD), 115n);
    assert.equal(parseAmount('8.95', USD), 895n);
  });

  it('accepts no other format, whatever the currency', () => {
    for (const text of MALFORMED) {
      assert.equal(isDecimal(text), false, JSON.stringify(text));
      for (const each of [JPY, USD, KWD, CLF]) assert.equal(parseAmount(text, each), undefined, JSON.stringify(text));
    }
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom(...'0123456789.+-eE, _n\n'), maxLength: 8 }),
        currency,
        (text, of) => {
          if (!/^(0|[1-9]\d*)(\.\d+)?$/.test(text) || text.endsWith('\n'))
            assert.equal(parseAmount(text, of), undefined);
        },
      ),
    );
  });

  it('recognizes a decimal of any length, so that a later check can report what is wrong with it', () => {
    for (const text of ['0', '7', '10', '0.5', '10.05', '1000000000000.00000'])
      assert.equal(isDecimal(text), true, text);
  });
});

describe('an amount', () => {
  it('formatted and parsed again is the same, in every currency', () => {
    fc.assert(
      fc.property(money, (amount) => {
        assert.equal(parseAmount(formatDecimal(amount), amount.currency), amount.minor);
        assert.equal(parseAmount(formatNumber(amount), amount.currency), amount.minor);
      }),
      { numRuns: 500 },
    );
    for (const each of CURRENCIES)
      for (const minor of [0n, 1n, 9n, 10n, 99n, 100n, 12_345n, 10n ** BigInt(12 + minorUnitDigits(each)) - 1n])
        assert.equal(parseAmount(formatDecimal({ minor, currency: each }), each), minor, `${minor} ${each}`);
  });

  it('has all decimals of its currency, and at least one digit before the point', () => {
    assert.equal(formatDecimal({ minor: 1050n, currency: USD }), '10.50');
    assert.equal(formatDecimal({ minor: 5n, currency: USD }), '0.05');
    assert.equal(formatDecimal({ minor: 50n, currency: USD }), '0.50');
    assert.equal(formatDecimal({ minor: 0n, currency: USD }), '0.00');
    assert.equal(formatDecimal({ minor: 0n, currency: JPY }), '0');
    assert.equal(formatDecimal({ minor: 100n, currency: JPY }), '100');
    assert.equal(formatDecimal({ minor: 1n, currency: CLF }), '0.0001');
    assert.equal(formatDecimal({ minor: 9_007_199_254_740_993n, currency: KWD }), '9007199254740.993');
  });

  it('is a JSON number without trailing zeros in its decimals', () => {
    assert.equal(formatNumber({ minor: 1050n, currency: USD }), '10.5');
    assert.equal(formatNumber({ minor: 1000n, currency: USD }), '10');
    assert.equal(formatNumber({ minor: 1005n, currency: USD }), '10.05');
    assert.equal(formatNumber({ minor: 10_000n, currency: USD }), '100');
    assert.equal(formatNumber({ minor: 1000n, currency: JPY }), '1000');
    assert.equal(formatNumber({ minor: 0n, currency: USD }), '0');
    assert.equal(formatNumber({ minor: 0n, currency: JPY }), '0');
    assert.equal(formatNumber({ minor: 12_300n, currency: KWD }), '12.3');
    assert.equal(formatNumber({ minor: 9_007_199_254_740_993n, currency: CLF }), '900719925474.0993');
  });

  it('is a number that JSON accepts and that parses as the text that was written', () => {
    fc.assert(
      fc.property(money, (amount) => {
        const text = formatNumber(amount);
        assert.equal(JSON.stringify(parseJson(text)), text);
        assert.doesNotMatch(text, /\..*0$|\.$/);
      }),
    );
  });
});

describe('amounts of several currencies', () => {
  it('compare as their decimals do', () => {
    fc.assert(
      fc.property(money, (amount) => {
        assert.equal(parseComparable(formatDecimal(amount)), toComparable(amount));
      }),
    );
    assert.equal(parseComparable('10.00001'), undefined);
    for (const text of MALFORMED) assert.equal(parseComparable(text), undefined, text);
  });
});
