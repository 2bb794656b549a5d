import assert from 'node:assert/strict';
import { createSecretKey, randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { passesLuhn } from '../kernel/pan.ts';
import { IssuableHalf } from './issuable-half.ts';
import { maxBinWidth } from './scheme.ts';

const newHalf = (): IssuableHalf => new IssuableHalf(createSecretKey(randomBytes(32)));

/** Every Luhn-valid value with these first and last digits. */
function valuesOf(head: string, tail: string, length: number): string[] {
  const hidden = length - head.length - tail.length;
  return Array.from({ length: 10 ** hidden }, (_, middle) => head + String(middle).padStart(hidden, '0') + tail).filter(
    passesLuhn,
  );
}

const digits = (count: number): fc.Arbitrary<string> => fc.stringMatching(new RegExp(`^[0-9]{${count}}$`));
const keys = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => createSecretKey(bytes));

describe('the issuable half', () => {
  for (const length of [12, 13, 14, 15, 16, 17]) {
    const bin = maxBinWidth(length);
    it(`has exactly half of the values of ${length} digits`, () => {
      fc.assert(
        fc.property(keys, digits(bin), digits(4), (key, head, tail) => {
          const half = new IssuableHalf(key);
          const values = valuesOf(head, tail, length);
          assert.equal(values.length, 10 ** (length - bin - 5));
          assert.equal(values.filter((value) => half.has(value)).length, values.length / 2);
        }),
        { numRuns: length === 15 || length === 17 ? 2 : 20 },
      );
    });
  }

  it('has exactly half of the values of each 8-digit BIN within a 6-digit BIN, whatever the BIN width of the request', () => {
    const half = newHalf();
    for (const more of ['00', '17', '99'])
      assert.equal(valuesOf(`411111${more}`, '1111', 16).filter((value) => half.has(value)).length, 500);
  });

  it('has about half of the values of the longest numbers', () => {
    const half = newHalf();
    for (const length of [18, 19]) {
      const head = '41111111';
      const random = (): string => String(Math.floor(Math.random() * 10 ** (length - 13))).padStart(length - 13, '0');
      const drawn = Array.from({ length: 2000 }, random).map((middle) =>
        [...'0123456789'].map((check) => `${head}${middle}${check}1111`).find(passesLuhn),
      );
      const issuable = drawn.filter((value) => half.has(value ?? '')).length;
      // Twelve deviations either way.
      assert.ok(issuable > 730 && issuable < 1270, `${issuable} of 2000`);
    }
  });

  it('is the same at any time and in any order of use', () => {
    const key = createSecretKey(randomBytes(32));
    const values = [...valuesOf('411111', '1111', 13), ...valuesOf('520082', '4444', 13)];
    const [one, other] = [new IssuableHalf(key), new IssuableHalf(key)];
    const membership = new Map(values.map((value) => [value, one.has(value)]));
    for (const value of values.toSorted((a, b) => a.slice(7).localeCompare(b.slice(7))))
      assert.equal(other.has(value), membership.get(value), value);
  });

  it('differs for each key, length, BIN and last four', () => {
    const key = createSecretKey(randomBytes(32));
    const chosen = (half: IssuableHalf, head: string, tail: string): string =>
      valuesOf(head, tail, 14)
        .map((value) => (half.has(value) ? '1' : '0'))
        .join('');
    const half = new IssuableHalf(key);
    const all = new Set([
      ...['411111', '411112', '520082'].map((head) => chosen(half, head, '1111')),
      ...['1112', '0000'].map((tail) => chosen(half, '411111', tail)),
      chosen(newHalf(), '411111', '1111'),
    ]);
    assert.equal(all.size, 6);
  });

  it('is each half of the smallest space with the same probability, so that issued values reveal nothing about the others', () => {
    const values = valuesOf('411111', '1111', 12);
    const halves = new Map<string, number>();
    const rounds = 5000;
    for (let round = 0; round < rounds; round++) {
      const half = newHalf();
      const name = values.map((value) => (half.has(value) ? '1' : '0')).join('');
      halves.set(name, (halves.get(name) ?? 0) + 1);
    }
    // Ten values have 252 halves. Chi-square with 251 degrees of freedom has the mean 251 and the deviation 22.4.
    assert.equal(halves.size, 252);
    const expected = rounds / 252;
    const chiSquare = [...halves.values()].reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
    assert.ok(chiSquare < 251 + 7 * 22.4, `chi-square ${chiSquare}`);
  });
});
