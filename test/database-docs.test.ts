import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, test } from 'node:test';
import { readMigrations } from '../src/storage/migrate.ts';
import { applyMigrations } from '../src/storage/sqlite/apply-migrations.ts';
import { VAULT_TABLES } from '../src/tables.ts';
import { ALL_TABLES } from './fixtures/tables.ts';

const read = (name: string): string => readFileSync(join(import.meta.dirname, '../docs', name), 'utf8');

const text = read('database.md');
const sections = new Map(
  [...text.matchAll(/^### (\w+)\n([\s\S]*?)(?=^##)/gm)].map(([, name = '', body = '']) => [
    name,
    [...body.matchAll(/^\| `(\w+)` \|/gm)].map(([, column = '']) => column),
  ]),
);

/** The tables whose names stay, because auditors' queries rely on them. */
const AUDITED = [
  'accounts',
  'api_keys',
  'tokens',
  'captures',
  'payments',
  'journal',
  'journal_heads',
  'request_log',
  'wrapped_keys',
];

describe('docs/database.md', () => {
  let database: DatabaseSync;
  before(() => {
    database = new DatabaseSync(':memory:');
    applyMigrations(database, readMigrations(), 1);
  });
  after(() => database.close());

  test('describes the tables that auditors query', () => {
    assert.deepEqual([...sections.keys()].sort(), [...AUDITED].sort());
  });

  for (const name of AUDITED)
    test(`has every column of ${name}, in the order of the schema`, () => {
      const table = VAULT_TABLES.find((each) => each.name === name);
      assert.deepEqual(sections.get(name), Object.keys(table?.columns ?? {}));
    });

  test('has queries that run', () => {
    const queries = [...text.matchAll(/```sql\n(select [\s\S]*?)```/g)].map(([, sql = '']) => sql);
    assert.ok(queries.length >= 2);
    for (const sql of queries) assert.deepEqual(database.prepare(sql).all(), []);
  });
});

describe('docs/scaling.md', () => {
  const scaling = read('scaling.md');
  // Rows are distributed by the number of an account. `altered_rows` has the id instead.
  const tables = Map.groupBy(ALL_TABLES, ({ key, columns }) =>
    key[0] === 'account' && columns['account'] === 'integer' ? 'of accounts' : 'of the service',
  );
  const namesOf = (kind: 'of accounts' | 'of the service'): string[] =>
    (tables.get(kind) ?? []).map(({ name }) => name).sort();
  const listedIn = (pattern: RegExp, quote: string): string[] => {
    const [, list = ''] = pattern.exec(scaling) ?? [];
    return list.split(quote).filter((_each, index) => index % 2 === 1);
  };

  test('names the tables without an account', () => {
    assert.deepEqual(listedIn(/may hold in full:([^;]*);/, '`').sort(), namesOf('of the service'));
  });

  test('replicates the tables without an account, and distributes all others', () => {
    const replicated = listedIn(/create_reference_table\(name\) from unnest\(array\[([^\]]*)\]/, "'");
    assert.deepEqual(replicated.sort(), namesOf('of the service'));
    const first = listedIn(/create_distributed_table\(('\w+'), 'account'\);/, "'");
    const others = listedIn(/colocate_with => 'tokens'\) from unnest\(array\[([^\]]*)\]/, "'");
    assert.deepEqual([...first, ...others].sort(), namesOf('of accounts'));
  });
});
