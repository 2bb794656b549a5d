import type { KeyOwner, Purpose } from '../crypto/wrapped-key.ts';
import type { SealedColumns } from '../storage/sealed-columns.ts';

/** The key of an environment that wraps the keys of sensitive authentication data, see `crypto/sad-keys.ts`. */
export const SAD_PURPOSE: Purpose = 'sensitive-authentication-data';

/** The key of an environment that makes the digests of its API keys. */
export const API_KEY_PURPOSE: Purpose = 'api-keys';

/** The key of the fingerprints of an account's tokens. */
export const FINGERPRINT_PURPOSE: Purpose = 'fingerprints';

/**
 * The use of a key: it wraps other keys, it seals rows, it wraps the keys of hours of expiry, it makes the digests of API keys, it makes fingerprints of card numbers,
 * or it makes other digests and MACs, which have to stay comparable.
 */
export type KeyKind = 'wrapping' | 'data' | 'sad' | 'api-keys' | 'fingerprints' | 'digest';

/** Returns what the key of an owner does, given the sealed columns of all tables. */
export function kindOf({ account, environment, purpose }: KeyOwner, sealed: readonly SealedColumns[]): KeyKind {
  if (purpose === 'wrapping') return 'wrapping';
  if (purpose === SAD_PURPOSE) return 'sad';
  if (purpose === API_KEY_PURPOSE) return 'api-keys';
  if (purpose === FINGERPRINT_PURPOSE) return 'fingerprints';
  // An account's key and a digest key of the environment may share the name of a purpose.
  const seals = sealed.some(
    (columns) =>
      columns.purpose === purpose &&
      (columns.scope === 'service' ? environment === 'service' && account === '' : account !== ''),
  );
  return seals ? 'data' : 'digest';
}

export const ownerName = ({ account, environment, purpose }: KeyOwner): string =>
  `${account}/${environment}/${purpose}`;
