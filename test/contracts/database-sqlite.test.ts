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

  test('rewriting tables clears what deleted rows have left in pages that SQLite has rebuilt, and a backup has none of it', () =>
    inFolder(async (path, database) => {
      const connection = new Connection(path, { readOnly: false });
      connection.database.exec(`create table rows (batch integer, id text, record blob, primary key (id)) without rowid;
        create index rows_by_batch on rows (batch)`);
      // Ids at random places, so that pages are divided and rows move.
      const ids = Array.from({ length: 20_000 }, () => randomBytes(16).toString('hex'));
      for (const [index, id] of ids.entries()) {
        if (index % 50 === 0) connection.database.exec('begin');
        connection.statement('insert into rows values (?, ?, zeroblob(180))').run(index >> 6, id);
        if (index % 50 === 49) connection.database.exec('commit');
      }
      const gone = new Set(ids.filter((_, index) => index % 2 === 0));
      connection.database.exec('begin');
      for (const [index, id] of ids.entries())
        if (gone.has(id)) connection.statement('delete from rows where batch = ? and id = ?').run(index >> 6, id);
      connection.database.exec('commit');
      connection.close();
      await database.scrub();
      const beginnings = new Set([...gone].map((id) => id.slice(0, 16)));
      const left = (bytes: Buffer): number =>
        Array.from(bytes.toString('latin1').matchAll(/(?=([0-9a-f]{16}))/g)).filter(([, text = '']) =>
          beginnings.has(text),
        ).length;
      assert.ok(left(bytesOf(path)) > 0, 'SQLite leaves nothing any more: this mechanism is superfluous');
      await database.backup(`${path}.copy`);
      assert.equal(left(readFileSync(`${path}.copy`)), 0);
      const { tables, ...report } = await database.rewriteTables();
      assert.ok(tables > 10);
      assert.deepEqual(report, { visible: 0, flushed: true, log: 'cleared' });
      assert.equal(left(bytesOf(path)), 0);
      const [counted] = await database.read('select count(*) as number from rows');
      assert.equal(counted?.['number'], ids.length - gone.size);
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

  const erase = write('delete from accounts where id = ?', ['a'], 1);

  test('close removes what its process erased, beside a process that erased nothing', () =>
    inFolder(async (path, service) => {
      const secret = 'erased-by-a-command-'.repeat(3);
      await service.commit({ writes: [insert('a', secret), insert('b', 'stays')] });
      await service.scrub();
      const command = await open(path, journalKey);
      await command.commit({ writes: [erase], scrubAfterCommit: true });
      assert.ok(bytesOf(path).includes(secret));
      await command.close();
      assert.ok(!bytesOf(path).includes(secret));
      assert.ok(bytesOf(path).includes('stays'));
    }));

  test('scrub covers what another process erased, and could not remove because of a reader', () =>
    inFolder(async (path, service) => {
      const secret = 'erased-by-a-command-'.repeat(3);
      await service.commit({ writes: [insert('a', secret)] });
      await service.scrub();
      const command = await open(path, journalKey);
      const reader = new Connection(path, { readOnly: true });
      reader.database.exec('begin');
      assert.equal(reader.database.prepare('select name from accounts').all().length, 1);
      await command.commit({ writes: [erase], scrubAfterCommit: true });
      await command.close();
      assert.ok(bytesOf(path).includes(secret), 'the reader does not hold it up');
      reader.database.exec('commit');
      reader.close();
      await service.scrub();
      assert.ok(!bytesOf(path).includes(secret));
    }));

  test('scrub leaves the log while no process has erased anything since the last one', () =>
    inFolder(async (path, database) => {
      await database.scrub();
      await database.commit({ writes: [insert('a', 'stays')] });
      const { size } = statSync(`${path}-wal`);
      assert.ok(size > 0);
      await database.scrub();
      assert.equal(statSync(`${path}-wal`).size, size);
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
