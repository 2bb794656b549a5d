import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { type FileHandle, link, open, readFile, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Decrypter, Encrypter, type Identity } from 'age-encryption';
import { LIMITS } from '../kernel/limits.ts';
import { OperatorError } from '../kernel/operator-error.ts';
import { describeIdentityFault, describeRecipientFault } from './age-key-fault.ts';
import { syncDirectory } from './secret-file.ts';

/**
 * Files that only the holders of certain keys can read, in the age format (https://age-encryption.org/v1). The library
 * writes and opens the header, which wraps the key of the file for each recipient. The payload, STREAM of 64 KiB chunks
 * with ChaCha20-Poly1305, is written and read here: natively, and with a bounded memory for a file of any size.
 */
const HEADER_START = 'age-encryption.org/v1\n';
const ARMOR_START = '-----BEGIN AGE';
const MAC_LINE = /\n--- [A-Za-z0-9+/]{43}\n/;
const NONCE_BYTES = 16;
const CHUNK_BYTES = 64 * 1024;
const TAG_BYTES = 16;
const SEALED_CHUNK_BYTES = CHUNK_BYTES + TAG_BYTES;
const STREAM_NONCE_BYTES = 12;
const STREAM_KEY_BYTES = 32;
/** The payload of an empty file: one chunk without content. */
const EMPTY_PAYLOAD_BYTES = NONCE_BYTES + TAG_BYTES;
const ALGORITHM = 'chacha20-poly1305';
const OPTIONS = { authTagLength: TAG_BYTES };
const USER_ONLY_FILE = 0o600;
const DRAFT_NAME_BYTES = 8;
/** Ends the name of a file that is being written. */
export const DRAFT_SUFFIX = '.partial';

export type AgeFault = 'recipient' | 'identity' | 'wrong-identity' | 'no-age-file' | 'truncated' | 'altered' | 'exists';

/** Thrown with a message for the operator. It names files and lines, and no key. */
export class AgeFileError extends OperatorError {
  override readonly name = 'AgeFileError';
  override readonly isUsageError: boolean;
  readonly fault: AgeFault;

  constructor(fault: AgeFault, message: string) {
    super(message);
    this.fault = fault;
    this.isUsageError = fault !== 'truncated' && fault !== 'altered';
  }
}

/** Public keys that a file is encrypted for, checked by `parseRecipients`. */
export type Recipients = readonly string[] & { readonly __recipients: true };

/** Private keys that open files, as `readIdentities` read them. */
export type Identities = readonly (string | Identity)[] & { readonly __identities: true };

/**
 * Checks recipients (`age1…`, as `age-keygen` prints them) and removes those that occur twice. `what` names the option or
 * setting in errors. Throws `AgeFileError`.
 */
export function parseRecipients(texts: readonly string[], what: string): Recipients {
  const distinct = [...new Set(texts.map((text) => text.trim()))];
  if (distinct.length > LIMITS.ageRecipients)
    throw new AgeFileError('recipient', `${what}: at most ${LIMITS.ageRecipients} recipients`);
  for (const [index, text] of distinct.entries()) {
    const place = distinct.length === 1 ? what : `${what}: recipient ${index + 1}`;
    try {
      new Encrypter().addRecipient(text);
    } catch {
      throw new AgeFileError('recipient', `${place}: ${describeRecipientFault(text)}`);
    }
  }
  return distinct as readonly string[] as Recipients;
}

/** Reads recipients, one a line; empty lines and lines that start with `#` are ignored. Throws `AgeFileError`. */
export async function readRecipientsFile(path: string): Promise<readonly string[]> {
  return listLines(await readKeyFile(path, 'recipient'));
}

/**
 * Reads identities (`AGE-SECRET-KEY-1…`) from a file as `age-keygen` writes it. Throws `AgeFileError`, which names the
 * line and never repeats it.
 */
export async function readIdentities(path: string): Promise<Identities> {
  const text = await readKeyFile(path, 'identity');
  if (text.startsWith(HEADER_START.trim()) || text.startsWith(ARMOR_START))
    throw new AgeFileError('identity', `${path}: is encrypted itself; decrypt it first: age --decrypt ${path}`);
  const lines = listLines(text);
  if (lines.length === 0) throw new AgeFileError('identity', `${path}: contains no identity`);
  if (lines.length > LIMITS.ageRecipients)
    throw new AgeFileError('identity', `${path}: contains more than ${LIMITS.ageRecipients} identities`);
  for (const [index, line] of lines.entries()) {
    try {
      new Decrypter().addIdentity(line);
    } catch {
      throw new AgeFileError('identity', `${path}: identity ${index + 1}: ${describeIdentityFault(line)}`);
    }
  }
  return lines as readonly string[] as Identities;
}

