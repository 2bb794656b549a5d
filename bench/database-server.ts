import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { type Postgres, startPostgres } from '../test/fixtures/postgres.ts';
import { findPostgres } from '../test/fixtures/postgres-binaries.ts';

/** Counters of PostgreSQL so far. */
export interface DatabaseUsage {
  /** CPU microseconds of all its processes; not known but on Linux. */
  readonly cpu: number;
  /** Groups of units that the nodes committed. */
  readonly groups: number;
}

/** More than the tests' server has, so that hot pages stay in memory; what is durable is as it comes. */
const SETTINGS = { shared_buffers: '256MB' };
const NS_PER_US = 1000;

const COUNT_GROUPS = 'select coalesce(sum(last_group), 0)::float8 as groups from writers';

/** A PostgreSQL server of the benchmark's own, with a vault's database. */
export class DatabaseServer {
  readonly address: string;
  readonly #postgres: Postgres;
  readonly #client: Client;

  private constructor(postgres: Postgres, address: string) {
    this.#postgres = postgres;
    this.address = address;
    this.#client = new Client({ connectionString: address });
  }

  /** Returns the reason when PostgreSQL is missing. Nothing is installed. */
  static async start(): Promise<DatabaseServer | { readonly why: string }> {
    if (findPostgres() === undefined) return { why: 'no PostgreSQL on this machine' };
    const postgres = await startPostgres({ settings: SETTINGS });
    try {
      const server = new DatabaseServer(postgres, await postgres.newDatabase('vault'));
      await server.#client.connect();
      return server;
    } catch (error) {
      await postgres.stop();
      throw error;
    }
  }

  /** Such as `15.18`. */
  get release(): string {
    return this.#postgres.release;
  }

  async usage(): Promise<DatabaseUsage> {
    const { rows } = await this.#client.query<{ groups: number }>(COUNT_GROUPS);
    return { cpu: cpuBelow(this.#pid()), groups: rows[0]?.groups ?? 0 };
  }

  async stop(): Promise<void> {
    await this.#client.end().catch(() => undefined);
    await this.#postgres.stop();
  }

  #pid(): number {
    return Number(readFileSync(join(this.#postgres.directory, 'data', 'postmaster.pid'), 'utf8').split('\n')[0]);
  }
}

/** Returns the CPU time of all children of a process in microseconds, the first number of schedstat. */
function cpuBelow(parent: number): number {
  if (!existsSync('/proc/self/schedstat')) return Number.NaN;
  const children = readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && parentOf(pid) === parent);
  const nanoseconds = children.map((pid) => Number(readIfThere(`/proc/${pid}/schedstat`).split(' ')[0]));
  return nanoseconds.reduce((sum, each) => sum + each, 0) / NS_PER_US;
}

/** The name in front of it can hold anything. */
const parentOf = (pid: string): number => Number(/^.*\) \S (\d+) /s.exec(readIfThere(`/proc/${pid}/stat`))?.[1]);

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
