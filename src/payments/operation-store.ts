import type { Keyring } from '../crypto/keyring.ts';
import { type Place, placeOf, type Seal } from '../crypto/seal.ts';
import type { Tenant } from '../kernel/environment.ts';
import { blob, type Database, integer, type Row, text, type Write, write } from '../storage/database.ts';
import { firstOperation, type Operation, type OperationState } from './payment.ts';
import { operationFrom, operationRecord } from './payment-record.ts';
import { findPayment, type StoredPayment } from './payment-store.ts';
import type { OperationType } from './processor.ts';

export interface StoredOperation {
  readonly operation: Operation;
  readonly revision: number;
}

const OPERATION = 'payment, id, type, state, record, revision, created_at';

const INSERT_OPERATION = `insert into payment_operations (account, environment, payment, id, type, state, processor_id,
  record, revision, created_at) values (?, ?, ?, ?, ?, ?, ?, ?, 1, ?) on conflict do nothing`;
const UPDATE_OPERATION = `update payment_operations set state = ?, processor_id = ?, record = ?, revision = revision + 1
  where account = ? and environment = ? and id = ? and revision = ?`;
const OF_TENANT = 'where account = ? and environment = ?';

/** The first operation of a payment has no row of its own until it has ended: the payment tells all of it. */
const NO_ROW = 0;

/** Bound to the columns in clear, too. */
const placeOfOperation = ({ environment, account }: Tenant, operation: Omit<Operation, 'amount'>): Place =>
  placeOfOperationColumns(environment, account, operation.payment, operation.id, operation.type, operation.state);

const placeOfOperationColumns = (environment: string, account: string, ...columns: string[]): Place =>
  placeOf(environment, account, 'payment-operations', ...columns, 'record');

/** Conflicts when there is one with this id. */
export function insertOperation(seal: Seal, tenant: Tenant, operation: Operation): Write {
  const { payment, id, type, state, particulars, createdAt } = operation;
  const record = seal(placeOfOperation(tenant, operation), operationRecord(operation));
  const values = [tenant.account, tenant.environment, payment, id, type, state];
  return write(INSERT_OPERATION, [...values, particulars.processorId ?? null, record, createdAt], 1);
}

/** Conflicts when the operation was changed since `revision`. */
export function updateOperation(seal: Seal, tenant: Tenant, operation: Operation, revision: number): Write {
  if (revision === NO_ROW) return insertOperation(seal, tenant, operation);
  const { id, state, particulars } = operation;
  const record = seal(placeOfOperation(tenant, operation), operationRecord(operation));
  const where = [tenant.account, tenant.environment, id, revision];
  return write(UPDATE_OPERATION, [state, particulars.processorId ?? null, record, ...where], 1);
}

/** By its own id, or else the oldest that the processor gave this id to. */
export async function findOperation(
  database: Database,
  keyring: Keyring,
  tenant: Tenant,
  id: string,
): Promise<StoredOperation | undefined> {
  const { account, environment } = tenant;
  const select = `select ${OPERATION} from payment_operations ${OF_TENANT}`;
  const [own] = await database.read(`${select} and id = ?`, account, environment, id);
  if (own !== undefined) return openOperation(keyring, tenant, own);
  const [named] = await database.read(`${select} and processor_id = ? order by id limit 1`, account, environment, id);
  return named && openOperation(keyring, tenant, named);
}

/** In the order of time. */
export async function listOperations(
  database: Database,
  keyring: Keyring,
  tenant: Tenant,
  payment: string,
): Promise<StoredOperation[]> {
  const { account, environment } = tenant;
  const select = `select ${OPERATION} from payment_operations ${OF_TENANT}`;
  const first = await database.read(`${select} and id = ?`, account, environment, payment);
  // Nothing else can have begun.
  if (first.length === 0) {
    const stored = await findPayment(database, keyring, tenant, payment);
    return stored === undefined ? [] : [withoutRow(stored)];
  }
  const later = await database.read(
    `${select} and payment = ? and id <> payment order by id`,
    account,
    environment,
    payment,
  );
  return Promise.all([...first, ...later].map((row) => openOperation(keyring, tenant, row)));
}

/** The first operation of a payment that is under way, as the payment tells it. */
export const withoutRow = ({ payment }: StoredPayment): StoredOperation => ({
  operation: firstOperation(payment),
  revision: NO_ROW,
});

async function openOperation(keyring: Keyring, tenant: Tenant, row: Row): Promise<StoredOperation> {
  const columns = {
    payment: text(row, 'payment'),
    id: text(row, 'id'),
    type: text(row, 'type') as OperationType,
    state: text(row, 'state') as OperationState,
    createdAt: integer(row, 'created_at'),
  };
  const { payment, id, type, state } = columns;
  const place = placeOfOperationColumns(tenant.environment, tenant.account, payment, id, type, state);
  const record = await keyring.open(tenant, 'payments', place, blob(row, 'record'));
  return { operation: operationFrom(record.toString('utf8'), columns), revision: integer(row, 'revision') };
}
