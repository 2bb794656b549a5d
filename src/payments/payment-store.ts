import type { Keyring } from '../crypto/keyring.ts';
import { type EncryptionContext, encryptionContext, type Sealer } from '../crypto/seal.ts';
import type { Environment, Tenant } from '../kernel/environment.ts';
import {
  blob,
  type Database,
  integer,
  integerOrNull,
  type Row,
  revision,
  text,
  textOrNull,
  type Value,
  type Write,
  write,
} from '../storage/database.ts';
import type { SealedColumns } from '../storage/sealed-columns.ts';
import type { Table } from '../storage/table.ts';
import type { Operation, OperationState, PaymentSnapshot } from './payment.ts';
import {
  formatOperationRecord,
  formatPaymentRecord,
  type OperationColumns,
  type PaymentColumns,
  type PaymentRow,
  parseOperationRecord,
  parsePaymentRecord,
  type ReconciliationColumns,
} from './payment-record.ts';
import type { OperationType } from './processor.ts';
import type { Status } from './transitions.ts';

/** Payments, each with its first operation in one row, and the rows of its further operations. */
export const TABLES: readonly Table[] = [
  {
    name: 'payments',
    key: ['account', 'environment', 'id'],
    columns: {
      account: 'integer',
      environment: 'integer',
      id: 'text',
      processor: 'text',
      status: 'text',
      operation_in_progress: 'text',
      processor_id: 'text',
      record: 'blob',
      revision: 'integer',
      attempts: 'integer',
      notification_digest: 'blob',
      created_at: 'integer',
      due_at: 'integer',
      in_doubt_since: 'integer',
      claimed_until: 'integer',
    },
  },
  {
    name: 'payment_operations',
    key: ['account', 'environment', 'id'],
    columns: {
      account: 'integer',
      environment: 'integer',
      payment: 'text',
      id: 'text',
      type: 'text',
      state: 'text',
      processor_id: 'text',
      record: 'blob',
      revision: 'integer',
      created_at: 'integer',
    },
  },
];

/** A payment and one of its operations as they were read. */
export interface LoadedPayment extends PaymentSnapshot {
  readonly tenant: Tenant;
  /** The first operation of the payment, with which it shares a row. */
  readonly initial: Operation;
  readonly revisions: { readonly payment: number; readonly operation: number };
}

export const PAYMENT_COLUMNS =
  'id, processor, status, operation_in_progress, record, revision, attempts, created_at, due_at, in_doubt_since';
const OPERATION_COLUMNS = 'payment, id, type, state, record, revision, created_at';
const OF_TENANT = 'where account = ?account and environment = ?environment';
/** Phrased so that an index finds the rows, of which there are few. In the order of `id`, all rows of the account would be read. */
const BY_ID = `order by id || ''`;

const INSERT_PAYMENT = `insert into payments (account, environment, id, processor, status, operation_in_progress, record, revision,
  attempts, notification_digest, created_at, due_at, in_doubt_since) values (?account, ?environment, ?, ?, ?, ?, ?, 1, ?, ?, ?, ?, ?)`;
const UPDATE_PAYMENT = `update payments set status = ?, operation_in_progress = ?, processor_id = ?, record = ?, attempts = ?, due_at = ?,
  in_doubt_since = ?, revision = revision + 1 ${OF_TENANT} and id = ? and revision = ?`;
const INSERT_OPERATION = `insert into payment_operations (account, environment, payment, id, type, state, processor_id,
  record, revision, created_at) values (?account, ?environment, ?, ?, ?, ?, ?, ?, 1, ?)`;
const UPDATE_OPERATION = `update payment_operations set state = ?, processor_id = ?, record = ?, revision = revision + 1
  ${OF_TENANT} and payment = ? and id = ? and revision = ?`;

/** The encryption contexts include the columns in clear that decide. Not `due_at`: a claim moves it without the record. */
const paymentContext = (
  { environment, account }: Tenant,
  { id, processor, status, operationInProgress = '', createdAt }: PaymentColumns,
  { attempts, inDoubtSince }: ReconciliationColumns,
): EncryptionContext => {
  const columns = [processor, status, operationInProgress, `${createdAt}`, `${attempts}`, `${inDoubtSince ?? ''}`];
  return encryptionContext(environment, account, 'payments', id, 'record', ...columns);
};

const operationContext = (
  { environment, account }: Tenant,
  { paymentId, id, type, state, createdAt }: OperationColumns,
): EncryptionContext =>
  encryptionContext(environment, account, 'payment-operations', paymentId, id, type, state, `${createdAt}`, 'record');

const sealPayment = (seal: Sealer, tenant: Tenant, row: PaymentRow): Uint8Array =>
  seal(paymentContext(tenant, row.payment, row.reconciliation), formatPaymentRecord(row));

