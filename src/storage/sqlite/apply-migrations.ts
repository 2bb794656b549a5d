import type { DatabaseSync } from 'node:sqlite';
import { StorageError } from '../database.ts';
import type { Migration } from '../migrate.ts';

const CREATE_LOG = `create table if not exists schema_migrations (
  version integer not null primary key, name text not null, applied_at bigint not null)`;

/** Applies what is missing in one transaction that holds the write lock from its start, so that starters queue up. */
export function applyMigrations(database: DatabaseSync, migrations: readonly Migration[], now: number): void {
  database.exec('begin immediate');
  try {
    database.exec(CREATE_LOG);
    const row = database.prepare('select coalesce(max(version), 0) as version from schema_migrations').get();
    const present = Number(row?.['version']);
    const newest = migrations.at(-1)?.version ?? 0;
    if (present > newest) {
      throw new StorageError(`the database has schema ${present}, made by a newer cardvault; this one knows ${newest}`);
    }
    for (const { version, name, sql } of migrations) {
      if (version <= present) continue;
      database.exec(sql);
      database
        .prepare('insert into schema_migrations (version, name, applied_at) values (?, ?, ?)')
        .run(version, name, now);
    }
    database.exec('commit');
  } catch (error) {
    if (database.isTransaction) database.exec('rollback');
    throw error;
  }
}
