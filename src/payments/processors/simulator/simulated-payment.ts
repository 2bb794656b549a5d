import { HOUR, SECOND } from '../../../kernel/clock.ts';
import type { Money } from '../../../kernel/money.ts';
import type { Reason } from '../../transitions.ts';
import type { DelayedChange } from './rules.ts';
import { type Fault, type Modification, nextFault } from './triggers.ts';

/**
 * The rules of the simulator's records: the state of a payment at a time, and the effect of a capture, refund or void.
 * Delayed changes are computed from the time, never written, so that a restart changes nothing. Pure.
 */

const CHANGE_DELAY_MS = 5 * SECOND;
const LATE_NOTIFICATION_MS = 20 * SECOND;

/**
 * A notification is repeated until an inquiry about the payment arrives: the node that received it may have crashed.
 */
const REPEAT_INTERVAL_MS = 10 * SECOND;
const REPEAT_UNTIL_MS = HOUR;

/** An authorization or payment in the simulator's records. It contains no card data. */
export interface SimulatedPayment {
  /** The caller's operation reference. */
  readonly operationRef: string;
  /** The processor's id of the operation. */
  readonly reference: string;
  /** The first outcome; `closed`: the reference was reversed before a request arrived. */
  readonly outcome: 'approved' | 'opened' | 'refused' | 'closed' | DelayedChange;
  /** The reason of `refused`. */
  readonly reason: Reason | undefined;
  readonly amount: Money;
  readonly isSale: boolean;
  /** The captured amount; undefined without a capture, as in a sale. */
  readonly captured: bigint | undefined;
  readonly refunded: bigint;
  readonly isReversed: boolean;
  /** Trigger words of later operations (`triggers.ts`). */
  readonly triggers: readonly string[];
  /** The time of the next notification. */
  readonly notifyAt: number | undefined;
  readonly createdAt: number;
  readonly revision: number;
}

type NewPaymentFields = Pick<
  SimulatedPayment,
  'operationRef' | 'reference' | 'outcome' | 'amount' | 'isSale' | 'createdAt'
> &
  Partial<Pick<SimulatedPayment, 'reason' | 'triggers'>>;

export const newSimulatedPayment = (fields: NewPaymentFields): SimulatedPayment => {
  const initial = { captured: undefined, refunded: 0n, isReversed: false, notifyAt: undefined, revision: 1 };
  return { reason: undefined, triggers: [], ...initial, ...fields };
};

/** A capture, refund or void in the simulator's records, including refused ones. */
export interface SimulatedModification {
  readonly operationRef: string;
  readonly reference: string;
  /** Our reference of the authorization or payment. */
  readonly payment: string;
  readonly type: Modification;
  readonly amount: Money;
  /** `reversed`: reversed after it was executed; `closed`: reversed before it arrived. */
  readonly outcome: 'approved' | 'refused' | 'reversed' | 'closed';
  readonly reason: Reason | undefined;
}

export type SimulatedState =
  | { readonly kind: 'not-found' }
  | { readonly kind: 'opened' }
  | { readonly kind: 'authorized'; readonly captured: bigint }
  | { readonly kind: 'reversed' }
  | { readonly kind: 'refused'; readonly reason: Reason };

/** Returns the state of the payment, including delayed changes. */
export function simulatedStateAt(payment: SimulatedPayment, now: number): SimulatedState {
  if (payment.outcome === 'closed') return { kind: 'not-found' };
  if (payment.isReversed) return { kind: 'reversed' };
  return computeState(payment, now >= changesAt(payment));
}

/** Returns the state at the time of its request, which the first response reported. */
export const initialState = (payment: SimulatedPayment): SimulatedState =>
  payment.outcome === 'closed' ? { kind: 'not-found' } : computeState({ ...payment, captured: undefined }, false);

function computeState(payment: SimulatedPayment, hasChanged: boolean): SimulatedState {
  const captured = payment.captured ?? (payment.isSale ? payment.amount.minor : 0n);
  const authorized: SimulatedState = { kind: 'authorized', captured };
  switch (payment.outcome) {
    case 'late_accept':
    case 'silent_accept':
      return hasChanged ? authorized : { kind: 'opened' };
    case 'late_reject':
      return hasChanged ? { kind: 'refused', reason: 'Rejected' } : { kind: 'opened' };
    case 'late_failure':
      // A captured payment can no longer fail.
      return hasChanged && captured === 0n ? { kind: 'refused', reason: 'Rejected' } : authorized;
    case 'opened':
      return { kind: 'opened' };
    case 'refused':
      return { kind: 'refused', reason: payment.reason ?? 'Undefined' };
    default:
      return authorized;
  }
}

