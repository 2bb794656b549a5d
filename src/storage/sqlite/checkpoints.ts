import { once } from 'node:events';
import { closeSync, openSync, statSync, truncateSync } from 'node:fs';
import { setImmediate as turn } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { BUSY_TIMEOUT_MS, type Connection } from './connection.ts';
import { bytesOfLog, readLog, SHORT_LOG } from './log-length.ts';

interface CheckpointOptions {
  /** Pages of log after which they are copied: long, so that hot pages are written back once and not a hundred times. */
  readonly longLog: number;
  /** Transactions between two reads of the length. */
  readonly interval: number;
}

const DEFAULTS: CheckpointOptions = { longLog: 14_000, interval: 16 };
const SCRUB_TIMEOUT_MS = 100;
/** A file system releases this much in a millisecond or two, and 57 MB at once in 20 to 240. */
const STEP_BYTES = 2 ** 20;
/** It changes nothing, and SQLite writes its page. */
const EMPTY_COMMIT = 'pragma user_version = 0';

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

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
  #copyAt: number;

  constructor(connection: Connection, path: string, options = DEFAULTS) {
    this.#connection = connection;
    this.#path = path;
    this.#options = options;
    this.#copyAt = options.longLog;
  }

  /** Call after each transaction: begins a copy when the log is long. */
  afterTransaction(): void {
    if (++this.#transactions % this.#options.interval !== 0 || this.#running !== undefined) return;
    if (this.#length() >= this.#copyAt) void this.#copy();
  }

  /**
   * Removes from the log what it contains now, so that nothing erased remains in it. Throws when a reader prevents it: it is not
   * awaited, because every write would wait too, and a later scrub succeeds. Commits go on beside it.
   */
  async scrub(): Promise<void> {
    if (this.#length() > SHORT_LOG) await this.#copy();
    const log = `${this.#path}-wal`;
    if (sizeOf(log) > STEP_BYTES) await this.#shorten(log);
    // Else commits have filled it again meanwhile, from the begin to the end.
    if (sizeOf(log) <= STEP_BYTES) this.#checkpoint('truncate');
  }

  /**
   * Removes the end of the file step by step, because no write can happen while the file system releases its pages. Before
   * it, a commit has to be at the begin of the file: after a crash SQLite would take the rest of an old log for the whole.
   */
  async #shorten(log: string): Promise<void> {
    this.#checkpoint('restart');
    const { database } = this.#connection;
    database.exec(EMPTY_COMMIT);
    for (let isLong = true; isLong; ) {
      await turn();
      const version = this.#dataVersion();
      const end = bytesOfLog(this.#length());
      // Nothing else can append to the log during a transaction for writing.
      database.exec('begin immediate');
      try {
        const size = sizeOf(log);
        isLong = size > Math.max(end, STEP_BYTES);
        if (isLong && this.#dataVersion() === version) truncateSync(log, Math.max(end, size - STEP_BYTES));
      } finally {
        database.exec('rollback');
      }
    }
  }

  /** Changes with each commit of another connection. */
  #dataVersion(): unknown {
    return this.#connection.read('pragma data_version', [])[0]?.['data_version'];
  }

  #checkpoint(mode: 'restart' | 'truncate'): void {
    const { database } = this.#connection;
    database.exec(`pragma busy_timeout = ${SCRUB_TIMEOUT_MS}`);
    try {
      if (readLog(this.#connection, mode).isBusy) throw new Error('the log could not be cleared while it is read');
    } finally {
      database.exec(`pragma busy_timeout = ${BUSY_TIMEOUT_MS}`);
    }
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

  /** Pages; 0 when it cannot be read: the writes that meet a fault of the disk report it. */
  #length(): number {
    try {
      return readLog(this.#connection, 'noop').length;
    } catch {
      return 0;
    }
  }

  /** Never rejects: the next copy tries again. */
  #copy(): Promise<void> {
    this.#running ??= this.#copyOnThread()
      .catch(async () => {
        // It may still run, with the file open: the next copy starts another one.
        await this.#thread?.terminate();
        this.#thread = undefined;
      })
      .finally(() => {
        this.#running = undefined;
      });
    return this.#running;
  }

  async #copyOnThread(): Promise<void> {
    const thread = this.#start();
    thread.postMessage('copy');
    await once(thread, 'message');
    const { length, checkpointed } = readLog(this.#connection, 'passive');
    // A log that a reader still needs is tried again when it has grown, and not after each transaction.
    this.#copyAt = this.#options.longLog + (checkpointed < length ? length : 0);
  }

  #start(): Worker {
    this.#file ??= openSync(this.#path, 'r');
    if (this.#thread !== undefined) return this.#thread;
    const workerData = { path: this.#path, file: this.#file };
    this.#thread = new Worker(new URL('./checkpoint-thread.ts', import.meta.url), {
      name: 'sqlite-copier',
      workerData,
    });
    return this.#thread;
  }
}
