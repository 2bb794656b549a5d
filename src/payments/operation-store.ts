import type { Keyring } from '../crypto/keyring.ts';
import { type EncryptionContext, encryptionContext, type Sealer } from '../crypto/seal.ts';
import type { Tenant } from '../kernel/environment.ts';
import { blob, type Database, integer, type Row, text, type Write, write } from '../storage/database.ts';
import type { Table } from '../storage/table.ts';
import type { Operation, OperationState } from './payment.ts';
import { formatOperationRecord, parseOperationRecord } from './payment-record.ts';
import type { OperationType } from './processor.ts';

export const TABLES: readonly Table[] = [
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

export interface StoredOperation {
  readonly operation: Operation;
  readonly revision: number;
}

const OPERATION = 'payment, id, type, state, record, revision, created_at';

const INSERT_OPERATION = `insert into payment_operations (account, environment, payment, id, type, state, processor_id,
  record, revision, created_at) values (?account, ?environment, ?, ?, ?, ?, ?, ?, 1, ?)`;
const UPDATE_OPERATION = `update payment_operations set state = ?, processor_id = ?, record = ?, revision = revision + 1
  where account = ?account and environment = ?environment and id = ? and revision = ?`;
const OF_TENANT = 'where account = ?account and environment = ?environment';

/** The encryption context includes the columns in clear. */
const placeOfOperation = (
  { environment, account }: Tenant,
  { paymentId, id, type, state }: Pick<Operation, 'paymentId' | 'id' | 'type' | 'state'>,
): EncryptionContext =>
  encryptionContext(environment, account, 'payment-operations', paymentId, id, type, state, 'record');

export function insertOperation(seal: Sealer, tenant: Tenant, operation: Operation): Write {
  const { paymentId, id, type, state, details, createdAt } = operation;
  const record = seal(placeOfOperation(tenant, operation), formatOperationRecord(operation));
  const values = [tenant.account, tenant.environment, paymentId, id, type, state];
  return write(INSERT_OPERATION, [...values, details.processorId ?? null, record, createdAt], 1);
}

/** Conflicts when the operation was changed since `revision`. */
export function updateOperation(seal: Sealer, tenant: Tenant, operation: Operation, revision: number): Write {
  const { id, state, details } = operation;
  const record = seal(placeOfOperation(tenant, operation), formatOperationRecord(operation));
  const where = [tenant.account, tenant.environment, id, revision];
  return write(UPDATE_OPERATION, [state, details.processorId ?? null, record, ...where], 1);
}

/** Finds an operation other than the first: by our own id, or the oldest with this id of the processor. */
export async function findOperation(
  database: Database,
  keyring: Keyring,
  tenant: Tenant,
  column: 'id' | 'processor_id',
  id: string,
): Promise<StoredOperation | undefined> {
  const sql = `select ${OPERATION} from payment_operations ${OF_TENANT} and ${column} = ? order by id limit 1`;
  const [row] = await database.read(sql, tenant.account, tenant.environment, id);
  return row && openOperation(keyring, tenant, row);
}

/** The operations of a payment after its first one, in the order of time. */
export async function listOperations(
  database: Database,
  keyring: Keyring,
  tenant: Tenant,
  payment: string,
): Promise<Operation[]> {
  const sql = `select ${OPERATION} from payment_operations ${OF_TENANT} and payment = ? order by id`;
  const rows = await database.read(sql, tenant.account, tenant.environment, payment);
  const stored = await Promise.all(rows.map((row) => openOperation(keyring, tenant, row)));
  return stored.map(({ operation }) => operation);
}

async function openOperation(keyring: Keyring, tenant: Tenant, row: Row): Promise<StoredOperation> {
  const columns = {
    paymentId: text(row, 'payment'),
    id: text(row, 'id'),
    type: text(row, 'type') as OperationType,
    state: text(row, 'state') as OperationState,
    createdAt: integer(row, 'created_at'),
  };
  const record = await keyring.unseal(tenant, 'payments', placeOfOperation(tenant, columns), blob(row, 'record'));
  return { operation: parseOperationRecord(record.toString('utf8'), columns), revision: integer(row, 'revision') };
}
