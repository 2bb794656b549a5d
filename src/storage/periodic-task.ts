import { SECOND } from '../kernel/clock.ts';
import type { TrustedTime } from '../kernel/time-guard.ts';

/** Periodic work that destroys expired records. It waits while time is not trusted. */
export interface Sweep {
  readonly kind: string;
  /**
   * True when anything is due at this time: an operator then confirms the time after a long stop. Absent for records
   * whose loss has no effect, because reads reject them permanently after they expire.
   */
  isDue?(now: number): Promise<boolean>;
  /**
   * Destroys what is due at this trusted time. Returns the number of records; it is called again until there are none.
   */
  run(now: number): Promise<number>;
  /** True when one call destroys all that is due, so that a round calls it once: what it cannot destroy would never end. */
  readonly isExhaustive?: boolean;
}

/** Other work that each round runs. */
export interface PeriodicWork {
  readonly kind: string;
  run(): Promise<void>;
}

export const SWEEP_INTERVAL_MS = 5 * SECOND;

/**
 * Deletes expired records. Nothing depends on the moment: expired records are never served. Any number of nodes may
 * sweep concurrently; a lease saves all but one of them the work.
 */
export class PeriodicTask {
  readonly #every: number;
  readonly #sweeps: readonly Sweep[];
  readonly #work: readonly PeriodicWork[];
  readonly #time: TrustedTime;
  readonly #holdsLease: () => Promise<boolean>;
  readonly #onRemoved: (kind: string, count: number) => void;
  readonly #onError: (kind: string, error: unknown) => void;
  /** Number of consecutive failures of each kind. */
  readonly #failures = new Map<string, number>();
  #cancel: () => void = () => undefined;
  #running: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(options: {
    /** Milliseconds between the end of one round and the next. */
    every: number;
    sweeps: readonly Sweep[];
    /** Runs after the sweeps. */
    work: readonly PeriodicWork[];
    /** Called before each call of a sweep; rounds wait by its timers. */
    time: TrustedTime;
    /** Called before each round; absent: every node runs. */
    holdsLease?: () => Promise<boolean>;
    onRemoved: (kind: string, count: number) => void;
    /** Called at the first of consecutive failures of a kind, and then whenever their number has doubled. */
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
    if (!(await this.#try('lease', this.#holdsLease))) return;
    for (const sweep of this.#sweeps) await this.#try(sweep.kind, () => this.#sweep(sweep));
    for (const { kind, run } of this.#work) await this.#try(kind, run);
  }

  async #sweep(sweep: Sweep): Promise<void> {
    while (!this.#stopped) {
      // Compared each time: the clock may have jumped since the last call.
      const now = this.#time.trustedNow();
      const removed = now === undefined ? 0 : await sweep.run(now);
      if (removed === 0) return;
      this.#onRemoved(sweep.kind, removed);
      if (sweep.isExhaustive === true) return;
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

/**
 * A repeated failure is reported the first time and whenever its number has doubled: a long outage does not flood the
 * log.
 */
export const isPowerOfTwo = (times: number): boolean => Number.isInteger(Math.log2(times));
