import { Failure } from '../../src/kernel/failure.ts';

interface Waiting {
  start(): void;
  reject(error: Failure): void;
}

/**
 * Runs expensive tasks, a few at a time, in turn among the sources they come from. One source with many tasks delays its own
 * tasks, and those of another source by one task for each turn.
 */
export class FairQueue {
  readonly #concurrent: number;
  readonly #perSource: number;
  readonly #total: number;
  /** By source, the one whose turn is next first. */
  readonly #waiting = new Map<string, Waiting[]>();
  #running = 0;
  #count = 0;

  constructor(options: {
    /** Tasks that run at the same time. */
    readonly concurrent: number;
    /** Tasks that wait, of one source and of all. */
    readonly perSource: number;
    readonly total: number;
  }) {
    this.#concurrent = options.concurrent;
    this.#perSource = options.perSource;
    this.#total = options.total;
  }

  /** Throws `unavailable` when too many tasks wait. */
  async run<T>(source: string, task: () => Promise<T>): Promise<T> {
    if (this.#running < this.#concurrent) this.#running++;
    else await this.#wait(source);
    try {
      return await task();
    } finally {
      this.#startNext();
    }
  }

  #wait(source: string): Promise<void> {
    const queue = this.#waiting.get(source) ?? [];
    if (queue.length >= this.#perSource || (this.#count >= this.#total && !this.#makeRoom(queue.length)))
      throw new Failure('unavailable');
    this.#count++;
    return new Promise((start, reject) => {
      queue.push({ start, reject });
      this.#waiting.set(source, queue);
    });
  }

  /**
   * Drops the newest task of the source with the most tasks. Drops nothing when the source of the new task, which has
   * `queued` now, would then have more.
   */
  #makeRoom(queued: number): boolean {
    const [source, longest] = [...this.#waiting].reduce((one, other) =>
      other[1].length > one[1].length ? other : one,
    );
    if (longest.length <= queued + 1) return false;
    longest.pop()?.reject(new Failure('unavailable'));
    if (longest.length === 0) this.#waiting.delete(source);
    this.#count--;
    return true;
  }

  /** The next task starts when one ends. */
  #startNext(): void {
    const [first] = this.#waiting;
    if (first === undefined) {
      this.#running--;
      return;
    }
    const [source, tasks] = first;
    this.#waiting.delete(source);
    const next = tasks.shift();
    if (tasks.length > 0) this.#waiting.set(source, tasks);
    this.#count--;
    next?.start();
  }
}
