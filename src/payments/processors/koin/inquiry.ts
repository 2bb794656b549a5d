import type { Finding, History, ProcessorCall, Subject } from '../../processor.ts';
import { isFinding, type KoinClient, placeIn, placeOf } from './client.ts';
import { captureFinding, paymentFinding, refundFinding, refundOutcome, unknown, voidFinding } from './findings.ts';

/** What became of an operation, after KOIN's books. It moves nothing. */
export async function inquire(
  client: KoinClient,
  call: ProcessorCall,
  history: History,
  subject: Subject,
): Promise<Finding> {
  if (subject.type === 'authorization' || subject.type === 'payment') {
    const order = await client.find(call, placeOf(subject));
    return isFinding(order) ? order : paymentFinding(order, subject.amount);
  }
  const place = placeIn(history);
  if (place === undefined) return unknown('no-payment');
  if (subject.type === 'payment_refund' && subject.processorId !== undefined && place.orderId !== undefined) {
    const refund = await client.findRefund(call, place.orderId, subject.processorId);
    // It told us that id itself.
    if (isFinding(refund)) return refund.kind === 'absent' ? unknown('refund-not-found') : refund;
    return refundOutcome(refund, subject.amount);
  }
  const order = await client.find(call, place);
  // The order was there when we worked on it, so its absence proves nothing about what was done to it.
  if (isFinding(order)) return order.kind === 'absent' ? unknown('order-not-found') : order;
  if (subject.type === 'capture') return captureFinding(order, subject.amount);
  return subject.type === 'payment_refund' ? refundFinding(order, history, subject) : voidFinding(order);
}
