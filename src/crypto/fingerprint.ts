import { createHmac, hash, type KeyObject, timingSafeEqual } from 'node:crypto';

const DIGEST_BYTES = 32;
const FINGERPRINT_BYTES = 16;

/**
 * Stored with every fingerprint, so that a later version of the key can find the fingerprints it has not replaced yet.
 */
export const FINGERPRINT_VERSION = 1;

/**
 * Returns the first 128 bits of HMAC-SHA-256 (RFC 2104). It is keyed, because a plain hash of a card number is reversed
 * by trying the few billion possible numbers (PCI DSS 3.5.1.1).
 */
export const fingerprint = (key: KeyObject, text: string): Uint8Array => digestBytes(key, text, FINGERPRINT_BYTES);

/** Returns the complete HMAC-SHA-256, for digests of API keys and of request bodies. */
export const keyedDigest = (key: KeyObject, data: string | Uint8Array): Uint8Array =>
  digestBytes(key, data, DIGEST_BYTES);

/**
 * Returns the digest by which a random secret is found or compared: SHA-256 over its use and the texts. Without a key, because
 * 256 random bits cannot be guessed, so that nothing has to be rotated; not for texts that can be guessed.
 */
export const hashSecret = (use: string, ...texts: readonly string[]): Uint8Array =>
  new Uint8Array(hash('sha256', JSON.stringify([use, ...texts]), 'buffer'));

/** Takes the digest as text, because memory of its own for every digest costs half as much as the digest. */
function digestBytes(key: KeyObject, data: string | Uint8Array, size: number): Uint8Array {
  const digest = createHmac('sha256', key).update(data).digest('binary');
  const bytes = new Uint8Array(size);
  for (let index = 0; index < size; index++) bytes[index] = digest.charCodeAt(index);
  return bytes;
}

/** Compares two digests in a time that does not depend on where they differ. */
export const isSameDigest = (one: Uint8Array, other: Uint8Array): boolean =>
  one.length === other.length && timingSafeEqual(one, other);
