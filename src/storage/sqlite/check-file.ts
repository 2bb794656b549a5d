import { DatabaseSync } from 'node:sqlite';

const SQLITE_BUSY = 5;
const SQLITE_LOCKED = 6;

/** Returns the fault of a database file; undefined for an intact one. */
export function checkBackup(path: string): string | undefined {
  try {
    const database = new DatabaseSync(path, { readOnly: true });
    try {
      const row = database.prepare('pragma integrity_check').get();
      if (row?.['integrity_check'] !== 'ok') return 'its pages are damaged';
      database.prepare('select max(version) from schema_migrations').get();
      return undefined;
    } finally {
      database.close();
    }
  } catch {
    return 'it is no cardvault database';
  }
}

/** True when SQLite reports that another connection has a lock. */
export function isLockedByAnother(error: unknown): boolean {
  const code = ((error as { errcode?: number }).errcode ?? 0) & 0xff;
  return code === SQLITE_BUSY || code === SQLITE_LOCKED;
}

/** True when another process has the file open. In WAL mode each holds a shared lock as long as it runs. */
export function isInUse(path: string): boolean {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(path);
    database.exec('pragma locking_mode = exclusive; begin exclusive; commit');
    return false;
  } catch (error) {
    // Any other error is a fault of the file, which a restore replaces.
    return isLockedByAnother(error);
  } finally {
    database?.close();
  }
}
