import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Migration, type Row, StorageError } from './database.ts';
import { assertNodesCompatible, knownSchema, listMissing, parseMigration, readMigrations } from './migrate.ts';

/** One schema for each of the releases 0.1.0 to 0.4.0. */
const migration = (version: number, lines = ''): Migration =>
  parseMigration(`000${version}_step.sql`, `-- A step.\n-- release: 0.${version}.0\n${lines}\nselect 1;\n`);
const ONE = migration(1);
const TWO = migration(2, '-- compatible-from: 0001');
const THREE = migration(3, '-- compatible-from: 0002\n-- upgrades-from: 0002');
const FOUR = migration(4);
const ALL = [ONE, TWO, THREE, FOUR];

const applied = (...migrations: readonly Migration[]): Row[] =>
  migrations.map(({ version, release, minCompatible }) => ({ version, release, min_compatible: minCompatible }));
const refusal = (run: () => unknown): string => {
  let message = '';
  assert.throws(run, (error: Error) => {
    ({ message } = error);
    return error instanceof StorageError;
  });
  return message;
};

describe('a migration', () => {
  test('states its release, the oldest schema that works beside it, and the oldest that it is applied to', () => {
    assert.deepEqual(
      ALL.map(({ version, release, minCompatible, upgradesFrom }) => [version, release, minCompatible, upgradesFrom]),
      [
        [1, '0.1.0', 1, 0],
        [2, '0.2.0', 1, 0],
        [3, '0.3.0', 2, 2],
        [4, '0.4.0', 4, 0],
      ],
    );
    assert.throws(() => parseMigration('0005_step.sql', 'select 1;'), /0005_step.sql states no release/);
    assert.throws(() => parseMigration('5.sql', '-- release: 0.5.0'), /5.sql is not a name of a migration/);
  });

  test('of this program has the number behind the one before it, and no older release', () => {
    const migrations = readMigrations();
    assert.deepEqual(
      migrations.map(({ version }) => version),
      migrations.map((_, index) => index + 1),
    );
    assert.equal(knownSchema(), migrations.length);
    const releases = migrations.map(({ release }) => release.split('.').map(Number));
    assert.deepEqual(releases, [...releases].sort(compareReleases));
  });
});

const compareReleases = (one: readonly number[], other: readonly number[]): number => {
  const index = one.findIndex((part, place) => part !== other[place]);
  return index < 0 ? 0 : Number(one[index]) - Number(other[index]);
};

describe('the missing migrations', () => {
  test('are all of them for an empty database, and those behind the newest for another', () => {
    assert.deepEqual(listMissing(ALL, []), ALL);
    assert.deepEqual(listMissing([ONE, TWO], applied(ONE)), [TWO]);
    assert.deepEqual(listMissing(ALL, applied(ONE, TWO)), [THREE, FOUR]);
    assert.deepEqual(listMissing(ALL, applied(...ALL)), []);
  });

  test('are none for an older program that works beside the schema', () => {
    assert.deepEqual(listMissing([ONE], applied(ONE, TWO)), []);
  });

  test('are refused when the schema is too new for the program', () => {
    assert.equal(
      refusal(() => listMissing([ONE], applied(ONE, TWO, THREE))),
      'the database has schema 3, made by a newer cardvault (0.3.0); this one knows schema 1 (0.1.0): start cardvault 0.2.0 or later; see docs/upgrading.md',
    );
    assert.match(
      refusal(() => listMissing([ONE, TWO, THREE], applied(...ALL))),
      /schema 4, .*0\.4\.0\); this one knows schema 3 \(0\.3\.0\): start cardvault 0\.4\.0 or later/,
    );
  });

  test('are refused when a release is skipped on whose work they rely', () => {
    assert.equal(
      refusal(() => listMissing(ALL, applied(ONE))),
      'the database has schema 1 (0.1.0), and this cardvault upgrades from schema 2: start cardvault 0.2.0 first; see docs/upgrading.md',
    );
  });
});

describe('running nodes', () => {
  test('allow migrations that work beside them', () => {
    assertNodesCompatible([ONE, TWO], [TWO], 1);
    assertNodesCompatible(ALL, [], 1);
  });

  test('are to be replaced by the release between, when they are two releases older', () => {
    assert.equal(
      refusal(() => assertNodesCompatible([ONE, TWO, THREE], [THREE], 1)),
      'a node of cardvault 0.1.0 uses the database, and this version does not work beside it: stop it, or replace it by cardvault 0.2.0 first; see docs/upgrading.md',
    );
  });

  test('are all to be stopped before a migration that no older program works with', () => {
    assert.equal(
      refusal(() => assertNodesCompatible(ALL, [FOUR], 3)),
      'a node of cardvault 0.3.0 uses the database, and this version does not work beside it: stop all of its nodes and commands; see docs/upgrading.md',
    );
  });
});
