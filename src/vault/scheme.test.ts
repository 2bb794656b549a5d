import assert from 'node:assert/strict';
import { createSecretKey } from 'node:crypto';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { systemRandom } from '../crypto/random.ts';
import { isUuid } from '../kernel/ids.ts';
import { type Pan, passesLuhn } from '../kernel/pan.ts';
import { IssuableHalf } from './issuable-half.ts';
import {
  buildTokenSpace,
  countTokenBodies,
  isInSpace,
  isScheme,
  maxBinWidth,
  persistentFormat,
  randomToken,
  SCHEMES,
  type Scheme,
  type TokenFormat,
  type TokenSpace,
  tokenBodyAt,
} from './scheme.ts';

const random = systemRandom();
const half = new IssuableHalf(createSecretKey(random.bytes(32)));

const withCheckDigit = (digits: string): Pan =>
  [...'0123456789'].map((check) => digits + check).find(passesLuhn) as Pan;

const pans = fc.stringMatching(/^[0-9]{11,18}$/).map(withCheckDigit);
const bins = fc.constantFrom(6 as const, 8 as const);
const formats = fc.tuple(fc.constantFrom<Scheme>(1, 3, 8), bins).map(([scheme, bin]): TokenFormat => ({ scheme, bin }));

const spaceOf = (pan: string, scheme: Scheme, bin: 6 | 8 = 6): TokenSpace =>
  buildTokenSpace(pan as Pan, { scheme, bin }, half);

/** Every token of a small space. */
const tokensOf = (space: TokenSpace): string[] =>
  Array.from(
    { length: countTokenBodies(space) },
    (_, index) => space.head + tokenBodyAt(space, index) + space.tail,
  ).filter((token) => isInSpace(space, token));

