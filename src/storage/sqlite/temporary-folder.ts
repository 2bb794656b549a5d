import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { StorageError } from '../database.ts';
import { isInUse } from './check-file.ts';

/**
 * Folders for files that exist only while a command runs, such as the snapshot that a backup encrypts. Each is locked by
 * its process, and the system releases the lock when the process ends in any way. What a crash left is therefore
 * recognized, and removed by the next start.
 */
const LOCK = 'lock';
const STARTING = '.starting';
const USER_ONLY_DIRECTORY = 0o700;
/** A folder gets its lock and name within milliseconds. */
const STARTING_WITHIN_MS = 60_000;

/** The folder of a data directory that contains the temporary ones. Operators who share it have one each. */
export const temporaryFolderOf = (dataDirectory: string): string =>
  join(dataDirectory, `temporary-${process.getuid?.() ?? 'files'}`);

export interface TemporaryFolder {
  readonly path: string;
  remove(): void;
}

/** Creates a folder for its user only. `name`: a random text. Throws `StorageError`. */
export function createTemporaryFolder(parent: string, name: string): TemporaryFolder {
  const path = join(parent, name);
  const starting = `${path}${STARTING}`;
  try {
    mkdirSync(starting, { recursive: true, mode: USER_ONLY_DIRECTORY });
    const lock = new DatabaseSync(join(starting, LOCK));
    lock.exec('pragma locking_mode = exclusive; begin exclusive');
    // Under its final name, a folder without a lock is one that a crash left.
    renameSync(starting, path);
    return {
      path,
      remove: () => {
        rmSync(path, { recursive: true, force: true });
        lock.close();
      },
    };
  } catch (cause) {
    throw new StorageError(`${path} cannot be created: ${(cause as NodeJS.ErrnoException).code ?? 'unknown'}`);
  }
}

/** Removes the folders whose process has ended. `now`: Unix time in milliseconds. */
export function removeAbandonedFolders(parent: string, now: number): void {
  if (!existsSync(parent)) return;
  for (const name of readdirSync(parent)) {
    const path = join(parent, name);
    if (isAbandoned(path, name, now)) rmSync(path, { recursive: true, force: true });
  }
}

function isAbandoned(path: string, name: string, now: number): boolean {
  if (name.endsWith(STARTING)) return now - statSync(path).mtimeMs > STARTING_WITHIN_MS;
  const lock = join(path, LOCK);
  return !existsSync(lock) || !isInUse(lock);
}
