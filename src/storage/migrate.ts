import { readdirSync, readFileSync } from 'node:fs';
import { type DatabaseReads, type Migration, type Row, StorageError } from './database.ts';
import type { Table } from './table.ts';

export const TABLES: readonly Table[] = [
  {
    name: 'schema_migrations',
    key: ['version'],
    columns: { version: 'integer', name: 'text', release: 'text', applied_at: 'integer', min_compatible: 'integer' },
    isLocal: true,
  },
];

const FOLDER = new URL('migrations/', import.meta.url);
const GUIDE = 'see docs/upgrading.md';

/** The numbered files of `migrations/`, in order. Files are only ever added. */
export function readMigrations(): Migration[] {
  return readdirSync(FOLDER)
    .sort()
    .map((file) => parseMigration(file, readFileSync(new URL(file, FOLDER), 'utf8')));
}

/**
 * Parses a migration. Lines of its own state the release that ships it (`-- release: 0.2.0`), the oldest schema whose code
 * still works with it (`-- compatible-from: 0006`; absent: none), and the oldest schema that it can be applied to
 * (`-- upgrades-from: 0005`; absent: every one).
 */
export function parseMigration(name: string, sql: string): Migration {
  if (!/^[0-9]{4}_[a-z-]+\.sql$/.test(name)) throw new Error(`${name} is not a name of a migration`);
  const version = Number(name.slice(0, 4));
  const release = /^-- release: ([0-9]+\.[0-9]+\.[0-9]+)$/m.exec(sql)?.[1];
  if (release === undefined) throw new Error(`${name} states no release`);
  const minCompatible = Number(/^-- compatible-from: ([0-9]{4})$/m.exec(sql)?.[1] ?? version);
  const upgradesFrom = Number(/^-- upgrades-from: ([0-9]{4})$/m.exec(sql)?.[1] ?? 0);
  return { version, name, release, minCompatible, upgradesFrom, sql };
}

const newestOf = (migrations: readonly Migration[]): number => migrations.at(-1)?.version ?? 0;

let newestSchema: number | undefined;

/** Returns the newest schema that this program knows. */
export function knownSchema(): number {
  newestSchema ??= newestOf(readMigrations());
  return newestSchema;
}

/** The log of the applied migrations. */
export const CREATE_LOG = `create table if not exists schema_migrations (
  version integer not null primary key, name text not null, release text not null, applied_at bigint not null,
  min_compatible integer not null)`;
export const CURRENT_VERSION = 'select coalesce(max(version), 0) as version from schema_migrations';
export const LIST_APPLIED = 'select version, release, min_compatible from schema_migrations order by version';
export const RECORD_MIGRATION =
  'insert into schema_migrations (version, name, release, applied_at, min_compatible) values (?, ?, ?, ?, ?)';

interface AppliedMigration {
  readonly version: number;
  readonly release: string;
  readonly minCompatible: number;
}

const toApplied = (row: Row): AppliedMigration => ({
  version: Number(row['version']),
  release: String(row['release']),
  minCompatible: Number(row['min_compatible']),
});

/**
 * Returns the migrations that the schema lacks. `rows`: those of `LIST_APPLIED`. Throws `StorageError` for a schema that this
 * program does not work with, and for one from before a release that must not be skipped.
 */
export function listMissing(migrations: readonly Migration[], rows: readonly Row[]): readonly Migration[] {
  const applied = rows.map(toApplied);
  const present = applied.at(-1);
  if (present === undefined) return migrations;
  if (present.version > newestOf(migrations)) assertSupportedSchema(migrations, applied, present);
  const missing = migrations.filter(({ version }) => version > present.version);
  assertNoSkippedRelease(migrations, missing, present);
  return missing;
}

/** A newer version may declare that this one still works with its schema. */
function assertSupportedSchema(
  migrations: readonly Migration[],
  applied: readonly AppliedMigration[],
  present: AppliedMigration,
): void {
  const known = migrations.at(-1);
  const oldest = Math.max(...applied.map(({ minCompatible }) => minCompatible));
  if (known === undefined || oldest <= known.version) return;
  const release = applied.find(({ version }) => version === oldest)?.release ?? present.release;
  const found = `the database has schema ${present.version}, made by a newer cardvault (${present.release})`;
  const knows = `this one knows schema ${known.version} (${known.release})`;
  throw new StorageError(`${found}; ${knows}: start cardvault ${release} or later; ${GUIDE}`);
}

/** Some migrations rely on work that the program of an earlier release did while it ran. */
function assertNoSkippedRelease(
  migrations: readonly Migration[],
  missing: readonly Migration[],
  present: AppliedMigration,
): void {
  const oldest = Math.max(...missing.map(({ upgradesFrom }) => upgradesFrom));
  if (missing.length === 0 || present.version >= oldest) return;
  const found = `the database has schema ${present.version} (${present.release})`;
  throw new StorageError(
    `${found}, and this cardvault upgrades from schema ${oldest}: start ${releaseOf(migrations, oldest)} first; ${GUIDE}`,
  );
}

const releaseOf = (migrations: readonly Migration[], schema: number): string =>
  `cardvault ${migrations.find(({ version }) => version === schema)?.release ?? `with schema ${schema}`}`;

/**
 * Throws `StorageError` while a node runs that knows only `schema`, the oldest of all running nodes, and the missing
 * migrations do not work beside it.
 */
export function assertNodesCompatible(
  migrations: readonly Migration[],
  missing: readonly Migration[],
  schema: number,
): void {
  const oldest = Math.max(...missing.map(({ minCompatible }) => minCompatible));
  if (missing.length === 0 || schema >= oldest) return;
  const running = `a node of ${releaseOf(migrations, schema)} uses the database`;
  const isNewest = oldest === newestOf(migrations);
  const remedy = isNewest
    ? 'stop all of its nodes and commands'
    : `stop it, or replace it by ${releaseOf(migrations, oldest)} first`;
  throw new StorageError(`${running}, and this version does not work beside it: ${remedy}; ${GUIDE}`);
}

/** Returns the version of the newest applied migration. */
export async function schemaVersion(database: DatabaseReads): Promise<number> {
  const [row] = await database.read('select max(version) as version from schema_migrations');
  return Number(row?.['version']);
}
