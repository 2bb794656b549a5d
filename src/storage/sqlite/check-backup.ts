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
