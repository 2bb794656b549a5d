import { type Clock, SECOND } from '../../kernel/clock.ts';

/** Interval of the readings. */
export const SYNC_INTERVAL_MS = SECOND;
/** A response that took longer is too inaccurate. */
const TOO_SLOW_MS = SECOND / 4;

/**
 * The time of the database, which is the same for all nodes, whatever their system clocks say. The system clock
 * advances it between two readings.
 */
export class DatabaseClock {
  readonly #systemClock: Clock;
  readonly #readTime: () => Promise<number>;
  #offset: number | undefined;

  /** `own`: preferably a monotonic clock. `ask` returns the database's time, in milliseconds. */
  constructor(own: Clock, ask: () => Promise<number>) {
    this.#systemClock = own;
    this.#readTime = ask;
  }

  readonly now: Clock = () => Math.round(this.#systemClock() + (this.#offset ?? 0));

  async sync(): Promise<void> {
    const asked = this.#systemClock();
    const time = await this.#readTime();
    const answered = this.#systemClock();
    const took = answered - asked;
    if (this.#offset !== undefined && (took < 0 || took > TOO_SLOW_MS)) return;
    this.#offset = time - (asked + answered) / 2;
  }
}
