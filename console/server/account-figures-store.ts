import { listProcessors } from '../../src/accounts/account-store.ts';
import type { KeyProgress } from '../../src/accounts/api-key-store.ts';
import type { Keyring } from '../../src/crypto/keyring.ts';
import { ENDPOINTS } from '../../src/http/endpoints.ts';
import { successCounter } from '../../src/http/request-counters.ts';
import type { Environment } from '../../src/kernel/environment.ts';
import { type Database, integer, type Row, text } from '../../src/storage/database.ts';
import { rowMacKey } from '../../src/storage/mac-table.ts';

/** Figures of all accounts for operators, read in a fixed number of statements. */

/** Counts by account, or by account and environment. */
type Counts = ReadonlyMap<string, number>;

export interface AccountFigures {
  readonly people: Counts;
  readonly openRequests: Counts;
  /** Accounts with a successful call in production, other than to read the account. */
  readonly usedInProduction: ReadonlySet<string>;
  /** Keys that work now, by `tenantName`. */
  readonly keys: Counts;
  /** The enabled processor, by `tenantName`. */
  readonly processors: ReadonlyMap<string, string>;
}

const PEOPLE = 'select account, count(*) as number from memberships where account <> 0 group by account';
const OPEN_REQUESTS = `select account, count(*) as number from activation_requests where status = 'requested'
  group by account`;
const KEYS = `select account, environment, count(*) as number from api_keys
  where revoked_at is null and (expires_at is null or expires_at > ?) group by account, environment`;
/** Calls that use the vault, payments or the proxy; reading the account only tests a key. */
const REAL_CALLS = ENDPOINTS.filter(({ tag }) => tag !== 'Account').map(({ operationId }) =>
  successCounter(operationId),
);
const IS_REAL_CALL = `name in (${REAL_CALLS.map(() => '?').join(', ')})`;
const USED = `select distinct account from api_keys where environment = 0 and last_used_at is not null
  and exists (select 1 from statistics where statistics.account = api_keys.account and statistics.environment = 0 and ${IS_REAL_CALL})`;
const FIND_COUNTER =
  'select 1 as found from statistics where account = ?account and environment = ?environment and name = ? limit 1';
const FIND_REAL_CALL = `select 1 as found from statistics where account = ?account and environment = 0 and ${IS_REAL_CALL} limit 1`;

export const tenantName = (account: string, environment: Environment): string => `${environment}/${account}`;

export async function loadAccountFigures(database: Database, keyring: Keyring, now: number): Promise<AccountFigures> {
  const [people, requests, used, keys, processors] = await Promise.all([
    database.read(PEOPLE),
    database.read(OPEN_REQUESTS),
    database.read(USED, ...REAL_CALLS),
    database.read(KEYS, now),
    listProcessors(database, await rowMacKey(keyring)),
  ]);
  return {
    people: toCounts(people, accountOf),
    openRequests: toCounts(requests, accountOf),
    usedInProduction: new Set(used.map(accountOf)),
    keys: toCounts(keys, tenantNameOf),
    processors: new Map(
      processors.map(({ account, environment, processor }) => [tenantName(account, environment), processor]),
    ),
  };
}

/** True when a counter of this name exists. */
export const hasCounted = async (
  database: Database,
  account: string,
  environment: Environment,
  name: string,
): Promise<boolean> => (await database.read(FIND_COUNTER, account, environment, name)).length > 0;

/**
 * True when the account has used the vault, payments or the proxy in production. Counters are stored for more than a year.
 * `keys`: the keys of the account, because without a used one no counter has to be read.
 */
export async function isUsedInProduction(
  database: Database,
  account: string,
  keys: ReadonlyMap<Environment, KeyProgress>,
): Promise<boolean> {
  if (keys.get('production')?.isUsed !== true) return false;
  return (await database.read(FIND_REAL_CALL, account, ...REAL_CALLS)).length > 0;
}

const accountOf = (row: Row): string => text(row, 'account');
const tenantNameOf = (row: Row): string => tenantName(text(row, 'account'), text(row, 'environment') as Environment);

const toCounts = (rows: readonly Row[], nameOf: (row: Row) => string): Counts =>
  new Map(rows.map((row) => [nameOf(row), integer(row, 'number')]));
