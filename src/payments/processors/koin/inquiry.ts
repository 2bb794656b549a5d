import { type Finding, type History, type ProcessorCall, refused, type Subject, unknown } from '../../processor.ts';
import { refundBody } from './bodies.ts';
import { isFinding, isOk, type KoinClient, type Place, placeIn, placeOf } from './client.ts';
import {
  captureFinding,
  type KoinOrder,
  paymentFinding,
  readOrder,
  readRefund,
  refundFinding,
  refundOutcome,
  voidFinding,
} from './mapping.ts';

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

const GONE: Finding = { kind: 'approved', particulars: {} };
/** It was done, and KOIN has no call that takes it back. */
const CANNOT: Finding = refused('Undefined', {});

/**
 * Undoes an operation. KOIN has no call for that by our key, so the order is looked up first; captures, refunds and voids
 * cannot be taken back at all.
 */
export async function abandon(
  client: KoinClient,
  call: ProcessorCall,
  history: History,
  subject: Subject,
): Promise<Finding> {
  switch (subject.type) {
    case 'authorization':
    case 'payment':
      return undoPayment(client, call, placeOf(subject));
    case 'capture':
      return ofCapture(client, call, history, subject);
    case 'payment_refund':
      return ofRefund(await inquire(client, call, history, subject));
    default:
      return { kind: 'absent' };
  }
}

/** Whatever its amount is: an order of our reference is ours, and an amount that we did not ask for all the less wanted. */
async function undoPayment(client: KoinClient, call: ProcessorCall, place: Place): Promise<Finding> {
  const order = await client.find(call, place);
  if (isFinding(order)) return order;
  const { standing, id } = order;
  if (standing.kind === 'failed' || standing.kind === 'reversed') return GONE;
  if (id === undefined) return unknown('incomplete');
  if (standing.kind === 'collected' || standing.kind === 'refunded') return giveBack(client, call, order, id);
  const answer = await client.cancel(call, id);
  return answer.kind === 'answered' && isOk(answer) && readOrder(answer.body)?.standing.kind === 'reversed'
    ? GONE
    : unknown('not-cancelled');
}

async function giveBack(client: KoinClient, call: ProcessorCall, order: KoinOrder, id: string): Promise<Finding> {
  const { amount, reference, refunds, standing } = order;
  if (standing.kind === 'refunded' && refunds.length === 0) return GONE;
  const moved = refunds.filter(({ state }) => state !== 'failed');
  if (amount === undefined || moved.some((refund) => refund.amount?.currency !== amount.currency))
    return unknown('incomplete');
  const minor = moved.reduce((rest, refund) => rest - (refund.amount?.minor ?? 0n), amount.minor);
  const isUnderWay = moved.some(({ state }) => state === 'pending');
  if (minor <= 0n) return isUnderWay ? unknown('refund-under-way') : GONE;
  // KOIN executes a reference once: a second try does no harm, and only after a failed one it is another.
  const key = `${reference}-undo${refunds.length - moved.length}`;
  const rest = { ...amount, minor };
  const answer = await client.refund(call, id, refundBody(key, rest));
  if (answer.kind !== 'answered' || !isOk(answer)) return unknown('not-refunded');
  const outcome = refundOutcome(readRefund(answer.body), rest);
  if (outcome.kind === 'approved') return isUnderWay ? unknown('refund-under-way') : GONE;
  return outcome.kind === 'pending' ? unknown('refund-under-way') : unknown('not-refunded');
}

async function ofCapture(
  client: KoinClient,
  call: ProcessorCall,
  history: History,
  subject: Subject,
): Promise<Finding> {
  const place = placeIn(history);
  if (place === undefined) return unknown('no-payment');
  const order = await client.find(call, place);
  if (isFinding(order)) return order.kind === 'absent' ? unknown('order-not-found') : order;
  const finding = captureFinding(order, subject.amount);
  if (finding.kind === 'refused') return { kind: 'reversed', particulars: {} };
  return finding.kind === 'approved' ? CANNOT : finding;
}

function ofRefund(finding: Finding): Finding {
  if (finding.kind === 'absent') return finding;
  if (finding.kind === 'unknown') return finding;
  return finding.kind === 'refused' ? GONE : CANNOT;
}
