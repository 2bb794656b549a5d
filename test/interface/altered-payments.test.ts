import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { listProcessors } from '../../src/accounts/account-store.ts';
import type { AuditRecord } from '../../src/audit/audit.ts';
import { exportJournal } from '../../src/audit/verify-journal.ts';
import { parseConfig } from '../../src/config.ts';
import { type OpenCore, openCore } from '../../src/core.ts';
import { MINUTE } from '../../src/kernel/clock.ts';
import type { Tenant } from '../../src/kernel/environment.ts';
import { commitOrThrow, type Value, write } from '../../src/storage/database.ts';
import { rowMacKey } from '../../src/storage/mac-table.ts';
import { steadyClocks } from '../fixtures/clock.ts';
import { databaseSettings, dropDatabase } from '../fixtures/database.ts';

const BY_OPERATOR = { actor: { type: 'operator' as const, name: 'test' } };
const CYBERSOURCE = {
  processor: 'cybersource',
  settings: {
    'merchant-id': 'merchant',
    'key-id': '3f1a9c58-0000-4000-8000-000000000000',
    'shared-secret': 'c2VjcmV0IHNlY3JldCBzZWNyZXQgc2VjcmV0IHNlY3JldCE=',
  },
  force: false,
};
const SIMULATOR = { processor: 'simulator', settings: {}, force: true };

/** An attacker who can write to the database, but does not hold the root key, chooses where payments go. */
describe('payments whose rows were changed in the database', () => {
  let directory: string;
  let core: OpenCore;
  let now = Date.UTC(2026, 0, 1);
  before(async () => {
    directory = mkdtempSync(join(tmpdir(), 'cardvault-test-'));
    const settings = { ...(await databaseSettings(directory)), CARDVAULT_CLOCK: 'system' };
    core = await openCore(
      parseConfig({ CARDVAULT_DATA_DIR: directory, ...settings }),
      steadyClocks(() => now),
    );
  });
  after(async () => {
    await core.close();
    rmSync(directory, { recursive: true, force: true });
    await dropDatabase(directory);
  });

  const newTenant = async (): Promise<Tenant> => {
    const { id } = await core.transactions.run({ origin: BY_OPERATOR }, (transaction) =>
      core.accounts.create(transaction, 'Shop'),
    );
    return { account: id, environment: 'production' };
  };
  const run = async (sql: string, ...values: Value[]): Promise<void> => {
    await commitOrThrow(core.database, { writes: [write(sql, values, 1)] });
    // The earlier rows are cached for seconds.
    now += MINUTE;
  };
  const enabledIn = async (tenant: Tenant) => (await core.activations.enabledProcessor(tenant))?.name;
  const recordsOf = async ({ account }: Tenant, action: string): Promise<AuditRecord[]> =>
    (await Array.fromAsync(exportJournal(core.database)))
      .filter((link) => link.account === account)
      .map(({ record }) => JSON.parse(record) as AuditRecord)
      .filter((record) => record.action === action);

  test('are not sent to another processor that is configured', async () => {
    const { activations } = core;
    const tenant = await newTenant();
    await core.transactions.run({ origin: BY_OPERATOR }, (transaction) =>
      activations.enable(transaction, tenant, SIMULATOR),
    );
    await core.transactions.run({ origin: BY_OPERATOR }, (transaction) =>
      activations.enable(transaction, tenant, CYBERSOURCE),
    );
    assert.equal(await enabledIn(tenant), 'cybersource');
    await run("update enablements set processor = 'simulator' where account = ?account", tenant.account);
    assert.equal(await enabledIn(tenant), undefined);
    const shown = await activations.show(tenant);
    assert.deepEqual([shown.enabled, shown.processor, shown.isAltered], [false, undefined, true]);
    assert.equal((await activations.describe(tenant)).isAltered, true);
    assert.deepEqual(await core.accounts.listEnablements(tenant), []);
    const processors = await listProcessors(core.database, await rowMacKey(core.keyring));
    assert.ok(processors.every(({ account }) => account !== tenant.account));
    const found = await recordsOf(tenant, 'record.altered');
    assert.deepEqual(
      found.map(({ targets, detail }) => [targets, detail]),
      [[['enablement:payments'], { table: 'enablements' }]],
    );

    // Nothing of the row is used: the operator names the processor again.
    await assert.rejects(
      core.transactions.run({ origin: BY_OPERATOR }, (transaction) =>
        activations.enable(transaction, tenant, { settings: {}, force: false, processor: undefined }),
      ),
      {
        message: /^which processor/,
      },
    );
    assert.equal(
      (
        await core.transactions.run({ origin: BY_OPERATOR }, (transaction) =>
          activations.enable(transaction, tenant, { ...CYBERSOURCE, settings: {} }),
        )
      ).isAltered,
      false,
    );
    assert.equal(await enabledIn(tenant), 'cybersource');
    assert.equal((await recordsOf(tenant, 'payments.enabled')).at(-1)?.detail?.['altered'], 'yes');
  });

  test('are not enabled by a row that was added or copied from another account', async () => {
    const [one, other] = [await newTenant(), await newTenant()];
    for (const tenant of [one, other])
      await core.transactions.run({ origin: BY_OPERATOR }, (transaction) =>
        core.activations.enable(transaction, tenant, SIMULATOR),
      );
    await core.transactions.run({ origin: BY_OPERATOR }, (transaction) => core.activations.disable(transaction, one));
    const columns = 'environment, capability, processor, enabled_at, mac';
    await run(
      `insert into enablements (account, ${columns}) select ?account, ${columns} from enablements where account = ?account`,
      one.account,
      other.account,
    );
    assert.equal(await enabledIn(one), undefined);
    assert.equal(await enabledIn(other), 'simulator');
    await core.transactions.run({ origin: BY_OPERATOR }, (transaction) => core.activations.disable(transaction, one));
    assert.equal((await core.activations.show(one)).isAltered, false);
  });

  test('are not sent with altered settings; altered settings of another processor do not matter', async () => {
    const { activations } = core;
    const tenant = await newTenant();
    await core.transactions.run({ origin: BY_OPERATOR }, (transaction) =>
      activations.enable(transaction, tenant, SIMULATOR),
    );
    await core.transactions.run({ origin: BY_OPERATOR }, (transaction) =>
      activations.enable(transaction, tenant, CYBERSOURCE),
    );
    const alter = (processor: string) =>
      run(
        'update processor_configurations set revision = revision + 7 where account = ?account and processor = ?',
        tenant.account,
        processor,
      );
    await alter('simulator');
    assert.equal(await enabledIn(tenant), 'cybersource');
    await alter('cybersource');
    await assert.rejects(activations.enabledProcessor(tenant), { name: 'UnsealError' });
    await assert.rejects(activations.configuredProcessor(tenant, 'cybersource'), { name: 'UnsealError' });
    const shown = await activations.show(tenant);
    assert.deepEqual([shown.enabled, shown.processor, shown.isAltered], [true, 'cybersource', true]);
    // Nothing of the old settings is taken over.
    await assert.rejects(
      core.transactions.run({ origin: BY_OPERATOR }, (transaction) =>
        activations.enable(transaction, tenant, { ...CYBERSOURCE, settings: {} }),
      ),
      {
        message: /^missing: /,
      },
    );
    await core.transactions.run({ origin: BY_OPERATOR }, (transaction) =>
      activations.enable(transaction, tenant, CYBERSOURCE),
    );
    assert.equal(await enabledIn(tenant), 'cybersource');
    assert.equal((await activations.show(tenant)).isAltered, false);
  });
});
