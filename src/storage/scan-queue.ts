/** Work that holds up everything else for a while, done one at a time with a turn of the event loop between. */
export class ScanQueue {
  #last: Promise<void> = Promise.resolve();

  /** Resolves when it is the caller's turn to do its work, at once and without waiting for anything. */
  next(): Promise<void> {
    const turn = this.#last.then(() => new Promise<void>((resolve) => setImmediate(resolve)));
    this.#last = turn;
    return turn;
  }
}

const SCANS = new ScanQueue();

/**
 * To be waited for before each look at many rows: a log or a list can be long, and SQLite reads it without a pause. All that
 * look take turns, however many there are, so that other requests never wait for more than one look.
 */
export const yieldBeforeScan = (): Promise<void> => SCANS.next();
