import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { type AuditVault, openAuditVault } from '../../test/fixtures/audit-vault.ts';
import { DAY, HOUR } from '../kernel/clock.ts';
import type { Row, Value } from '../storage/database.ts';
import { SERVICE_ORIGIN } from './audit.ts';
import { checkExport, type ExportCheck } from './check-export.ts';
import { ExportError, type ExportSelection, exportToFile } from './export-file.ts';
import { pruneLog } from './pruning.ts';
import { readLines } from './read-lines.ts';
import { listPublicKeys } from './statements.ts';

const START = Date.UTC(2026, 0, 1);

describe('a signed export', { timeout: 60_000 }, () => {
  let vault: AuditVault;
  beforeEach(async () => {
    vault = await openAuditVault(START);
    await vault.record('', 2);
    await vault.record('acct_a', 5);
    await vault.record('acct_b', 3);
  });
  afterEach(() => vault.close());

  const check = async (file: string): Promise<ExportCheck> =>
    checkExport(readLines(file), await listPublicKeys(vault.signingKeys));
  const exported = async (selection?: ExportSelection): Promise<ExportCheck> => {
    const file = vault.file('export.jsonl');
    await exportToFile(vault, file, selection);
    return check(file);
  };
  const NUMBER = "(select number from accounts where id = 'acct_a')";

  for (const [what, alter] of [
    ['a missing newest record', `delete from journal where sequence = 5 and account = ${NUMBER}`],
    ['a changed record', `update journal set record = '{}' where sequence = 2 and account = ${NUMBER}`],
    ['a chain that is gone', `delete from journal where account = ${NUMBER}`],
    ['a head that is gone', `delete from journal_heads where account = ${NUMBER}`],
  ] as const)
    test(`is made of no log with ${what}`, async () => {
      await vault.run(alter);
      for (const selection of [{}, { account: 'acct_a' }]) {
        await assert.rejects(exportToFile(vault, vault.file('export.jsonl'), selection), ExportError);
        assert.equal(existsSync(vault.file('export.jsonl')), false);
      }
    });

  test('is made of no log that is altered after its verification', async () => {
    const { database } = vault;
    let isAltered = false;
    // The export begins to write when it lists the heads of all chains for the first time after the verification.
    const read = async (sql: string, ...values: Value[]): Promise<Row[]> => {
      if (!isAltered && sql.includes('(account, lane) > ')) {
        isAltered = sql.includes('journal_heads');
        if (isAltered) await vault.run(`update journal set record = '{}' where sequence = 2 and account = ${NUMBER}`);
      }
      return database.read(sql, ...values);
    };
    const observed = new Proxy(database, { get: (of, name) => (name === 'read' ? read : Reflect.get(of, name, of)) });
    await assert.rejects(
      exportToFile({ ...vault, database: observed, clock: vault.clock }, vault.file('export.jsonl')),
      /record 2 is missing or changed/,
    );
    assert.equal(isAltered, true);
  });

  test('up to a time contains what follows a record of a clock that was ahead', async () => {
    vault.now = START + 40 * DAY;
    await vault.record('acct_a');
    await vault.record('');
    vault.now = START + HOUR;
    await vault.record('acct_a', 2);
    await vault.record('acct_c');
    vault.now = START + 10 * DAY;
    await vault.record('acct_a', 4);
    const { fault, records } = await exported({ to: START + DAY });
    // Two records and four announcements of no account with one from a clock that was ahead, 5 + 1 + 2, 3 and 1.
    assert.deepEqual([fault, records], [undefined, 2 + 3 + 1 + 8 + 3 + 1]);
  });

  test('is written from the new beginning when the log is pruned meanwhile', async () => {
    vault.now += 200 * DAY;
    await vault.record('acct_a');
    const { database } = vault;
    let reads = 0;
    const read = async (sql: string, ...values: Value[]): Promise<Row[]> => {
      const isOfAccount = sql.includes('from journal\n') && values[0] === 'acct_a';
      // The first reading is that of the verification, the second that of the export.
      if (isOfAccount && ++reads === 2)
        await pruneLog(
          { ...vault, clock: vault.clock, origin: SERVICE_ORIGIN, receivers: [] },
          { before: START + DAY, file: vault.file('removed.jsonl') },
        );
      return database.read(sql, ...values);
    };
    const observed = new Proxy(database, { get: (of, name) => (name === 'read' ? read : Reflect.get(of, name, of)) });
    await exportToFile({ ...vault, database: observed, clock: vault.clock }, vault.file('export.jsonl'));
    assert.ok(reads > 2);
    const { fault, removedBefore } = await check(vault.file('export.jsonl'));
    assert.deepEqual([fault, removedBefore], [undefined, new Date(START + DAY).toISOString()]);
  });
});
