import { type Clock, MINUTE, SECOND } from '../kernel/clock.ts';
import { LIMITS } from '../kernel/limits.ts';
import type { Database } from '../storage/database.ts';
import type { ChainedRecord } from '../storage/journal.ts';
import { JournalTail, type TailTarget } from './journal-tail.ts';

export type ShippingTarget = Exclude<TailTarget, 'review'>;

/** Receives the audit log. */
export interface Receiver {
  readonly target: ShippingTarget;
  /** Resolves when the receiver has the records. Throws `ReceiverError`. */
  send(records: readonly ChainedRecord[], signal: AbortSignal): Promise<void>;
}

/** Thrown when records were not sent. Its code is for operators and contains nothing that the receiver said. */
export class ReceiverError extends Error {
  override readonly name = 'ReceiverError';
  readonly code: string;
  /** How long the receiver wants no further attempt, in milliseconds. */
  readonly retryAfterMs: number;

  constructor(code: string, retryAfterMs = 0) {
    super(code);
    this.code = code;
    this.retryAfterMs = retryAfterMs;
  }
}

/** Files and limits of TLS to a receiver. They are read for each connection, so that they can be replaced. */
export interface ReceiverTls {
  /** Authorities that the receiver's certificate is checked against, PEM; undefined: those of Node. */
  readonly caFile: string | undefined;
  /** Certificate and key of cardvault, PEM, for a receiver that wants them. */
  readonly certificate: { readonly certificateFile: string; readonly keyFile: string } | undefined;
}

export const RECEIVER_TIMEOUT_MS = 20 * SECOND;
const MIN_RETRY_MS = SECOND;
const MAX_RETRY_MS = 5 * MINUTE;

/**
 * Sends the log to one receiver, each chain in its order and each record at least once: the position is stored after the
 * receiver has the records, so that a crash in between sends them again. One node does it for all; two that do it at the
 * same time send records twice. After a failure it waits twice as long each time, up to 5 minutes.
 */
export class Shipping {
  readonly #database: Database;
  readonly #receiver: Receiver;
  readonly #clock: Clock;
  readonly #holdsLease: () => Promise<boolean>;
  readonly #tail: JournalTail;
  readonly #stopping = new AbortController();
  #failures = 0;
  #retryAt = Number.NEGATIVE_INFINITY;

  constructor(options: {
    database: Database;
    receiver: Receiver;
    clock: Clock;
    /** Called before each batch. */
    holdsLease: () => Promise<boolean>;
  }) {
    this.#database = options.database;
    this.#receiver = options.receiver;
    this.#clock = options.clock;
    this.#holdsLease = options.holdsLease;
    const limits = { records: LIMITS.recordsPerShipment, chains: LIMITS.chainsPerShipment };
    this.#tail = new JournalTail(options.database, options.receiver.target, limits);
  }

  /** Ends the attempt in progress. */
  stop(): void {
    this.#stopping.abort();
  }

  /** Sends all records that the receiver does not have. Throws `ReceiverError`. */
  async run(): Promise<void> {
    const now = this.#clock();
    // A clock that was set back must not stop the attempts.
    if (now < this.#retryAt && this.#retryAt - now <= MAX_RETRY_MS) return;
    const { signal } = this.#stopping;
    while (!signal.aborted && (await this.#holdsLease())) {
      const batch = await this.#tail.next();
      if (batch === undefined) return;
      try {
        if (batch.records.length > 0) await this.#receiver.send(batch.records, signal);
        this.#failures = 0;
        this.#retryAt = Number.NEGATIVE_INFINITY;
      } catch (error) {
        if (signal.aborted) return;
        this.#delay(error);
        throw error;
      }
      // A conflict means that another node has sent them as well.
      if (!(await this.#database.commit({ writes: this.#tail.advance(batch) })).committed) return;
    }
  }

  #delay(error: unknown): void {
    const wanted = error instanceof ReceiverError ? error.retryAfterMs : 0;
    const doubled = MIN_RETRY_MS * 2 ** Math.min(this.#failures, 16);
    this.#failures++;
    this.#retryAt = this.#clock() + Math.min(MAX_RETRY_MS, Math.max(wanted, doubled));
  }
}
