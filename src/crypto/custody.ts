import { createSecretKey, hkdfSync, type KeyObject, randomBytes } from 'node:crypto';
import {
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';

/**
 * Custody of the root key: the one secret that is not in the database. Here it is a file of 64 hexadecimal digits that
 * only the service's user can read. A key of another kind (PKCS#11, a cloud KMS) replaces this file alone.
 */
const ROOT_KEY_BYTES = 32;

export class CustodyError extends Error {
  override readonly name = 'CustodyError';
}

/** The root key of an existing file; throws `CustodyError` with a text for the operator. */
export function readRootKey(path: string): KeyObject {
  let text: string;
  try {
    const mode = statSync(path).mode & 0o077;
    if (mode !== 0) throw new CustodyError(`the root key file ${path} can be read by others; run: chmod 600 ${path}`);
    text = readFileSync(path, 'utf8').trim();
  } catch (cause) {
    if (cause instanceof CustodyError) throw cause;
    const missing = (cause as NodeJS.ErrnoException).code === 'ENOENT';
    throw new CustodyError(
      missing
        ? `the root key file ${path} is missing; without it nothing in the vault can be read: put it back from its backup`
        : `the root key file ${path} cannot be read`,
    );
  }
  if (!/^[0-9a-f]{64}$/.test(text))
    throw new CustodyError(`the root key file ${path} is damaged: expected 64 hexadecimal digits`);
  return createSecretKey(text, 'hex');
}

/** Makes the file when there is none, so that two starters end with the same key and a crash leaves no half of one. */
export function makeRootKey(path: string): void {
  const directory = dirname(path);
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  // Not the process id: in a container it is the same after a crash, whose draft would then be in the way for ever.
  const draft = `${path}.${randomBytes(8).toString('hex')}.new`;
  const file = openSync(draft, 'wx', 0o600);
  try {
    writeSync(file, `${randomBytes(ROOT_KEY_BYTES).toString('hex')}\n`);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  try {
    linkSync(draft, path);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') throw cause;
  } finally {
    unlinkSync(draft);
  }
  syncDirectory(directory);
}

/** A new name is durable only when its directory is. */
function syncDirectory(directory: string): void {
  const handle = openSync(directory, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/** A key of its own for each use of the root key (RFC 5869), so that wrapping shares nothing with later uses. */
export const deriveKey = (root: KeyObject, use: string): KeyObject =>
  createSecretKey(Buffer.from(hkdfSync('sha256', root, '', `cardvault ${use}`, ROOT_KEY_BYTES)));
