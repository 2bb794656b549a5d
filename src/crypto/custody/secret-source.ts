import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { LIMITS } from '../../kernel/limits.ts';
import { CustodyError } from '../custody.ts';

/** Asks on the terminal and returns what the operator types, which is not shown. */
export type AskSecret = (question: string) => Promise<string>;

/** Where a passphrase or PIN comes from; never an argument or an environment variable, which other processes can read. */
export interface SecretSource {
  /** The name of the secret in messages, such as `the passphrase of the root key`. */
  readonly what: string;
  /** The setting that names the file. */
  readonly setting: string;
  /** A file that only its owner can read. */
  readonly file: string | undefined;
  /** The folder in which systemd puts the credentials of the service. */
  readonly credentialsFolder: string | undefined;
  /** The name of the credential there. */
  readonly credential: string;
}

const OTHERS = 0o077;

/**
 * Returns the secret: from the file of the setting, else from the credential of systemd, else from the terminal. Line ends
 * after it do not count. The caller clears the bytes. Throws `CustodyError`, which never repeats the secret.
 */
export async function readSecret(source: SecretSource, ask: AskSecret | undefined): Promise<Buffer> {
  const { what, setting, credential } = source;
  const file = source.file ?? findCredential(source);
  if (file !== undefined) return readSecretBytes(file, what);
  if (ask === undefined)
    throw new CustodyError(
      `${what} is missing: set ${setting} to a file that contains it, or give it as the systemd credential ${credential}`,
    );
  return toSecretBytes(Buffer.from(await ask(`${what}: `)), what);
}

function findCredential({ credentialsFolder, credential }: SecretSource): string | undefined {
  if (credentialsFolder === undefined) return undefined;
  const path = join(credentialsFolder, credential);
  return existsSync(path) ? path : undefined;
}

function readSecretBytes(file: string, what: string): Buffer {
  let bytes: Buffer;
  try {
    if ((statSync(file).mode & OTHERS) !== 0)
      throw new CustodyError(`${file} with ${what} can be read by others; run: chmod 600 ${file}`);
    bytes = readFileSync(file);
  } catch (error) {
    if (error instanceof CustodyError) throw error;
    throw new CustodyError(`${file} with ${what} cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
  return toSecretBytes(bytes, what);
}

function toSecretBytes(bytes: Buffer, what: string): Buffer {
  let end = bytes.length;
  while (end > 0 && (bytes[end - 1] === 0x0a || bytes[end - 1] === 0x0d)) end--;
  const secret = Buffer.from(bytes.subarray(0, end));
  bytes.fill(0);
  if (secret.length === 0) throw new CustodyError(`${what} is empty`);
  if (secret.length > LIMITS.custodySecretBytes)
    throw new CustodyError(`${what} has more than ${LIMITS.custodySecretBytes} bytes`);
  return secret;
}
