import { SECOND } from '../kernel/clock.ts';
import type { TrustedTime } from '../kernel/time-guard.ts';

/** Periodic work that destroys records whose time has come. It waits while time is not trusted. */
export interface Sweep {
  readonly kind: string;
  /**
   * Returns whether anything is due at this time: then an operator confirms the time after a long stop. Absent for records
   * whose loss harms no one, because reads refuse them permanently once they have ended.
   */
  isDue?(now: number): Promise<boolean>;
  /** Destroys what is due at this trusted time. Returns how many records; it is called again until there are none. */
  run(now: number): Promise<number>;
}

/** Other work that is due each time round. */
export interface Chore {
  readonly kind: string;
  run(): Promise<void>;
}

export const SWEEP_EVERY_MS = 5 * SECOND;

/**
 * Removes what has had its time. Nothing depends on when: expired records are not served, whatever the sweeper does. Any
 * number of nodes may sweep at once; a turn saves all but one of them the work.
 */
export class Sweeper {
  readonly #every: number;
  readonly #sweeps: readonly Sweep[];
  readonly #chores: readonly Chore[];
  readonly #time: TrustedTime;
  readonly #isOurTurn: () => Promise<boolean>;
  readonly #removed: (kind: string, count: number) => void;
  readonly #failed: (kind: string, error: unknown) => void;
  /** How often in a row each kind has failed. */
  readonly #failures = new Map<string, number>();
  #cancel: () => void = () => undefined;
  #running: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(options: {
    /** Milliseconds between the end of one round and the next. */
    every: number;
    sweeps: readonly Sweep[];
    /** Done after the sweeps. */
    chores: readonly Chore[];
    /** Asked before each call of a sweep; rounds wait by its timers. */
    time: TrustedTime;
    /** Asked before each round; absent: always. */
    isOurTurn?: () => Promise<boolean>;
    removed: (kind: string, count: number) => void;
    /** Told at the first failure of a kind in a row, and then ever less often. */
    failed: (kind: string, error: unknown) => void;
  }) {
    this.#every = options.every;
    this.#sweeps = options.sweeps;
    this.#chores = options.chores;
    this.#time = options.time;
    this.#isOurTurn = options.isOurTurn ?? (() => Promise.resolve(true));
    this.#removed = options.removed;
    this.#failed = options.failed;
  }

  start(): void {
    this.#cancel = this.#time.after(this.#every, () => {
      this.#running = this.sweep().finally(() => {
        if (!this.#stopped) this.start();
      });
    });
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancel();
    await this.#running;
  }

  async sweep(): Promise<void> {
    if (!(await this.#try('turn', this.#isOurTurn))) return;
    for (const sweep of this.#sweeps) await this.#try(sweep.kind, () => this.#run(sweep));
    for (const { kind, run } of this.#chores) await this.#try(kind, run);
  }

  async #run(sweep: Sweep): Promise<void> {
    while (!this.#stopped) {
      // Compared each time: the clock may have jumped since the last call.
      const now = this.#time.trustedNow();
      const removed = now === undefined ? 0 : await sweep.run(now);
      if (removed === 0) return;
      this.#removed(sweep.kind, removed);
    }
  }

  async #try<T>(kind: string, run: () => Promise<T>): Promise<T | undefined> {
    try {
      const done = await run();
      this.#failures.delete(kind);
      return done;
    } catch (error) {
      const failures = (this.#failures.get(kind) ?? 0) + 1;
      this.#failures.set(kind, failures);
      if (isWorthTelling(failures)) this.#failed(kind, error);
      return undefined;
    }
  }
}

/** What goes on failing is told the first time and whenever the number of times has doubled: a long outage fills no log. */
export const isWorthTelling = (times: number): boolean => Number.isInteger(Math.log2(times));
