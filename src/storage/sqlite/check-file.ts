import { DatabaseSync } from 'node:sqlite';

/** What is wrong with a database file, if anything. */
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

/** Has another process opened the file? In WAL mode each holds a shared lock for as long as it lives. */
export function isInUse(path: string): boolean {
  const database = new DatabaseSync(path);
  try {
    database.exec('pragma locking_mode = exclusive; begin exclusive; commit');
    return false;
  } catch {
    return true;
  } finally {
    database.close();
  }
}
