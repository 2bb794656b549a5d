import { once } from 'node:events';
import { closeSync, fstatSync, ftruncateSync, openSync, statSync } from 'node:fs';
import { setImmediate as turn, setTimeout as wait } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { MonotonicClock } from '../../kernel/clock.ts';
import type { Copied } from './checkpoint-thread.ts';
import { BUSY_TIMEOUT_MS, type Connection } from './connection.ts';
import { endOfLog, isDiskFault, type Log, readLog, uncopied } from './log-length.ts';

export interface CheckpointOptions {
  /** Pages of log that are not copied yet, at which a copy begins: few, because commits wait while the disk flushes them. */
  readonly step: number;
  /** The pause from the end of a copy until the next one is this many times as long as the copy: pages that each commit changes need not be copied for each. */
  readonly pauseFactor: number;
  /** The least and the most milliseconds of a pause. */
  readonly pauseMs: readonly [number, number];
  /** Pages of log after which the writer copies the end, so that the log restarts. */
  readonly longLog: number;
  /** Transactions between two reads of the length. */
  readonly interval: number;
}

const DEFAULTS: CheckpointOptions = { step: 400, pauseMs: [100, 1000], pauseFactor: 5, longLog: 14_000, interval: 4 };
const SCRUB_TIMEOUT_MS = 100;
const IS_READ = 'the log could not be cleared while it is read';
/** A file system releases this much in a millisecond or two, and 57 MB at once in 20 to 240. */
const STEP_BYTES = 2 ** 20;
/** It changes nothing, and SQLite writes its page. */
const EMPTY_COMMIT = 'pragma user_version = 0';
const MAX_ATTEMPTS = 100;
/** Another process may be copying: SQLite does not wait for it. */
const COPY_OF_OTHERS = { attempts: 5, waitMs: 20 };

/**
 * Copies the write-ahead log of the writer into the database file, without a pause of the writer while thousands of pages are
 * written and flushed: a thread of its own copies most of them, and the writer the few that it has appended meanwhile. SQLite
 * restarts the log only when its end is copied, which no other thread can do while the writer appends.
 */
export class Checkpoints {
  readonly #connection: Connection;
  readonly #path: string;
  readonly #options: CheckpointOptions;
  /** Started when it is first needed: most commands never need it. */
  #thread: Worker | undefined;
  /**
   * The database file, for flushes. SQLite has its locks by process, and loses them when any other handle of the file is
   * closed: this one is closed after the connection.
   */
  #file: number | undefined;
  #running: Promise<void> | undefined;
  #transactions = 0;
  /** Runs during the pause after a copy. */
  #pause: NodeJS.Timeout | undefined;
  readonly #stopwatch: MonotonicClock;
  readonly #onFault: (error: Error) => void;
  #fault: Error | undefined;

  /** `onFault`: called when the disk failed; kills the process, so that the next one copies the whole log again. */
  constructor(
    connection: Connection,
    path: string,
    stopwatch: MonotonicClock,
    onFault: (error: Error) => void,
    options: CheckpointOptions = DEFAULTS,
  ) {
    this.#connection = connection;
    this.#path = path;
    this.#stopwatch = stopwatch;
    this.#onFault = onFault;
    this.#options = options;
  }

