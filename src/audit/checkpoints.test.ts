import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { type AuditVault, openAuditVault } from '../../test/fixtures/audit-vault.ts';
import { pemOf, signingKeysOf } from '../../test/fixtures/signing-keys.ts';
import { HOUR } from '../kernel/clock.ts';
import { formatReason } from '../kernel/reasons.ts';
import { NOTHING_REMOVED } from './beginnings.ts';
import { digestChainHeads } from './chain-reader.ts';
import { checkExport, parsePublicKeys } from './check-export.ts';
import { findNewestCheckpoint, listCheckpoints } from './checkpoint-store.ts';
import { CheckpointWriter, verifyCheckpoints } from './checkpoints.ts';
import { exportToFile } from './export-file.ts';
import { readLines } from './read-lines.ts';
import { appendCheckpoints, checkRecordedHeads, readRecordedHeads } from './recorded-heads.ts';
import { type CheckpointStatement, listPublicKeys, openStatement, signStatement } from './statements.ts';

describe('signed checkpoints', () => {
  let vault: AuditVault;
  let writer: CheckpointWriter;
  const newWriter = (): CheckpointWriter =>
    new CheckpointWriter(vault, (written) => appendCheckpoints(vault.file('heads.jsonl'), written));
  const nextHour = async (): Promise<void> => {
    vault.now += HOUR;
    await writer.write();
  };
  const stored = async (): Promise<CheckpointStatement[]> =>
    (await Array.fromAsync(listCheckpoints(vault.database))).map(({ statement }) => JSON.parse(statement));
  const verify = () => verifyCheckpoints(vault.database, vault.signingKeys, NOTHING_REMOVED);
  const faultOf = async (): Promise<string> => {
    const { fault } = await verify();
    return fault === undefined ? '' : formatReason(fault);
  };

  beforeEach(async () => {
    vault = await openAuditVault();
    writer = newWriter();
    await vault.record('acct_a', 3);
    await vault.record('acct_b', 2);
    await writer.write();
  });
  afterEach(() => vault.close());

  test('name all heads first and then those that have changed, each behind the one before', async () => {
    await vault.record('acct_b', 1);
    await nextHour();
    await nextHour();
    const [first, second, ...others] = await stored();
    assert.deepEqual([first?.number, first?.chains, first?.heads.length, first?.previous], [1, 3, 3, '']);
    assert.deepEqual([second?.number, second?.records, others.length], [2, 8, 0]);
    assert.deepEqual(
      second?.heads.map(([account, lane, sequence]) => [account, lane, sequence]),
      [['acct_b', 1, 3]],
    );
    assert.equal(second?.digest, (await digestChainHeads(vault.database, () => undefined)).digest);
    assert.match(second?.vault ?? '', /^[0-9a-f]{64}$/);
    assert.deepEqual(await verify(), { checkpoints: 2 });
  });

  test('name all heads again when another process wrote the one before', async () => {
    await vault.record('acct_a', 1);
    await newWriter().write();
    await vault.record('acct_b', 1);
    await nextHour();
    const heads = (await stored()).map((each) => each.heads.length);
    assert.deepEqual(heads, [3, 3, 3]);
    assert.deepEqual(await verify(), { checkpoints: 3 });
  });

  test('are written once by two processes at the same time', async () => {
    await vault.record('acct_a', 1);
    await Promise.all([newWriter().write(), newWriter().write(), writer.write()]);
    assert.equal((await stored()).length, 2);
    assert.deepEqual(await verify(), { checkpoints: 2 });
  });

  test('verify with the public key alone, and under no other', async () => {
    const signed = await findNewestCheckpoint(vault.database);
    assert.ok(signed);
    const keys = parsePublicKeys(await pemOf(vault.signingKeys));
    assert.notEqual(typeof openStatement(keys, 'checkpoint', signed), 'string');
    assert.equal(openStatement(keys, 'export', signed), 'invalid');
    const others = await listPublicKeys(signingKeysOf('two'));
    assert.equal(openStatement(others, 'checkpoint', signed), 'unknown-key');
    const changed = { ...signed, statement: signed.statement.replace('"records":7', '"records":6') };
    assert.notEqual(changed.statement, signed.statement);
    assert.equal(openStatement(keys, 'checkpoint', changed), 'invalid');
  });

  test('show a log that is altered before them, and one that was rolled back', async () => {
    await vault.run(
      "update journal set hash = replace(hash, substr(hash, 1, 1), 'x') where sequence = 3 and account > 0",
    );
    assert.match(await faultOf(), /^account acct_a, lane 1, record 3: checkpoint 1 names another one$/);
    await vault.run('delete from journal where sequence = 3 and account > 0');
    assert.match(await faultOf(), /record 3: checkpoint 1 names another one/);
  });

  test('of one account show alterations of its log alone', async () => {
    const verifyOf = (account: string) =>
      verifyCheckpoints(vault.database, vault.signingKeys, NOTHING_REMOVED, { account });
    await vault.run('delete from journal where sequence = 3 and account > 0');
    const { fault } = await verifyOf('acct_a');
    assert.match(fault === undefined ? '' : formatReason(fault), /^account acct_a, lane 1, record 3: checkpoint 1/);
    for (const account of ['acct_b', '']) assert.deepEqual(await verifyOf(account), { checkpoints: 1 });
  });

  test('show one whose time was changed in its row, also to a verification of the newest ones', async () => {
    await vault.record('acct_a', 1);
    await nextHour();
    await vault.run('delete from journal where sequence = 4 and account > 0');
    const verifySince = async (since: number): Promise<string> => {
      const { fault } = await verifyCheckpoints(vault.database, vault.signingKeys, NOTHING_REMOVED, { since });
      return fault === undefined ? '' : formatReason(fault);
    };
    assert.match(await verifySince(vault.now), /record 4: checkpoint 2 names another one/);
    for (const at of [0, vault.now - 1, vault.now + 1]) {
      await vault.run(`update audit_checkpoints set at = ${at} where number = 2`);
      assert.equal(await verifySince(vault.now), 'checkpoint 2: changed', `${at}`);
      assert.equal(await faultOf(), 'checkpoint 2: changed', `${at}`);
    }
  });

  test('show a changed, removed, reordered, replayed or forged one', async () => {
    await vault.record('acct_a', 1);
    await nextHour();
    await vault.record('acct_a', 1);
    await nextHour();
    const [first, second, third] = await Array.fromAsync(listCheckpoints(vault.database));
    assert.ok(first && second && third);
    const put = async (number: number, { statement, keyId, signature }: typeof first): Promise<void> => {
      const sql = 'update audit_checkpoints set statement = ?, key_id = ?, signature = ? where number = ?';
      await vault.database.commit({ writes: [{ sql, rows: [[statement, keyId, signature, number]] }] });
    };
    await put(2, { ...second, statement: second.statement.replace('"chains":3', '"chains":2') });
    assert.equal(await faultOf(), 'checkpoint 2: changed');
    await put(2, first);
    assert.equal(await faultOf(), 'checkpoint 2: changed');
    const content = { ...JSON.parse(second.statement), records: 1 };
    await put(2, {
      ...second,
      ...(await signStatement(signingKeysOf('two'), 'checkpoint', content)),
      kind: 'checkpoint',
    });
    assert.equal(await faultOf(), 'checkpoint 2: changed');
    await put(2, second);
    assert.deepEqual(await verify(), { checkpoints: 3 });
    await vault.run('delete from audit_checkpoints where number = 2');
    assert.equal(await faultOf(), 'checkpoint 2: missing');
    await vault.run('delete from audit_checkpoints where number = 1');
    // The rest does not begin with the first one.
    assert.equal(await faultOf(), 'checkpoint 3: changed');
  });

  test('in the file of heads show a rolled back database, also to an outsider', async () => {
    const before = vault.file('before.jsonl');
    await exportToFile(vault, before);
    await vault.record('acct_a', 1);
    await nextHour();
    const heads = vault.file('heads.jsonl');
    const keys = await listPublicKeys(vault.signingKeys);
    assert.deepEqual(await checkRecordedHeads(vault.database, heads, [], { keys }), {
      found: 4,
      replaced: 0,
      removed: 0,
    });
    const after = vault.file('after.jsonl');
    await exportToFile(vault, after);
    const check = (file: string) => checkExport(readLines(file), keys, readRecordedHeads(heads, '--checkpoints'));
    assert.deepEqual((await check(after)).noted, { found: 4, elsewhere: 0 });
    // An export from before the newest checkpoint need not contain it.
    assert.deepEqual((await check(before)).noted, { found: 3, elsewhere: 1 });
    // The database and its statements as they were before, with the same keys: only the file outside shows it.
    const later = readFileSync(heads, 'utf8');
    await vault.run('delete from journal where account > 0 and sequence = 4');
    assert.match(
      (await checkRecordedHeads(vault.database, heads, [], { keys })).fault ?? '',
      /record 4: noted at .* missing/,
    );
    assert.equal(later.split('\n').filter((line) => line !== '').length, 2);
    const others = await listPublicKeys(signingKeysOf('two'));
    const forged = await checkRecordedHeads(vault.database, heads, [], { keys: others });
    assert.match(forged.fault ?? '', /no valid signature of this vault/);
    await assert.rejects(
      checkExport(readLines(after), others, readRecordedHeads(heads, '--checkpoints')),
      /--checkpoints: a checkpoint has no valid signature of --key/,
    );
  });
});
