import { setTimeout as pause } from 'node:timers/promises';
import { type Clock, SECOND } from '../../kernel/clock.ts';
import { integer, StorageError, type UnitOfWork } from '../database.ts';
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
    columns: { account: 'text', id: 'text', epoch: 'integer', last_group: 'integer', last_seen_at: 'integer' },
    isLocal: true,
  },
];

/** Epochs never go back, whatever arrives late. */
const REGISTER = `insert into writers (account, id, epoch, last_group, last_seen_at) values (?, ?, ?, ?, ?)
  on conflict (account, id) do update set epoch = excluded.epoch, last_seen_at = excluded.last_seen_at
    where writers.epoch <= excluded.epoch
  returning last_group`;
const RECORD_GROUP = 'update writers set last_group = ?, last_seen_at = ? where account = ? and id = ? and epoch = ?';
const DEREGISTER = 'delete from writers where id = ?';

/** How often a group is tried that others get in the way of. */
const MAX_ATTEMPTS = 20;
/** How long it is asked what became of a group whose connection broke. */
const MAX_INQUIRY_MS = 10 * SECOND;
/** Registered as the last group by a writer in doubt: found again, its row was gone. */
const ROW_MISSING = -1;

/** A transaction on its way to be committed. */
interface CommitAttempt {
  readonly number: number;
  readonly results: readonly GroupResult[];
}

/** What a group is run with. */
interface Task {
  readonly units: readonly UnitOfWork[];
  /** Whose writer row marks the group: with sharding the account of the units, else ''. */
  readonly account: string;
  runSeparately: boolean;
  /** The database was there: what breaks from now on is tried again. */
  reached: boolean;
}

/** Something got in the way, nothing happened, and the group is to be tried again. */
class RetryableConflict extends Error {}

/** Writes groups of units, one at a time, each as one transaction. */
export class GroupWriter {
  readonly #connection: ReconnectingConnection;
  readonly #appender: ChainAppender;
  readonly #id: string;
  readonly #clock: Clock;
  readonly #merge: boolean;
  /** The connection that the registrations hold for, and the accounts that have one. */
  #registeredConnection: Connection | undefined;
  readonly #registered = new Set<string>();
  #epoch = 0;
  #number = 0;
  /** The attempt whose end is not known, once its connection broke. */
  #inDoubt: CommitAttempt | undefined;

  constructor(options: {
    line: ReconnectingConnection;
    chains: ChainAppender;
    id: string;
    clock: Clock;
    merge: boolean;
  }) {
    this.#connection = options.line;
    this.#appender = options.chains;
    this.#id = options.id;
    this.#clock = options.clock;
    this.#merge = options.merge;
  }

  /** Resolves when the group is on disk. Throws `StorageError` when nothing can be said of it. */
  async run(units: readonly UnitOfWork[], account: string): Promise<readonly GroupResult[]> {
    const task: Task = { units, account, runSeparately: false, reached: false };
    this.#inDoubt = undefined;
    let tooLate: AbortSignal | undefined;
    for (let attempt = 0; attempt < MAX_ATTEMPTS; ) {
      try {
        return await this.#try(task);
      } catch (error) {
        if (error instanceof ConnectionLost) {
          this.#appender.forget();
          // Away from the start; or for so long that nobody waits for the answer any more.
          tooLate ??= AbortSignal.timeout(MAX_INQUIRY_MS);
          if (!task.reached || tooLate.aborted) throw error;
          await pause(RECONNECT_PAUSE_MS);
        } else if (error instanceof RetryableConflict) {
          attempt++;
          await pause(attempt);
        } else throw failure(error);
      }
    }
    throw new StorageError('others keep changing what a group of writes is about');
  }

  /** Removes its rows: nobody will ask about its groups any more. */
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
    // The server gave up waiting for a standby: only a later write that is on the standby shows that this one is.
    if (connection.takeWarning()) {
      this.#inDoubt = { number: this.#number, results };
      throw abandonConnection(connection, 'a commit was not confirmed by a standby');
    }
    return results;
  }

  /**
   * Begins a new epoch, in which nothing is committed any more that was sent in the one before. Returns the number of the
   * last group that was. It is a durable write itself, so that what it returns is as durable.
   */
  async #register(connection: Connection, account: string): Promise<number> {
    if (connection !== this.#registeredConnection) {
      this.#registered.clear();
      this.#registeredConnection = undefined;
      this.#epoch++;
    }
    const inDoubt = this.#inDoubt !== undefined;
    const lastGroup = inDoubt ? ROW_MISSING : 0;
    const register = plain(REGISTER, [account, this.#id, this.#epoch, lastGroup, this.#clock()]);
    try {
      const [, rows] = await Promise.all(connection.transaction([register]));
      const committed = integer(rows?.[0] ?? {}, 'last_group');
      // It says something only if it is as durable as a group is.
      if (connection.takeWarning() && inDoubt) throw abandonConnection(connection, 'a standby does not answer');
      if (inDoubt && committed === ROW_MISSING) throw new StorageError('nobody knows what became of a write');
      this.#registeredConnection = connection;
      this.#registered.add(account);
      return committed;
    } catch (error) {
      // Any answer but the one that is needed: it is asked again.
      throw inDoubt && !(error instanceof StorageError) ? abandonConnection(connection, failure(error).message) : error;
    }
  }

  #recordGroup(account: string): { number: number; recordGroup: Statement } {
    const number = ++this.#number;
    return {
      number,
      recordGroup: checkedRun(RECORD_GROUP, [number, this.#clock(), account, this.#id, this.#epoch], 1),
    };
  }

  /** All units with as few statements as there are kinds of them, in one round trip. */
  async #runTogether(connection: Connection, task: Task): Promise<readonly GroupResult[]> {
    const statements = planGroup(task.units, this.#merge);
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
    // An answer of the server that a statement failed: the commit behind it was none.
    this.#inDoubt = undefined;
    if (RETRYABLE.has(sqlState(reason) ?? '')) throw new RetryableConflict();
    const place = failed - 1;
    if (place < statements.length) return this.#unitFailed(task, reason);
    throw this.#concurrentWriter(
      place < statements.length + extension.checks.length + extension.inserts.length,
      reason,
    );
  }

  /** A server can fail while it commits, and have committed when it is back. */
  #commitFailed(connection: Connection, reason: unknown): Error {
    if (reason instanceof ConnectionLost) return reason;
    if (!RETRYABLE.has(sqlState(reason) ?? '')) return abandonConnection(connection, failure(reason).message);
    this.#inDoubt = undefined;
    return new RetryableConflict();
  }

  /** One of the units met something unexpected, or is at fault: which one, shows when they are run one by one. */
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
    // Its row is not as it was left: it registers anew.
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
    const extension = await this.#extension(connection, kept, true);
    const { number, recordGroup } = this.#recordGroup(task.account);
    for (const statement of [...extension.checks, ...extension.inserts])
      await this.#runOrConflict(connection, statement, true);
    await this.#runOrConflict(connection, recordGroup, false);
    return { number, results, extension };
  }

  async #runOrConflict(connection: Connection, statement: Statement, inLane: boolean): Promise<void> {
    await connection.run(statement).catch((error: unknown) => {
      throw error instanceof ConnectionLost ? error : this.#concurrentWriter(inLane, error);
    });
  }

  async #extension(
    connection: Connection,
    units: readonly UnitOfWork[],
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

/** What was on its way is in doubt, and is asked about on a new connection. */
function abandonConnection(connection: Connection, why: string): ConnectionLost {
  connection.destroy();
  return new ConnectionLost(why);
}
