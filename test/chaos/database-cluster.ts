import { randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { Client } from 'pg';
import { type Binaries, installPostgres } from '../fixtures/postgres-binaries.ts';

const DATABASE = 'vault';
const WITHIN_MS = 240_000;
const POLL_INTERVAL_MS = 50;
const CONNECTS_WITHIN_MS = 5000;

/** Rows as texts and numbers. */
export type Row = Readonly<Record<string, unknown>>;

/** Two servers of one database, and who decides which of them accepts writes. */
export interface DatabaseCluster {
  /** Such as `15.18`. */
  readonly release: string;
  readonly servers: ServerPair;
  /** Kills the primary, as a loss of power does. */
  killPrimary(): Promise<void>;
  /** Resolves when the standby accepts writes. */
  promote(): Promise<void>;
  /** Resolves when the server that is not the primary is its synchronous standby again. */
  addStandby(): Promise<void>;
  fillDisk(): void;
  freeDisk(): void;
  stop(): Promise<void>;
}

/** Stops what the cluster has started when its start fails. */
export async function startOrStop<Started extends DatabaseCluster>(
  cluster: Started,
  start: () => Promise<void>,
): Promise<Started> {
  try {
    await start();
    return cluster;
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}

export function neededPostgres(): Binaries {
  const binaries = installPostgres();
  if ('why' in binaries) throw new Error(binaries.why);
  return binaries;
}

interface DatabaseServer {
  readonly name: string;
  /** On 127.0.0.1. */
  readonly port: number;
}

/** The servers of a cluster, and the users of their database. */
export class ServerPair<Server extends DatabaseServer = DatabaseServer> {
  readonly all: readonly [Server, Server];
  readonly superuser = { username: 'postgres', password: newPassword() };
  readonly #password = newPassword();
  #primary: 0 | 1 = 0;

  constructor(one: Server, two: Server) {
    this.all = [one, two];
  }

  get primary(): Server {
    return this.all[this.#primary];
  }

  get standby(): Server {
    return this.all[this.#primary === 0 ? 1 : 0];
  }

  get ports(): readonly number[] {
    return this.all.map(({ port }) => port);
  }

  /** Returns the database address of a node, by the ports at which it reaches the two servers. */
  address(ports: readonly number[]): string {
    const hosts = ports.map((port) => `127.0.0.1:${port}`).join(',');
    return `postgres://cardvault:${this.#password}@${hosts}/${DATABASE}`;
  }

  /** The address of one server for the superuser. */
  superuserAddress({ port }: DatabaseServer, database = 'postgres'): string {
    const { username, password } = this.superuser;
    return `postgres://${username}:${password}@127.0.0.1:${port}/${database}`;
  }

  /** Runs as the superuser in the database of the vault, on the primary. */
  query(sql: string): Promise<Row[]> {
    return this.#query(this.superuserAddress(this.primary, DATABASE), sql);
  }

  /** Runs as the superuser outside of that database. */
  queryOn(server: DatabaseServer, sql: string): Promise<Row[]> {
    return this.#query(this.superuserAddress(server), sql);
  }

  async createDatabase(): Promise<void> {
    await this.queryOn(this.primary, `create role cardvault login password '${this.#password}'`);
    await this.queryOn(this.primary, `create database ${DATABASE} owner cardvault`);
  }

  /** Waits until this server accepts writes. */
  async untilWritable(server: DatabaseServer): Promise<void> {
    await until(`server ${server.name} accepts no writes`, async () => {
      const [row] = await this.queryOn(server, 'select not pg_is_in_recovery() as writes');
      return row?.['writes'] === true;
    });
  }

  /** Waits until the standby accepts writes: from then on it is the primary. */
  async untilPromoted(): Promise<void> {
    await this.untilWritable(this.standby);
    this.#primary = this.#primary === 0 ? 1 : 0;
  }

  /** Waits until commits wait for the standby. */
  async untilSynchronous(): Promise<void> {
    const sql = `select 1 from pg_stat_replication where application_name = '${this.standby.name}' and sync_state = 'sync'`;
    await until('the standby does not keep up', async () => (await this.queryOn(this.primary, sql)).length > 0);
  }

  async #query(connectionString: string, sql: string): Promise<Row[]> {
    const client = new Client({ connectionString, connectionTimeoutMillis: CONNECTS_WITHIN_MS });
    client.on('error', () => undefined);
    await client.connect();
    try {
      return await queryRows(client, sql);
    } finally {
      await client.end();
    }
  }
}

/** Repeats until it is true; a server that is down is none of the failures. */
export async function until(failure: string, isTrue: () => Promise<boolean>): Promise<void> {
  let last: unknown;
  for (const end = Date.now() + WITHIN_MS; Date.now() < end; await wait(POLL_INTERVAL_MS)) {
    try {
      if (await isTrue()) return;
    } catch (error) {
      last = error;
    }
  }
  throw new Error(failure, { cause: last });
}

/** Integers of 64 bits, for which pg returns texts, are numbers here. */
async function queryRows(client: Client, sql: string): Promise<Row[]> {
  const { rows, fields } = await client.query(sql);
  const wide = fields.filter(({ dataTypeID }) => dataTypeID === 20).map(({ name }) => name);
  for (const row of rows) for (const name of wide) if (row[name] !== null) row[name] = Number(row[name]);
  return rows;
}

const newPassword = (): string => randomBytes(16).toString('hex');

/** The settings of every server. */
export const SETTINGS = {
  listen_addresses: '127.0.0.1',
  shared_buffers: '64MB',
  max_connections: '100',
  max_wal_size: '256MB',
  wal_level: 'replica',
  wal_keep_size: '128MB',
  hot_standby: 'on',
  synchronous_commit: 'on',
  fsync: 'on',
};

/** The lines of `pg_hba.conf` of every server. */
export const ACCESS_RULES = ['all postgres', 'replication postgres', `${DATABASE} cardvault`].map(
  (rule) => `host ${rule} 127.0.0.1/32 scram-sha-256`,
);
