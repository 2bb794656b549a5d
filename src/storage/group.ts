import { LIMITS } from '../kernel/limits.ts';
import { type Outcome, StorageError, type Unit } from './database.ts';

/** What became of a unit in its group: an outcome, or the reason why there is none. */
export type GroupResult = Outcome | { readonly error: string };

interface Waiting {
  readonly unit: Unit;
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Natural group commit: while one group is on its way to the disk the next one gathers, and leaves as soon as the disk
 * is free. Under load many requests share one flush; alone, a request waits for nobody.
 */
export class GroupCommit {
  readonly #send: (units: Unit[]) => Promise<readonly GroupResult[]>;
  #waiting: Waiting[] = [];
  #busy = false;
  #scheduled = false;
  #idle: (() => void)[] = [];

  constructor(send: (units: Unit[]) => Promise<readonly GroupResult[]>) {
    this.#send = send;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  commit(unit: Unit): Promise<Outcome> {
    if (this.#waiting.length >= LIMITS.waitingUnits)
      return Promise.reject(new StorageError('too many writes are waiting'));
    return new Promise((resolve, reject) => {
      this.#waiting.push({ unit, resolve, reject });
      this.#schedule();
    });
  }

  /** Resolves when everything handed in so far has an outcome. */
  async drained(): Promise<void> {
    if (!this.#busy && this.#waiting.length === 0) return;
    await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  // After the current round of I/O events, so that all requests that arrived together leave together.
  #schedule(): void {
    if (this.#busy || this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      void this.#flush();
    });
  }

  async #flush(): Promise<void> {
    const group = this.#takeGroup();
    this.#busy = true;
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
    this.#busy = false;
    if (this.#waiting.length > 0) this.#schedule();
    else for (const resolve of this.#idle.splice(0)) resolve();
  }

  #takeGroup(): Waiting[] {
    let rows = 0;
    let count = 0;
    for (const { unit } of this.#waiting) {
      rows += rowsIn(unit);
      if (count > 0 && rows > LIMITS.rowsPerCommit) break;
      count++;
    }
    if (count === this.#waiting.length) {
      const all = this.#waiting;
      this.#waiting = [];
      return all;
    }
    return this.#waiting.splice(0, count);
  }
}

const rowsIn = (unit: Unit): number =>
  unit.writes.reduce((sum, { rows }) => sum + rows.length, unit.journal?.length ?? 0);
