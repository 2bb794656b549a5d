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

/** Of each form: its zero, where it has one, and its one. */
const ALPHABETS: readonly (readonly [zero: number, one: number])[] = [
  ...[0x30, 0xff10, 0x0660, 0x06f0, 0x0966, 0x0e50, 0x1d7ce, 0x1d7f6, 0x1fbf0, 0x2080].map(
    (at) => [at, at + 1] as const,
  ),
  // Circled: plain, double, black, and those of dingbats. In brackets and with a full stop there is no zero.
  ...[
    [0x24ea, 0x2460],
    [0x24ff, 0x24f5],
    [0x24ff, 0x2776],
    [0x1f10b, 0x2780],
    [0x1f10c, 0x278a],
    [0x30, 0x2474],
    [0x1f100, 0x2488],
  ].map(([zero = 0, one = 0]) => [zero, one] as const),
];
const RAISED = [...'⁰¹²³⁴⁵⁶⁷⁸⁹'];
const alphabets = fc.constantFrom(
  (digit: string) => RAISED[Number(digit)] ?? '',
  ...ALPHABETS.map(
    ([zero, one]) =>
      (digit: string) =>
        String.fromCodePoint(digit === '0' ? zero : one + Number(digit) - 1),
  ),
);

/** Beginnings of what the schemes give out, and how many digits follow with the check digit. */
const SCHEMES: readonly (readonly [string, number])[] = [
  ['4', 15],
  ['4', 18],
  ['51', 14],
  ['2221', 12],
  ['2720', 12],
  ['34', 13],
  ['37', 13],
  ['36', 12],
  ['305', 11],
  ['3528', 12],
  ['6011', 12],
  ['62', 17],
  ['5018', 15],
  ['81', 14],
  ['9792', 12],
  ['2200', 12],
];
const digits = fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 30, maxLength: 30 }).map((each) => each.join(''));
const issued = fc.tuple(fc.constantFrom(...SCHEMES), digits).map(([[begin, more], rest]) => {
  const card = `${begin}${rest.slice(0, more - 1)}`;
  return `${card}${[...'0123456789'].find((last) => passesLuhn(card + last))}`;
});

