import type { DatabaseSync } from 'node:sqlite';
import {
  assertSupportedSchema,
  CREATE_LOG,
  CURRENT_VERSION,
  MIN_COMPATIBLE,
  type Migration,
  RECORD_MIGRATION,
  RECORD_MIN_COMPATIBLE,
} from '../migrate.ts';

/** Applies what is missing in one transaction that holds the write lock from its start, so that starters queue up. */
export function applyMigrations(database: DatabaseSync, migrations: readonly Migration[], now: number): void {
  database.exec('begin immediate');
  try {
    database.exec(CREATE_LOG);
    const numberOf = (sql: string, column: string): number => Number(database.prepare(sql).get()?.[column]);
    const present = numberOf(CURRENT_VERSION, 'version');
    if (present > (migrations.at(-1)?.version ?? 0))
      assertSupportedSchema(migrations, present, numberOf(MIN_COMPATIBLE, 'oldest'));
    const missing = migrations.filter(({ version }) => version > present);
    for (const { version, name, sql } of missing) {
      database.exec(sql);
      database.prepare(RECORD_MIGRATION).run(version, name, now);
    }
    if (missing.length > 0) noteOldest(database, missing);
    database.exec('commit');
  } catch (error) {
    if (database.isTransaction) database.exec('rollback');
    throw error;
  }
}

function noteOldest(database: DatabaseSync, applied: readonly Migration[]): void {
  const columns = database.prepare('pragma table_info(schema_migrations)').all();
  // A database that is taken to a version before the column came, as tests do.
  if (!columns.some(({ name }) => name === 'oldest')) return;
  for (const { minCompatible, version } of applied) database.prepare(RECORD_MIN_COMPATIBLE).run(minCompatible, version);
}
