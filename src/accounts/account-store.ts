import type { Environment, Tenant } from '../kernel/environment.ts';
import {
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

const keysIn = (environment: Environment): string =>
  `(select count(*) from api_keys k where k.account = a.id and k.environment = '${environment}')`;

const ACCOUNT = `select a.id, a.name, a.suspended_at, a.created_at, a.production_by_two,
    ${keysIn('production')} as production_keys, ${keysIn('sandbox')} as sandbox_keys
  from accounts a`;
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
