import { Failure } from '../../src/kernel/failure.ts';

/** How much each person has under way in this process. */
export class UnderWay {
  readonly #most: number;
  readonly #begun = new Map<string, number>();

  constructor(most: number) {
    this.#most = most;
  }

  /** Returns how to end it. Throws `rate_limited`. */
  begin(person: string): () => void {
    const before = this.#begun.get(person) ?? 0;
    if (before >= this.#most) throw new Failure('rate_limited');
    this.#begun.set(person, before + 1);
    return () => {
      const left = (this.#begun.get(person) ?? 1) - 1;
      if (left > 0) this.#begun.set(person, left);
      else this.#begun.delete(person);
    };
  }
}
