/** Runs work that blocks the event loop one piece at a time, with an iteration of the event loop between them. */
export class ScanQueue {
  #last: Promise<void> = Promise.resolve();

  /** Resolves when the caller may start its work, which must be synchronous. */
  next(): Promise<void> {
    const turn = this.#last.then(() => new Promise<void>((resolve) => setImmediate(resolve)));
    this.#last = turn;
    return turn;
  }
}

const SCANS = new ScanQueue();

/**
 * Await this before each large scan. SQLite reads synchronously; scans run one at a time, so that other requests wait
 * for at most one.
 */
export const yieldBeforeScan = (): Promise<void> => SCANS.next();
