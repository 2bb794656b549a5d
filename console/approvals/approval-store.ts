import type { Keyring } from '../../src/crypto/keyring.ts';
import { type EncryptionContext, encryptionContext } from '../../src/crypto/seal.ts';
import { sealJson, unsealJson } from '../../src/crypto/sealed-json.ts';
import { DAY } from '../../src/kernel/clock.ts';
import type { Environment } from '../../src/kernel/environment.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import {
  blob,
  blobOrNull,
  type Database,
  integer,
  type Row,
  text,
  textOrNull,
  type Write,
  write,
} from '../../src/storage/database.ts';
import { yieldBeforeScan } from '../../src/storage/pagination.ts';
import type { SealedColumns } from '../../src/storage/sealed-columns.ts';
import type { Table } from '../../src/storage/table.ts';
import { unsealRows } from '../people/sealing.ts';
import { type Approval, type ApprovalView, isUnfinished, type RequestedCall, truncateSummary } from './approval.ts';
import type { ApprovalStatus } from './approval-status.ts';

export const TABLES: readonly Table[] = [
  {
    name: 'approvals',
    key: ['account', 'environment', 'id'],
    columns: {
      account: 'integer',
      environment: 'integer',
      id: 'text',
      status: 'text',
      requested_by: 'text',
      decided_by: 'text',
      record: 'blob',
      created_at: 'integer',
      expires_at: 'integer',
      call: 'blob',
    },
  },
];

/** Without the call, which may be long and is needed only for the execution. */
const COLUMNS = 'account, environment, id, status, requested_by, decided_by, record, created_at, expires_at';
const OPEN = "status in ('waiting', 'approved') and expires_at > ?";
/** The columns that a list reads of each row before it reads any record. */
const LIST_COLUMNS = 'environment, id, octet_length(record) as bytes';
const LIST_OPEN = `select ${LIST_COLUMNS} from approvals where account = ?account and ${OPEN}`;
const LIST_ENDED = `select ${LIST_COLUMNS} from approvals where account = ?account and not (${OPEN})
  order by created_at desc, id desc limit ${LIMITS.endedApprovalsListed}`;
const FIND_BY_KEY = `select ${COLUMNS} from approvals where account = ?account and environment = ?environment and id = ?`;
const FIND = `select ${COLUMNS} from approvals where account = ?account and id = ?`;
const LIST_UNEXPIRED = `select ${COLUMNS} from approvals where account = ?account and environment = ?environment
  and status in ('waiting', 'done') and expires_at > ? order by created_at desc, id desc limit ${LIMITS.approvalsPerDay}`;
const LIST_PENDING_BY_REQUESTER = `select ${COLUMNS} from approvals where account = ?account and ${OPEN}
  and requested_by = ?`;
const FIND_CALL = 'select call from approvals where account = ?account and environment = ?environment and id = ?';
const WAITING = `from approvals where account = ?account and environment = ?environment and ${OPEN}`;
const WAITING_OF_REQUESTER = `${WAITING} and requested_by = ?`;
const BYTES = 'coalesce(sum(octet_length(call) + octet_length(record)), 0)';
const INSERT = `insert into approvals (${COLUMNS}, call) select ?account, ?environment, ?, ?, ?, ?, ?, ?, ?, ?
  where (select count(*) ${WAITING}) < ${LIMITS.pendingApprovals}
    and (select count(*) ${WAITING_OF_REQUESTER}) < ${LIMITS.pendingApprovalsPerRequester}
    and (select ${BYTES} ${WAITING}) < ${LIMITS.pendingApprovalBytes}
    and (select ${BYTES} ${WAITING_OF_REQUESTER}) < ${LIMITS.pendingApprovalBytesPerRequester}
    and (select count(*) from approvals where account = ?account and environment = ?environment and created_at > ?)
      < ${LIMITS.approvalsPerDay}`;
const COUNT_WAITING_OF_REQUESTER = `select count(*) as waiting, ${BYTES} as bytes ${WAITING_OF_REQUESTER}`;
const COUNT_RECENT = `select count(*) as asked from approvals
  where account = ?account and environment = ?environment and created_at > ?`;
const updateWith = (more: string): string => `update approvals set status = ?, decided_by = ?, record = ?${more}
  where account = ?account and environment = ?environment and id = ? and status = ?`;
const UPDATE = updateWith('');
const END = updateWith(', call = null');
const DELETE =
  'delete from approvals where account = ?account and environment = ?environment and id = ? and status = ?';
const LIST_LAPSED = `select ${COLUMNS} from approvals where status in ('waiting', 'approved') and expires_at <= ? limit ?`;
const LIST_OLD = 'select account, environment, id, status from approvals where expires_at <= ? limit ?';

/** The sealed part of a record. */
type Sealed = Pick<Approval, 'requester' | 'operator' | 'decider' | 'action' | 'summary'>;
type Bound = Omit<Approval, keyof Sealed>;

