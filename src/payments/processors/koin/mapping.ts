import type { Json } from '../../../kernel/json.ts';
import type { Money } from '../../../kernel/money.ts';
import {
  type InquiryResult,
  type OperationRef,
  type Outcome,
  type PaymentHistory,
  type ProcessorDetails,
  type Refused,
  refused,
  unknown,
} from '../../processor.ts';
import { RESPONSE_CODES, type Reason } from '../../transitions.ts';
import { valueAt } from '../response-fields.ts';
import { idAt, parseAmountObject, textAt, timeAt } from './fields.ts';

/**
 * The meaning of KOIN's statuses, reasons and responses (Payments API 1.0), and what an order in its records says about
 * one of our operations. Pure.
 */

/** The state of an order at KOIN. */
export type OrderState =
  | { readonly kind: 'opened' | 'authorized' | 'collected' | 'refunded' | 'reversed' }
  | {
      readonly kind: 'failed';
      readonly reason: Reason;
      /** Such a failure may hide an approval of the acquirer: only the order's own record makes it final. */
      readonly mayHideApproval: boolean;
    };

/** A refunded order remains a captured one for us; its refunds contain the returned amounts. */
export const ORDER_STATUSES = {
  Opened: 'opened',
  Unknown: 'opened',
  Pending: 'opened',
  Waiting: 'opened',
  Published: 'opened',
  Authorized: 'authorized',
  Collected: 'collected',
  Refunded: 'refunded',
  Cancelled: 'reversed',
  Voided: 'reversed',
  Failed: 'failed',
} as const satisfies Record<string, OrderState['kind']>;

/**
 * Reasons of a failed order, in every spelling of KOIN's documentation; a reason that is missing or not listed is
 * Undefined.
 */
export const FAILURE_REASONS: Readonly<Record<string, Reason>> = {
  Rejected: 'Rejected',
  ChannelRejected: 'Rejected',
  InsufficientFunds: 'InsufficientFunds',
  InvalidCard: 'InvalidCard',
  Referred: 'Referred',
  ExpiredCard: 'ExpiredCard',
  StolenCard: 'StolenCard',
  InvalidData: 'InvalidData',
  Antifrad: 'Antifraud',
  Antifraud: 'Antifraud',
  InvalidConfiguration: 'InvalidConfiguration',
  Undefined: 'Undefined',
  'Connection Rejected': 'ConnectionRejected',
  ConnectionRejected: 'ConnectionRejected',
  ConnectionRefused: 'ConnectionRejected',
};

const REFUND_STATUSES = { InProgress: 'pending', Refunded: 'done', Failed: 'failed' } as const;

/** Codes are compared without regard to case and blanks, because KOIN's documentation differs in both. */
const normalizeCode = (word: string): string => word.replace(/\s/g, '').toLowerCase();
const byNormalizedCode = <T>(table: Readonly<Record<string, T>>): ReadonlyMap<string, T> =>
  new Map(Object.entries(table).map(([word, meaning]) => [normalizeCode(word), meaning]));

const STATES = byNormalizedCode<OrderState['kind']>(ORDER_STATUSES);
const REASONS = byNormalizedCode<Reason>(FAILURE_REASONS);
const REFUND_STATES = byNormalizedCode(REFUND_STATUSES);

export interface KoinRefund {
  readonly id: string | undefined;
  readonly amount: Money | undefined;
  readonly state: 'pending' | 'done' | 'failed';
  readonly reason: Reason;
}

export interface KoinOrder {
  readonly id: string | undefined;
  /** Our reference of the authorization. */
  readonly operationRef: string | undefined;
  readonly amount: Money | undefined;
  readonly state: OrderState;
  readonly details: ProcessorDetails;
  readonly refunds: readonly KoinRefund[];
}

/** Parses a response about an order (create, get, capture, cancel); undefined when it cannot be understood. */
export function parseOrder(body: Json | undefined): KoinOrder | undefined {
  const state = parseOrderState(body);
  const refunds = valueAt(body, 'refunds') ?? [];
  const read = Array.isArray(refunds) ? refunds.map((each) => parseRefund(each)) : [undefined];
  if (state === undefined || read.includes(undefined)) return undefined;
  return {
    id: idAt(body, 'order_id'),
    operationRef: textAt(body, 'transaction.reference_id'),
    amount: parseAmountObject(valueAt(body, 'transaction.amount')),
    state,
    details: parseDetails(body, state),
    refunds: read.filter((refund) => refund !== undefined),
  };
}

/** Parses a response about a refund, or an entry of an order's refunds: they name the id differently. */
export function parseRefund(body: Json | undefined): KoinRefund | undefined {
  const state = REFUND_STATES.get(normalizeCode(textAt(body, 'status.type') ?? ''));
  if (state === undefined) return undefined;
  return {
    id: idAt(body, 'refund_id') ?? idAt(body, 'id'),
    amount: parseAmountObject(valueAt(body, 'amount')),
    state,
    reason: parseReason(body),
  };
}

export function parseOrderState(body: Json | undefined): OrderState | undefined {
  const code = normalizeCode(textAt(body, 'status.type') ?? '');
  // Merchants have received this reason in place of the status.
  const kind = code === 'connectionrefused' ? 'failed' : STATES.get(code);
  if (kind !== 'failed') return kind === undefined ? undefined : { kind };
  const reason = code === 'connectionrefused' ? 'ConnectionRejected' : parseReason(body);
  return { kind, reason, mayHideApproval: ['Undefined', 'ConnectionRejected'].includes(reason) };
}