export function insertPayment(
  seal: Sealer,
  { account, environment }: Tenant,
  row: PaymentRow,
  notificationDigest: Uint8Array | undefined,
): Write {
  const { id, processor, status, operationInProgress = null, createdAt } = row.payment;
  const { attempts, dueAt = null, inDoubtSince = null } = row.reconciliation;
  const record = sealPayment(seal, { account, environment }, row);
  const values = [account, environment, id, processor, status, operationInProgress, record, attempts];
  return write(INSERT_PAYMENT, [...values, notificationDigest ?? null, createdAt, dueAt, inDoubtSince], 1);
}

/** Conflicts when the payment was changed since `revision`. */
export function updatePayment(
  seal: Sealer,
  { account, environment }: Tenant,
  row: PaymentRow,
  revision: number,
): Write {
  const { id, status, operationInProgress = null } = row.payment;
  const { attempts, dueAt = null, inDoubtSince = null } = row.reconciliation;
  const { processorId = null } = row.initial.details;
  const record = sealPayment(seal, { account, environment }, row);
  const values: Value[] = [status, operationInProgress, processorId, record, attempts, dueAt, inDoubtSince];
  return write(UPDATE_PAYMENT, [...values, account, environment, id, revision], 1);
}

export function insertOperation(seal: Sealer, tenant: Tenant, operation: Operation): Write {
  const { paymentId, id, type, state, details, createdAt } = operation;
  const record = seal(operationContext(tenant, operation), formatOperationRecord(operation));
  const values = [tenant.account, tenant.environment, paymentId, id, type, state];
  return write(INSERT_OPERATION, [...values, details.processorId ?? null, record, createdAt], 1);
}

/** Conflicts when the operation was changed since `revision`. */
export function updateOperation(seal: Sealer, tenant: Tenant, operation: Operation, revision: number): Write {
  const { paymentId, id, state, details } = operation;
  const record = seal(operationContext(tenant, operation), formatOperationRecord(operation));
  const where = [tenant.account, tenant.environment, paymentId, id, revision];
  return write(UPDATE_OPERATION, [state, details.processorId ?? null, record, ...where], 1);
}

/** Finds by the id of an operation, ours or the processor's; the oldest with this id of the processor. */
export async function loadPayment(
  database: Database,
  keyring: Keyring,
  tenant: Tenant,
  id: string,
): Promise<LoadedPayment | undefined> {
  for (const column of ['id', 'processor_id'] as const) {
    const stored = await findPayment(database, keyring, tenant, column, id);
    if (stored !== undefined) return stored;
    const sql = `select ${OPERATION_COLUMNS} from payment_operations ${OF_TENANT} and ${column} = ? ${BY_ID} limit 1`;
    const [row] = await database.read(sql, tenant.account, tenant.environment, id);
    if (row === undefined) continue;
    const operation = await unsealOperation(keyring, tenant, row);
    const owner = await findPayment(database, keyring, tenant, 'id', operation.paymentId);
    if (owner === undefined) continue;
    return { ...owner, operation, revisions: { ...owner.revisions, operation: revision(row) } };
  }
  return undefined;
}

/** Finds a payment by its own id, or by the processor's id of its first operation, which it has in focus. */
async function findPayment(
  database: Database,
  keyring: Keyring,
  tenant: Tenant,
  column: 'id' | 'processor_id',
  id: string,
): Promise<LoadedPayment | undefined> {
  const sql = `select ${PAYMENT_COLUMNS} from payments ${OF_TENANT} and ${column} = ? ${BY_ID} limit 1`;
  const [row] = await database.read(sql, tenant.account, tenant.environment, id);
  if (row === undefined) return undefined;
  const stored = await unsealPayment(keyring, tenant, row);
  const revisions = { payment: revision(row), operation: revision(row) };
  return { ...stored, tenant, operation: stored.initial, revisions };
}

/** The operations of a payment, in the order of time. */
export async function listOperations(
  database: Database,
  keyring: Keyring,
  { tenant, payment, initial }: LoadedPayment,
): Promise<Operation[]> {
  const sql = `select ${OPERATION_COLUMNS} from payment_operations ${OF_TENANT} and payment = ? ${BY_ID}`;
  const rows = await database.read(sql, tenant.account, tenant.environment, payment.id);
  return [initial, ...(await Promise.all(rows.map((row) => unsealOperation(keyring, tenant, row))))];
}

/** Throws `UnsealError` for a row that was altered in the database. */
export async function unsealPayment(keyring: Keyring, tenant: Tenant, row: Row): Promise<PaymentRow> {
  const [columns, reconciliation] = [toPaymentColumns(row), toReconciliationColumns(row)];
  const context = paymentContext(tenant, columns, reconciliation);
  const record = await keyring.unseal(tenant, 'payments', context, blob(row, 'record'));
  return parsePaymentRecord(record.toString('utf8'), columns, reconciliation);
}

