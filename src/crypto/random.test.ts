import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { systemRandom } from './random.ts';

/** Chi-square of counts that should be equal, as the number of standard deviations from its mean. */
function deviation(counts: readonly number[]): number {
  const total = counts.reduce((sum, count) => sum + count, 0);
  const expected = total / counts.length;
  const chiSquare = counts.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
  const freedom = counts.length - 1;
  return Math.abs(chiSquare - freedom) / Math.sqrt(2 * freedom);
}

/** A fair source exceeds it once in 10^9 runs or less. */
const WIDE = 12;

describe('below', () => {
  it('is uniform', () => {
    const random = systemRandom();
    for (const bound of [2, 10, 52, 62, 256, 1000]) {
      const counts = new Array<number>(bound).fill(0);
      for (let draw = 0; draw < bound * 200; draw++) {
        const value = random.below(bound);
        counts[value] = (counts[value] ?? Number.NaN) + 1;
      }
      assert.equal(counts.length, bound);
      assert.ok(deviation(counts) < WIDE, `${bound}: ${counts}`);
    }
  });

  it('does not favor small values where the bound does not divide 2^32', () => {
    // Without rejection, values below 2^30 would come twice as often as the others.
    const random = systemRandom();
    const bound = 3 * 2 ** 30;
    const counts = [0, 0, 0];
    for (let draw = 0; draw < 30_000; draw++) {
      const third = Math.floor(random.below(bound) / 2 ** 30);
      counts[third] = (counts[third] ?? Number.NaN) + 1;
    }
    assert.ok(deviation(counts) < WIDE, String(counts));
  });

  it('accepts bounds from 1 to 2^32', () => {
    const random = systemRandom();
    const top: number[] = [];
    for (let draw = 0; draw < 3000; draw++) {
      assert.equal(random.below(1), 0);
      const value = random.below(2 ** 32);
      assert.ok(Number.isInteger(value) && value >= 0 && value < 2 ** 32);
      top.push(value);
      assert.ok(random.below(2 ** 31 + 1) <= 2 ** 31);
    }
    assert.ok(Math.max(...top) > 2 ** 32 * 0.98);
    assert.ok(Math.min(...top) < 2 ** 32 * 0.02);
  });
});

describe('bytes', () => {
  it('are uniform', () => {
    const random = systemRandom();
    const counts = new Array<number>(256).fill(0);
    for (let draw = 0; draw < 4000; draw++) {
      for (const byte of random.bytes(16)) counts[byte] = (counts[byte] ?? Number.NaN) + 1;
    }
    assert.ok(deviation(counts) < WIDE, String(counts));
  });

  it('never overlap, whatever the sizes', () => {
    const random = systemRandom();
    const seen = new Set<string>();
    let drawn = 0;
    for (let round = 0; round < 500; round++) {
      for (const size of [16, 12, 32, 8, 33, 4096]) {
        random.below(10);
        const bytes = random.bytes(size);
        assert.equal(bytes.length, size);
        seen.add(Buffer.from(bytes.subarray(0, 8)).toString('hex'));
        seen.add(Buffer.from(bytes.subarray(-8)).toString('hex'));
        drawn += size === 8 ? 1 : 2;
      }
    }
    assert.equal(seen.size, drawn);
  });

  it('have any size', () => {
    const random = systemRandom();
    for (const size of [0, 1, 8191, 8192, 8193, 100_000]) {
      const bytes = random.bytes(size);
      assert.equal(bytes.length, size);
      if (size > 100) assert.ok(new Set(bytes).size > 50);
    }
  });

  it('are owned by the caller', () => {
    const random = systemRandom();
    const first = random.bytes(16);
    assert.equal(first.buffer.byteLength, 16);
    const copy = first.slice();
    for (let draw = 0; draw < 2000; draw++) random.bytes(16).fill(0);
    assert.deepEqual(first, copy);
  });
});
