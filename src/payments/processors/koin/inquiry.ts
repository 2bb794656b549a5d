import {
  type InquiryResult,
  type OperationRef,
  type PaymentHistory,
  type ProcessorCall,
  type ReversalResult,
  unknown,
} from '../../processor.ts';
import { findOrderRef, isSuccess, isUnresolved, type KoinClient, type OrderRef, toOrderRef } from './client.ts';
import {
  type KoinOrder,
  parseOrder,
  parseRefund,
  toCaptureResult,
  toPaymentResult,
  toRefundOutcome,
  toRefundResult,
  toVoidResult,
} from './mapping.ts';
import { buildRefundBody } from './request-bodies.ts';

/** Inquires about an operation in KOIN's records. It changes nothing. */
export async function inquire(
  client: KoinClient,
  call: ProcessorCall,
  history: PaymentHistory,
  subject: OperationRef,
): Promise<InquiryResult> {
  if (subject.type === 'authorization' || subject.type === 'payment') {
    const order = await client.findOrder(call, toOrderRef(subject));
    return isUnresolved(order) ? order : toPaymentResult(order, subject.amount);
  }
  const orderRef = findOrderRef(history);
  if (orderRef === undefined) return unknown('no-payment');
  if (subject.type === 'payment_refund' && subject.processorId !== undefined && orderRef.orderId !== undefined) {
    const refund = await client.findRefund(call, orderRef.orderId, subject.processorId);
    // KOIN itself returned that id.
    if (isUnresolved(refund)) return refund.kind === 'not-found' ? unknown('refund-not-found') : refund;
    return toRefundOutcome(refund, subject.amount);
  }
  const order = await client.findOrder(call, orderRef);
  // The order existed when the operation was sent, so its absence says nothing about the operation.
  if (isUnresolved(order)) return order.kind === 'not-found' ? unknown('order-not-found') : order;
  if (subject.type === 'capture') return findCapture(order, history, subject);
  return subject.type === 'payment_refund' ? toRefundResult(order, history, subject) : toVoidResult(order);
}

/**
 * KOIN captures an order once, and its record does not name the request. When another capture has taken effect, the
 * collected amount is that of the other one, and this capture has had no effect.
 */
function findCapture(order: KoinOrder, { operations }: PaymentHistory, { amount }: OperationRef): InquiryResult {
  const found = toCaptureResult(order, amount);
  const isOfAnother = found.kind === 'approved' && operations.some(({ type }) => type === 'capture');
  return isOfAnother ? { kind: 'not-found' } : found;
}

const REVERSED: ReversalResult = { kind: 'reversed' };
const REVERSED_WITH_AUTHORIZATION: ReversalResult = { kind: 'reversed-with-authorization' };
/** The operation was processed, and KOIN has no call that reverses it. */
const NOT_REVERSIBLE: ReversalResult = { kind: 'not-reversible' };

/**
 * Reverses an operation. KOIN has no call for that by our reference, so the order is looked up first; captures, refunds
 * and voids cannot be reversed.
 */
export async function reverse(
  client: KoinClient,
  call: ProcessorCall,
  history: PaymentHistory,
  subject: OperationRef,
): Promise<ReversalResult> {
  switch (subject.type) {
    case 'authorization':
    case 'payment':
      return reversePayment(client, call, toOrderRef(subject));
    case 'capture':
      return classifyCapture(client, call, history, subject);
    case 'payment_refund':
      return classifyRefund(await inquire(client, call, history, subject));
    default:
      return { kind: 'not-found' };
  }
}

/** Reverses an order of our reference whatever its amount: an unexpected amount must not remain charged either. */
async function reversePayment(client: KoinClient, call: ProcessorCall, orderRef: OrderRef): Promise<ReversalResult> {
  const order = await client.findOrder(call, orderRef);
  if (isUnresolved(order)) return order;
  const { state, id } = order;
  if (state.kind === 'failed' || state.kind === 'reversed') return REVERSED;
  if (id === undefined) return unknown('incomplete');
  if (state.kind === 'collected' || state.kind === 'refunded')
    return refundRemaining(client, call, order, { ...orderRef, orderId: id });
  const response = await client.cancel(call, id);
  return response.kind === 'answered' && isSuccess(response) && parseOrder(response.body)?.state.kind === 'reversed'
    ? REVERSED
    : unknown('not-cancelled');
}

async function refundRemaining(
  client: KoinClient,
  call: ProcessorCall,
  order: KoinOrder,
  { operationId, orderId }: OrderRef & { readonly orderId: string },
): Promise<ReversalResult> {
  const { amount, refunds, state } = order;
  if (state.kind === 'refunded' && refunds.length === 0) return REVERSED;
  const refunded = refunds.filter(({ state }) => state !== 'failed');
  if (amount === undefined || refunded.some((refund) => refund.amount?.currency !== amount.currency))
    return unknown('incomplete');
  const minor = refunded.reduce((remaining, refund) => remaining - (refund.amount?.minor ?? 0n), amount.minor);
  const isRefundPending = refunded.some(({ state }) => state === 'pending');
  if (minor <= 0n) return isRefundPending ? unknown('refund-in-progress') : REVERSED;
  // KOIN executes a reference once, so a repeated request is idempotent. Only after a failed refund is the reference
  // another. It has the id alone, so that it is never longer than KOIN accepts.
  const key = `${operationId}-undo${refunds.length - refunded.length}`;
  const remaining = { ...amount, minor };
  const response = await client.refund(call, orderId, buildRefundBody(key, remaining));
  if (response.kind !== 'answered' || !isSuccess(response)) return unknown('not-refunded');
  const outcome = toRefundOutcome(parseRefund(response.body), remaining);
  if (outcome.kind === 'approved') return isRefundPending ? unknown('refund-in-progress') : REVERSED;
  return outcome.kind === 'pending' ? unknown('refund-in-progress') : unknown('not-refunded');
}

async function classifyCapture(
  client: KoinClient,
  call: ProcessorCall,
  history: PaymentHistory,
  subject: OperationRef,
): Promise<ReversalResult> {
  const orderRef = findOrderRef(history);
  if (orderRef === undefined) return unknown('no-payment');
  const order = await client.findOrder(call, orderRef);
  if (isUnresolved(order)) return order.kind === 'not-found' ? unknown('order-not-found') : order;
  const finding = findCapture(order, history, subject);
  if (finding.kind === 'refused' || finding.kind === 'reversed') return REVERSED_WITH_AUTHORIZATION;
  if (finding.kind === 'approved') return NOT_REVERSIBLE;
  return finding.kind === 'pending' ? unknown('pending') : finding;
}

function classifyRefund(finding: InquiryResult): ReversalResult {
  if (finding.kind === 'not-found' || finding.kind === 'unknown') return finding;
  return finding.kind === 'refused' ? REVERSED : NOT_REVERSIBLE;
}
