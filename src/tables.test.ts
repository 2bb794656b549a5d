import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, test } from 'node:test';
import { COPY_PATHS, Databases } from '../test/fixtures/copy-databases.ts';
import { ALL_TABLES } from '../test/fixtures/tables.ts';
import { readMigrations } from './storage/migrate.ts';
import { applyMigrations } from './storage/sqlite/apply-migrations.ts';
import { TABLES as STORAGE_TABLES } from './storage/storage-tables.ts';

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

/** The account itself, the tables of users, who may belong to several accounts, and the tables of the service. */
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
  'backups',
  'mail_schedules',
  'person_mails',
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
  /** The unique keys of a table: its primary key, and unique indexes; partial indexes with their condition. */
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
    assert.deepEqual(ALL_TABLES.map(({ name }) => name).sort(), names().sort());
  });

  for (const table of ALL_TABLES) {
    test(`has every column of ${table.name}, in order and with its kind`, () => {
      assert.deepEqual(
        Object.entries(table.columns),
        columns(table.name).map(({ name, type }) => [name, KINDS[type.toLowerCase()]]),
      );
    });

    test(`has a unique, non-null key of ${table.name}`, () => {
      const found = uniques(table.name).filter(
        (unique) => !unique.partial && unique.columns.join() === table.key.join(),
      );
      assert.equal(found.length, 1);
      const nullable = columns(table.name).filter(({ name, notnull }) => table.key.includes(name) && notnull !== 1);
      assert.deepEqual(nullable, []);
    });
  }

  test('belongs to a schema in which every key starts with the account', () => {
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

const { skip = false } = COPY_PATHS.find(({ to }) => to === 'PostgreSQL') ?? {};

describe('the schema of PostgreSQL', { skip }, () => {
  const databases = new Databases();
  after(() => databases.remove());

  test('has the tables and columns that their owners declare, with their kinds', async () => {
    const database = await databases.make('PostgreSQL');
    await database.migrate(() => 1);
    const rows = await database.read(`select table_name, column_name, data_type from information_schema.columns
      where table_schema = current_schema() order by table_name, ordinal_position`);
    const kindOf = (type: string): string =>
      type === 'bytea' ? 'blob' : type === 'bigint' || type === 'integer' ? 'integer' : type;
    const found = Map.groupBy(rows, (row) => row['table_name']);
    assert.deepEqual([...found.keys()].sort(), ALL_TABLES.map(({ name }) => name).sort());
    for (const { name, columns } of ALL_TABLES)
      assert.deepEqual(
        found.get(name)?.map((row) => [row['column_name'], kindOf(String(row['data_type']))]),
        Object.entries(columns),
      );
  });
});

describe('the storage mechanism', () => {
  test('names no table of another folder', () => {
    const own = new Set(STORAGE_TABLES.map(({ name }) => name));
    // The conversion of accounts reads their numbers.
    const foreign = ALL_TABLES.map(({ name }) => name).filter((name) => !own.has(name) && name !== 'accounts');
    const named = globSync('**/*.ts', { cwd: join(import.meta.dirname, 'storage'), exclude: ['**/*.test.ts'] }).flatMap(
      (file) => {
        const code = readFileSync(join(import.meta.dirname, 'storage', file), 'utf8').replace(
          /\/\*[\s\S]*?\*\/|\/\/.*/g,
          '',
        );
        return foreign
          .filter((name) => new RegExp(`\\b(from|into|join|update|table|exists)\\s+${name}\\b|'${name}'`).test(code))
          .map((name) => `${file}: ${name}`);
      },
    );
    assert.deepEqual(named, []);
  });
});
