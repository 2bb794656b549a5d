import { setImmediate } from 'node:timers/promises';
import type { Keyring } from '../crypto/keyring.ts';
import { type Place, placeOf } from '../crypto/seal.ts';
import { openJson, sealJson } from '../crypto/sealed-json.ts';
import { DAY } from '../kernel/clock.ts';
import type { Environment } from '../kernel/environment.ts';
import { LIMITS } from '../kernel/limits.ts';
import { blob, type Database, integer, type Row, text, textOrNull, type Write, write } from '../storage/database.ts';
import type { Approval, ApprovalStatus } from './approval.ts';

const COLUMNS = 'account, environment, id, status, requested_by, decided_by, record, created_at, expires_at';
const OPEN = "status in ('waiting', 'approved') and expires_at > ?";
const OPEN_OF = `select ${COLUMNS} from approvals where account = ? and ${OPEN}`;
const ENDED_OF = `select ${COLUMNS} from approvals where account = ? and not (${OPEN})
  order by created_at desc, id desc limit ${LIMITS.endedApprovalsListed}`;
const FIND = `select ${COLUMNS} from approvals where account = ? and id = ?`;
const INSERT = `insert into approvals (${COLUMNS}) select ?, ?, ?, ?, ?, ?, ?, ?, ?
  where (select count(*) from approvals where account = ? and environment = ? and ${OPEN}) < ${LIMITS.waitingApprovals}
    and (select count(*) from approvals where account = ? and environment = ? and created_at > ?)
      < ${LIMITS.approvalsPerDay}`;
const UPDATE = `update approvals set status = ?, decided_by = ?, record = ?
  where account = ? and environment = ? and id = ? and status = ?`;
const DELETE = 'delete from approvals where account = ? and environment = ? and id = ? and status = ?';
const VOID = `select ${COLUMNS} from approvals where status in ('waiting', 'approved') and expires_at <= ? limit ?`;
const OLD = 'select account, environment, id, status from approvals where expires_at <= ? limit ?';

/** What a record holds sealed. */
type Sealed = Pick<Approval, 'requester' | 'decider' | 'action' | 'summary' | 'call'>;
type Bound = Omit<Approval, keyof Sealed>;

/** Everything in clear: nobody approves anything by writing to the database. */
const placeOfRecord = ({
  account,
  environment,
  id,
  status,
  requestedBy,
  decidedBy,
  createdAt,
  expiresAt,
}: Bound): Place =>
  placeOf(
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

/** All that are open and the newest of the others, the newest first; without those that were changed in the database. */
export async function approvalsOf(
  database: Database,
  keyring: Keyring,
  account: string,
  now: number,
): Promise<Approval[]> {
  const rows = [...(await database.read(OPEN_OF, account, now)), ...(await database.read(ENDED_OF, account, now))];
  const approvals = await readable(keyring, rows);
  return approvals.sort((one, other) => other.createdAt - one.createdAt || (one.id < other.id ? 1 : -1));
}

export const findApproval = async (
  database: Database,
  keyring: Keyring,
  account: string,
  id: string,
): Promise<Approval | undefined> => (await readable(keyring, await database.read(FIND, account, id)))[0];

/** Those that ended without anybody ending them. */
export const voidApprovals = async (
  database: Database,
  keyring: Keyring,
  now: number,
  limit: number,
): Promise<Approval[]> => readable(keyring, await database.read(VOID, now, limit));

/** Conflicts when as many are open as may be, or were asked for of late. */
export async function insertApproval(keyring: Keyring, approval: Approval): Promise<Write> {
  const { account, environment, id, status, requestedBy, createdAt, expiresAt } = approval;
  const record = await sealed(keyring, approval);
  const values = [account, environment, id, status, requestedBy, null, record, createdAt, expiresAt];
  const recent = [account, environment, createdAt - DAY];
  return write(INSERT, [...values, account, environment, createdAt, ...recent], 1);
}

/** Conflicts when its status is another by now. */
export async function updateApproval(keyring: Keyring, before: Approval, after: Approval): Promise<Write> {
  const { account, environment, id } = before;
  const values = [after.status, after.decidedBy ?? null, await sealed(keyring, after)];
  return write(UPDATE, [...values, account, environment, id, before.status], 1);
}

/** Conflicts as `updateApproval`. */
export const deleteApproval = ({ account, environment, id, status }: Approval): Write =>
  write(DELETE, [account, environment, id, status], 1);

/** Removes those that ended before, whatever they were; returns how many. */
export async function removeApprovals(database: Database, before: number, limit: number): Promise<number> {
  const old = await database.read(OLD, before, limit);
  if (old.length === 0) return 0;
  const rows = old.map((row) => ['account', 'environment', 'id', 'status'].map((column) => text(row, column)));
  await database.commit({ writes: [{ sql: DELETE, rows }] });
  return rows.length;
}

async function sealed(keyring: Keyring, approval: Approval): Promise<Uint8Array> {
  const { requester, decider, action, summary, call } = approval;
  const record: Sealed = { requester, decider, action, summary, call };
  return sealJson(keyring, approval, 'requests', placeOfRecord(approval), record);
}

async function readable(keyring: Keyring, rows: readonly Row[]): Promise<Approval[]> {
  const approvals: Approval[] = [];
  let bytes = 0;
  for (const row of rows) {
    const bound: Bound = {
      account: text(row, 'account'),
      environment: text(row, 'environment') as Environment,
      id: text(row, 'id'),
      status: text(row, 'status') as ApprovalStatus,
      requestedBy: text(row, 'requested_by'),
      decidedBy: textOrNull(row, 'decided_by'),
      createdAt: integer(row, 'created_at'),
      expiresAt: integer(row, 'expires_at'),
    };
    const sealedRecord = blob(row, 'record');
    bytes += sealedRecord.length;
    // Other requests go on between large ones.
    if (bytes > LIMITS.smallBodyBytes) {
      bytes = 0;
      await setImmediate();
    }
    const record = await openJson<Sealed>(keyring, bound, 'requests', placeOfRecord(bound), sealedRecord);
    if (record !== undefined) approvals.push({ ...bound, ...record });
  }
  return approvals;
}
