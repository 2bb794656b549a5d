import assert from 'node:assert/strict';
import { createSecretKey } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { insertAccounts } from '../../test/fixtures/accounts.ts';
import { trustedTime } from '../../test/fixtures/clock.ts';
import { databaseSettings, dropDatabase } from '../../test/fixtures/database.ts';
import { eventually } from '../../test/fixtures/eventually.ts';
import { initializeJournal } from '../../test/fixtures/journals.ts';
import { luhnPan } from '../../test/fixtures/test-service.ts';
import { parseConfig } from '../config.ts';
import { Keyring } from '../crypto/keyring.ts';
import { systemRandom } from '../crypto/random.ts';
import type { IdempotencyKeys } from '../idempotency/idempotency-keys.ts';
import { Transactions } from '../idempotency/transaction.ts';
import type { Tenant } from '../kernel/environment.ts';
import type { Write } from '../storage/database.ts';
import { openDatabase } from '../storage/open.ts';
import { wrappedKeyStore } from '../storage/wrapped-key-store.ts';
import { TokenUses } from '../vault/token-uses.ts';
import { CardImport, deleteProgress, type ImportJob, type ImportServices } from './card-import.ts';
import { CardSource } from './card-source.ts';
import { finishImport, insertImport, listBatches } from './import-store.ts';
import { TransferError } from './transfer-error.ts';

const ORIGIN = { actor: { type: 'operator' as const, name: 'test' } };
const TENANT: Tenant = { account: 'acc_1', environment: 'sandbox' };
const CREATOR = { id: 'import:1', name: 'import' };
const BATCH_CARDS = 2;

async function* contentOf(pans: readonly string[]): AsyncGenerator<Buffer> {
  yield Buffer.from(`pan\n${pans.join('\n')}\n`);
}

describe('an import', () => {
  const directory = mkdtempSync(join(tmpdir(), 'cardvault-test-'));
  const random = systemRandom();
  const clock = (): number => Date.now();
  let services: ImportServices;

  before(async () => {
    const settings = { ...(await databaseSettings(directory)), CARDVAULT_CLOCK: 'system' };
    const { database } = openDatabase(
      parseConfig({ CARDVAULT_DATA_DIR: directory, ...settings }).database,
      clock,
      random,
    );
    await database.migrate(clock);
    const root = createSecretKey(random.bytes(32));
    const keyring = new Keyring({ root, store: wrappedKeyStore(database), clock, random });
    const journalKey = await keyring.digests({ account: '', environment: 'service', purpose: 'journal' });
    await initializeJournal(database, journalKey);
    const idempotency = undefined as unknown as IdempotencyKeys;
    const transactions = new Transactions({ database, clock, idempotency });
    const tokenUses = new TokenUses({ database, time: trustedTime(clock) });
    services = { database, keyring, random, transactions, tokenUses };
    await insertAccounts(database, [TENANT.account]);
  });
  after(async () => {
    await services.database.close();
    rmSync(directory, { recursive: true, force: true });
    await dropDatabase(directory);
  });

  const commit = (write: Write): Promise<void> =>
    services.transactions.run({ origin: ORIGIN }, async (transaction) => transaction.write(write));

  const open = async (id: Uint8Array, pans: readonly string[], pace: ImportJob['pace']): Promise<CardImport> => {
    const defaults = { scheme: 7, isPersistent: false, bin: 6, creator: CREATOR, now: clock() } as const;
    const source = await CardSource.open(contentOf(pans), { defaults });
    const job = { tenant: TENANT, id, origin: ORIGIN, source, batchCards: BATCH_CARDS, pace };
    return CardImport.open(services, { ...job, onResult: () => Promise.resolve() });
  };

  const countTokens = async (): Promise<number> => {
    const sql = 'select count(*) as number from tokens where account = ?account';
    return Number((await services.database.read(sql, TENANT.account))[0]?.['number']);
  };

  test('writes nothing after another process has finished it', async () => {
    const pans = Array.from({ length: 3 * BATCH_CARDS }, () => luhnPan('555555'));
    const id = random.bytes(16);
    await commit(insertImport(TENANT, { id, batchCards: BATCH_CARDS, startedAt: clock(), finishedAt: undefined }));
    const stall = Promise.withResolvers<void>();
    let paced = 0;
    const stalled = await open(id, pans, () => (paced++ === 0 ? Promise.resolve() : stall.promise));
    const running = stalled.run();
    running.catch(() => undefined);
    await eventually(async () => (await listBatches(services.database, TENANT, id)).size === 1);

    const resumed = await open(id, pans, () => Promise.resolve());
    const batches = await resumed.run();
    assert.equal(batches, 3);
    await commit(finishImport(TENANT, id, clock()));
    await deleteProgress(services, { tenant: TENANT, id, origin: ORIGIN }, batches);
    stall.resolve();
    await assert.rejects(running, (error: Error) => {
      assert.ok(error instanceof TransferError);
      assert.match(error.message, /another process runs this import, or has finished it/);
      return true;
    });
    assert.equal(await countTokens(), pans.length);
    assert.equal((await listBatches(services.database, TENANT, id)).size, 0);
  });

  test('that was never begun has no progress', async () => {
    const before = await countTokens();
    const unknown = await open(random.bytes(16), [luhnPan('555555')], () => Promise.resolve());
    await assert.rejects(unknown.run(), TransferError);
    assert.equal(await countTokens(), before);
  });
});
