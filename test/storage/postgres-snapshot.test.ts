import assert from 'node:assert/strict';
import { test } from 'node:test';
import { installPostgres } from '../fixtures/postgres-binaries.ts';
import { COMMITTED, insert, PostgresFixture } from './postgres-fixture.ts';

const postgres = installPostgres();

test('a snapshot of PostgreSQL sees one moment, and writes nothing', {
  skip: 'why' in postgres && postgres.why,
  timeout: 60_000,
}, async () => {
  const rig = await PostgresFixture.shared();
  const database = rig.open();
  assert.deepEqual(await database.commit({ writes: [insert('before')] }), COMMITTED);
  const snapshot = await database.openSnapshot();
  const names = async (): Promise<unknown[]> =>
    (await snapshot.readStored('select id from accounts where id in (?, ?) order by id', 'after', 'before')).map(
      (row) => row['id'],
    );
  assert.deepEqual(await names(), ['before']);
  assert.deepEqual(await database.commit({ writes: [insert('after')] }), COMMITTED);
  assert.deepEqual(await names(), ['before']);
  await assert.rejects(snapshot.readStored('delete from accounts'), /it takes no writes/);
  await snapshot.close();
  const later = await database.openSnapshot();
  assert.equal((await later.readStored("select id from accounts where id = 'after'")).length, 1);
  await later.close();
  await rig.close();
});
