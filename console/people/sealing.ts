import type { DigestKeys } from '../../src/crypto/digest-keys.ts';
import { hashSecret as hashWithUse } from '../../src/crypto/fingerprint.ts';
import type { Keyring } from '../../src/crypto/keyring.ts';
import { type EncryptionContext, encryptionContext } from '../../src/crypto/seal.ts';
import { sealJson, unsealJson } from '../../src/crypto/sealed-json.ts';
import type { KeyOwner, KeyScope } from '../../src/crypto/wrapped-key.ts';
import type { Transactions } from '../../src/idempotency/transaction.ts';
import type { Clock, Random } from '../../src/kernel/clock.ts';
import type { TrustedTime } from '../../src/kernel/time-guard.ts';
import type { Database, Row } from '../../src/storage/database.ts';

/** Dependencies of the use cases of this folder. */
export interface PeopleDependencies {
  readonly database: Database;
  /** For a use case that commits more than the transaction of its caller: one that records failures, or has several steps. */
  readonly transactions: Transactions;
  readonly keyring: Keyring;
  readonly clock: Clock;
  /** Time that a jump of the clock does not change, for locks of sign-ins. */
  readonly time: TrustedTime;
  readonly random: Random;
}

/** Users belong to no environment, and to several accounts. */
const SERVICE: KeyScope = { account: '', environment: 'service' };

/** Returns an encryption context. `parts`: all columns in clear that are bound to the record. */
export const serviceContext = (table: string, ...parts: readonly string[]): EncryptionContext =>
  encryptionContext('service', '', table, ...parts);

export const sealRecord = (keyring: Keyring, place: EncryptionContext, record: object): Promise<Uint8Array> =>
  sealJson(keyring, SERVICE, 'people', place, record);

/** Returns undefined when the record was altered or moved in the database. */
export const unsealRecord = <T extends object>(
  keyring: Keyring,
  place: EncryptionContext,
  sealed: Uint8Array,
): Promise<T | undefined> => unsealJson<T>(keyring, SERVICE, 'people', place, sealed);

/** Unseals rows in their order; leaves out those that were altered or moved in the database. */
export async function unsealRows<T>(rows: readonly Row[], unseal: (row: Row) => Promise<T | undefined>): Promise<T[]> {
  const records: T[] = [];
  for (const row of rows) {
    const record = await unseal(row);
    if (record !== undefined) records.push(record);
  }
  return records;
}

/** The uses of keyed digests: for texts that could be guessed, and for rows that must not be forged. */
type DigestPurpose = 'email' | 'membership' | 'activity' | 'challenge';

const encode = (purpose: DigestPurpose, texts: readonly string[]): string => JSON.stringify([purpose, ...texts]);

export const PEOPLE_DIGESTS = 'people-digests';

export const DIGESTS_OWNER: KeyOwner = { ...SERVICE, purpose: PEOPLE_DIGESTS };

const loadDigestKeys = (keyring: Keyring): Promise<DigestKeys> => keyring.digests(DIGESTS_OWNER);

/** Returns a keyed digest for one purpose, which names the version of its key. */
export const computeDigest = async (
  keyring: Keyring,
  purpose: DigestPurpose,
  ...texts: readonly string[]
): Promise<Uint8Array> => (await loadDigestKeys(keyring)).digest(encode(purpose, texts));

/** Returns what a stored digest may be while its key is rotated, the usual one first. */
export const listDigests = async (
  keyring: Keyring,
  purpose: DigestPurpose,
  ...texts: readonly string[]
): Promise<Uint8Array[]> => (await loadDigestKeys(keyring)).listDigests(encode(purpose, texts));

/** True for a digest of these texts under any version of its key. */
export const isDigestValid = async (
  keyring: Keyring,
  stored: unknown,
  purpose: DigestPurpose,
  ...texts: readonly string[]
): Promise<boolean> =>
  stored instanceof Uint8Array && (await loadDigestKeys(keyring)).isValid(encode(purpose, texts), stored);

/** Random secrets of which a digest is stored. */
type SecretPurpose = 'session' | 'invitation' | 'browser' | 'email code' | 'recovery code';

/**
 * Returns the digest by which a random secret is found or compared. Without a key: 256 random bits cannot be guessed, and shorter
 * codes are compared with digests in sealed records.
 */
export const hashSecret = (purpose: SecretPurpose, ...texts: readonly string[]): Uint8Array =>
  hashWithUse(purpose, ...texts);

const SECRET_BYTES = 32;

/** Returns 256 random bits for a cookie or a link, of which only a digest is stored. */
export const newSecret = (random: Random): string => Buffer.from(random.bytes(SECRET_BYTES)).toString('base64url');

/** True when a text has the form of a secret. */
export const isSecret = (text: string): boolean => /^[A-Za-z0-9_-]{43}$/.test(text);
