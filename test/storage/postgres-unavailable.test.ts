import assert from 'node:assert/strict';
import { test } from 'node:test';
import { write } from '../../src/storage/database.ts';
import { PostgresFixture } from './postgres-fixture.ts';

test('rows of writers that were inactive for a day are deleted, and one that is only idle continues', async () => {
  const rig = await PostgresFixture.shared();
  const old =
    "insert into writers (account, id, epoch, last_group, last_seen_at, schema) values (0, 'old', 1, 1, 1, 1)";
  await rig.eyes.commit({ writes: [write(old, [], 1)] });
  const idle = rig.open();
  await idle.commit({ writes: [write('update accounts set created_at = 5', [])] });
  await rig.eyes.commit({ writes: [write('update writers set last_seen_at = 1', [])] });
  await rig.eyes.purgeWriters(1_700_000_000_000);
  assert.equal(await rig.one('select count(*) as n from writers'), 1);
  assert.deepEqual(await idle.commit({ writes: [write('update accounts set created_at = 6', [])] }), {
    committed: true,
  });
  assert.equal(await rig.one('select count(*) as n from writers'), 2);
  await rig.remove();
});
