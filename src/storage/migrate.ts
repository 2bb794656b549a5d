import { readdirSync, readFileSync } from 'node:fs';
import { type Database, StorageError } from './database.ts';
import type { Table } from './table.ts';

export const TABLES: readonly Table[] = [
  {
    name: 'schema_migrations',
    key: ['version'],
    columns: { version: 'integer', name: 'text', applied_at: 'integer', oldest: 'integer' },
    isLocal: true,
  },
];

export interface Migration {
  readonly version: number;
  readonly name: string;
  /** The oldest version of the schema whose code still works on this one, beside nodes that know it. */
  readonly minCompatible: number;
  readonly sql: string;
}

const FOLDER = new URL('migrations/', import.meta.url);

/** The numbered files of `migrations/`, in order. They are only ever added to. */
export function readMigrations(): Migration[] {
  return readdirSync(FOLDER)
    .sort()
    .map((file) => readMigration(file, readFileSync(new URL(file, FOLDER), 'utf8')));
}

/** A migration that older code can live with says so in a line of its own: `-- works with: 0006`. */
function readMigration(name: string, sql: string): Migration {
  if (!/^[0-9]{4}_[a-z-]+\.sql$/.test(name)) throw new Error(`${name} is no name of a migration`);
  const version = Number(name.slice(0, 4));
  const minCompatible = /^-- works with: ([0-9]{4})$/m.exec(sql)?.[1];
  return { version, name, minCompatible: minCompatible === undefined ? version : Number(minCompatible), sql };
}

/** The log of what was applied, as the first version made it; a migration gave it the column `oldest`. */
export const CREATE_LOG = `create table if not exists schema_migrations (
  version integer not null primary key, name text not null, applied_at bigint not null)`;
export const CURRENT_VERSION = 'select coalesce(max(version), 0) as version from schema_migrations';
export const MIN_COMPATIBLE = 'select max(coalesce(oldest, version)) as oldest from schema_migrations';
export const RECORD_MIGRATION = 'insert into schema_migrations (version, name, applied_at) values (?, ?, ?)';
/** Behind all of them, because the column may be new. */
export const RECORD_MIN_COMPATIBLE = 'update schema_migrations set oldest = ? where version = ?';

/** Refuses a schema that a newer version made, unless it was made so that this one can go on working. */
export function assertSupportedSchema(migrations: readonly Migration[], present: number, minCompatible: number): void {
  const newest = migrations.at(-1)?.version ?? 0;
  if (minCompatible <= newest) return;
  throw new StorageError(`the database has schema ${present}, made by a newer cardvault; this one knows ${newest}`);
}

/** The version of the newest migration that was applied. */
export async function schemaVersion(database: Database): Promise<number> {
  const [row] = await database.read('select max(version) as version from schema_migrations');
  return Number(row?.['version']);
}
