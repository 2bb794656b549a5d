import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Migration, write } from '../../src/storage/database.ts';
import { parseMigration, readMigrations, schemaVersion } from '../../src/storage/migrate.ts';
import { PostgresFixture } from './postgres-fixture.ts';

const PRESENT = readMigrations();
const NEWEST = PRESENT.length;
const four = (version: number): string => String(version).padStart(4, '0');
const later = (version: number, line: string): Migration =>
  parseMigration(
    `${four(version)}_later.sql`,
    `-- release: 9.${version}.0\n${line}\ncreate table t${version} (id text);\n`,
  );

const EXPANDS = later(NEWEST + 1, `-- compatible-from: ${four(NEWEST)}`);
const CONTRACTS = later(NEWEST + 2, `-- compatible-from: ${four(NEWEST + 1)}`);
const AT = 1_700_000_000_000;
const MINUTE = 60_000;

test('an incompatible migration is refused until the last older node has stopped', async () => {
  const rig = await PostgresFixture.shared();
  const node = rig.open();
  await node.commit({ writes: [write('update accounts set created_at = 5', [])] });
  await rig.eyes.commit({ writes: [write('update writers set last_seen_at = ?', [AT])] });

  const next = rig.open();
  await next.migrate(() => AT, [...PRESENT, EXPANDS]);
  assert.equal(await schemaVersion(rig.eyes), NEWEST + 1);

  const skipping = rig.open();
  const all = [...PRESENT, EXPANDS, CONTRACTS];
  const release = PRESENT.at(-1)?.release ?? '';
  const reason = `a node of cardvault ${release} uses the database, and this version does not work beside it`;
  const remedy = `stop it, or replace it by cardvault 9.${NEWEST + 1}.0 first`;
  await assert.rejects(
    skipping.migrate(() => AT + MINUTE - 1, all),
    new RegExp(`${reason}: ${remedy}`.replaceAll('.', '\\.')),
  );
  assert.equal(await schemaVersion(rig.eyes), NEWEST + 1, 'a refused start changes nothing');

  // A node that stops takes its row with it; one that was killed is gone after a minute.
  await node.close();
  assert.equal(await rig.one('select count(*) as n from writers'), 1);
  await assert.rejects(
    skipping.migrate(() => AT, all),
    /uses the database/,
  );
  await skipping.migrate(() => AT + MINUTE, all);
  assert.equal(await schemaVersion(rig.eyes), NEWEST + 2);
  await rig.remove();
});

test('a writer registers with the newest schema that its program knows', async () => {
  const rig = await PostgresFixture.shared();
  const node = rig.open();
  await node.migrate(() => AT, [...PRESENT, EXPANDS]);
  await node.commit({ writes: [write('update accounts set created_at = 5', [])] });
  const rows = await rig.eyes.read('select schema from writers order by schema');
  assert.deepEqual(
    rows.map(({ schema }) => schema),
    [NEWEST, NEWEST + 1],
  );
  await rig.remove();
});
