import { DAY } from '../kernel/clock.ts';
import { LIMITS } from '../kernel/limits.ts';
import type { Database } from '../storage/database.ts';
import { yieldBeforeScan } from '../storage/pagination.ts';
import {
  countRowsOfOwners,
  deleteOldestRows,
  deleteOldestRowsOf,
  findPositionBehind,
  type LogOwner,
  NEWEST,
} from './request-log-store.ts';

/** Rows that one statement counts or deletes. */
const ROWS_COUNTED = 10_000;
const ROWS_DELETED = 200;
/** With too many rows, one in this number is deleted beyond them, so that not each row that is written leads to a deletion. */
const SLACK = 50;

interface OwnerRows {
  readonly owner: LogOwner;
  rows: number;
}

/**
 * Returns the rows that each owner may keep so that all of them have at most `total`: equal shares, and what owners with fewer
 * rows leave of theirs is shared among the others. So a flood of one owner displaces its own rows first.
 */
export function fairShare(counts: readonly number[], total: number): number {
  let [left, owners] = [total, counts.length];
  for (const count of counts.toSorted((one, other) => one - other)) {
    if (count * owners > left) return Math.floor(left / owners);
    left -= count;
    owners--;
  }
  return Number.POSITIVE_INFINITY;
}

/**
 * Deletes rows that are too old, and when there are too many the oldest ones of the owners with the most rows. An owner is one
 * environment of an account. One node does it for all.
 */
export class RequestLogPruning {
  readonly #database: Database;
  readonly #rows: number;
  /** Where the counting continues, from the newest row on. */
  #position = NEWEST;
  /** The rows counted so far, by owner. */
  #counted = new Map<string, OwnerRows>();
  /** The rows to delete, by owner; empty until all rows are counted, and when all of these are deleted. */
  #surplus: OwnerRows[] = [];

  /** `rows`: the number of rows to keep. */
  constructor(options: { database: Database; rows: number }) {
    this.#database = options.database;
    this.#rows = options.rows;
  }

  /** Does a bounded part of the work, and the next call continues. Returns the number of deleted rows. */
  async prune(now: number): Promise<number> {
    let deleted = await this.#deleteOld(now - LIMITS.requestLogDaysKept * DAY);
    if (this.#surplus.length === 0) this.#surplus = await this.#findSurplus();
    while (deleted < LIMITS.requestLogRowsDeletedPerRound) {
      const [largest] = this.#surplus;
      if (largest === undefined) break;
      const found = await deleteOldestRowsOf(this.#database, largest.owner, Math.min(ROWS_DELETED, largest.rows));
      deleted += found;
      largest.rows -= found;
      // None: some of them were deleted in the meantime, so the next counting decides.
      if (largest.rows === 0 || found === 0) this.#surplus.shift();
    }
    return deleted;
  }

  async #deleteOld(upTo: number): Promise<number> {
    let deleted = 0;
    while (deleted < LIMITS.requestLogRowsDeletedPerRound) {
      const found = await deleteOldestRows(this.#database, upTo, ROWS_DELETED);
      deleted += found;
      if (found < ROWS_DELETED) break;
    }
    return deleted;
  }

  /** Counts further rows. Returns nothing until all rows are counted, and when there are not too many. */
  async #findSurplus(): Promise<OwnerRows[]> {
    for (let read = 0; read < LIMITS.requestLogRowsCountedPerRound; read += ROWS_COUNTED) {
      await yieldBeforeScan();
      for (const { owner, rows } of await countRowsOfOwners(this.#database, this.#position, ROWS_COUNTED)) {
        const name = `${owner.account} ${owner.environment}`;
        this.#counted.set(name, { owner, rows: rows + (this.#counted.get(name)?.rows ?? 0) });
      }
      const position = await findPositionBehind(this.#database, this.#position, ROWS_COUNTED);
      if (position === undefined) return this.#endCounting();
      this.#position = position;
    }
    return [];
  }

  #endCounting(): OwnerRows[] {
    const owners = [...this.#counted.values()];
    this.#position = NEWEST;
    this.#counted = new Map();
    const counts = owners.map(({ rows }) => rows);
    if (counts.reduce((sum, rows) => sum + rows, 0) <= this.#rows) return [];
    const share = fairShare(counts, this.#rows - Math.floor(this.#rows / SLACK));
    const surplus = owners.map(({ owner, rows }) => ({ owner, rows: rows - share })).filter(({ rows }) => rows > 0);
    return surplus.sort((one, other) => other.rows - one.rows);
  }
}
