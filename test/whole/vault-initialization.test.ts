import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, test } from 'node:test';
import { verifyJournal } from '../../src/audit/verify-journal.ts';
import { parseConfig } from '../../src/config.ts';
import { openCore } from '../../src/core.ts';
import { MissingKeyError } from '../../src/crypto/keyring.ts';
import { systemClocks } from '../fixtures/clock.ts';

describe('the initialization of a vault', () => {
  let directory: string;
  before(() => {
    directory = mkdtempSync(join(tmpdir(), 'cardvault-test-'));
  });
  after(() => rmSync(directory, { recursive: true, force: true }));

  const open = (createIfMissing = true) =>
    openCore(parseConfig({ CARDVAULT_DATA_DIR: directory }), systemClocks, { createIfMissing });
  const inFile = (...statements: string[]): void => {
    const file = new DatabaseSync(join(directory, 'cardvault.db'));
    for (const sql of statements) file.exec(sql);
    file.close();
  };
  const faultOf = async (): Promise<string | undefined> => {
    const core = await open(false);
    try {
      return (await verifyJournal(core.database, core.journalKey)).fault;
    } finally {
      await core.close();
    }
  };

  test('is complete, with the first record of the audit log', async () => {
    await (await open()).close();
    assert.equal(await faultOf(), undefined);
  });

  test('is not repeated when the audit log was removed', async () => {
    inFile('delete from journal', 'delete from journal_heads');
    assert.equal(await faultOf(), 'lane 1: the chain that announces the others is missing');
    inFile('delete from lane_register');
    assert.equal(await faultOf(), 'the register of lanes is missing');
    // Not even by a start that may make what is missing.
    await (await open()).close();
    assert.equal(await faultOf(), 'the register of lanes is missing');
  });

  for (const [what, where, named] of [
    ['the key of the audit log', "purpose = 'journal'", /the journal key of service was removed/],
    ['all keys of the service', 'environment = 2', /the wrapping key of service was removed/],
    ['the key of an environment', 'environment = 0', /the wrapping key of production was removed/],
  ] as const)
    test(`is not repeated when ${what} was removed`, async () => {
      inFile('create table kept as select * from wrapped_keys', `delete from wrapped_keys where ${where}`);
      await assert.rejects(open(), (error: Error) => {
        assert.match(error.message, named);
        return error instanceof MissingKeyError;
      });
      inFile('delete from wrapped_keys', 'insert into wrapped_keys select * from kept', 'drop table kept');
      await (await open(false)).close();
    });

  test('is not repeated when all keys were removed with the audit log, while any other row exists', async () => {
    const core = await open();
    await core.transactions.run({ origin: { actor: { type: 'operator', name: 'test' } } }, (transaction) =>
      core.accounts.create(transaction, 'Shop'),
    );
    await core.close();
    inFile(...['journal', 'journal_heads', 'lane_register', 'wrapped_keys'].map((name) => `delete from ${name}`));
    await assert.rejects(open(), /all keys were removed from the database/);
  });
});
