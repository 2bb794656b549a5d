import { setTimeout as pause } from 'node:timers/promises';
import { type Clock, SECOND } from '../../kernel/clock.ts';
import type { StoredUnit } from '../account-numbers.ts';
import { mergeAdditions } from '../additions.ts';
import { integer, StorageError } from '../database.ts';
import type { GroupResult } from '../group-commit.ts';
import type { Table } from '../table.ts';
import { type ChainAppender, type ChainExtension, LaneStart } from './chain-appender.ts';
import { type Connection, ConnectionLost } from './connection.ts';
import { planGroup } from './plan-group.ts';
import { RECONNECT_PAUSE_MS, type ReconnectingConnection } from './reconnecting-connection.ts';
import { runSeparately } from './run-separately.ts';
import { failure, isServerFault, RETRYABLE, sqlState, UNIQUE_VIOLATION } from './sqlstate.ts';
import { CHECK_FAILED, checkedRun, plain, type Statement } from './statements.ts';

export const TABLES: readonly Table[] = [
  {
    name: 'writers',
    key: ['account', 'id'],
    columns: {
      account: 'integer',
      id: 'text',
      epoch: 'integer',
      last_group: 'integer',
      last_seen_at: 'integer',
      schema: 'integer',
    },
    isLocal: true,
  },
];

/** Epochs never decrease, whatever arrives late. */
const REGISTER = `insert into writers (account, id, epoch, last_group, last_seen_at, schema) values (?, ?, ?, ?, ?, ?)
  on conflict (account, id) do update set epoch = excluded.epoch, last_seen_at = excluded.last_seen_at
    where writers.epoch <= excluded.epoch
  returning last_group`;
const RECORD_GROUP = 'update writers set last_group = ?, last_seen_at = ? where account = ? and id = ? and epoch = ?';
const DEREGISTER = 'delete from writers where id = ?';

/** Maximum number of attempts of a group that conflicts with others. */
const MAX_ATTEMPTS = 20;
/** How long the writer inquires about a group whose connection broke. */
const MAX_INQUIRY_MS = 10 * SECOND;
/** Registered as the last group by a writer in doubt: when it is read back, the writer's row was missing. */
const ROW_MISSING = -1;

/** A transaction whose commit was sent. */
interface CommitAttempt {
  readonly number: number;
  readonly results: readonly GroupResult[];
}

/** A group and how it is run. */
interface Task {
  readonly units: readonly StoredUnit[];
  /** Account of the writer row that records the group: with sharding the account of the units, otherwise ''. */
  readonly account: number;
  runSeparately: boolean;
  /** True once the database was reached: a later connection failure is retried. */
  reached: boolean;
}

/** A retryable conflict; nothing was committed. */
class RetryableConflict extends Error {}

/** Writes groups of units, one at a time, each as one transaction. */
export class GroupWriter {
  readonly #connection: ReconnectingConnection;
  readonly #appender: ChainAppender;
  readonly #id: string;
  readonly #clock: Clock;
  readonly #merge: boolean;
  readonly #schema: () => number;
  /** The connection for which the registrations are valid, and the accounts that have one. */
  #registeredConnection: Connection | undefined;
  readonly #registered = new Set<number>();
  #epoch = 0;
  #number = 0;
  /** The attempt whose result is unknown after its connection broke. */
  #inDoubt: CommitAttempt | undefined;

  constructor(options: {
    connection: ReconnectingConnection;
    appender: ChainAppender;
    id: string;
    clock: Clock;
    merge: boolean;
    /** The newest schema that this program knows. */
    schema: () => number;
  }) {
    this.#connection = options.connection;
    this.#appender = options.appender;
    this.#id = options.id;
    this.#clock = options.clock;
    this.#merge = options.merge;
    this.#schema = options.schema;
  }

  /** Resolves when the group is on disk. Throws `StorageError` when the result is unknown. */
  async run(units: readonly StoredUnit[], account: number): Promise<readonly GroupResult[]> {
    const task: Task = { units, account, runSeparately: false, reached: false };
    this.#inDoubt = undefined;
    let tooLate: AbortSignal | undefined;
    for (let attempt = 0; attempt < MAX_ATTEMPTS; ) {
      try {
        return await this.#try(task);
      } catch (error) {
        if (error instanceof ConnectionLost) {
          this.#appender.forget();
          // The database was unavailable from the start, or for so long that no caller waits for the result any more.
          tooLate ??= AbortSignal.timeout(MAX_INQUIRY_MS);
          if (!task.reached || tooLate.aborted) throw error;
          await pause(RECONNECT_PAUSE_MS);
        } else if (error instanceof RetryableConflict) {
          attempt++;
          await pause(attempt);
        } else throw failure(error);
      }
    }
    throw new StorageError('a group of writes conflicted with others in every attempt');
  }

