import assert from 'node:assert/strict';
import { createSecretKey, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { insertAccounts, numberOf } from '../../test/fixtures/accounts.ts';
import { entryOf, initializeJournal } from '../../test/fixtures/journals.ts';
import { DigestKeys } from '../crypto/digest-keys.ts';
import { DAY } from '../kernel/clock.ts';
import { SqliteDatabase } from '../storage/sqlite/sqlite.ts';
import { PeriodicVerification } from './periodic-verification.ts';
import { listVerifications } from './verification-store.ts';

const A = numberOf('acct_a');

describe('the periodic verification', () => {
  const key = DigestKeys.of(createSecretKey(randomBytes(32)));
  let directory: string;
  let database: SqliteDatabase;
  let now: number;
  let hasLease: boolean;
  let faults: string[];
  let paused: number;
  let verification: PeriodicVerification;
  const sql = (text: string) => database.commit({ writes: [{ sql: text, rows: [[]] }] });
  const write = (account: string, count = 1) =>
    database.commit({ writes: [], journal: Array.from({ length: count }, (_, index) => entryOf(account, index)) });
  const results = async () =>
    (await listVerifications(database, key)).map(({ kind, records, fault }) => [kind, records, fault]);
  const nextDay = async (): Promise<void> => {
    now += DAY;
    await verification.run();
  };

  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), 'cardvault-periodic-'));
    [now, hasLease, faults, paused] = [Date.UTC(2026, 0, 1), true, [], 0];
    database = new SqliteDatabase(join(directory, 'vault.db'));
    await database.migrate(() => now);
    await initializeJournal(database, key);
    await insertAccounts(database, ['acct_a', 'acct_b']);
    verification = new PeriodicVerification({
      database,
      journalKey: key,
      clock: () => now,
      holdsLease: () => Promise.resolve(hasLease),
      pause: (milliseconds) => {
        paused += milliseconds;
        return Promise.resolve();
      },
      onFault: ({ fault }) => faults.push(fault),
    });
    await write('acct_a', 10);
    await verification.run();
  });
  afterEach(async () => {
    await database.close();
    rmSync(directory, { recursive: true, force: true });
  });

  for (const [what, change, fault] of [
    ['a text', "'x'", /^a row cannot be read: column at/],
    ['a number that is too large', '9200000000000000000', /^account acct_a, lane 1, record 11: changed$/],
  ] as const)
    test(`reports a record with ${what} as its time as a fault`, async () => {
      await write('acct_a');
      await sql(`update journal set at = ${change} where account = ${A} and sequence = 11`);
      await nextDay();
      assert.match(faults.join(), fault);
      assert.deepEqual((await results())[0]?.slice(0, 2), ['daily', 0]);
    });

  test('continues when its own rows contain unreadable values', async () => {
    await sql('update verified_heads set sequence = 9200000000000000000 where account = 0');
    await sql(`update verified_heads set account = x'00', mac = 'x' where account = ${A}`);
    await sql("update verifications set at = 9200000000000000000, fault = x'00', mac = 'x'");
    await nextDay();
    assert.deepEqual(await results(), [['full', 11, '']]);
  });

  test('is full at first, then daily from the last verified records, and full after a week', async () => {
    assert.deepEqual(await results(), [['full', 11, '']]);
    await verification.run();
    await write('acct_a', 3);
    await write('acct_b', 2);
    await nextDay();
    assert.deepEqual(await results(), [
      ['daily', 6, ''],
      ['full', 11, ''],
    ]);
    for (let day = 0; day < 6; day++) await nextDay();
    assert.deepEqual(await results(), [
      ['daily', 0, ''],
      ['full', 17, ''],
    ]);
    assert.ok(paused > 0);
    assert.deepEqual(faults, []);
  });

  test('finds recent changes in the daily run, and older changes in the full run', async () => {
    await write('acct_a', 3);
    await sql(`update journal set record = '{}' where account = ${A} and sequence = 12`);
    await nextDay();
    assert.deepEqual(faults, ['account acct_a, lane 1, record 12: changed']);
    await sql(`update journal set record = '{}' where account = ${A} and sequence = 2`);
    for (let day = 0; day < 6; day++) await nextDay();
    assert.equal(faults.at(-1), 'account acct_a, lane 1, record 2: changed');
    const [, full] = await listVerifications(database, key);
    assert.equal(full?.succeededAt, Date.UTC(2026, 0, 1));
  });

  test('finds a chain that was removed, with its head, and one that was restored', async () => {
    await database.backup(join(directory, 'older.db'));
    await write('acct_a', 3);
    await nextDay();
    await sql('create table kept as select * from journal');
    await sql('create table kept_heads as select * from journal_heads');
    await sql(`delete from journal where account = ${A}`);
    await sql(`delete from journal_heads where account = ${A}`);
    await nextDay();
    assert.deepEqual(faults, ['account acct_a, lane 1: the chain was announced and is missing']);
    await sql(`attach database '${join(directory, 'older.db')}' as older`);
    await sql(`insert into journal select * from older.journal where account = ${A}`);
    await sql(`insert into journal_heads select * from older.journal_heads where account = ${A}`);
    await nextDay();
    assert.equal(faults.at(-1), 'account acct_a, lane 1, record 11: missing');
  });

  test('detects that the last verified record was moved or removed', async () => {
    await sql(`update journal set record = '{}' where account = ${A} and sequence = 2`);
    await write('acct_a', 2);
    await sql(`update verified_heads set sequence = 12 where account = ${A}`);
    await nextDay();
    assert.deepEqual(faults, ['account acct_a, lane 1, record 2: changed']);
    await sql("update verifications set at = at + 9, fault = ''");
    await sql('delete from verified_heads');
    assert.deepEqual(await results(), []);
    await verification.run();
    assert.equal(faults.length, 2);
  });

  test('runs on one node, and ends when that node stops', async () => {
    hasLease = false;
    await nextDay();
    assert.deepEqual(await results(), [['full', 11, '']]);
    hasLease = true;
    verification.stop();
    await nextDay();
    assert.deepEqual(await results(), [['full', 11, '']]);
  });
});
