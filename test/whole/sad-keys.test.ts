import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { listSadKeyIds } from '../../src/captures/capture-store.ts';
import { Captures, type NewCapture } from '../../src/captures/captures.ts';
import { parseConfig } from '../../src/config.ts';
import { type OpenCore, openCore } from '../../src/core.ts';
import { type SadKeyStore, SadKeys } from '../../src/crypto/sad-keys.ts';
import { UnsealError } from '../../src/crypto/seal.ts';
import { HOUR, MINUTE, SECOND, type Timers } from '../../src/kernel/clock.ts';
import type { Tenant } from '../../src/kernel/environment.ts';
import type { Pan } from '../../src/kernel/pan.ts';
import { type Database, StorageError, type UnitOfWork, write } from '../../src/storage/database.ts';
import { Vault } from '../../src/vault/vault.ts';
import { insertAccounts } from '../fixtures/accounts.ts';
import { eventually } from '../fixtures/eventually.ts';
import { inTransaction } from '../fixtures/transactions.ts';

const TENANT: Tenant = { account: 'acct_1', environment: 'sandbox' };
/** The beginning of an hour. */
const START = Date.UTC(2027, 0, 1);

const request = (ttlMinutes = 60): NewCapture => ({
  pan: '4111111111111111' as Pan,
  name: undefined,
  expiry: undefined,
  sad: { cvv: '737', track2: undefined },
  amount: 1,
  currency: 'USD',
  additionalInfo: {},
  ttlMinutes,
});

