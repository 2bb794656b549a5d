import type { Transaction } from '../idempotency/transaction.ts';
import type { Tenant } from '../kernel/environment.ts';
import { truncateReference } from '../kernel/pan.ts';
import type { PaymentSnapshot } from '../payments/payment.ts';
import type { PaymentChange, PaymentChangeWriter } from '../payments/payment-repository.ts';
import type { Status } from '../payments/transitions.ts';
import type { Outbox } from '../webhooks/outbox.ts';
import type { EventType } from '../webhooks/webhook.ts';
import { formatDetails } from './payment-response.ts';

/** Events of payments, with the data of their lookup (webhooks.md 2). */

/** The event of each status that a payment gets. A payment that is Opened has no news yet. */
const STATUS_EVENTS: Readonly<Record<Status, EventType | undefined>> = {
  Opened: undefined,
  Authorized: 'payment.authorized',
  Collected: 'payment.collected',
  Declined: 'payment.declined',
  ProcessorError: 'payment.failed',
  Cancelled: 'payment.cancelled',
  Voided: 'payment.voided',
};

/** Returns the types of the events of a change, in the order in which they are sent. Pure. */
export function listEventTypes({ before, after }: PaymentChange): EventType[] {
  const events: EventType[] = [];
  const wasInDoubt = before.reconciliation.inDoubtSince !== undefined;
  const isInDoubt = after.reconciliation.inDoubtSince !== undefined;
  if (!wasInDoubt && isInDoubt) events.push('payment.in_doubt');
  const status = STATUS_EVENTS[after.payment.status];
  if (before.payment.status !== after.payment.status && status !== undefined) events.push(status);
  if (after.payment.refunded > before.payment.refunded) events.push('payment.refunded');
  if (wasInDoubt && !isInDoubt) events.push('payment.resolved');
  return events;
}

/** Writes the events of payments into the transaction of their change. */
export const paymentEvents =
  (outbox: Outbox): PaymentChangeWriter =>
  async (transaction: Transaction, tenant: Tenant, change: PaymentChange) => {
    const types = listEventTypes(change);
    if (types.length === 0 || !(await outbox.isWanted(tenant, types))) return;
    const data = formatPaymentData(change.after);
    for (const type of types) await outbox.emit(transaction, tenant, { type, data });
  };

/**
 * A reference is free text: a card number in it is truncated, as in inspection. A UUID stays, because receivers find their order by
 * it.
 */
function formatPaymentData(after: PaymentSnapshot): object {
  const { data } = formatDetails(after);
  const info = data.transaction_info;
  const reference = info.reference_code;
  const truncated = reference !== undefined && { reference_code: truncateReference(reference) };
  return { ...data, transaction_info: { ...info, ...truncated } };
}
