import { createCipheriv, createSecretKey, type KeyObject } from 'node:crypto';

/** AES for messages to other systems, in the modes that their formats require. Stored data goes through `seal.ts`. */

export const GCM_IV_BYTES = 12;
export const CBC_IV_BYTES = 16;
const TAG_BYTES = 16;

export interface Encrypted {
  readonly ciphertext: Buffer;
  readonly tag: Buffer;
}

/** AES-GCM (NIST SP 800-38D) with a key of 16 or 32 bytes and an initialization vector of 12. */
export function encryptGcm(key: Uint8Array, iv: Uint8Array, plaintext: Uint8Array, additional?: Uint8Array): Encrypted {
  const name = key.length === 32 ? 'aes-256-gcm' : 'aes-128-gcm';
  // A key object, because Node takes several times as long with bytes.
  const cipher = createCipheriv(name, createSecretKey(key), iv, { authTagLength: TAG_BYTES });
  if (additional !== undefined) cipher.setAAD(additional);
  const ciphertext = Buffer.concat([cipher.update(plaintext), cipher.final()]);
  return { ciphertext, tag: cipher.getAuthTag() };
}

/**
 * AES-CBC (NIST SP 800-38A) with the padding of PKCS #7, a key of 16 or 32 bytes and an initialization vector of 16.
 */
export function encryptCbc(key: Uint8Array, iv: Uint8Array, plaintext: Uint8Array): Buffer {
  const cipher = createCipheriv(key.length === 32 ? 'aes-256-cbc' : 'aes-128-cbc', createSecretKey(key), iv);
  return Buffer.concat([cipher.update(plaintext), cipher.final()]);
}

/**
 * Returns a pseudo-random function from 16 bytes to 16 bytes: AES-256 of single blocks. It takes half the time of an
 * HMAC where many small values are needed. It protects no text: equal blocks give equal results.
 */
export function blockFunction(key: KeyObject): (block: Uint8Array) => Buffer {
  const cipher = createCipheriv('aes-256-ecb', key, null).setAutoPadding(false);
  return (block) => cipher.update(block);
}
