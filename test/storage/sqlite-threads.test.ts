import assert from 'node:assert/strict';
import { createSecretKey, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { exportJournal, verifyJournal } from '../../src/audit/verify-journal.ts';
import { DigestKeys } from '../../src/crypto/digest-keys.ts';
import { integer, write } from '../../src/storage/database.ts';
import { isAnnouncement } from '../../src/storage/journal.ts';
import { insertRegister } from '../../src/storage/lane-register.ts';
import { SqliteDatabase } from '../../src/storage/sqlite/sqlite.ts';
import { insertAccounts } from '../fixtures/accounts.ts';
import { eventually } from '../fixtures/eventually.ts';
import type { WritingThread } from '../fixtures/writing-thread.ts';
import { inScope } from '../scope.ts';

const INCREMENTS = inScope({ usual: 60, long: 1000 });
const THREADS = 3;

describe('threads that write through one writer', { timeout: 120_000 }, () => {
  const directory = mkdtempSync(join(tmpdir(), 'cardvault-threads-'));
  const path = join(directory, 'vault.db');
  const journalKey = DigestKeys.of(createSecretKey(randomBytes(32)));
  let database: SqliteDatabase;
  before(async () => {
    database = new SqliteDatabase(path);
    await database.useJournalKey(journalKey);
    await database.migrate(() => 1);
    await database.commit({ writes: [insertRegister(journalKey)] });
    await insertAccounts(database, ['a', 'b']);
    await database.commit({ writes: [write('update accounts set suspended_at = 0', [], 2)] });
  });
  after(async () => {
    await database.close();
    rmSync(directory, { recursive: true, force: true });
  });

  const start = (account: string, increments?: number): Worker => {
    const port = database.connectWriter();
    const workerData: WritingThread = { path, port, account, increments };
    const script = new URL('../fixtures/writing-thread.ts', import.meta.url);
    return new Worker(script, { workerData, transferList: [port] });
  };
  const numberOf = async (account: string): Promise<number> => {
    const [row] = await database.read('select suspended_at from accounts where id = ?', account);
    return integer(row ?? {}, 'suspended_at');
  };
  const countRecords = async (account: string): Promise<number> => {
    let count = 0;
    for await (const link of exportJournal(database)) if (link.account === account && !isAnnouncement(link)) count++;
    return count;
  };

  test('lose no write, record each once, and keep the journal one chain', async () => {
    const ended = Array.from({ length: THREADS }, () => once(start('a', INCREMENTS), 'exit'));
    for (const [code] of await Promise.all(ended)) assert.equal(code, 0);
    assert.equal(await numberOf('a'), THREADS * INCREMENTS);
    assert.equal(await countRecords('a'), THREADS * INCREMENTS);
    assert.equal((await verifyJournal(database, journalKey)).ok, true);
  });

  test('are not disturbed by one that ends in the middle', async () => {
    const doomed = start('b');
    const other = once(start('b', INCREMENTS), 'exit');
    await eventually(async () => (await numberOf('b')) > INCREMENTS / 2);
    await doomed.terminate();
    assert.deepEqual(await other, [0]);
    // A unit that the ended thread has sent is written with its record, or not at all.
    await database.commit({ writes: [] });
    assert.ok((await numberOf('b')) >= INCREMENTS);
    assert.equal(await countRecords('b'), await numberOf('b'));
    assert.equal((await verifyJournal(database, journalKey)).ok, true);
  });
});
