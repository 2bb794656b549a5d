import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  containsPan,
  containsPanOutsideUuids,
  type Pan,
  parsePan,
  passesLuhn,
  truncatePan,
  truncatePans,
  truncateReference,
} from './pan.ts';

/** Test numbers that the card brands publish. */
const PUBLISHED = [
  '4111111111111111',
  '4012888888881881',
  '5555555555554444',
  '5105105105105100',
  '378282246310005',
  '371449635398431',
  '30569309025904',
  '38520000023237',
  '6011111111111117',
  '6011000990139424',
  '3530111333300000',
  '6304000000000000',
];

/** The Luhn sum as the standard describes it: from the right, every second digit doubled, its digits added. */
function luhnSum(digits: string): number {
  const doubled = [...digits].reverse().map((digit, index) => (index % 2 === 1 ? String(Number(digit) * 2) : digit));
  return [...doubled.join('')].reduce((sum, digit) => sum + Number(digit), 0);
}

const withCheckDigit = (digits: string): string => digits + ((10 - (luhnSum(`${digits}0`) % 10)) % 10);

const digitText = (min: number, max: number): fc.Arbitrary<string> =>
  fc.stringMatching(new RegExp(`^[0-9]{${min},${max}}$`));

const cards = digitText(11, 18).map(withCheckDigit);

/** A card number as users write it: blanks or dashes between any digits. */
const written = fc
  .tuple(cards, fc.array(fc.constantFrom('', '', '', ' ', '-', ' - ', '\t'), { minLength: 18, maxLength: 18 }))
  .map(([card, separators]) => ({
    card,
    text: [...card].map((digit, index) => (index === 0 ? '' : separators[index - 1]) + digit).join(''),
  }));

