import type { AuditEvent, Origin } from '../../src/audit/audit.ts';
import type { Transaction, Transactions } from '../../src/idempotency/transaction.ts';
import { type Clock, MINUTE } from '../../src/kernel/clock.ts';
import { LIMITS } from '../../src/kernel/limits.ts';

/** After a record, the same event is counted for this long. */
const THROTTLE_MS = 5 * MINUTE;

/** Returns the events of one occurrence, or with a number those of so many since the record before. */
type BuildEvents = (times?: number) => readonly AuditEvent[];

/** The latest occurrence of an event. */
interface Occurrence {
  readonly origin: Origin;
  readonly buildEvents: BuildEvents;
}

interface ThrottledEvent {
  /** Time of the last record. */
  at: number;
  /** Occurrences since the last record. */
  times: number;
  latest: Occurrence;
}

/**
 * Throttles records of repeated events, such as denials, so that they cannot flood the audit log. The first one is recorded
 * immediately; those of the following minutes are counted and recorded as a number. Each process counts for itself, and a
 * killed one loses the counts of the last minutes.
 */
export class AuditThrottle {
  readonly #transactions: Transactions;
  readonly #clock: Clock;
  /** By the texts that identify the event. */
  readonly #throttled = new Map<string, ThrottledEvent>();

  constructor(options: { transactions: Transactions; clock: Clock }) {
    this.#transactions = options.transactions;
    this.#clock = options.clock;
  }

  /** `identity`: texts that are equal for equal events: actor, action, address. */
  async record(identity: readonly string[], origin: Origin, buildEvents: BuildEvents): Promise<void> {
    const name = JSON.stringify(identity);
    const latest: Occurrence = { origin, buildEvents };
    const known = this.#throttled.get(name);
    if (known !== undefined && this.#isThrottled(known)) {
      known.times++;
      known.latest = latest;
      return;
    }
    const counted: ThrottledEvent = { at: this.#clock(), times: 0, latest };
    // Before the commit, so that one of several concurrent occurrences is recorded.
    if (known !== undefined || this.#throttled.size < LIMITS.throttledAuditEvents) this.#throttled.set(name, counted);
    try {
      await this.#transactions.run({ origin }, async (transaction) => {
        if (known !== undefined && known.times > 0) recordOccurrence(transaction, known.latest, known.times);
        recordOccurrence(transaction, latest);
      });
    } catch (error) {
      restoreCount(counted, (known?.times ?? 0) + 1);
      throw error;
    }
  }

  /** Records the counts that are due; with `all` every count, before the process ends. */
  async flush({ all = false } = {}): Promise<void> {
    const due: [ThrottledEvent, number][] = [];
    for (const [name, counted] of this.#throttled) {
      if (!all && this.#isThrottled(counted)) continue;
      if (counted.times === 0) this.#throttled.delete(name);
      else due.push([counted, counted.times]);
    }
    if (due.length === 0) return;
    const counts = due.map(([{ latest }, times]) => [latest, times] as const);
    for (const [counted, times] of due) Object.assign(counted, { at: this.#clock(), times: counted.times - times });
    try {
      await this.#transactions.run({ origin: { actor: { type: 'service' } } }, async (transaction) => {
        for (const [latest, times] of counts) recordOccurrence(transaction, latest, times);
      });
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

function recordOccurrence(transaction: Transaction, { origin, buildEvents }: Occurrence, times?: number): void {
  for (const event of buildEvents(times)) transaction.record(event, origin);
}

/** A count that could not be written is due immediately. */
function restoreCount(counted: ThrottledEvent, times: number): void {
  counted.at = Number.NEGATIVE_INFINITY;
  counted.times += times;
}
