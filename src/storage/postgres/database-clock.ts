import { type Clock, SECOND } from '../../kernel/clock.ts';

/** How often the time is asked for. */
export const SYNC_INTERVAL_MS = SECOND;
/** An answer that took longer says too little about now. */
const TOO_SLOW_MS = SECOND / 4;

/**
 * The time of the database, which is the same for all nodes, whatever their own clocks say. A clock of this node carries
 * it on from one look to the next.
 */
export class DatabaseClock {
  readonly #systemClock: Clock;
  readonly #readTime: () => Promise<number>;
  #offset: number | undefined;

  /** `own`: best one that never jumps. `ask`: the database's time, in milliseconds. */
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
