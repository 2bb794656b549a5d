import { MINUTE } from '../../kernel/clock.ts';
import { type Migration, StorageError } from '../database.ts';
import {
  assertNodesCompatible,
  CREATE_LOG,
  CURRENT_VERSION,
  LIST_APPLIED,
  listMissing,
  RECORD_MIGRATION,
} from '../migrate.ts';
import type { Connection } from './connection.ts';
import { sqlState } from './sqlstate.ts';
import { plain } from './statements.ts';

/** The advisory lock by which concurrent starts wait for one another: "card" and "vaul". */
const LOCK = 'select pg_advisory_xact_lock(1667330660, 1986098540)';

/** The types of the migrations under their PostgreSQL names. Text is compared and ordered by its bytes. */
const inPostgresTypes = (sql: string): string =>
  sql
    .replaceAll(/\) without rowid;/g, ');')
    .replace(/^(\s*|.* add column |.*\()(\w+) (text|blob)\b/gm, (_, before: string, column: string, type: string) =>
      type === 'blob' ? `${before}${column} bytea` : `${before}${column} text collate "C"`,
    );

const HAS_LOG = `select to_regclass('schema_migrations')::text as name`;
/** SQLSTATE insufficient_privilege. */
const DENIED = '42501';

/**
 * Applies the missing migrations in one transaction. A schema that is up to date is only read: a service need not own
 * it.
 */
export async function applyMigrations(
  connection: Connection,
  migrations: readonly Migration[],
  now: number,
): Promise<void> {
  if (await isUpToDate(connection, migrations)) return;
  await connection.begin();
  try {
    await connection.command(LOCK);
    await connection.command(inPostgresTypes(CREATE_LOG));
    const applied = await connection.run(plain(LIST_APPLIED, []));
    const missing = listMissing(migrations, applied);
    if (applied.length > 0) await assertNodesGone(connection, migrations, missing, now);
    for (const { version, name, release, minCompatible, sql } of missing) {
      await connection.command(inPostgresTypes(sql));
      await connection.run(plain(RECORD_MIGRATION, [version, name, release, now, minCompatible]));
    }
    await connection.command('commit');
  } catch (error) {
    if (!connection.isLost) await connection.command('rollback');
    if (error instanceof StorageError) throw error;
    const hint = sqlState(error) === DENIED ? '; run cardvault migrate as the owner of the database' : '';
    throw new StorageError(`the schema could not be brought up to date: ${sqlState(error) ?? 'unknown'}${hint}`);
  }
}

/** A running node writes its row every 20 seconds, and deletes it when it stops. */
const ACTIVE_WITHIN_MS = MINUTE;
const OLDEST_RUNNING = 'select min(schema) as schema from writers where last_seen_at > ?';

/** Throws while a node runs that does not work with the missing migrations. */
async function assertNodesGone(
  connection: Connection,
  migrations: readonly Migration[],
  missing: readonly Migration[],
  now: number,
): Promise<void> {
  const [row] = await connection.run(plain(OLDEST_RUNNING, [now - ACTIVE_WITHIN_MS]));
  if (row?.['schema'] != null) assertNodesCompatible(migrations, missing, Number(row['schema']));
}

async function isUpToDate(connection: Connection, migrations: readonly Migration[]): Promise<boolean> {
  const [log] = await connection.run(plain(HAS_LOG, []));
  if (log?.['name'] == null) return false;
  const [row] = await connection.run(plain(CURRENT_VERSION, []));
  return Number(row?.['version']) === migrations.at(-1)?.version;
}
