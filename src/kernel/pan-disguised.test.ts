import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { passesLuhn, truncatePan } from './pan.ts';
import { holdsDisguisedPan, truncateDisguisedPansIn } from './pan-disguised.ts';

const VISA = '4111111111111111';
const SHOWN = '411111******1111';
const inScript = (zero: number): string =>
  [...VISA].map((digit) => String.fromCodePoint(zero + Number(digit))).join('');
const grouped = (separator: string): string => (VISA.match(/.{4}/g) ?? []).join(separator);

describe('a card number in disguise', () => {
  it('is truncated in the digits of any script', () => {
    // Full-width, Arabic-Indic, Persian, Devanagari, Thai, mathematical bold and monospace.
    for (const zero of [0xff10, 0x0660, 0x06f0, 0x0966, 0x0e50, 0x1d7ce, 0x1d7f6])
      assert.equal(truncateDisguisedPansIn(`card ${inScript(zero)}.`), `card ${SHOWN}.`, zero.toString(16));
  });

  it('is truncated with what stands between its groups, seen or not', () => {
    for (const separator of ['.', '/', '_', ',', '+', '·', ' / ', ', ', ':', '|', '...', '\u3000', '\u2022'])
      assert.equal(truncateDisguisedPansIn(`x ${grouped(separator)} y`), `x ${SHOWN} y`, JSON.stringify(separator));
    for (const unseen of ['\ufe0f', '\u200b', '\u202e', '\u2066', '\u0301', '\u00ad', '\u034f', '\u0000'])
      assert.equal(truncateDisguisedPansIn([...VISA].join(unseen)), SHOWN, escape(unseen));
    assert.equal(truncateDisguisedPansIn('3782.822463.10005'), '378282*****0005');
  });

  it('is truncated when it is in none', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[1-9][0-9]{11,18}$/), fc.constantFrom('', ' ', '-'), (digits, separator) => {
        fc.pre(passesLuhn(digits));
        assert.equal(truncateDisguisedPansIn([...digits].join(separator)), truncatePan(digits));
        assert.ok(holdsDisguisedPan(digits));
      }),
    );
  });

  it('is not seen in what is none: such text stays as it is, sign by sign', () => {
    for (const text of [
      '',
      'Ana Lopez',
      'Ünïcödé, 12/29',
      '192.168.100.200',
      '2001:db8::1',
      '2026-11-20T10:00:00.000Z',
      '20/11/2026 10:00',
      '1,234,567.89',
      '4111.1111.1111.1112',
      '٤١١١',
      'e\u0301te\u0301 ٢٠٢٦',
    ]) {
      assert.equal(truncateDisguisedPansIn(text), text);
      assert.equal(holdsDisguisedPan(text), false);
    }
  });
});
