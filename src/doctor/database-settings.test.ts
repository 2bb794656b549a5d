import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Row } from '../storage/database.ts';
import { checkPostgres, checkSchema, checkSqlite } from './database-settings.ts';

const GOOD: Row = {
  version: 170_002,
  release: '17.2',
  encoding: 'UTF8',
  fsync: 'on',
  full_page_writes: 'on',
  synchronous_commit: 'on',
  data_checksums: 'on',
  log_statement: 'none',
  logged_parameters: '0',
  connections: 97,
  tls: 'true',
  superuser: 'false',
};
const USE = { connections: 6, isLocal: false, isVerified: true };

describe('rules about PostgreSQL', () => {
  test('a server with suitable settings is fine', () => {
    assert.deepEqual(
      checkPostgres(GOOD, USE).map(({ state }) => state),
      ['ok'],
    );
    const local = checkPostgres({ ...GOOD, tls: 'false' }, { ...USE, isLocal: true, isVerified: false });
    assert.deepEqual(
      local.map(({ state }) => state),
      ['ok'],
    );
  });

  for (const [name, facts, state, use] of [
    ['fsync is off', { fsync: 'off' }, 'problem', {}],
    ['full_page_writes is off', { full_page_writes: 'off' }, 'problem', {}],
    ['synchronous_commit is off', { synchronous_commit: 'off' }, 'warning', {}],
    ['synchronous_commit is local', { synchronous_commit: 'local' }, 'warning', {}],
    ['pages have no checksums', { data_checksums: 'off' }, 'warning', {}],
    ['the version is 13', { version: 130_009 }, 'problem', {}],
    ['the encoding is another', { encoding: 'LATIN1' }, 'problem', {}],
    ['statements are logged', { log_statement: 'mod' }, 'warning', {}],
    ['parameters are logged', { logged_parameters: '-1' }, 'problem', {}],
    ['the connection is not encrypted', { tls: 'false' }, 'problem', {}],
    ['the certificate is not verified', {}, 'problem', { isVerified: false }],
    ['the role is a superuser', { superuser: 'true' }, 'warning', {}],
    ['connections are not enough', { connections: 5 }, 'problem', {}],
    ['connections are enough for one node', { connections: 10 }, 'warning', {}],
  ] as const)
    test(`${name}: a ${state}`, () => {
      const found = checkPostgres({ ...GOOD, ...facts }, { ...USE, ...use });
      assert.deepEqual(
        found.map((each) => each.state),
        [state],
      );
    });
});

test('SQLite is in WAL mode, and its log is short', () => {
  assert.deepEqual(
    checkSqlite('wal', 64 * 2 ** 20).map(({ state }) => state),
    ['ok'],
  );
  assert.deepEqual(
    checkSqlite('delete', 0).map(({ state }) => state),
    ['problem'],
  );
  assert.deepEqual(
    checkSqlite('wal', 2 ** 31).map(({ state }) => state),
    ['warning'],
  );
});

test('a schema of a newer version is a problem', () => {
  assert.deepEqual(
    [checkSchema(3, 3), checkSchema(2, 3), checkSchema(4, 3)].map(({ state }) => state),
    ['ok', 'warning', 'problem'],
  );
});
