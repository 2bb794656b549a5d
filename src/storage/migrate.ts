import { readdirSync, readFileSync } from 'node:fs';
import { type Database, type Migration, StorageError } from './database.ts';
import type { Table } from './table.ts';

export const TABLES: readonly Table[] = [
  {
    name: 'schema_migrations',
    key: ['version'],
    columns: { version: 'integer', name: 'text', applied_at: 'integer', min_compatible: 'integer' },
    isLocal: true,
  },
];

const FOLDER = new URL('migrations/', import.meta.url);

/** The numbered files of `migrations/`, in order. Files are only ever added. */
export function readMigrations(): Migration[] {
  return readdirSync(FOLDER)
    .sort()
    .map((file) => readMigration(file, readFileSync(new URL(file, FOLDER), 'utf8')));
}

/** A migration with which older code still works states so in a line: `-- compatible-from: 0006`. */
function readMigration(name: string, sql: string): Migration {
  if (!/^[0-9]{4}_[a-z-]+\.sql$/.test(name)) throw new Error(`${name} is not a name of a migration`);
  const version = Number(name.slice(0, 4));
  const minCompatible = /^-- compatible-from: ([0-9]{4})$/m.exec(sql)?.[1];
  return { version, name, minCompatible: minCompatible === undefined ? version : Number(minCompatible), sql };
}

/** The log of the applied migrations. */
export const CREATE_LOG = `create table if not exists schema_migrations (
  version integer not null primary key, name text not null, applied_at bigint not null,
  min_compatible integer not null)`;
export const CURRENT_VERSION = 'select coalesce(max(version), 0) as version from schema_migrations';
export const MIN_COMPATIBLE = 'select max(min_compatible) as min_compatible from schema_migrations';
export const RECORD_MIGRATION =
  'insert into schema_migrations (version, name, applied_at, min_compatible) values (?, ?, ?, ?)';

/** Throws for a schema of a newer version, unless that version declares that this one still works with it. */
export function assertSupportedSchema(migrations: readonly Migration[], present: number, minCompatible: number): void {
  const newest = migrations.at(-1)?.version ?? 0;
  if (minCompatible <= newest) return;
  throw new StorageError(`the database has schema ${present}, made by a newer cardvault; this one knows ${newest}`);
}

/** Returns the version of the newest applied migration. */
export async function schemaVersion(database: Database): Promise<number> {
  const [row] = await database.read('select max(version) as version from schema_migrations');
  return Number(row?.['version']);
}
