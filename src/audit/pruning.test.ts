import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, test } from 'node:test';
import fc from 'fast-check';
import { ACCOUNTS, type AuditVault, openAuditVault } from '../../test/fixtures/audit-vault.ts';
import { signingKeysOf } from '../../test/fixtures/signing-keys.ts';
import { inScope } from '../../test/scope.ts';
import { DAY, HOUR } from '../kernel/clock.ts';
import { LIMITS } from '../kernel/limits.ts';
import type { UnitOfWork, Value } from '../storage/database.ts';
import { SERVICE_ORIGIN } from './audit.ts';
import { loadBeginnings } from './beginnings.ts';
import { checkExport, type ExportCheck } from './check-export.ts';
import { CheckpointWriter, verifyCheckpoints } from './checkpoints.ts';
import { exportToFile } from './export-file.ts';
import { JournalTail } from './journal-tail.ts';
import { assertPrunable, PruningError, type PruningResult, pruneLog } from './pruning.ts';
import { readLines } from './read-lines.ts';
import { checkRecordedHeads, HeadRecorder } from './recorded-heads.ts';
import { listPublicKeys } from './statements.ts';
import { type Verification, verifyAccount, verifyJournal } from './verify-journal.ts';

const START = Date.UTC(2026, 0, 1);
/** Old records of one chain: more than one transaction removes. */
const OLD = LIMITS.recordsPerPruning + 50;

