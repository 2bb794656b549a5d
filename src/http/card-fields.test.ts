import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { parseJson } from '../kernel/json.ts';
import { cardNumber, currency, expiry, track2, verificationCode } from './card-fields.ts';
import { type Field, FieldMismatch } from './fields.ts';

/** JSON text, as in a request. */
const read = <T>(field: Field<T>, text: string): T => field.parse(parseJson(text));

const refuses = (field: Field<unknown>, ...texts: readonly string[]): void => {
  for (const text of texts) assert.throws(() => read(field, text), FieldMismatch, text);
};

describe('a card number', () => {
  it('preserves every digit, as a number of up to 19 digits or as a string', () => {
    const digits = fc.stringMatching(/^[1-9][0-9]{11,18}$/);
    fc.assert(
      fc.property(digits, (card) => {
        assert.equal(read(cardNumber, card), card);
        assert.equal(read(cardNumber, `"${card}"`), card);
      }),
    );
    assert.equal(read(cardNumber, '6304000000000000003'), '6304000000000000003');
    assert.equal(read(cardNumber, '9007199254740993'), '9007199254740993');
  });

  it('drops blanks and dashes and keeps leading zeros of a string', () => {
    assert.equal(read(cardNumber, '"4111 1111-1111 1111"'), '4111111111111111');
    assert.equal(read(cardNumber, '"0004111111111111"'), '0004111111111111');
  });

  it('has no other format', () => {
    refuses(cardNumber, '41111111111', '41111111111111111111', '"41111111111"', '"41111111111111111111"');
    refuses(cardNumber, '4111111111111111.0', '4.111111111111111e15', '-4111111111111111', '4111111111111111e0');
    refuses(
      cardNumber,
      '"4.111111111111111e15"',
      '"4111111111111111x"',
      '""',
      '" "',
      'true',
      '[4111111111111111]',
      '{}',
      'null',
    );
  });
});

describe('a security code', () => {
  it('is 3 or 4 digits and returned as text', () => {
    for (const [text, code] of [
      ['123', '123'],
      ['"123"', '123'],
      ['1234', '1234'],
      ['"012"', '012'],
      ['"0000"', '0000'],
    ] as const) {
      assert.equal(read(verificationCode, text), code);
    }
    refuses(
      verificationCode,
      '12',
      '"12"',
      '12345',
      '"12345"',
      '-12',
      '"-12"',
      '123.0',
      '1e2',
      '"12a"',
      '" 123"',
      '"123\\n"',
      'true',
      '[123]',
      'null',
    );
  });
});

describe('expiries, currencies and tracks', () => {
  it('are parsed exactly', () => {
    assert.deepEqual(read(expiry, '"02/31"'), { month: '02', year: '31' });
    refuses(expiry, '"2/31"', '"02/2031"', '231', '"00/31"', 'null');
    assert.equal(read(currency, '"usd"'), 'USD');
    refuses(currency, '"USDX"', '"ZZZ"', '840', '""');
    assert.equal(read(track2, '";4111111111111111=2912201?"').pan, '4111111111111111');
    refuses(track2, '"4111111111111111"', '4111111111111111', '""');
  });
});
