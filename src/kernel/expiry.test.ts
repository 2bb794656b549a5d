import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { formatExpiry, formatLongExpiry, parseAnyExpiry, parseExpiry, parseTrackExpiry } from './expiry.ts';

const two = (number: number): string => String(number).padStart(2, '0');

describe('an expiry', () => {
  it('is parsed as MM/YY and as YYMM: months 01 to 12 of every year, no other', () => {
    for (let month = 0; month < 100; month++) {
      for (let year = 0; year < 100; year++) {
        const expected = month >= 1 && month <= 12 ? { month: two(month), year: two(year) } : undefined;
        assert.deepEqual(parseExpiry(`${two(month)}/${two(year)}`), expected);
        assert.deepEqual(parseTrackExpiry(two(year) + two(month)), expected);
      }
    }
  });

  it('is parsed in no other format', () => {
    for (const text of [
      '',
      '1/29',
      '12/2029',
      '1229',
      '12-29',
      '12/29 ',
      ' 12/29',
      '12/29\n',
      '1２/29',
      '2029/12',
      '12/2',
      '12/',
    ]) {
      assert.equal(parseExpiry(text), undefined, JSON.stringify(text));
    }
    for (const text of ['', '29/12', '291', '29123', '2912\n', ' 2912', '=']) {
      assert.equal(parseTrackExpiry(text), undefined, JSON.stringify(text));
    }
  });

  it('is formatted short and long, always in this century', () => {
    assert.equal(formatExpiry({ month: '02', year: '31' }), '02/31');
    assert.equal(formatLongExpiry({ month: '02', year: '31' }), '02/2031');
    assert.equal(formatLongExpiry({ month: '12', year: '99' }), '12/2099');
  });

  it('of a payment is parsed as MM/YY and as MM/YYYY of this century', () => {
    for (let month = 0; month < 100; month++) {
      for (let year = 0; year < 100; year++) {
        const expected = month >= 1 && month <= 12 ? { month: two(month), year: two(year) } : undefined;
        assert.deepEqual(parseAnyExpiry(`${two(month)}/${two(year)}`), expected);
        assert.deepEqual(parseAnyExpiry(`${two(month)}/20${two(year)}`), expected);
        assert.equal(parseAnyExpiry(`${two(month)}/19${two(year)}`), undefined);
        assert.equal(parseAnyExpiry(`${two(month)}/21${two(year)}`), undefined);
      }
    }
  });

  it('of a payment is parsed in no other format', () => {
    for (const text of [
      '',
      '12/2',
      '12/202',
      '12/20290',
      '12/020',
      '1/2029',
      '012/2029',
      '122029',
      '12-2029',
      '12//2029',
      '2029/12',
      '12/2029\n',
      '12/29\n',
      ' 12/2029',
      '12/2029 ',
      '12/20２9',
      '12/2020/29',
      'x12/2029',
      '12/202029',
    ]) {
      assert.equal(parseAnyExpiry(text), undefined, JSON.stringify(text));
    }
  });
});