  /** Deletes the rows of this writer: its groups need no inquiry any more. */
  async deregister(): Promise<void> {
    if (this.#epoch === 0) return;
    const connection = await this.#connection.connection();
    await Promise.all(connection.transaction([plain(DEREGISTER, [this.#id])]));
  }

  async #try(task: Task): Promise<readonly GroupResult[]> {
    const connection = await this.#connection.connection();
    if (
      this.#inDoubt !== undefined ||
      connection !== this.#registeredConnection ||
      !this.#registered.has(task.account)
    ) {
      const committed = await this.#register(connection, task.account);
      const doubt = this.#inDoubt;
      this.#inDoubt = undefined;
      if (doubt !== undefined && committed === doubt.number) return doubt.results;
    }
    task.reached = true;
    const results = task.runSeparately
      ? await this.#runSeparately(connection, task)
      : await this.#runTogether(connection, task);
    // The server stopped waiting for a standby: only a later write that is on the standby shows that this one is.
    if (connection.takeWarning()) {
      this.#inDoubt = { number: this.#number, results };
      throw abandonConnection(connection, 'a commit was not confirmed by a standby');
    }
    return results;
  }

  /**
   * Starts a new epoch, which prevents the commit of anything sent in the previous one. Returns the number of the last
   * committed group. It is itself a durable write, so that what it returns is as durable.
   */
  async #register(connection: Connection, account: number): Promise<number> {
    if (connection !== this.#registeredConnection) {
      this.#registered.clear();
      this.#registeredConnection = undefined;
      this.#epoch++;
    }
    const inDoubt = this.#inDoubt !== undefined;
    const lastGroup = inDoubt ? ROW_MISSING : 0;
    const values = [account, this.#id, this.#epoch, lastGroup, this.#clock(), this.#schema()];
    const register = plain(REGISTER, values);
    try {
      const [, rows] = await Promise.all(connection.transaction([register]));
      const committed = integer(rows?.[0] ?? {}, 'last_group');
      // The result counts only if it is as durable as a group is.
      if (connection.takeWarning() && inDoubt) throw abandonConnection(connection, 'a standby does not answer');
      if (inDoubt && committed === ROW_MISSING) throw new StorageError('the result of a write is unknown');
      this.#registeredConnection = connection;
      this.#registered.add(account);
      return committed;
    } catch (error) {
      // Any other response leaves the result unknown, so the inquiry is repeated.
      throw inDoubt && !(error instanceof StorageError) ? abandonConnection(connection, failure(error).message) : error;
    }
  }

  #recordGroup(account: number): { number: number; recordGroup: Statement } {
    const number = ++this.#number;
    return {
      number,
      recordGroup: checkedRun(RECORD_GROUP, [number, this.#clock(), account, this.#id, this.#epoch], 1),
    };
  }

  /** Runs all units with as few statements as possible, in one round trip. */
  async #runTogether(connection: Connection, task: Task): Promise<readonly GroupResult[]> {
    const statements = [...planGroup(task.units, this.#merge), ...this.#planAdditions(task.units)];
    const extension = await this.#extension(connection, task.units, false).catch((error: unknown) => {
      if (error instanceof LaneStart) return this.#retrySeparately(task);
      throw error;
    });
    const { number, recordGroup } = this.#recordGroup(task.account);
    const results = task.units.map((): GroupResult => ({ committed: true }));
    this.#inDoubt = { number, results };
    const sent = connection.transaction([...statements, ...extension.checks, ...extension.inserts, recordGroup]);
    const answers = await Promise.allSettled(sent);
    const failed = answers.findIndex(({ status }) => status === 'rejected');
    const answer = answers[failed];
    if (answer?.status !== 'rejected') return this.#finish(extension, results);
    const reason: unknown = answer.reason;
    if (failed === sent.length - 1) throw this.#commitFailed(connection, reason);
    if (reason instanceof ConnectionLost) throw reason;
    // The server reported that a statement failed: the commit behind it committed nothing.
    this.#inDoubt = undefined;
    if (RETRYABLE.has(sqlState(reason) ?? '')) throw new RetryableConflict();
    const place = failed - 1;
    if (place < statements.length) return this.#unitFailed(task, reason);
    throw this.#concurrentWriter(
      place < statements.length + extension.checks.length + extension.inserts.length,
      reason,
    );
  }

  /** A server can fail during the commit, and have committed when it is back. */
  #commitFailed(connection: Connection, reason: unknown): Error {
    if (reason instanceof ConnectionLost) return reason;
    if (!RETRYABLE.has(sqlState(reason) ?? '')) return abandonConnection(connection, failure(reason).message);
    this.#inDoubt = undefined;
    return new RetryableConflict();
  }

  /** One of the units met a conflict or is at fault; running them one by one shows which. */
  #unitFailed(task: Task, reason: unknown): never {
    if (isServerFault(reason)) throw reason;
    return this.#retrySeparately(task);
  }

  #retrySeparately(task: Task): never {
    task.runSeparately = true;
    throw new RetryableConflict();
  }

  #concurrentWriter(inLane: boolean, reason: unknown): unknown {
    const state = sqlState(reason);
    if (state !== CHECK_FAILED && state !== UNIQUE_VIOLATION) return reason;
    if (inLane) this.#appender.changeLane();
    // The writer row was changed by another process, so this writer registers again.
    else this.#registeredConnection = undefined;
    return new RetryableConflict();
  }

