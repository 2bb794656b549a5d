import type { Keyring } from '../crypto/keyring.ts';
import { type EncryptionContext, encryptionContext } from '../crypto/seal.ts';
import { sealJson, unsealJson } from '../crypto/sealed-json.ts';
import { DAY, MINUTE } from '../kernel/clock.ts';
import type { Environment, Tenant } from '../kernel/environment.ts';
import { LIMITS } from '../kernel/limits.ts';
import {
  blob,
  type Database,
  integer,
  integerOrNull,
  type Row,
  revision,
  text,
  type Value,
  type Write,
  write,
} from '../storage/database.ts';
import type { SealedColumns } from '../storage/sealed-columns.ts';
import type { Table } from '../storage/table.ts';
import { fromSlot, toSlot } from './slot.ts';

export const TABLES: readonly Table[] = [
  {
    name: 'retention_rules',
    key: ['account', 'environment'],
    columns: {
      account: 'integer',
      environment: 'integer',
      revision: 'integer',
      record: 'blob',
      acts_at: 'integer',
      announced: 'integer',
    },
  },
  {
    name: 'token_uses',
    key: ['account', 'environment', 'slot'],
    columns: { account: 'integer', environment: 'integer', slot: 'blob', used_on: 'integer' },
  },
];

const COLUMNS = 'revision, record, acts_at, announced';
const FIND = `select ${COLUMNS} from retention_rules where account = ?account and environment = ?environment`;
const LIST = 'select account, environment, acts_at from retention_rules order by account, environment';
const LIST_DUE = 'select account, environment from retention_rules where acts_at <= ? order by account, environment';
const INSERT = `insert into retention_rules (account, environment, revision, record, acts_at, announced)
  values (?account, ?environment, 1, ?, ?, ?) on conflict do nothing`;
const UPDATE = `update retention_rules set revision = revision + 1, record = ?, acts_at = ?, announced = ?
  where account = ?account and environment = ?environment and revision = ?`;
const DELETE = 'delete from retention_rules where account = ?account and environment = ?environment and revision = ?';
/** Locks the rule, so that a removal of it waits for the deletion or prevents it. */
const LOCK_ACTING = `update retention_rules set revision = revision
  where account = ?account and environment = ?environment and revision = ? and acts_at = ?`;
/** Locks the rule, so that a deletion waits for the use of a token, or the use for the deletion. */
const LOCK_ANY =
  'update retention_rules set revision = revision where account = ?account and environment = ?environment';
/** Finds the rule while none of these tokens was used since a day. */
const checkUnusedSql = (tokens: number): string => `update retention_rules set revision = revision
  where account = ?account and environment = ?environment
  and not exists (select 1 from token_uses
    where token_uses.account = retention_rules.account and token_uses.environment = retention_rules.environment
    and token_uses.used_on >= ? and token_uses.slot in (${Array(tokens).fill('?').join(', ')}))`;

/** The order of the key, so that a page costs its rows however many tokens there are. */
const LIST_UNUSED = `select slot, created_at, revision from tokens
  where account = ?account and environment = ?environment and created_at < ? and record is not null
  and (created_at, slot) > (?, ?)
  and not exists (select 1 from token_uses
    where token_uses.account = tokens.account and token_uses.environment = tokens.environment
    and token_uses.slot = tokens.slot and token_uses.used_on >= ?)
  order by created_at, slot limit ?`;
const LIST_USES =
  'select slot, used_on from token_uses where account = ?account and environment = ?environment and slot = ?';
const UPSERT_USE = `insert into token_uses (account, environment, slot, used_on) values (?account, ?environment, ?, ?)
  on conflict (account, environment, slot) do update set used_on = excluded.used_on
  where token_uses.used_on < excluded.used_on`;
/** A use is needed while its tenant has a rule and its token exists. */
const CHECK_USES = `select account, environment, slot, case when
    exists (select 1 from retention_rules where retention_rules.account = token_uses.account
      and retention_rules.environment = token_uses.environment)
    and exists (select 1 from tokens where tokens.account = token_uses.account
      and tokens.environment = token_uses.environment and tokens.slot = token_uses.slot and tokens.record is not null)
  then 1 else 0 end as needed
  from token_uses where (account, environment, slot) > (?account, ?environment, ?)
  order by account, environment, slot limit ?`;
const DELETE_USE = 'delete from token_uses where account = ?account and environment = ?environment and slot = ?';

/** A deletion that was announced: tokens that were not used since `cutoff` are deleted from `actsAt` on. */
export interface Announcement {
  /** Unix times in milliseconds. */
  readonly at: number;
  readonly cutoff: number;
  readonly actsAt: number;
  /** Tokens that were due; a lower bound where `isMore`. */
  readonly count: number;
  readonly isMore: boolean;
}

