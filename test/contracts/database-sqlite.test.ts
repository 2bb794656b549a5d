import assert from 'node:assert/strict';
import { createSecretKey, randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { DigestKeys } from '../../src/crypto/digest-keys.ts';
import { write } from '../../src/storage/database.ts';
import { Connection } from '../../src/storage/sqlite/connection.ts';
import { SqliteDatabase } from '../../src/storage/sqlite/sqlite.ts';
import { nextNumber } from '../fixtures/accounts.ts';
import { databaseContract } from './database-contract.ts';

const open = async (path: string, journalKey: DigestKeys): Promise<SqliteDatabase> => {
  const database = new SqliteDatabase(path);
  await database.useJournalKey(journalKey);
  return database;
};

databaseContract('SQLite', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'cardvault-store-'));
  return {
    open: (journalKey) => open(join(directory, 'vault.db'), journalKey),
    openBackup: open,
    remove: async () => rmSync(directory, { recursive: true, force: true }),
  };
});

/** All instances have ports to one writer, as the threads of a process have. */
databaseContract('SQLite through one writer', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'cardvault-ports-'));
  const path = join(directory, 'vault.db');
  const first = new SqliteDatabase(path);
  return {
    open: async (journalKey) => {
      const database = new SqliteDatabase(path, first.connectWriter());
      await database.useJournalKey(journalKey);
      return database;
    },
    openBackup: open,
    remove: async () => {
      await first.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
});

describe('the SQLite driver', { timeout: 120_000 }, () => {
  const journalKey = DigestKeys.of(createSecretKey(randomBytes(32)));
  const clock = (): number => 1;
  const insert = (id: string, name: string) =>
    write('insert into accounts (id, number, name, created_at) values (?, ?, ?, 1)', [id, nextNumber(), name], 1);

  async function inFolder(act: (path: string, database: SqliteDatabase) => Promise<void>): Promise<void> {
    const directory = mkdtempSync(join(tmpdir(), 'cardvault-sqlite-'));
    const path = join(directory, 'deep', 'vault.db');
    const database = await open(path, journalKey);
    try {
      await database.migrate(clock);
      await act(path, database);
    } finally {
      await database.close();
      rmSync(directory, { recursive: true, force: true });
    }
  }

  /** The bytes of the file and its log together. */
  const bytesOf = (path: string): Buffer => Buffer.concat([readFileSync(path), readFileSync(`${path}-wal`)]);

  test('commits are flushed, deleted rows are overwritten', () =>
    inFolder(async (path) => {
      const { database } = new Connection(path, { readOnly: false });
      const pragma = (name: string): unknown => Object.values(database.prepare(`pragma ${name}`).get() ?? {})[0];
      assert.equal(pragma('synchronous'), 2);
      assert.equal(pragma('secure_delete'), 1);
      assert.equal(pragma('journal_mode'), 'wal');
      database.close();
    }));

  test('only its user can read the files', () =>
    inFolder(async (path, database) => {
      await database.commit({ writes: [insert('a', 'b')] });
      for (const suffix of ['', '-wal', '-shm']) assert.equal(statSync(path + suffix).mode & 0o777, 0o600);
      const copy = `${path}.copy`;
      await database.backup(copy);
      assert.equal(statSync(copy).mode & 0o777, 0o600);
      await assert.rejects(database.backup(copy), { code: 'EEXIST' });
    }));

  test('scrub removes the rows that a unit erased from file and write-ahead log', () =>
    inFolder(async (path, database) => {
      const secret = 'to-be-erased-'.repeat(3);
      await database.commit({ writes: [insert('a', secret), insert('b', 'stays')] });
      assert.ok(bytesOf(path).includes(secret));
      await database.commit({ writes: [write('delete from accounts where id = ?', ['a'], 1)], scrubAfterCommit: true });
      await database.scrub();
      assert.ok(!bytesOf(path).includes(secret));
      assert.ok(bytesOf(path).includes('stays'));
    }));

  test('rewriting tables clears the write-ahead log, and rewrites none', () =>
    inFolder(async (path, database) => {
      const secret = 'to-be-erased-'.repeat(3);
      await database.commit({ writes: [insert('a', secret), insert('b', 'stays')] });
      assert.ok(bytesOf(path).includes(secret));
      await database.commit({ writes: [write('delete from accounts where id = ?', ['a'], 1)], scrubAfterCommit: true });
      assert.deepEqual(await database.rewriteTables(), { tables: 0, visible: 0, flushed: true });
      assert.ok(!bytesOf(path).includes(secret));
      assert.ok(bytesOf(path).includes('stays'));
    }));

  test('scrub covers a unit that was in progress when an earlier scrub was requested', () =>
    inFolder(async (path, database) => {
      const secret = 'erased-in-between-'.repeat(3);
      await database.commit({ writes: [insert('a', secret)], scrubAfterCommit: true });
      await database.scrub();
      const erasing = database.commit({
        writes: [write('delete from accounts where id = ?', ['a'], 1)],
        scrubAfterCommit: true,
      });
      const early = database.scrub();
      await Promise.all([erasing, early]);
      await database.scrub();
      assert.ok(!bytesOf(path).includes(secret));
    }));

  test('scrub that a reader blocked is completed by the next', () =>
    inFolder(async (path, database) => {
      const secret = 'erased-under-a-reader-'.repeat(3);
      await database.commit({ writes: [insert('a', secret)] });
      const reader = new Connection(path, { readOnly: true });
      reader.database.exec('begin');
      assert.equal(reader.database.prepare('select name from accounts').all().length, 1);
      await database.commit({ writes: [write('delete from accounts where id = ?', ['a'], 1)], scrubAfterCommit: true });
      await database.scrub().catch(() => undefined);
      assert.ok(bytesOf(path).includes(secret), 'the reader does not hold it up');
      reader.database.exec('commit');
      reader.close();
      await database.scrub();
      assert.ok(!bytesOf(path).includes(secret));
    }));

  test('scrub removes rows that were erased before a crash', () =>
    inFolder(async (path, database) => {
      const secret = 'erased-before-a-crash-'.repeat(3);
      await database.commit({ writes: [insert('a', secret)] });
      await database.commit({ writes: [write('delete from accounts where id = ?', ['a'], 1)], scrubAfterCommit: true });
      // Another instance knows as little of the erasure as one that starts after a crash.
      const next = await open(path, journalKey);
      await next.scrub();
      assert.ok(!bytesOf(path).includes(secret));
      await next.close();
    }));

  test('a file that is not a database is reported, and can still be closed', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'cardvault-sqlite-'));
    const database = new SqliteDatabase(directory);
    await assert.rejects(database.migrate(clock), { name: 'StorageError' });
    await assert.rejects(database.commit({ writes: [] }), { name: 'StorageError' });
    assert.equal(await database.isAlive(), false);
    await database.close();
    rmSync(directory, { recursive: true, force: true });
  });

  test('is healthy while it can write', () =>
    inFolder(async (_path, database) => {
      assert.equal(await database.isAlive(), true);
      await database.close();
      assert.equal(await database.isAlive(), false);
    }));
});
