import { LIMITS } from '../kernel/limits.ts';
import { type CommitResult, StorageError, type UnitOfWork } from './database.ts';

/** What became of a unit in its group: an outcome, or the reason why there is none. */
export type GroupResult = CommitResult | { readonly error: string };

interface QueuedUnit {
  readonly unit: UnitOfWork;
  readonly resolve: (outcome: CommitResult) => void;
  readonly reject: (error: Error) => void;
}

/** Rows that are worth leaving for at once; fewer wait for the end of the current round of I/O events. */
const MIN_ROWS_TO_SEND = 200;

/**
 * Natural group commit: while groups are on their way to the disk the next one gathers, and leaves as soon as there is
 * room. Under load many requests share one flush; alone, a request waits for nobody.
 */
export class GroupCommit {
  readonly #send: (units: UnitOfWork[]) => Promise<readonly GroupResult[]>;
  readonly #maxConcurrent: number;
  #queue: QueuedUnit[] = [];
  #queuedRows = 0;
  #inFlight = 0;
  #scheduled = false;
  #idle: (() => void)[] = [];

  /** `maxConcurrent`: groups on their way at once; while the disk takes one, the next is prepared behind it. */
  constructor(send: (units: UnitOfWork[]) => Promise<readonly GroupResult[]>, maxConcurrent: number) {
    this.#send = send;
    this.#maxConcurrent = maxConcurrent;
  }

  get queuedUnits(): number {
    return this.#queue.length;
  }

  commit(unit: UnitOfWork): Promise<CommitResult> {
    if (this.#queue.length >= LIMITS.queuedUnits) {
      return Promise.reject(new StorageError('too many writes are waiting'));
    }
    return new Promise((resolve, reject) => {
      this.#queue.push({ unit, resolve, reject });
      this.#queuedRows += countRows(unit);
      if (this.#queuedRows >= MIN_ROWS_TO_SEND && this.#inFlight < this.#maxConcurrent) this.#sendGroup();
      else this.#schedule();
    });
  }

  /** Resolves when everything handed in so far has an outcome. */
  async drained(): Promise<void> {
    if (this.#inFlight === 0 && this.#queue.length === 0) return;
    await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  // After the current round of I/O events, so that all requests that arrived together leave together.
  #schedule(): void {
    if (this.#scheduled || this.#inFlight > 0) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      if (this.#queue.length > 0 && this.#inFlight < this.#maxConcurrent) this.#sendGroup();
    });
  }

  #sendGroup(): void {
    this.#inFlight++;
    this.#flush(this.#takeGroup()).finally(() => {
      this.#inFlight--;
      if (this.#queue.length > 0) this.#schedule();
      else if (this.#inFlight === 0) for (const resolve of this.#idle.splice(0)) resolve();
    });
  }

  async #flush(group: readonly QueuedUnit[]): Promise<void> {
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

  #takeGroup(): QueuedUnit[] {
    let rows = 0;
    let count = 0;
    for (const { unit } of this.#queue) {
      const more = countRows(unit);
      if (count > 0 && rows + more > LIMITS.rowsPerCommit) break;
      rows += more;
      count++;
    }
    this.#queuedRows -= rows;
    if (count < this.#queue.length) return this.#queue.splice(0, count);
    const all = this.#queue;
    this.#queue = [];
    return all;
  }
}

const countRows = (unit: UnitOfWork): number =>
  unit.writes.reduce((sum, { rows }) => sum + rows.length, unit.journal?.length ?? 0);
