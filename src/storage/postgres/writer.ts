import { setTimeout as pause } from 'node:timers/promises';
import { type Clock, SECOND } from '../../kernel/clock.ts';
import { integer, StorageError, type Unit } from '../database.ts';
import type { GroupResult } from '../group.ts';
import { type Chains, type Extension, LaneBegins } from './chains.ts';
import { type Connection, ConnectionLost } from './connection.ts';
import { type Line, REST_MS } from './line.ts';
import { runOneByOne } from './one-by-one.ts';
import { planGroup } from './plan.ts';
import { CHECK_FAILED, checkedRun, plain, type Statement } from './statements.ts';
import { concernsAll, failure, sqlState, TRY_AGAIN, UNIQUE_VIOLATION } from './states.ts';

/** Epochs never go back, whatever arrives late. */
const REGISTER = `insert into writers (account, id, epoch, groups, seen_at) values (?, ?, ?, ?, ?)
  on conflict (account, id) do update set epoch = excluded.epoch, seen_at = excluded.seen_at
    where writers.epoch <= excluded.epoch
  returning groups`;
const MARK = 'update writers set groups = ?, seen_at = ? where account = ? and id = ? and epoch = ?';
const LEAVE = 'delete from writers where id = ?';

/** How often a group is tried that others get in the way of. */
const ATTEMPTS = 20;
/** How long it is asked what became of a group whose connection broke. */
const INQUIRE_FOR_MS = 10 * SECOND;
/** Registered as the last group by a writer in doubt: found again, its row was gone. */
const ROW_IS_GONE = -1;

/** A transaction on its way to be committed. */
interface Attempt {
  readonly number: number;
  readonly results: readonly GroupResult[];
}

/** What a group is run with. */
interface Task {
  readonly units: readonly Unit[];
  /** Whose writer row marks the group: with sharding the account of the units, else ''. */
  readonly account: string;
  careful: boolean;
  /** The database was there: what breaks from now on is tried again. */
  reached: boolean;
}

/** Something got in the way, nothing happened, and the group is to be tried again. */
class Again extends Error {}

/** Writes groups of units, one at a time, each as one transaction. */
export class Writer {
  readonly #line: Line;
  readonly #chains: Chains;
  readonly #id: string;
  readonly #clock: Clock;
  readonly #merge: boolean;
  /** The connection that the registrations hold for, and the accounts that have one. */
  #known: Connection | undefined;
  readonly #registered = new Set<string>();
  #epoch = 0;
  #number = 0;
  /** The attempt whose end is not known, once its connection broke. */
  #doubt: Attempt | undefined;

  constructor(options: { line: Line; chains: Chains; id: string; clock: Clock; merge: boolean }) {
    this.#line = options.line;
    this.#chains = options.chains;
    this.#id = options.id;
    this.#clock = options.clock;
    this.#merge = options.merge;
  }

  /** Resolves when the group is on disk. Throws `StorageError` when nothing can be said of it. */
  async run(units: readonly Unit[], account: string): Promise<readonly GroupResult[]> {
    const task: Task = { units, account, careful: false, reached: false };
    this.#doubt = undefined;
    let tooLate: AbortSignal | undefined;
    for (let attempt = 0; attempt < ATTEMPTS; ) {
      try {
        return await this.#try(task);
      } catch (error) {
        if (error instanceof ConnectionLost) {
          this.#chains.forget();
          // Away from the start; or for so long that nobody waits for the answer any more.
          tooLate ??= AbortSignal.timeout(INQUIRE_FOR_MS);
          if (!task.reached || tooLate.aborted) throw error;
          await pause(REST_MS);
        } else if (error instanceof Again) {
          attempt++;
          await pause(attempt);
        } else throw failure(error);
      }
    }
    throw new StorageError('others keep changing what a group of writes is about');
  }