/** All columns in clear: write access to the database approves nothing. */
const recordContext = ({
  account,
  environment,
  id,
  status,
  requestedBy,
  decidedBy,
  createdAt,
  expiresAt,
}: Bound): EncryptionContext =>
  encryptionContext(
    environment,
    account,
    'approvals',
    id,
    'record',
    status,
    requestedBy,
    decidedBy ?? '',
    String(createdAt),
    String(expiresAt),
  );

/** Written once, whatever status the approval gets; its encryption context is that of this approval alone. */
const callContext = ({ account, environment, id, requestedBy, createdAt, expiresAt }: Bound): EncryptionContext =>
  encryptionContext(environment, account, 'approvals', id, 'call', requestedBy, String(createdAt), String(expiresAt));

/**
 * Returns the pending ones and the newest of the others, the newest first; without those that were altered in the
 * database.
 */
export async function listApprovals(
  database: Database,
  keyring: Keyring,
  account: string,
  now: number,
): Promise<ApprovalView[]> {
  const found = [...(await database.read(LIST_OPEN, account, now)), ...(await database.read(LIST_ENDED, account, now))];
  const approvals = new Map<string, ApprovalView>();
  for (const some of toBatches(found)) {
    await yieldBeforeScan();
    const read = some.map((row) => database.read(FIND_BY_KEY, account, text(row, 'environment'), text(row, 'id')));
    for (const { summary, ...rest } of await unsealApprovals(keyring, (await Promise.all(read)).flat())) {
      const first = truncateSummary(summary);
      approvals.set(rest.id, { ...rest, firstLines: first, moreLines: summary.length - first.length });
    }
  }
  return [...approvals.values()].sort((one, other) => other.createdAt - one.createdAt || (one.id < other.id ? 1 : -1));
}

/** Summaries may be long, so few of them are in memory concurrently, whatever the length of the list. */
function toBatches(found: readonly Row[]): Row[][] {
  const portions: Row[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const row of found) {
    bytes += integer(row, 'bytes');
    if (bytes <= LIMITS.smallBodyBytes) portions.at(-1)?.push(row);
    else {
      portions.push([row]);
      bytes = integer(row, 'bytes');
    }
  }
  return portions;
}

export const findApproval = async (
  database: Database,
  keyring: Keyring,
  account: string,
  id: string,
): Promise<Approval | undefined> => (await unsealApprovals(keyring, await database.read(FIND, account, id)))[0];

/**
 * Returns the requests that wait or were executed and have not expired, the newest first; without those that were altered in
 * the database.
 */
export const listOperatorRequests = async (
  database: Database,
  keyring: Keyring,
  { account, environment }: Pick<Approval, 'account' | 'environment'>,
  now: number,
): Promise<Approval[]> =>
  (await unsealApprovals(keyring, await database.read(LIST_UNEXPIRED, account, environment, now))).filter(
    ({ operator }) => operator !== undefined,
  );

/** Returns the pending requests of one requester, without those that were altered in the database. */
export const listPendingByRequester = async (
  database: Database,
  keyring: Keyring,
  { account, person }: { readonly account: string; readonly person: string },
  now: number,
): Promise<Approval[]> =>
  unsealApprovals(keyring, await database.read(LIST_PENDING_BY_REQUESTER, account, now, person));

/** Returns the call; undefined when the approval has ended, or was altered in the database. */
export async function findCall(
  database: Database,
  keyring: Keyring,
  approval: Approval,
): Promise<RequestedCall | undefined> {
  const { account, environment, id } = approval;
  const [row] = await database.read(FIND_CALL, account, environment, id);
  const sealRecord = row && blobOrNull(row, 'call');
  return sealRecord && unsealJson<RequestedCall>(keyring, approval, 'requests', callContext(approval), sealRecord);
}

/** The key of a row, whatever its content. */
type RowKey = Pick<Approval, 'account' | 'id'> & { readonly environment: string; readonly status: string };

const toRowKey = (row: Row): RowKey => ({
  account: text(row, 'account'),
  environment: text(row, 'environment'),
  id: text(row, 'id'),
  status: text(row, 'status'),
});

/** Pending approvals that have expired; those that were altered in the database are listed separately. */
export async function listLapsedApprovals(
  database: Database,
  keyring: Keyring,
  now: number,
  limit: number,
): Promise<{ lapsed: Approval[]; tampered: RowKey[] }> {
  const rows = await database.read(LIST_LAPSED, now, limit);
  const lapsed = await unsealApprovals(keyring, rows);
  const isGenuine = (key: RowKey): boolean =>
    lapsed.some(
      ({ account, environment, id }) => account === key.account && environment === key.environment && id === key.id,
    );
  return { lapsed, tampered: rows.map(toRowKey).filter((key) => !isGenuine(key)) };
}

