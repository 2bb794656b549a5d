import { setTimeout as pause } from 'node:timers/promises';
import type { Client, ClientConfig, CustomTypesConfig, types } from 'pg';
import { type Row, StorageError } from '../database.ts';
import { buildTlsOptions, type PostgresAddress, readPassword } from './address.ts';
import { pg } from './pg.ts';
import {
  breaksConnection,
  describe,
  isPlanOutdated,
  isReplicationWarning,
  sqlState,
  UNKNOWN_STATEMENT,
} from './sqlstate.ts';
import { type Statement, simple } from './statements.ts';

/** How to reach the database, and how long to wait for it. All times in milliseconds. */
export interface PostgresOptions {
  readonly address: PostgresAddress;
  /** Read for each connection, so that a password can be changed while the service runs. */
  readonly passwordFile: string | undefined;
  readonly connectTimeoutMs: number;
  /**
   * Time after which the database cancels a statement; a connection without a response long after that counts as
   * broken.
   */
  readonly statementTimeoutMs: number;
}

/** Time beyond that of a statement: for the network, and for the flush of a commit. */
const OVERDUE_MS = 2000;
/**
 * How long a transaction may be idle between two statements before the server rolls it back: locks of a paused node
 * block others.
 */
const IDLE_MS = 2000;

/**
 * Thrown when the connection was lost, or cannot be established. Statements on their way may have been executed or not.
 */
export class ConnectionLost extends StorageError {
  override readonly name = 'StorageError';
}

/**
 * Parses integers as numbers: ours are below 2^53, and a greater one that someone else wrote becomes the nearest number. All
 * other types use the parsers of pg.
 */
const parsers = ({ builtins, getTypeParser }: typeof types): CustomTypesConfig => ({
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    oid === builtins.INT8 ? Number : getTypeParser(oid, format as 'text')) as typeof getTypeParser,
});

/** One connection, on which statements are sent without waiting for the responses to earlier ones. */
export class Connection {
  readonly #client: Client;
  #lost: ConnectionLost | undefined;
  #pending = 0;
  #timeline = 0;
  #warned = false;
  #details: string[] | undefined;

  private constructor(client: Client) {
    this.#client = client;
    client.on('error', (error) => this.#lose(describe(error)));
    client.on('end', () => this.#lose('it was closed'));
    client.on('notice', (notice) => {
      if (isReplicationWarning(notice)) this.#warned = true;
      if (notice.detail !== undefined) this.#details?.push(notice.detail);
    });
  }

  /**
   * Connects to the primary. Of several hosts that accept writes, it is the one on the newest timeline, which was
   * promoted last. `othersWithinMs`: how long the other hosts are awaited once one has responded.
   */
  static async open(options: PostgresOptions, othersWithinMs = OTHERS_WITHIN_MS): Promise<Connection> {
    const { hosts } = options.address;
    // All hosts concurrently, because a host that is down may not even reject the connection.
    const attempts = hosts.map(({ host, port }) => Connection.#openAt(options, host, port));
    const open: Connection[] = [];
    for (const attempt of attempts) attempt.then((connection) => open.push(connection)).catch(() => undefined);
    try {
      await Promise.any(attempts);
      await Promise.race([Promise.allSettled(attempts), pause(othersWithinMs, undefined, { ref: false })]);
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
    const { Client: PgClient, types: typesOfPg } = pg();
    const client = new PgClient({
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
      types: parsers(typesOfPg),
    } as ClientConfig);
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
    // Compiling plans costs more than our statements do. A server that stops waiting for a standby only warns of it.
    // Writes outside a transaction are rejected: those behind a failed `begin` would otherwise be committed one by one.
    const settings = `set statement_timeout = ${statementTimeoutMs}; set jit = off; set enable_seqscan = off; set enable_hashjoin = off; set enable_mergejoin = off; set client_min_messages = warning;
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
      // A response is sent after its commit is on disk, and on the configured standbys; no setting may weaken that. The session has
      // its own value also where that of the server is strong enough, which a reload of the server's settings could change.
      this.#client.query(`select set_config('synchronous_commit',
        case current_setting('synchronous_commit') when 'remote_apply' then 'remote_apply' else 'on' end, false)`),
    ]);
    if (String(found?.['standby']) === 'true') throw new StorageError('it takes no writes: a standby');
    if (found?.['encoding'] !== 'UTF8') throw new StorageError('its encoding is not UTF8');
    if (Number(found?.['version']) < OLDEST_VERSION) throw new StorageError('it is older than PostgreSQL 14');
  }

  async #learnTimeline(): Promise<void> {
    const [row] = await this.run(simple(TIMELINE));
    this.#timeline = Number.parseInt(String(row?.['timeline']), HEXADECIMAL);
  }

  /**
   * Counts the promotions of a cluster of several hosts: a host with a lower number was replaced. 0 when there is one
   * host.
   */
  get timeline(): number {
    return this.#timeline;
  }

  get isLost(): boolean {
    return this.#lost !== undefined;
  }

  /** Number of responses that are outstanding. */
  get pending(): number {
    return this.#pending;
  }

  /**
   * True when the server has warned of a commit since the last call. It does so when it stops waiting for a standby.
   */
  takeWarning(): boolean {
    const warned = this.#warned;
    this.#warned = false;
    return warned;
  }

  /** Throws `ConnectionLost`, or the error that the server returned, with a `code`. Its texts can contain data. */
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

  /** Without parameters, so that the text may be several statements. */
  async command(text: string): Promise<void> {
    await this.run(simple(text));
  }

  /** Runs one command alone on the connection. Returns the details of the notices that the server sends meanwhile. */
  async commandWithDetails(text: string): Promise<readonly string[]> {
    const details: string[] = [];
    this.#details = details;
    try {
      await this.command(text);
      return details;
    } finally {
      this.#details = undefined;
    }
  }

  /**
   * Sends a transaction in one round trip. Returns the results of its begin, of each statement, and of its commit. The
   * server skips the statements behind one that failed.
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
    // The server may have disappeared without closing the connection.
    await Promise.race([this.#client.end().catch(() => undefined), pause(OVERDUE_MS, undefined, { ref: false })]);
    this.#cut();
  }

  destroy(): void {
    this.#lose('it was abandoned');
  }

  #lose(reason: string): void {
    if (this.#lost !== undefined) return;
    this.#lost = new ConnectionLost(`the connection to the database is gone: ${reason}`);
    this.#cut();
  }

  /** Not by `end`, which would wait for responses that never arrive. */
  #cut(): void {
    this.#wire.stream.destroy();
  }

  get #wire(): Wire {
    return (this.#client as unknown as { connection: Wire }).connection;
  }

  /** The prepared statement was dropped, or no longer matches the tables, which were changed in the meantime. */
  #isStale(error: unknown, name: string): boolean {
    // In a failed transaction nothing is prepared, which has no effect.
    if (sqlState(error) === UNKNOWN_STATEMENT) return this.#wire.parsedStatements[name] !== undefined;
    return isPlanOutdated(error);
  }
}

/** The protocol layer of `pg`. */
interface Wire {
  readonly stream: { destroy(): void; cork(): void; uncork(): void };
  /** The prepared statements of the server, by name. */
  readonly parsedStatements: Readonly<Record<string, string>>;
}

/** A host that is down may not respond at all. */
const OTHERS_WITHIN_MS = 250;
const TIMELINE = 'select substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) as timeline';
const HEXADECIMAL = 16;
const OLDEST_VERSION = 140_000;

const BEGIN = simple('begin read write');
const COMMIT = simple('commit');