describe('schemes', () => {
  it('are 1, 3, 7 and 8', () => {
    const known = Array.from({ length: 100 }, (_, number) => number).filter(isScheme);
    assert.deepEqual(known, [1, 3, 7, 8]);
    for (const number of [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) assert.equal(isScheme(number), false);
    assert.equal(isScheme('constructor' as never), false);
  });

  it('have the names of the interface, and 8-digit BINs except for UUID', () => {
    const listed = Object.entries(SCHEMES).map(([number, { name, eightDigitBin }]) => [number, name, eightDigitBin]);
    assert.deepEqual(listed, [
      ['1', 'sixTOKENfour', true],
      ['3', 'sixANTOKENfour', true],
      ['7', 'UUID', false],
      ['8', 'LuhnValid', true],
    ]);
  });

  it('have alphabets in the order of their codes', () => {
    for (const { alphabet } of Object.values(SCHEMES)) {
      assert.equal([...alphabet].sort().join(''), alphabet);
      assert.equal(new Set(alphabet).size, alphabet.length);
    }
    assert.equal(SCHEMES[3].alphabet.length, 62);
  });

  it('have a format name for each scheme and BIN', () => {
    const [short, long] = ['411111111111116', '4111111111111111'] as Pan[];
    assert.equal(persistentFormat(long as Pan, { scheme: 1, bin: 6 }), '1/6');
    assert.equal(persistentFormat(long as Pan, { scheme: 8, bin: 8 }), '8/8');
    assert.equal(persistentFormat(short as Pan, { scheme: 8, bin: 8 }), '8/6');
  });

  it('keep eight digits of card numbers with 16 digits or more only', () => {
    const widths = Array.from({ length: 8 }, (_, index) => maxBinWidth(index + 12));
    assert.deepEqual(widths, [6, 6, 6, 6, 8, 8, 8, 8]);
    assert.equal(spaceOf('411111111111116', 1, 8).head, '411111');
    assert.equal(spaceOf('4111111111111111', 1, 8).head, '41111111');
    assert.equal(spaceOf('4111111111111111', 1, 6).head, '411111');
  });
});

describe('a generated token', () => {
  it('has the length, first digits and last four of the card, and is in its space', () => {
    fc.assert(
      fc.property(pans, formats, (pan, format) => {
        const space = buildTokenSpace(pan, format, half);
        const token = randomToken(space, random);
        assert.ok(token !== undefined, `none for ${pan}`);
        const bin = Math.min(format.bin, maxBinWidth(pan.length));
        assert.equal(token.length, pan.length);
        assert.equal(token.slice(0, bin), pan.slice(0, bin));
        assert.equal(token.slice(-4), pan.slice(-4));
        assert.notEqual(token, pan);
        assert.ok(isInSpace(space, token));
        const middle = token.slice(bin, -4);
        if (format.scheme === 3) assert.match(middle, /^(?=.*[A-Za-z])[A-Za-z0-9]+$/);
        else assert.match(token, /^[0-9]+$/);
        if (format.scheme === 1) assert.equal(passesLuhn(token), false);
        if (format.scheme === 8) assert.ok(passesLuhn(token) && half.has(token));
      }),
      { numRuns: 1000 },
    );
  });

  it('is a UUID with scheme 7', () => {
    fc.assert(
      fc.property(pans, (pan) =>
        assert.ok(isUuid(randomToken(buildTokenSpace(pan, { scheme: 7, bin: 6 }, half), random) ?? '')),
      ),
    );
  });

  it('is uniform over a small space', () => {
    for (const scheme of [1, 8] as const) {
      const space = spaceOf(withCheckDigit('41234567890'), scheme);
      const all = tokensOf(space);
      const size = scheme === 1 ? 90 : half.has(space.pan) ? 4 : 5;
      assert.equal(all.length, size);
      const counts = new Map(all.map((token) => [token, 0]));
      const draws = size * 200;
      for (let draw = 0; draw < draws; draw++) {
        const token = randomToken(space, random) ?? '';
        counts.set(token, (counts.get(token) ?? Number.NaN) + 1);
      }
      assert.equal(counts.size, size);
      // The mean is 200 with a deviation of 14: ten deviations either way.
      for (const [token, count] of counts) assert.ok(count > 60 && count < 340, `${token}: ${count}`);
    }
  });

  it('reveals nothing of the hidden digits: the same randomness gives the same token for cards that differ there', () => {
    const dealing = () => {
      let state = 1;
      const below = (bound: number): number => {
        state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
        return Math.floor((state / 2 ** 32) * bound);
      };
      return { bytes: (size: number) => new Uint8Array(size), below };
    };
    const [one, other] = ['4111110000001111', '4111119876541111'];
    for (const scheme of [1, 3, 7, 8] as const) {
      const first = randomToken(spaceOf(one, scheme), dealing());
      assert.ok(first !== undefined);
      assert.equal(first, randomToken(spaceOf(other, scheme), dealing()));
    }
  });
});

describe('isInSpace', () => {
  it('is never true of the card number', () => {
    fc.assert(
      fc.property(pans, formats, (pan, format) =>
        assert.equal(isInSpace(buildTokenSpace(pan, format, half), pan), false),
      ),
    );
    assert.equal(isInSpace(spaceOf('4111111111111112', 1), '4111111111111112'), false);
  });

  it('follows the Luhn rule of the scheme', () => {
    assert.equal(isInSpace(spaceOf('4111111111111111', 8), '4111110000001112'), false);
    assert.equal(isInSpace(spaceOf('4111111111111111', 1), '4111110000001111'), !passesLuhn('4111110000001111'));
    assert.equal(isInSpace(spaceOf('4111111111111111', 3), '4111110000001111'), false);
    assert.equal(isInSpace(spaceOf('4111111111111111', 3), '41111100000a1111'), true);
  });
});

describe('middleAt', () => {
  it('enumerates every middle once, in the order in which a database sorts them', () => {
    for (const scheme of [1, 3, 8] as const) {
      const space = spaceOf(withCheckDigit('41234567890'), scheme);
      assert.equal(space.hidden, 2);
      const middles = Array.from({ length: countTokenBodies(space) }, (_, index) => tokenBodyAt(space, index));
      assert.equal(middles.length, space.alphabet.length ** 2);
      for (const [index, middle] of middles.entries()) {
        assert.equal(middle.length, 2);
        const before = middles[index - 1];
        if (before !== undefined) assert.ok(Buffer.compare(Buffer.from(before), Buffer.from(middle)) < 0);
      }
    }
  });

  it('is in order in every space', () => {
    fc.assert(
      fc.property(pans, formats, fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }), (pan, format, part) => {
        const space = buildTokenSpace(pan, format, half);
        const count = Math.min(countTokenBodies(space), Number.MAX_SAFE_INTEGER);
        fc.pre(count > 1);
        const index = Math.floor(part * (count - 1));
        const [one, next] = [tokenBodyAt(space, index), tokenBodyAt(space, index + 1)];
        assert.equal(one.length, space.hidden);
        assert.ok(one < next);
      }),
    );
  });

  it('starts with the first and ends with the last character of the alphabet', () => {
    const space = spaceOf('4111111111111111', 3);
    assert.equal(tokenBodyAt(space, 0), '000000');
    assert.equal(tokenBodyAt(space, countTokenBodies(space) - 1), 'zzzzzz');
    assert.equal(tokenBodyAt(spaceOf('4111111111111111', 1), 123456), '123456');
    assert.equal(tokenBodyAt(spaceOf('4111111111111111', 1, 8), 42), '0042');
  });
});
