import { existsSync } from 'node:fs';
import type { Clock, Random } from '../kernel/clock.ts';
import { type DatabaseReads, StorageError } from './database.ts';
import type { DatabaseOptions } from './open.ts';
import { PostgresDatabase } from './postgres/postgres.ts';
import { openFileReadOnly } from './sqlite/read-only.ts';
import { assertNoInterruptedRestore } from './sqlite/restore.ts';

/** A database that is read, and neither created nor migrated. */
export interface OpenedReadOnly {
  readonly database: DatabaseReads;
  close(): Promise<void>;
}

/** Throws `StorageError` when a file does not exist, or is not complete. A server is reached by the first read. */
export function openReadOnly(
  options: DatabaseOptions,
  surroundings: { readonly clock: Clock; readonly random: Random },
): OpenedReadOnly {
  if (options.kind === 'postgres') {
    const database = new PostgresDatabase({ ...options, writers: 1, readers: 1 }, surroundings);
    return { database, close: () => database.close() };
  }
  assertNoInterruptedRestore(options.file);
  if (!existsSync(options.file)) throw new StorageError(`there is no vault at ${options.file}`);
  const database = openFileReadOnly(options.file);
  return { database, close: async () => database.close() };
}