/** The rule by which tokens of a tenant end. */
export interface RetentionRule {
  readonly unusedDays: number;
  /** Uses are recorded since this time: nothing counts as unused for longer. */
  readonly since: number;
  readonly announcement: Announcement | undefined;
}

export interface StoredRule {
  /** Undefined when the row was altered in the database. */
  readonly rule: RetentionRule | undefined;
  readonly revision: number;
}

/** A rule with its announcement, as it was when the tokens to delete were selected. */
export interface ActingRule extends RetentionRule {
  readonly announcement: Announcement;
  readonly revision: number;
}

/** The columns in clear are bound to the record, so that nothing but the service sets the time of a deletion. */
function ruleContext(
  { environment, account }: Tenant,
  number: number,
  actsAt: number | null,
  announced: number | null,
): EncryptionContext {
  const columns = [String(number), String(actsAt), String(announced)];
  return encryptionContext(environment, account, 'retention-rules', ...columns, 'record');
}

const toTenant = (row: Row): Tenant => ({
  account: text(row, 'account'),
  environment: text(row, 'environment') as Environment,
});

type ClearColumns = readonly [actsAt: number | null, announced: number | null];

const toClearColumns = (row: Row): ClearColumns => [
  integerOrNull(row, 'acts_at') ?? null,
  integerOrNull(row, 'announced') ?? null,
];

/** One row at most for each tenant. */
export const SEALED_COLUMNS: readonly SealedColumns[] = [
  {
    table: 'retention_rules',
    purpose: 'tokens',
    scope: 'tenant',
    key: ['environment'],
    bound: ['revision', 'acts_at', 'announced'],
    contexts: { record: (row) => ruleContext(toTenant(row), revision(row), ...toClearColumns(row)) },
  },
];

/** Undefined without a rule. */
export async function findRule(database: Database, keyring: Keyring, tenant: Tenant): Promise<StoredRule | undefined> {
  const [row] = await database.read(FIND, tenant.account, tenant.environment);
  if (row === undefined) return undefined;
  const number = revision(row);
  const context = ruleContext(tenant, number, ...toClearColumns(row));
  const rule = await unsealJson<RetentionRule>(keyring, tenant, 'tokens', context, blob(row, 'record'));
  return { rule, revision: number };
}

/** Replaces revision `old`, or inserts the first; conflicts when another request was faster. */
export async function upsertRule(
  keyring: Keyring,
  tenant: Tenant,
  rule: RetentionRule,
  old: number | undefined,
): Promise<Write> {
  const { actsAt = null, count = null } = rule.announcement ?? {};
  const context = ruleContext(tenant, (old ?? 0) + 1, actsAt, count);
  const record = await sealJson(keyring, tenant, 'tokens', context, rule);
  const scope: Value[] = [tenant.account, tenant.environment];
  if (old === undefined) return write(INSERT, [...scope, record, actsAt, count], 1);
  return write(UPDATE, [record, actsAt, count, ...scope, old], 1);
}

export const deleteRule = ({ account, environment }: Tenant, old: number): Write =>
  write(DELETE, [account, environment, old], 1);

/**
 * Conflicts when the rule was changed or removed since it was read, or when one of the tokens was used since the cutoff
 * of its announcement. The second statement sees what was committed while the first one waited for its lock: PostgreSQL
 * reads other tables as they were when a statement began.
 */
export function lockUnusedTokens(
  { account, environment }: Tenant,
  { revision: seen, announcement }: ActingRule,
  tokens: readonly string[],
): Write[] {
  const slots = tokens.map((token) => toSlot(token) ?? new Uint8Array(0));
  return [
    write(LOCK_ACTING, [account, environment, seen, announcement.actsAt], 1),
    write(checkUnusedSql(slots.length), [account, environment, toDay(announcement.cutoff), ...slots], 1),
  ];
}

/** Two clocks may differ by this without being distrusted, and rules are cached for some seconds. */
const AHEAD_MS = 2 * LIMITS.clockToleranceMs + MINUTE;

/** True when another node may delete tokens now by a rule that acts at this time. */
export const isDeletionNear = (actsAt: number, now: number): boolean => actsAt <= now + AHEAD_MS;

/** The tenant of a rule, and when it deletes tokens; undefined while no deletion is announced. */
interface ListedRule {
  readonly tenant: Tenant;
  readonly actsAt: number | undefined;
}

