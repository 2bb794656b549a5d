import { type RewriteReport, StorageError } from '../database.ts';
import type { Connection } from './connection.ts';
import { failure, sqlState } from './sqlstate.ts';

/**
 * Rewrites tables without deleted rows. Vacuum only marks the place of a deleted row as free: its bytes remain in the
 * file until another row is written over them.
 */

/** Records of the audit log are only appended, and they contain no card data. The table can be the largest. */
const APPENDED_TABLE = 'journal';
/** A table is locked while it is rewritten, and requests wait for statements that wait for the lock. */
const LOCK_WAIT_MS = 5000;
const LOCK_NOT_AVAILABLE = '55P03';
const INSUFFICIENT_PRIVILEGE = '42501';

const TABLES = `select c.relname as name, pg_has_role(c.relowner, 'USAGE')::int as owned from pg_class c
  where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r' and c.relname <> '${APPENDED_TABLE}'
  order by c.relname`;

/** Throws `StorageError` when the role does not own the tables, or another transaction uses one for long. */
export async function rewriteTables(connection: Connection): Promise<RewriteReport> {
  const tables = await connection.run({ name: '', text: TABLES, values: [] });
  if (tables.some(({ owned }) => Number(owned) !== 1))
    throw new StorageError('the role does not own the tables; connect as their owner, with which you run migrate');
  await connection.command(`set lock_timeout = ${LOCK_WAIT_MS}`);
  let visible = 0;
  for (const { name } of tables) visible += await rewriteTable(connection, String(name));
  return { tables: tables.length, visible, flushed: await flush(connection), log: 'kept' };
}

/** Returns the number of deleted rows that were copied, because another transaction may still read them. */
async function rewriteTable(connection: Connection, name: string): Promise<number> {
  try {
    const details = await connection.commandWithDetails(`vacuum (full, verbose) "${name}"`);
    // The text is in the server's language: "7 dead row versions cannot be removed yet."
    return details.reduce((sum, detail) => sum + Number(/^[^0-9]*([0-9]+)/.exec(detail)?.[1] ?? 0), 0);
  } catch (error) {
    if (sqlState(error) === LOCK_NOT_AVAILABLE)
      throw new StorageError(`the table ${name} is in use, for example by a backup; run the command again after it`);
    throw failure(error);
  }
}

/** Writes all pages to the files. Returns false when the role may not: the server does it within `checkpoint_timeout`. */
async function flush(connection: Connection): Promise<boolean> {
  try {
    await connection.command('checkpoint');
    return true;
  } catch (error) {
    if (sqlState(error) === INSUFFICIENT_PRIVILEGE) return false;
    throw failure(error);
  }
}
