import { randomFillSync } from 'node:crypto';
import type { Random } from '../kernel/clock.ts';

const POOL_BYTES = 8192;
const WORD = 4;

/** The operating system's randomness, drawn in blocks because each call of the operating system takes microseconds. */
export function systemRandom(): Random {
  const pool = Buffer.allocUnsafeSlow(POOL_BYTES);
  let used = POOL_BYTES;

  const take = (size: number): number => {
    if (used + size > POOL_BYTES) {
      randomFillSync(pool);
      used = 0;
    }
    const start = used;
    used += size;
    return start;
  };

  const bytes = (size: number): Uint8Array => {
    if (size > POOL_BYTES) return randomFillSync(new Uint8Array(size));
    const start = take(size);
    const copy = new Uint8Array(size);
    for (let index = 0; index < size; index++) {
      copy[index] = pool[start + index] ?? 0;
      // Returned bytes must not remain in the pool.
      pool[start + index] = 0;
    }
    return copy;
  };

  const word = (): number => {
    const start = take(WORD);
    const value = pool.readUInt32LE(start);
    pool.fill(0, start, start + WORD);
    return value;
  };

  const below = (bound: number): number => {
    // Values beyond the largest multiple of the bound would favor small results.
    const limit = 2 ** 32 - (2 ** 32 % bound);
    let value = word();
    while (value >= limit) value = word();
    return value % bound;
  };

  return { bytes, below };
}
