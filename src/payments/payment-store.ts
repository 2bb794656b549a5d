import type { Keyring } from '../crypto/keyring.ts';
import { type EncryptionContext, encryptionContext, type Sealer, UnsealError } from '../crypto/seal.ts';
import type { Environment, Tenant } from '../kernel/environment.ts';
import { LIMITS } from '../kernel/limits.ts';
import {
  blob,
  type Database,
  integer,
  integerOrNull,
  type Row,
  text,
  textOrNull,
  type Value,
  type Write,
  write,
} from '../storage/database.ts';
import type { Table } from '../storage/table.ts';
import type { Payment } from './payment.ts';
import {
  formatPaymentRecord,
  type PaymentColumns,
  type PaymentRow,
  parsePaymentRecord,
  type ReconciliationColumns,
} from './payment-record.ts';
import type { Status } from './transitions.ts';

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
    },
  },
];

export interface StoredPayment extends PaymentRow {
  readonly revision: number;
}

const PAYMENT =
  'id, processor, status, operation_in_progress, record, revision, attempts, created_at, due_at, in_doubt_since';

const INSERT_PAYMENT = `insert into payments (account, environment, id, processor, status, operation_in_progress, record, revision,
  attempts, notification_digest, created_at, due_at, in_doubt_since) values (?account, ?environment, ?, ?, ?, ?, ?, 1, ?, ?, ?, ?, ?)`;
const UPDATE_PAYMENT = `update payments set status = ?, operation_in_progress = ?, processor_id = ?, record = ?, attempts = ?, due_at = ?,
  in_doubt_since = ?, revision = revision + 1 where account = ?account and environment = ?environment and id = ? and revision = ?`;
const OF_TENANT = 'where account = ?account and environment = ?environment';

/** The encryption context includes the columns in clear. */
const paymentContext = (
  { environment, account }: Tenant,
  payment: Pick<Payment, 'id' | 'processor' | 'status'>,
): EncryptionContext =>
  encryptionContext(environment, account, 'payments', payment.id, 'record', payment.processor, payment.status);

const scheduled = ({ attempts, dueAt, inDoubtSince }: ReconciliationColumns): Value[] => [
  attempts,
  dueAt ?? null,
  inDoubtSince ?? null,
];

export function insertPayment(
  seal: Sealer,
  tenant: Tenant,
  row: PaymentRow,
  notificationDigest: Uint8Array | undefined,
): Write {
  const { payment, reconciliation } = row;
  const { id, processor, status, operationInProgress, createdAt } = payment;
  const record = seal(paymentContext(tenant, payment), formatPaymentRecord(row));
  const [attempts = null, ...times] = scheduled(reconciliation);
  const values = [
    tenant.account,
    tenant.environment,
    id,
    processor,
    status,
    operationInProgress ?? null,
    record,
    attempts,
  ];
  return write(INSERT_PAYMENT, [...values, notificationDigest ?? null, createdAt, ...times], 1);
}

/** Conflicts when the payment was changed since `revision`. */
export function updatePayment(seal: Sealer, tenant: Tenant, row: PaymentRow, revision: number): Write {
  const { payment, initial, reconciliation } = row;
  const { id, status, operationInProgress } = payment;
  const record = seal(paymentContext(tenant, payment), formatPaymentRecord(row));
  const processorId = initial.details.processorId ?? null;
  const where = [tenant.account, tenant.environment, id, revision];
  return write(
    UPDATE_PAYMENT,
    [status, operationInProgress ?? null, processorId, record, ...scheduled(reconciliation), ...where],
    1,
  );
}

/** Finds a payment by its own id, or by the processor's id of its first operation. */
export async function findPayment(
  database: Database,
  keyring: Keyring,
  tenant: Tenant,
  column: 'id' | 'processor_id',
  id: string,
): Promise<StoredPayment | undefined> {
  const sql = `select ${PAYMENT} from payments ${OF_TENANT} and ${column} = ? order by id limit 1`;
  const [row] = await database.read(sql, tenant.account, tenant.environment, id);
  return row && unsealPayment(keyring, tenant, row);
}

async function unsealPayment(keyring: Keyring, tenant: Tenant, row: Row): Promise<StoredPayment> {
  const columns = columnsOf(row);
  const record = await keyring.unseal(tenant, 'payments', paymentContext(tenant, columns), blob(row, 'record'));
  return {
    ...parsePaymentRecord(record.toString('utf8'), columns, scheduleOf(row)),
    revision: integer(row, 'revision'),
  };
}

const columnsOf = (row: Row): PaymentColumns => ({
  id: text(row, 'id'),
  processor: text(row, 'processor'),
  status: text(row, 'status') as Status,
  operationInProgress: textOrNull(row, 'operation_in_progress'),
  createdAt: integer(row, 'created_at'),
});

