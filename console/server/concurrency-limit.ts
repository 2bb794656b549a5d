import { Failure } from '../../src/kernel/failure.ts';

/** Counts the concurrent calls of each user in this process. */
export class ConcurrencyLimit {
  readonly #max: number;
  readonly #running = new Map<string, number>();

  constructor(max: number) {
    this.#max = max;
  }

  /** Returns a function that ends the call. Throws `rate_limited`. */
  acquire(person: string): () => void {
    const running = this.#running.get(person) ?? 0;
    if (running >= this.#max) throw new Failure('rate_limited');
    this.#running.set(person, running + 1);
    return () => {
      const remaining = (this.#running.get(person) ?? 1) - 1;
      if (remaining > 0) this.#running.set(person, remaining);
      else this.#running.delete(person);
    };
  }
}
