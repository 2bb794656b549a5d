import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, describe, test } from 'node:test';
import { StorageError, write } from './database.ts';
import { Lease } from './lease.ts';
import { SqliteDatabase } from './sqlite/sqlite.ts';

describe('a lease', () => {
  const folder = mkdtempSync(join(tmpdir(), 'cardvault-test-'));
  let database: SqliteDatabase;
  let now = 1_700_000_000_000;
  /** The lifetime of a lease. */
  let time = 0;
  const lease = (owner: string, clock = () => now): Lease => new Lease({ database, clock, name: 'work', owner });
  const holder = async (): Promise<unknown> => (await database.read('select owner from leases'))[0]?.['owner'];

  before(async () => {
    database = new SqliteDatabase(join(folder, 'vault.db'));
    await database.migrate(() => now);
    assert.equal(await lease('first').acquire(), true);
    time = Number((await database.read('select expires_at from leases'))[0]?.['expires_at']) - now;
    assert.ok(time > 1000);
    await forget();
  });
  const forget = () => database.commit({ writes: [write('delete from leases', [])] });
  afterEach(forget);
  after(async () => {
    await database.close();
    rmSync(folder, { recursive: true });
  });

  test('is granted to one of many that request it concurrently', async () => {
    const acquired = await Promise.all(Array.from({ length: 20 }, (_, index) => lease(`${index}`).acquire()));
    assert.deepEqual(
      acquired.flatMap((hasLease, index) => (hasLease ? [`${index}`] : [])),
      [await holder()],
    );
  });

  test('is kept by an owner that renews it, and expires for one that does not', async () => {
    const [mine, yours] = [lease('mine'), lease('yours')];
    assert.equal(await mine.acquire(), true);
    for (let round = 0; round < 10; round++) {
      now += time * 0.6;
      assert.equal(await mine.acquire(), true);
      assert.equal(await yours.acquire(), false);
    }
    now += time - 1;
    assert.equal(await yours.acquire(), false);
    now += 1;
    assert.equal(await yours.acquire(), true);
    assert.equal(await mine.acquire(), false);
  });

  test('of a clock that was wrong blocks no other node', async () => {
    const mine = lease('mine', () => now + 3_600_000);
    assert.equal(await mine.acquire(), true);
    assert.equal(await lease('yours').acquire(), true);
    assert.equal(await holder(), 'yours');
    now += 3_600_000 + time;
    assert.equal(await lease('third').acquire(), true);
  });

  test('acquired before the clock was set back is acquired again', async () => {
    const mine = lease('mine');
    assert.equal(await mine.acquire(), true);
    now -= 3_600_000;
    assert.equal(await mine.acquire(), true);
    const [row] = await database.read('select expires_at from leases');
    assert.equal(row?.['expires_at'], now + time);
  });

  test('is free immediately when its owner, and no other node, releases it', async () => {
    const [mine, yours] = [lease('mine'), lease('yours')];
    assert.equal(await mine.acquire(), true);
    await yours.release();
    assert.equal(await yours.acquire(), false);
    await mine.release();
    assert.equal(await yours.acquire(), true);
    await mine.release();
    assert.equal(await holder(), 'yours');
    assert.equal(await mine.acquire(), false);
  });

  test('is not acquired by a late owner from its successor', async () => {
    const [mine, yours] = [lease('mine'), lease('yours')];
    assert.equal(await mine.acquire(), true);
    now += 3 * time;
    assert.equal(await yours.acquire(), true);
    assert.equal(await mine.acquire(), false);
    await mine.release();
    assert.equal(await holder(), 'yours');
  });

  test('is checked again after half of its lifetime', async () => {
    const mine = lease('mine');
    assert.equal(await mine.acquire(), true);
    await database.commit({ writes: [write("update leases set owner = 'yours'", [], 1)] });
    now += time / 2 - 1;
    assert.equal(await mine.acquire(), true);
    now += 1;
    assert.equal(await mine.acquire(), false);
    assert.equal(await holder(), 'yours');
  });

  test('is an error, and granted to no node, without the database', async () => {
    const gone = new SqliteDatabase(join(folder, 'other.db'));
    await gone.migrate(() => now);
    const mine = new Lease({ database: gone, clock: () => now, name: 'work', owner: 'mine' });
    assert.equal(await mine.acquire(), true);
    await gone.close();
    now += time;
    await assert.rejects(mine.acquire(), StorageError);
  });
});
