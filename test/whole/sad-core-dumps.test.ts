import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Captures, type NewCapture } from '../../src/captures/captures.ts';
import type { Core } from '../../src/cli/context.ts';
import { parseConfig } from '../../src/config.ts';
import { openCore } from '../../src/core.ts';
import type { Tenant } from '../../src/kernel/environment.ts';
import type { Pan } from '../../src/kernel/pan.ts';
import { Vault } from '../../src/vault/vault.ts';
import { insertAccounts } from '../fixtures/accounts.ts';
import { systemClocks } from '../fixtures/clock.ts';
import { sharedPostgres } from '../fixtures/postgres.ts';
import { installPostgres } from '../fixtures/postgres-binaries.ts';
import { inTransaction } from '../fixtures/transactions.ts';

const TENANT: Tenant = { account: 'acct_1', environment: 'sandbox' };
/** The command of the operations guide. */
const OPTION = '*.sad_keys';
const CAPTURE: NewCapture = {
  pan: '4111111111111111' as Pan,
  name: undefined,
  expiry: undefined,
  sad: { cvv: '737', track2: undefined },
  amount: 1,
  currency: 'USD',
  additionalInfo: {},
  ttlMinutes: 60,
};

const binaries = installPostgres();
const pgDump = 'why' in binaries ? '' : join(binaries.bin, 'pg_dump');
const absent = 'why' in binaries ? binaries.why : !existsSync(pgDump) && 'there is no pg_dump';

describe('a dump of PostgreSQL', { skip: absent }, () => {
  let directory: string;
  const addresses: string[] = [];
  const cores: Core[] = [];
  before(() => {
    directory = mkdtempSync(join(tmpdir(), 'cardvault-dump-'));
  });
  after(async () => {
    for (const core of cores) await core.close();
    for (const address of addresses) await (await sharedPostgres()).dropDatabase(address);
    rmSync(directory, { recursive: true });
  });

  const newAddress = async (): Promise<string> => {
    const address = await (await sharedPostgres()).newDatabase();
    addresses.push(address);
    return address;
  };
  async function open(address: string) {
    const core = await openCore(
      parseConfig({ CARDVAULT_DATA_DIR: directory, CARDVAULT_DATABASE_URL: address }),
      systemClocks,
    );
    cores.push(core);
    await insertAccounts(core.database, [TENANT.account]);
    const captures = new Captures({ ...core, vault: new Vault(core) });
    return {
      countMissingSadKeys: () => captures.countMissingSadKeys(),
      create: () => inTransaction(core, (transaction) => captures.create(transaction, TENANT, CAPTURE)),
      retrieve: (id: string) => inTransaction(core, (transaction) => captures.retrieve(transaction, TENANT, id)),
    };
  }

  test('that is created as in the guide contains the card without its security code', async () => {
    const guide = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'operations.md'), 'utf8');
    assert.ok(guide.includes(`--exclude-table-data='${OPTION}'`));
    const [from, to] = [await newAddress(), await newAddress()];
    const captures = await open(from);
    const id = await captures.create();
    const file = join(directory, 'dump');
    execFileSync(pgDump, ['--format=custom', `--exclude-table-data=${OPTION}`, `--file=${file}`, `--dbname=${from}`]);
    execFileSync(join(pgDump, '..', 'pg_restore'), [`--dbname=${to}`, '--no-owner', file]);
    const restored = await open(to);
    const { capture } = await restored.retrieve(id);
    assert.deepEqual([capture.pan, capture.sad.cvv], ['4111111111111111', undefined]);
    assert.equal(await restored.countMissingSadKeys(), 1);
    assert.equal((await captures.retrieve(id)).capture.sad.cvv, '737');
    const next = await restored.create();
    assert.equal((await restored.retrieve(next)).capture.sad.cvv, '737');
  });
});
