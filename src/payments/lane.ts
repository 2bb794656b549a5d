import type { Tenant } from '../kernel/environment.ts';
import type { StoredOperation } from './operation-store.ts';
import type { Operation } from './payment.ts';
import type { Schedule, StoredPayment } from './payment-store.ts';
import type { Pair } from './settle.ts';

/** A payment and one of its operations as they were read. */
export interface Lane extends Pair {
  readonly tenant: Tenant;
  /** The first operation of the payment, with which it shares a row. */
  readonly first: Operation;
  readonly schedule: Schedule;
  readonly revisions: { readonly payment: number; readonly operation: number };
}

/** `found`: one that is not the first. */
export function laneOf(
  tenant: Tenant,
  { payment, first, schedule, revision }: StoredPayment,
  found?: StoredOperation,
): Lane {
  const { operation, revision: ofOperation } = found ?? { operation: first, revision };
  return { tenant, payment, first, operation, schedule, revisions: { payment: revision, operation: ofOperation } };
}

/**
 * Then there is nothing to note: a look moves the time before it asks. Any number of news must not keep others from
 * changing the payment.
 */
export const isToBeLookedAt = ({ payment, operation, schedule: { dueAt } }: Lane, now: number): boolean =>
  payment.watched.includes(operation.id) && (payment.operation !== undefined || (dueAt !== undefined && dueAt <= now));
