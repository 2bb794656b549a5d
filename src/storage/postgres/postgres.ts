import { setTimeout as pause } from 'node:timers/promises';
import type { DigestKeys } from '../../crypto/digest-keys.ts';
import { type Clock, DAY, MINUTE, type Random } from '../../kernel/clock.ts';
import { LIMITS } from '../../kernel/limits.ts';
import { AccountNumbers, SERVICE_NUMBER, type StoredUnit } from '../account-numbers.ts';
import {
  type CommitResult,
  type Driver,
  integer,
  isValue,
  isWellFormed,
  type RewriteReport,
  type Row,
  type Snapshot,
  StorageError,
  type UnitOfWork,
  type Value,
  write,
} from '../database.ts';
import { ExecutionCount, GroupCommit, type GroupResult } from '../group-commit.ts';
import { knownSchema, readMigrations } from '../migrate.ts';
import { applyMigrations } from './apply-migrations.ts';
import { ChainAppender } from './chain-appender.ts';
import { Connection, type PostgresOptions } from './connection.ts';
import { GroupWriter } from './group-writer.ts';
import { connectToPrimary, ReconnectingConnection, type TimelineTracker } from './reconnecting-connection.ts';
import { rewriteTables } from './rewrite-tables.ts';
import { sqlState } from './sqlstate.ts';
import { plain } from './statements.ts';

export interface PostgresPool extends PostgresOptions {
  /** Number of connections that write, each a group at a time. */
  readonly writers: number;
  /** Number of connections that read. */
  readonly readers: number;
  /**
   * True when accounts are on different machines: a group then contains the units of one account, and statements name
   * it, one for each row, so that each can be sent to its machine.
   */
  readonly sharded: boolean;
}

const ID_BYTES = 16;
const ALIVE_TIMEOUT_MS = 2500;
/** Statement timeout of migrations, and of starts that wait for another to migrate. */
const MIGRATION_MS = 10 * MINUTE;

/** How long the transaction of a snapshot may wait for the disk that its rows are written to. */
const SNAPSHOT_IDLE_MS = 5 * MINUTE;

const toReadError = (error: unknown): StorageError =>
  error instanceof StorageError ? error : new StorageError(`a read failed: ${sqlState(error) ?? 'unknown'}`);

/** The driver for PostgreSQL: writers with group commit, readers that share their connections. */
export class PostgresDatabase implements Driver {
  readonly executed = new ExecutionCount();
  readonly #options: PostgresPool;
  readonly #timeline: TimelineTracker = { timeline: 0 };
  readonly #readers: readonly ReconnectingConnection[];
  readonly #writers: readonly { readonly writer: GroupWriter; readonly connection: ReconnectingConnection }[];
  readonly #free: GroupWriter[];
  readonly #waitingForWriter: ((writer: GroupWriter) => void)[] = [];
  readonly #groups = new Map<number, GroupCommit>();
  readonly #accounts = new AccountNumbers((sql, ...values) => this.readStored(sql, ...values));
  #journalKey: DigestKeys | undefined;
  /** The newest schema that this program knows. */
  #schema = knownSchema();
  #lastGroupFailed = false;
  #touching: Promise<void> | undefined;
  /** True from the begin of the end: no unit is added any more. */
  #isClosing = false;
  #isClosed = false;