describe('keys of periods of expiry', () => {
  let directory: string;
  let core: OpenCore;
  let now: number;
  let captures: Captures;
  let keys: string;
  /** The functions that were passed to `after` and not called yet. */
  let delayed: (() => void)[];
  const timers: Timers = {
    after: (_, run) => {
      delayed.push(run);
      return () => undefined;
    },
  };
  const clocks = { clock: () => now, monotonic: () => now, timers };

  beforeEach(async () => {
    now = START;
    delayed = [];
    directory = mkdtempSync(join(tmpdir(), 'cardvault-sad-'));
    core = await openCore(parseConfig({ CARDVAULT_DATA_DIR: directory }), clocks);
    await insertAccounts(core.database, ['acct_1', 'acct_2']);
    captures = newCaptures();
    keys = join(directory, 'cardvault.db.sad-keys');
  });
  afterEach(async () => {
    await core.close();
    rmSync(directory, { recursive: true });
  });

  /** The keys of another node, which has nothing in memory. */
  const newSadKeys = (): SadKeys => new SadKeys({ ...core, store: core.opened.sadKeys });
  const newCaptures = (
    database: Database = core.database,
    onResealError: (error: unknown) => void = (error) => assert.fail(String(error)),
  ): Captures => new Captures({ ...core, database, sadKeys: newSadKeys(), vault: new Vault(core), onResealError });
  const create = (ttlMinutes?: number, tenant = TENANT): Promise<string> =>
    inTransaction(core, (transaction) => captures.create(transaction, tenant, request(ttlMinutes)));
  /** Creates a capture on a node of its own, which uses this database. */
  const createThrough = (database: Database, onResealError?: (error: unknown) => void): Promise<string> =>
    inTransaction({ ...core, database }, (transaction) =>
      newCaptures(database, onResealError).create(transaction, TENANT, request()),
    );
  const codeOf = async (id: string, tenant = TENANT, by = newCaptures()): Promise<string | undefined> =>
    (await inTransaction(core, (transaction) => by.retrieve(transaction, tenant, id))).capture.sad.cvv;
  const names = (): string[] => readdirSync(keys).sort();
  const erase = (id: string) =>
    core.database.commit({ writes: [write('update captures set sad = null, sad_key = null where id = ?', [id], 1)] });

  test('are shared by the captures that expire in the same hour, in one environment', async () => {
    await Promise.all([create(1), create(59), create(30, { ...TENANT, account: 'acct_2' })]);
    assert.equal(names().length, 1);
    await create(60);
    await create(1, { ...TENANT, environment: 'production' });
    assert.equal(names().length, 3);
    assert.equal((await listSadKeyIds(core.database)).size, 3);
  });

  test('seal each capture with a separate key', async () => {
    const [one, other] = [await create(), await create(60, { ...TENANT, account: 'acct_2' })];
    const [row] = await core.database.read('select sad, sad_key from captures where id = ?', one);
    const moved = write('update captures set sad = ? where id = ?', [row?.['sad'] ?? null, other], 1);
    await core.database.commit({ writes: [moved] });
    assert.equal(await codeOf(one), '737');
    await assert.rejects(codeOf(other, { ...TENANT, account: 'acct_2' }), UnsealError);
  });

  test('are useless without the database and its root key', async () => {
    await create();
    const other = await openCore(parseConfig({ CARDVAULT_DATA_DIR: join(directory, 'other') }), clocks);
    try {
      const thief = new SadKeys({ ...other, store: core.opened.sadKeys });
      const [row] = await core.database.read('select sad from captures');
      await assert.rejects(thief.unseal('' as never, row?.['sad'] as Uint8Array), UnsealError);
    } finally {
      await other.close();
    }
  });

  test('are destroyed when the last capture of the period has expired', async () => {
    const [first, last] = [await create(1), await create(59)];
    const content = readFileSync(join(keys, names()[0] ?? ''));
    now += 2 * MINUTE;
    await captures.sweep(now);
    assert.equal(await captures.sweepSadKeys(now), 0);
    await assert.rejects(codeOf(first), { code: 'unknown_capture' });
    assert.equal(await codeOf(last), '737');
    now = START + HOUR;
    await captures.sweep(now);
    assert.equal(await captures.sweepSadKeys(now), 0, 'a commit may be in progress');
    now += 30 * SECOND;
    assert.equal(await captures.sweepSadKeys(now), 1);
    assert.deepEqual(names(), []);
    assert.ok(content.length > 0);
  });

  test('are destroyed within a minute after the last capture of the period was erased, and then replaced', async () => {
    const [first, last] = [await create(), await create()];
    await erase(first);
    assert.equal(await captures.sweepSadKeys(now), 0);
    assert.equal(await codeOf(last), '737');
    assert.equal(names().length, 1);
    const [row] = await core.database.read('select sad from captures where id = ?', last);
    await erase(last);
    assert.equal(await captures.sweepSadKeys(now), 0);
    const later = await create();
    assert.equal(names().length, 2, 'a closed key seals nothing new');
    now += 31 * SECOND;
    assert.equal(await captures.sweepSadKeys(now), 1);
    assert.equal(names().length, 1);
    assert.equal(await codeOf(later), '737');
    await core.database.commit({
      writes: [write('update captures set sad = ? where id = ?', [row?.['sad'] ?? null, last], 1)],
    });
    assert.equal(await codeOf(last), undefined, 'what an old copy holds cannot be opened any more');
  });

  test('remain for 2 seconds after they were closed, while another process uses them', async () => {
    const [node, other] = [newCaptures(), newCaptures()];
    const first = await inTransaction(core, (transaction) => node.create(transaction, TENANT, request()));
    await erase(first);
    await other.sweepSadKeys(now);
    now += 1 * SECOND;
    const second = await inTransaction(core, (transaction) => node.create(transaction, TENANT, request()));
    now += 31 * SECOND;
    assert.equal(await other.sweepSadKeys(now), 0);
    assert.equal(await codeOf(second), '737');
  });

  /** A database whose first commit takes so long that the key of the period is destroyed before it. */
  const slowDatabase = (commitLater = (unit: UnitOfWork) => core.database.commit(unit)): Database => {
    let isSlow = true;
    return Object.assign(Object.create(core.database) as Database, {
      read: (sql: string, ...values: string[]) => core.database.read(sql, ...values),
      commit: async (unit: UnitOfWork) => {
        if (!isSlow) return commitLater(unit);
        isSlow = false;
        assert.equal(await captures.sweepSadKeys(now), 0);
        now += 31 * SECOND;
        assert.equal(await captures.sweepSadKeys(now), 1);
        return core.database.commit(unit);
      },
    });
  };

  test('are replaced for a capture whose key was destroyed during a slow commit', async () => {
    // The key is there before.
    await erase(await create());
    const slow = slowDatabase();
    const id = await createThrough(slow);
    assert.equal(await codeOf(id), '737');
    assert.equal(names().length, 1);
    assert.deepEqual(delayed, []);
  });

  test('that could not be replaced fail no committed capture, and are replaced later', async () => {
    await erase(await create());
    let failures = 2;
    const slow = slowDatabase((unit) => {
      if (failures-- > 0) return Promise.reject(new StorageError('no space'));
      return core.database.commit(unit);
    });
    const reported: unknown[] = [];
    const id = await createThrough(slow, (error) => reported.push((error as Error).message));
    assert.equal(await codeOf(id), undefined);
    for (const reports of [1, 2]) {
      assert.deepEqual(reported, Array(reports).fill('no space'));
      const [retry, ...others] = delayed.splice(0);
      assert.ok(retry !== undefined && others.length === 0);
      retry();
      while (delayed.length === 0 && (await codeOf(id)) === undefined) await setImmediate();
    }
    assert.equal(await codeOf(id), '737');
    assert.equal(reported.length, 2);
    assert.deepEqual(delayed, []);
  });

  test('that replace others, and could not be checked then, are replaced later', async () => {
    await erase(await create());
    const store = core.opened.sadKeys as { findOpen: SadKeyStore['findOpen'] };
    const findOpen = store.findOpen.bind(store);
    let commits = 0;
    const slow = slowDatabase(async (unit) => {
      if (++commits > 1) return core.database.commit(unit);
      assert.equal(await captures.sweepSadKeys(now), 0);
      now += 31 * SECOND;
      assert.equal(await captures.sweepSadKeys(now), 1);
      store.findOpen = () => {
        store.findOpen = findOpen;
        return Promise.reject(new StorageError('unreachable'));
      };
      return core.database.commit(unit);
    });
    const reported: unknown[] = [];
    const id = await createThrough(slow, (error) => reported.push((error as Error).message));
    assert.equal(await codeOf(id), undefined);
    assert.deepEqual(reported, ['unreachable']);
    for (const retry of delayed.splice(0)) retry();
    await eventually(async () => (await codeOf(id)) === '737', 2000);
    assert.deepEqual(delayed, []);
  });

  test('that replace others in a commit without an answer are replaced when they are destroyed, too', async () => {
    await erase(await create());
    let commits = 0;
    const slow = slowDatabase(async (unit) => {
      if (++commits > 1) return core.database.commit(unit);
      assert.equal(await captures.sweepSadKeys(now), 0);
      now += 31 * SECOND;
      assert.equal(await captures.sweepSadKeys(now), 1);
      await core.database.commit(unit);
      throw new StorageError('no answer');
    });
    const reported: unknown[] = [];
    const id = await createThrough(slow, (error) => reported.push((error as Error).message));
    assert.equal(await codeOf(id), undefined);
    assert.deepEqual(reported, ['no answer']);
    for (const retry of delayed.splice(0)) retry();
    await eventually(async () => (await codeOf(id)) === '737', 2000);
    assert.deepEqual(delayed, []);
    assert.equal(commits, 2);
  });

  test('are replaced when an earlier attempt is committed just before its repetition', async () => {
    await erase(await create());
    const units: UnitOfWork[] = [];
    const outcomes: boolean[] = [];
    const slow = slowDatabase(async (unit) => {
      if (units.push(unit) === 1) throw new StorageError('no answer');
      if (units.length === 2 && units[0]) assert.ok((await core.database.commit(units[0])).committed);
      const outcome = await core.database.commit(unit);
      outcomes.push(outcome.committed);
      return outcome;
    });
    const id = await createThrough(slow, () => undefined);
    for (const retry of delayed.splice(0)) retry();
    await eventually(async () => outcomes.length === 2, 2000);
    assert.deepEqual(outcomes, [false, true]);
    assert.equal(await codeOf(id), '737');
    assert.deepEqual(delayed, []);
  });

  test('that could not be replaced are left alone when the security code was erased since', async () => {
    await erase(await create());
    const failing = slowDatabase(() => Promise.reject(new StorageError('no space')));
    const reported: unknown[] = [];
    const id = await createThrough(failing, (error) => reported.push((error as Error).message));
    await erase(id);
    const asked = Promise.withResolvers<void>();
    failing.read = (sql, ...values) => {
      asked.resolve();
      return core.database.read(sql, ...values);
    };
    for (const retry of delayed.splice(0)) retry();
    await asked.promise;
    // The end of the retry has no sign: a report would follow its read within a few iterations of the event loop.
    for (let iteration = 0; iteration < 20; iteration++) await setImmediate();
    assert.deepEqual(reported, ['no space']);
    assert.deepEqual(delayed, []);
    assert.equal(await codeOf(id), undefined);
  });

  test('that are removed leave the card without its security code, and are counted', async () => {
    const id = await create();
    assert.equal(await captures.countMissingSadKeys(), 0);
    rmSync(keys, { recursive: true });
    const fresh = newCaptures();
    const { capture } = await inTransaction(core, (transaction) => fresh.retrieve(transaction, TENANT, id));
    assert.deepEqual([capture.pan, capture.sad.cvv], ['4111111111111111', undefined]);
    assert.equal(await fresh.countMissingSadKeys(), 1);
    await erase(id);
    assert.equal(await fresh.countMissingSadKeys(), 0);
  });

  test('that were changed unseal nothing, and the next capture gets a new one', async () => {
    const id = await create();
    const file = join(keys, names()[0] ?? '');
    const { wrapped, ...rest } = JSON.parse(readFileSync(file, 'utf8'));
    const bytes = Buffer.from(wrapped, 'base64');
    bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
    writeFileSync(file, JSON.stringify({ ...rest, wrapped: bytes.toString('base64') }));
    captures = newCaptures();
    await assert.rejects(codeOf(id), UnsealError);
    assert.equal(await codeOf(await create()), '737');
    assert.equal(names().length, 2);
  });
});