  async #runSeparately(connection: Connection, task: Task): Promise<readonly GroupResult[]> {
    await connection.begin();
    const { number, results, extension } = await this.#unitByUnit(connection, task).catch(async (error: unknown) => {
      if (!(error instanceof ConnectionLost)) await connection.command('rollback');
      throw RETRYABLE.has(sqlState(error) ?? '') ? new RetryableConflict() : error;
    });
    this.#inDoubt = { number, results };
    await connection.command('commit').catch((error: unknown) => {
      throw this.#commitFailed(connection, error);
    });
    return this.#finish(extension, results);
  }

  async #unitByUnit(
    connection: Connection,
    task: Task,
  ): Promise<CommitAttempt & { readonly extension: ChainExtension }> {
    const results = await runSeparately(connection, task.units);
    const kept = task.units.filter((_, index) => isCommitted(results[index]));
    for (const statement of this.#planAdditions(kept)) await connection.run(statement);
    const extension = await this.#extension(connection, kept, true);
    const { number, recordGroup } = this.#recordGroup(task.account);
    for (const statement of [...extension.checks, ...extension.inserts])
      await this.#runOrConflict(connection, statement, true);
    await this.#runOrConflict(connection, recordGroup, false);
    return { number, results, extension };
  }

  /** The lane keeps writers from waiting for each other at a row that all of them add to. */
  #planAdditions(units: readonly StoredUnit[]): Statement[] {
    return mergeAdditions(units, this.#appender.lane).map(({ sql, values }) => plain(sql, values));
  }

  async #runOrConflict(connection: Connection, statement: Statement, inLane: boolean): Promise<void> {
    await connection.run(statement).catch((error: unknown) => {
      throw error instanceof ConnectionLost ? error : this.#concurrentWriter(inLane, error);
    });
  }

  async #extension(
    connection: Connection,
    units: readonly StoredUnit[],
    isInTransaction: boolean,
  ): Promise<ChainExtension> {
    const entries = units.flatMap(({ journal = [] }) => journal);
    if (entries.length === 0) return { checks: [], inserts: [], heads: [] };
    return this.#appender.extend(connection, entries, { merge: this.#merge, isInTransaction });
  }

  #finish(extension: ChainExtension, results: readonly GroupResult[]): readonly GroupResult[] {
    this.#appender.committed(extension);
    this.#inDoubt = undefined;
    return results;
  }
}

const isCommitted = (result: GroupResult | undefined): boolean =>
  result !== undefined && 'committed' in result && result.committed;

/** The result of what was sent is unknown; a new connection inquires about it. */
function abandonConnection(connection: Connection, why: string): ConnectionLost {
  connection.destroy();
  return new ConnectionLost(why);
}
