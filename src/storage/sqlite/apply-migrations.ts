import type { DatabaseSync } from 'node:sqlite';
import type { Migration, Row } from '../database.ts';
import { CREATE_LOG, LIST_APPLIED, listMissing, RECORD_MIGRATION } from '../migrate.ts';

/**
 * Applies the missing migrations in one transaction that holds the write lock from its start, so that concurrent starts
 * wait.
 */
export function applyMigrations(database: DatabaseSync, migrations: readonly Migration[], now: number): void {
  database.exec('begin immediate');
  try {
    database.exec(CREATE_LOG);
    for (const migration of listMissing(migrations, database.prepare(LIST_APPLIED).all() as Row[])) {
      const { version, name, release, minCompatible, sql } = migration;
      database.exec(sql);
      database.prepare(RECORD_MIGRATION).run(version, name, release, now, minCompatible);
    }
    database.exec('commit');
  } catch (error) {
    if (database.isTransaction) database.exec('rollback');
    throw error;
  }
}
