import {
  closeSync,
  existsSync,
  fsyncSync,
  ftruncateSync,
  linkSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { CustodyError } from '../custody.ts';
import { shareWithGroup } from '../group-access.ts';
import { createIfAbsent, replaceAtomically, syncDirectory } from '../secret-file.ts';

/** Mode of a root key file that the members of a group may read. */
export const GROUP_READABLE_FILE = 0o640;

/** The file with the former root key while a replacement is not finished. */
export const previousPath = (file: string): string => `${file}.previous`;

/** True for what a destruction leaves that was interrupted: zeros, or nothing. */
export const isOverwritten = (content: Uint8Array | string): boolean => /^\0*$/.test(content.toString());

/** True when two paths name one file, by links of any kind or a folder that is mounted twice. */
export function isSameFile(one: string, other: string): boolean {
  const [first, second] = [one, other].map((path) => statSync(path, { bigint: true, throwIfNoEntry: false }));
  return first !== undefined && second !== undefined && first.dev === second.dev && first.ino === second.ino;
}

/**
 * Replaces the file of a root key, and keeps the present one as `FILE.previous`. A crash before the last step leaves two
 * names of one file, with which the next attempt continues. Callers exclude one another, because a concurrent replacement between
 * its steps looks the same.
 */
export function replaceFile(file: string, content: string, group: number | undefined): void {
  const previous = previousPath(file);
  if (existsSync(previous) && isOverwritten(readFileSync(previous))) removeName(previous);
  if (existsSync(previous)) {
    if (!readFileSync(previous).equals(readFileSync(file)))
      throw new CustodyError(
        `another replacement of the root key is not finished (${previous} exists); finish that one first`,
      );
  } else {
    linkSync(file, previous);
    syncDirectory(dirname(file));
  }
  replaceAtomically(file, content);
  if (group !== undefined) shareWithGroup(file, group, GROUP_READABLE_FILE);
}

/** Writes a file that must not exist yet. Throws `CustodyError`. */
export function writeNewFile(file: string, content: string, group: number | undefined): void {
  createIfAbsent(file, content);
  if (readFileSync(file, 'utf8') !== content) throw new CustodyError(`${file} exists already`);
  if (group !== undefined) shareWithGroup(file, group, GROUP_READABLE_FILE);
}

/** Destroys `FILE.previous`, if there is one. A name of the present file is removed alone. */
export function destroyPrevious(file: string): void {
  const previous = previousPath(file);
  if (isSameFile(previous, file)) removeName(previous);
  else if (existsSync(previous)) destroyFile(previous);
}

/** Removes a `FILE.previous` that a crash left, and that contains no former key: a name of the present file, or an overwritten one. */
export function removeRemains(file: string): void {
  const previous = previousPath(file);
  if (isSameFile(previous, file) || (existsSync(previous) && isOverwritten(readFileSync(previous))))
    removeName(previous);
}

function removeName(path: string): void {
  rmSync(path);
  syncDirectory(dirname(path));
}

/**
 * Overwrites a file and deletes its name. A file system that copies on write, and flash storage, may still hold the old
 * blocks: the disk has to be encrypted against readers of its raw content.
 */
export function destroyFile(path: string): void {
  const { nlink, size } = statSync(path);
  // A second name has the same content, and may still be needed.
  if (nlink === 1) {
    const handle = openSync(path, 'r+');
    try {
      writeSync(handle, Buffer.alloc(size), 0, size, 0);
      fsyncSync(handle);
      ftruncateSync(handle);
      fsyncSync(handle);
    } finally {
      closeSync(handle);
    }
  }
  removeName(path);
}