function parseReason(body: Json | undefined): Reason {
  const isDenied = normalizeCode(textAt(body, 'antifraud.type') ?? '') === 'denied';
  if (isDenied) return 'Antifraud';
  return REASONS.get(normalizeCode(textAt(body, 'status.reason') ?? '')) ?? 'Undefined';
}

/** `code`, `message` and `causes` are never read: they may contain card data. */
function parseDetails(body: Json | undefined, state: OrderState): ProcessorDetails {
  const providerReference = valueAt(body, 'transaction.provider_reference');
  const reference = (name: string): string | undefined => idAt(providerReference, name);
  const mayExpire = state.kind === 'opened' || state.kind === 'authorized';
  return {
    processorId: idAt(body, 'order_id'),
    responseCode: toResponseCode(state),
    reconciliationId: reference('nsu') ?? reference('tid') ?? reference('payment_id'),
    approvalCode: idAt(body, 'transaction.authorization_code'),
    networkId: reference('order_id') ?? reference('tid'),
    expiresAt: mayExpire ? timeAt(body, 'status.expiration') : undefined,
  };
}

function toResponseCode(state: OrderState): string | undefined {
  if (state.kind === 'failed') return RESPONSE_CODES[state.reason];
  return state.kind === 'opened' ? undefined : RESPONSE_CODES.approved;
}

/** KOIN's Connection Rejected is an error at the acquirer or another supplier of KOIN. */
const refuse = (reason: Reason, details?: ProcessorDetails): Refused =>
  refused(reason, details, reason === 'ConnectionRejected' ? 'processor-failed' : undefined);

/** Returns the present state of an authorization or payment. */
export function toPaymentResult(order: KoinOrder, expected: Money): InquiryResult {
  const { state, details, amount, id } = order;
  if (differs(amount, expected)) return unknown('contradiction');
  if (state.kind === 'opened') return { kind: 'pending', details };
  if (state.kind === 'reversed') return { kind: 'reversed', details };
  if (state.kind === 'failed') return refuse(state.reason, details);
  if (amount === undefined || id === undefined) return unknown('incomplete');
  return { kind: 'approved', captured: state.kind === 'authorized' ? undefined : amount, details };
}

export function toCaptureResult(order: KoinOrder, expected: Money): InquiryResult {
  const { state, amount } = order;
  if (differs(amount, expected)) return unknown('contradiction');
  if (state.kind === 'failed') return refuse(state.reason);
  if (state.kind === 'reversed') return { kind: 'reversed', details: modificationDetails(order) };
  if (state.kind === 'opened' || state.kind === 'authorized') return { kind: 'not-found' };
  return amount === undefined ? unknown('incomplete') : { kind: 'approved', details: modificationDetails(order) };
}

export function toVoidResult(order: KoinOrder): InquiryResult {
  const { state } = order;
  if (state.kind === 'reversed') return { kind: 'approved', details: modificationDetails(order) };
  if (state.kind === 'failed') return refuse(state.reason);
  return state.kind === 'collected' || state.kind === 'refunded' ? refused('InvalidData') : { kind: 'not-found' };
}

/** Returns the outcome of one refund. */
export function toRefundOutcome(
  refund: KoinRefund | undefined,
  expected: Money,
): Exclude<Outcome, { kind: 'not-sent' }> {
  if (refund === undefined) return unknown('unreadable');
  if (differs(refund.amount, expected)) return unknown('contradiction');
  const details = { processorId: refund.id, responseCode: RESPONSE_CODES.approved };
  if (refund.state === 'failed') return refuse(refund.reason);
  if (refund.state === 'pending') return { kind: 'pending', details: { processorId: refund.id } };
  return refund.amount === undefined ? unknown('incomplete') : { kind: 'approved', details };
}

/**
 * The entries of an order's refunds do not contain our reference. Ours is the one of its amount that no earlier refund
 * accounts for; a failed one is never taken for ours, because it may be an earlier attempt, and has moved no money.
 */
export function toRefundResult(
  { refunds }: KoinOrder,
  { operations }: PaymentHistory,
  subject: OperationRef,
): InquiryResult {
  const identified = refunds.find(({ id }) => id !== undefined && id === subject.processorId);
  if (identified !== undefined) return toRefundOutcome(identified, subject.amount);
  const others = operations.filter(
    ({ type, operationRef }) => type === 'payment_refund' && operationRef !== subject.operationRef,
  );
  const ids = new Set(others.map(({ processorId }) => processorId));
  const unassigned = refunds.filter(({ id, state }) => state !== 'failed' && (id === undefined || !ids.has(id)));
  if (unassigned.some(({ amount }) => amount === undefined)) return unknown('unreadable');
  const sameAmount = unassigned.filter(({ amount }) => !differs(amount, subject.amount));
  const unidentified = others.filter(
    ({ processorId, amount }) => processorId === undefined && !differs(amount, subject.amount),
  );
  const [first] = sameAmount;
  if (first === undefined || sameAmount.length <= unidentified.length) return { kind: 'not-found' };
  return sameAmount.length === 1 ? toRefundOutcome(first, subject.amount) : unknown('ambiguous');
}

const differs = (found: Money | undefined, expected: Money): boolean =>
  found !== undefined && (found.minor !== expected.minor || found.currency !== expected.currency);

/** Captures and voids have no id of their own at KOIN: the order's id would be taken for the authorization's. */
function modificationDetails({ details: { responseCode, reconciliationId, networkId } }: KoinOrder): ProcessorDetails {
  return { responseCode, reconciliationId, networkId };
}
