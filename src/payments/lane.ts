import type { Keyring } from '../crypto/keyring.ts';
import type { Tenant } from '../kernel/environment.ts';
import type { Database } from '../storage/database.ts';
import { findOperation, type StoredOperation } from './operation-store.ts';
import type { Operation } from './payment.ts';
import { findPayment, type Schedule, type StoredPayment } from './payment-store.ts';
import type { PaymentSnapshot } from './settle.ts';

/** A payment and one of its operations as they were read. */
export interface Lane extends PaymentSnapshot {
  readonly tenant: Tenant;
  /** The first operation of the payment, with which it shares a row. */
  readonly first: Operation;
  readonly schedule: Schedule;
  readonly revisions: { readonly payment: number; readonly operation: number };
}

/** `found`: one that is not the first. */
function laneOf(tenant: Tenant, { payment, first, schedule, revision }: StoredPayment, found?: StoredOperation): Lane {
  const { operation, revision: ofOperation } = found ?? { operation: first, revision };
  return { tenant, payment, first, operation, schedule, revisions: { payment: revision, operation: ofOperation } };
}

/** By the id of an operation, ours or the processor's. */
export async function findLane(
  database: Database,
  keyring: Keyring,
  tenant: Tenant,
  id: string,
): Promise<Lane | undefined> {
  for (const column of ['id', 'processor_id'] as const) {
    const stored = await findPayment(database, keyring, tenant, column, id);
    if (stored !== undefined) return laneOf(tenant, stored);
    const found = await findOperation(database, keyring, tenant, column, id);
    const { operation } = found ?? {};
    const of = operation && (await findPayment(database, keyring, tenant, 'id', operation.paymentId));
    if (of !== undefined) return laneOf(tenant, of, found);
  }
  return undefined;
}

/**
 * Then there is nothing to note: a look moves the time before it asks. Any number of news must not keep others from
 * changing the payment.
 */
export const isToBeLookedAt = ({ payment, operation, schedule: { dueAt } }: Lane, now: number): boolean =>
  payment.recheckIds.includes(operation.id) &&
  (payment.operationInProgress !== undefined || (dueAt !== undefined && dueAt <= now));