const SIZES = [1, 2, 3, 4, 5, 6];
const inGroups = (digits: string, size: number): string[] => digits.match(new RegExp(`.{1,${size}}`, 'g')) ?? [];
/** As people do, none of one digit at the end: it goes to the group before. */
function groupsOf(digits: string, size: number): string[] {
  const groups = inGroups(digits, size);
  const last = groups.at(-1) ?? '';
  return size === 1 || last.length > 1 ? groups : [...groups.slice(0, -2), `${groups.at(-2)}${last}`];
}

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

  it('is found in every form of digits with any like signs between its groups', () => {
    const separators = [
      '.',
      '/',
      '_',
      ':',
      '·',
      ' . ',
      '....',
      '. . .',
      '~',
      '|',
      '->',
      ' = ',
      '\u200b.',
      '.\u3164',
      '\u2800',
    ];
    fc.assert(
      fc.property(
        issued,
        fc.constantFrom(...SIZES),
        fc.constantFrom('', ' ', '-', '&nbsp;', '&#160;', '%20', '%C2%A0', '\\u00a0', ...separators),
        alphabets,
        fc.constantFrom('', 'card ', 'Lane 4.1, ', '(', '№ '),
        (card, size, separator, form, before) => {
          const text = groupsOf(card, size)
            .map((group) => [...group].map(form).join(''))
            .join(separator);
          const shown = truncateDisguisedPansIn(`${before}${text} end`);
          assert.ok(shown.includes(truncatePan(card)), `${size} ${JSON.stringify(separator)} ${text} ${shown}`);
          assert.ok(holdsDisguisedPan(text));
        },
      ),
      { numRuns: 2000 },
    );
  });

  it('is found digit by digit among others, and with letters and words between its groups of four', () => {
    for (const separator of ['.', ', ', ' and ', 'x', ')('])
      assert.equal(truncateDisguisedPansIn(`7${separator}${[...VISA].join(separator)}`), `7${separator}${SHOWN}`);
    for (const separator of ['x', ' and ', 'abc']) assert.equal(truncateDisguisedPansIn(grouped(separator)), SHOWN);
    assert.equal(truncateDisguisedPansIn('4111a1111b1111c1111'), SHOWN);
    assert.equal(truncateDisguisedPansIn('41111111 . . . . 11111111'), SHOWN);
    assert.equal(truncateDisguisedPansIn('4. 1 .1 . 1.1.1.1.1.1.1.1.1.1.1.1. 1'), SHOWN);
    assert.equal(truncateDisguisedPansIn('12....3782....822463....10005'), '12....378282*****0005');
  });

  it('is found behind zeros that fill a number up, and not in any other number that is longer', () => {
    assert.equal(truncateDisguisedPansIn('00004111111111111111'), `0000-${SHOWN}`);
    assert.equal(truncateDisguisedPansIn(`${'0'.repeat(40)}378282246310005`), `${'0'.repeat(40)}-378282*****0005`);
    for (const text of ['411111111111111100000000', '0000411111111111111100000', '00001111111111111117'])
      assert.equal(truncateDisguisedPansIn(text), text);
  });

  it('keeps its neighbours apart', () => {
    for (const blank of ['\t', '\n', '\r\n', '\u2028'])
      assert.equal(truncateDisguisedPansIn(`12${blank}${VISA}`), `12${blank}${SHOWN}`, JSON.stringify(blank));
    assert.equal(truncateDisguisedPansIn(`12\u200e${VISA}`), `12-${SHOWN}`);
  });

  it('is not seen in telephone numbers, dates, addresses, versions, amounts and lists', () => {
    const shapes = [
      '+49.15##.###.####',
      '55.11.9####.####',
      '(###) ###-#### ext. ###',
      '+33 # ## ## ## ##',
      '0#.##.##.##.##',
      '##/##/20## ##:##',
      '20##-##-##T##:##:##.###Z',
      '##.##.20##-##.##.20##',
      '###########',
      'ORD-20##-######',
      '1##.1##.##.##/##',
      '1.3.6.1.4.1.#####.#.##.#',
      '##.##.##-rc.#',
      'Lane #.#.#, building ##.###',
      '#,###,###.## USD',
      '$ #.###.###.###,##',
      '##:##:##:##:##:##',
      '##.######, -##.######',
      '###x###x###',
      'Chrome/1##.0.####.### Safari/537.##',
    ];
    fc.assert(
      fc.property(fc.constantFrom(...shapes), digits, (shape, fill) => {
        let used = 0;
        const text = shape.replace(/#/g, () => fill[used++] ?? '');
        assert.equal(truncateDisguisedPansIn(text), text);
      }),
      { numRuns: 5000 },
    );
    for (let first = 0; first < 60; first++)
      for (const separator of [', ', ' and ', '; ', ','])
        for (let count = 2; count < 20; count++) {
          const list = Array.from({ length: count }, (_, index) => first + index).join(separator);
          assert.equal(holdsDisguisedPan(list), false, list);
        }
  });

  it('takes time in proportion to the text', () => {
    for (const part of ['1.', '4.', '4111x', '1&', '④', '4111 .', '1\u0301'])
      assert.ok(truncateDisguisedPansIn(part.repeat(10_000)).length >= 10_000);
    for (const part of ['0', '\u0301', ' ', '. '])
      assert.equal(
        truncateDisguisedPansIn(`${VISA.slice(0, 12)}${part.repeat(100_000)}x`).length,
        100_000 * part.length + 13,
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
      'Lane 4.1.1, building 22.333',
      '½ of ③, ⑩ and ⑴',
      '2.16.840.1.113883.3.4',
      '40, 41, 42, 43, 44, 45, 46, 47',
      '0f4e2c9a-5d1b-4b7e-9c3a-8a1d2e3f4b5c',
      // Card numbers by chance, within a longer number, a list and a telephone number.
      '6c786477615a4611beb691906120828a',
      '30/31/32/33/34/35/36/37',
      '6156868160, 37732303697, (465) 977-4418',
      '491.512.345.6787',
      'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/146.0.7680.153 Safari/537.36',
    ]) {
      assert.equal(truncateDisguisedPansIn(text), text);
      assert.equal(holdsDisguisedPan(text), false);
    }
  });
});