const listLines = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));

async function readKeyFile(path: string, fault: AgeFault): Promise<string> {
  let bytes: Buffer;
  try {
    bytes = await readFile(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new AgeFileError(
      fault,
      code === 'ENOENT' ? `${path}: there is no such file` : `${path}: cannot be read (${code})`,
    );
  }
  if (bytes.length > LIMITS.keyFileBytes)
    throw new AgeFileError(fault, `${path}: a file has at most ${LIMITS.keyFileBytes} bytes`);
  return bytes.toString('utf8');
}

/** Sizes and digests of a file that was written, and read again. */
export interface WrittenAgeFile {
  /** Size and hexadecimal SHA-256 of the encrypted file. */
  readonly bytes: number;
  readonly sha256: string;
  /** Size and hexadecimal SHA-256 of what it contains. */
  readonly contentBytes: number;
  readonly contentSha256: string;
}

interface WriteOptions {
  readonly path: string;
  readonly recipients: Recipients;
  readonly content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
}

/**
 * Writes an encrypted file for its user only, and verifies it before it gets its name: the file is synced, read again
 * from the start, and decrypted with the key of the file, which this process still has. That proves that the header is
 * the one that was made for the recipients, and that every byte of the content can be decrypted; it does not prove that
 * a recipient still has the private key. A crash leaves the file complete, or a draft that ends in `.partial`. Never
 * replaces an existing file. Throws `AgeFileError`.
 */
export async function writeAgeFile({ path, recipients, content }: WriteOptions): Promise<WrittenAgeFile> {
  const draft = newDraftName(path);
  const handle = await open(draft, 'wx+', USER_ONLY_FILE);
  try {
    const fileKey = await writeEncrypted(handle, recipients, content);
    await handle.sync();
    const written = await verifyWritten(draft, fileKey);
    if (!(await nameDraft(draft, path)))
      throw new AgeFileError('exists', `${path} exists already; give the name of a new file`);
    return written;
  } finally {
    await handle.close();
    await rm(draft, { force: true });
    syncDirectory(dirname(path));
  }
}

/** Returns a name that no other process writes to, beside the file that gets the final one. */
export const newDraftName = (path: string): string =>
  `${path}.${randomBytes(DRAFT_NAME_BYTES).toString('hex')}${DRAFT_SUFFIX}`;

/**
 * Gives a complete file its final name; returns false when the name is taken. The draft may still exist afterwards. A hard link
 * fails where the name is taken. A file system without links is checked before.
 */
export async function nameDraft(draft: string, path: string): Promise<boolean> {
  try {
    await link(draft, path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const hasLinks = code !== 'EPERM' && code !== 'ENOTSUP' && code !== 'ENOSYS';
    if (hasLinks && code !== 'EEXIST') throw error;
    if (existsSync(path)) return false;
    await rename(draft, path);
  }
  return true;
}

interface FileKey {
  readonly key: Buffer;
  readonly contentBytes: number;
  readonly contentSha256: string;
}

async function writeEncrypted(
  handle: FileHandle,
  recipients: Recipients,
  content: WriteOptions['content'],
): Promise<FileKey> {
  const { header, key } = await createHeader(recipients);
  const nonce = randomBytes(NONCE_BYTES);
  await handle.appendFile(Buffer.concat([header, nonce]));
  const sha256 = createHash('sha256');
  let contentBytes = 0;
  for await (const sealed of sealChunks(streamKey(key, nonce), content, (chunk) => {
    sha256.update(chunk);
    contentBytes += chunk.length;
  }))
    await handle.appendFile(sealed);
  return { key, contentBytes, contentSha256: sha256.digest('hex') };
}

/** Lets the library create a file key, wrap it for the recipients and write the header; its empty payload is dropped. */
async function createHeader(recipients: Recipients): Promise<{ header: Buffer; key: Buffer }> {
  if (recipients.length === 0) throw new Error('an encrypted file needs a recipient');
  const encrypter = new Encrypter();
  for (const recipient of recipients) encrypter.addRecipient(recipient);
  let key: Buffer | undefined;
  encrypter.addRecipient({
    wrapFileKey: (fileKey) => {
      key = Buffer.from(fileKey);
      return [];
    },
  });
  const file = await encrypter.encrypt(new Uint8Array());
  if (key === undefined) throw new Error('the library has not wrapped the key of the file');
  return { header: Buffer.from(file.subarray(0, file.length - EMPTY_PAYLOAD_BYTES)), key };
}

/** Reads the whole draft back with the key that encrypted it, and clears that key. */
async function verifyWritten(draft: string, written: FileKey): Promise<WrittenAgeFile> {
  const ownKey = [{ unwrapFileKey: () => Uint8Array.from(written.key) }] as readonly Identity[] as Identities;
  const file = createHash('sha256');
  const content = createHash('sha256');
  let bytes = 0;
  let contentBytes = 0;
  const onRead = (raw: Uint8Array): void => {
    file.update(raw);
    bytes += raw.length;
  };
  try {
    for await (const chunk of readAgeFile(draft, ownKey, { onRead })) {
      content.update(chunk);
      contentBytes += chunk.length;
    }
  } finally {
    written.key.fill(0);
  }
  const contentSha256 = content.digest('hex');
  if (contentBytes !== written.contentBytes || contentSha256 !== written.contentSha256)
    throw new AgeFileError('altered', `${draft} does not contain what was written; the disk may be damaged`);
  return { bytes, sha256: file.digest('hex'), contentBytes, contentSha256 };
}

const streamKey = (fileKey: Uint8Array, nonce: Uint8Array): Buffer =>
  Buffer.from(hkdfSync('sha256', fileKey, nonce, 'payload', STREAM_KEY_BYTES));

/** The nonce of a chunk: its number, and a flag for the last one, which makes a cut file detectable. */
function chunkNonce(index: number, isLast: boolean): Buffer {
  const nonce = Buffer.alloc(STREAM_NONCE_BYTES);
  nonce.writeUIntBE(index, STREAM_NONCE_BYTES - 7, 6);
  nonce[STREAM_NONCE_BYTES - 1] = isLast ? 1 : 0;
  return nonce;
}

async function* sealChunks(
  key: Buffer,
  content: WriteOptions['content'],
  onChunk: (chunk: Uint8Array) => void,
): AsyncGenerator<Buffer> {
  let index = 0;
  const sealChunk = (chunk: Uint8Array, isLast: boolean): Buffer => {
    const cipher = createCipheriv(ALGORITHM, key, chunkNonce(index++, isLast), OPTIONS);
    const sealed = cipher.update(chunk);
    cipher.final();
    return Buffer.concat([sealed, cipher.getAuthTag()]);
  };
  let filled = 0;
  const buffer = Buffer.alloc(CHUNK_BYTES);
  try {
    for await (const piece of content) {
      onChunk(piece);
      for (let rest = piece; rest.length > 0; ) {
        // A full chunk is sealed when more follows: the last one of a file is marked, and never empty.
        if (filled === CHUNK_BYTES) {
          yield sealChunk(buffer, false);
          filled = 0;
        }
        const size = Math.min(CHUNK_BYTES - filled, rest.length);
        buffer.set(rest.subarray(0, size), filled);
        filled += size;
        rest = rest.subarray(size);
      }
    }
    yield sealChunk(buffer.subarray(0, filled), true);
  } finally {
    key.fill(0);
    buffer.fill(0);
  }
}

interface ReadOptions {
  /** Called with all bytes of the file, in order. */
  readonly onRead?: (raw: Uint8Array) => void;
}

/**
 * Returns the content of an encrypted file in chunks of 64 KiB at most. Each chunk is authentic when it is returned;
 * that the file is complete is known when the iteration has ended without an error, and nothing may rely on its content
 * before. Throws `AgeFileError`: no identity opens the file, it is none, was cut or altered.
 */
export async function* readAgeFile(
  path: string,
  identities: Identities,
  { onRead = () => undefined }: ReadOptions = {},
): AsyncGenerator<Buffer> {
  const handle = await open(path, 'r');
  try {
    const { size } = await handle.stat();
    const { header, text } = await readHeader(handle, path);
    const fileKey = await openHeader(path, text, identities);
    const nonce = await readExactly(handle, path, header, NONCE_BYTES);
    const key = streamKey(fileKey, nonce);
    fileKey.fill(0);
    onRead(text);
    onRead(nonce);
    yield* openChunks({ handle, path, key, position: header + NONCE_BYTES, size, onRead });
  } finally {
    await handle.close();
  }
}

/** Reads a limited part of the file, so that a file of another kind is not searched for the end of a header. */
async function readHeader(handle: FileHandle, path: string): Promise<{ header: number; text: Buffer }> {
  const start = Buffer.alloc(LIMITS.ageHeaderBytes);
  const { bytesRead } = await handle.read(start, 0, start.length, 0);
  const text = start.subarray(0, bytesRead).toString('latin1');
  if (text.startsWith(ARMOR_START))
    throw new AgeFileError(
      'no-age-file',
      `${path} is armored; remove the armor first: age --decrypt and encrypt again`,
    );
  if (!text.startsWith(HEADER_START))
    throw HEADER_START.startsWith(text)
      ? new AgeFileError('truncated', `${path} is truncated: it ends in its header`)
      : new AgeFileError('no-age-file', `${path} is no file in the age format`);
  const end = MAC_LINE.exec(text);
  if (end === null)
    throw bytesRead < start.length
      ? new AgeFileError('truncated', `${path} is truncated: it ends in its header`)
      : new AgeFileError('no-age-file', `${path}: its header has more than ${LIMITS.ageHeaderBytes} bytes`);
  const header = end.index + end[0].length;
  return { header, text: start.subarray(0, header) };
}

async function openHeader(path: string, header: Uint8Array, identities: Identities): Promise<Uint8Array> {
  const decrypter = new Decrypter();
  for (const identity of identities) decrypter.addIdentity(identity);
  try {
    return await decrypter.decryptHeader(Uint8Array.from(header));
  } catch (error) {
    const isOther = error instanceof Error && error.message.startsWith('no identity matched');
    throw isOther
      ? new AgeFileError(
          'wrong-identity',
          `${path}: the identity does not open it; it was encrypted for other recipients`,
        )
      : new AgeFileError('altered', `${path} was altered: its header is not authentic`);
  }
}

async function readExactly(handle: FileHandle, path: string, position: number, size: number): Promise<Buffer> {
  const bytes = Buffer.alloc(size);
  let filled = 0;
  while (filled < size) {
    const { bytesRead } = await handle.read(bytes, filled, size - filled, position + filled);
    if (bytesRead === 0) throw new AgeFileError('truncated', `${path} is truncated`);
    filled += bytesRead;
  }
  return bytes;
}

interface Payload {
  readonly handle: FileHandle;
  readonly path: string;
  readonly key: Buffer;
  readonly position: number;
  readonly size: number;
  onRead(raw: Uint8Array): void;
}

async function* openChunks({ handle, path, key, position, size, onRead }: Payload): AsyncGenerator<Buffer> {
  try {
    let at = position;
    for (let index = 0; ; index++) {
      const sealed = await readExactly(handle, path, at, Math.min(SEALED_CHUNK_BYTES, size - at));
      at += sealed.length;
      const isLast = at >= size;
      onRead(sealed);
      const chunk = openChunk(key, chunkNonce(index, isLast), sealed);
      if (chunk === undefined) throw describeFault(path, key, index, sealed, isLast);
      if (isLast && chunk.length === 0 && index > 0)
        throw new AgeFileError('altered', `${path} was altered at its end`);
      yield chunk;
      if (isLast) return;
    }
  } finally {
    key.fill(0);
  }
}

/** Decrypts a part of a payload: ChaCha20-Poly1305 (RFC 8439), the tag at the end. Returns undefined when it is not authentic. */
export function openChunk(key: Buffer, nonce: Buffer, sealed: Uint8Array): Buffer | undefined {
  if (sealed.length < TAG_BYTES) return undefined;
  const decipher = createDecipheriv(ALGORITHM, key, nonce, OPTIONS);
  decipher.setAuthTag(sealed.subarray(sealed.length - TAG_BYTES));
  try {
    const chunk = decipher.update(sealed.subarray(0, sealed.length - TAG_BYTES));
    decipher.final();
    return chunk;
  } catch {
    return undefined;
  }
}

/** A file that ends with a complete chunk, which is not marked as the last one, was cut there. */
function describeFault(path: string, key: Buffer, index: number, sealed: Uint8Array, isLast: boolean): AgeFileError {
  if (isLast && (sealed.length < TAG_BYTES || openChunk(key, chunkNonce(index, false), sealed) !== undefined))
    return new AgeFileError('truncated', `${path} is truncated: its end is missing`);
  const what = isLast ? 'was altered or is truncated' : 'was altered';
  return new AgeFileError('altered', `${path} ${what}: part ${index + 1} is not authentic`);
}