/** Returns all rules, without their records. A time that was altered in the database is as it is there; one that is no time deletes nothing. */
export const listRules = async (database: Database): Promise<ListedRule[]> =>
  (await database.read(LIST)).map((row) => {
    const { acts_at: at } = row;
    const isTime = at !== null && Number.isSafeInteger(Number(at));
    return { tenant: toTenant(row), actsAt: isTime ? Number(at) : undefined };
  });

/** Returns the tenants that have a rule. */
export const listRuledTenants = async (database: Database): Promise<Tenant[]> =>
  (await listRules(database)).map(({ tenant }) => tenant);

/** Returns the tenants of which tokens are to be deleted at this time. */
export const listDueTenants = async (database: Database, now: number): Promise<Tenant[]> =>
  (await database.read(LIST_DUE, now)).map(toTenant);

/** A token without a use, as a position in the order of `listUnusedTokens`. */
export interface UnusedToken {
  readonly token: string;
  readonly createdAt: number;
  /** The revision at which it was found unused: each change of a token increments it. */
  readonly revision: number;
}

/** Returns tokens that were created before `cutoff` and not used since, behind a position, oldest first. */
export async function listUnusedTokens(
  database: Database,
  { account, environment }: Tenant,
  cutoff: number,
  after: UnusedToken | undefined,
  limit: number,
): Promise<UnusedToken[]> {
  const slot = after === undefined ? new Uint8Array(0) : (toSlot(after.token) ?? new Uint8Array(0));
  const bounds = [cutoff, after?.createdAt ?? -1, slot, toDay(cutoff)];
  const rows = await database.read(LIST_UNUSED, account, environment, ...bounds, limit);
  return rows.map((row) => ({
    token: fromSlot(blob(row, 'slot')),
    createdAt: integer(row, 'created_at'),
    revision: integer(row, 'revision'),
  }));
}

/** Returns the day of the last recorded use as the time at which it began; undefined without one. */
export async function findLastUse(
  database: Database,
  { account, environment }: Tenant,
  token: string,
): Promise<number | undefined> {
  const [row] = await database.read(LIST_USES, account, environment, toSlot(token) ?? new Uint8Array(0));
  return row === undefined ? undefined : integer(row, 'used_on') * DAY;
}

/** True when a use since `cutoff` is recorded, by days as `listUnusedTokens` compares them. */
export async function isUsedSince(database: Database, tenant: Tenant, token: string, cutoff: number): Promise<boolean> {
  const lastUsedAt = await findLastUse(database, tenant, token);
  return lastUsedAt !== undefined && toDay(lastUsedAt) >= toDay(cutoff);
}

/** Records the day of the use of tokens. */
export const upsertUses = ({ account, environment }: Tenant, tokens: readonly string[], day: number): Write => ({
  sql: UPSERT_USE,
  rows: tokens.flatMap((token) => {
    const slot = toSlot(token);
    return slot === undefined ? [] : [[account, environment, slot, day]];
  }),
});

/** Records the same in one order of commits with a deletion by the rule: it has come before as a whole, or finds the uses. */
export function upsertUsesInOrder(tenant: Tenant, tokens: readonly string[], day: number): Write[] {
  const lock: Write = { sql: LOCK_ANY, rows: [[tenant.account, tenant.environment]] };
  // Sorted, so that two processes do not wait for rows of each other.
  return [lock, upsertUses(tenant, [...new Set(tokens)].sort(), day)];
}

/** The key of a use, as a position in the order of all uses. */
export type UsePosition = readonly [account: string, environment: string, slot: Uint8Array];

const FIRST_USE: UsePosition = ['', 'production', new Uint8Array(0)];

/** The uses behind a position that nothing needs any more, and the position that was reached; undefined at the end. */
interface ObsoleteUses {
  readonly keys: readonly UsePosition[];
  readonly reached: UsePosition | undefined;
}

/** Checks a bounded number of uses. */
export async function findObsoleteUses(database: Database, after = FIRST_USE): Promise<ObsoleteUses> {
  const rows = await database.read(CHECK_USES, ...after, LIMITS.rowsPerSweep);
  const keyOf = (row: Row): UsePosition => [text(row, 'account'), text(row, 'environment'), blob(row, 'slot')];
  const last = rows.length < LIMITS.rowsPerSweep ? undefined : rows.at(-1);
  return { keys: rows.filter((row) => integer(row, 'needed') === 0).map(keyOf), reached: last && keyOf(last) };
}

export const deleteUses = (keys: readonly UsePosition[]): Write => ({ sql: DELETE_USE, rows: keys });

/** Returns the number of the day of a time, in UTC. */
export const toDay = (time: number): number => Math.floor(time / DAY);
