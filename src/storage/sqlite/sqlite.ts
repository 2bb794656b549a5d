import { closeSync, existsSync, fsyncSync, mkdirSync, openSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { MessagePort } from 'node:worker_threads';
import type { DigestKeys } from '../../crypto/digest-keys.ts';
import { AccountNumbers, type StoredUnit } from '../account-numbers.ts';
import { withAdditions } from '../additions.ts';
import {
  type CommitResult,
  type Driver,
  integer,
  isWellFormed,
  type RewriteReport,
  type Row,
  StorageError,
  type UnitOfWork,
  type Value,
} from '../database.ts';
import { ExecutionCount, GroupCommit, type GroupResult } from '../group-commit.ts';
import { FIRST_LANE } from '../journal.ts';
import { readMigrations } from '../migrate.ts';
import { Connection } from './connection.ts';
import { pack } from './packing.ts';
import { assertNoInterruptedRestore } from './restore.ts';
import { Writer } from './writer.ts';
import type { Order, Reply, Request } from './writer-thread.ts';

const COUNT_TABLES = "select count(*) as tables from sqlite_schema where type = 'table'";
const USER_ONLY_FILE = 0o600;
const USER_ONLY_DIRECTORY = 0o700;
/** A request to the writer that has no reply yet. Results are absent where all units are committed. */
interface Pending {
  readonly resolve: (results: readonly GroupResult[] | undefined) => void;
  readonly reject: (error: Error) => void;
}

/**
 * The writer takes all groups that have arrived at once, so several of them keep it busy while this thread executes long
 * requests and reads no replies. Groups of hundreds of rows share the pages of indexes that they change.
 */
const GROUPS = { maxConcurrent: 8, rowsToSend: 800 };

/**
 * The embedded driver: group commit to the one writer thread of the process, reads on a connection of the calling
 * thread.
 */
export class SqliteDatabase implements Driver {
  readonly executed = new ExecutionCount();
  readonly #path: string;
  /** Undefined where another thread has started the writer. */
  readonly #writer: Writer | undefined;
  readonly #port: MessagePort;
  #journalKey: DigestKeys | undefined;
  /** The versions of the key of the journal that the writer has. */
  #sentRevision = -1;
  readonly #group: GroupCommit;
  readonly #accounts = new AccountNumbers((sql, ...values) => this.readStored(sql, ...values));
  /** By the id of the request. */
  readonly #pending = new Map<number, Pending>();
  #requests = 0;
  #reader: Connection | undefined;
  #broken: StorageError | undefined;
  #onBroken: (error: StorageError) => void = () => undefined;
  /** True when a unit of this driver has erased something since the last scrub. */
  #hasErased = false;
  #closing = false;

  /** `port`: from `connectWriter` of the thread that has opened the file; absent: this one starts the writer. */
  constructor(path: string, port?: MessagePort) {
    this.#path = path;
    if (port === undefined) {
      assertNoInterruptedRestore(path);
      mkdirSync(dirname(path), { recursive: true, mode: USER_ONLY_DIRECTORY });
      // SQLite would make the file readable by other users; its log and index files copy this mode.
      if (!existsSync(path)) closeSync(openSync(path, 'a', USER_ONLY_FILE));
      this.#writer = new Writer(path, (reason) => this.#breakDown(reason));
    }
    this.#port = port ?? (this.#writer as Writer).connect();
    this.#port.on('message', (reply: Reply) => this.#settle(reply));
    if (port !== undefined) port.on('close', () => this.#breakDown('the writer ended'));
    this.#group = new GroupCommit((units) => this.#sendGroup(units), { ...GROUPS, executed: this.executed });
  }

  get queuedUnits(): number {
    return this.#group.queuedUnits;
  }

  /** Returns a port to the writer, for the driver of another thread. Only where this one started the writer. */
  connectWriter(): MessagePort {
    if (this.#writer === undefined) throw new Error('another thread has the writer');
    return this.#writer.connect();
  }

  /** Calls the listener once when the writer has stopped: no later write can succeed in this process. */
  onBroken(listener: (error: StorageError) => void): void {
    this.#onBroken = listener;
    if (this.#broken !== undefined) listener(this.#broken);
  }

  /** After a failed write the check writes too. */
  async isAlive(): Promise<boolean> {
    try {
      await this.read('select 1 as alive');
      await this.#send({ kind: 'ping' });
      return true;
    } catch {
      return false;
    }
  }

  /** The file and its log. */
  async measureSize(): Promise<number> {
    const parts = await Promise.all(['', '-wal'].map((part) => stat(this.#path + part).catch(() => undefined)));
    return parts.reduce((sum, each) => sum + (each?.size ?? 0), 0);
  }

  async useJournalKey(key: DigestKeys): Promise<void> {
    this.#journalKey = key;
    await this.#sendJournalKey(key);
  }

  async migrate(clock: () => number, migrations = readMigrations()): Promise<void> {
    await this.#send({ kind: 'migrate', migrations, now: clock() });
    // A restore may have started before this process had the file open.
    assertNoInterruptedRestore(this.#path);
  }

  read(sql: string, ...values: readonly Value[]): Promise<Row[]> {
    return this.#accounts.read(sql, values);
  }

  async readStored(sql: string, ...values: readonly Value[]): Promise<Row[]> {
    if (this.#closing) throw new StorageError('the database is closed');
    try {
      this.#reader ??= new Connection(this.#path, { readOnly: true });
      return this.#reader.read(sql, values);
    } catch (cause) {
      throw new StorageError(`a read failed: ${(cause as Error).message}`);
    }
  }

  nameAccount(id: string, number: number): void {
    this.#accounts.name(id, number);
  }

  async commit(unit: UnitOfWork): Promise<CommitResult> {
    if (this.#closing) throw new StorageError('the database is closed');
    if (this.#broken !== undefined) throw this.#broken;
    if (!isWellFormed(unit)) throw new StorageError('a write is malformed');
    const stored = this.#accounts.convert(unit);
    return this.#commitStored(stored instanceof Promise ? await stored : stored);
  }

  #commitStored({ additions, ...stored }: StoredUnit): Promise<CommitResult> {
    // The file has one writer, whose statement for a row that is in memory costs a microsecond.
    const unit = additions === undefined ? stored : withAdditions(stored, additions, FIRST_LANE);
    return unit.scrubAfterCommit === true ? this.#commitErasing(unit) : this.#group.commit(unit);
  }

  /** The writer scrubs also when another process has committed, or a former one before it crashed: either may have erased something. */
  async scrub(): Promise<void> {
    const hasErased = this.#hasErased;
    this.#hasErased = false;
    try {
      await this.#send({ kind: 'scrub', hasErased });
    } catch (error) {
      this.#hasErased ||= hasErased;
      throw error;
    }
  }

  /**
   * SQLite overwrites a deleted row (`secure_delete`), but not the copies of it that it left in unused bytes of pages when it had
   * moved the row from page to page before: up to two of a thousand do.
   */
  async rewriteTables(): Promise<RewriteReport> {
    await this.#send({ kind: 'rewrite' });
    this.#hasErased = true;
    // A reader of the log, such as a backup, does not undo the rewrite.
    const log = await this.scrub().then(
      () => 'cleared' as const,
      () => 'later' as const,
    );
    const [counted = {}] = await this.read(COUNT_TABLES);
    return { tables: integer(counted, 'tables'), visible: 0, flushed: true, log };
  }

  async backup(path: string): Promise<void> {
    const file = openSync(path, 'wx', USER_ONLY_FILE);
    try {
      const source = new Connection(this.#path, { readOnly: true });
      try {
        // It reads one snapshot, and writes rows: a copy of the pages would have what is left of deleted rows in them.
        source.statement('vacuum into ?').run(path);
      } finally {
        source.close();
      }
      // SQLite does not flush it.
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
  }

  async close(): Promise<void> {
    if (this.#closing) return;
    await this.#accounts.idle();
    await this.#group.drained();
    this.#closing = true;
    await this.#scrubErased();
    this.#reader?.close();
    if (this.#broken === undefined && this.#writer !== undefined) await this.#send({ kind: 'close' });
    this.#broken ??= new StorageError('the database is closed');
    this.#port.close();
    await this.#writer?.end();
    this.#rejectPending(this.#broken);
  }

  // Set when the commit has completed: a scrub that was requested while the unit was on its way came too early for it.
  async #commitErasing(unit: StoredUnit): Promise<CommitResult> {
    try {
      return await this.#group.commit(unit);
    } finally {
      this.#hasErased = true;
    }
  }

  /**
   * A command erases beside a service that may be idle, and has no periodic scrub. Where a reader prevents this one, that of the
   * service follows.
   */
  async #scrubErased(): Promise<void> {
    if (this.#hasErased) await this.scrub().catch(() => undefined);
  }

  #sendGroup(units: readonly StoredUnit[]): Promise<readonly GroupResult[] | undefined> {
    const reading = units.some(({ journal }) => journal !== undefined) ? this.#journalKey?.refreshSoon() : undefined;
    return reading === undefined ? this.#sendPacked(units) : reading.then(() => this.#sendPacked(units));
  }

  /** Sends the versions of the key of the journal, if the writer does not have them yet, before the group. */
  #sendPacked(units: readonly StoredUnit[]): Promise<readonly GroupResult[] | undefined> {
    const key = this.#journalKey;
    if (key !== undefined && key.revision !== this.#sentRevision) this.#sendJournalKey(key).catch(() => undefined);
    const packed = pack(units);
    return this.#send({ kind: 'group', packed }, [packed.bytes.buffer]);
  }

  #sendJournalKey(key: DigestKeys): Promise<unknown> {
    this.#sentRevision = key.revision;
    return this.#send({ kind: 'journal-key', versions: key.versions, current: key.current.version });
  }

  #send(order: Order, handedOver: ArrayBuffer[] = []): Promise<readonly GroupResult[] | undefined> {
    if (this.#broken !== undefined) return Promise.reject(this.#broken);
    const id = ++this.#requests;
    return new Promise((resolve, reject) => {
      this.#port.postMessage({ id, ...order } satisfies Request, handedOver);
      // Added after sending: what could not be sent has no reply.
      this.#pending.set(id, { resolve, reject });
    });
  }

  #settle(reply: Reply): void {
    const pending = this.#pending.get(reply.id);
    this.#pending.delete(reply.id);
    if ('error' in reply) pending?.reject(new StorageError(reply.error));
    else pending?.resolve(reply.results);
  }

  #rejectPending(error: StorageError): void {
    const pending = [...this.#pending.values()];
    this.#pending.clear();
    for (const { reject } of pending) reject(error);
  }

  #breakDown(reason: string): void {
    if (this.#closing || this.#broken !== undefined) return;
    this.#broken = new StorageError(`the database writer is gone: ${reason}`);
    this.#rejectPending(this.#broken);
    this.#onBroken(this.#broken);
  }
}