const scheduleOf = (row: Row): ReconciliationColumns => ({
  dueAt: integerOrNull(row, 'due_at'),
  attempts: integer(row, 'attempts'),
  inDoubtSince: integerOrNull(row, 'in_doubt_since'),
});

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
  return (await database.read(sql, now, processor, ...tenants, limit)).map((row) => ({
    tenant: { account: text(row, 'account'), environment: text(row, 'environment') as Environment },
    id: text(row, 'id'),
    dueAt: integer(row, 'due_at'),
  }));
}

export const hasDuePayments = async (database: Database, now: number): Promise<boolean> =>
  (await database.read('select 1 as due from payments where due_at <= ? limit 1', now)).length > 0;

/** Claims a payment by moving its due time; conflicts when another process was faster. */
export const claimUntil = ({ tenant, id, dueAt }: DuePayment, to: number): Write =>
  write(
    `update payments set due_at = ? ${OF_TENANT} and id = ? and due_at = ?`,
    [to, tenant.account, tenant.environment, id, dueAt],
    1,
  );

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

/** A payment in a list. When it cannot be unsealed, it is listed without the sealed values. */
export interface ListedPayment extends PaymentColumns {
  readonly inDoubtSince: number | undefined;
  readonly payment: Payment | undefined;
}

/** A payment with an operation whose outcome is unknown. */
export interface InDoubtPayment extends ListedPayment {
  readonly tenant: Tenant;
  readonly attempts: number;
  readonly dueAt: number | undefined;
  readonly lastProblem: string | undefined;
}

/**
 * Phrased so that the index of in-doubt payments is used, which are few, and not that of all payments of the account.
 */
const OF_ONE = 'and account + 0 = ?account and environment + 0 = ?environment';
const DOUBTFUL = `select account, environment, ${PAYMENT} from payments where in_doubt_since is not null
  order by in_doubt_since limit ${LIMITS.inDoubtPaymentsListed}`;
const DOUBTS = 'select count(*) as number from payments where in_doubt_since is not null';

/** The payment that is in doubt longest first. */
export async function listInDoubtPayments(database: Database, keyring: Keyring): Promise<InDoubtPayment[]> {
  const rows = await database.read(DOUBTFUL);
  return Promise.all(
    rows.map(async (row) => {
      const tenant = { account: text(row, 'account'), environment: text(row, 'environment') as Environment };
      const stored = await tryUnseal(keyring, tenant, row);
      const { attempts, dueAt } = scheduleOf(row);
      return { ...listed(row, stored), tenant, attempts, dueAt, lastProblem: stored?.reconciliation.lastProblem };
    }),
  );
}

/** Converts a row of `listPaymentRows`. */
export const toListedPayment = async (keyring: Keyring, tenant: Tenant, row: Row): Promise<ListedPayment> =>
  listed(row, await tryUnseal(keyring, tenant, row));

const listed = (row: Row, stored: StoredPayment | undefined): ListedPayment => ({
  ...columnsOf(row),
  inDoubtSince: integerOrNull(row, 'in_doubt_since'),
  payment: stored?.payment,
});

/** Undefined when the row was altered in the database. */
const tryUnseal = (keyring: Keyring, tenant: Tenant, row: Row): Promise<StoredPayment | undefined> =>
  unsealPayment(keyring, tenant, row).catch((error: unknown) => {
    if (error instanceof UnsealError) return undefined;
    throw error;
  });

const BETWEEN = `select ${PAYMENT} from payments ${OF_TENANT} and id >= ? and id < ? order by id desc limit ?`;
const DOUBTFUL_BETWEEN = `select ${PAYMENT} from payments where in_doubt_since is not null ${OF_ONE} and id >= ? and id < ?
  order by id desc limit ?`;

/** Returns rows with ids from `from` on and before `to`, the newest first. */
export const listPaymentRows = (
  database: Database,
  { account, environment }: Tenant,
  [from, to]: readonly [from: string, to: string],
  limit: number,
  onlyDoubtful: boolean,
): Promise<Row[]> => database.read(onlyDoubtful ? DOUBTFUL_BETWEEN : BETWEEN, account, environment, from, to, limit);

/** Counts those of one tenant, or of all. */
export async function countInDoubt(database: Database, only?: Tenant): Promise<number> {
  const [row] =
    only === undefined
      ? await database.read(DOUBTS)
      : await database.read(`${DOUBTS} ${OF_ONE}`, only.account, only.environment);
  return row === undefined ? 0 : integer(row, 'number');
}

const COUNT = 'select count(*) as number from payments where account = ?account and environment = ?environment';

export async function countPayments(database: Database, { account, environment }: Tenant): Promise<number> {
  const [row = {}] = await database.read(COUNT, account, environment);
  return integer(row, 'number');
}
