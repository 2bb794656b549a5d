import type { Operation, OperationState, Payment } from './payment.ts';
import { stateOf } from './payment.ts';
import type { Approved, InquiryResult, Outcome, ProcessorDetails } from './processor.ts';
import { type FailureStatus, isAllowedTransition, type Status, type Trigger } from './transitions.ts';

/** What the word of a processor makes of a payment and its operation. Pure. */

/** A payment with the operation that was looked at. */
export interface PaymentSnapshot {
  readonly payment: Payment;
  readonly operation: Operation;
}

/** When the clock ends payments, milliseconds after they came into their status. */
export interface Lifetimes {
  readonly opened: number;
  readonly authorization: number;
}

export const NEVER_RECEIVED: FailureStatus = { status: 'ProcessorError', reason: 'ConnectionRejected' };
export const NEVER_CONFIRMED: FailureStatus = { status: 'ProcessorError', reason: 'Undefined' };

/** The word of a processor that ends an operation under way; undefined when it decides nothing. */
export function settle(
  pair: PaymentSnapshot,
  word: Outcome | InquiryResult,
  now: number,
  lifetimes: Lifetimes,
): PaymentSnapshot | undefined {
  const { type } = pair.operation;
  if (type === 'authorization' || type === 'payment') return settleFirst(pair, word, now, lifetimes);
  if (type === 'capture') return settleCapture(pair, word);
  if (type === 'payment_refund') return settleRefund(pair, word);
  return settleEnding(pair, word);
}

function settleFirst(
  pair: PaymentSnapshot,
  word: Outcome | InquiryResult,
  now: number,
  lifetimes: Lifetimes,
): PaymentSnapshot | undefined {
  if (word.kind === 'not-sent') return refused(pair, word.failure ?? NEVER_RECEIVED);
  if (word.kind === 'refused') return refused(pair, word.failure, word.details);
  if (word.kind === 'pending') return watched(ended(pair, 'accepted', { particulars: word.details }));
  const payment = standing(pair.payment, word, now, lifetimes);
  if (payment === undefined || !('details' in word)) return undefined;
  return ended({ ...pair, payment }, 'accepted', { particulars: word.details });
}

/**
 * The payment as the processor says that it stands; undefined when that says nothing new, or nothing that the transition
 * table allows.
 */
export function standing(
  payment: Payment,
  word: Outcome | InquiryResult,
  now: number,
  lifetimes: Lifetimes,
): Payment | undefined {
  if (word.kind === 'refused') return moved({ ...payment, reason: word.failure.reason }, word.failure.status, 'answer');
  if (word.kind === 'reversed') return moved(payment, payment.status === 'Opened' ? 'Cancelled' : 'Voided', 'answer');
  return word.kind === 'approved' ? approved(payment, word, now, lifetimes) : undefined;
}

function approved(payment: Payment, word: Approved, now: number, lifetimes: Lifetimes): Payment | undefined {
  const authorized = { ...payment, authorized: payment.amount };
  if (word.captured !== undefined) {
    // More than was asked for, or another currency, cannot be: then it stays in doubt.
    const { minor, currency } = word.captured;
    if (minor > payment.amount || currency !== payment.currency) return undefined;
    return moved({ ...authorized, collected: minor }, 'Collected', 'answer');
  }
  const ours = now + lifetimes.authorization;
  return moved({ ...authorized, expiresAt: Math.min(ours, word.details.expiresAt ?? ours) }, 'Authorized', 'answer');
}

function settleCapture(pair: PaymentSnapshot, word: Outcome | InquiryResult): PaymentSnapshot | undefined {
  const { payment, operation } = pair;
  switch (word.kind) {
    case 'approved':
    case 'pending': {
      const told = isTold(pair) ? payment : undefined;
      const collected = told ?? moved({ ...payment, collected: operation.amount }, 'Collected', 'capture');
      return collected && ended({ ...pair, payment: collected }, 'accepted', { particulars: word.details });
    }
    case 'reversed': {
      const voided = payment.status === 'Voided' ? payment : moved(payment, 'Voided', 'answer');
      return voided && refused({ ...pair, payment: voided }, NEVER_CONFIRMED);
    }
    default:
      return settleRefusal(pair, word);
  }
}

