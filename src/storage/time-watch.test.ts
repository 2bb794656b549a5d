import assert from 'node:assert/strict';
import { createSecretKey } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, it } from 'node:test';
import { databaseSettings, dropDatabase } from '../../test/fixtures/database.ts';
import { parseConfig } from '../config.ts';
import { Keyring } from '../crypto/keyring.ts';
import { systemRandom } from '../crypto/random.ts';
import { DAY, HOUR, MINUTE, SECOND } from '../kernel/clock.ts';
import { LIMITS } from '../kernel/limits.ts';
import { TimeGuard } from '../kernel/time-guard.ts';
import { ClockRecordStore, findKnownJump } from './clock-record-store.ts';
import { commitOrThrow, type Database, write } from './database.ts';
import { openDatabase } from './open.ts';
import { TimeWatch } from './time-watch.ts';
import { wrappedKeyStore } from './wrapped-key-store.ts';

const NOW = Date.UTC(2026, 10, 23, 12);
const LONG = LIMITS.uncheckedStopMs + HOUR;

describe('the stored time', () => {
  const directory = mkdtempSync(join(tmpdir(), 'cardvault-test-'));
  const random = systemRandom();
  const root = createSecretKey(random.bytes(32));
  /** The time that has passed, and the difference of the deciding clock. */
  let passed = 0;
  let wrong = 0;
  const clock = (): number => NOW + passed + wrong;
  let database: Database;
  let records: ClockRecordStore;
  let dueFrom: number;

  before(async () => {
    const settings = { ...(await databaseSettings(directory)), CARDVAULT_CLOCK: 'system' };
    const opened = openDatabase(parseConfig({ CARDVAULT_DATA_DIR: directory, ...settings }).database, clock, random);
    database = opened.database;
    await opened.database.migrate(clock);
    const keyring = new Keyring({ root, store: wrappedKeyStore(database), clock, random });
    records = await ClockRecordStore.open(database, keyring);
  });
  after(async () => {
    await database.close();
    rmSync(directory, { recursive: true, force: true });
    await dropDatabase(directory);
  });
  beforeEach(async () => {
    [passed, wrong, dueFrom] = [0, 0, 0];
    await commitOrThrow(database, { writes: [write('delete from clock_records', [])] });
  });

  /** Starts a new process. */
  async function start({ hasPeers = false } = {}) {
    const guard = new TimeGuard({ clock, monotonic: () => passed });
    const known = await records.list();
    guard.begin(known.trusted?.at, findKnownJump(known));
    const watch = new TimeWatch({
      database,
      records,
      guard,
      monotonic: () => passed,
      hasPeers,
      isDestructionDue: async (now) => now >= dueFrom,
      onError: (_, error) => assert.fail(String(error)),
    });
    await watch.check();
    return { guard, watch };
  }

  const store = async (at: number): Promise<void> =>
    commitOrThrow(database, { writes: [await records.upsert('trusted', { at, since: at })] });

  it('is renewed every minute and at the stop', async () => {
    dueFrom = Infinity;
    const { watch } = await start();
    assert.deepEqual(await records.list(), { trusted: { at: NOW, since: NOW } });
    passed = 59 * SECOND;
    await watch.check();
    assert.equal((await records.list()).trusted?.at, NOW);
    passed = MINUTE;
    await watch.check();
    assert.equal((await records.list()).trusted?.at, NOW + MINUTE);
    passed += SECOND;
    await watch.stop();
    assert.equal((await records.list()).trusted?.at, NOW + MINUTE + SECOND);
  });

  it('is not renewed while time is not trusted', async () => {
    await store(NOW);
    const { watch, guard } = await start();
    [passed, wrong] = [2 * MINUTE, 200 * HOUR];
    await watch.check();
    await watch.stop();
    const found = await records.list();
    assert.equal(found.trusted?.at, NOW);
    assert.deepEqual(found.distrust, { reason: 'ahead', at: clock(), expected: NOW + passed });
    assert.equal((await start()).guard.trustedNow(), undefined);
    wrong = 0;
    assert.equal(guard.trustedNow(), clock());
  });

  it('makes a restart detect a jump, however short', async () => {
    await store(NOW);
    const { watch } = await start();
    [passed, wrong] = [2 * MINUTE, HOUR];
    await watch.check();
    await watch.stop();
    passed += MINUTE;
    // Nothing is due, and the stop was short.
    const { guard, watch: second } = await start();
    assert.equal(guard.read().distrust, 'ahead');
    assert.equal(guard.steadyNow(), NOW + passed);
    await second.stop();
    passed += MINUTE;
    const { guard: third, watch: last } = await start();
    assert.equal(third.trustedNow(), undefined);
    wrong = 0;
    assert.equal(third.trustedNow(), clock());
    await last.check();
    assert.equal((await records.list()).distrust, undefined);
  });

  it('is trusted at a start when the clock was corrected during the stop', async () => {
    await store(NOW);
    const { watch } = await start();
    wrong = HOUR;
    await watch.check();
    await watch.stop();
    [passed, wrong, dueFrom] = [30 * MINUTE, 0, NOW];
    assert.equal((await start()).guard.trustedNow(), clock());
  });

  it('is trusted at a start when another process trusted the clock that was found ahead', async () => {
    await store(NOW);
    await commitOrThrow(database, {
      writes: [await records.upsert('distrust', { reason: 'ahead', at: NOW + SECOND, expected: NOW - HOUR })],
    });
    dueFrom = NOW;
    assert.equal((await start()).guard.trustedNow(), clock());
  });

  it('lets a start trust the clock after a stop of hours, even with due work', async () => {
    await store(NOW - LIMITS.uncheckedStopMs);
    assert.equal((await start()).guard.trustedNow(), NOW);
  });

  it('lets a start after a long stop trust the clock only while no deletion is due', async () => {
    await store(NOW - 30 * DAY);
    const { guard, watch } = await start();
    assert.equal(guard.read().distrust, 'long-stop');
    assert.equal((await records.list()).distrust?.reason, 'long-stop');
    dueFrom = NOW + HOUR;
    await watch.check();
    assert.equal(guard.trustedNow(), NOW);
    assert.deepEqual(await records.list(), { trusted: { at: NOW, since: NOW } });
    passed = 2 * HOUR;
    assert.equal(guard.trustedNow(), clock(), 'what becomes due later was watched');
  });

  it('prevents trust in an earlier clock, even when nothing is due', async () => {
    dueFrom = Infinity;
    await store(NOW + LIMITS.clockToleranceMs + SECOND);
    const { guard, watch } = await start();
    assert.equal(guard.read().distrust, 'behind');
    await watch.check();
    assert.equal(guard.trustedNow(), undefined);
    wrong = HOUR;
    assert.equal(guard.trustedNow(), clock());
  });

  it('counts as missing when it is missing or was altered in the database', async () => {
    assert.equal((await start()).guard.read().distrust, 'no-record');
    await store(NOW);
    const changed = JSON.stringify({ at: NOW + 1, since: NOW });
    for (const [sql, ...values] of [
      ["update clock_records set record = ? where name = 'trusted'", changed],
      ["update clock_records set name = 'trusted' where name = 'confirmed'"],
    ] as const) {
      await commitOrThrow(database, { writes: [write(sql, values, 1)] });
      assert.equal((await start()).guard.read().distrust, 'no-record');
      await commitOrThrow(database, {
        writes: [write('delete from clock_records', []), await records.upsert('confirmed', { at: NOW })],
      });
    }
  });

  it('is trusted when an operator confirmed it, and not when another time was confirmed', async () => {
    await store(NOW);
    const { guard, watch } = await start();
    wrong = 200 * HOUR;
    for (const off of [-HOUR, HOUR]) {
      await commitOrThrow(database, { writes: [await records.upsert('confirmed', { at: clock() + off })] });
      await watch.check();
      assert.equal(guard.trustedNow(), undefined);
    }
    await commitOrThrow(database, { writes: [await records.upsert('confirmed', { at: clock() - 4 * SECOND })] });
    await watch.check();
    assert.equal(guard.trustedNow(), clock());
    wrong = 0;
    await watch.check();
    assert.equal(guard.trustedNow(), undefined, 'the clock was confirmed as it was');
  });

  it('is trusted by a node that was paused when another node compared it without a gap', async () => {
    await store(NOW);
    const { guard, watch } = await start({ hasPeers: true });
    const alone = await start();
    passed = HOUR;
    for (const each of [guard, alone.guard]) assert.equal(each.trustedNow(), clock());
    // Time passed that this node did not measure.
    wrong = HOUR;
    await commitOrThrow(database, {
      writes: [await records.upsert('trusted', { at: clock(), since: NOW + 90 * MINUTE })],
    });
    await watch.check();
    assert.equal(guard.trustedNow(), undefined, 'the other node began after the pause');
    await commitOrThrow(database, { writes: [await records.upsert('trusted', { at: clock(), since: NOW - DAY })] });
    await alone.watch.check();
    assert.equal(alone.guard.trustedNow(), undefined, 'no other node uses this clock');
    await watch.check();
    assert.equal(guard.trustedNow(), clock());
  });

  it('is left unchanged by a process that was stopped for long', async () => {
    await store(NOW - LONG);
    const { watch } = await start();
    await watch.stop();
    assert.equal((await records.list()).trusted?.at, NOW - LONG);
  });
});
