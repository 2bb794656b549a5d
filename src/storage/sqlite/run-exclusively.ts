import { accessSync, chmodSync, constants, existsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as wait } from 'node:timers/promises';
import { OperatorError } from '../../kernel/operator-error.ts';
import { isLockedByAnother } from './check-file.ts';

const USER_ONLY_FILE = 0o600;
const GROUP_WRITES_FILE = 0o660;
const GROUP_WRITES = 0o020;
/** Most holders need the lock for milliseconds. */
const ATTEMPTS = 20;
const PAUSE_MS = 50;

/**
 * Runs work while nothing else on this machine runs work with the same lock file, which is created and stays. The system
 * releases the lock when the process ends in any way. A process that may not write into the folder runs without the lock: it
 * cannot replace files there. Throws `OperatorError` with the message `busy` when the lock is not free within a second.
 */
export async function runExclusively<Result>(
  lockFile: string,
  busy: string,
  act: () => Promise<Result>,
): Promise<Result> {
  if (!isWritable(dirname(lockFile))) return act();
  const lock = await acquire(lockFile, busy);
  try {
    return await act();
  } finally {
    lock.close();
  }
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

async function acquire(lockFile: string, busy: string): Promise<DatabaseSync> {
  for (let attempts = 1; ; attempts++) {
    const lock = tryToLock(lockFile);
    if (lock !== undefined) return lock;
    if (attempts === ATTEMPTS) throw new OperatorError(busy);
    await wait(PAUSE_MS);
  }
}

/** Returns undefined while another holder has the lock. */
function tryToLock(lockFile: string): DatabaseSync | undefined {
  const isNew = !existsSync(lockFile);
  let lock: DatabaseSync | undefined;
  try {
    lock = new DatabaseSync(lockFile);
    // Operators of a group that shares the folder lock the same file.
    if (isNew) chmodSync(lockFile, isSharedFolder(dirname(lockFile)) ? GROUP_WRITES_FILE : USER_ONLY_FILE);
    lock.exec('pragma locking_mode = exclusive; begin exclusive');
    return lock;
  } catch (error) {
    lock?.close();
    if (isLockedByAnother(error)) return undefined;
    throw new OperatorError(
      `${lockFile} cannot be locked: the user of this command must be able to write it; while no command runs it may be deleted`,
    );
  }
}

const isSharedFolder = (folder: string): boolean => (statSync(folder).mode & GROUP_WRITES) !== 0;
