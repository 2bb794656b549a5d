import { fingerprint } from '../crypto/fingerprint.ts';
import type { Keyring } from '../crypto/keyring.ts';
import type { Tenant } from '../kernel/environment.ts';
import { LIMITS } from '../kernel/limits.ts';
import {
  blob,
  blobOrNull,
  type Database,
  integer,
  integerOrNull,
  type Row,
  type Value,
  type Write,
  write,
} from '../storage/database.ts';
import { replaceFingerprintPart } from './blind-index.ts';
import type { FingerprintKeys } from './fingerprint-keys.ts';
import { unsealIfAuthentic } from './token-store.ts';

/** The work on all tokens of a tenant while the key of their fingerprints is replaced, see `fingerprint-keys.ts`. */

const COLUMNS = 'slot, scheme, record, created_at, fingerprint, next_fingerprint, fingerprint_version, search';
const OF_TENANT = 'account = ?account and environment = ?environment';
const LIST = `select ${COLUMNS} from tokens where ${OF_TENANT} and record is not null order by created_at, slot`;
const LIST_AFTER = LIST.replace(' order by', ' and (created_at, slot) > (?, ?) order by');
/** `slot` is unique beside the key, and the fingerprints say that the row is still the one that was read. */
const OF_ROW = `where ${OF_TENANT} and created_at = ? and slot = ? and fingerprint = ?`;
const ADD_SECOND = `update tokens set next_fingerprint = ? ${OF_ROW} and next_fingerprint is null`;
const PROMOTE = `update tokens set fingerprint = ?, fingerprint_version = ?, search = ? ${OF_ROW} and next_fingerprint = ? and search = ?`;
const REMOVE_SECOND = `update tokens set next_fingerprint = null ${OF_ROW} and next_fingerprint is not null`;
/** One page of tokens in the order of time and slot, so that no statement takes long. */
const PAGE = `from tokens where ${OF_TENANT} and (created_at, slot) > (?, ?) order by created_at, slot`;
const COUNT_PAGE = `select fingerprint_version, count(*) as number
  from (select fingerprint_version, fingerprint ${PAGE} limit ${LIMITS.rowsPerSealedCount}) as page
  where fingerprint is not null group by fingerprint_version`;
const END_OF_PAGE = `select created_at, slot ${PAGE} limit 1 offset ${LIMITS.rowsPerSealedCount - 1}`;
const BEFORE_FIRST: readonly Value[] = [Number.MIN_SAFE_INTEGER, new Uint8Array(0)];

/** Reads live tokens behind a position, in the order of time and slot. */
export const readTokensToRekey = (
  database: Database,
  { account, environment }: Tenant,
  after: readonly Value[] | undefined,
  limit: number,
): Promise<Row[]> =>
  after === undefined
    ? database.read(`${LIST} limit ${limit}`, account, environment)
    : database.read(`${LIST_AFTER} limit ${limit}`, account, environment, ...after);

export const tokenPosition = (row: Row): readonly Value[] => [row['created_at'] ?? null, row['slot'] ?? null];

/**
 * Returns the write that the present phase has for a token; undefined when there is none, and 'unreadable' when the token was
 * altered. It conflicts when the token was changed since it was read.
 */
export async function rekeyToken(
  keyring: Keyring,
  tenant: Tenant,
  keys: FingerprintKeys,
  row: Row,
): Promise<Write | 'unreadable' | undefined> {
  const second = blobOrNull(row, 'next_fingerprint');
  if (keys.phase === 1) return second === undefined ? addSecond(keyring, tenant, keys, row) : undefined;
  if (keys.phase === 2) return promote(tenant, keys, row, second);
  if (second !== undefined) return write(REMOVE_SECOND, rowKey(tenant, row), 1);
  return integerOrNull(row, 'fingerprint_version') === keys.current.version ? undefined : 'unreadable';
}

const rowKey = ({ account, environment }: Tenant, row: Row): Value[] => [
  account,
  environment,
  integer(row, 'created_at'),
  blob(row, 'slot'),
  blob(row, 'fingerprint'),
];

async function addSecond(
  keyring: Keyring,
  tenant: Tenant,
  { current }: FingerprintKeys,
  row: Row,
): Promise<Write | 'unreadable' | undefined> {
  // A process that is ahead may have claimed the card under the new key already.
  if (integerOrNull(row, 'fingerprint_version') === current.version) return undefined;
  const token = await unsealIfAuthentic(keyring, tenant, row);
  if (token === undefined) return 'unreadable';
  return write(ADD_SECOND, [fingerprint(current.key, token.card.pan), ...rowKey(tenant, row)], 1);
}

function promote(
  tenant: Tenant,
  { current }: FingerprintKeys,
  row: Row,
  second: Uint8Array | undefined,
): Write | 'unreadable' | undefined {
  if (integerOrNull(row, 'fingerprint_version') === current.version) return undefined;
  if (second === undefined) return 'unreadable';
  const search = replaceFingerprintPart(blob(row, 'search'), second);
  return write(PROMOTE, [second, current.version, search, ...rowKey(tenant, row), second, blob(row, 'search')], 1);
}

/** Counts live tokens by the version of the key of their fingerprint. */
export async function countTokensByFingerprintVersion(
  database: Database,
  { account, environment }: Tenant,
): Promise<ReadonlyMap<number, number>> {
  const counts = new Map<number, number>();
  for (let after = BEFORE_FIRST; ; ) {
    for (const row of await database.read(COUNT_PAGE, account, environment, ...after)) {
      const version = integer(row, 'fingerprint_version');
      counts.set(version, (counts.get(version) ?? 0) + integer(row, 'number'));
    }
    const [last] = await database.read(END_OF_PAGE, account, environment, ...after);
    if (last === undefined) return counts;
    after = tokenPosition(last);
  }
}