const changesAt = ({ createdAt }: SimulatedPayment): number => createdAt + CHANGE_DELAY_MS;

/** Returns the time of the first notification; undefined for a payment that does not change, or changes silently. */
export function firstNotificationAt(payment: SimulatedPayment): number | undefined {
  const { outcome, isSale, triggers } = payment;
  if (outcome !== 'late_accept' && outcome !== 'late_reject' && (outcome !== 'late_failure' || isSale))
    return undefined;
  return changesAt(payment) + (triggers.includes('late_notification') ? LATE_NOTIFICATION_MS : 0);
}

/** True when the notification was sent at least once, and still awaits an inquiry. */
export const awaitsInquiry = (payment: SimulatedPayment): boolean =>
  payment.notifyAt !== undefined && payment.notifyAt !== firstNotificationAt(payment);

/** Returns the time of the next notification, at growing intervals; undefined at the end. */
export function nextNotificationAt(payment: SimulatedPayment, now: number): number | undefined {
  const since = now - (firstNotificationAt(payment) ?? now);
  return since < REPEAT_UNTIL_MS ? now + Math.max(REPEAT_INTERVAL_MS, since) : undefined;
}

/** The effect of a request for a capture, refund or void. */
interface ModificationPlan {
  /** The record to store under its reference; undefined when the request never arrived. */
  readonly stored: Pick<SimulatedModification, 'outcome' | 'reason'> | undefined;
  /** The payment after it; the same object when it does not change. */
  readonly after: SimulatedPayment;
  readonly response: 'given' | 'none' | 'not-sent';
}

export function planModification(
  payment: SimulatedPayment,
  type: Modification,
  amount: Money,
  now: number,
): ModificationPlan {
  const { fault, triggers } = nextFault(payment.triggers, type);
  const before = triggers === payment.triggers ? payment : { ...payment, triggers };
  if (fault === 'lost') return { stored: undefined, after: before, response: 'none' };
  if (fault === 'unsent') return { stored: undefined, after: before, response: 'not-sent' };
  const response = fault === 'timeout' ? 'none' : 'given';
  const after = failureBy(fault) ?? applyModification(before, type, amount, now);
  if (typeof after !== 'string') return { stored: { outcome: 'approved', reason: undefined }, after, response };
  return { stored: { outcome: 'refused', reason: after }, after: before, response };
}

function failureBy(fault: Fault | undefined): Reason | undefined {
  if (fault === 'decline') return 'Rejected';
  return fault === 'error' ? 'Undefined' : undefined;
}

/** Returns the payment after the modification, or the reason why it is refused. */
function applyModification(
  payment: SimulatedPayment,
  type: Modification,
  amount: Money,
  now: number,
): SimulatedPayment | Reason {
  const state = simulatedStateAt(payment, now);
  if (type === 'void') {
    if (state.kind === 'reversed') return payment;
    const isVoidable = state.kind === 'opened' || (state.kind === 'authorized' && state.captured === 0n);
    return isVoidable ? withChange(payment, now, { isReversed: true }) : 'InvalidData';
  }
  const { minor, currency } = amount;
  if (state.kind !== 'authorized' || minor <= 0n || currency !== payment.amount.currency) return 'InvalidData';
  if (type === 'capture') {
    const isAllowed = state.captured === 0n && minor <= payment.amount.minor;
    return isAllowed ? withChange(payment, now, { captured: minor }) : 'InvalidData';
  }
  const refunded = payment.refunded + minor;
  return refunded <= state.captured ? withChange(payment, now, { refunded }) : 'InvalidData';
}

/** A request before the delayed change prevents the change, and its notification. */
function withChange(payment: SimulatedPayment, now: number, by: Partial<SimulatedPayment>): SimulatedPayment {
  return { ...payment, ...by, notifyAt: now < changesAt(payment) ? undefined : payment.notifyAt };
}

/**
 * Returns the payment after a complete reversal, captures and refunds included; undefined when nothing of it is left.
 */
export function reversed(payment: SimulatedPayment, now: number): SimulatedPayment | undefined {
  const { kind } = simulatedStateAt(payment, now);
  return kind === 'opened' || kind === 'authorized' ? withChange(payment, now, { isReversed: true }) : undefined;
}

/** Returns the payment without that capture or refund; undefined when later ones depend on it. */
export function withoutModification(
  payment: SimulatedPayment,
  { type, amount }: SimulatedModification,
): SimulatedPayment | undefined {
  if (type === 'refund') return { ...payment, refunded: payment.refunded - amount.minor };
  return payment.refunded === 0n && !payment.isReversed ? { ...payment, captured: undefined } : undefined;
}
