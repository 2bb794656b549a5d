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
 * number of nodes may sweep at once.
 */
export class Sweeper {
  readonly #every: number;
  readonly #sweeps: readonly Sweep[];
  readonly #chores: readonly Chore[];
  readonly #removed: (kind: string, count: number) => void;
  readonly #failed: (kind: string, error: unknown) => void;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(options: {
    /** Milliseconds between the end of one round and the next. */
    every: number;
    sweeps: readonly Sweep[];
    /** Done after the sweeps. */
    chores: readonly Chore[];
    removed: (kind: string, count: number) => void;
    failed: (kind: string, error: unknown) => void;
  }) {
    this.#every = options.every;
    this.#sweeps = options.sweeps;
    this.#chores = options.chores;
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
    for (const { kind, run } of this.#sweeps) {
      try {
        for (let removed = await run(); removed > 0 && !this.#stopped; removed = await run())
          this.#removed(kind, removed);
      } catch (error) {
        this.#failed(kind, error);
      }
    }
    for (const { kind, run } of this.#chores) await run().catch((error: unknown) => this.#failed(kind, error));
  }
}
