import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  caretAfter,
  digitsOf,
  formatNumber,
  formatTypedExpiry,
  normalizeExpiry,
  toAsciiDigits,
} from '../card-form/form/typing.ts';

describe('a card number in the form', () => {
  it('drops separators and reads digits of any script', () => {
    assert.equal(toAsciiDigits('٤۴४４4a-'), '44444a-');
    // A script whose digits are unknown is left as it is.
    assert.equal(toAsciiDigits('𑓐'), '𑓐');
    for (const text of [
      '4111 1111-1111\u00a01111',
      ' 4111\u20131111.1111/1111 ',
      '4111\n1111\t11111111',
      'no. 4111111111111111',
    ])
      assert.equal(digitsOf(text), '4111111111111111');
  });

  it('is grouped as on cards of its brand, and cut behind the longest', () => {
    for (const [digits, formatted] of [
      ['', ''],
      ['4', '4'],
      ['4111', '4111'],
      ['41111', '4111 1'],
      ['4111111111111111', '4111 1111 1111 1111'],
      ['378282246310005', '3782 822463 10005'],
      ['36227206271667', '3622 720627 1667'],
      ['6759649826438453', '6759 6498 2643 8453'],
    ] as const)
      assert.equal(formatNumber(digits), formatted);
    assert.equal(digitsOf(formatNumber('4'.repeat(30))), '4'.repeat(19));
  });

  it('keeps the caret behind as many digits as before', () => {
    for (const [digits, place] of [
      [0, 0],
      [3, 3],
      [4, 4],
      [5, 6],
      [8, 9],
      [9, 10],
      [99, 10],
    ] as const)
      assert.equal(caretAfter('4111 11111', digits), place, String(digits));
  });
});

describe('an expiry date in the form', () => {
  it('is read in any usual form when it is pasted, filled or left', () => {
    for (const text of [
      '9/29',
      '09/29',
      '0929',
      '092029',
      '09/2029',
      '9/2029',
      '2029-09',
      '2029/9',
      '202909',
      '09 29',
      '09 / 2029',
    ])
      assert.equal(normalizeExpiry(text), '09/29', text);
    for (const text of ['12/2030', '12 30', '12-30', '12.2030', ' 12 / 30\n', '2030-12', '١٢/٣٠', '１２３０'])
      assert.equal(normalizeExpiry(text), '12/30', text);
  });

  it('stays as it is when it is none', () => {
    for (const text of ['', '1', '13', '123', 'soon', '1/2/3', '12/203']) assert.equal(normalizeExpiry(text), text);
  });

  it('gets its slash while it is typed', () => {
    for (const [typed, shown] of [
      ['0', '0'],
      ['1', '1'],
      ['2', '02/'],
      ['9', '09/'],
      ['00', '00'],
      ['09', '09/'],
      ['12', '12/'],
      ['13', '13'],
      ['12/', '12/'],
      ['12/3', '12/3'],
      ['123', '12/3'],
      ['1230', '12/30'],
      ['1/', '1/'],
      ['12/2030', '12/2030'],
      ['12/20304', '12/2030'],
      ['٠٩', '09/'],
      ['1x', '1'],
    ] as const)
      assert.equal(formatTypedExpiry(typed, false), shown, typed);
  });

  it('loses its slash when that is deleted', () => {
    assert.equal(formatTypedExpiry('12', true), '12');
    assert.equal(formatTypedExpiry('9', true), '9');
    assert.equal(formatTypedExpiry('12/3', true), '12/3');
  });
});
