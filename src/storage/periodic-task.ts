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
export interface PeriodicWork {
  readonly kind: string;
  run(): Promise<void>;
}

export const SWEEP_INTERVAL_MS = 5 * SECOND;

/**
 * Removes what has had its time. Nothing depends on when: expired records are not served, whatever the sweeper does. Any
 * number of nodes may sweep at once; a turn saves all but one of them the work.
 */
export class PeriodicTask {
  readonly #every: number;
  readonly #sweeps: readonly Sweep[];
  readonly #work: readonly PeriodicWork[];
  readonly #time: TrustedTime;
  readonly #holdsLease: () => Promise<boolean>;
  readonly #onRemoved: (kind: string, count: number) => void;
  readonly #onError: (kind: string, error: unknown) => void;
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
    work: readonly PeriodicWork[];
    /** Asked before each call of a sweep; rounds wait by its timers. */
    time: TrustedTime;
    /** Asked before each round; absent: always. */
    holdsLease?: () => Promise<boolean>;
    onRemoved: (kind: string, count: number) => void;
    /** Told at the first failure of a kind in a row, and then ever less often. */
    onError: (kind: string, error: unknown) => void;
  }) {
    this.#every = options.every;
    this.#sweeps = options.sweeps;
    this.#work = options.work;
    this.#time = options.time;
    this.#holdsLease = options.holdsLease ?? (() => Promise.resolve(true));
    this.#onRemoved = options.onRemoved;
    this.#onError = options.onError;
  }

  start(): void {
    this.#cancel = this.#time.after(this.#every, () => {
      this.#running = this.runOnce().finally(() => {
        if (!this.#stopped) this.start();
      });
    });
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancel();
    await this.#running;
  }

  async runOnce(): Promise<void> {
    if (!(await this.#try('turn', this.#holdsLease))) return;
    for (const runOnce of this.#sweeps) await this.#try(runOnce.kind, () => this.#run(runOnce));
    for (const { kind, run } of this.#work) await this.#try(kind, run);
  }

  async #run(runOnce: Sweep): Promise<void> {
    while (!this.#stopped) {
      // Compared each time: the clock may have jumped since the last call.
      const now = this.#time.trustedNow();
      const onRemoved = now === undefined ? 0 : await runOnce.run(now);
      if (onRemoved === 0) return;
      this.#onRemoved(runOnce.kind, onRemoved);
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
      if (isPowerOfTwo(failures)) this.#onError(kind, error);
      return undefined;
    }
  }
}

/** What goes on failing is told the first time and whenever the number of times has doubled: a long outage fills no log. */
export const isPowerOfTwo = (times: number): boolean => Number.isInteger(Math.log2(times));
