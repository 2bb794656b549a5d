import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { type Row, StorageError } from '../database.ts';
import type { PostgresAddress } from './address.ts';
import { buildTlsOptions, readPassword } from './credentials.ts';
import {
  breaksConnection,
  describe,
  isPlanOutdated,
  isReplicationWarning,
  sqlState,
  UNKNOWN_STATEMENT,
} from './sqlstate.ts';
import { type Statement, simple } from './statements.ts';

/** How to reach the database, and for how long to wait for it. All times in milliseconds. */
export interface PostgresOptions {
  readonly address: PostgresAddress;
  /** Read anew for each connection, so that a password can be changed while the service runs. */
  readonly passwordFile: string | undefined;
  readonly connectTimeoutMs: number;
  /** After which the database gives up a statement; an answer that is long overdue counts as a broken connection. */
  readonly statementTimeoutMs: number;
}

/** Beyond the time the database has for a statement: for the network, and for the flush of a commit. */
const OVERDUE_MS = 2000;
/** How long a transaction may stand still between two statements before it is undone: locks of a stopped node bar others. */
const IDLE_MS = 2000;

/** The connection is gone, or cannot be made; what was on its way may have happened or not. */
export class ConnectionLost extends StorageError {
  override readonly name = 'StorageError';
}

const { builtins } = pg.types;

/** Whole numbers as numbers: ours are below 2^53. Anything else as pg does by itself. */
const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    oid === builtins.INT8 ? Number : pg.types.getTypeParser(oid, format as 'text')) as typeof pg.types.getTypeParser,
};

/** One connection, on which statements are sent without waiting for the answers of those before. */
export class Connection {
  readonly #client: pg.Client;
  #lost: ConnectionLost | undefined;
  #pending = 0;
  #timeline = 0;
  #warned = false;

