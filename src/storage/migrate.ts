import { readdirSync, readFileSync } from 'node:fs';
import type { Database } from './database.ts';

export interface Migration {
  readonly version: number;
  readonly name: string;
  readonly sql: string;
}

const FOLDER = new URL('migrations/', import.meta.url);

/** The numbered files of `migrations/`, in order. They are only ever added to. */
export function readMigrations(): Migration[] {
  return readdirSync(FOLDER)
    .filter((file) => /^[0-9]{4}_[a-z-]+\.sql$/.test(file))
    .sort()
    .map((file) => ({
      version: Number(file.slice(0, 4)),
      name: file,
      sql: readFileSync(new URL(file, FOLDER), 'utf8'),
    }));
}

/** The version of the newest migration that was applied. */
export async function schemaVersion(database: Database): Promise<number> {
  const [row] = await database.read('select max(version) as version from schema_migrations');
  return Number(row?.['version']);
}
