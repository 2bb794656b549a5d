import type { KeyObject } from 'node:crypto';
import { keyedDigest, sameDigest } from '../crypto/fingerprint.ts';
import type { ApiKey } from './api-key.ts';

/**
 * A keyed digest over everything that decides what an API key may do. Whoever can write to the database, but does not
 * hold the root key, could otherwise move a key of their own to another account and retrieve its cards.
 */
export function sealOfKey(digestKey: KeyObject, key: ApiKey, digest: Uint8Array): Uint8Array {
  const { id, account, environment, permissions, allowList, createdAt, expiresAt, revokedAt, revision } = key;
  const decides = [id, account, environment, permissions, allowList, createdAt, expiresAt, revokedAt, revision];
  const text = JSON.stringify(['api key', Buffer.from(digest).toString('hex'), ...decides]);
  return new Uint8Array(keyedDigest(digestKey, text));
}

export const keyIsSealed = (digestKey: KeyObject, key: ApiKey, digest: Uint8Array, seal: Uint8Array): boolean =>
  sameDigest(sealOfKey(digestKey, key, digest), seal);
