import assert from 'node:assert/strict';
import { createSecretKey, randomBytes } from 'node:crypto';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { insertAccounts } from '../../test/fixtures/accounts.ts';
import { entryOf, initializeJournal } from '../../test/fixtures/journals.ts';
import { DigestKeys } from '../crypto/digest-keys.ts';
import { SqliteDatabase } from '../storage/sqlite/sqlite.ts';
import type { HeadsDigest } from './chain-reader.ts';
import { checkRecordedHeads, HeadRecorder, HeadsFileError } from './recorded-heads.ts';
import { recordResumption } from './resumption.ts';
import { verifyJournal } from './verify-journal.ts';

const ORIGIN = { actor: { type: 'operator' as const, name: 'Ana' } };

describe('chain heads recorded outside the database', () => {
  const key = DigestKeys.of(createSecretKey(randomBytes(32)));
  const directory = mkdtempSync(join(tmpdir(), 'cardvault-heads-'));
  const path = join(directory, 'vault.db');
  const older = join(directory, 'older.db');
  const file = join(directory, 'heads');
  let now = Date.UTC(2026, 0, 1);
  const clock = (): number => now;
  let database: SqliteDatabase;
  let notes: HeadRecorder;
  const noted: HeadsDigest[] = [];
  let written = 0;
  const lines = (): { heads: object[]; digest: string }[] =>
    readFileSync(file, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
  const write = (account: string, count = 1) =>
    database.commit({ writes: [], journal: Array.from({ length: count }, () => entryOf(account, written++)) });
  const open = async (): Promise<void> => {
    database = new SqliteDatabase(path);
    await database.useJournalKey(key);
    notes = new HeadRecorder({ database, clock, file, onRecord: (digest) => noted.push(digest) });
  };
  const check = async () => {
    const { ok, resumptions } = await verifyJournal(database, key);
    assert.equal(ok, true);
    return checkRecordedHeads(database, file, resumptions ?? []);
  };
  /** Replaces the database with the earlier copy. */
  const rollBack = async (): Promise<void> => {
    await database.close();
    copyFileSync(older, path);
    await open();
  };

  before(async () => {
    database = new SqliteDatabase(path);
    await database.migrate(clock);
    await initializeJournal(database, key);
    await insertAccounts(database, ['acct_a', 'acct_b', 'acct_new']);
    await database.close();
    await open();
  });
  after(async () => {
    await database.close();
    rmSync(directory, { recursive: true, force: true });
  });

  test('are written only when they have changed, to a file that only its user can read', async () => {
    await write('acct_a', 2);
    await write('acct_b');
    await notes.record();
    await notes.record();
    await write('acct_b');
    now += 1000;
    await notes.record();
    assert.deepEqual(
      lines().map(({ heads }) => heads.length),
      [3, 1],
    );
    assert.deepEqual(
      noted.map(({ digest }) => digest),
      lines().map(({ digest }) => digest),
    );
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.deepEqual(await check(), { found: 4, replaced: 0, removed: 0 });
  });

  test('show that the database was replaced with an older copy, which the database itself cannot show', async () => {
    await database.backup(older);
    await write('acct_a');
    await notes.record();
    await rollBack();
    assert.equal((await verifyJournal(database, key)).ok, true);
    assert.match(
      (await check()).fault ?? '',
      /^account acct_a, lane 1, record 3: noted at 2026-01-01T.*Z and missing$/,
    );
    // Newer records do not hide it, nor does a newer line of heads.
    await write('acct_a', 5);
    await notes.record();
    assert.match((await check()).fault ?? '', /^account acct_a, lane 1, record 3: noted at .* and another one$/);
  });

  test('that a restore replaced are explained by the record of that restore; others are not', async () => {
    writeFileSync(file, '');
    await rollBack();
    await write('acct_a');
    await notes.record();
    await write('acct_new');
    now += 1000;
    await notes.record();
    await rollBack();
    now += 1000;
    await recordResumption(
      { database, clock },
      { action: 'vault.restored', origin: ORIGIN, id: 'one', what: 'backup.db' },
    );
    // The restore replaced the end of the chain of a, the chain of the new account, and its announcement.
    const { found, replaced, fault } = await check();
    assert.deepEqual([fault, replaced], [undefined, 3]);
    assert.ok(found > 0);
    // A head that was recorded before the end that the record names is not explained by it.
    const cut = { account: 'acct_a', lane: 1, sequence: 1, hash: 'a'.repeat(64) };
    writeFileSync(file, `${JSON.stringify({ time: new Date(now).toISOString(), heads: [cut] })}\n`);
    assert.match((await check()).fault ?? '', /record 1: noted .* and another one/);
    // A head that was recorded later is not explained either.
    writeFileSync(file, '');
    now += 1000;
    await write('acct_a');
    await notes.record();
    await database.backup(join(directory, 'after.db'));
    await write('acct_a');
    now += 1000;
    await notes.record();
    await database.close();
    copyFileSync(join(directory, 'after.db'), path);
    await open();
    assert.match((await check()).fault ?? '', /acct_a, lane 1, record 4: noted .* and missing/);
  });

  test('are appended after a line that a crash cut off, and remain readable', async () => {
    rmSync(file);
    await database.close();
    await open();
    await notes.record();
    const { found } = await check();
    for (const grown of [1, 2]) {
      const text = readFileSync(file, 'utf8');
      writeFileSync(file, text + text.slice(0, text.indexOf('}') + 1));
      await write('acct_a');
      await notes.record();
      assert.deepEqual(await check(), { found: found + grown, replaced: 0, removed: 0 });
    }
  });

  test('in a malformed file are rejected with the number of the line', async () => {
    const good = JSON.stringify({ time: '2026-01-01T00:00:00.000Z', heads: [] });
    for (const line of ['{', 'null', '{"heads":[]}', '{"time":"2026-01-01T00:00:00.000Z","heads":[{}]}']) {
      writeFileSync(file, `${good}\n${line}\n`);
      await assert.rejects(check(), (error: Error) => {
        assert.match(error.message, /heads, line 2: expected a line as the service writes it/);
        return error instanceof HeadsFileError;
      });
    }
    writeFileSync(file, '');
    await assert.rejects(check(), /heads is empty/);
    // The format of audit verify --json: one document on many lines.
    writeFileSync(file, JSON.stringify({ time: '2026-01-01T00:00:00.000Z', heads: [] }, null, 2));
    assert.deepEqual(await check(), { found: 0, replaced: 0, removed: 0 });
    await assert.rejects(checkRecordedHeads(database, join(directory, 'none'), []), /cannot be read: ENOENT/);
  });
});
