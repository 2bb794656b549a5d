import { listProcessors } from '../../src/accounts/account-store.ts';
import type { Keyring } from '../../src/crypto/keyring.ts';
import type { Environment } from '../../src/kernel/environment.ts';
import { type Database, integer, type Row, text } from '../../src/storage/database.ts';
import { rowMacKey } from '../../src/storage/mac-table.ts';

/** Figures of all accounts for operators, read in a fixed number of statements. */

/** Counts by account, or by account and environment. */
type Counts = ReadonlyMap<string, number>;

export interface AccountFigures {
  readonly people: Counts;
  readonly openRequests: Counts;
  /** Accounts with a production key that was ever used. */
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
const USED = 'select distinct account from api_keys where environment = 0 and last_used_at is not null';
const FIND_COUNTER =
  'select 1 as found from statistics where account = ?account and environment = ?environment and name = ? limit 1';

export const tenantName = (account: string, environment: Environment): string => `${environment}/${account}`;

export async function loadAccountFigures(database: Database, keyring: Keyring, now: number): Promise<AccountFigures> {
  const [people, requests, used, keys, processors] = await Promise.all([
    database.read(PEOPLE),
    database.read(OPEN_REQUESTS),
    database.read(USED),
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

const accountOf = (row: Row): string => text(row, 'account');
const tenantNameOf = (row: Row): string => tenantName(text(row, 'account'), text(row, 'environment') as Environment);

const toCounts = (rows: readonly Row[], nameOf: (row: Row) => string): Counts =>
  new Map(rows.map((row) => [nameOf(row), integer(row, 'number')]));