  /** Call after each transaction: begins a copy when enough pages are not copied. */
  afterTransaction(): void {
    if (++this.#transactions % this.#options.interval !== 0) return;
    if (this.#running !== undefined || this.#pause !== undefined) return;
    if (uncopied(this.#log()) >= this.#options.step) void this.#copy();
  }

  /**
   * Removes from the log what it contains now, so that nothing erased remains in it. Throws when a reader prevents it: it is not
   * awaited, because every write would wait too, and a later scrub succeeds. Commits go on beside it.
   */
  async scrub(): Promise<void> {
    // SQLite does not wait for a copy that runs.
    if (this.#running !== undefined || this.#log().length >= this.#options.step) await this.#copy();
    const log = `${this.#path}-wal`;
    const size = statSync(log, { throwIfNoEntry: false })?.size ?? 0;
    if (size <= STEP_BYTES) return await this.#checkpoint('truncate');
    const file = openSync(log, 'r+');
    try {
      await this.#restart();
      await this.#shorten(file);
    } finally {
      closeSync(file);
    }
  }

  /**
   * Begins the log again with a commit. Without the commit SQLite would take what is left of the old log for the whole after a
   * crash.
   */
  async #restart(): Promise<void> {
    await this.#checkpoint('restart');
    const { length } = readLog(this.#connection, 'noop');
    this.#connection.database.exec(EMPTY_COMMIT);
    // SQLite appends to the old log where a reader has begun between the two.
    if (readLog(this.#connection, 'noop').length > length) throw new Error(IS_READ);
  }

  /** Removes the end of the file step by step, because no write can happen while the file system releases its pages. */
  async #shorten(file: number): Promise<void> {
    const { database } = this.#connection;
    for (let attempts = 0; attempts < MAX_ATTEMPTS; ) {
      await turn();
      const { length } = readLog(this.#connection, 'noop');
      // No connection can append to the log or restart it during a transaction for writing.
      database.exec('begin immediate');
      try {
        const end = endOfLog(file, length);
        const { size } = fstatSync(file);
        // Another process may have committed since the length was read.
        if (end === undefined) attempts++;
        else if (size <= end) return;
        else ftruncateSync(file, Math.max(end, size - STEP_BYTES));
      } finally {
        database.exec('rollback');
      }
    }
    throw new Error('the log could not be cleared beside other processes');
  }

  async #checkpoint(mode: 'restart' | 'truncate'): Promise<void> {
    const { database } = this.#connection;
    for (let attempts = 1; ; attempts++) {
      database.exec(`pragma busy_timeout = ${SCRUB_TIMEOUT_MS}`);
      try {
        const { isBusy, length } = this.#readOrFail(mode);
        if (!isBusy) return;
        // Without a length it was not a reader.
        if (length >= 0 || attempts === COPY_OF_OTHERS.attempts) throw new Error(IS_READ);
      } finally {
        database.exec(`pragma busy_timeout = ${BUSY_TIMEOUT_MS}`);
      }
      await wait(COPY_OF_OTHERS.waitMs);
    }
  }

  /** A checkpoint whose disk fails is the last one. */
  #readOrFail(mode: 'passive' | 'restart' | 'truncate'): Log {
    if (this.#fault !== undefined) throw this.#fault;
    try {
      return readLog(this.#connection, mode);
    } catch (error) {
      if (isDiskFault(error)) this.#fail(error as Error);
      throw error;
    }
  }

  #fail(error: Error): void {
    this.#fault = error;
    this.#onFault(error);
  }

  /** Closes the connection of the writer, too. */
  async close(): Promise<void> {
    await this.#running;
    if (this.#thread !== undefined) {
      const ended = once(this.#thread, 'exit');
      this.#thread.postMessage('close');
      await ended;
    }
    this.#connection.close();
    if (this.#file !== undefined) closeSync(this.#file);
  }

  /** An empty one when it cannot be read: the writes that meet a fault of the disk report it. */
  #log(): Log {
    try {
      return readLog(this.#connection, 'noop');
    } catch {
      return { length: 0, checkpointed: 0, isBusy: false };
    }
  }

  /** Never rejects: the next copy tries again. */
  #copy(): Promise<void> {
    this.#running ??= this.#copyOnce();
    return this.#running;
  }

  #copyOnce(): Promise<void> {
    const started = this.#stopwatch();
    return this.#copyOnThread()
      .catch(async () => {
        // It may still run, with the file open: the next copy starts another one.
        await this.#thread?.terminate();
        this.#thread = undefined;
      })
      .finally(() => {
        this.#running = undefined;
        this.#startPause(this.#stopwatch() - started);
      });
  }

  /** `copied`: milliseconds that the copy took. */
  #startPause(copied: number): void {
    const { pauseMs, pauseFactor } = this.#options;
    const [least, most] = pauseMs;
    const pause = Math.min(Math.max(least, pauseFactor * copied), most);
    clearTimeout(this.#pause);
    const end = (): void => {
      this.#pause = undefined;
    };
    this.#pause = setTimeout(end, pause).unref();
  }

  async #copyOnThread(): Promise<void> {
    if (this.#fault !== undefined) return;
    const thread = this.#start();
    thread.postMessage('copy');
    const [copied] = (await once(thread, 'message')) as [Copied];
    if (copied.kind === 'fault') this.#fail(new Error(copied.reason));
    else if (this.#log().length >= this.#options.longLog) this.#readOrFail('passive');
  }

  #start(): Worker {
    this.#file ??= openSync(this.#path, 'r');
    if (this.#thread !== undefined) return this.#thread;
    const workerData = { path: this.#path, file: this.#file, step: this.#options.step };
    this.#thread = new Worker(new URL('./checkpoint-thread.ts', import.meta.url), {
      name: 'sqlite-copier',
      workerData,
    });
    return this.#thread;
  }
}
