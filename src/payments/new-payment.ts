import { truncatePan } from '../kernel/pan.ts';
import type { ResolvedCard } from './card-source.ts';
import { initialOperation, type Payment } from './payment.ts';
import type { ConfiguredProcessor } from './payment-activations.ts';
import type { Order } from './processor.ts';
import { recoveryTimes } from './schedule.ts';
import type { PaymentSnapshot } from './settle.ts';

/** A payment before anything of it is sent: Opened, its first operation under way. */
export function newPayment(
  id: string,
  now: number,
  { name, settings }: ConfiguredProcessor,
  { capture, amount, referenceCode }: Order,
  { card, captureIds: captures }: ResolvedCard,
  { lifetimes } = recoveryTimes(settings),
): PaymentSnapshot {
  const type = capture ? 'payment' : 'authorization';
  const payment: Payment = {
    id,
    type,
    processor: name,
    status: 'Opened',
    reason: undefined,
    currency: amount.currency,
    amount: amount.minor,
    authorized: 0n,
    collected: 0n,
    refunded: 0n,
    referenceCode,
    card: { truncated: truncatePan(card.pan) },
    captureIds: captures,
    operationInProgress: id,
    operationCount: 1,
    consecutiveNotFound: 0,
    recheckIds: [],
    createdAt: now,
    expiresAt: now + lifetimes.opened,
    isExpired: false,
  };
  return { payment, operation: initialOperation(payment) };
}
