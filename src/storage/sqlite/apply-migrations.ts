import type { DatabaseSync } from 'node:sqlite';
import type { Migration } from '../database.ts';
import { assertSupportedSchema, CREATE_LOG, CURRENT_VERSION, MIN_COMPATIBLE, RECORD_MIGRATION } from '../migrate.ts';

/**
 * Applies the missing migrations in one transaction that holds the write lock from its start, so that concurrent starts
 * wait.
 */
export function applyMigrations(database: DatabaseSync, migrations: readonly Migration[], now: number): void {
  database.exec('begin immediate');
  try {
    database.exec(CREATE_LOG);
    const numberOf = (sql: string, column: string): number => Number(database.prepare(sql).get()?.[column]);
    const present = numberOf(CURRENT_VERSION, 'version');
    if (present > (migrations.at(-1)?.version ?? 0))
      assertSupportedSchema(migrations, present, numberOf(MIN_COMPATIBLE, 'min_compatible'));
    const missing = migrations.filter(({ version }) => version > present);
    for (const { version, name, minCompatible, sql } of missing) {
      database.exec(sql);
      database.prepare(RECORD_MIGRATION).run(version, name, now, minCompatible);
    }
    database.exec('commit');
  } catch (error) {
    if (database.isTransaction) database.exec('rollback');
    throw error;
  }
}
