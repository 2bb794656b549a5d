import { randomFillSync } from 'node:crypto';
import type { Random } from '../kernel/clock.ts';

const POOL_BYTES = 8192;
const WORD = 4;

/** The operating system's randomness, drawn in blocks because each call of the operating system takes microseconds. */
class SystemRandom implements Random {
  readonly #pool = Buffer.allocUnsafeSlow(POOL_BYTES);
  #used = POOL_BYTES;

  bytes(size: number): Uint8Array {
    if (size > POOL_BYTES) return randomFillSync(new Uint8Array(size));
    const start = this.#take(size);
    const copy = new Uint8Array(size);
    for (let index = 0; index < size; index++) {
      copy[index] = this.#pool[start + index] ?? 0;
      // Returned bytes must not remain in the pool.
      this.#pool[start + index] = 0;
    }
    return copy;
  }

  below(bound: number): number {
    // Values beyond the largest multiple of the bound would favor small results.
    const limit = 2 ** 32 - (2 ** 32 % bound);
    let value = this.#word();
    while (value >= limit) value = this.#word();
    return value % bound;
  }

  #word(): number {
    const start = this.#take(WORD);
    const pool = this.#pool;
    const value = pool.readUInt32LE(start);
    for (let index = start; index < start + WORD; index++) pool[index] = 0;
    return value;
  }

  #take(size: number): number {
    if (this.#used + size > POOL_BYTES) {
      randomFillSync(this.#pool);
      this.#used = 0;
    }
    const start = this.#used;
    this.#used += size;
    return start;
  }
}

export const systemRandom = (): Random => new SystemRandom();
