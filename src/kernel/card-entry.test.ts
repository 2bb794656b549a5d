import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { brandOf } from './card-brand.ts';
import { checkCvv, checkEntry, checkExpiry, checkName, checkNumber } from './card-entry.ts';

const PRESENT = { year: 2026, month: 11 };

describe('the brand of', () => {
  for (const [number, brand] of [
    ['4111111111111111', 'visa'],
    ['2223003122003222', 'mastercard'],
    ['5555555555554444', 'mastercard'],
    ['378282246310005', 'amex'],
    ['36227206271667', 'diners'],
    ['6011111111111117', 'discover'],
    ['3566002020360505', 'jcb'],
    ['6200000000000005', 'unionpay'],
    ['6759649826438453', 'maestro'],
    ['6362970000457013', 'elo'],
    ['6062826786276634', 'hipercard'],
    ['9999999999999995', 'unknown'],
  ] as const)
    test(`${number} is ${brand}`, () => {
      assert.equal(brandOf(number).brand, brand);
      assert.equal(checkNumber(number, undefined), undefined);
    });

  test('a beginning is known as soon as its range is', () => {
    assert.deepEqual(
      ['', '4', '5', '51', '2', '222', '2221', '2720', '2721', '34', '3'].map((each) => brandOf(each).brand),
      [
        ...['unknown', 'visa', 'unknown', 'mastercard', 'unknown', 'unknown', 'mastercard', 'mastercard', 'unknown'],
        ...['amex', 'unknown'],
      ],
    );
  });
});

test('a number is required, complete, valid, and of an accepted brand', () => {
  const code = (number: string, accepted?: readonly 'visa'[]) => checkNumber(number, accepted);
  assert.equal(code(''), 'required');
  assert.equal(code('  -'), 'required');
  assert.equal(code('4111 1111 1111'), 'incomplete');
  assert.equal(code('4111-1111-1111-1111'), undefined);
  assert.equal(code('4111111111111112'), 'invalid');
  assert.equal(code('411111111111111'), 'invalid');
  assert.equal(code('41111111111111111'), 'invalid');
  assert.equal(code('4111x11111111111'), 'invalid');
  assert.equal(code('99999999999'), 'incomplete');
  assert.equal(code('99999999999999999999'), 'invalid');
  assert.equal(code('5555555555554444', ['visa']), 'brand_not_accepted');
  assert.equal(code('9999999999999995', ['visa']), 'brand_not_accepted');
  assert.equal(code('4111111111111111', ['visa']), undefined);
});

test('an expiry is valid to the end of its month', () => {
  const codes = ['', 'x', '13/27', '1/27', '10/26', '11/26', '12/26', '01/00', '12/99'].map((exp) =>
    checkExpiry(exp, PRESENT),
  );
  assert.deepEqual(codes, [
    ...['required', 'invalid', 'invalid', 'invalid', 'expired', undefined, undefined, 'expired', undefined],
  ]);
});

test('a name holds no card number and no control character', () => {
  assert.equal(checkName('', 'required'), 'required');
  assert.equal(checkName('', 'optional'), undefined);
  assert.equal(checkName('4111 1111 1111 1111', 'optional'), 'invalid');
  assert.equal(checkName('Ana\u0007', 'required'), 'invalid');
  assert.equal(checkName('x'.repeat(256), 'required'), 'invalid');
  assert.equal(checkName('😀'.repeat(255), 'required'), undefined);
  assert.equal(checkName('4111111111111111', 'hidden'), undefined);
});

test('a security code has the digits of its brand', () => {
  const [visa, amex, unknown] = ['4111111111111111', '378282246310005', '9999999999999995'];
  assert.deepEqual(
    [
      checkCvv('', 'required', visa),
      checkCvv('', 'optional', visa),
      checkCvv('12', 'required', visa),
      checkCvv('123', 'required', visa),
      checkCvv('1234', 'required', visa),
      checkCvv('123', 'required', amex),
      checkCvv('1234', 'required', amex),
      checkCvv('123', 'required', unknown),
      checkCvv('1234', 'required', unknown),
      checkCvv('12a', 'required', visa),
      checkCvv('x', 'hidden', visa),
    ],
    [
      ...['required', undefined, 'incomplete', undefined, 'invalid', 'incomplete', undefined, undefined, undefined],
      ...['invalid', undefined],
    ],
  );
});

test('every field at fault is named, in their order', () => {
  const rules = { fields: { name: 'required', cvv: 'required' }, acceptedBrands: undefined } as const;
  assert.deepEqual(checkEntry({ number: '', exp: '10/20', name: '', cvv: 'a' }, rules, PRESENT), [
    { field: 'number', code: 'required' },
    { field: 'exp', code: 'expired' },
    { field: 'name', code: 'required' },
    { field: 'cvv', code: 'invalid' },
  ]);
});
