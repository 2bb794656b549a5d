import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { type Postgres, startPostgres } from '../test/fixtures/postgres.ts';
import { findPostgres } from '../test/fixtures/postgres-binaries.ts';
import { cpuOf } from './processes.ts';

/** More than the tests' server has, so that hot pages stay in memory; what is durable is as it comes. */
const SETTINGS = { shared_buffers: '256MB' };

/** A PostgreSQL server of the benchmark's own. */
export class DatabaseServer {
  readonly #postgres: Postgres;

  private constructor(postgres: Postgres) {
    this.#postgres = postgres;
  }

  /** Returns undefined when PostgreSQL is missing. Nothing is installed. */
  static async start(settings: Readonly<Record<string, string>> = {}): Promise<DatabaseServer | undefined> {
    if (findPostgres() === undefined) return undefined;
    return new DatabaseServer(await startPostgres({ settings: { ...SETTINGS, ...settings } }));
  }

  /** Returns the address of a new database. */
  newDatabase(name: string): Promise<string> {
    return this.#postgres.newDatabase(name);
  }

  /** The address of the superuser. */
  get superuser(): string {
    return this.#postgres.ways.superuser;
  }

  /** Such as `15.18`. */
  get release(): string {
    return this.#postgres.release;
  }

  /** CPU microseconds of all its processes so far. */
  get cpu(): number {
    return cpuOf(Number(readFileSync(join(this.#postgres.directory, 'data', 'postmaster.pid'), 'utf8').split('\n')[0]));
  }

  read(address: string, sql: string): Promise<Record<string, unknown>[]> {
    return query(address, sql);
  }

  /** Returns the bytes of a database with its indexes. */
  async bytesOf(address: string): Promise<number> {
    const rows = await query(address, 'select pg_database_size(current_database()) as bytes');
    return Number(rows[0]?.['bytes']);
  }

  /** Does what the server itself does some time after many writes, so that no figure contains it. */
  async tidy(address: string): Promise<void> {
    await query(address, 'vacuum analyze');
    await query(this.superuser, 'checkpoint');
  }

  stop(): Promise<void> {
    return this.#postgres.stop();
  }
}

async function query(address: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: address });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}
