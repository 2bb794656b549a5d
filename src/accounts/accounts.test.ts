import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { steadyClocks } from '../../test/fixtures/clock.ts';
import { databaseSettings, dropDatabase } from '../../test/fixtures/database.ts';
import { verifyJournal } from '../audit/verify-journal.ts';
import { parseConfig } from '../config.ts';
import { type OpenCore, openCore } from '../core.ts';

const BY_OPERATOR = { actor: { type: 'operator' as const, name: 'test' } };

describe('the numbers of accounts', { timeout: 60_000 }, () => {
  let directory: string;
  let nodes: OpenCore[];
  before(async () => {
    directory = mkdtempSync(join(tmpdir(), 'cardvault-numbers-'));
    const settings = { ...(await databaseSettings(directory)), CARDVAULT_CLOCK: 'system' };
    const open = (): Promise<OpenCore> =>
      openCore(
        parseConfig({ CARDVAULT_DATA_DIR: directory, ...settings }),
        steadyClocks(() => Date.UTC(2026, 0, 1)),
      );
    nodes = [await open(), await open()];
  });
  after(async () => {
    for (const node of nodes) await node.close();
    rmSync(directory, { recursive: true, force: true });
    await dropDatabase(directory);
  });

  test('are unique, without a gap and the same to all nodes, also when nodes create accounts concurrently', async () => {
    const created = await Promise.all(
      Array.from({ length: 20 }, (_, index) => {
        const { accounts, transactions } = nodes[index % 2] ?? assert.fail();
        return transactions.run({ origin: BY_OPERATOR }, (transaction) =>
          accounts.create(transaction, `Shop ${index}`),
        );
      }),
    );
    const numbers = created.map(({ number }) => number);
    assert.deepEqual(
      numbers.toSorted((one, other) => one - other),
      Array.from({ length: 20 }, (_, index) => index + 1),
    );
    for (const node of nodes) {
      const listed = new Map((await node.accounts.list()).map((account) => [account.id, account]));
      for (const [index, account] of created.entries()) {
        const found = listed.get(account.id);
        assert.deepEqual([found?.number, found?.isTampered], [numbers[index], false]);
      }
      assert.equal((await verifyJournal(node.database, node.journalKey)).fault, undefined);
    }
  });
});
