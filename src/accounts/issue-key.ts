import type { DigestKey } from '../crypto/digest-keys.ts';
import { keyedDigest } from '../crypto/fingerprint.ts';
import type { Keyring } from '../crypto/keyring.ts';
import type { Clock, Random } from '../kernel/clock.ts';
import { assertDisplayable } from '../kernel/displayable.ts';
import type { Environment, Tenant } from '../kernel/environment.ts';
import { newId } from '../kernel/ids.ts';
import { LIMITS } from '../kernel/limits.ts';
import type { Write } from '../storage/database.ts';
import { rowMacKey } from '../storage/mac-table.ts';
import type { AllowedNetwork } from './allow-list.ts';
import { type ApiKey, generateSecret, toPrefix } from './api-key.ts';
import { insertKey } from './api-key-store.ts';
import { PERMISSIONS, type Permission } from './permission.ts';

export interface KeyAttributes {
  readonly name: string;
  readonly description: string;
  readonly permissions: readonly Permission[];
  readonly allowList: readonly AllowedNetwork[];
  readonly expiresAt: number | undefined;
}

/** A key and its secret, which is not stored and cannot be shown again. */
export interface IssuedKey {
  readonly key: ApiKey;
  readonly secret: string;
}

/** A key that is not stored yet. */
export interface NewKey extends IssuedKey {
  readonly insert: Write;
}

const ID_CHARACTERS = 14;

/**
 * Throws `invalid_field` for text that users would misread. A rotated key keeps the attributes of a time before this
 * rule.
 */
export function assertDisplayableAttributes({ name, description, allowList = [] }: Partial<KeyAttributes>): void {
  if (name !== undefined) assertDisplayable(name, 'name');
  if (description !== undefined) assertDisplayable(description, 'description');
  for (const [index, { note }] of allowList.entries()) assertDisplayable(note, `allow_list[${index}].note`);
}

/** Returns the keys of the digests of an environment's API keys, the newest first. */
export const loadDigestKeys = (keyring: Keyring, environment: Environment): Promise<readonly DigestKey[]> =>
  keyring.digestKeys({ account: '', environment, purpose: 'api-keys' });

/**
 * Returns the key with which digests are made: the newest one that every process knows, because a process denies a key
 * whose digest it cannot make.
 */
export function currentDigestKey(keys: readonly DigestKey[], now: number): DigestKey {
  const current = keys.find(({ createdAt }) => now - createdAt >= LIMITS.keyHandoverMs) ?? keys.at(-1);
  if (current === undefined) throw new Error('a digest key that was just read is gone');
  return current;
}

/** Default: all permissions. */
export async function issueKey(
  { keyring, clock, random }: { readonly keyring: Keyring; readonly clock: Clock; readonly random: Random },
  { account, environment }: Tenant,
  { name, description, permissions, allowList, expiresAt }: KeyAttributes,
): Promise<NewKey> {
  const secret = generateSecret(environment, random);
  const key: ApiKey = {
    isTampered: false,
    id: newId('key', ID_CHARACTERS, random),
    account,
    environment,
    prefix: toPrefix(secret),
    name,
    description,
    permissions: permissions.length === 0 ? PERMISSIONS : permissions,
    allowList,
    createdAt: clock(),
    expiresAt,
    revokedAt: undefined,
    lastUsedAt: undefined,
    successor: undefined,
    revision: 1,
  };
  const digestKey = currentDigestKey(await loadDigestKeys(keyring, environment), clock());
  const digest = { bytes: keyedDigest(digestKey.key, secret), version: digestKey.version };
  return { key, secret, insert: insertKey(await rowMacKey(keyring), key, digest) };
}
