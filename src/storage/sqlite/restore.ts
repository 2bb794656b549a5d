import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { syncDirectory } from '../../crypto/secret-file.ts';
import { StorageError } from '../database.ts';

/** A database with its log and index: the three belong together. */
const PARTS = ['', '-wal', '-shm'];
const CHUNK_BYTES = 1024 * 1024;
const USER_ONLY_FILE = 0o600;
const USER_ONLY_DIRECTORY = 0o700;

/** Copies a backup beside the database, durably; the database itself is not touched. */
export function makeDraft(from: string, databaseFile: string): string {
  const draft = `${databaseFile}.restoring`;
  try {
    mkdirSync(dirname(databaseFile), { recursive: true, mode: USER_ONLY_DIRECTORY });
    // What a crash left.
    dropDraft(draft);
    copyWhole(from, draft);
  } catch (cause) {
    throw new StorageError(`${from} cannot be copied to ${draft}: ${codeOf(cause)}`);
  }
  return draft;
}

export function dropDraft(draft: string): void {
  for (const part of PARTS) rmSync(draft + part, { force: true });
}

/** Puts the present database aside, if there is one, and the draft in its place. Returns where the present one went. */
export function takeIntoUse(draft: string, databaseFile: string, time: string): string | undefined {
  const aside = `${databaseFile}.${time}`;
  // A log that stayed behind would be applied to the restored file.
  const present = PARTS.filter((part) => existsSync(databaseFile + part));
  try {
    for (const part of present) renameSync(databaseFile + part, aside + part);
    renameSync(draft, databaseFile);
  } catch (cause) {
    for (const part of present) if (existsSync(aside + part)) renameSync(aside + part, databaseFile + part);
    throw new StorageError(`${databaseFile} cannot be replaced: ${codeOf(cause)}`);
  }
  syncDirectory(dirname(databaseFile));
  return present.includes('') ? aside : undefined;
}

function copyWhole(from: string, draft: string): void {
  try {
    copyDurably(from, draft);
    // A database that was put aside may have its newest records in its log.
    if (existsSync(`${from}-wal`)) copyDurably(`${from}-wal`, `${draft}-wal`);
  } catch (cause) {
    dropDraft(draft);
    throw cause;
  }
}

/** Not with `copyFile`, which gives the copy the mode of its source: others could read it. */
function copyDurably(from: string, to: string): void {
  const source = openSync(from, 'r');
  try {
    const target = openSync(to, 'wx', USER_ONLY_FILE);
    try {
      const chunk = Buffer.alloc(CHUNK_BYTES);
      for (let size = readSync(source, chunk); size > 0; size = readSync(source, chunk)) {
        writeFileSync(target, chunk.subarray(0, size));
      }
      fsyncSync(target);
    } finally {
      closeSync(target);
    }
  } finally {
    closeSync(source);
  }
}

const codeOf = (cause: unknown): string => (cause as NodeJS.ErrnoException).code ?? 'unknown';
