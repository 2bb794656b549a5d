import { LIMITS } from '../kernel/limits.ts';
import type { StoredUnit } from './account-numbers.ts';
import { type CommitResult, type ExecutedWrites, StorageError } from './database.ts';

/** The result of a unit in its group: a commit result, or the error in its place. */
export type GroupResult = CommitResult | { readonly error: string };

export const isCommitted = (result: GroupResult): boolean => 'committed' in result && result.committed;

/** Sends units to the database. Resolves with their results, or with nothing when all of them are committed. */
type Send = (units: StoredUnit[]) => Promise<readonly GroupResult[] | undefined>;

const COMMITTED: CommitResult = { committed: true };

interface QueuedUnit {
  readonly unit: StoredUnit;
  readonly resolve: (outcome: CommitResult) => void;
  readonly reject: (error: Error) => void;
}

const ROWS_TO_SEND = 200;

interface GroupLimits {
  /** Groups that are sent concurrently; while the disk writes one, the next is prepared. */
  readonly maxConcurrent: number;
  /**
   * Number of rows at which a group is sent immediately; fewer wait for the end of the current round of I/O events, and for
   * the groups that are being written.
   */
  readonly rowsToSend?: number;
  /** Counts the groups with results. */
  readonly executed?: ExecutionCount;
}

/** Counts what the groups of one driver have executed. */
export class ExecutionCount implements ExecutedWrites {
  groups = 0;
  units = 0;
}

/**
 * Natural group commit: while groups are being written, the next one gathers, and is sent as soon as there is capacity.
 * Under load many requests share one flush; a single request does not wait for others.
 */
export class GroupCommit {
  readonly #send: Send;
  readonly #maxConcurrent: number;
  readonly #rowsToSend: number;
  readonly #executed: ExecutionCount;
  #queue: QueuedUnit[] = [];
  #queuedRows = 0;
  #inFlight = 0;
  #scheduled = false;
  #idle: (() => void)[] = [];

  constructor(send: Send, { maxConcurrent, rowsToSend = ROWS_TO_SEND, executed = new ExecutionCount() }: GroupLimits) {
    this.#send = send;
    this.#executed = executed;
    this.#maxConcurrent = maxConcurrent;
    this.#rowsToSend = rowsToSend;
  }

  get queuedUnits(): number {
    return this.#queue.length;
  }

  commit(unit: StoredUnit): Promise<CommitResult> {
    if (this.#queue.length >= LIMITS.queuedUnits) {
      return Promise.reject(new StorageError('too many writes are waiting'));
    }
    return new Promise((resolve, reject) => {
      this.#queue.push({ unit, resolve, reject });
      this.#queuedRows += countRows(unit);
      if (this.#queuedRows >= this.#rowsToSend && this.#inFlight < this.#maxConcurrent) this.#sendGroup();
      else this.#schedule();
    });
  }

  /** Resolves when everything passed in so far has a result. */
  async drained(): Promise<void> {
    if (this.#inFlight === 0 && this.#queue.length === 0) return;
    await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  // Sends after the current round of I/O events, so that all requests that arrived together form one group.
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
      this.#executed.groups++;
      this.#executed.units += group.length;
      for (const [index, { resolve, reject }] of group.entries()) {
        const result = results === undefined ? COMMITTED : results[index];
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

const countRows = (unit: StoredUnit): number =>
  unit.writes.reduce((sum, { rows }) => sum + rows.length, (unit.journal?.length ?? 0) + (unit.additions?.length ?? 0));
