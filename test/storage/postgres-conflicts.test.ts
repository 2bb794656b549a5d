import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { type CommitResult, StorageError, write } from '../../src/storage/database.ts';
import type { PostgresDatabase } from '../../src/storage/postgres/postgres.ts';
import { nextNumber } from '../fixtures/accounts.ts';
import { whyNoPostgres } from '../fixtures/postgres-binaries.ts';
import { COMMITTED, INSERT, INSERT_NEW, insert, insertRow, PostgresFixture } from './postgres-fixture.ts';

/** All units are committed in the end, soon after the fault at the latest. */
const ENOUGH = 6;
const SOON_MS = 30_000;
/** Not what the server itself does there, such as a vacuum, which only its superuser may touch. */
const OWN = `from pg_stat_activity
  where datname = current_database() and usename = current_user and pid <> pg_backend_pid()`;

describe('PostgreSQL: conflicts and server faults', { skip: whyNoPostgres(), timeout: 120_000 }, () => {
  let rig: PostgresFixture;
  before(async () => {
    rig = await PostgresFixture.shared();
  });
  after(() => rig.remove());

  let names = 0;
  const stored: string[] = [];
  /** Units by the hundred while something happens: those that were committed, or are not known. */
  const load = async (databases: readonly PostgresDatabase[], meanwhile: () => Promise<void>) => {
    let committed = 0;
    const inDoubt: string[] = [];
    let going = true;
    const work = databases.map(async (database) => {
      while (going) {
        const ids = [1, 2, 3].map(() => `load ${names++}`);
        const conflict = database
          .commit({ writes: [insert('counter', INSERT_NEW)] })
          .catch((error) => assert.ok(error instanceof StorageError));
        const results = await Promise.allSettled(ids.map((id) => database.commit(insertRow(id))));
        for (const [index, result] of results.entries()) {
          const id = ids[index] ?? '';
          if (result.status === 'fulfilled') {
            assert.deepEqual(result.value, COMMITTED);
            committed++;
            stored.push(id);
          } else {
            assert.ok(result.reason instanceof StorageError);
            inDoubt.push(id);
            await pause(5);
          }
        }
        await conflict;
      }
    });
    try {
      await meanwhile();
      for (const until = Date.now() + SOON_MS; committed < ENOUGH; await pause(5))
        assert.ok(Date.now() < until, `${committed} were committed`);
    } finally {
      going = false;
    }
    await Promise.all(work);
    for (const id of inDoubt)
      if ((await rig.one('select id from accounts where id = ?', id)) !== undefined) stored.push(id);
    await rig.happenedOnce(stored);
  };

  for (const [what, call] of [
    ['connections that the operator ends', 'pg_terminate_backend'],
    ['statements that the operator cancels', 'pg_cancel_backend'],
  ]) {
    test(`${what}: each unit once, and reported so`, async () => {
      const databases = [rig.open(), rig.open(undefined, { writers: 2 })];
      await load(databases, async () => {
        for (let time = 0; time < 25; time++) {
          await rig.operate(`select ${call}(pid) ${OWN}`);
          await pause(20 + (time % 7));
        }
      });
      for (const database of databases) assert.deepEqual(await database.commit({ writes: [] }), COMMITTED);
    });
  }

  test('two nodes with the same rows in opposite order: one of them commits each', async () => {
    const [one, other] = [rig.open(), rig.open()];
    for (let round = 0; round < 6; round++) {
      const ids = Array.from({ length: 40 }, (_, index) => `pair ${round} ${index}`);
      const units = (order: readonly string[], by: string) =>
        // In one write, and in two of different texts.
        [order.slice(0, 20), order.slice(20)].map((part, at) => ({
          sql: at === 0 ? INSERT_NEW : INSERT_NEW.replace('do nothing', '(id) do nothing'),
          rows: part.map((id) => [id, nextNumber(), by, null, 0]),
          expectedRows: 1,
        }));
      const outcomes: CommitResult[] = await Promise.all([
        one.commit({ writes: units(ids, 'one') }),
        other.commit({ writes: units(ids.toReversed(), 'other') }),
      ]);
      const winners = ['one', 'other'].filter((_, index) => outcomes[index]?.committed);
      assert.equal(winners.length, 1);
      const rows = await rig.eyes.read('select distinct name from accounts where id like ?', `pair ${round} %`);
      assert.deepEqual(
        rows.map((row) => row['name']),
        winners,
      );
    }
    await rig.eyes.commit({ writes: [write("delete from accounts where id like 'pair %'", [])] });
  });

  test('writers of one lane keep one chain of each account', async () => {
    const below = (bound: number): number => Math.floor(Math.random() * Math.min(bound, 2));
    const databases = [1, 2, 3].map(() => rig.open(undefined, { below }));
    const outcomes = databases.flatMap((database, node) =>
      Array.from({ length: 8 }, async (_, index) => {
        await pause(index * 10);
        const id = `lane ${node} ${index}`;
        assert.deepEqual(await database.commit(insertRow(id)), COMMITTED);
        stored.push(id);
      }),
    );
    await Promise.all(outcomes);
    await rig.happenedOnce(stored);
    await rig.journalIsWhole();
  });

  test('a row that another transaction locks: an error in bounded time, and no effect', async () => {
    const database = rig.open(undefined, { statementTimeoutMs: 200 });
    await rig.eyes.commit({ writes: [insert('held')] });
    let isHeld = true;
    const holding = rig
      .operate("begin; update accounts set name = 'x' where id = 'held'; select pg_sleep(60); rollback")
      .catch(() => undefined)
      .finally(() => {
        isHeld = false;
      });
    const HOLDER = "from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'";
    while (Number(await rig.one(`select count(*) ${HOLDER}`)) === 0) await pause(5);
    const late = { writes: [insert('late'), write("update accounts set name = 'y' where id = ?", ['held'], 1)] };
    await assert.rejects(database.commit(late), { name: 'StorageError', message: 'a write failed: 57014' });
    assert.equal(isHeld, true);
    await rig.operate(`select pg_cancel_backend(pid) ${HOLDER}`);
    await holding;
    assert.equal(await rig.one("select name from accounts where id = 'held'"), 'name');
    assert.equal(await rig.one("select count(*) from accounts where id = 'late'"), 0);
    assert.deepEqual(await database.commit(late), COMMITTED);
    await rig.eyes.commit({ writes: [write("delete from accounts where id in ('held', 'late')", [])] });
  });

  test('a network that drops everything: an error in bounded time, and a closed connection', async () => {
    const { proxy, database } = await rig.throughProxy({ statementTimeoutMs: 100, connectTimeoutMs: 300 });
    await database.commit({ writes: [] });
    await database.read('select 1 as one');
    proxy.onMessage = () => 'hold';
    const began = performance.now();
    await assert.rejects(database.read('select 1 as one'), StorageError);
    assert.ok(performance.now() - began < 5000);
    await database.close();
    assert.ok(performance.now() - began < 9000);
    proxy.close();
  });

  test('no free connection: rejected immediately, and accepted again later', async () => {
    const database = rig.open();
    const limit = (count: number) => rig.operate(`alter database ${rig.name} connection limit ${count}`, 'postgres');
    await limit(0);
    await assert.rejects(database.commit({ writes: [] }), { message: /it has too many connections/ });
    await assert.rejects(database.read('select 1 as one'), { message: /it has too many connections/ });
    assert.equal(await database.isAlive(), false);
    await limit(-1);
    await pause(300);
    assert.deepEqual(await database.commit({ writes: [] }), COMMITTED);
    assert.equal(await database.isAlive(), true);
  });

  test('tables that are changed while statements about them are prepared', async () => {
    const database = rig.open();
    const sql = 'select * from accounts where id = ?';
    await database.read(sql, 'counter');
    await database.commit({ writes: [insert('before')] });
    await rig.operate('alter table accounts add column more bigint');
    assert.equal((await database.read(sql, 'counter'))[0]?.['more'], null);
    assert.deepEqual(await database.commit({ writes: [insert('behind')] }), COMMITTED);
    await rig.operate("alter table accounts drop column more; delete from accounts where id in ('before', 'behind')");
    assert.equal((await database.read(sql, 'counter'))[0]?.['id'], 'counter');
    await rig.operate(`select pg_terminate_backend(pid) ${OWN}`);
  });

  test('a unit whose statements are prepared after its own error does not affect others', async () => {
    const database = rig.open();
    const fresh = 'update accounts set name = ? where id = ? and created_at < 5';
    const faulty = {
      writes: [
        insert('counter'),
        {
          sql: fresh,
          rows: [
            ['a', 'b'],
            ['c', 'd'],
            ['e', 'f'],
          ],
          expectedRows: 1,
        },
      ],
    };
    const results = await Promise.allSettled([
      database.commit(faulty),
      database.commit({ writes: [insert('beside')] }),
    ]);
    assert.equal(results[0].status, 'rejected');
    assert.deepEqual(results[1], { status: 'fulfilled', value: COMMITTED });
    await rig.operate("delete from accounts where id = 'beside'");
  });

  test('more texts than are prepared, and too many values for a text that others use', async () => {
    const database = rig.open();
    const commits = Array.from({ length: 1100 }, (_, index) =>
      database.commit({
        writes: [
          write(
            `${INSERT} on conflict (id) do update set created_at = ${index}`,
            ['texts', nextNumber(), 'n', null, 0],
            1,
          ),
        ],
      }),
    );
    for (const outcome of await Promise.all(commits)) assert.deepEqual(outcome, COMMITTED);
    await rig.operate("delete from accounts where id = 'texts'");
    const results = await Promise.allSettled([
      database.commit({ writes: [insert('one')] }),
      database.commit({ writes: [write(INSERT, ['two', nextNumber(), 'name', null, 0, 'more'], 1)] }),
      database.commit({ writes: [write(INSERT, ['three', 'name'], 1)] }),
    ]);
    assert.deepEqual(
      results.map(({ status }) => status),
      ['fulfilled', 'rejected', 'rejected'],
    );
    await rig.operate("delete from accounts where id = 'one'");
    await rig.happenedOnce(stored);
  });
});
