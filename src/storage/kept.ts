import { type Clock, SECOND } from '../kernel/clock.ts';

const LEAST_MS = 10 * SECOND;
/** What takes long is kept so many times as long, so that reading it takes a hundredth of the time at most. */
const TIMES_AS_LONG = 100;
const MOST = 1000;

/** What was counted, for ten seconds or, when counting takes long, longer. Errors are not kept. */
export class Kept<T> {
  readonly #clock: Clock;
  readonly #known = new Map<string, { readonly begun: number; until: number; readonly found: Promise<T> }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get(name: string, read: () => Promise<T>): Promise<T> {
    const begun = this.#clock();
    const known = this.#known.get(name);
    if (known !== undefined && begun >= known.begun && begun < known.until) return known.found;
    const entry = { begun, until: begun + LEAST_MS, found: read() };
    if (this.#known.size >= MOST) this.#known.clear();
    this.#known.set(name, entry);
    entry.found.then(
      () => {
        const now = this.#clock();
        entry.until = now + Math.max(LEAST_MS, (now - begun) * TIMES_AS_LONG);
      },
      () => {
        if (this.#known.get(name) === entry) this.#known.delete(name);
      },
    );
    return entry.found;
  }
}
