import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, linkSync, mkdirSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { OperatorError } from '../kernel/operator-error.ts';

const USER_ONLY_FILE = 0o600;
const USER_ONLY_DIRECTORY = 0o700;

/** Creates a file unless it exists. Of several concurrent callers, all keep the file of the first. */
export const createIfAbsent = (path: string, content: string): void =>
  write(path, content, USER_ONLY_FILE, linkIfAbsent);

/** Writes a file, replacing an existing one. */
export const replaceAtomically = (path: string, content: string, mode = USER_ONLY_FILE): void =>
  write(path, content, mode, renameSync);

/** A crash leaves the complete file or nothing, because the file gets its name when it is on disk. */
function write(path: string, content: string, mode: number, place: (draft: string, path: string) => void): void {
  const directory = dirname(path);
  // The name does not contain the process id: in a container it is the same after a crash, whose draft would then block
  // every later attempt.
  const draft = `${path}.${randomBytes(8).toString('hex')}.new`;
  try {
    mkdirSync(directory, { recursive: true, mode: USER_ONLY_DIRECTORY });
    try {
      writeFileSync(draft, content, { mode, flag: 'wx', flush: true });
      place(draft, path);
    } finally {
      rmSync(draft, { force: true });
    }
    syncDirectory(directory);
  } catch (cause) {
    const { code = 'unknown' } = cause as NodeJS.ErrnoException;
    const mend = 'its folder must exist, be writable for the user of the service and have room';
    throw new OperatorError(`${path} cannot be written (${code}): ${mend}`);
  }
}

function linkIfAbsent(draft: string, path: string): void {
  try {
    linkSync(draft, path);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') throw cause;
  }
}

/** A new name is durable only when its directory is. */
export function syncDirectory(directory: string): void {
  const handle = openSync(directory, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
