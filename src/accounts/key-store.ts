import { setImmediate } from 'node:timers/promises';
import { DAY } from '../kernel/clock.ts';
import type { Environment, Tenant } from '../kernel/environment.ts';
import { LIMITS } from '../kernel/limits.ts';
import {
  blob,
  type Database,
  integer,
  integerOrNull,
  type Row,
  text,
  textOrNull,
  type Write,
  write,
} from '../storage/database.ts';
import type { AllowedNetwork } from './allow-list.ts';
import type { ApiKey } from './api-key.ts';
import type { Permission } from './permission.ts';

const TRAITS = 'account, id, environment, prefix, name, description, permissions';
const TIMES = 'created_at, expires_at, revoked_at, last_used_at, successor, revision';
const KEY = `${TRAITS}, allow_list, ${TIMES}`;

/** A key as a list shows it: its allow-list may be long, so that only its length is told. */
export interface ListedKey extends Omit<ApiKey, 'allowList'> {
  readonly networks: number;
}

const readKey = (row: Row): ApiKey => ({ ...readTraits(row), allowList: readNetworks(row) });

const readNetworks = (row: Row): AllowedNetwork[] => JSON.parse(text(row, 'allow_list')) as AllowedNetwork[];

const readTraits = (row: Row): Omit<ApiKey, 'allowList'> => ({
  id: text(row, 'id'),
  account: text(row, 'account'),
  environment: text(row, 'environment') as Environment,
  prefix: text(row, 'prefix'),
  name: text(row, 'name'),
  description: text(row, 'description'),
  permissions: JSON.parse(text(row, 'permissions')) as Permission[],
  createdAt: integer(row, 'created_at'),
  expiresAt: integerOrNull(row, 'expires_at'),
  revokedAt: integerOrNull(row, 'revoked_at'),
  lastUsedAt: integerOrNull(row, 'last_used_at'),
  successor: textOrNull(row, 'successor'),
  revision: integer(row, 'revision'),
});

/** A key with its digest and the state of its account, by digest. */
export interface FoundKey {
  readonly key: ApiKey;
  readonly digest: Uint8Array;
  readonly seal: Uint8Array;
  /** The account is suspended. */
  readonly suspended: boolean;
}

const BY_DIGEST = `select k.account, k.id, k.environment, k.prefix, k.name, k.description, k.permissions, k.allow_list,
    k.created_at, k.expires_at, k.revoked_at, k.last_used_at, k.successor, k.revision, k.digest, k.seal, a.suspended_at
  from api_keys k join accounts a on a.id = k.account where k.digest = ?`;

export async function findKeyByDigest(database: Database, digest: Uint8Array): Promise<FoundKey | undefined> {
  const [row] = await database.read(BY_DIGEST, digest);
  if (row === undefined) return undefined;
  return {
    key: readKey(row),
    digest: blob(row, 'digest'),
    seal: blob(row, 'seal'),
    suspended: integerOrNull(row, 'suspended_at') !== undefined,
  };
}

export const findKey = async (
  database: Database,
  id: string,
): Promise<{ key: ApiKey; digest: Uint8Array } | undefined> =>
  (await database.read(`select ${KEY}, digest from api_keys where id = ?`, id)).map((row) => ({
    key: readKey(row),
    digest: blob(row, 'digest'),
  }))[0];

export const listKeys = async (database: Database, account: string): Promise<ApiKey[]> =>
  (await database.read(`select ${KEY} from api_keys where account = ? order by created_at, id`, account)).map(readKey);

/** Neither revoked nor over. */
const WORKING = 'revoked_at is null and (expires_at is null or expires_at > ?)';
const WORKING_IN = `select ${TRAITS}, ${TIMES} from api_keys where account = ? and environment = ? and ${WORKING}`;
const ENDED_IN = `select ${TRAITS}, ${TIMES} from api_keys where account = ? and environment = ? and not (${WORKING})
  order by created_at desc, id limit ${LIMITS.endedKeysListed}`;
const NETWORKS = 'select allow_list from api_keys where account = ? and id = ?';

