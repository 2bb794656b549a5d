import type { DigestKeys } from '../crypto/digest-keys.ts';
import type { Environment, Tenant } from '../kernel/environment.ts';
import { environmentNumber } from '../storage/account-numbers.ts';
import {
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
import { computeMac, isRowAuthentic, macColumns } from '../storage/mac-table.ts';
import { sanitizeText, sanitizeTime } from '../storage/sanitize-columns.ts';
import type { Table } from '../storage/table.ts';
import { type Account, type AuthenticAccount, type Enablement, statusOf, type TamperedAccount } from './account.ts';
import { ACCOUNTS, ENABLEMENTS } from './mac-tables.ts';

export const TABLES: readonly Table[] = [
  {
    name: 'accounts',
    key: ['id'],
    columns: {
      id: 'text',
      number: 'integer',
      name: 'text',
      suspended_at: 'integer',
      created_at: 'integer',
      dual_control: 'integer',
      revision: 'integer',
      mac: 'blob',
    },
  },
  {
    name: 'enablements',
    key: ['account', 'environment', 'capability'],
    columns: {
      account: 'integer',
      environment: 'integer',
      capability: 'text',
      processor: 'text',
      enabled_at: 'integer',
      mac: 'blob',
    },
  },
];

const countKeys = (environment: Environment): string =>
  `(select count(*) from api_keys k where k.account = a.number and k.environment = ${environmentNumber(environment)})`;

const ACCOUNT = `select ${macColumns(ACCOUNTS, 'a')},
    ${countKeys('production')} as production_keys, ${countKeys('sandbox')} as sandbox_keys
  from accounts a`;

/** An account as its row was read. */
export interface StoredAccount {
  readonly account: Account;
  /** The state for reports of altered rows. */
  readonly row: Row;
}

export async function findAccount(
  database: Database,
  macKey: DigestKeys,
  id: string,
): Promise<StoredAccount | undefined> {
  const [row] = await database.read(`${ACCOUNT} where a.id = ?`, id);
  return row && { account: toAccount(macKey, row), row };
}

export const listAccounts = async (database: Database, macKey: DigestKeys): Promise<StoredAccount[]> =>
  (await database.read(`${ACCOUNT} order by a.created_at, a.id`)).map((row) => ({
    account: toAccount(macKey, row),
    row,
  }));

/** Returns the number after the greatest one. Another process may take it first; then inserting the account conflicts. */
export async function nextAccountNumber(database: Database): Promise<number> {
  const [row = {}] = await database.read('select coalesce(max(number), 0) + 1 as number from accounts');
  return integer(row, 'number');
}

export const insertAccount = (macKey: DigestKeys, account: AuthenticAccount): Write =>
  write(`insert into accounts (${COLUMNS}) values (${MARKS}) on conflict do nothing`, toValues(macKey, account), 1);

/** Conflicts when an account exists. */
export const insertFirstAccount = (macKey: DigestKeys, account: AuthenticAccount): Write =>
  write(
    `insert into accounts (${COLUMNS}) select ${MARKS} where not exists (select 1 from accounts)
      on conflict do nothing`,
    toValues(macKey, account),
    1,
  );

const UPDATE = `update accounts set name = ?, suspended_at = ?, dual_control = ?, created_at = ?, revision = ?, mac = ?
  where id = ?`;

/** Stores the next revision of an account; conflicts when it was changed since it was read. */
export function updateAccount(
  macKey: DigestKeys,
  old: AuthenticAccount,
  changes: Partial<Pick<AuthenticAccount, 'suspendedAt' | 'dualControl'>>,
): Write {
  const [id = '', _number, ...values] = toValues(macKey, { ...old, ...changes, revision: old.revision + 1 });
  return write(`${UPDATE} and revision = ?`, [...values, id, old.revision], 1);
}

/**
 * Replaces an altered row with a suspended account under dual control. Only the id and the creation time of the row
 * remain, which grant nothing.
 */
export function replaceTamperedAccount(
  macKey: DigestKeys,
  { id, number, createdAt }: TamperedAccount,
  name: string,
  suspendedAt: number,
): Write {
  const account = { id, number, name, suspendedAt, dualControl: true, createdAt, revision: 1 };
  const [, , ...values] = toValues(macKey, account);
  return write(UPDATE, [...values, id], 1);
}

const COLUMNS = 'id, number, name, suspended_at, dual_control, created_at, revision, mac';
const MARKS = '?, ?, ?, ?, ?, ?, ?, ?';

function toValues(
  macKey: DigestKeys,
  account: Pick<AuthenticAccount, 'id' | 'number' | 'name' | 'suspendedAt' | 'dualControl' | 'createdAt' | 'revision'>,
): Value[] {
  const row = {
    id: account.id,
    number: account.number,
    name: account.name,
    suspended_at: account.suspendedAt ?? null,
    dual_control: account.dualControl ? 1 : 0,
    created_at: account.createdAt,
    revision: account.revision,
  };
  return [
    row.id,
    row.number,
    row.name,
    row.suspended_at,
    row.dual_control,
    row.created_at,
    row.revision,
    computeMac(macKey, ACCOUNTS, row),
  ];
}

function toAccount(macKey: DigestKeys, row: Row): Account {
  if (!isRowAuthentic(macKey, ACCOUNTS, row)) return toTamperedAccount(row);
  const suspendedAt = integerOrNull(row, 'suspended_at');
  return {
    isTampered: false,
    id: text(row, 'id'),
    number: integer(row, 'number'),
    name: text(row, 'name'),
    status: statusOf({
      suspended: suspendedAt !== undefined,
      productionKeys: integer(row, 'production_keys'),
      sandboxKeys: integer(row, 'sandbox_keys'),
    }),
    createdAt: integer(row, 'created_at'),
    dualControl: integer(row, 'dual_control') === 1,
    suspendedAt,
    revision: integer(row, 'revision'),
  };
}

/** Reads rows whatever they contain, so that a list never fails because of one. */
const toTamperedAccount = (row: Row): TamperedAccount => ({
  isTampered: true,
  id: sanitizeText(row['id']),
  number: typeof row['number'] === 'number' ? row['number'] : 0,
  name: sanitizeText(row['name']),
  status: 'suspended',
  createdAt: sanitizeTime(row['created_at']),
  dualControl: true,
});

/**
 * Changes nothing. Units that lock the same account are committed one after the other, and each sees what the one before it
 * has written; without the lock two transactions of PostgreSQL do not. Conflicts when there is no such account.
 */
export const lockAccount = (account: string): Write =>
  write('update accounts set revision = revision where id = ?', [account], 1);

/** Changes nothing; conflicts when the account came under dual control since it was read. */
export const assertNoDualControl = (account: string): Write =>
  write('update accounts set dual_control = 0 where id = ? and dual_control = 0', [account], 1);

/** An enablement as its row was read. */
export interface StoredEnablement extends Enablement {
  /** The state for reports of altered rows. */
  readonly row: Row;
}

export const listEnablements = async (
  database: Database,
  macKey: DigestKeys,
  { account, environment }: Tenant,
): Promise<StoredEnablement[]> =>
  (
    await database.read(
      `select ${macColumns(ENABLEMENTS)} from enablements where account = ?account and environment = ?environment`,
      account,
      environment,
    )
  ).map((row) => toEnablement(macKey, row));

/** Returns the processor of the payments of every tenant, without rows that were altered. */
export const listProcessors = async (
  database: Database,
  macKey: DigestKeys,
): Promise<(Tenant & { readonly processor: string })[]> =>
  (await database.read(`select ${macColumns(ENABLEMENTS)} from enablements where capability = 'payments'`))
    .filter((row) => isRowAuthentic(macKey, ENABLEMENTS, row))
    .map((row) => ({
      account: text(row, 'account'),
      environment: text(row, 'environment') as Environment,
      processor: textOrNull(row, 'processor') ?? '',
    }));

/**
 * Returns the names of the processors of an environment, for a diagnosis that has no key: rows that were altered in the
 * database are not recognized.
 */
export const listUnprovenProcessors = async (database: DatabaseReads, environment: Environment): Promise<string[]> =>
  (
    await database.read(
      `select distinct processor from enablements where environment = ?environment and capability = 'payments'`,
      environment,
    )
  ).map(({ processor }) => sanitizeText(processor));

function toEnablement(macKey: DigestKeys, row: Row): StoredEnablement {
  if (!isRowAuthentic(macKey, ENABLEMENTS, row))
    return { capability: sanitizeText(row['capability']), processor: undefined, isTampered: true, row };
  return {
    capability: text(row, 'capability'),
    processor: textOrNull(row, 'processor'),
    isTampered: false,
    row,
  };
}

/** Replaces the previous processor, also in an altered row. */
export function upsertEnablement(
  macKey: DigestKeys,
  { account, environment }: Tenant,
  { capability, processor }: { readonly capability: string; readonly processor: string },
  at: number,
): Write {
  const row = { account, environment, capability, processor, enabled_at: at };
  return write(
    `insert into enablements (account, environment, capability, processor, enabled_at, mac) values (?account, ?environment, ?, ?, ?, ?)
      on conflict (account, environment, capability) do update
        set processor = excluded.processor, enabled_at = excluded.enabled_at, mac = excluded.mac`,
    [...Object.values(row), computeMac(macKey, ENABLEMENTS, row)],
  );
}

/** Conflicts when the processor is not enabled. */
export const removeEnablement = ({ account, environment }: Tenant, capability: string): Write =>
  write(
    'delete from enablements where account = ?account and environment = ?environment and capability = ?',
    [account, environment, capability],
    1,
  );
