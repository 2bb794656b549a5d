import type { Environment, Tenant } from '../kernel/environment.ts';
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
import { type Account, type Enablement, statusOf } from './account.ts';
import type { AllowedNetwork } from './allow-list.ts';
import type { ApiKey } from './api-key.ts';
import type { Permission } from './permission.ts';

const keysIn = (environment: Environment): string =>
  `(select count(*) from api_keys k where k.account = a.id and k.environment = '${environment}')`;

const ACCOUNT = `select a.id, a.name, a.suspended_at, a.created_at, a.production_by_two,
    ${keysIn('production')} as production_keys, ${keysIn('sandbox')} as sandbox_keys
  from accounts a`;
const KEY = `account, id, environment, prefix, name, description, permissions, allow_list, created_at, expires_at,
  revoked_at, last_used_at, successor, revision`;

const readAccount = (row: Row): Account => ({
  id: text(row, 'id'),
  name: text(row, 'name'),
  status: statusOf({
    suspended: integerOrNull(row, 'suspended_at') !== undefined,
    productionKeys: integer(row, 'production_keys'),
    sandboxKeys: integer(row, 'sandbox_keys'),
  }),
  createdAt: integer(row, 'created_at'),
  productionByTwo: integerOrNull(row, 'production_by_two') === 1,
});

const readKey = (row: Row): ApiKey => ({
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
  lastUsedAt: integerOrNull(row, 'last_used_at'),
  successor: textOrNull(row, 'successor'),
  revision: integer(row, 'revision'),
});

export const findAccount = async (database: Database, id: string): Promise<Account | undefined> =>
  (await database.read(`${ACCOUNT} where a.id = ?`, id)).map(readAccount)[0];

export const listAccounts = async (database: Database): Promise<Account[]> =>
  (await database.read(`${ACCOUNT} order by a.created_at, a.id`)).map(readAccount);

export const insertAccount = ({ id, name, createdAt }: Account): Write =>
  write('insert into accounts (id, name, created_at) values (?, ?, ?)', [id, name, createdAt], 1);

/** Conflicts when there is any account already. */
export const insertFirstAccount = ({ id, name, createdAt }: Account): Write =>
  write(
    'insert into accounts (id, name, created_at) select ?, ?, ? where not exists (select 1 from accounts)',
    [id, name, createdAt],
    1,
  );

export const suspendAccount = (id: string, at: number): Write =>
  write('update accounts set suspended_at = ? where id = ? and suspended_at is null', [at, id], 1);

export const resumeAccount = (id: string): Write =>
  write('update accounts set suspended_at = null where id = ? and suspended_at is not null', [id], 1);

/** Conflicts when it is so already. */
export const putProductionByTwo = (id: string, isOn: boolean): Write =>
  write(
    'update accounts set production_by_two = ? where id = ? and coalesce(production_by_two, 0) <> ?',
    [isOn ? 1 : null, id, isOn ? 1 : 0],
    1,
  );

export const listEnablements = async (database: Database, { account, environment }: Tenant): Promise<Enablement[]> =>
  (
    await database.read(
      'select capability, processor from enablements where account = ? and environment = ?',
      account,
      environment,
    )
  ).map((row) => ({ capability: text(row, 'capability'), processor: textOrNull(row, 'processor') }));

export const putEnablement = (
  { account, environment }: Tenant,
  { capability, processor }: Enablement,
  at: number,
): Write =>
  write(
    `insert into enablements (account, environment, capability, processor, enabled_at) values (?, ?, ?, ?, ?)
      on conflict (account, environment, capability) do update set processor = excluded.processor`,
    [account, environment, capability, processor ?? null, at],
  );

/** Conflicts when it is not enabled. */
export const removeEnablement = ({ account, environment }: Tenant, capability: string): Write =>
  write(
    'delete from enablements where account = ? and environment = ? and capability = ?',
    [account, environment, capability],
    1,
  );

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