  private constructor(client: pg.Client) {
    this.#client = client;
    client.on('error', (error) => this.#lose(describe(error)));
    client.on('end', () => this.#lose('it was closed'));
    client.on('notice', (notice) => {
      if (isReplicationWarning(notice)) this.#warned = true;
    });
  }

  /** Connects to the host that takes writes; of several, to the one on the newest timeline, which has been promoted last. */
  static async open(options: PostgresOptions): Promise<Connection> {
    const { hosts } = options.address;
    // All at once, because a host that is down may not even refuse.
    const attempts = hosts.map(({ host, port }) => Connection.#openAt(options, host, port));
    const open: Connection[] = [];
    for (const attempt of attempts) attempt.then((connection) => open.push(connection)).catch(() => undefined);
    try {
      await Promise.any(attempts);
      await Promise.race([Promise.allSettled(attempts), pause(OTHERS_WITHIN_MS, undefined, { ref: false })]);
      const newest = open.reduce((best, other) => (other.#timeline > best.#timeline ? other : best));
      for (const attempt of attempts)
        attempt.then((other) => (other === newest ? undefined : other.close())).catch(() => undefined);
      return newest;
    } catch (error) {
      const reasons = (error as AggregateError).errors.map(
        (reason, index) => `${hosts[index]?.host}:${hosts[index]?.port}: ${describe(reason)}`,
      );
      throw new ConnectionLost(`the database cannot be reached: ${reasons.join('; ')}`);
    }
  }

  static async #openAt(options: PostgresOptions, host: string, port: number): Promise<Connection> {
    const { address, connectTimeoutMs, statementTimeoutMs } = options;
    const client = new pg.Client({
      host,
      port,
      database: address.database,
      user: address.user,
      password: readPassword(address, options.passwordFile),
      ssl: host.startsWith('/') ? false : buildTlsOptions(address),
      application_name: 'cardvault',
      connectionTimeoutMillis: connectTimeoutMs,
      query_timeout: statementTimeoutMs + OVERDUE_MS,
      keepAlive: true,
      pipeline: true,
      types,
    } as pg.ClientConfig);
    const connection = new Connection(client);
    try {
      await client.connect();
      await connection.#setUp(statementTimeoutMs);
      if (address.hosts.length > 1) await connection.#learnTimeline();
      connection.takeWarning();
      return connection;
    } catch (error) {
      connection.destroy();
      throw error;
    }
  }

  async #setUp(statementTimeoutMs: number): Promise<void> {
    // Compiling plans costs more than our statements do.
    // A server that gives up waiting for a standby only warns of it.
    // Writes outside a transaction are refused: those behind a `begin` that failed would each be committed by themselves.
    const settings = `set statement_timeout = ${statementTimeoutMs}; set jit = off; set client_min_messages = warning;
      set idle_in_transaction_session_timeout = ${IDLE_MS};
      set default_transaction_isolation = 'read committed'; set default_transaction_read_only = on`;
    const [, [found]] = await Promise.all([
      this.#client.query(settings),
      this.run({
        name: '',
        text: `select pg_is_in_recovery() as standby, current_setting('server_encoding') as encoding,
          current_setting('server_version_num')::int as version`,
        values: [],
      }),
      // An answer leaves after its commit is on disk, and on the standbys that were asked for; never weaker than that.
      this.#client.query(`select set_config('synchronous_commit', 'on', false)
        where current_setting('synchronous_commit') in ('off', 'local', 'remote_write')`),
    ]);
    if (String(found?.['standby']) === 'true') throw new StorageError('it takes no writes: a standby');
    if (found?.['encoding'] !== 'UTF8') throw new StorageError('its encoding is not UTF8');
    if (Number(found?.['version']) < OLDEST_VERSION) throw new StorageError('it is older than PostgreSQL 14');
  }

  async #learnTimeline(): Promise<void> {
    const [row] = await this.run(simple(TIMELINE));
    this.#timeline = Number.parseInt(String(row?.['timeline']), HEXADECIMAL);
  }

  /** Counts the promotions of a cluster of several hosts: what is on an older one was replaced. 0 when there is one host. */
  get timeline(): number {
    return this.#timeline;
  }

  get isLost(): boolean {
    return this.#lost !== undefined;
  }

  /** Answers that have not come yet. */
  get pending(): number {
    return this.#pending;
  }

  /** Did the server warn of a commit since the last time? It does when it gave up waiting for a standby. */
  takeWarning(): boolean {
    const warned = this.#warned;
    this.#warned = false;
    return warned;
  }

  /** Throws `ConnectionLost`, or what the server answered: an error with a `code`, whose texts can hold data. */
  async run({ name, text, values }: Statement): Promise<Row[]> {
    if (this.#lost !== undefined) throw this.#lost;
    this.#pending++;
    try {
      const answer = await this.#client.query<Row>({ ...(name !== '' && { name }), text, values: values as unknown[] });
      return answer.rows;
    } catch (error) {
      if (breaksConnection(error) || this.#isStale(error, name)) this.#lose(describe(error));
      throw this.#lost ?? error;
    } finally {
      this.#pending--;
    }
  }

  /** Without parameters, so that it may be several statements. */
  async command(text: string): Promise<void> {
    await this.run(simple(text));
  }

  /**
   * One transaction in one round trip: the answers to its beginning, to each statement, and to its commit. The server
   * skips what stands behind a statement that failed.
   */
  transaction(statements: readonly Statement[]): Promise<Row[]>[] {
    const { stream } = this.#wire;
    // One packet, not one for each message.
    stream.cork();
    try {
      return [BEGIN, ...statements, COMMIT].map((statement) => this.run(statement));
    } finally {
      stream.uncork();
    }
  }

  async begin(): Promise<void> {
    await this.run(BEGIN);
  }

  async close(): Promise<void> {
    if (this.#lost !== undefined) return;
    this.#lost = new ConnectionLost('the database is closed');
    // The other side may be gone without a word.
    await Promise.race([this.#client.end().catch(() => undefined), pause(OVERDUE_MS, undefined, { ref: false })]);
    this.#cut();
  }

  destroy(): void {
    this.#lose('it was given up');
  }

  #lose(reason: string): void {
    if (this.#lost !== undefined) return;
    this.#lost = new ConnectionLost(`the connection to the database is gone: ${reason}`);
    this.#cut();
  }

  /** Not by `end`, which would wait for answers that never come. */
  #cut(): void {
    this.#wire.stream.destroy();
  }

  get #wire(): Wire {
    return (this.#client as unknown as { connection: Wire }).connection;
  }

  /** What was prepared is gone, or no longer fits the tables, which were changed meanwhile. */
  #isStale(error: unknown, name: string): boolean {
    // In a transaction that has failed nothing is prepared, which is no loss.
    if (sqlState(error) === UNKNOWN_STATEMENT) return this.#wire.parsedStatements[name] !== undefined;
    return isPlanOutdated(error);
  }
}

/** What lies below the client of `pg`. */
interface Wire {
  readonly stream: { destroy(): void; cork(): void; uncork(): void };
  /** What the server has prepared, by name. */
  readonly parsedStatements: Readonly<Record<string, string>>;
}

/** How long the other hosts are waited for once one has answered. */
const OTHERS_WITHIN_MS = 250;
const TIMELINE = 'select substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) as timeline';
const HEXADECIMAL = 16;
const OLDEST_VERSION = 140_000;

const BEGIN = simple('begin read write');
const COMMIT = simple('commit');
