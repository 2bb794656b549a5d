import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { parseCurrency } from './currency.ts';

describe('parseCurrency', () => {
  it('accepts the currencies in use, in either case, and returns upper case', () => {
    const common = 'USD EUR GBP JPY CHF COP MXN BRL CLP PEN ARS CRC GTQ PAB DOP KWD BHD UYU VES CAD AUD CNY INR'.split(
      ' ',
    );
    for (const code of common) {
      assert.equal(parseCurrency(code), code);
      assert.equal(parseCurrency(code.toLowerCase()), code);
    }
    assert.equal(parseCurrency('uSd'), 'USD');
  });

  it('accepts funds codes, metals, recent codes and recently withdrawn ones', () => {
    for (const code of [
      'CLF',
      'UYW',
      'XAU',
      'XTS',
      'XXX',
      'XCG',
      'ZWG',
      'SLE',
      'VED',
      'MRU',
      'STN',
      'BYN',
      'ANG',
      'BGN',
    ]) {
      assert.equal(parseCurrency(code), code);
    }
  });

  it('accepts no other text', () => {
    for (const text of [
      '',
      'US',
      'USDX',
      'AAA',
      'ZZZ',
      '840',
      'U$D',
      ' USD',
      'USD\n',
      'DEM',
      'BTC',
      'ıdr',
      'ﬁm',
      'constructor',
    ]) {
      assert.equal(parseCurrency(text), undefined, JSON.stringify(text));
    }
  });

  it('accepts between 170 and 190 of the 17576 possible codes', () => {
    const letters = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ'];
    const all = letters.flatMap((a) => letters.flatMap((b) => letters.map((c) => a + b + c)));
    const known = all.filter((code) => parseCurrency(code) !== undefined);
    assert.ok(known.length >= 170 && known.length <= 190, String(known.length));
  });

  it('returns a code of three upper-case letters or nothing', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 4 }), (text) => {
        const code = parseCurrency(text);
        if (code !== undefined) assert.match(code, /^[A-Z]{3}$/);
        if (code !== undefined) assert.equal(code, text.toUpperCase());
      }),
    );
  });
});
