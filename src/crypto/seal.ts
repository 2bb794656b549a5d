import { createCipheriv, createDecipheriv, type KeyObject } from 'node:crypto';

/**
 * AES-256-GCM (NIST SP 800-38D) with a self-describing header:
 *
 *     version (1 byte, 1) | key id (8 bytes) | nonce (12 bytes) | ciphertext | tag (16 bytes)
 *
 * The additional data is version, key id and the place the ciphertext belongs to, so that it opens nowhere else.
 */
const VERSION = 1;
export const KEY_ID_BYTES = 8;
export const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const HEADER_BYTES = 1 + KEY_ID_BYTES + NONCE_BYTES;
const OPTIONS = { authTagLength: TAG_BYTES };

/** Where a ciphertext belongs: `placeOf('sandbox', account, 'tokens', id, 'record')`. */
export type EncryptionContext = string & { readonly __place: true };

const SEPARATOR = '\u001f';

/** Parts are joined by a character that none of them may hold, so that two places never read the same. */
export function encryptionContext(...parts: readonly string[]): EncryptionContext {
  for (const part of parts) if (part.includes(SEPARATOR)) throw new Error('a part of a place holds the separator');
  return parts.join(SEPARATOR) as EncryptionContext;
}

export interface SealingKey {
  readonly id: Uint8Array;
  readonly key: KeyObject;
}

/** Seals for one place with a key that was chosen before. */
export type Sealer = (context: EncryptionContext, plaintext: string | Uint8Array) => Uint8Array;

/** The one failure of decryption, whatever the cause: wrong key, wrong place, changed or cut bytes. */
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
  const bytes = typeof plaintext === 'string' ? Buffer.from(plaintext, 'utf8') : plaintext;
  const sealed = new Uint8Array(HEADER_BYTES + bytes.length + TAG_BYTES);
  sealed[0] = VERSION;
  sealed.set(key.id, 1);
  sealed.set(nonce, 1 + KEY_ID_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key.key, nonce, OPTIONS);
  cipher.setAAD(additionalData(sealed, context));
  sealed.set(cipher.update(bytes), HEADER_BYTES);
  cipher.final();
  sealed.set(cipher.getAuthTag(), HEADER_BYTES + bytes.length);
  return sealed;
}

/** The id of the key that a sealed value names, in hexadecimal; throws `UnsealError` when it is no sealed value. */
export function parseKeyId(sealed: Uint8Array): string {
  if (sealed.length < HEADER_BYTES + TAG_BYTES || sealed[0] !== VERSION) throw new UnsealError();
  return Buffer.from(sealed.buffer, sealed.byteOffset + 1, KEY_ID_BYTES).toString('hex');
}

/** Throws `UnsealError`. */
export function unseal(key: KeyObject, context: EncryptionContext, sealed: Uint8Array): Buffer {
  try {
    const end = sealed.length - TAG_BYTES;
    const nonce = sealed.subarray(1 + KEY_ID_BYTES, HEADER_BYTES);
    const decipher = createDecipheriv('aes-256-gcm', key, nonce, OPTIONS);
    decipher.setAAD(additionalData(sealed, context));
    decipher.setAuthTag(sealed.subarray(end));
    const plaintext = decipher.update(sealed.subarray(HEADER_BYTES, end));
    decipher.final();
    return plaintext;
  } catch {
    throw new UnsealError();
  }
}

function additionalData(sealed: Uint8Array, context: EncryptionContext): Buffer {
  const data = Buffer.allocUnsafe(1 + KEY_ID_BYTES + Buffer.byteLength(context));
  data.set(sealed.subarray(0, 1 + KEY_ID_BYTES));
  data.write(context, 1 + KEY_ID_BYTES, 'utf8');
  return data;
}