/** Has news, for which the processor was asked in the same moment, told of this very capture before its own answer? */
const isTold = ({ payment, operation }: PaymentSnapshot): boolean =>
  operation.state === 'in_progress' && payment.status === 'Collected' && payment.collected === operation.amount;

function settleRefund(pair: PaymentSnapshot, word: Outcome | InquiryResult): PaymentSnapshot | undefined {
  const { payment, operation } = pair;
  if (word.kind !== 'approved' && word.kind !== 'pending') return settleRefusal(pair, word);
  const refunded = payment.refunded + operation.amount;
  // More than was collected cannot be: then it stays in doubt.
  if (refunded > payment.collected) return undefined;
  const returned = moved({ ...payment, refunded }, 'Collected', 'refund');
  const after = returned && ended({ ...pair, payment: returned }, 'accepted', { particulars: word.details });
  return word.kind === 'pending' ? after && watched(after) : after;
}

/** A void, or an expiry, which nothing but its success ends. */
function settleEnding(pair: PaymentSnapshot, word: Outcome | InquiryResult): PaymentSnapshot | undefined {
  const { payment, operation } = pair;
  const isExpiry = operation.type === 'expiry';
  if (word.kind === 'approved' || word.kind === 'reversed') {
    const to = payment.status === 'Opened' ? 'Cancelled' : 'Voided';
    const marked = { ...payment, isExpired: isExpiry };
    // News may have told of it before.
    const isGone = payment.status === 'Cancelled' || payment.status === 'Voided';
    const gone = isGone ? marked : moved(marked, to, isExpiry ? 'expiry' : 'void');
    return gone && ended({ ...pair, payment: gone }, 'accepted', { particulars: word.details });
  }
  return isExpiry ? undefined : settleRefusal(pair, word);
}

function settleRefusal(pair: PaymentSnapshot, word: Outcome | InquiryResult): PaymentSnapshot | undefined {
  if (word.kind === 'not-sent') return refused(pair, word.failure ?? NEVER_RECEIVED);
  return word.kind === 'refused' ? refused(pair, word.failure, word.details) : undefined;
}

/** Ends an operation that had no effect; a first one takes its payment along. */
function refused(
  pair: PaymentSnapshot,
  failed: FailureStatus,
  particulars: ProcessorDetails = {},
): PaymentSnapshot | undefined {
  const { payment, operation } = pair;
  const isFirst = operation.id === payment.id;
  const left = isFirst ? moved({ ...payment, reason: failed.reason }, failed.status, 'answer') : payment;
  return left && ended({ ...pair, payment: left }, 'refused', { particulars, failed });
}

/** Without the processor's definite word: it is looked for a while yet, in case the request arrives late. */
export function refusedForNow(pair: PaymentSnapshot, failed: FailureStatus): PaymentSnapshot | undefined {
  const end = refused(pair, failed);
  return end && watched(end);
}

function watched({ payment, operation }: PaymentSnapshot): PaymentSnapshot {
  const others = payment.recheckIds.filter((id) => id !== operation.id);
  return { operation, payment: { ...payment, recheckIds: [...others, operation.id] } };
}

/** An operation that the payment's own standing at the processor has made pointless, whether that is news here or not. */
export function overtaken(
  pair: PaymentSnapshot,
  word: InquiryResult,
  now: number,
  lifetimes: Lifetimes,
): PaymentSnapshot {
  const payment = standing(pair.payment, word, now, lifetimes) ?? pair.payment;
  return ended({ ...pair, payment }, 'refused', { particulars: {}, failed: NEVER_CONFIRMED });
}

