import type { KeyEnvironment, KeyOwner, Purpose, WrappedKey, WrappedKeyStore } from '../crypto/wrapped-key.ts';
import {
  blob,
  type Database,
  integer,
  integerOrNull,
  type Row,
  text,
  type Value,
  type Write,
  write,
} from './database.ts';
import type { Table } from './table.ts';

export const TABLES: readonly Table[] = [
  {
    name: 'wrapped_keys',
    key: ['account', 'environment', 'purpose', 'version'],
    columns: {
      account: 'integer',
      environment: 'integer',
      purpose: 'text',
      version: 'integer',
      id: 'text',
      wrapped: 'blob',
      reserved: 'integer',
      check_value: 'text',
      created_at: 'integer',
      destroyed_at: 'integer',
    },
  },
];

const COLUMNS = 'account, environment, purpose, version, id, wrapped, reserved, check_value, created_at, destroyed_at';
const FIND = `select ${COLUMNS} from wrapped_keys
  where account = ?account and environment = ?environment and purpose = ? and destroyed_at is null order by version`;
const FIND_BY_ID = `select ${COLUMNS} from wrapped_keys where id = ? and destroyed_at is null`;
const ALL = `select ${COLUMNS} from wrapped_keys order by environment, account, purpose, version`;
const LIST_BY_PURPOSE = `select ${COLUMNS} from wrapped_keys
  where purpose = ? and destroyed_at is null order by account, environment, version`;
const LIST_DESTROYED = `select id, destroyed_at from wrapped_keys where destroyed_at >= ? order by destroyed_at`;
const INSERT = `insert into wrapped_keys (${COLUMNS}) values (?account, ?environment, ?, ?, ?, ?, ?, ?, ?, null) on conflict do nothing`;
const RESERVE = 'update wrapped_keys set reserved = ? where account = ?account and id = ? and reserved = ?';
const REWRAP = 'update wrapped_keys set wrapped = ? where account = ?account and id = ? and wrapped = ?';
const LOCK = 'update wrapped_keys set reserved = reserved where account = ?account and id = ? and wrapped = ?';
const LOCK_WRAPPING = `update wrapped_keys set reserved = reserved
  where account = 0 and purpose = 'wrapping' and destroyed_at is null`;
const LOCK_FIRST = `update wrapped_keys set reserved = reserved
  where account = ?account and environment = ?environment and purpose = ? and version = 1`;
const DESTROY = `update wrapped_keys set wrapped = ?, destroyed_at = ?
  where account = ?account and id = ? and destroyed_at is null`;

/** Conflicts when the database has one of these versions already. */
export const insertWrappedKeys = (keys: readonly WrappedKey[]): Write => ({
  sql: INSERT,
  rows: keys.map(valuesOf),
  expectedRows: 1,
});

const valuesOf = (key: WrappedKey): Value[] => {
  const { account, environment, purpose, version, id, wrapped, reserved, checkValue, createdAt } = key;
  return [account, environment, purpose, version, id, wrapped, reserved, checkValue, createdAt];
};

/** Stores a key under another one; conflicts when it was wrapped again, or destroyed, since it was read. */
export const rewrapKey = ({ account, id, wrapped }: WrappedKey, to: Uint8Array): Write =>
  write(REWRAP, [to, account, id, wrapped], 1);

/** Changes nothing; conflicts when the key was wrapped again, or destroyed, since it was read. */
export const lockKey = ({ account, id, wrapped }: WrappedKey): Write => write(LOCK, [account, id, wrapped], 1);

/**
 * Changes nothing, and never conflicts. Units that lock the same key are committed one after the other, and each sees what the
 * one before it has written. The row of the first version exists even after its destruction.
 */
export const lockFirstVersion = ({ account, environment, purpose }: KeyOwner): Write =>
  write(LOCK_FIRST, [account, environment, purpose]);

/**
 * Changes nothing; conflicts unless there are this many wrapping keys. Follows writes that lock all known ones: the
 * statement then sees a version that was added in between.
 */
export const lockWrappingKeys = (count: number): Write => write(LOCK_WRAPPING, [], count);

const NO_KEY = new Uint8Array(0);

/** Replaces the key with nothing; its row remains as evidence. Conflicts when it is destroyed already. */
export const destroyKey = ({ account, id }: WrappedKey, at: number): Write =>
  write(DESTROY, [NO_KEY, at, account, id], 1);

export function wrappedKeyStore(database: Database): WrappedKeyStore {
  const find = async (owner: KeyOwner): Promise<WrappedKey[]> =>
    (await database.read(FIND, owner.account, owner.environment, owner.purpose)).map(wrappedKey);

  const findById = async (id: string): Promise<WrappedKey | undefined> =>
    (await database.read(FIND_BY_ID, id)).map(wrappedKey)[0];

  const insert = async (key: WrappedKey): Promise<boolean> =>
    (await database.commit({ account: key.account, writes: [insertWrappedKeys([key])] })).committed;

  const reserve = async ({ account, id, reserved }: WrappedKey, to: number): Promise<boolean> =>
    (await database.commit({ account, writes: [write(RESERVE, [to, account, id, reserved], 1)] })).committed;

  return { find, findById, insert, reserve };
}

/** Lists the keys of a purpose, without destroyed ones. */
export const listKeysByPurpose = async (database: Database, purpose: Purpose): Promise<WrappedKey[]> =>
  (await database.read(LIST_BY_PURPOSE, purpose)).map(wrappedKey);

/** Lists ids of the keys that were destroyed at this time or later, the first destroyed first. */
export const listDestroyedKeys = async (
  database: Database,
  from: number,
): Promise<{ readonly id: string; readonly destroyedAt: number }[]> =>
  (await database.read(LIST_DESTROYED, from)).map((row) => ({
    id: text(row, 'id'),
    destroyedAt: integer(row, 'destroyed_at'),
  }));

/** Lists all keys, still wrapped, for the operator's overview; destroyed ones as well. */
export const listWrappedKeys = async (database: Database): Promise<WrappedKey[]> =>
  (await database.read(ALL)).map(wrappedKey);

const wrappedKey = (row: Row): WrappedKey => ({
  account: text(row, 'account'),
  environment: text(row, 'environment') as KeyEnvironment,
  purpose: text(row, 'purpose') as Purpose,
  version: integer(row, 'version'),
  id: text(row, 'id'),
  wrapped: blob(row, 'wrapped'),
  reserved: integer(row, 'reserved'),
  checkValue: text(row, 'check_value'),
  createdAt: integer(row, 'created_at'),
  destroyedAt: integerOrNull(row, 'destroyed_at'),
});

/**
 * True when any table of the vault has a row. The first commit of a vault contains its keys, so rows without keys mean
 * that the keys were removed.
 */
export async function hasRows(database: Database, tables: readonly Table[]): Promise<boolean> {
  for (const { name } of tables)
    if ((await database.read(`select 1 as held from ${name} limit 1`)).length > 0) return true;
  return false;
}

/** True when the database depends on a root key already. */
export const hasWrappedKeys = async (database: Database): Promise<boolean> =>
  (await database.read('select 1 as held from wrapped_keys limit 1')).length > 0;
