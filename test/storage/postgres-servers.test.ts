import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { StorageError } from '../../src/storage/database.ts';
import { type Postgres, startPostgres } from '../fixtures/postgres.ts';
import { whyNoPostgres } from '../fixtures/postgres-binaries.ts';
import { freePort } from '../fixtures/postgres-server.ts';
import { untilPasses } from '../fixtures/until-passes.ts';
import { onlyLong } from '../scope.ts';
import { COMMITTED, insertRow, operate, PostgresFixture } from './postgres-fixture.ts';

describe('PostgreSQL: servers that fail and return', { skip: whyNoPostgres(), timeout: 120_000 }, () => {
  let postgres: Postgres;
  let rig: PostgresFixture;
  before(async () => {
    // Fast, but with all that a primary has.
    const settings = { wal_level: 'replica', max_wal_senders: '2', hot_standby: 'on', fsync: 'off' };
    postgres = await startPostgres({ isCareless: true, settings });
    rig = await PostgresFixture.on(await postgres.newDatabase());
  });
  after(async () => {
    await rig.close();
    await postgres.stop();
  });

  const committed: string[] = [];
  const operator = (sql: string): Promise<Record<string, unknown>[]> => operate(postgres.ways.superuser, sql);
  const untilCommitted = async (commit: () => Promise<unknown>): Promise<void> => {
    for (const until = performance.now() + 10_000; ; await pause(50)) {
      try {
        assert.deepEqual(await commit(), COMMITTED);
        return;
      } catch (error) {
        assert.ok(error instanceof StorageError && performance.now() < until, String(error));
      }
    }
  };

  test('a reload of the server with another synchronous_commit weakens no connection that is open', async () => {
    const database = rig.open();
    const present = async (): Promise<unknown> =>
      (await database.read("select current_setting('synchronous_commit') as present"))[0]?.['present'];
    assert.equal(await present(), 'on');
    try {
      await operator("alter system set synchronous_commit = 'off'");
      await operator('select pg_reload_conf()');
      await untilPasses(async () => {
        const [server] = await operator("select current_setting('synchronous_commit') as present");
        assert.equal(server?.['present'], 'off');
      });
      assert.equal(await present(), 'on');
    } finally {
      await operator('alter system reset synchronous_commit');
      await operator('select pg_reload_conf()');
    }
    await database.close();
  });

  test('a server that is killed and starts again: each unit once, and reported so', async () => {
    const database = rig.open();
    for (let round = 0; round < 3; round++) {
      const commits = Array.from({ length: 40 }, async (_, index) => {
        await pause(index * 4);
        const id = `restart ${round} ${index}`;
        const outcome = await database
          .commit(insertRow(id))
          .catch((error: unknown) => assert.ok(error instanceof StorageError));
        // Writes that could not be sent were rejected; the results of those that were sent are reported.
        if (outcome !== undefined) committed.push(id);
      });
      await pause(60);
      await postgres.kill();
      await pause(100);
      await postgres.start();
      await Promise.all(commits);
      await untilCommitted(() => database.commit({ writes: [] }));
      await untilCommitted(() => rig.eyes.commit({ writes: [] }));
      await rig.happenedOnce(committed);
    }
    assert.equal(await database.isAlive(), true);
  });

  test('an unreachable host, and a silent one: the running one is used', async () => {
    const dead = await freePort();
    const { proxy } = await rig.throughProxy();
    proxy.onMessage = () => 'hold';
    const hosts = `127.0.0.1:${dead},127.0.0.1:${proxy.port},127.0.0.1:${postgres.port}`;
    const connectTimeoutMs = 30_000;
    const database = rig.open(rig.address.replace(`127.0.0.1:${postgres.port}`, hosts), { connectTimeoutMs });
    const began = performance.now();
    committed.push('hosts');
    assert.deepEqual(await database.commit(insertRow('hosts')), COMMITTED);
    assert.ok(performance.now() - began < connectTimeoutMs / 2, 'it waited for the silent one');
    await database.close();
    const none = rig.open(rig.address.replace(`:${postgres.port}`, `:${dead}`));
    const refused = new RegExp(`127\\.0\\.0\\.1:${dead}: ECONNREFUSED$`);
    await assert.rejects(none.commit(insertRow('none')), { name: 'StorageError', message: refused });
  });

  test('a standby does not respond: nothing is acknowledged before a later write is on it', async () => {
    const database = rig.open();
    await database.commit({ writes: [] });
    await operator("alter system set synchronous_standby_names = 'nobody'");
    await operator('select pg_reload_conf()');
    await pause(100);
    let isDone = false;
    const outcome = database.commit(insertRow('standby')).finally(() => {
      isDone = true;
    });
    // The operator lets go of it time and again.
    for (let time = 0; time < 12; time++) {
      await pause(100);
      await operator("select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'");
    }
    assert.equal(isDone, false);
    await operator('alter system reset synchronous_standby_names');
    await operator('select pg_reload_conf()');
    assert.deepEqual(await outcome, COMMITTED);
    committed.push('standby');
    await rig.happenedOnce(committed);
  });

  test('a standby does not respond: health checks do not keep writes from being refused in time', {
    skip: onlyLong,
  }, async () => {
    const statementTimeoutMs = 1000;
    const database = rig.open(rig.address, { statementTimeoutMs });
    await database.commit({ writes: [] });
    await operator("alter system set synchronous_standby_names = 'nobody'");
    await operator('select pg_reload_conf()');
    await pause(100);
    await assert.rejects(database.commit({ writes: [] }), { name: 'StorageError' });
    const checks = Array.from({ length: 40 }, () => database.isAlive());
    await pause(100);
    const began = performance.now();
    await assert.rejects(database.commit({ writes: [] }), { name: 'StorageError' });
    const took = performance.now() - began;
    assert.ok(took < 5 * statementTimeoutMs, `a write took ${took} ms`);
    assert.deepEqual([...new Set(await Promise.all(checks))], [false]);
    await operator('alter system reset synchronous_standby_names');
    await operator('select pg_reload_conf()');
    await untilCommitted(() => database.commit({ writes: [] }));
    assert.equal(await database.isAlive(), true);
  });

  test('a server that became a standby accepts no writes until it is promoted', async () => {
    const database = rig.open();
    await database.commit({ writes: [] });
    const signal = join(postgres.directory, 'data', 'standby.signal');
    await postgres.kill();
    writeFileSync(signal, '', { mode: 0o644 });
    await postgres.start();
    await pause(300);
    await assert.rejects(database.commit(insertRow('demoted')), { name: 'StorageError', message: /a standby$/ });
    assert.equal(await database.isAlive(), false);
    await operator('select pg_promote()');
    await untilCommitted(() => database.commit({ writes: [] }));
    await untilCommitted(() => rig.eyes.commit({ writes: [] }));
    // A reader may still be connecting again.
    for (const until = performance.now() + 10_000; !(await database.isAlive()); await pause(50)) {
      assert.ok(performance.now() < until);
    }
    await rig.happenedOnce(committed);
    await rig.journalIsWhole();
  });
});
