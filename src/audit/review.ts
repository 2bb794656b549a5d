import { type Clock, MINUTE } from '../kernel/clock.ts';
import { LIMITS } from '../kernel/limits.ts';
import type { Database } from '../storage/database.ts';
import { JournalTail } from './journal-tail.ts';
import { reviewRecord } from './review-rules.ts';
import { addEvents, deleteOldFindings, FINDING_MS } from './review-store.ts';

const REVIEW_EVERY_MS = MINUTE;
/** Batches of one round: the first review of a long log takes many rounds. */
const BATCHES_PER_ROUND = 50;

/**
 * Applies the rules of the daily review to each record of the log once, with the position in the same commit. One node
 * does it for all; of two that do it at the same time, one conflicts.
 */
export class LogReview {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #tail: JournalTail;
  #startedAt = Number.NEGATIVE_INFINITY;

  constructor({ database, clock }: { database: Database; clock: Clock }) {
    this.#database = database;
    this.#clock = clock;
    const limits = { records: LIMITS.recordsPerShipment, chains: LIMITS.chainsPerShipment };
    this.#tail = new JournalTail(database, 'review', limits);
  }

  /** Reviews the records that are new, once a minute. */
  async run(): Promise<void> {
    const started = this.#clock();
    // A clock that was set back must not stop the review.
    if (started >= this.#startedAt && started - this.#startedAt < REVIEW_EVERY_MS) return;
    this.#startedAt = started;
    for (let batches = 0; batches < BATCHES_PER_ROUND; batches++) {
      const now = this.#clock();
      const batch = await this.#tail.next();
      const old = await deleteOldFindings(this.#database, now);
      if (batch === undefined) {
        if (old.length > 0) await this.#database.commit({ writes: old });
        return;
      }
      const events = batch.records.filter(({ at }) => at > now - FINDING_MS).flatMap(reviewRecord);
      const writes = [...this.#tail.advance(batch), ...addEvents(events), ...old];
      if (!(await this.#database.commit({ writes })).committed) return;
    }
  }
}
