import type { Random } from '../../src/kernel/clock.ts';

/** All chance of a simulation, from one seed (mulberry32): small, and the same everywhere. */
export class SeededRandom implements Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed | 0;
  }

  below(bound: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * bound);
  }

  bytes(size: number): Uint8Array {
    return Uint8Array.from({ length: size }, () => this.below(256));
  }

  /** True in so many of a hundred. */
  percent(chance: number): boolean {
    return this.below(100) < chance;
  }

  between(least: number, most: number): number {
    return least + this.below(most - least + 1);
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)] as T;
  }

  /** One of the words, each as often as its weight says. */
  weighed<Word extends string>(weights: Readonly<Record<Word, number>>): Word {
    const choices = Object.keys(weights) as Word[];
    let left = this.below(choices.reduce((sum, choice) => sum + weights[choice], 0));
    return choices.find((choice) => {
      left -= weights[choice];
      return left < 0;
    }) as Word;
  }

  /** Chance of its own that does not depend on how much this one is used. */
  branch(): SeededRandom {
    return new SeededRandom(this.below(2 ** 32));
  }
}
