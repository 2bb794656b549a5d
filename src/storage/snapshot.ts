import { copyRows } from './copy.ts';
import type { OpenedDatabase } from './open.ts';
import type { Table } from './table.ts';

interface SnapshotJob {
  readonly source: OpenedDatabase;
  /** Opens the new SQLite file. */
  openTarget(): OpenedDatabase;
  /** The SQLite file, which does not exist. */
  readonly path: string;
  /** The tables to copy from a database of another kind. */
  readonly tables: readonly Table[];
}

/**
 * Writes the vault as it is at one moment to a new SQLite file, while nodes use the database. The file has no keys of
 * sensitive authentication data. From PostgreSQL all rows are read in one transaction, which keeps the server from
 * clearing removed rows until it ends.
 */
export async function writeSnapshot({ source, openTarget, path, tables }: SnapshotJob): Promise<void> {
  if (source.openSnapshot === undefined) return source.database.backup(path);
  const snapshot = await source.openSnapshot();
  try {
    const target = openTarget();
    try {
      await target.database.migrate(source.clock);
      await copyRows({ source: snapshot, target: target.database, tables, progress: () => undefined });
    } finally {
      await target.database.close();
    }
  } finally {
    await snapshot.close();
  }
}
