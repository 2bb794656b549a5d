import assert from 'node:assert/strict';
import { createSecretKey, randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { verifyJournal } from '../../src/audit/verify-journal.ts';
import { DigestKeys } from '../../src/crypto/digest-keys.ts';
import { systemRandom } from '../../src/crypto/random.ts';
import { type CommitResult, type UnitOfWork, type Value, type Write, write } from '../../src/storage/database.ts';
import { parseAddress } from '../../src/storage/postgres/address.ts';
import { PostgresDatabase, type PostgresPool } from '../../src/storage/postgres/postgres.ts';
import { insertAccounts, nextNumber } from '../fixtures/accounts.ts';
import { initializeJournal } from '../fixtures/journals.ts';
import { sharedPostgres } from '../fixtures/postgres.ts';
import { WireProxy } from './wire-proxy.ts';

const NOW = 1_700_000_000_000;
export const COMMITTED: CommitResult = { committed: true };
export const INSERT = 'insert into accounts (id, number, name, suspended_at, created_at) values (?, ?, ?, ?, ?)';
export const INSERT_NEW = `${INSERT} on conflict do nothing`;
const COUNT = 'update accounts set created_at = created_at + 1 where id = ?';

export const insert = (id: string, sql = INSERT): Write => write(sql, [id, nextNumber(), 'name', null, 0], 1);

const entry = (account: string, record: string) => ({ account, environment: 'sandbox', at: NOW, record });

/** Whatever happens twice shows: a row, a step of the counter, a record of the journal. */
export const insertRow = (id: string): UnitOfWork => ({
  writes: [insert(id), write(COUNT, ['counter'], 1)],
  journal: [entry('a', `"${id}"`)],
});

/** A database of its own with a driver on it, and eyes that see it by another way. */
export class PostgresFixture {
  readonly journalKey: DigestKeys = DigestKeys.of(createSecretKey(randomBytes(32)));
  readonly address: string;
  readonly #opened: PostgresDatabase[] = [];
  readonly #proxies: WireProxy[] = [];
  readonly eyes: PostgresDatabase;

  private constructor(address: string) {
    this.address = address;
    this.eyes = this.open(address);
  }

  /** Migrated, with a counter at 0. */
  static async on(address: string): Promise<PostgresFixture> {
    const rig = new PostgresFixture(address);
    await rig.eyes.migrate(() => NOW);
    await initializeJournal(rig.eyes, rig.journalKey);
    await insertAccounts(rig.eyes, ['a']);
    assert.deepEqual(await rig.eyes.commit({ writes: [insert('counter')] }), COMMITTED);
    return rig;
  }

  static async shared(): Promise<PostgresFixture> {
    return PostgresFixture.on(await (await sharedPostgres()).newDatabase());
  }

  open(
    address = this.address,
    options: Partial<PostgresPool> & { below?: (bound: number) => number } = {},
  ): PostgresDatabase {
    const pool = {
      address: parseAddress(address),
      passwordFile: undefined,
      connectTimeoutMs: 2000,
      statementTimeoutMs: 5000,
      writers: 1,
      readers: 1,
      sharded: false,
      ...options,
    };
    const random = systemRandom();
    if (options.below !== undefined) random.below = options.below;
    const database = new PostgresDatabase(pool, { clock: () => NOW, random });
    void database.useJournalKey(this.journalKey);
    this.#opened.push(database);
    return database;
  }

  /** A database by way of a proxy. */
  async throughProxy(
    options: Parameters<PostgresFixture['open']>[1] = {},
  ): Promise<{ proxy: WireProxy; database: PostgresDatabase }> {
    const { proxy, address } = await WireProxy.before(this.address);
    this.#proxies.push(proxy);
    const database = this.open(address, options);
    // Otherwise the first commit of a connection would read it through the proxy.
    database.nameAccount('a', 1);
    return { proxy, database };
  }

  async one(sql: string, ...values: Value[]): Promise<Value | undefined> {
    return Object.values((await this.eyes.read(sql, ...values))[0] ?? {})[0];
  }

  /** Each of these happened once, and nothing else did. */
  async happenedOnce(ids: readonly string[]): Promise<void> {
    const rows = await this.eyes.read("select id from accounts where id not in ('a', 'counter') order by id");
    assert.deepEqual(
      rows.map((row) => row['id']),
      [...ids].sort(),
    );
    assert.equal(await this.one("select created_at from accounts where id = 'counter'"), ids.length);
    const records = await this.eyes.read('select record from journal where account = ?account order by record', 'a');
    assert.deepEqual(
      records.map((row) => row['record']),
      ids.map((id) => `"${id}"`).sort(),
    );
  }

  async journalIsWhole(): Promise<void> {
    assert.equal((await verifyJournal(this.eyes, this.journalKey)).fault, undefined);
  }

  /** Runs a statement as the owner of the database, over a connection to another database if necessary. */
  async operate(sql: string, database = this.name): Promise<Record<string, unknown>[]> {
    return operate(this.address.replace(/[^/]*$/, database), sql);
  }

  get name(): string {
    return this.address.replace(/^.*\//, '');
  }

  async close(): Promise<void> {
    for (const proxy of this.#proxies) proxy.close();
    await Promise.all(this.#opened.map((database) => database.close()));
  }

  async remove(): Promise<void> {
    await this.close();
    await (await sharedPostgres()).dropDatabase(this.address);
  }
}

export async function operate(address: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: address });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}
