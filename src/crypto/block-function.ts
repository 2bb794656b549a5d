import { createCipheriv, type KeyObject } from 'node:crypto';

/**
 * Returns a pseudo-random function from 16 bytes to 16 bytes: AES-256 of single blocks. It takes half the time of an
 * HMAC where many small values are needed. It protects no text: equal blocks give equal results.
 */
export function blockFunction(key: KeyObject): (block: Uint8Array) => Buffer {
  const cipher = createCipheriv('aes-256-ecb', key, null).setAutoPadding(false);
  return (block) => cipher.update(block);
}
