import { setImmediate } from 'node:timers/promises';
import type { DigestKeys } from '../crypto/digest-keys.ts';
import { DAY } from '../kernel/clock.ts';
import { ENVIRONMENTS, type Environment, type Tenant } from '../kernel/environment.ts';
import { LIMITS } from '../kernel/limits.ts';
import { parameterOf } from '../storage/account-numbers.ts';
import {
  blob,
  type Database,
  type DatabaseReads,
  integer,
  integerOrNull,
  type Row,
  text,
  textOrNull,
  type Value,
  type Write,
  write,
} from '../storage/database.ts';
import { computeMac, isRowAuthentic, macColumns, safeInteger } from '../storage/mac-table.ts';
import { sanitizeList, sanitizeOptionalTime, sanitizeText, sanitizeTime } from '../storage/sanitize-columns.ts';
import type { Table } from '../storage/table.ts';
import type { AllowedNetwork } from './allow-list.ts';
import type { ApiKey, TamperedKey } from './api-key.ts';
import { ACCOUNTS, API_KEYS } from './mac-tables.ts';
import { isPermission, type Permission } from './permission.ts';

export const TABLES: readonly Table[] = [
  {
    name: 'api_keys',
    key: ['account', 'id'],
    columns: {
      account: 'integer',
      id: 'text',
      environment: 'integer',
      digest: 'blob',
      digest_version: 'integer',
      prefix: 'text',
      name: 'text',
      description: 'text',
      permissions: 'text',
      allow_list: 'text',
      expires_at: 'integer',
      revoked_at: 'integer',
      last_used_at: 'integer',
      successor: 'text',
      revision: 'integer',
      mac: 'blob',
      created_at: 'integer',
    },
  },
];

/** A key as a list shows it: an allow-list can be long, so only its length is included. */
export type ApiKeyView = (Omit<ApiKey, 'allowList'> | Omit<TamperedKey, 'allowList'>) & { readonly networks: number };

/** The row of a key: either authentic, with what sealing its changes needs, or altered, and never sealed again. */
/** Digest of a secret, with the version of the key that it was made with. */
export interface SecretDigest {
  readonly bytes: Uint8Array;
  readonly version: number;
}

export type KeyRow =
  | { readonly isTampered: false; readonly key: ApiKey; readonly digest: SecretDigest }
  | { readonly isTampered: true; readonly key: TamperedKey; readonly row: Row };

const COLUMNS = `${macColumns(API_KEYS)}, ${safeInteger('last_used_at')} as last_used_at`;

function toKeyRow(macKey: DigestKeys, row: Row): KeyRow {
  if (!isRowAuthentic(macKey, API_KEYS, row)) return { isTampered: true, key: toTamperedKey(row), row };
  const key: ApiKey = {
    isTampered: false,
    id: text(row, 'id'),
    account: text(row, 'account'),
    environment: text(row, 'environment') as Environment,
    prefix: text(row, 'prefix'),
    name: text(row, 'name'),
    description: text(row, 'description'),
    permissions: JSON.parse(text(row, 'permissions')) as Permission[],
    allowList: JSON.parse(text(row, 'allow_list')) as AllowedNetwork[],
    createdAt: integer(row, 'created_at'),
    expiresAt: integerOrNull(row, 'expires_at'),
    revokedAt: integerOrNull(row, 'revoked_at'),
    lastUsedAt: sanitizeOptionalTime(row['last_used_at']),
    successor: textOrNull(row, 'successor'),
    revision: integer(row, 'revision'),
  };
  const digest = { bytes: blob(row, 'digest'), version: integer(row, 'digest_version') };
  return { isTampered: false, key, digest };
}

/** Reads rows whatever they contain, so that a list never fails because of one. */
const toTamperedKey = (row: Row): TamperedKey => ({
  isTampered: true,
  id: sanitizeText(row['id']),
  account: sanitizeText(row['account']),
  environment: sanitizeText(row['environment']),
  prefix: sanitizeText(row['prefix']),
  name: sanitizeText(row['name']),
  description: sanitizeText(row['description']),
  permissions: sanitizeList(row['permissions']).filter(
    (each) => typeof each === 'string' && isPermission(each),
  ) as Permission[],
  allowList: sanitizeNetworks(row['allow_list']),
  createdAt: sanitizeTime(row['created_at']),
  expiresAt: sanitizeOptionalTime(row['expires_at']),
  revokedAt: sanitizeOptionalTime(row['revoked_at']),
  lastUsedAt: sanitizeOptionalTime(row['last_used_at']),
  successor: row['successor'] === null ? undefined : sanitizeText(row['successor']),
  revision: sanitizeTime(row['revision']),
});

