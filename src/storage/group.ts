import { LIMITS } from '../kernel/limits.ts';
import { type Outcome, StorageError, type Unit } from './database.ts';

/** What became of a unit in its group: an outcome, or the reason why there is none. */
export type GroupResult = Outcome | { readonly error: string };

interface Waiting {
  readonly unit: Unit;
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (error: Error) => void;
}

/** Rows that are worth leaving for at once; fewer wait for the end of the current round of I/O events. */
const WORTH_LEAVING = 200;

/**
 * Natural group commit: while groups are on their way to the disk the next one gathers, and leaves as soon as there is
 * room. Under load many requests share one flush; alone, a request waits for nobody.
 */
export class GroupCommit {
  readonly #send: (units: Unit[]) => Promise<readonly GroupResult[]>;
  readonly #mostOnTheWay: number;
  #waiting: Waiting[] = [];
  #waitingRows = 0;
  #onTheWay = 0;
  #scheduled = false;
  #idle: (() => void)[] = [];

  /** `mostOnTheWay`: groups on their way at once; while the disk takes one, the next is prepared behind it. */
  constructor(send: (units: Unit[]) => Promise<readonly GroupResult[]>, mostOnTheWay: number) {
    this.#send = send;
    this.#mostOnTheWay = mostOnTheWay;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  commit(unit: Unit): Promise<Outcome> {
    if (this.#waiting.length >= LIMITS.queuedUnits) {
      return Promise.reject(new StorageError('too many writes are waiting'));
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ unit, resolve, reject });
      this.#waitingRows += rowsIn(unit);
      if (this.#waitingRows >= WORTH_LEAVING && this.#onTheWay < this.#mostOnTheWay) this.#leave();
      else this.#schedule();
    });
  }

  /** Resolves when everything handed in so far has an outcome. */
  async drained(): Promise<void> {
    if (this.#onTheWay === 0 && this.#waiting.length === 0) return;
    await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  // After the current round of I/O events, so that all requests that arrived together leave together.
  #schedule(): void {
    if (this.#scheduled || this.#onTheWay > 0) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      if (this.#waiting.length > 0 && this.#onTheWay < this.#mostOnTheWay) this.#leave();
    });
  }

  #leave(): void {
    this.#onTheWay++;
    this.#flush(this.#takeGroup()).finally(() => {
      this.#onTheWay--;
      if (this.#waiting.length > 0) this.#schedule();
      else if (this.#onTheWay === 0) for (const resolve of this.#idle.splice(0)) resolve();
    });
  }

  async #flush(group: readonly Waiting[]): Promise<void> {
    try {
      const results = await this.#send(group.map(({ unit }) => unit));
      for (const [index, { resolve, reject }] of group.entries()) {
        const result = results[index];
        if (result !== undefined && 'committed' in result) resolve(result);
        else reject(new StorageError(result?.error ?? 'a write has no result'));
      }
    } catch (cause) {
      for (const { reject } of group) reject(cause as Error);
    }
  }

  #takeGroup(): Waiting[] {
    let rows = 0;
    let count = 0;
    for (const { unit } of this.#waiting) {
      const more = rowsIn(unit);
      if (count > 0 && rows + more > LIMITS.rowsPerCommit) break;
      rows += more;
      count++;
    }
    this.#waitingRows -= rows;
    if (count < this.#waiting.length) return this.#waiting.splice(0, count);
    const all = this.#waiting;
    this.#waiting = [];
    return all;
  }
}

const rowsIn = (unit: Unit): number =>
  unit.writes.reduce((sum, { rows }) => sum + rows.length, unit.journal?.length ?? 0);
