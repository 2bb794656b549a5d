import type { DatabaseSync } from 'node:sqlite';
import { CREATE_LOG, type Migration, NOTE, NOTE_OLDEST, OLDEST, PRESENT, refuseNewer } from '../migrate.ts';

/** Applies what is missing in one transaction that holds the write lock from its start, so that starters queue up. */
export function applyMigrations(database: DatabaseSync, migrations: readonly Migration[], now: number): void {
  database.exec('begin immediate');
  try {
    database.exec(CREATE_LOG);
    const numberOf = (sql: string, column: string): number => Number(database.prepare(sql).get()?.[column]);
    const present = numberOf(PRESENT, 'version');
    if (present > (migrations.at(-1)?.version ?? 0)) refuseNewer(migrations, present, numberOf(OLDEST, 'oldest'));
    const missing = migrations.filter(({ version }) => version > present);
    for (const { version, name, sql } of missing) {
      database.exec(sql);
      database.prepare(NOTE).run(version, name, now);
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
  for (const { oldest, version } of applied) database.prepare(NOTE_OLDEST).run(oldest, version);
}
