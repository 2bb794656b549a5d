import { keyedDigest } from '../../src/crypto/fingerprint.ts';
import type { Keyring } from '../../src/crypto/keyring.ts';
import { type EncryptionContext, encryptionContext } from '../../src/crypto/seal.ts';
import { sealJson, unsealJson } from '../../src/crypto/sealed-json.ts';
import type { KeyScope } from '../../src/crypto/wrapped-key.ts';
import type { Clock, Random } from '../../src/kernel/clock.ts';
import type { TrustedTime } from '../../src/kernel/time-guard.ts';
import type { Database } from '../../src/storage/database.ts';

/** What the use cases of people work with. */
export interface PeopleDependencies {
  readonly database: Database;
  readonly keyring: Keyring;
  readonly clock: Clock;
  /** For what a jump of the clock must not decide: whether a user may try to sign in. */
  readonly time: TrustedTime;
  readonly random: Random;
}

/** People belong to no environment, and to several accounts. */
const SERVICE: KeyScope = { account: '', environment: 'service' };

/** `parts` are all columns in clear that a record must not be seen with others of. */
export const serviceContext = (table: string, ...parts: readonly string[]): EncryptionContext =>
  encryptionContext('service', '', table, ...parts);

export const sealRecord = (keyring: Keyring, place: EncryptionContext, record: object): Promise<Uint8Array> =>
  sealJson(keyring, SERVICE, 'people', place, record);

/** Undefined when somebody changed or moved it in the database. */
export const unsealRecord = <T extends object>(
  keyring: Keyring,
  place: EncryptionContext,
  sealed: Uint8Array,
): Promise<T | undefined> => unsealJson<T>(keyring, SERVICE, 'people', place, sealed);

type DigestPurpose =
  | 'email'
  | 'password'
  | 'session'
  | 'invitation'
  | 'membership'
  | 'recovery code'
  | 'activity'
  | 'browser'
  | 'challenge';

/** A keyed digest that is good for one use alone. */
export async function computeDigest(
  keyring: Keyring,
  purpose: DigestPurpose,
  ...texts: readonly string[]
): Promise<Uint8Array> {
  const key = await keyring.digestKey({ ...SERVICE, purpose: 'people-digests' });
  return new Uint8Array(keyedDigest(key, JSON.stringify([purpose, ...texts])));
}

const SECRET_BYTES = 32;

/** 256 random bits for a cookie or a link, of which only a digest is kept. */
export const newSecret = (random: Random): string => Buffer.from(random.bytes(SECRET_BYTES)).toString('base64url');

/** Whether it can be one at all. */
export const isSecret = (text: string): boolean => /^[A-Za-z0-9_-]{43}$/.test(text);
