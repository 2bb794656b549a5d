import type { KeyObject } from 'node:crypto';
import { closeSync, existsSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { backup } from 'node:sqlite';
import { Worker } from 'node:worker_threads';
import { type Database, type Outcome, type Row, StorageError, type Unit, type Value } from '../database.ts';
import { GroupCommit, type GroupResult } from '../group.ts';
import { readMigrations } from '../migrate.ts';
import { Connection } from './open.ts';
import type { Reply, Request } from './writer.ts';

const USER_ONLY_FILE = 0o600;
const USER_ONLY_DIRECTORY = 0o700;

/** The embedded driver: one writer thread with group commit, reads on a connection of the calling thread. */
export class SqliteDatabase implements Database {
  readonly #path: string;
  readonly #worker: Worker;
  readonly #group: GroupCommit;
  readonly #pending: { resolve: (results: readonly GroupResult[]) => void; reject: (error: Error) => void }[] = [];
  #reader: Connection | undefined;
  #broken: StorageError | undefined;
  #erased = false;
  #closing = false;

  constructor(path: string) {
    this.#path = path;
    mkdirSync(dirname(path), { recursive: true, mode: USER_ONLY_DIRECTORY });
    // SQLite would make the file readable by others; its log and index files copy this mode.
    if (!existsSync(path)) closeSync(openSync(path, 'a', USER_ONLY_FILE));
    this.#worker = new Worker(new URL('./writer.ts', import.meta.url), { workerData: { path } });
    this.#worker.on('message', (reply: Reply) => this.#settle(reply));
    this.#worker.on('error', (error) => this.#breakDown(error.message));
    this.#worker.on('exit', () => this.#breakDown('the writer ended'));
    this.#group = new GroupCommit((units) => this.#ask({ kind: 'group', units }));
  }

  /** Units that wait for the next commit. */
  get waiting(): number {
    return this.#group.waiting;
  }

  /** Can it read, and does the writer answer? */
  async isAlive(): Promise<boolean> {
    try {
      await this.read('select 1 as alive');
      await this.#ask({ kind: 'ping' });
      return true;
    } catch {
      return false;
    }
  }

  /** The key that seals the journal; no journal entry can be written before it is known. */
  async useJournalKey(key: KeyObject): Promise<void> {
    await this.#ask({ kind: 'journal-key', key });
  }

  async migrate(clock: () => number): Promise<void> {
    await this.#ask({ kind: 'migrate', migrations: readMigrations(), now: clock() });
  }

  async read(sql: string, ...values: readonly Value[]): Promise<Row[]> {
    try {
      this.#reader ??= new Connection(this.#path, { readOnly: true });
      return this.#reader.statement(sql).all(...values) as Row[];
    } catch (cause) {
      throw new StorageError(`a read failed: ${(cause as Error).message}`);
    }
  }

  commit(unit: Unit): Promise<Outcome> {
    if (this.#broken !== undefined) return Promise.reject(this.#broken);
    if (unit.erases === true) this.#erased = true;
    return this.#group.commit(unit);
  }

  async scrub(): Promise<void> {
    if (!this.#erased) return;
    this.#erased = false;
    await this.#ask({ kind: 'scrub' });
  }

  async backup(path: string): Promise<void> {
    closeSync(openSync(path, 'wx', USER_ONLY_FILE));
    this.#reader ??= new Connection(this.#path, { readOnly: true });
    await backup(this.#reader.database, path);
  }

  async close(): Promise<void> {
    if (this.#closing) return;
    await this.#group.drained();
    this.#closing = true;
    this.#reader?.close();
    if (this.#broken === undefined) await this.#ask({ kind: 'close' });
    await this.#worker.terminate();
  }

  // The worker answers in order, so the oldest question is the one answered.
  #ask(request: Request): Promise<readonly GroupResult[]> {
    if (this.#broken !== undefined) return Promise.reject(this.#broken);
    return new Promise((resolve, reject) => {
      this.#pending.push({ resolve, reject });
      this.#worker.postMessage(request);
    });
  }

  #settle(reply: Reply): void {
    const question = this.#pending.shift();
    if ('results' in reply) question?.resolve(reply.results);
    else question?.reject(new StorageError(reply.error));
  }

  #breakDown(reason: string): void {
    if (this.#closing) return;
    this.#broken ??= new StorageError(`the database writer is gone: ${reason}`);
    for (const { reject } of this.#pending.splice(0)) reject(this.#broken);
  }
}
