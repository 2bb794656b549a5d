import { createHmac, createSecretKey, hkdfSync, type KeyObject, randomBytes } from 'node:crypto';
import { closeSync, fstatSync, openSync, readFileSync, type Stats, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { OperatorError } from '../kernel/operator-error.ts';
import { shareWithGroup } from './group-access.ts';
import { createIfAbsent } from './secret-file.ts';

/**
 * Custody of the root key: the one secret that is not in the database. The key is a file of 64 hexadecimal digits that
 * only the service's user can read; a setting adds the members of one group. A key of another kind (PKCS#11, a cloud
 * KMS) would replace this file alone.
 */
const ROOT_KEY_BYTES = 32;

export class CustodyError extends OperatorError {
  override readonly name = 'CustodyError';
}

/** Bits of a file mode. */
const OTHERS = 0o007;
const OTHERS_WRITE = 0o002;
const GROUP = 0o070;
const GROUP_READ = 0o040;
const GROUP_WRITE = 0o020;
const STICKY = 0o1000;
const GROUP_READABLE_FILE = 0o640;

/**
 * Returns the root key of an existing file; throws `CustodyError` with a message for the operator. Only the file's
 * owner may have read permission, and the members of `group` where one is given: operators then need not be the owner.
 */
export function readRootKey(path: string, group?: number): KeyObject {
  let text: string;
  try {
    const handle = openSync(path, 'r');
    try {
      // The mode is that of the open file, so that no other file can take its place between check and read.
      assertProtected(path, fstatSync(handle), group);
      text = readFileSync(handle, 'utf8').trim();
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
  if (!/^[0-9a-f]{64}$/.test(text))
    throw new CustodyError(`the root key file ${path} is damaged: expected 64 hexadecimal digits`);
  return createSecretKey(text, 'hex');
}

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
export function createRootKey(path: string, group?: number): void {
  createIfAbsent(path, `${randomBytes(ROOT_KEY_BYTES).toString('hex')}\n`);
  if (group !== undefined) shareWithGroup(path, group, GROUP_READABLE_FILE);
}

/** Derives a separate key for each use of a key (RFC 5869), so that no two uses share anything. */
export const deriveKey = (key: KeyObject, use: string): KeyObject =>
  createSecretKey(Buffer.from(hkdfSync('sha256', key, '', `cardvault ${use}`, ROOT_KEY_BYTES)));

/** Returns the part of `deriveKey` that all uses of a key share (extract, RFC 5869 2.2), for keys with many uses. */
export function extractKey(key: KeyObject): KeyObject {
  const material = key.export();
  const extracted = createHmac('sha256', Buffer.alloc(ROOT_KEY_BYTES)).update(material).digest();
  material.fill(0);
  return toSecretKey(extracted);
}

/** Returns what `deriveKey` returns, from the extracted key (expand, RFC 5869 2.3; one block). */
export const expandKey = (extracted: KeyObject, use: string): KeyObject =>
  toSecretKey(createHmac('sha256', extracted).update(`cardvault ${use}\u0001`).digest());

function toSecretKey(bytes: Buffer): KeyObject {
  const key = createSecretKey(bytes);
  bytes.fill(0);
  return key;
}