/** What the processor says now about an operation that is watched; the pair as it was when that says nothing new. */
export function resettle(
  pair: PaymentSnapshot,
  word: InquiryResult,
  now: number,
  lifetimes: Lifetimes,
): PaymentSnapshot {
  const { payment, operation } = pair;
  if (operation.id === payment.id) {
    const stands = standing(payment, word, now, lifetimes);
    return stands === undefined ? pair : { payment: stands, operation: merged(operation, word) };
  }
  if (word.kind === 'refused' && operation.state === 'accepted' && operation.type === 'payment_refund') {
    const kept = { ...payment, refunded: payment.refunded - operation.amount };
    const told = {
      ...merged(operation, word),
      state: 'refused',
      failure: word.failure,
      stateAfter: stateOf(kept),
    } as const;
    return { payment: kept, operation: told };
  }
  const isDone = isVoid(operation) ? word.kind === 'reversed' && isHeld(payment) : word.kind === 'approved';
  if (!isDone) return pair;
  if (operation.state === 'accepted') return { payment, operation: merged(operation, word) };
  // It did arrive, late. Whatever is under way meanwhile stays so.
  const late = settle(pair, word, now, lifetimes);
  if (late === undefined) return pair;
  const { operationInProgress: busy, consecutiveNotFound: absences, reversalStarted: isGivenUp } = payment;
  return {
    ...late,
    payment: { ...late.payment, operationInProgress: busy, consecutiveNotFound: absences, reversalStarted: isGivenUp },
  };
}

/** Done at the processor, and beyond what can be entered here: only people can tell what to do. */
export function isBeyondUs(before: PaymentSnapshot, after: PaymentSnapshot, word: InquiryResult): boolean {
  const { payment, operation } = before;
  if (after.operation.state !== 'refused' || isVoid(operation)) return false;
  // One that was given up is given up again, and that is refused when it cannot be undone.
  return operation.id === payment.id ? word.kind === 'refused' : word.kind === 'approved';
}

/** Is there more to expect of an operation that is watched? */
export function expectsMore(
  { payment, operation }: PaymentSnapshot,
  word: InquiryResult,
  now: number,
  lateUntil: number,
): boolean {
  if (operation.state === 'refused') {
    // The last look has to be answered: what turned up before it would be forgotten.
    const isDue = now < lateUntil || word.kind === 'unknown';
    return isDue && (isVoid(operation) ? isHeld(payment) : word.kind !== 'refused');
  }
  // News came of it, and the question that they led to was lost.
  const isUnheard = word.kind === 'unknown' && payment.status === 'Authorized';
  if (operation.id === payment.id) return payment.status === 'Opened' || isUnheard;
  return operation.type === 'payment_refund' && word.kind !== 'approved';
}

/** What the processor says about one that is watched is how the payment stands. */
const isVoid = ({ type }: Operation): boolean => type === 'authorization_void';

const isHeld = ({ status }: Payment): boolean => status === 'Opened' || status === 'Authorized';

export const unwatched = (payment: Payment, id: string): Payment => ({
  ...payment,
  recheckIds: payment.recheckIds.filter((each) => each !== id),
});

function merged(operation: Operation, word: InquiryResult): Operation {
  if (!('details' in word)) return operation;
  const particulars = together(operation.details, word.details);
  // The code of an approval says nothing any more.
  const told = word.kind === 'refused' ? { ...particulars, responseCode: word.details.responseCode } : particulars;
  return { ...operation, details: told };
}

/** What was told earlier stays unless it is told anew: a later answer often tells less. */
function together(earlier: ProcessorDetails, later: ProcessorDetails): ProcessorDetails {
  const told = Object.entries(later).filter(([, value]) => value !== undefined);
  return { ...earlier, ...Object.fromEntries(told) };
}

/** Undefined when the transition table has no such line. */
function moved(payment: Payment, to: Status, by: Trigger): Payment | undefined {
  if (!isAllowedTransition(payment.status, to, by)) return undefined;
  return { ...payment, status: to, expiresAt: to === 'Authorized' ? payment.expiresAt : undefined };
}

function ended(
  { payment, operation }: PaymentSnapshot,
  state: OperationState,
  told: { particulars: ProcessorDetails; failed?: FailureStatus },
): PaymentSnapshot {
  const particulars = together(operation.details, told.particulars);
  return {
    payment: {
      ...payment,
      operationInProgress: undefined,
      consecutiveNotFound: 0,
      ...(payment.reversalStarted === true && { reversalStarted: undefined }),
    },
    operation: { ...operation, state, details: particulars, failure: told.failed, stateAfter: stateOf(payment) },
  };
}
