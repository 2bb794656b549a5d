import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { whyNoPostgres } from '../fixtures/postgres-binaries.ts';
import { COMMITTED, INSERT_NEW, insert, insertRow, PostgresFixture } from './postgres-fixture.ts';
import { isQuery, type Message, simpleQuery } from './wire-proxy.ts';

const BEGIN = 'begin read write';
const CONFLICT = { writes: [insert('counter', INSERT_NEW)] };
/** A busy machine opens many connections in seconds. */
const PATIENT = { connectTimeoutMs: 20_000, statementTimeoutMs: 20_000 };
const LOST = { committed: false, write: 0, row: 0 };

describe('PostgreSQL: a broken connection', { skip: whyNoPostgres(), timeout: 120_000 }, () => {
  let rig: PostgresFixture;
  before(async () => {
    rig = await PostgresFixture.shared();
  });
  after(() => rig.remove());

  const done: string[] = [];
  for (const kind of ['at once', 'one by one', 'on a new connection'] as const) {
    /** The group, with a connection that breaks at one of its messages; returns how many there were. */
    const breakAt = async (verdict: 'cut' | 'last', position: number): Promise<number> => {
      const { proxy, database } = await rig.throughProxy(PATIENT);
      const id = `${verdict} ${kind} ${position}`;
      if (kind !== 'on a new connection') await database.commit({ writes: [] });
      let messages = 0;
      proxy.onMessage = () => (messages++ === position ? verdict : 'pass');
      const commits = [database.commit(insertRow(id)), ...(kind === 'one by one' ? [database.commit(CONFLICT)] : [])];
      const [first, second] = await Promise.allSettled(commits);
      if (first?.status === 'fulfilled') {
        assert.deepEqual(first.value, COMMITTED);
        done.push(id);
      } else assert.equal(kind, 'on a new connection', `only where there was none yet: ${first?.reason}`);
      if (second !== undefined) assert.deepEqual(second, { status: 'fulfilled', value: LOST });
      const sent = messages;
      await database.close();
      proxy.close();
      return sent;
    };

    test(`at each message of a group ${kind}: committed once, and reported so`, async () => {
      const messages = await breakAt('cut', Number.POSITIVE_INFINITY);
      assert.ok(messages > 20 && messages < 200, `${messages} messages`);
      await breakAt('cut', 0);
      // One by one there are many more, most of them alike.
      const step = kind === 'one by one' ? 2 : 1;
      const positions = Array.from({ length: messages }, (_, position) => messages - 1 - position).filter(
        (_, at) => at % step === 0,
      );
      await Promise.all(positions.map((position) => breakAt('last', position)));
      await rig.happenedOnce(done);
    });
  }

  test('bytes of the old connection that arrive after the new one are rejected', async () => {
    for (const kind of ['at once', 'one by one', 'with a sign of life']) {
      const { proxy, database } = await rig.throughProxy(PATIENT);
      await database.commit({ writes: [] });
      const id = `late ${kind}`;
      let begins = 0;
      proxy.onMessage = (message) => (isQuery(message, BEGIN) && begins++ === 0 ? 'hold' : 'pass');
      if (kind === 'with a sign of life') void database.touch().catch(() => undefined);
      const commits = [database.commit(insertRow(id)), ...(kind === 'one by one' ? [database.commit(CONFLICT)] : [])];
      await pause(100);
      proxy.reset();
      assert.deepEqual(await Promise.all(commits), [COMMITTED, LOST].slice(0, commits.length));
      done.push(id);
      assert.equal(proxy.connections, 2);
      proxy.release();
      await pause(200);
      // The writer has not lost its place either.
      const next = `${id}, next`;
      assert.deepEqual(await database.commit(insertRow(next)), COMMITTED);
      done.push(next);
      await database.close();
      proxy.close();
    }
    await rig.happenedOnce(done);
  });

  test('a database that is being closed completes the units that it has, and takes no other', async () => {
    const { proxy, database } = await rig.throughProxy(PATIENT);
    await database.commit({ writes: [] });
    const ids = ['before the end', 'one by one before the end'];
    const commits = [...ids.map((id) => database.commit(insertRow(id))), database.commit(CONFLICT)];
    const closed = database.close();
    await assert.rejects(database.commit(insertRow('after the begin of the end')), /the database is closed/);
    assert.deepEqual(await Promise.all(commits), [COMMITTED, COMMITTED, LOST]);
    done.push(...ids);
    await closed;
    proxy.close();
    await rig.happenedOnce(done);
  });

  test('heartbeats while a group is in doubt do not repeat it', async () => {
    for (let wait = 0; wait < 400; wait += 80) {
      const { proxy, database } = await rig.throughProxy(PATIENT);
      await database.commit({ writes: [] });
      const id = `doubt ${wait}`;
      let commits = 0;
      proxy.onMessage = (message) => (isQuery(message, 'commit') && commits++ === 0 ? 'last' : 'pass');
      const outcome = database.commit(insertRow(id));
      await pause(wait);
      const signs = [database.isAlive(), database.touch().catch(() => undefined)];
      assert.deepEqual(await outcome, COMMITTED);
      await Promise.all(signs);
      done.push(id);
      await database.close();
      proxy.close();
    }
    await rig.happenedOnce(done);
  });

  const responses: readonly [string, string, boolean][] = [
    ['an error instead of the commit', "do $$ begin raise exception 'no' using errcode = '53100'; end $$", false],
    ['an error behind the commit', "commit; do $$ begin raise exception 'no' using errcode = '53100'; end $$", true],
    ['no transaction', 'bogus', false],
  ];
  for (const [what, sql] of responses) {
    for (const kind of ['at once', 'one by one']) {
      test(`${what}, ${kind}: committed once, and reported so`, async () => {
        const id = `${what} ${kind}`;
        const { proxy, database } = await rig.throughProxy(PATIENT);
        // The writer has its lane from here on. Beginning one takes another sequence of transactions.
        assert.deepEqual(await database.commit(insertRow(`before ${id}`)), COMMITTED);
        done.push(`before ${id}`);
        const at = what === 'no transaction' ? BEGIN : 'commit';
        // The first transaction of two is the one at once.
        let skip = kind === 'one by one' ? 1 : 0;
        let replaced = 0;
        proxy.onMessage = (message: Message) => {
          if (!isQuery(message, at) || skip-- > 0 || replaced++ > 0) return 'pass';
          return simpleQuery(sql);
        };
        const commits = [database.commit(insertRow(id)), ...(kind === 'one by one' ? [database.commit(CONFLICT)] : [])];
        const [first] = await Promise.allSettled(commits);
        assert.ok(replaced > 0);
        if (first?.status === 'fulfilled') {
          assert.deepEqual(first.value, COMMITTED);
          done.push(id);
        } else assert.equal(at, BEGIN);
        await rig.happenedOnce(done);
        await database.close();
        proxy.close();
      });
    }
  }

  test('a writer whose row was removed reports an unknown result', async () => {
    const { proxy, database } = await rig.throughProxy(PATIENT);
    await database.commit({ writes: [] });
    let commits = 0;
    proxy.onMessage = (message) => (isQuery(message, 'commit') && commits++ === 0 ? 'last' : 'pass');
    const outcome = database.commit(insertRow('forgotten'));
    while (Number(await rig.one("select count(*) from accounts where id = 'forgotten'")) === 0) await pause(5);
    await rig.operate('delete from writers');
    await assert.rejects(outcome, { name: 'StorageError', message: /the result of a write is unknown/ });
    done.push('forgotten');
    assert.deepEqual(await database.commit(insertRow('afterwards')), COMMITTED);
    done.push('afterwards');
    await rig.happenedOnce(done);
    await database.close();
    proxy.close();
  });

  test('the journal is intact', async () => {
    await rig.journalIsWhole();
  });
});