const sanitizeNetworks = (value: Value | undefined): AllowedNetwork[] =>
  sanitizeList(value)
    .slice(0, LIMITS.allowListEntries)
    .map((each) => {
      const { cidr, note } = (typeof each === 'object' && each !== null ? each : {}) as Record<string, Value>;
      return { cidr: sanitizeText(cidr), note: sanitizeText(note) };
    });

/** The state of a key's account, as far as authentication needs it. */
type AccountState = 'active' | 'suspended' | 'tampered';

/** A key with the state of its account, by digest. */
export type KeyWithAccount = KeyRow & { readonly accountState: AccountState; readonly joinedRow: Row };

/** Prefix of the account's columns. */
export const ACCOUNT_PREFIX = 'account_row_';
const BY_DIGEST = `select ${macColumns(API_KEYS, 'k')}, ${safeInteger('k.last_used_at')} as last_used_at, ${macColumns(ACCOUNTS, 'a', ACCOUNT_PREFIX)}
  from api_keys k join accounts a on a.number = k.account where k.digest = ?`;

export async function findKeyByDigest(
  database: Database,
  macKey: DigestKeys,
  digest: Uint8Array,
): Promise<KeyWithAccount | undefined> {
  const [row] = await database.read(BY_DIGEST, digest);
  return row && { ...toKeyRow(macKey, row), accountState: toAccountState(macKey, row), joinedRow: row };
}

function toAccountState(macKey: DigestKeys, row: Row): AccountState {
  if (!isRowAuthentic(macKey, ACCOUNTS, row, ACCOUNT_PREFIX)) return 'tampered';
  return row[`${ACCOUNT_PREFIX}suspended_at`] === null ? 'active' : 'suspended';
}

/**
 * Usually one row. An attacker can insert rows with the same id for other accounts; one of them at most is authentic.
 */
export const findKeys = async (database: Database, macKey: DigestKeys, id: string): Promise<KeyRow[]> =>
  (await database.read(`select ${COLUMNS} from api_keys where id = ? order by account`, id)).map((row) =>
    toKeyRow(macKey, row),
  );

export async function findKey(
  database: Database,
  macKey: DigestKeys,
  account: string,
  id: string,
): Promise<KeyRow | undefined> {
  const [row] = await database.read(`select ${COLUMNS} from api_keys where account = ?account and id = ?`, account, id);
  return row && toKeyRow(macKey, row);
}

export const listKeys = async (database: Database, macKey: DigestKeys, account: string): Promise<KeyRow[]> =>
  (
    await database.read(`select ${COLUMNS} from api_keys where account = ?account order by created_at, id`, account)
  ).map((row) => toKeyRow(macKey, row));

/** Neither revoked nor expired. */
const ACTIVE = 'revoked_at is null and (expires_at is null or expires_at > ?)';
const LIST_ACTIVE = `select id from api_keys where account = ?account and environment = ?environment and ${ACTIVE}`;
const LIST_ENDED = `select id from api_keys where account = ?account and environment = ?environment and not (${ACTIVE})
  order by created_at desc, id limit ${LIMITS.endedKeysListed}`;

/** All active keys and the newest of the others, the newest first; with a text those that it occurs in. */
export async function listKeyViews(
  database: Database,
  macKey: DigestKeys,
  { account, environment }: Tenant,
  now: number,
  { onTampered, containing }: { onTampered: (row: Row) => Promise<void>; containing: string | undefined },
): Promise<ApiKeyView[]> {
  const ids = await database.read(LIST_ACTIVE, account, environment, now);
  ids.push(...(await database.read(LIST_ENDED, account, environment, now)));
  const keys: ApiKeyView[] = [];
  let networks = 0;
  for (const { id } of ids) {
    const found = await findKey(database, macKey, account, String(id));
    if (found === undefined) continue;
    if (found.isTampered) await onTampered(found.row);
    const { allowList, ...listed } = found.key;
    if (containing === undefined || occursIn(containing, found.key))
      keys.push({ ...listed, networks: allowList.length });
    networks += allowList.length;
    if (networks < LIMITS.allowListEntries) continue;
    // Long lists take time to parse; other requests are served in between.
    networks = 0;
    await setImmediate();
  }
  return keys.sort((one, other) => other.createdAt - one.createdAt || (one.id < other.id ? -1 : 1));
}

