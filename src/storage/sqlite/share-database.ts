import { closeSync, existsSync, mkdirSync, openSync, readdirSync, realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { shareWithGroup } from '../../crypto/group-access.ts';

const USER_ONLY_FILE = 0o600;
const USER_ONLY_DIRECTORY = 0o700;
const GROUP_WRITES_FILE = 0o660;
/**
 * The set-group-id bit gives new files in the folder, as the write-ahead log, the folder's group and not that of the
 * user who creates them.
 */
const GROUP_WRITES_FOLDER = 0o2770;

interface Sharing {
  /**
   * Creates the file when it is missing, so that SQLite creates its log and its index with the mode of a shared file.
   */
  readonly createIfMissing: boolean;
  /** True to share the folder of the database too. */
  readonly folder: boolean;
}

/**
 * Allows the members of a group to open a database beside the service: they write its log and its index as well as the
 * file.
 *
 * This process must not have the database open: closing any other handle of a file releases the locks that SQLite holds
 * on it.
 */
export function shareDatabase(file: string, group: number, { createIfMissing, folder }: Sharing): void {
  const directory = dirname(file);
  if (createIfMissing) {
    mkdirSync(directory, { recursive: true, mode: USER_ONLY_DIRECTORY });
    if (!existsSync(file)) closeSync(openSync(file, 'a', USER_ONLY_FILE));
  }
  if (!existsSync(file)) return;
  if (folder) shareWithGroup(realpathSync(directory), group, GROUP_WRITES_FOLDER);
  const base = basename(file);
  const parts = readdirSync(directory).filter((name) => name === base || name.startsWith(`${base}-`));
  for (const name of parts) shareWithGroup(join(directory, name), group, GROUP_WRITES_FILE);
}
