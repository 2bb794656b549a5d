import { truncatePan } from '../kernel/pan.ts';
import type { Configured } from './activations.ts';
import type { ReadCard } from './card-source.ts';
import { firstOperation, type Payment } from './payment.ts';
import type { Order } from './processor.ts';
import { timesOf } from './schedule.ts';
import type { Pair } from './settle.ts';

/** A payment before anything of it is sent: Opened, its first operation under way. */
export function newPayment(
  id: string,
  now: number,
  { name, settings }: Configured,
  { capture, amount, referenceCode }: Order,
  { card, captures }: ReadCard,
  { lifetimes } = timesOf(settings),
): Pair {
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
    captures,
    operation: id,
    begun: 1,
    absences: 0,
    watched: [],
    createdAt: now,
    expiresAt: now + lifetimes.opened,
    expired: false,
  };
  return { payment, operation: firstOperation(payment) };
}