/** Compares without regard to case with name, prefix and description, and with addresses and notes of the allow-list. */
function occursIn(text: string, { name, prefix, description, allowList }: KeyRow['key']): boolean {
  const wanted = text.toLowerCase();
  const texts = [name, prefix, description, ...allowList.flatMap(({ cidr, note }) => [cidr, note])];
  return texts.some((each) => each.toLowerCase().includes(wanted));
}

const ANY_ACTIVE = `select 1 as held from api_keys where environment = ?environment and ${ACTIVE} limit 1`;

/** True when any account has a key for the environment that is neither revoked nor expired. */
export const hasActiveKeys = async (database: DatabaseReads, environment: Environment, now: number): Promise<boolean> =>
  (await database.read(ANY_ACTIVE, environment, now)).length > 0;
const LIST_EXPIRING = `select account, environment, id, name, expires_at from api_keys
  where expires_at > ? and revoked_at is null`;

/** Keys with an expiry after this time, whatever their rows contain otherwise. */
export async function listExpiringKeys(
  database: Database,
  now: number,
): Promise<(Tenant & { readonly id: string; readonly name: string; readonly expiresAt: number })[]> {
  const rows = await database.read(LIST_EXPIRING, now);
  return rows.map((row) => ({
    account: sanitizeText(row['account']),
    environment: sanitizeText(row['environment']) as Environment,
    id: sanitizeText(row['id']),
    name: sanitizeText(row['name']),
    expiresAt: sanitizeTime(row['expires_at']),
  }));
}

const COUNT_EXPIRING = `select environment, count(*) as number from api_keys
  where expires_at > ? and expires_at <= ? and revoked_at is null and successor is null group by environment`;

/** Counts active keys that expire by `until` in each environment, without those that a rotation has replaced. */
export async function countExpiringKeys(
  database: Database,
  now: number,
  until: number,
): Promise<ReadonlyMap<Environment, number>> {
  const rows = await database.read(COUNT_EXPIRING, now, until);
  const counts = new Map(rows.map((row) => [sanitizeText(row['environment']), integer(row, 'number')]));
  // An environment without such keys is 0; a value that only an attacker can have written is left out.
  return new Map(ENVIRONMENTS.map((environment) => [environment, counts.get(environment) ?? 0]));
}

/** Use of keys by an account in one environment. */
export interface KeyProgress {
  /** Creation time of the oldest key that was not revoked. */
  readonly createdAt: number | undefined;
  /** True when any key was ever used. */
  readonly isUsed: boolean;
}

const LIST_PROGRESS = `select environment, min(case when revoked_at is null then created_at end) as made_at,
    max(last_used_at) as used_at
  from api_keys where account = ?account group by environment`;

/** Without the environments that never had a key. */
export const listKeyProgress = async (
  database: Database,
  account: string,
): Promise<ReadonlyMap<Environment, KeyProgress>> =>
  new Map(
    (await database.read(LIST_PROGRESS, account)).map((row) => [
      text(row, 'environment') as Environment,
      { createdAt: integerOrNull(row, 'made_at'), isUsed: integerOrNull(row, 'used_at') !== undefined },
    ]),
  );

/** Other units that create a key of the same account wait for this one, and then read its result. */
const LOCK_ACCOUNT = 'update accounts set name = name where id = ?';
const COUNT_KEYS = 'select count(*) from api_keys where account = ?account and environment = ?environment';
const RESERVE_QUOTA = `update accounts set name = name where id = ? and (${COUNT_KEYS} and ${ACTIVE}) < ${LIMITS.keysPerEnvironment}
  and (${COUNT_KEYS} and created_at > ?) < ${LIMITS.keysCreatedPerDay}`;

/**
 * Precedes the write that creates or reactivates a key. The second statement conflicts when the account has the maximum
 * number of keys in the environment, or created the maximum number in the last 24 hours.
 */
export function reserveKeyQuota({ account, environment }: Tenant, now: number): readonly [Write, Write] {
  const quota = [account, account, environment, now, account, environment, now - DAY];
  return [write(LOCK_ACCOUNT, [account], 1), write(RESERVE_QUOTA, quota, 1)];
}

export function insertKey(macKey: DigestKeys, key: ApiKey, digest: SecretDigest): Write {
  const row = toRow(key, digest);
  const values = [...Object.values(row), computeMac(macKey, API_KEYS, row)];
  const columns = [...Object.keys(row), 'mac'];
  const parameters = columns.map(parameterOf).join(', ');
  return write(`insert into api_keys (${columns.join(', ')}) values (${parameters})`, values, 1);
}

