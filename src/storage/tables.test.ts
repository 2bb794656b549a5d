import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, test } from 'node:test';
import { readMigrations } from './migrate.ts';
import { applyMigrations } from './sqlite/apply-migrations.ts';
import { SERVICE_TABLES, VAULT_TABLES } from './tables.ts';

interface Column {
  readonly name: string;
  readonly type: string;
  readonly notnull: number;
}

interface Index {
  readonly name: string;
  readonly unique: number;
  readonly origin: string;
  readonly partial: number;
}

/** How the schema writes the kinds of columns. */
const KINDS: Readonly<Record<string, string>> = { text: 'text', integer: 'integer', bigint: 'integer', blob: 'blob' };

/** The account itself, what is of people, who may belong to several accounts, and what is of the service as a whole. */
const WITHOUT_ACCOUNT = [
  'accounts',
  'people',
  'sign_in_states',
  'factors',
  'sessions',
  'schema_migrations',
  'heartbeat',
  'leases',
  'copies',
  'clock_records',
  'sad_keys',
  'verifications',
];

describe('the list of tables', () => {
  let database: DatabaseSync;
  before(() => {
    database = new DatabaseSync(':memory:');
    applyMigrations(database, readMigrations(), 1);
  });
  after(() => database.close());

  const all = <T>(sql: string): T[] => database.prepare(sql).all() as T[];
  const names = (): string[] =>
    all<{ name: string }>("select name from sqlite_schema where type = 'table' and name not like 'sqlite_%'").map(
      ({ name }) => name,
    );
  const columns = (table: string): Column[] => all(`pragma table_xinfo(${table})`);
  const columnsOf = (index: string): string[] =>
    all<{ name: string }>(`pragma index_info(${index})`).map(({ name }) => name);
  /** What is unique in a table: its primary key, and unique indexes; those of a part of the rows with their condition. */
  const uniques = (table: string): { columns: string[]; partial: boolean }[] => {
    const primary = all<{ name: string; pk: number }>(`pragma table_xinfo(${table})`)
      .filter(({ pk }) => pk > 0)
      .sort((one, other) => one.pk - other.pk)
      .map(({ name }) => name);
    const indexes = all<Index>(`pragma index_list(${table})`)
      .filter(({ unique, origin }) => unique === 1 && origin !== 'pk')
      .map(({ name, partial }) => ({ columns: columnsOf(name), partial: partial === 1 }));
    return [...(primary.length > 0 ? [{ columns: primary, partial: false }] : []), ...indexes];
  };

  test('has every table of the schema, once', () => {
    assert.deepEqual([...VAULT_TABLES.map(({ name }) => name), ...SERVICE_TABLES].sort(), names().sort());
  });

  for (const table of VAULT_TABLES) {
    test(`has every column of ${table.name}, in order and with its kind`, () => {
      assert.deepEqual(
        Object.entries(table.columns),
        columns(table.name).map(({ name, type }) => [name, KINDS[type.toLowerCase()]]),
      );
    });

    test(`has a key of ${table.name} that is unique and never null`, () => {
      const found = uniques(table.name).filter(
        (unique) => !unique.partial && unique.columns.join() === table.key.join(),
      );
      assert.equal(found.length, 1);
      const nullable = columns(table.name).filter(({ name, notnull }) => table.key.includes(name) && notnull !== 1);
      assert.deepEqual(nullable, []);
    });
  }

  test('is of a schema in which every table leads its keys with the account', () => {
    const others = names().filter((name) => !WITHOUT_ACCOUNT.includes(name));
    assert.ok(others.length > WITHOUT_ACCOUNT.length);
    const wrong = others.flatMap((name) =>
      uniques(name)
        .filter((unique) => unique.columns[0] !== 'account')
        .map((unique) => `${name} (${unique.columns.join(', ')})`),
    );
    assert.deepEqual(wrong, []);
    for (const name of others) assert.ok(uniques(name).length > 0, `${name} has no key`);
  });
});
