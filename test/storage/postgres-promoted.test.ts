import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { parseConfig } from '../../src/config.ts';
import { systemRandom } from '../../src/crypto/random.ts';
import type { TrustedTime } from '../../src/kernel/time-guard.ts';
import { openDatabase } from '../../src/storage/open.ts';
import { Cluster } from '../chaos/cluster.ts';
import { installPostgres } from '../fixtures/postgres-binaries.ts';
import { COMMITTED, insert, PostgresFixture } from './postgres-fixture.ts';

const WAITS_MS = 1000;
/** Less than a statement may take here. */
const LEAVES_WITHIN_MS = 30_000;

const TIME: TrustedTime = {
  after: (milliseconds, run) => {
    const timer = setTimeout(run, milliseconds);
    return () => clearTimeout(timer);
  },
  trustedNow: Date.now,
  steadyNow: Date.now,
  latestNow: Date.now,
  timesNow: () => ({ now: Date.now(), steady: Date.now(), latest: Date.now() }),
};

const postgres = installPostgres();
const isMissing = 'why' in postgres;

test('a standby is promoted while the old primary runs: the old one is no longer used', {
  skip: isMissing && postgres.why,
  timeout: 120_000,
}, async () => {
  const cluster = await Cluster.start({ diskMegabytes: undefined });
  try {
    const [before, behind] = cluster.servers.ports;
    const rig = await PostgresFixture.on(cluster.servers.address(cluster.servers.ports));
    const database = rig.open(rig.address, { readers: 3, writers: 2, statementTimeoutMs: 100_000 });
    const askedAt = async (): Promise<unknown[]> => {
      const reads = Array.from({ length: 6 }, () => database.read('select inet_server_port() as port'));
      return [...new Set((await Promise.all(reads)).map(([row]) => row?.['port']))];
    };
    assert.deepEqual(await database.commit({ writes: [insert('before')] }), COMMITTED);
    await database.refreshTimeline();
    assert.deepEqual(await askedAt(), [before]);
    await cluster.promote();
    // The old one is still there, and answers.
    assert.deepEqual(await askedAt(), [before]);
    // A commit there waits for the standby, which it no longer has.
    const waiting = database.commit({ writes: [insert('waiting')] });
    assert.equal(await Promise.race([waiting, wait(WAITS_MS, 'waits')]), 'waits');
    await database.refreshTimeline();
    assert.deepEqual(await Promise.race([waiting, wait(LEAVES_WITHIN_MS, 'still waits', { ref: false })]), COMMITTED);
    assert.deepEqual(await askedAt(), [behind]);
    assert.deepEqual(await database.commit({ writes: [insert('behind')] }), COMMITTED);
    const found = await database.read(
      `select id from accounts where id in ('before', 'behind', 'waiting') order by id`,
    );
    assert.deepEqual(
      found.map((row) => row['id']),
      ['before', 'behind', 'waiting'],
    );
    // With only the old one in reach it is away.
    await cluster.killPrimary();
    await assert.rejects(
      database.commit({ writes: [insert('lost')] }),
      /was replaced by another server|cannot be reached/,
    );
    await rig.close();
  } finally {
    await cluster.stop();
  }
});

test('a node finds a promoted standby while all its writes wait at the old primary', {
  skip: isMissing && postgres.why,
  timeout: 120_000,
}, async () => {
  const cluster = await Cluster.start({ diskMegabytes: undefined });
  const settings = { CARDVAULT_DATABASE_WRITERS: '1', CARDVAULT_DATABASE_STATEMENT_TIMEOUT_MS: '100000' };
  const url = cluster.servers.address(cluster.servers.ports);
  const rig = await PostgresFixture.on(url);
  const { database: options } = parseConfig({ ...settings, CARDVAULT_DATABASE_URL: url });
  const { database, maintenance } = openDatabase(options, Date.now, systemRandom());
  const tasks = maintenance(TIME, () => undefined);
  try {
    assert.deepEqual(await database.commit({ writes: [insert('before')] }), COMMITTED);
    await cluster.promote();
    // The first of the tasks writes, and waits.
    tasks.start();
    const waiting = database.commit({ writes: [insert('waiting')] });
    assert.deepEqual(await Promise.race([waiting, wait(LEAVES_WITHIN_MS, 'still waits', { ref: false })]), COMMITTED);
    await rig.close();
  } finally {
    // Nothing waits at a server that is gone.
    await cluster.stop();
    await tasks.stop();
    await database.close();
  }
});