/** The columns of a key that can be changed. */
type KeyChanges = Partial<
  Pick<ApiKey, 'name' | 'description' | 'permissions' | 'allowList' | 'expiresAt' | 'revokedAt' | 'successor'>
>;

/** Stores the next revision of a key; conflicts when it was changed since it was read, or revoked. */
export function updateKey(
  macKey: DigestKeys,
  { key: old, digest }: KeyRow & { readonly isTampered: false },
  changes: KeyChanges,
): { readonly key: ApiKey; readonly update: Write } {
  const key: ApiKey = { ...old, ...changes, revision: old.revision + 1 };
  const update = write(
    `${UPDATE} and revision = ? and revoked_at is null`,
    [...updateValues(macKey, key, digest), key.account, key.id, old.revision],
    1,
  );
  return { key, update };
}

/**
 * Replaces an altered row with a revoked key without rights, under a digest that no key has. Only the primary key of
 * the row, its environment and its creation time remain, which grant nothing.
 */
export function replaceTamperedKey(
  macKey: DigestKeys,
  { key: old, row }: KeyRow & { readonly isTampered: true },
  digest: Uint8Array,
  revokedAt: number,
): { readonly key: ApiKey; readonly update: Write } {
  const key: ApiKey = {
    isTampered: false,
    id: text(row, 'id'),
    account: text(row, 'account'),
    environment: ENVIRONMENTS.find((each) => each === old.environment) ?? 'sandbox',
    prefix: '',
    name: old.id,
    description: '',
    permissions: [],
    allowList: [],
    createdAt: old.createdAt,
    expiresAt: undefined,
    revokedAt,
    lastUsedAt: undefined,
    successor: undefined,
    revision: 1,
  };
  const unused = { bytes: digest, version: 0 };
  return { key, update: write(UPDATE, [...updateValues(macKey, key, unused), key.account, key.id], 1) };
}

/** Replaces the digest of a key; conflicts when the key was changed since it was read. */
export function replaceDigest(
  macKey: DigestKeys,
  { key: old }: KeyRow & { readonly isTampered: false },
  digest: SecretDigest,
): Write {
  const key: ApiKey = { ...old, revision: old.revision + 1 };
  const values = [...updateValues(macKey, key, digest), key.account, key.id, old.revision];
  return write(`${UPDATE} and revision = ?`, values, 1);
}

const COUNT_BY_DIGEST_VERSION = `select digest_version, count(*) as number from api_keys
  where environment = ?environment and ${ACTIVE} group by digest_version`;

/** Counts active keys of an environment by the version of the key that their digests were made with. */
export const countKeysByDigestVersion = async (
  database: Database,
  environment: Environment,
  now: number,
): Promise<ReadonlyMap<number, number>> =>
  new Map(
    (await database.read(COUNT_BY_DIGEST_VERSION, environment, now)).map((row) => [
      integer(row, 'digest_version'),
      integer(row, 'number'),
    ]),
  );

const UPDATE = `update api_keys set environment = ?environment, digest = ?, digest_version = ?, prefix = ?, name = ?, description = ?, permissions = ?,
    allow_list = ?, created_at = ?, expires_at = ?, revoked_at = ?, successor = ?, revision = ?, mac = ?
  where account = ?account and id = ?`;

function updateValues(macKey: DigestKeys, key: ApiKey, digest: SecretDigest): Value[] {
  const row = toRow(key, digest);
  const { account: _account, id: _id, ...changed } = row;
  return [...Object.values(changed), computeMac(macKey, API_KEYS, row)];
}

/** In the order of the statements. */
const toRow = (key: ApiKey, digest: SecretDigest) => ({
  account: key.account,
  id: key.id,
  environment: key.environment,
  digest: digest.bytes,
  digest_version: digest.version,
  prefix: key.prefix,
  name: key.name,
  description: key.description,
  permissions: JSON.stringify(key.permissions),
  allow_list: JSON.stringify(key.allowList),
  created_at: key.createdAt,
  expires_at: key.expiresAt ?? null,
  revoked_at: key.revokedAt ?? null,
  successor: key.successor ?? null,
  revision: key.revision,
});

const RECORD_LAST_USE =
  'update api_keys set last_used_at = ? where account = ?account and id = ? and coalesce(last_used_at, 0) < ?';

export const recordLastUses = (uses: readonly { account: string; id: string; at: number }[]): Write => ({
  sql: RECORD_LAST_USE,
  rows: uses.map(({ account, id, at }) => [at, account, id, at]),
});