  constructor(options: PostgresPool, { clock, random }: { clock: Clock; random: Random }) {
    this.#options = options;
    this.#readers = Array.from({ length: options.readers }, () => new ReconnectingConnection(options, this.#timeline));
    const journalKey = (): DigestKeys => {
      if (this.#journalKey === undefined) throw new Error('the journal is written before its key is known');
      return this.#journalKey;
    };
    this.#writers = Array.from({ length: options.writers }, () => {
      const connection = new ReconnectingConnection(options, this.#timeline);
      const appender = new ChainAppender(journalKey, (bound) => random.below(bound));
      const id = Buffer.from(random.bytes(ID_BYTES)).toString('hex');
      const parts = { connection, appender, id, clock, merge: !options.sharded, schema: () => this.#schema };
      return { connection, writer: new GroupWriter(parts) };
    });
    this.#free = this.#writers.map(({ writer }) => writer);
  }

  get queuedUnits(): number {
    let queuedUnits = 0;
    for (const group of this.#groups.values()) queuedUnits += group.queuedUnits;
    return queuedUnits;
  }

  /** A health check must not wait for an unresponsive database. */
  isAlive(): Promise<boolean> {
    return Promise.race([this.#isResponding(), pause(ALIVE_TIMEOUT_MS, false, { ref: false })]);
  }

  async #isResponding(): Promise<boolean> {
    try {
      await this.read('select 1 as alive');
      if (this.#lastGroupFailed) await this.#touchOnce();
      this.#lastGroupFailed = false;
      return true;
    } catch {
      return false;
    }
  }

  /** Checks at the same time share a write: where writes hang, many would keep those of requests from their turn. */
  #touchOnce(): Promise<void> {
    this.#touching ??= this.touch().finally(() => {
      this.#touching = undefined;
    });
    return this.#touching;
  }

  useJournalKey(key: DigestKeys): Promise<void> {
    this.#journalKey = key;
    return Promise.resolve();
  }

  /** Writes durably when this node was last active, for `cardvault copy` and `isAlive`. */
  async touch(): Promise<void> {
    if (this.#isClosing) throw new StorageError('the database is closed');
    await this.#write([], SERVICE_NUMBER);
  }

  /** Detects a server that was promoted while the old one still runs: from then on the old one is not used. */
  async refreshTimeline(): Promise<void> {
    const { address, connectTimeoutMs } = this.#options;
    if (address.hosts.length === 1) return;
    await (await connectToPrimary(this.#options, this.#timeline, connectTimeoutMs)).close();
    for (const connection of this.#connections) connection.leaveReplaced();
  }

  /** Deletes the rows of nodes that were inactive for a day. */
  async purgeWriters(now: number): Promise<void> {
    await this.commit({ writes: [write('delete from writers where last_seen_at < ?', [now - DAY])] });
  }

  /** Returns the Unix time of the server in milliseconds. */
  async time(): Promise<number> {
    const [row] = await this.read('select (extract(epoch from clock_timestamp()) * 1000)::bigint as now');
    return integer(row ?? {}, 'now');
  }

  /** Measures the server that is written to, and no shards on others. */
  async measureSize(): Promise<number> {
    const [row] = await this.read('select pg_database_size(current_database()) as bytes');
    return integer(row ?? {}, 'bytes');
  }

  async hasSchema(): Promise<boolean> {
    const [row] = await this.read(`select to_regclass('schema_migrations')::text as name`);
    return row?.['name'] !== null;
  }

  async migrate(clock: Clock, migrations = readMigrations()): Promise<void> {
    this.#schema = migrations.at(-1)?.version ?? 0;
    const connection = await Connection.open({ ...this.#options, statementTimeoutMs: MIGRATION_MS });
    try {
      await applyMigrations(connection, migrations, clock());
    } finally {
      await connection.close();
    }
  }

  async rewriteTables(): Promise<RewriteReport> {
    const connection = await Connection.open({ ...this.#options, statementTimeoutMs: DAY });
    try {
      return await rewriteTables(connection);
    } finally {
      await connection.close();
    }
  }

  read(sql: string, ...values: readonly Value[]): Promise<Row[]> {
    // Stored text has no U+0000, and the server would refuse the whole statement.
    return values.every(isValue) ? this.#accounts.read(sql, values) : Promise.resolve([]);
  }

  async readStored(sql: string, ...values: readonly Value[]): Promise<Row[]> {
    if (this.#isClosed) throw new StorageError('the database is closed');
    // Stored text has no U+0000, and the server would reject the statement.
    if (!values.every(isValue)) return [];
    try {
      return await this.#leastBusy().read(plain(sql, values));
    } catch (error) {
      throw toReadError(error);
    }
  }

  nameAccount(id: string, number: number): void {
    this.#accounts.name(id, number);
  }

  async commit(unit: UnitOfWork): Promise<CommitResult> {
    if (this.#isClosing) throw new StorageError('the database is closed');
    if (!isWellFormed(unit)) throw new StorageError('a write is malformed');
    if (this.queuedUnits >= LIMITS.queuedUnits) throw new StorageError('too many writes are waiting');
    const stored = this.#accounts.convert(unit);
    return this.#commitStored(stored instanceof Promise ? await stored : stored);
  }

  #commitStored(unit: StoredUnit): Promise<CommitResult> {
    const place = this.#options.sharded ? (unit.account ?? SERVICE_NUMBER) : SERVICE_NUMBER;
    let group = this.#groups.get(place);
    if (group === undefined) {
      const maxConcurrent = this.#options.sharded ? 1 : this.#writers.length;
      group = new GroupCommit((units) => this.#write(units, place), {
        maxConcurrent,
        executed: this.executed,
      });
      this.#groups.set(place, group);
    }
    return group.commit(unit);
  }

  /** No operation: vacuum frees the place of deleted rows, and `rewriteTables` clears it. */
  scrub(): Promise<void> {
    return Promise.resolve();
  }

  /** Opens one transaction that sees the database as it is now, on a connection of its own. */
  async openSnapshot(): Promise<Snapshot> {
    const connection = await Connection.open(this.#options);
    try {
      await connection.command(`set idle_in_transaction_session_timeout = ${SNAPSHOT_IDLE_MS}`);
      await connection.command('begin isolation level repeatable read, read only');
    } catch (error) {
      connection.destroy();
      throw toReadError(error);
    }
    return {
      readStored: (sql, ...values) =>
        connection.run(plain(sql, values)).catch((error: unknown) => {
          throw toReadError(error);
        }),
      close: () => connection.close(),
    };
  }

  backup(): Promise<void> {
    const hint = 'use pg_basebackup or pg_dump, or: cardvault copy --to sqlite:FILE';
    return Promise.reject(new StorageError(`PostgreSQL is backed up with its own tools: ${hint}`));
  }

  async close(): Promise<void> {
    if (this.#isClosing) return;
    // A unit that came later could be sent in steps, and deregistering its writer between two of them would commit the first.
    this.#isClosing = true;
    await this.#accounts.idle();
    for (const group of this.#groups.values()) await group.drained();
    this.#isClosed = true;
    for (const { writer } of this.#writers) await writer.deregister().catch(() => undefined);
    await Promise.all(this.#connections.map((connection) => connection.close()));
  }

  get #connections(): ReconnectingConnection[] {
    return [...this.#readers, ...this.#writers.map(({ connection }) => connection)];
  }

  async #write(units: readonly StoredUnit[], place: number): Promise<readonly GroupResult[]> {
    if (units.some(({ journal }) => journal !== undefined)) await this.#journalKey?.refreshSoon();
    const writer =
      this.#free.pop() ?? (await new Promise<GroupWriter>((resolve) => this.#waitingForWriter.push(resolve)));
    try {
      const results = await writer.run(units, place);
      this.#lastGroupFailed = false;
      return results;
    } catch (error) {
      this.#lastGroupFailed = true;
      throw error;
    } finally {
      const next = this.#waitingForWriter.shift();
      if (next === undefined) this.#free.push(writer);
      else next(writer);
      // The map would grow with every account otherwise.
      if (place !== SERVICE_NUMBER && this.#groups.get(place)?.queuedUnits === 0) this.#groups.delete(place);
    }
  }

  #leastBusy(): ReconnectingConnection {
    let best = this.#readers[0] as ReconnectingConnection;
    for (const connection of this.#readers) if (connection.pending < best.pending) best = connection;
    return best;
  }
}