const prose = fc.stringMatching(/^[a-zA-Z .,:;#"{}\n]{0,20}[a-zA-Z.,:;#"]$/);

describe('parsePan', () => {
  it('accepts 12 to 19 digits', () => {
    for (let length = 0; length <= 30; length++) {
      const digits = '4'.repeat(length);
      assert.equal(parsePan(digits), length >= 12 && length <= 19 ? digits : undefined, `${length} digits`);
    }
  });

  it('drops blanks and dashes, and preserves leading zeros', () => {
    assert.equal(parsePan('4111 1111-1111 1111'), '4111111111111111');
    assert.equal(parsePan(' -4111111111111111- '), '4111111111111111');
    assert.equal(parsePan('000000000000'), '000000000000');
    assert.equal(parsePan('4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1'), '4111111111111111');
  });

  it('accepts no other character', () => {
    for (const text of [
      '4111.1111.1111.1111',
      '4111111111111111x',
      '4111\t111111111111',
      '４１１１１１１１１１１１１１１１',
      '+4111111111111111',
      '4111111111111111\n',
      '0x41111111111111',
    ]) {
      assert.equal(parsePan(text), undefined, JSON.stringify(text));
    }
  });
});

describe('passesLuhn', () => {
  it('is true for published test numbers', () => {
    for (const card of PUBLISHED) assert.ok(passesLuhn(card), card);
    assert.ok(passesLuhn('79927398713'));
  });

  it('agrees with the algorithm of the standard', () => {
    fc.assert(fc.property(digitText(1, 25), (digits) => assert.equal(passesLuhn(digits), luhnSum(digits) % 10 === 0)));
    fc.assert(fc.property(cards, (card) => assert.ok(passesLuhn(card))));
  });

  it('is false when any one digit is wrong', () => {
    fc.assert(
      fc.property(cards, fc.nat(), fc.integer({ min: 1, max: 9 }), (card, position, difference) => {
        const at = position % card.length;
        const wrong = (Number(card[at]) + difference) % 10;
        assert.ok(!passesLuhn(card.slice(0, at) + wrong + card.slice(at + 1)));
      }),
    );
  });
});

describe('truncatePan', () => {
  it('shows the first six and last four, with a star for each digit between', () => {
    assert.equal(truncatePan('4111111111111111'), '411111******1111');
    assert.equal(truncatePan('378282246310005'), '378282*****0005');
    assert.equal(truncatePan('123456789012'), '123456**9012');
    assert.equal(truncatePan('1234567890123456789'), '123456*********6789');
    fc.assert(
      fc.property(cards, (card) => {
        const shown = truncatePan(card);
        assert.equal(shown.length, card.length);
        assert.match(shown, /^[0-9]{6}\*{2,9}[0-9]{4}$/);
        assert.ok(card.startsWith(shown.slice(0, 6)) && card.endsWith(shown.slice(-4)));
      }),
    );
  });
});

describe('truncatePans', () => {
  it('truncates a card number in any prose, whatever blanks and dashes are in it', () => {
    fc.assert(
      fc.property(prose, written, prose, (before, { card, text }, after) => {
        assert.equal(truncatePans(before + text + after), before + truncatePan(card) + after);
      }),
    );
  });

  it('truncates every one of several', () => {
    assert.equal(
      truncatePans('4111111111111111,5555-5555-5555-4444 / 3782 822463 10005'),
      '411111******1111,555555******4444 / 378282*****0005',
    );
    assert.equal(truncatePans('4111111111111111 5555555555554444'), '411111******1111 555555******4444');
    fc.assert(
      fc.property(fc.array(fc.tuple(prose, written)), (parts) => {
        const text = parts.map(([prefix, { text: digits }]) => prefix + digits).join('');
        assert.equal(truncatePans(text), parts.map(([prefix, { card }]) => prefix + truncatePan(card)).join(''));
      }),
    );
  });

  it('finds a card number between other groups of digits', () => {
    assert.equal(truncatePans('12 4111 1111 1111 1112'), '12 4111 1111 1111 1112');
    assert.equal(truncatePans('7 4111 1111 1111 1111'), '7 411111******1111');
    assert.equal(truncatePans('1 5555 5555 5555 4444'), '1 555555******4444');
    assert.equal(truncatePans('5555 5555 5555 4444 12 29'), '555555******4444 12 29');
    assert.equal(truncatePans('order 77, 5555-5555-5555-4444-123'), 'order 77, 555555******4444-123');
    // The run has more digits than any card number, and one of its groups is a card number.
    assert.equal(truncatePans('12345678901234567890 4111111111111111'), '12345678901234567890 411111******1111');
  });

  it('hides the middle of each of two runs that overlap', () => {
    assert.ok(passesLuhn('12555555555555') && passesLuhn('5555555555554444'));
    assert.equal(truncatePans('12 5555 5555 5555 4444'), '125555********4444');
    assert.ok(passesLuhn('4321411111111111') && passesLuhn('4111111111111111'));
    assert.equal(truncatePans('4321 4111 1111 1111 1111'), '432141**********1111');
  });

  it('never shows the middle of a Luhn-valid run that starts and ends with a group', () => {
    const groups = fc.array(digitText(1, 8), { minLength: 2, maxLength: 12 });
    fc.assert(
      fc.property(groups, fc.constantFrom(' ', '-'), (parts, separator) => {
        const shown = truncatePans(parts.join(separator)).replaceAll(separator, '');
        const offsets = parts.map((_, index) => parts.slice(0, index).join('').length);
        for (let start = 0; start < parts.length; start++) {
          for (let end = start + 1; end <= parts.length; end++) {
            const run = parts.slice(start, end).join('');
            if (run.length < 12 || run.length > 19 || !passesLuhn(run)) continue;
            const from = (offsets[start] ?? 0) + 6;
            assert.match(shown.slice(from, from + run.length - 10), /^\*+$/, `${run} in ${parts.join(separator)}`);
          }
        }
      }),
      { numRuns: 1000 },
    );
  });

  it('changes nothing but digits into stars and their separators', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[0-9 a-]{0,60}$/), (text) => {
        const shown = truncatePans(text);
        const unseparated = text.replace(/[ -]/g, '');
        const shownCharacters = shown.replace(/[ -]/g, '');
        assert.equal(shownCharacters.length, unseparated.length);
        for (let index = 0; index < unseparated.length; index++) {
          const shownCharacter = shownCharacters[index] ?? '';
          assert.ok(
            shownCharacter === unseparated[index] || (shownCharacter === '*' && /[0-9]/.test(unseparated[index] ?? '')),
          );
        }
      }),
    );
  });

  it('leaves other texts unchanged', () => {
    for (const text of [
      '',
      'no digits',
      '4111111111111112',
      '41111111111',
      '4111.1111.1111.1111',
      '4111x1111x1111x1111',
      // A run of twenty digits is no run of 12 to 19, although it starts with a card number.
      '41111111111111110000',
      '2026-11-20T10:00:00',
      '0f4e2c9a-5d1b-4b7e-9c3a-8a1d2e3f4b5c',
    ]) {
      assert.equal(truncatePans(text), text);
      assert.equal(containsPan(text), false);
    }
    assert.equal(containsPan('x 4111111111111111'), true);
  });

  it('leaves digits unchanged that fail the check', () => {
    fc.assert(
      fc.property(prose, digitText(1, 19), prose, (before, digits, after) => {
        fc.pre(digits.length < 12 || !passesLuhn(digits));
        assert.equal(truncatePans(before + digits + after), before + digits + after);
      }),
    );
  });

  it('changes nothing the second time, when words separate the card numbers', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(prose, written)), (parts) => {
        const once = truncatePans(parts.map(([prefix, { text }]) => prefix + text).join(''));
        assert.equal(truncatePans(once), once);
      }),
    );
  });

  it('takes time in proportion to the text', () => {
    const text = '1 '.repeat(200_000);
    assert.equal(truncatePans(text).length > 0, true);
    assert.equal(truncatePans(' '.repeat(500_000)).length, 500_000);
    assert.equal(truncatePans(`1${' '.repeat(200_000)}x`.repeat(3)).length, 600_006);
  });
});

