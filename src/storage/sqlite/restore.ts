import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { syncDirectory } from '../../crypto/secret-file.ts';
import { StorageError } from '../database.ts';
import { removeSadKeys, sadKeyFolder } from './sad-key-files.ts';

/** The files of a database: the file, its log and the log's index belong together. */
const PARTS = ['', '-wal', '-shm'];
const CHUNK_BYTES = 1024 * 1024;
const USER_ONLY_FILE = 0o600;
const USER_ONLY_DIRECTORY = 0o700;

/** Creates the folder of a database that is restored. Throws `StorageError`. */
export function createDatabaseFolder(databaseFile: string): void {
  try {
    mkdirSync(dirname(databaseFile), { recursive: true, mode: USER_ONLY_DIRECTORY });
  } catch (cause) {
    throw new StorageError(`the backup cannot be copied to ${databaseFile}: ${codeOf(cause)}`);
  }
}

/**
 * Returns the name of the file to restore from, in the folder of the database. There is none of this name afterwards. Only one
 * restore of a database may run, because all of them use this name.
 */
export function prepareStaged(databaseFile: string): string {
  const staged = `${databaseFile}.restoring`;
  try {
    // A crash may have left an older one.
    discardStaged(staged);
  } catch (cause) {
    throw new StorageError(`the backup cannot be copied to ${staged}: ${codeOf(cause)}`);
  }
  return staged;
}

/** Copies a backup durably into the folder of the database, and does not change the database. */
export function stageBackup(from: string, databaseFile: string): string {
  const staged = prepareStaged(databaseFile);
  try {
    copyWhole(from, staged);
  } catch (cause) {
    throw new StorageError(`${from} cannot be copied to ${staged}: ${codeOf(cause)}`);
  }
  return staged;
}

export function discardStaged(staged: string): void {
  for (const part of PARTS) rmSync(staged + part, { force: true });
}

interface Promotion {
  /** The folder that the present database is moved to. Absent: the database is removed. */
  readonly keepOld: string | undefined;
  /** Throws when a process has the present database open. */
  assertNotInUse(): void;
}

/**
 * Replaces the present database with the staged one, which was verified and closed. Returns where the present one was
 * moved to.
 *
 * The staged file first takes the name that `assertNoInterruptedRestore` finds. From then on it is the vault: a crash
 * leaves it complete, and nothing opens the rest of the old database. The log of the old one must never be applied to
 * the new one, and its keys of sensitive authentication data must not unseal what the backup contains. The file takes
 * that name before the last check for other processes, because a service opens its database before it checks the name.
 */
export function promoteStaged(staged: string, databaseFile: string, promotion: Promotion): string | undefined {
  const present = PARTS.filter((part) => existsSync(databaseFile + part));
  const { keepOld, assertNotInUse } = promotion;
  if (existsSync(`${staged}-wal`))
    throw new StorageError(`${staged} could not be written completely; make room, and run the restore again`);
  try {
    if (keepOld !== undefined) prepareFolder(keepOld, databaseFile, present);
    syncFile(staged);
    renameSync(staged, verifiedName(databaseFile));
    syncDirectory(dirname(databaseFile));
    try {
      assertNotInUse();
    } catch (cause) {
      renameSync(verifiedName(databaseFile), staged);
      throw cause;
    }
    const keys = sadKeyFolder(databaseFile);
    if (keepOld === undefined) removeSadKeys(keys);
    else if (existsSync(keys)) moveFolderDurably(keys, sadKeyFolder(keptName(keepOld, databaseFile)));
    for (const part of present) {
      if (keepOld !== undefined) moveDurably(databaseFile + part, keptName(keepOld, databaseFile) + part);
      else if (part !== '') rmSync(databaseFile + part, { force: true });
    }
    syncDirectory(dirname(databaseFile));
    renameSync(verifiedName(databaseFile), databaseFile);
    syncDirectory(dirname(databaseFile));
  } catch (cause) {
    if (!isSystemError(cause)) throw cause;
    throw new StorageError(`${databaseFile} cannot be replaced: ${codeOf(cause)}`);
  }
  return keepOld !== undefined && present.includes('') ? keptName(keepOld, databaseFile) : undefined;
}

/** Throws when a restore was interrupted while it replaced this database. */
export function assertNoInterruptedRestore(databaseFile: string): void {
  const verified = verifiedName(databaseFile);
  if (!existsSync(verified)) return;
  const advice = `run the same cardvault restore again, or: cardvault restore ${verified} --force`;
  throw new StorageError(`a restore of ${databaseFile} was interrupted; ${advice}`);
}

/** The name of a database that was restored and verified, while the old one is removed. */
const verifiedName = (databaseFile: string): string => `${databaseFile}.restored`;
const keptName = (folder: string, databaseFile: string): string => join(folder, basename(databaseFile));

function prepareFolder(folder: string, databaseFile: string, parts: readonly string[]): void {
  mkdirSync(folder, { recursive: true, mode: USER_ONLY_DIRECTORY });
  const taken = parts.map((part) => keptName(folder, databaseFile) + part).find((path) => existsSync(path));
  if (taken !== undefined) throw new StorageError(`${taken} exists already; name another folder`);
}

/** Keeps the source until the complete file is at its new path, on another file system too. */
function moveDurably(from: string, to: string): void {
  try {
    renameSync(from, to);
    syncDirectory(dirname(to));
  } catch (cause) {
    if (codeOf(cause) !== 'EXDEV') throw cause;
    copyDurably(from, `${to}.partial`);
    renameSync(`${to}.partial`, to);
    syncDirectory(dirname(to));
    rmSync(from);
  }
}

function moveFolderDurably(from: string, to: string): void {
  mkdirSync(to, { recursive: true, mode: USER_ONLY_DIRECTORY });
  for (const name of readdirSync(from)) moveDurably(join(from, name), join(to, name));
  rmdirSync(from);
}

function copyWhole(from: string, staged: string): void {
  try {
    copyDurably(from, staged);
    // A database that was moved elsewhere may have its newest records in its log.
    if (existsSync(`${from}-wal`)) copyDurably(`${from}-wal`, `${staged}-wal`);
  } catch (cause) {
    discardStaged(staged);
    throw cause;
  }
}

/** Not with `copyFile`, which gives the copy the mode of its source: other users could read it. */
function copyDurably(from: string, to: string): void {
  const source = openSync(from, 'r');
  try {
    const target = openSync(to, 'w', USER_ONLY_FILE);
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

function syncFile(path: string): void {
  const handle = openSync(path, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

const isSystemError = (cause: unknown): boolean =>
  cause instanceof Error && (cause as NodeJS.ErrnoException).syscall !== undefined;
const codeOf = (cause: unknown): string => (cause as NodeJS.ErrnoException).code ?? 'unknown';
