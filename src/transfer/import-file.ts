import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { type Identities, readAgeFile } from '../crypto/age-file.ts';
import { TransferError } from './transfer-error.ts';

const AGE_START = 'age-encryption.org/';
const STANDARD_INPUT = 0;

/** A file to import, or standard input. */
export interface ImportFile {
  /** Undefined for standard input. */
  readonly path: string | undefined;
  readonly isEncrypted: boolean;
  /** Hexadecimal SHA-256 of the file; undefined for standard input, which can be read only once. */
  readonly sha256: string | undefined;
}

/** Reads the file once for its checksum. Throws `TransferError` when it cannot be read. */
export async function inspectFile(path: string): Promise<ImportFile> {
  try {
    const isEncrypted = await startsWith(path, AGE_START);
    const sha256 = createHash('sha256');
    for await (const chunk of createReadStream(path)) sha256.update(chunk as Buffer);
    return { path, isEncrypted, sha256: sha256.digest('hex') };
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    throw new TransferError(code === 'ENOENT' ? `${path}: there is no such file` : `${path}: cannot be read (${code})`);
  }
}

export const STANDARD_INPUT_FILE: ImportFile = { path: undefined, isEncrypted: false, sha256: undefined };

async function startsWith(path: string, text: string): Promise<boolean> {
  const handle = await open(path, 'r');
  try {
    const start = Buffer.alloc(text.length);
    const { bytesRead } = await handle.read(start, 0, start.length, 0);
    return start.toString('latin1', 0, bytesRead) === text;
  } finally {
    await handle.close();
  }
}

/** Returns the content of the file. Throws `TransferError` when it is encrypted and no identity was given. */
export function readContent(
  { path, isEncrypted }: ImportFile,
  identities: Identities | undefined,
): AsyncIterable<Uint8Array> {
  if (path === undefined) return createReadStream('', { fd: STANDARD_INPUT, autoClose: false });
  if (!isEncrypted) return createReadStream(path);
  if (identities === undefined)
    throw new TransferError(`${path} is encrypted; give the key file that opens it with --identity`);
  return readAgeFile(path, identities);
}