async function unsealOperation(keyring: Keyring, tenant: Tenant, row: Row): Promise<Operation> {
  const columns = toOperationColumns(row);
  const record = await keyring.unseal(tenant, 'payments', operationContext(tenant, columns), blob(row, 'record'));
  return parseOperationRecord(record.toString('utf8'), columns);
}

const toOperationColumns = (row: Row): OperationColumns => ({
  paymentId: text(row, 'payment'),
  id: text(row, 'id'),
  type: text(row, 'type') as OperationType,
  state: text(row, 'state') as OperationState,
  createdAt: integer(row, 'created_at'),
});

export const toPaymentColumns = (row: Row): PaymentColumns => ({
  id: text(row, 'id'),
  processor: text(row, 'processor'),
  status: text(row, 'status') as Status,
  operationInProgress: textOrNull(row, 'operation_in_progress'),
  createdAt: integer(row, 'created_at'),
});

const toReconciliationColumns = (row: Row): ReconciliationColumns => ({
  dueAt: integerOrNull(row, 'due_at'),
  attempts: integer(row, 'attempts'),
  inDoubtSince: integerOrNull(row, 'in_doubt_since'),
});

export const toTenant = (row: Row): Tenant => ({
  account: text(row, 'account'),
  environment: text(row, 'environment') as Environment,
});

export const SEALED_COLUMNS: readonly SealedColumns[] = [
  {
    table: 'payments',
    purpose: 'payments',
    scope: 'tenant',
    key: ['id'],
    bound: ['processor', 'status', 'operation_in_progress', 'created_at', 'attempts', 'due_at', 'in_doubt_since'],
    contexts: { record: (row) => paymentContext(toTenant(row), toPaymentColumns(row), toReconciliationColumns(row)) },
  },
  {
    table: 'payment_operations',
    purpose: 'payments',
    scope: 'tenant',
    key: ['id'],
    bound: ['payment', 'type', 'state', 'created_at'],
    contexts: { record: (row) => operationContext(toTenant(row), toOperationColumns(row)) },
  },
];

/** A payment that is due. */
export interface DuePayment {
  readonly tenant: Tenant;
  readonly id: string;
  readonly dueAt: number;
}

/** The longest due first, without those of `except`. */
export async function listDuePayments(
  database: Database,
  processor: string,
  now: number,
  limit: number,
  except: readonly Tenant[] = [],
): Promise<DuePayment[]> {
  const others = except.map(() => 'and not (account = ?account and environment = ?environment)').join(' ');
  const sql = `select account, environment, id, due_at from payments
    where due_at <= ? and processor = ? ${others} order by due_at limit ?`;
  const tenants = except.flatMap(({ account, environment }) => [account, environment]);
  const rows = await database.read(sql, now, processor, ...tenants, limit);
  return rows.map((row) => ({ tenant: toTenant(row), id: text(row, 'id'), dueAt: integer(row, 'due_at') }));
}

export const hasDuePayments = async (database: Database, now: number): Promise<boolean> =>
  (await database.read('select 1 as due from payments where due_at <= ? limit 1', now)).length > 0;

/** Defers a payment; conflicts when another process was faster. */
export const deferUntil = ({ tenant, id, dueAt }: DuePayment, to: number): Write =>
  write(
    `update payments set due_at = ? ${OF_TENANT} and id = ? and due_at = ?`,
    [to, tenant.account, tenant.environment, id, dueAt],
    1,
  );

/** Claims a payment by moving its due time; conflicts when another process was faster. */
export const claimUntil = ({ tenant, id, dueAt }: DuePayment, to: number): Write =>
  write(
    `update payments set due_at = ?, claimed_until = ? ${OF_TENANT} and id = ? and due_at = ?`,
    [to, to, tenant.account, tenant.environment, id, dueAt],
    1,
  );

/**
 * Returns when a payment is due; undefined when it never is, or while a process has claimed it. A claim ends when another
 * due time is stored, or when it is over.
 */
export async function findUnclaimed(
  database: Database,
  tenant: Tenant,
  id: string,
  now: number,
): Promise<DuePayment | undefined> {
  const sql = `select due_at, claimed_until from payments ${OF_TENANT} and id = ?`;
  const [row] = await database.read(sql, tenant.account, tenant.environment, id);
  const dueAt = row && integerOrNull(row, 'due_at');
  if (row === undefined || dueAt === undefined) return undefined;
  const isClaimed = dueAt > now && integerOrNull(row, 'claimed_until') === dueAt;
  return isClaimed ? undefined : { tenant, id, dueAt };
}

/** Finds the payment of a notification secret, by its keyed digest. */
export async function findByNotificationSecret(
  database: Database,
  environment: Environment,
  digest: Uint8Array,
): Promise<{ tenant: Tenant; id: string } | undefined> {
  const sql = 'select account, id from payments where environment = ?environment and notification_digest = ?';
  const [row] = await database.read(sql, environment, digest);
  return row && { tenant: { account: text(row, 'account'), environment }, id: text(row, 'id') };
}
