import { keyedDigest } from '../../src/crypto/fingerprint.ts';
import type { Keyring } from '../../src/crypto/keyring.ts';
import { type EncryptionContext, encryptionContext } from '../../src/crypto/seal.ts';
import { sealJson, unsealJson } from '../../src/crypto/sealed-json.ts';
import type { KeyScope } from '../../src/crypto/wrapped-key.ts';
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

type DigestPurpose =
  | 'email'
  | 'email code'
  | 'password'
  | 'session'
  | 'invitation'
  | 'membership'
  | 'recovery code'
  | 'activity'
  | 'browser'
  | 'challenge';

/** Returns a keyed digest for one purpose. */
export async function computeDigest(
  keyring: Keyring,
  purpose: DigestPurpose,
  ...texts: readonly string[]
): Promise<Uint8Array> {
  const key = await keyring.digestKey({ ...SERVICE, purpose: 'people-digests' });
  return keyedDigest(key, JSON.stringify([purpose, ...texts]));
}

const SECRET_BYTES = 32;

/** Returns 256 random bits for a cookie or a link, of which only a digest is stored. */
export const newSecret = (random: Random): string => Buffer.from(random.bytes(SECRET_BYTES)).toString('base64url');

/** True when a text has the form of a secret. */
export const isSecret = (text: string): boolean => /^[A-Za-z0-9_-]{43}$/.test(text);