it('a Pan remains a string', () => {
  const pan: Pan | undefined = parsePan('4111 1111 1111 1111');
  assert.equal(pan?.length, 16);
});

describe('containsPanOutsideUuids', () => {
  const uuids = fc.uuid({ version: [1, 4, 7] }).filter((uuid) => /[a-f]/.test(uuid));

  it('finds a card number in any prose, beside UUIDs and between dashes', () => {
    fc.assert(
      fc.property(prose, written, uuids, (before, { text }, uuid) => {
        for (const url of [before + text, `${uuid}/${text}`, `${text}/${uuid}`, `${uuid}?${text}&${uuid}`])
          assert.ok(containsPanOutsideUuids(url), url);
      }),
    );
    for (const url of [
      '4111-1111-1111-1111-f2',
      'deadbeef-4111-1111-1111-1111',
      'deadbeef-4111-1111-1111-1111deadbeef',
      '41111111116-1111',
      // None of these is a UUID with a letter: digits alone, another version or variant, another length, digits beside it.
      '41111111-1111-4115-8111-000000000000',
      'deadbeef-4111-0111-8114-abcdef123456',
      'deadbeef-0000-4000-8000-a630000000004',
      'deadbeef-0000-9000-8000-630000000004',
      'deadbeef-0000-4000-7000-630000000004',
      '4-11111111-1111-4117-8abc-deadbeef0000',
      '4111-1111-1111-1111-deadbeef-0000-4000-8000-deadbeef0000',
      '4111 1111 1111 1111aaaa-0000-4000-8000-deadbeef0000',
      'deadbeef-0000-4000-8000-deadbeef4111-1111-1111-1111',
    ])
      assert.ok(containsPanOutsideUuids(url), url);
  });

  it('finds none in a UUID', () => {
    for (const uuid of ['abcdef00-0000-4000-8000-630000000004', '41111111-1117-4ABC-8ABC-ABCDEF000000']) {
      for (const url of [`/hooks/${uuid}`, `/hooks/orders-${uuid}?a=${uuid}`]) {
        assert.equal(containsPan(url), true, 'the Luhn check alone finds one');
        assert.equal(containsPanOutsideUuids(url), false, url);
      }
    }
    fc.assert(fc.property(uuids, (uuid) => assert.equal(containsPanOutsideUuids(`https://a.example/${uuid}`), false)));
  });

  it('takes time in proportion to the text', () => {
    const texts = [
      '1'.repeat(100_000),
      '1-'.repeat(50_000),
      `1${' '.repeat(100_000)}a`,
      'deadbeef-0000-4000-8000-'.repeat(5000),
    ];
    const started = performance.now();
    for (const text of texts) containsPanOutsideUuids(text);
    assert.ok(performance.now() - started < 5000);
  });
});

describe('truncateReference', () => {
  it('truncates a card number in whole groups of a UUID', () => {
    assert.match(truncateReference('41111111-1111-1111-8abc-abcdefabcdef'), /^411111\*{6}1111-8abc/);
    assert.match(truncateReference('abcdefab-1111-4abc-8100-000000000002'), /-810000\*{6}0002$/);
  });

  // With a letter in the first groups and in the last ones.
  const uuids = fc.uuid({ version: [1, 4, 7] }).filter((uuid) => /^[^-]*[a-f].*[a-f][^-]*$/.test(uuid));

  it('leaves a UUID with a letter, and truncates card numbers beside it', () => {
    const uuid = '41111111-1117-4abc-8abc-abcdefabcdef';
    assert.notEqual(truncatePans(uuid), uuid, 'the Luhn check alone finds one');
    assert.equal(truncateReference(uuid), uuid);
    fc.assert(
      fc.property(prose, written, uuids, (before, { text }, each) => {
        const expected = `${truncatePans(before + text)}/${each}?${truncatePans(text)}`;
        assert.equal(truncateReference(`${before}${text}/${each}?${text}`), expected);
      }),
    );
  });

  it('truncates as truncatePans does where no UUID has a letter', () => {
    const texts = ['41111111-1111-4115-8111-000000000000', 'order 4111 1111 1111 1111', '4111-1111-1111-1111-f2', ''];
    for (const text of texts) assert.equal(truncateReference(text), truncatePans(text), text);
    fc.assert(
      fc.property(prose, written, (before, { text }) =>
        assert.equal(truncateReference(before + text), truncatePans(before + text)),
      ),
    );
  });
});
