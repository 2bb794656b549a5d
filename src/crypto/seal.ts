import { createCipheriv, createDecipheriv, type KeyObject } from 'node:crypto';

/**
 * AES-256-GCM (NIST SP 800-38D) with a self-describing header:
 *
 *     version (1 byte, 1) | key id (8 bytes) | nonce (12 bytes) | ciphertext | tag (16 bytes)
 *
 * The additional data is version, key id and encryption context, so that a ciphertext can be unsealed in no other
 * context.
 */
const VERSION = 1;
export const KEY_ID_BYTES = 8;
export const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const HEADER_BYTES = 1 + KEY_ID_BYTES + NONCE_BYTES;
const OPTIONS = { authTagLength: TAG_BYTES };

/**
 * The row and column of a ciphertext: `encryptionContext('sandbox', account, 'tokens', id, 'record')`. It is used as
 * AEAD associated data: a ciphertext can be unsealed only in the row it was written for.
 */
export type EncryptionContext = string & { readonly __encryptionContext: true };

const SEPARATOR = '\u001f';

/** Joins the parts by a character that no part may contain, so that two different contexts are never equal. */
export function encryptionContext(...parts: readonly string[]): EncryptionContext {
  for (const part of parts) assertNoSeparator(part);
  return parts.join(SEPARATOR) as EncryptionContext;
}

/** Returns the context of the parts of `context` and these. */
export function extendContext(context: EncryptionContext, ...parts: readonly string[]): EncryptionContext {
  let extended: string = context;
  for (const part of parts) {
    assertNoSeparator(part);
    extended += SEPARATOR + part;
  }
  return extended as EncryptionContext;
}

function assertNoSeparator(part: string): void {
  if (part.includes(SEPARATOR)) throw new Error('a part of an encryption context contains the separator');
}

export interface SealingKey {
  readonly id: Uint8Array;
  readonly key: KeyObject;
}

/** Seals in a context with a key that was chosen before. */
export type Sealer = (context: EncryptionContext, plaintext: string | Uint8Array) => Uint8Array;

/** The only failure of decryption, whatever the cause: wrong key, wrong context, changed or cut bytes. */
export class UnsealError extends Error {
  constructor() {
    super('a sealed value cannot be opened');
    this.name = 'UnsealError';
  }
}

export function seal(
  key: SealingKey,
  nonce: Uint8Array,
  context: EncryptionContext,
  plaintext: string | Uint8Array,
): Uint8Array {
  const size = typeof plaintext === 'string' ? Buffer.byteLength(plaintext) : plaintext.length;
  // In the memory that small Buffers share, because memory of its own costs a quarter of the encryption.
  const { buffer, byteOffset, length } = Buffer.allocUnsafe(HEADER_BYTES + size + TAG_BYTES);
  const sealed = new Uint8Array(buffer, byteOffset, length);
  sealed[0] = VERSION;
  sealed.set(key.id, 1);
  sealed.set(nonce, 1 + KEY_ID_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key.key, nonce, OPTIONS);
  cipher.setAAD(additionalData(sealed, context));
  const ciphertext = typeof plaintext === 'string' ? cipher.update(plaintext, 'utf8') : cipher.update(plaintext);
  sealed.set(ciphertext, HEADER_BYTES);
  cipher.final();
  sealed.set(cipher.getAuthTag(), HEADER_BYTES + size);
  return sealed;
}

/**
 * Returns the id of the key that a sealed value names, in hexadecimal; throws `UnsealError` when the bytes are no
 * sealed value.
 */
export function parseKeyId(sealed: Uint8Array): string {
  if (sealed.length < HEADER_BYTES + TAG_BYTES || sealed[0] !== VERSION) throw new UnsealError();
  return Buffer.from(sealed.buffer, sealed.byteOffset + 1, KEY_ID_BYTES).toString('hex');
}

/** Returns the plaintext. Throws `UnsealError`. */
export function unseal(key: KeyObject, context: EncryptionContext, sealed: Uint8Array): Buffer {
  const end = sealed.length - TAG_BYTES;
  if (end < HEADER_BYTES) throw new UnsealError();
  const nonce = sealed.subarray(1 + KEY_ID_BYTES, HEADER_BYTES);
  return openGcm(key, nonce, additionalData(sealed, context), sealed.subarray(HEADER_BYTES, end), sealed.subarray(end));
}

/** Decrypts AES-256-GCM with a nonce of 96 and a tag of 128 bits. Throws `UnsealError`; no part of the plaintext remains then. */
export function openGcm(
  key: KeyObject,
  nonce: Uint8Array,
  additional: Uint8Array,
  ciphertext: Uint8Array,
  tag: Uint8Array,
): Buffer {
  let plaintext: Buffer | undefined;
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, nonce, OPTIONS);
    decipher.setAAD(additional);
    decipher.setAuthTag(tag);
    plaintext = decipher.update(ciphertext);
    decipher.final();
    return plaintext;
  } catch {
    plaintext?.fill(0);
    throw new UnsealError();
  }
}

function additionalData(sealed: Uint8Array, context: EncryptionContext): Buffer {
  const data = Buffer.allocUnsafe(1 + KEY_ID_BYTES + Buffer.byteLength(context));
  data.set(sealed.subarray(0, 1 + KEY_ID_BYTES));
  data.write(context, 1 + KEY_ID_BYTES, 'utf8');
  return data;
}
