import { createSecretKey, hkdfSync, type KeyObject, randomBytes } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { OperatorError } from '../kernel/operator-error.ts';
import { makeOnce } from './secret-file.ts';

/**
 * Custody of the root key: the one secret that is not in the database. Here it is a file of 64 hexadecimal digits that
 * only the service's user can read. A key of another kind (PKCS#11, a cloud KMS) replaces this file alone.
 */
const ROOT_KEY_BYTES = 32;

export class CustodyError extends OperatorError {
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
export const makeRootKey = (path: string): void => makeOnce(path, `${randomBytes(ROOT_KEY_BYTES).toString('hex')}\n`);

/** A key of its own for each use of the root key (RFC 5869), so that wrapping shares nothing with later uses. */
export const deriveKey = (root: KeyObject, use: string): KeyObject =>
  createSecretKey(Buffer.from(hkdfSync('sha256', root, '', `cardvault ${use}`, ROOT_KEY_BYTES)));
