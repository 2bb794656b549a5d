import { type Clock, MINUTE } from '../../src/kernel/clock.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { commitOrThrow, type Database, type JournalEntry } from '../../src/storage/database.ts';

/** After a record, the same event is counted for this long. */
const THROTTLE_MS = 5 * MINUTE;

/** The records of one occurrence, or of the number of occurrences since the last record. */
type BuildEntries = (times?: number) => readonly JournalEntry[];

interface ThrottledEvent {
  /** Time of the last record. */
  at: number;
  /** Occurrences since the last record. */
  times: number;
  /** Builds the entries of the latest occurrence. */
  entries: BuildEntries;
}

/**
 * Throttles records of repeated events, such as denials, so that they cannot flood the audit log. The first one is recorded
 * immediately; those of the following minutes are counted and recorded as a number. Each process counts for itself, and a
 * killed one loses the counts of the last minutes.
 */
export class AuditThrottle {
  readonly #database: Database;
  readonly #clock: Clock;
  /** By the texts that identify the event. */
  readonly #throttled = new Map<string, ThrottledEvent>();

  constructor(options: { database: Database; clock: Clock }) {
    this.#database = options.database;
    this.#clock = options.clock;
  }

  /** `what` identifies the event by actor, action and source. */
  async record(what: readonly string[], entries: BuildEntries): Promise<void> {
    const name = JSON.stringify(what);
    const known = this.#throttled.get(name);
    if (known !== undefined && this.#isThrottled(known)) {
      known.times++;
      known.entries = entries;
      return;
    }
    const before = known === undefined || known.times === 0 ? [] : known.entries(known.times);
    const counted: ThrottledEvent = { at: this.#clock(), times: 0, entries };
    // Set before it is written, so that of many concurrent occurrences one is recorded.
    if (known !== undefined || this.#throttled.size < LIMITS.throttledAuditEvents) this.#throttled.set(name, counted);
    try {
      await commitOrThrow(this.#database, { writes: [], journal: [...before, ...entries()] });
    } catch (error) {
      restoreCount(counted, (known?.times ?? 0) + 1);
      throw error;
    }
  }

  /** Records due counts; with `all` every count, before the process ends. */
  async flush({ all = false } = {}): Promise<void> {
    const due: [ThrottledEvent, number][] = [];
    for (const [name, counted] of this.#throttled) {
      if (!all && this.#isThrottled(counted)) continue;
      if (counted.times === 0) this.#throttled.delete(name);
      else due.push([counted, counted.times]);
    }
    if (due.length === 0) return;
    const journal = due.flatMap(([{ entries, times }]) => entries(times));
    for (const [counted, times] of due) Object.assign(counted, { at: this.#clock(), times: counted.times - times });
    try {
      await commitOrThrow(this.#database, { writes: [], journal });
    } catch (error) {
      for (const [counted, times] of due) restoreCount(counted, times);
      throw error;
    }
  }

  #isThrottled({ at }: ThrottledEvent): boolean {
    const passed = this.#clock() - at;
    // A clock that was ahead and returned must not stop the records.
    return passed >= 0 && passed < THROTTLE_MS;
  }
}

/** A count that could not be written is due immediately. */
function restoreCount(counted: ThrottledEvent, times: number): void {
  counted.at = Number.NEGATIVE_INFINITY;
  counted.times += times;
}
