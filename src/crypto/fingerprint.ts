import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto';

const FINGERPRINT_BYTES = 16;

/** Kept with every fingerprint, so that a later version of the key can find what it has not reached yet. */
export const FINGERPRINT_VERSION = 1;

/**
 * The first 128 bits of HMAC-SHA-256 (RFC 2104). Keyed, because a plain hash of a card number is undone by trying
 * the few billion numbers there are (PCI DSS 3.5.1.1).
 */
export const fingerprint = (key: KeyObject, text: string): Buffer =>
  createHmac('sha256', key).update(text, 'utf8').digest().subarray(0, FINGERPRINT_BYTES);

/** HMAC-SHA-256 in full, for digests of API keys and of request bodies. */
export const keyedDigest = (key: KeyObject, data: string | Uint8Array): Buffer =>
  createHmac('sha256', key).update(data).digest();

/** Equality whose time does not depend on where two digests differ. */
export const isSameDigest = (one: Uint8Array, other: Uint8Array): boolean =>
  one.length === other.length && timingSafeEqual(one, other);
