import type { Environment, Tenant } from '../kernel/environment.ts';
import { type Database, integer, type Row, text, type Write, write } from '../storage/database.ts';
import type { Table } from '../storage/table.ts';
import { OPERATOR_CHANGES, type OperatorChange } from './account.ts';

export const TABLES: readonly Table[] = [
  {
    name: 'account_notices',
    key: ['account', 'environment', 'kind'],
    columns: { account: 'integer', environment: 'integer', kind: 'text', at: 'integer' },
  },
];

/** The last change of its kind by an operator. The audit log contains all changes. */
interface OperatorNotice {
  readonly action: OperatorChange;
  readonly at: number;
}

/** Recorded when it is decided whether changes in production need a second person. */
const DUAL_CONTROL_DECIDED = 'dual-control.decided';

const LIST =
  'select kind, at from account_notices where account = ?account and environment = ?environment and at >= ? order by at desc';
const LIST_RECENT = 'select account, environment, kind, at from account_notices where at >= ? order by at desc limit ?';
const FIND = 'select at from account_notices where account = ?account and environment = ?environment and kind = ?';
const UPSERT = `insert into account_notices (account, environment, kind, at) values (?account, ?environment, ?, ?)
  on conflict (account, environment, kind) do update set at = excluded.at`;

export const upsertOperatorNotice = (tenant: Tenant, action: OperatorChange, at: number): Write =>
  upsertNotice(tenant.account, tenant.environment, action, at);

/** The newest first. */
export async function listOperatorNotices(
  database: Database,
  { account, environment }: Tenant,
  since: number,
): Promise<OperatorNotice[]> {
  const rows = await database.read(LIST, account, environment, since);
  return rows.map(toOperatorNotice).filter((notice) => notice !== undefined);
}

/** Returns the changes since this time of all accounts, the newest first. */
export async function listRecentOperatorNotices(
  database: Database,
  since: number,
  limit: number,
): Promise<(OperatorNotice & Tenant)[]> {
  return (await database.read(LIST_RECENT, since, limit)).flatMap((row) => {
    const notice = toOperatorNotice(row);
    const tenant = { account: text(row, 'account'), environment: text(row, 'environment') as Environment };
    return notice === undefined ? [] : [{ ...notice, ...tenant }];
  });
}

function toOperatorNotice(row: Row): OperatorNotice | undefined {
  const kind = text(row, 'kind');
  const action = OPERATOR_CHANGES.find((each) => each === kind);
  return action && { action, at: integer(row, 'at') };
}

export const upsertDualControlDecision = (account: string, at: number): Write =>
  upsertNotice(account, '', DUAL_CONTROL_DECIDED, at);

export const isDualControlDecided = async (database: Database, account: string): Promise<boolean> =>
  (await database.read(FIND, account, '', DUAL_CONTROL_DECIDED)).length > 0;

const upsertNotice = (account: string, environment: Environment | '', kind: string, at: number): Write =>
  write(UPSERT, [account, environment, kind, at]);
