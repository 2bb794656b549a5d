import { type Clock, SECOND } from '../../kernel/clock.ts';

/** How often the time is asked for. */
export const LOOK_EVERY_MS = SECOND;
/** An answer that took longer says too little about now. */
const TOO_SLOW_MS = SECOND / 4;

/**
 * The time of the database, which is the same for all nodes, whatever their own clocks say. A clock of this node carries
 * it on from one look to the next.
 */
export class DatabaseClock {
  readonly #own: Clock;
  readonly #ask: () => Promise<number>;
  #ahead: number | undefined;

  /** `own`: best one that never jumps. `ask`: the database's time, in milliseconds. */
  constructor(own: Clock, ask: () => Promise<number>) {
    this.#own = own;
    this.#ask = ask;
  }

  readonly now: Clock = () => Math.round(this.#own() + (this.#ahead ?? 0));

  async look(): Promise<void> {
    const asked = this.#own();
    const time = await this.#ask();
    const answered = this.#own();
    const took = answered - asked;
    if (this.#ahead !== undefined && (took < 0 || took > TOO_SLOW_MS)) return;
    this.#ahead = time - (asked + answered) / 2;
  }
}