describe('pruning the audit log', { timeout: 120_000 }, () => {
  let vault: AuditVault;
  const prune = (before: number, name = 'removed.jsonl', of: AuditVault = vault): Promise<PruningResult> =>
    pruneLog({ ...of, origin: SERVICE_ORIGIN, receivers: [] }, { before, file: of.file(name) });
  const verify = (): Promise<Verification> => {
    const { database, journalKey, signingKeys } = vault;
    return verifyJournal(database, journalKey, { signingKeys });
  };
  const checkFile = async (name: string): Promise<ExportCheck> =>
    checkExport(readLines(vault.file(name)), await listPublicKeys(vault.signingKeys));
  const countRecords = async (): Promise<number> =>
    Number((await vault.database.read('select count(*) as number from journal'))[0]?.['number']);

  beforeEach(async () => {
    vault = await openAuditVault(START);
    await vault.record('', 2);
    await vault.record('acct_a', OLD);
    await vault.record('acct_b', 3);
    vault.now += 10 * DAY;
    await vault.record('acct_a', 4);
    await vault.record('acct_c', 2);
    vault.now += 200 * DAY;
    await vault.record('acct_a', 1);
  });
  afterEach(() => vault.close());

  test('leaves a log that verifies, and a file that an outsider verifies', async () => {
    const { records, chains, sha256, isResumed } = await prune(START + DAY);
    // Two announcements are in the chain of no account.
    assert.deepEqual([records, chains, isResumed], [2 + 2 + OLD + 3, 3, false]);
    const file = readFileSync(vault.file('removed.jsonl'));
    assert.equal(sha256, createHash('sha256').update(file).digest('hex'));
    const removed = await checkFile('removed.jsonl');
    assert.deepEqual([removed.ok, removed.records, removed.header?.content], [true, records, 'removed']);
    // The rest is a, c, the announcement of c, and the record of the pruning.
    assert.equal(await countRecords(), 5 + 2 + 1 + 1);
    assert.deepEqual(await verify(), { ok: true, records: 9 });
    const [row] = await vault.database.read("select record from journal where record like '%audit.pruned%'");
    const { detail } = JSON.parse(String(row?.['record']));
    assert.deepEqual(detail, { what: 'removed.jsonl', sha256, before: new Date(START + DAY).toISOString(), records });
    for (const account of ['', 'acct_a', 'acct_b', 'acct_c']) {
      const { database, journalKey, signingKeys } = vault;
      assert.equal((await verifyAccount(database, journalKey, account, { signingKeys })).fault, undefined, account);
    }
  });

  test('leaves a log that is written, exported and pruned again', async () => {
    await prune(START + DAY);
    await vault.record('acct_b', 2);
    await vault.record('acct_c', 1);
    await exportToFile(vault, vault.file('export.jsonl'));
    const check = await checkFile('export.jsonl');
    assert.deepEqual([check.fault, check.removedBefore], [undefined, new Date(START + DAY).toISOString()]);
    assert.equal(check.records, await countRecords());
    await prune(START + 20 * DAY, 'second.jsonl');
    const second = await checkFile('second.jsonl');
    assert.deepEqual([second.fault, second.records], [undefined, 4 + 2 + 1]);
    assert.equal((await verify()).fault, undefined);
    await exportToFile(vault, vault.file('export-2.jsonl'));
    assert.equal((await checkFile('export-2.jsonl')).fault, undefined);
  });

  test('refuses what is not old enough, and a log that does not verify', async () => {
    const now = vault.now;
    assert.throws(() => assertPrunable(now - 89 * DAY, now, 90 * DAY), /--before: the last 90 days/);
    assert.throws(() => assertPrunable(now - 100 * DAY, now, 365 * DAY), /CARDVAULT_AUDIT_RETENTION keeps/);
    assert.doesNotThrow(() => assertPrunable(now - 365 * DAY, now, 365 * DAY));
    await assert.rejects(prune(START), /no older records/);
    assert.equal(existsSync(vault.file('removed.jsonl')), false);
    await vault.run("update journal set record = '{}' where account = 0 and sequence = 2");
    await assert.rejects(prune(START + DAY), /nothing was removed, because the audit log does not verify/);
    assert.equal(existsSync(vault.file('removed.jsonl')), false);
  });

  test('removes no checkpoint whose time was set back in its row', async () => {
    await new CheckpointWriter(vault, () => undefined).write();
    await vault.run('update audit_checkpoints set at = 0');
    await assert.rejects(prune(START + DAY), /nothing was removed, .*: checkpoint 1: changed/);
    assert.equal(existsSync(vault.file('removed.jsonl')), false);
    assert.equal((await vault.database.read('select number from audit_checkpoints')).length, 1);
  });

  test('removes the first checkpoints alone when a clock was ahead or behind', async () => {
    const writer = new CheckpointWriter(vault, () => undefined);
    const write = async (at: number): Promise<void> => {
      vault.now = at;
      await vault.record('acct_b');
      await writer.write();
    };
    await write(START + 211 * DAY);
    await write(START + 320 * DAY);
    await write(START + 212 * DAY);
    await write(START + 213 * DAY);
    vault.now = START + 500 * DAY;
    await prune(START + 300 * DAY);
    const { database, signingKeys } = vault;
    const beginnings = await loadBeginnings(database, signingKeys);
    assert.ok(beginnings !== 'altered');
    const { fault, checkpoints } = await verifyCheckpoints(database, signingKeys, beginnings);
    assert.deepEqual([fault, checkpoints], [undefined, 3]);
  });

  test('waits for a receiver that lacks records behind an earlier pruning', async () => {
    await vault.close();
    vault = await openAuditVault(START);
    await vault.record('acct_a', 3);
    vault.now += 10 * DAY;
    await vault.record('acct_a', 2);
    vault.now += 200 * DAY;
    await vault.record('acct_a');
    await prune(START + DAY);
    const parts = { ...vault, clock: vault.clock, origin: SERVICE_ORIGIN, receivers: ['syslog'] as const };
    const pruning = { before: START + 20 * DAY, file: vault.file('second.jsonl') };
    await assert.rejects(pruneLog(parts, pruning), /the receiver syslog lacks records/);
  });

  test('names more chains than one statement has room for', async () => {
    const accounts = Array.from({ length: LIMITS.chainsPerStatement + 5 }, (_, index) => `acct_${index}`);
    const many = await openAuditVault(START, accounts);
    try {
      const writer = new CheckpointWriter(many, () => undefined);
      for (const account of accounts.slice(0, 300)) await many.record(account);
      const records = accounts.slice(300).map((account) => ({
        ...{ account, environment: '', at: START },
        record: '{"action":"capture.deleted"}',
      }));
      await many.database.commit({ writes: [], journal: records });
      await writer.write();
      many.now += 200 * DAY;
      await many.record('acct_1');
      await prune(START + DAY, 'removed.jsonl', many);
      const keys = await listPublicKeys(many.signingKeys);
      const removed = await checkExport(readLines(many.file('removed.jsonl')), keys);
      assert.deepEqual([removed.fault, removed.removed?.statements.length], [undefined, 2]);
      const { database, journalKey, signingKeys } = many;
      assert.equal((await verifyJournal(database, journalKey, { signingKeys })).fault, undefined);
      await writer.write();
      await exportToFile(many, many.file('export.jsonl'));
      const check = await checkExport(readLines(many.file('export.jsonl')), keys);
      assert.deepEqual([check.fault, check.chains, check.records], [undefined, accounts.length + 1, 2]);
    } finally {
      await many.close();
    }
  });

  test('waits until the receivers have the records', async () => {
    const pruning = { before: START + DAY, file: vault.file('removed.jsonl') };
    const parts = { ...vault, origin: SERVICE_ORIGIN, receivers: ['syslog'] } as const;
    await assert.rejects(pruneLog(parts, pruning), /--before: the receiver syslog lacks records before this time/);
    assert.equal(existsSync(pruning.file), false);
    const tail = new JournalTail(vault.database, 'syslog', { records: 10_000, chains: 10 });
    for (let batch = await tail.next(); batch !== undefined; batch = await tail.next())
      await vault.database.commit({ writes: tail.advance(batch) });
    assert.ok((await pruneLog(parts, pruning)).records > OLD);
  });

  test('refuses a file that is not of this pruning, or was changed', async () => {
    writeFileSync(vault.file('removed.jsonl'), 'mine\n');
    await assert.rejects(prune(START + DAY), /removed\.jsonl does not verify at line 1/);
    assert.equal(readFileSync(vault.file('removed.jsonl'), 'utf8'), 'mine\n');
    await exportToFile(vault, vault.file('export.jsonl'));
    await assert.rejects(prune(START + DAY, 'export.jsonl'), /exists and is not of this pruning/);
    await prune(START + DAY, 'first.jsonl');
    await assert.rejects(prune(START + 20 * DAY, 'first.jsonl'), /exists and is not of this pruning/);
    await prune(START + 20 * DAY, 'second.jsonl');
    // The first file is behind the beginning now.
    await assert.rejects(prune(START + DAY, 'first.jsonl'), /does not continue the records/);
  });

  test('continues after each commit at which it was interrupted', async () => {
    for (let survived = 0; ; survived++) {
      let left = survived;
      const interrupted = {
        read: (sql: string, ...values: readonly Value[]) => vault.database.read(sql, ...values),
        commit: (unit: UnitOfWork) => {
          if (left-- <= 0) throw new Error('interrupted');
          return vault.database.commit(unit);
        },
      } as AuditVault['database'];
      const isDone = await prune(START + DAY, 'removed.jsonl', { ...vault, database: interrupted }).then(
        () => true,
        (error: Error) => {
          assert.equal(error.message, 'interrupted');
          return false;
        },
      );
      assert.equal((await verify()).fault, undefined, `after ${survived} commits`);
      if (isDone) break;
      assert.ok(survived < 20);
    }
    const { isResumed } = await prune(START + DAY);
    assert.equal(isResumed, true);
    assert.equal(await countRecords(), 9);
    const rows = await vault.database.read("select 1 as found from journal where record like '%audit.pruned%'");
    assert.equal(rows.length, 1);
  });

  test('is found when it was forged: a removed beginning without a statement, a changed or foreign one', async () => {
    await vault.run('delete from journal where account > 0 and sequence <= 3');
    assert.match((await verify()).fault ?? '', /record 1: missing/);
  });

  test('leaves no place for records before the beginning', async () => {
    const insert = (account: string, sequence: number) =>
      vault.run(`insert into journal select ${account}, 1, ${sequence}, 1, 5, '{}', 'e' from accounts limit 1`);
    const numberOf = "(select number from accounts where id = 'acct_a')";
    await prune(START + DAY);
    for (const sequence of [-3, 0, 1, 1000, OLD]) {
      await insert(numberOf, sequence);
      assert.match((await verify()).fault ?? '', /^account acct_a, lane 1, record -?[0-9]+: changed$/, `${sequence}`);
      await vault.run(`delete from journal where sequence <= ${OLD} and account > 0 and at = 5`);
      assert.equal((await verify()).fault, undefined);
    }
  });

  test('is found when its statement was removed, changed or signed with another key', async () => {
    await prune(START + DAY);
    assert.equal((await verifyJournal(vault.database, vault.journalKey)).ok, false);
    const other = { ...vault, signingKeys: signingKeysOf('two') };
    assert.match(
      (await verifyJournal(vault.database, vault.journalKey, other)).fault ?? '',
      /signed statement about the removed beginning/,
    );
    await vault.run(`update audit_beginnings set statement = replace(statement, '${OLD}', '${OLD + 1}')`);
    assert.match((await verify()).fault ?? '', /signed statement about the removed beginning/);
    await vault.run(`update audit_beginnings set statement = replace(statement, '${OLD + 1}', '${OLD}')`);
    assert.equal((await verify()).fault, undefined);
    await vault.run(`delete from journal where account > 0 and sequence = ${OLD + 1}`);
    assert.match((await verify()).fault ?? '', new RegExp(`record ${OLD + 1}: missing`));
    await vault.run('delete from audit_beginnings');
    assert.match((await verify()).fault ?? '', /missing/);
  });

  test('keeps checkpoints and noted heads that are not older, and counts the others as removed', async () => {
    const writer = new CheckpointWriter(vault, () => undefined);
    const heads = vault.file('heads.jsonl');
    const recorder = new HeadRecorder({ ...vault, file: heads, onRecord: () => undefined });
    await writer.write();
    await recorder.record();
    await vault.record('acct_a', 1);
    vault.now += HOUR;
    await writer.write();
    await prune(START + 20 * DAY);
    const beginnings = await loadBeginnings(vault.database, vault.signingKeys);
    assert.ok(beginnings !== 'altered');
    assert.deepEqual(await verifyCheckpoints(vault.database, vault.signingKeys, beginnings), { checkpoints: 2 });
    const check = await checkRecordedHeads(vault.database, heads, [], { beginnings });
    // The last record of b and of c is the beginning; those of a and of no account are in the log.
    assert.deepEqual(check, { found: 4, replaced: 0, removed: 0 });
    vault.now += 400 * DAY;
    await vault.record('acct_b', 1);
    await prune(vault.now - 100 * DAY, 'second.jsonl');
    const later = await loadBeginnings(vault.database, vault.signingKeys);
    assert.ok(later !== 'altered');
    assert.deepEqual(await verifyCheckpoints(vault.database, vault.signingKeys, later), { checkpoints: 0 });
    assert.deepEqual((await checkRecordedHeads(vault.database, heads, [], { beginnings: later })).fault, undefined);
    await vault.record('acct_a', 1);
    await writer.write();
    assert.deepEqual(await verifyCheckpoints(vault.database, vault.signingKeys, later), { checkpoints: 1 });
  });

  test('leaves the first of two that run at the same time', async () => {
    const results = await Promise.allSettled([prune(START + DAY, 'one.jsonl'), prune(START + 20 * DAY, 'two.jsonl')]);
    assert.ok(results.some(({ status }) => status === 'fulfilled'));
    for (const result of results)
      if (result.status === 'rejected') assert.ok(result.reason instanceof PruningError, String(result.reason));
    assert.equal((await verify()).fault, undefined);
  });

  test('does not disturb a verification that runs at the same time', async () => {
    const verifying = (async () => {
      for (let count = 0; count < 6; count++) assert.equal((await verify()).fault, undefined);
    })();
    await prune(START + DAY);
    await verifying;
  });
});

