import type { KeyOwner, Purpose } from '../crypto/wrapped-key.ts';
import type { SealedColumns } from '../storage/sealed-columns.ts';

/** The key of an environment that wraps the keys of sensitive authentication data, see `crypto/sad-keys.ts`. */
export const SAD_PURPOSE: Purpose = 'sensitive-authentication-data';

/** The key of an environment that makes the digests of its API keys. */
export const API_KEY_PURPOSE: Purpose = 'api-keys';

/** The key of the fingerprints of an account's tokens. */
export const FINGERPRINT_PURPOSE: Purpose = 'fingerprints';

/** The key of the indexes of card numbers that clients see: its rotation changes them. */
export const PAN_INDEX_PURPOSE: Purpose = 'pan-indexes';

/** Keys of digests and MACs that name their version, so that each can be computed again, see `crypto/digest-keys.ts`. */
export const DIGEST_PURPOSES: readonly Purpose[] = [
  'clock',
  'idempotency-digests',
  'journal',
  PAN_INDEX_PURPOSE,
  'people-digests',
  'row-macs',
  'token-tags',
];

/**
 * The use of a key: it wraps other keys, it seals rows, it wraps the keys of hours of expiry, it makes the digests of API keys, it makes fingerprints of card numbers,
 * it makes other digests and MACs, or it is kept permanently: it chose, identified or signed what stays as it is.
 */
export type KeyKind = 'wrapping' | 'data' | 'sad' | 'api-keys' | 'fingerprints' | 'digest' | 'permanent';

/** Returns what the key of an owner does, given the sealed columns of all tables. */
export function kindOf({ account, environment, purpose }: KeyOwner, sealed: readonly SealedColumns[]): KeyKind {
  if (purpose === 'wrapping') return 'wrapping';
  if (purpose === SAD_PURPOSE) return 'sad';
  if (purpose === API_KEY_PURPOSE) return 'api-keys';
  if (purpose === FINGERPRINT_PURPOSE) return 'fingerprints';
  if (DIGEST_PURPOSES.includes(purpose)) return 'digest';
  const seals = sealed.some(
    (columns) =>
      columns.purpose === purpose &&
      (columns.scope === 'service' ? environment === 'service' && account === '' : account !== ''),
  );
  return seals ? 'data' : 'permanent';
}

export const ownerName = ({ account, environment, purpose }: KeyOwner): string =>
  `${account}/${environment}/${purpose}`;