/** All that work and the newest of the others, the newest first. */
export async function keysToList(
  database: Database,
  { account, environment }: Tenant,
  now: number,
): Promise<ListedKey[]> {
  const rows = await database.read(WORKING_IN, account, environment, now);
  rows.push(...(await database.read(ENDED_IN, account, environment, now)));
  const keys: ListedKey[] = [];
  let characters = 0;
  for (const row of rows) {
    const traits = readTraits(row);
    const [found] = await database.read(NETWORKS, account, traits.id);
    characters += found === undefined ? 0 : text(found, 'allow_list').length;
    keys.push({ ...traits, networks: found === undefined ? 0 : readNetworks(found).length });
    if (characters < LIMITS.smallBodyBytes) continue;
    // Other requests go on between long lists.
    characters = 0;
    await setImmediate();
  }
  return keys.sort((one, other) => other.createdAt - one.createdAt || (one.id < other.id ? -1 : 1));
}

/** What an account has done about keys in one environment. */
export interface KeyProgress {
  /** When the first of those that were not revoked was made. */
  readonly madeAt: number | undefined;
  /** Any was ever used. */
  readonly isUsed: boolean;
}

const PROGRESS = `select environment, min(case when revoked_at is null then created_at end) as made_at,
    max(last_used_at) as used_at
  from api_keys where account = ? group by environment`;

/** Without those environments that never had a key. */
export const keyProgress = async (
  database: Database,
  account: string,
): Promise<ReadonlyMap<Environment, KeyProgress>> =>
  new Map(
    (await database.read(PROGRESS, account)).map((row) => [
      text(row, 'environment') as Environment,
      { madeAt: integerOrNull(row, 'made_at'), isUsed: integerOrNull(row, 'used_at') !== undefined },
    ]),
  );

/** Others who make a key of the same account wait for this unit, and then see what it left. */
const HOLD = 'update accounts set name = name where id = ?';
const KEYS_OF = 'select count(*) from api_keys where account = ? and environment = ?';
const ROOM = `update accounts set name = name where id = ? and (${KEYS_OF} and ${WORKING}) < ${LIMITS.keysPerEnvironment}
  and (${KEYS_OF} and created_at > ?) < ${LIMITS.keysMadePerDay}`;

/**
 * Goes before the write that makes a key, or makes one work again. The second one conflicts when the account has as many
 * keys in the environment as it may have, or made as many of late.
 */
export function roomForKey({ account, environment }: Tenant, now: number): readonly [Write, Write] {
  const room = [account, account, environment, now, account, environment, now - DAY];
  return [write(HOLD, [account], 1), write(ROOM, room, 1)];
}

export function insertKey(key: ApiKey, digest: Uint8Array, seal: Uint8Array): Write {
  const lists = [JSON.stringify(key.permissions), JSON.stringify(key.allowList)];
  const times = [key.createdAt, key.expiresAt ?? null, key.revokedAt ?? null, key.lastUsedAt ?? null];
  const values = [
    key.account,
    key.id,
    key.environment,
    key.prefix,
    key.name,
    key.description,
    ...lists,
    ...times,
    key.successor ?? null,
    key.revision,
    digest,
    seal,
  ];
  const marks = values.map(() => '?').join(', ');
  return write(`insert into api_keys (${KEY}, digest, seal) values (${marks})`, values, 1);
}

/** The next revision of a key; conflicts when it was changed since it was read, or revoked. */
export function updateKey(key: ApiKey, seal: Uint8Array): Write {
  const lists = [JSON.stringify(key.permissions), JSON.stringify(key.allowList)];
  const ends = [key.expiresAt ?? null, key.revokedAt ?? null, key.successor ?? null];
  const where = [key.account, key.id, key.revision - 1];
  const sql = `update api_keys set name = ?, description = ?, permissions = ?, allow_list = ?, expires_at = ?,
      revoked_at = ?, successor = ?, revision = ?, seal = ?
    where account = ? and id = ? and revision = ? and revoked_at is null`;
  return write(sql, [key.name, key.description, ...lists, ...ends, key.revision, seal, ...where], 1);
}

const USED = 'update api_keys set last_used_at = ? where account = ? and id = ? and coalesce(last_used_at, 0) < ?';

export const noteUses = (uses: readonly { account: string; id: string; at: number }[]): Write => ({
  sql: USED,
  rows: uses.map(({ account, id, at }) => [at, account, id, at]),
});
