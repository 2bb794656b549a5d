import type { KeyEnvironment, KeyOwner, Purpose, WrappedKey, WrappedKeyStore } from '../crypto/wrapped-key.ts';
import { blob, type Database, integer, type Row, text, type Value, type Write, write } from './database.ts';
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
      created_at: 'integer',
    },
  },
];

const COLUMNS = 'account, environment, purpose, version, id, wrapped, reserved, created_at';
const FIND = `select ${COLUMNS} from wrapped_keys where account = ?account and environment = ?environment and purpose = ? order by version`;
const FIND_BY_ID = `select ${COLUMNS} from wrapped_keys where id = ?`;
const ALL = `select ${COLUMNS} from wrapped_keys order by environment, account, purpose, version`;
const INSERT = `insert into wrapped_keys (${COLUMNS}) values (?account, ?environment, ?, ?, ?, ?, ?, ?) on conflict do nothing`;
const RESERVE = 'update wrapped_keys set reserved = ? where account = ?account and id = ? and reserved = ?';

/** Conflicts when the database has one of these versions already. */
export const insertWrappedKeys = (keys: readonly WrappedKey[]): Write => ({
  sql: INSERT,
  rows: keys.map(valuesOf),
  expectedRows: 1,
});

const valuesOf = (key: WrappedKey): Value[] => {
  const { account, environment, purpose, version, id, wrapped, reserved, createdAt } = key;
  return [account, environment, purpose, version, id, wrapped, reserved, createdAt];
};

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

/** Lists all keys, still wrapped, for the operator's overview. */
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
  createdAt: integer(row, 'created_at'),
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
