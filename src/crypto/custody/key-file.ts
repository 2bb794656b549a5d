import { createSecretKey, type KeyObject } from 'node:crypto';
import { closeSync, existsSync, fstatSync, openSync, readFileSync, type Stats, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { type Custody, CustodyError, generateRootKey, keyCheckValue } from '../custody.ts';
import { shareWithGroup } from '../group-access.ts';
import { createIfAbsent } from '../secret-file.ts';
import { destroyPrevious, GROUP_READABLE_FILE, isOverwritten, previousPath, replaceFile } from './replacement.ts';

/**
 * A root key in clear: a file of 64 hexadecimal digits that only the user of the service can read; a setting adds the
 * members of one group.
 */
export const keyFileCustody = (file: string, group?: number): Custody => ({
  kind: 'file',
  file,
  exists: () => existsSync(file),
  create: async (root) => createRootKey(file, group, root),
  open: async () => {
    const root = readRootKey(file, group);
    return { root, previous: await openFormer(file, { root, group }, async (path) => readRootKey(path, group)) };
  },
  readKeyCheckValue: () => keyCheckValue(readRootKey(file, group)),
  replaceRootKey: async (next) => replaceFile(file, formatRootKey(next), group),
  finishReplacement: () => destroyPrevious(file),
});

/**
 * Returns the former root key; undefined when there is none. A crash within a replacement leaves a second name of the present file, and
 * one within a destruction a file that is overwritten: neither has a former key.
 */
export async function openFormer(
  file: string,
  { root, group }: { readonly root: KeyObject; readonly group: number | undefined },
  open: (path: string) => Promise<KeyObject>,
): Promise<KeyObject | undefined> {
  const path = previousPath(file);
  if (!existsSync(path) || isOverwritten(readProtectedFile(path, group))) return undefined;
  const former = await open(path);
  return former.equals(root) ? undefined : former;
}

/** Bits of a file mode. */
const OTHERS = 0o007;
const OTHERS_WRITE = 0o002;
const GROUP = 0o070;
const GROUP_READ = 0o040;
const GROUP_WRITE = 0o020;
const STICKY = 0o1000;

/**
 * Returns the root key of an existing file; throws `CustodyError` with a message for the operator. Only the file's
 * owner may have read permission, and the members of `group` where one is given: operators then need not be the owner.
 */
export function readRootKey(path: string, group?: number): KeyObject {
  const text = readProtectedFile(path, group).trim();
  if (!/^[0-9a-f]{64}$/.test(text))
    throw new CustodyError(`the root key file ${path} is damaged: expected 64 hexadecimal digits`);
  return createSecretKey(text, 'hex');
}

/** Returns the text of a file with a root key or a sealed one. Throws `CustodyError` when others can read the file. */
export function readProtectedFile(path: string, group?: number): string {
  try {
    const handle = openSync(path, 'r');
    try {
      // The mode is that of the open file, so that no other file can take its place between check and read.
      assertProtected(path, fstatSync(handle), group);
      return readFileSync(handle, 'utf8');
    } finally {
      closeSync(handle);
    }
  } catch (cause) {
    if (cause instanceof CustodyError) throw cause;
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'ENOENT')
      throw new CustodyError(
        `the root key file ${path} is missing; without it nothing in the vault can be read: put it back from its backup`,
      );
    const hint = 'run as its owner, or as a member of the group of CARDVAULT_ROOT_KEY_GROUP';
    throw new CustodyError(`the root key file ${path} cannot be read${code === 'EACCES' ? `; ${hint}` : ''}`);
  }
}

/** Throws `CustodyError` when others can read the file, which is not read. */
export const assertFileProtected = (path: string, group: number | undefined): void =>
  assertProtected(path, statSync(path), group);

function assertProtected(path: string, { mode, gid }: Stats, group: number | undefined): void {
  const isShared = (mode & GROUP) !== 0;
  if (group === undefined) {
    if (isShared || (mode & OTHERS) !== 0)
      throw new CustodyError(`the root key file ${path} can be read by others; run: chmod 600 ${path}`);
    return;
  }
  if ((mode & OTHERS) !== 0 || (isShared && (mode & GROUP) !== GROUP_READ))
    throw new CustodyError(`the root key file ${path} allows more than reading by its group; run: chmod 640 ${path}`);
  if (!isShared) return;
  if (gid !== group)
    throw new CustodyError(
      `the root key file ${path} can be read by another group than CARDVAULT_ROOT_KEY_GROUP; run: chgrp ${group} ${path}`,
    );
  assertFolderProtected(dirname(path), group);
}

/** Throws when users outside of the group could replace the root key with another file. */
function assertFolderProtected(folder: string, group: number): void {
  const { mode, gid } = statSync(folder);
  const isWritable = (mode & OTHERS_WRITE) !== 0 || ((mode & GROUP_WRITE) !== 0 && gid !== group);
  if (isWritable && (mode & STICKY) === 0)
    throw new CustodyError(`the folder of the root key file can be changed by others; run: chmod go-w ${folder}`);
}

/**
 * Creates the file when it is missing. Two concurrent starts end with the same key, and a crash leaves no incomplete
 * key.
 */
export function createRootKey(path: string, group?: number, root = generateRootKey()): void {
  createIfAbsent(path, formatRootKey(root));
  if (group !== undefined) shareWithGroup(path, group, GROUP_READABLE_FILE);
}

function formatRootKey(root: KeyObject): string {
  const bytes = root.export();
  const text = `${bytes.toString('hex')}\n`;
  bytes.fill(0);
  return text;
}
