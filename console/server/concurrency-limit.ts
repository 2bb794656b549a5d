import { Failure } from '../../src/kernel/failure.ts';

/** Counts the concurrent calls of each caller in this process. */
export class ConcurrencyLimit {
  readonly #max: number;
  readonly #running = new Map<string, number>();

  constructor(max: number) {
    this.#max = max;
  }

  /** Returns a function that ends the call. Throws `rate_limited`. */
  acquire(caller: string): () => void {
    const running = this.#running.get(caller) ?? 0;
    if (running >= this.#max) throw new Failure('rate_limited');
    this.#running.set(caller, running + 1);
    return () => {
      const remaining = (this.#running.get(caller) ?? 1) - 1;
      if (remaining > 0) this.#running.set(caller, remaining);
      else this.#running.delete(caller);
    };
  }
}