/** A day on which accounts are used, and the log is pruned up to some days before it, or not. */
const dayOfUse = fc.record({
  days: fc.integer({ min: 0, max: 3 }),
  uses: fc.array(fc.constantFrom('', ...ACCOUNTS), { maxLength: 6 }),
  prunedDays: fc.option(fc.integer({ min: 0, max: 4 }), { nil: undefined }),
});

test('a log that is written and pruned in any order loses no record', {
  timeout: inScope({ usual: 120_000, long: 900_000 }),
}, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(dayOfUse, { minLength: 1, maxLength: 8 }), async (days) => {
      const vault = await openAuditVault(START);
      try {
        const { database, journalKey, signingKeys } = vault;
        const keys = await listPublicKeys(signingKeys);
        await vault.record('');
        const files: string[] = [];
        for (const [index, { days: passed, uses, prunedDays }] of days.entries()) {
          vault.now += passed * DAY;
          for (const account of uses) await vault.record(account);
          if (prunedDays === undefined) continue;
          const file = vault.file(`removed-${index}.jsonl`);
          const pruning = { before: vault.now - prunedDays * DAY, file };
          await pruneLog({ ...vault, origin: SERVICE_ORIGIN, receivers: [] }, pruning).then(
            () => files.push(file),
            (error: Error) => assert.match(error.message, /no older records/),
          );
          assert.equal((await verifyJournal(database, journalKey, { signingKeys })).fault, undefined);
        }
        files.push(vault.file('rest.jsonl'));
        await exportToFile(vault, vault.file('rest.jsonl'));
        let records = 0;
        for (const file of files) {
          const check = await checkExport(readLines(file), keys);
          assert.equal(check.fault, undefined);
          records += check.records;
        }
        const written = await database.read('select sum(sequence) as number from journal_heads');
        assert.equal(records, Number(written[0]?.['number']));
      } finally {
        await vault.close();
      }
    }),
    { numRuns: inScope({ usual: 2, long: 200 }) },
  );
});
