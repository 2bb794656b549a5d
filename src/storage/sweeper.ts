import { SECOND } from '../kernel/clock.ts';

/** Work that comes round by itself. `run` returns how many records it removed; it is called again until none are left. */
export interface Sweep {
  readonly kind: string;
  run(): Promise<number>;
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
  readonly #isOurTurn: () => Promise<boolean>;
  readonly #removed: (kind: string, count: number) => void;
  readonly #failed: (kind: string, error: unknown) => void;
  /** How often in a row each kind has failed. */
  readonly #failures = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(options: {
    /** Milliseconds between the end of one round and the next. */
    every: number;
    sweeps: readonly Sweep[];
    /** Done after the sweeps. */
    chores: readonly Chore[];
    /** Asked before each round; absent: always. */
    isOurTurn?: () => Promise<boolean>;
    removed: (kind: string, count: number) => void;
    /** Told at the first failure of a kind in a row, and then ever less often. */
    failed: (kind: string, error: unknown) => void;
  }) {
    this.#every = options.every;
    this.#sweeps = options.sweeps;
    this.#chores = options.chores;
    this.#isOurTurn = options.isOurTurn ?? (() => Promise.resolve(true));
    this.#removed = options.removed;
    this.#failed = options.failed;
  }

  start(): void {
    this.#timer = setTimeout(() => {
      this.#running = this.sweep().finally(() => {
        if (!this.#stopped) this.start();
      });
    }, this.#every);
    this.#timer.unref();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  async sweep(): Promise<void> {
    if (!(await this.#try('turn', this.#isOurTurn))) return;
    for (const { kind, run } of this.#sweeps) {
      await this.#try(kind, async () => {
        for (let removed = await run(); removed > 0 && !this.#stopped; removed = await run())
          this.#removed(kind, removed);
      });
    }
    for (const { kind, run } of this.#chores) await this.#try(kind, run);
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
