import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, test } from 'node:test';
import { readMigrations } from '../src/storage/migrate.ts';
import { applyMigrations } from '../src/storage/sqlite/apply-migrations.ts';
import { VAULT_TABLES } from '../src/tables.ts';

const text = readFileSync(join(import.meta.dirname, '../docs/database.md'), 'utf8');
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