/**
 * Conflicts at the limit of pending requests of the account or of the requester, of their size, or of requests in the last 24
 * hours.
 */
export async function insertApproval(keyring: Keyring, approval: Approval, asked: RequestedCall): Promise<Write> {
  const { account, environment, id, status, requestedBy, createdAt, expiresAt } = approval;
  const record = await sealRecord(keyring, approval);
  const call = await sealJson(keyring, approval, 'requests', callContext(approval), asked);
  const values = [account, environment, id, status, requestedBy, null, record, createdAt, expiresAt, call];
  const waiting = [account, environment, createdAt];
  const ofRequester = [...waiting, requestedBy];
  const limits = [...waiting, ...ofRequester, ...waiting, ...ofRequester, account, environment, createdAt - DAY];
  return write(INSERT, [...values, ...limits], 1);
}

/** True when a limit of pending requests of the requester, or of their size, is reached. */
export async function isRequesterLimitReached(
  database: Database,
  { account, environment, createdAt, requestedBy }: Approval,
): Promise<boolean> {
  const [row] = await database.read(COUNT_WAITING_OF_REQUESTER, account, environment, createdAt, requestedBy);
  if (row === undefined) return false;
  const isFull = integer(row, 'bytes') >= LIMITS.pendingApprovalBytesPerRequester;
  return isFull || integer(row, 'waiting') >= LIMITS.pendingApprovalsPerRequester;
}

/** True when the limit of requests in 24 hours is reached. */
export async function isDailyLimitReached(
  database: Database,
  { account, environment, createdAt }: Approval,
): Promise<boolean> {
  const [row] = await database.read(COUNT_RECENT, account, environment, createdAt - DAY);
  return row !== undefined && integer(row, 'asked') >= LIMITS.approvalsPerDay;
}

/**
 * Conflicts when the status has changed. The call of an approval that has ended is deleted: it may contain a private
 * key.
 */
export async function updateApproval(keyring: Keyring, before: Approval, after: Approval): Promise<Write> {
  const { account, environment, id } = before;
  const values = [after.status, after.decidedBy ?? null, await sealRecord(keyring, after)];
  return write(isUnfinished(after) ? UPDATE : END, [...values, account, environment, id, before.status], 1);
}

/** Conflicts as `updateApproval`. */
export const deleteApproval = ({ account, environment, id, status }: Approval): Write =>
  write(DELETE, [account, environment, id, status], 1);

/** Deletes the row with its call, unread. Conflicts when another sweep deleted it, which then recorded it. */
export const deleteTamperedApproval = ({ account, environment, id, status }: RowKey): Write =>
  write(DELETE, [account, environment, id, status], 1);

/** Deletes approvals that ended before this time; returns how many. */
export async function purgeApprovals(database: Database, before: number, limit: number): Promise<number> {
  const old = await database.read(LIST_OLD, before, limit);
  if (old.length === 0) return 0;
  const rows = old.map((row) => ['account', 'environment', 'id', 'status'].map((column) => text(row, column)));
  await database.commit({ writes: [{ sql: DELETE, rows }] });
  return rows.length;
}

async function sealRecord(keyring: Keyring, approval: Approval): Promise<Uint8Array> {
  const { requester, operator, decider, action, summary } = approval;
  const record: Sealed = { requester, operator, decider, action, summary };
  return sealJson(keyring, approval, 'requests', recordContext(approval), record);
}

const toBound = (row: Row): Bound => ({
  account: text(row, 'account'),
  environment: text(row, 'environment') as Environment,
  id: text(row, 'id'),
  status: text(row, 'status') as ApprovalStatus,
  requestedBy: text(row, 'requested_by'),
  decidedBy: textOrNull(row, 'decided_by'),
  createdAt: integer(row, 'created_at'),
  expiresAt: integer(row, 'expires_at'),
});

export const SEALED_COLUMNS: readonly SealedColumns[] = [
  {
    table: 'approvals',
    purpose: 'requests',
    scope: 'tenant',
    key: ['id'],
    bound: ['status', 'requested_by', 'decided_by', 'created_at', 'expires_at'],
    contexts: { record: (row) => recordContext(toBound(row)), call: (row) => callContext(toBound(row)) },
  },
];

function unsealApprovals(keyring: Keyring, rows: readonly Row[]): Promise<Approval[]> {
  let bytes = 0;
  return unsealRows(rows, async (row) => {
    const bound = toBound(row);
    const sealed = blob(row, 'record');
    bytes += sealed.length;
    // Other requests are served between large ones.
    if (bytes > LIMITS.smallBodyBytes) {
      bytes = 0;
      await yieldBeforeScan();
    }
    const record = await unsealJson<Sealed>(keyring, bound, 'requests', recordContext(bound), sealed);
    return record && { ...bound, ...record };
  });
}