  /** Removes its rows: nobody will ask about its groups any more. */
  async leave(): Promise<void> {
    if (this.#epoch === 0) return;
    const connection = await this.#line.connection();
    await Promise.all(connection.transaction([plain(LEAVE, [this.#id])]));
  }

  async #try(task: Task): Promise<readonly GroupResult[]> {
    const connection = await this.#line.connection();
    if (this.#doubt !== undefined || connection !== this.#known || !this.#registered.has(task.account)) {
      const committed = await this.#register(connection, task.account);
      const doubt = this.#doubt;
      this.#doubt = undefined;
      if (doubt !== undefined && committed === doubt.number) return doubt.results;
    }
    task.reached = true;
    const results = task.careful ? await this.#carefully(connection, task) : await this.#atOnce(connection, task);
    // The server gave up waiting for a standby: only a later write that is on the standby shows that this one is.
    if (connection.takeWarning()) {
      this.#doubt = { number: this.#number, results };
      throw giveUp(connection, 'a commit was not confirmed by a standby');
    }
    return results;
  }

  /**
   * Begins a new epoch, in which nothing is committed any more that was sent in the one before. Returns the number of the
   * last group that was. It is a durable write itself, so that what it returns is as durable.
   */
  async #register(connection: Connection, account: string): Promise<number> {
    if (connection !== this.#known) {
      this.#registered.clear();
      this.#known = undefined;
      this.#epoch++;
    }
    const inDoubt = this.#doubt !== undefined;
    const groups = inDoubt ? ROW_IS_GONE : 0;
    const register = plain(REGISTER, [account, this.#id, this.#epoch, groups, this.#clock()]);
    try {
      const [, rows] = await Promise.all(connection.transaction([register]));
      const committed = integer(rows?.[0] ?? {}, 'groups');
      // It says something only if it is as durable as a group is.
      if (connection.takeWarning() && inDoubt) throw giveUp(connection, 'a standby does not answer');
      if (inDoubt && committed === ROW_IS_GONE) throw new StorageError('nobody knows what became of a write');
      this.#known = connection;
      this.#registered.add(account);
      return committed;
    } catch (error) {
      // Any answer but the one that is needed: it is asked again.
      throw inDoubt && !(error instanceof StorageError) ? giveUp(connection, failure(error).message) : error;
    }
  }

  #mark(account: string): { number: number; mark: Statement } {
    const number = ++this.#number;
    return { number, mark: checkedRun(MARK, [number, this.#clock(), account, this.#id, this.#epoch], 1) };
  }

  /** All units with as few statements as there are kinds of them, in one round trip. */
  async #atOnce(connection: Connection, task: Task): Promise<readonly GroupResult[]> {
    const statements = planGroup(task.units, this.#merge);
    const extension = await this.#extension(connection, task.units, false).catch((error: unknown) => {
      if (error instanceof LaneBegins) return this.#inOneTransaction(task);
      throw error;
    });
    const { number, mark } = this.#mark(task.account);
    const results = task.units.map((): GroupResult => ({ committed: true }));
    this.#doubt = { number, results };
    const sent = connection.transaction([...statements, ...extension.moves, ...extension.inserts, mark]);
    const answers = await Promise.allSettled(sent);
    const failed = answers.findIndex(({ status }) => status === 'rejected');
    const answer = answers[failed];
    if (answer?.status !== 'rejected') return this.#done(extension, results);
    const reason: unknown = answer.reason;
    if (failed === sent.length - 1) throw this.#commitFailed(connection, reason);
    if (reason instanceof ConnectionLost) throw reason;
    // An answer of the server that a statement failed: the commit behind it was none.
    this.#doubt = undefined;
    if (TRY_AGAIN.has(sqlState(reason) ?? '')) throw new Again();
    const place = failed - 1;
    if (place < statements.length) return this.#unitFailed(task, reason);
    throw this.#somebodyElse(place < statements.length + extension.moves.length + extension.inserts.length, reason);
  }

  /** A server can fail while it commits, and have committed when it is back. */
  #commitFailed(connection: Connection, reason: unknown): Error {
    if (reason instanceof ConnectionLost) return reason;
    if (!TRY_AGAIN.has(sqlState(reason) ?? '')) return giveUp(connection, failure(reason).message);
    this.#doubt = undefined;
    return new Again();
  }

  /** One of the units met something unexpected, or is at fault: which one, shows when they are run one by one. */
  #unitFailed(task: Task, reason: unknown): never {
    if (concernsAll(reason)) throw reason;
    return this.#inOneTransaction(task);
  }

  #inOneTransaction(task: Task): never {
    task.careful = true;
    throw new Again();
  }

  #somebodyElse(inLane: boolean, reason: unknown): unknown {
    const state = sqlState(reason);
    if (state !== CHECK_FAILED && state !== UNIQUE_VIOLATION) return reason;
    if (inLane) this.#chains.changeLane();
    // Its row is not as it was left: it registers anew.
    else this.#known = undefined;
    return new Again();
  }

  async #carefully(connection: Connection, task: Task): Promise<readonly GroupResult[]> {
    await connection.begin();
    const { number, results, extension } = await this.#unitByUnit(connection, task).catch(async (error: unknown) => {
      if (!(error instanceof ConnectionLost)) await connection.command('rollback');
      throw TRY_AGAIN.has(sqlState(error) ?? '') ? new Again() : error;
    });
    this.#doubt = { number, results };
    await connection.command('commit').catch((error: unknown) => {
      throw this.#commitFailed(connection, error);
    });
    return this.#done(extension, results);
  }

  async #unitByUnit(connection: Connection, task: Task): Promise<Attempt & { readonly extension: Extension }> {
    const results = await runOneByOne(connection, task.units);
    const kept = task.units.filter((_, index) => isCommitted(results[index]));
    const extension = await this.#extension(connection, kept, true);
    const { number, mark } = this.#mark(task.account);
    for (const statement of [...extension.moves, ...extension.inserts]) await this.#orElse(connection, statement, true);
    await this.#orElse(connection, mark, false);
    return { number, results, extension };
  }

  async #orElse(connection: Connection, statement: Statement, inLane: boolean): Promise<void> {
    await connection.run(statement).catch((error: unknown) => {
      throw error instanceof ConnectionLost ? error : this.#somebodyElse(inLane, error);
    });
  }

  async #extension(connection: Connection, units: readonly Unit[], isInTransaction: boolean): Promise<Extension> {
    const entries = units.flatMap(({ journal = [] }) => journal);
    if (entries.length === 0) return { moves: [], inserts: [], heads: [] };
    return this.#chains.extend(connection, entries, { merge: this.#merge, isInTransaction });
  }

  #done(extension: Extension, results: readonly GroupResult[]): readonly GroupResult[] {
    this.#chains.committed(extension);
    this.#doubt = undefined;
    return results;
  }
}

const isCommitted = (result: GroupResult | undefined): boolean =>
  result !== undefined && 'committed' in result && result.committed;

/** What was on its way is in doubt, and is asked about on a new connection. */
function giveUp(connection: Connection, why: string): ConnectionLost {
  connection.destroy();
  return new ConnectionLost(why);
}
