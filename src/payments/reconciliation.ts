import { HOUR, MINUTE, type Random } from '../kernel/clock.ts';
import type { Operation, Payment, PaymentSnapshot, Reconciliation } from './payment.ts';
import { type Capabilities, type InquiryResult, isRequestedVoid, type ProcessorSettings } from './processor.ts';
import { parseDuration } from './settings.ts';

/** When a payment is processed next, and until when its completed operations are rechecked. Pure; times in milliseconds. */

/** How long payments keep a status until they expire. */
export interface ExpiryTimes {
  readonly opened: number;
  readonly authorization: number;
}

export interface RecoveryTimes {
  readonly timeout: number;
  readonly recoveryDelay: number;
  readonly recoveryMax: number;
  readonly lifetimes: ExpiryTimes;
}

/** Settings are read once for many payments, and each payment needs their times several times. */
const PARSED_TIMES = new WeakMap<ProcessorSettings, RecoveryTimes>();

/** `ahead`: by how much the deciding clock is ahead of the time of the schedules; lifetimes are longer by it. */
export function recoveryTimes(settings: ProcessorSettings, ahead = 0): RecoveryTimes {
  let times = PARSED_TIMES.get(settings);
  if (times === undefined) {
    times = parseTimes(settings);
    PARSED_TIMES.set(settings, times);
  }
  const { opened, authorization } = times.lifetimes;
  if (ahead === 0) return times;
  return { ...times, lifetimes: { opened: opened + ahead, authorization: authorization + ahead } };
}

const parseTimes = (settings: ProcessorSettings): RecoveryTimes => ({
  timeout: Number(settings['timeout-ms']),
  recoveryDelay: Number(settings['recovery-delay-ms']),
  recoveryMax: parseDuration(settings['recovery-max'] ?? ''),
  lifetimes: {
    opened: parseDuration(settings['opened-expiry'] ?? ''),
    authorization: parseDuration(settings['authorization-expiry'] ?? ''),
  },
});

/** The processor must have answered by then, and had the time to record what it did. */
export const firstRecoveryAt = (operation: Operation, { timeout, recoveryDelay }: RecoveryTimes): number =>
  operation.createdAt + timeout + recoveryDelay;

const MIN_DELAY_MS = 250;
const MAX_DOUBLINGS = 12;

/** The delay doubles with each attempt up to an hour. A jitter of a tenth spreads payments that failed together. */
export function backOff(attempts: number, { recoveryDelay }: RecoveryTimes, random: Random): number {
  const delay = Math.max(recoveryDelay, MIN_DELAY_MS) * 2 ** Math.min(attempts, MAX_DOUBLINGS);
  const capped = Math.min(delay, HOUR);
  return capped + random.below(Math.ceil(capped / 10));
}

/** The state of a payment whose operation has just started. */
export const NEW_RECONCILIATION: Reconciliation = {
  dueAt: undefined,
  attempts: 0,
  inDoubtSince: undefined,
  lastProblem: undefined,
  inquiries: 0,
  lastInquiredAt: undefined,
  consecutiveNotFound: 0,
  isTakenOver: false,
  recheckIds: [],
  contradictoryIds: [],
  closedIds: [],
};

export const withRecheck = (reconciliation: Reconciliation, operationId: string): Reconciliation => ({
  ...reconciliation,
  recheckIds: [...withoutRecheck(reconciliation, operationId).recheckIds, operationId],
});

export const withoutRecheck = (reconciliation: Reconciliation, operationId: string): Reconciliation => ({
  ...reconciliation,
  recheckIds: reconciliation.recheckIds.filter((id) => id !== operationId),
});

/** The processor's record contradicts a completed operation: the payment is in doubt until that is answered otherwise. */
export const withContradiction = (
  reconciliation: Reconciliation,
  operationId: string,
  now: number,
): Reconciliation => ({
  ...withRecheck(reconciliation, operationId),
  contradictoryIds: reconciliation.contradictoryIds.includes(operationId)
    ? reconciliation.contradictoryIds
    : [...reconciliation.contradictoryIds, operationId],
  inDoubtSince: reconciliation.inDoubtSince ?? now,
  lastProblem: 'contradiction',
});

export const withoutContradiction = (reconciliation: Reconciliation, operationId: string): Reconciliation => ({
  ...reconciliation,
  contradictoryIds: reconciliation.contradictoryIds.filter((id) => id !== operationId),
});

/** The reconciliation after one more inquiry. */
export const withInquiry = (reconciliation: Reconciliation, now: number): Reconciliation => ({
  ...reconciliation,
  inquiries: reconciliation.inquiries + 1,
  lastInquiredAt: now,
});

/** Only contradictory operations still keep the payment in doubt. */
export const withRemainingDoubt = (reconciliation: Reconciliation): Reconciliation => ({
  ...reconciliation,
  inDoubtSince: reconciliation.contradictoryIds.length > 0 ? reconciliation.inDoubtSince : undefined,
});

/** An operation started, or a question was answered: attempts are counted from zero, and the last problem stays for operators. */
export const resolved = (reconciliation: Reconciliation): Reconciliation =>
  withRemainingDoubt({ ...reconciliation, attempts: 0, inquiries: 0, lastInquiredAt: undefined });

/** True when a recheck is already due: a flood of notifications must not block other updates of the payment. */
export const isRecheckDue = ({ payment, operation, reconciliation }: PaymentSnapshot, now: number): boolean =>
  reconciliation.recheckIds.includes(operation.id) &&
  (payment.operationInProgress !== undefined || (reconciliation.dueAt !== undefined && reconciliation.dueAt <= now));

/**
 * Returns when a payment is due that has no operation in progress: at its expiry, or at `recheckAt` when an operation is
 * rechecked; undefined for never.
 */
export function nextRecoveryAt(
  { expiresAt }: Pick<Payment, 'expiresAt'>,
  { recheckIds }: Pick<Reconciliation, 'recheckIds'>,
  recheckAt: number,
): number | undefined {
  const times = [...(recheckIds.length > 0 ? [recheckAt] : []), ...(expiresAt === undefined ? [] : [expiresAt])];
  return times.length === 0 ? undefined : Math.min(...times);
}

/** The data that decides when a payment is due next. `event` is the type of the last event. */
interface Due {
  readonly event: string;
  readonly before: PaymentSnapshot | undefined;
  readonly after: PaymentSnapshot;
  readonly now: number;
  readonly times: RecoveryTimes;
  readonly random: Random;
}

/** Returns when the payment is due after an event; undefined for never. Pure but for the jitter. */
export function nextDueAt({ event, before, after, now, times, random }: Due): number | undefined {
  const { payment, operation, reconciliation } = after;
  const retryAt = (): number => now + backOff(reconciliation.attempts, times, random);
  if (payment.operationInProgress !== undefined) {
    if (event === 'unanswered') return retryAt();
    const isStarted = before?.payment.operationInProgress !== payment.operationInProgress;
    return isStarted ? firstRecoveryAt(operation, times) : reconciliation.dueAt;
  }
  // A hint, or a response that contradicts what recovery found out: the recheck is due immediately.
  const isHint = event === 'notified' || (event === 'responded' && before?.operation.state !== 'in_progress');
  return isHint ? now : nextRecoveryAt(payment, reconciliation, retryAt());
}

/** Time until which an unconfirmed request of this time may still arrive at the processor. */
const recheckUntil = (at: number, recoveryMax: number): number => at + 2 * recoveryMax;

/** Why an inquiry at another account than that of the operation has no result: its answer would say nothing. */
export const ACCOUNT_CHANGED = 'account-changed';

/** True when the inquiry has to be repeated. That of another account never has an answer. */
const isUnanswered = (result: InquiryResult): boolean =>
  result.kind === 'unknown' && result.problem !== ACCOUNT_CHANGED;

/** Records of a processor may show a release so much later. */
const RELEASE_SHOWN_MS = 10 * MINUTE;

type PaymentWithOperation = Pick<PaymentSnapshot, 'payment' | 'operation'>;

/**
 * Decides of a completed operation, after an inquiry about it, whether the processor may report more. `latestAt`: when the newest
 * operation of the payment started.
 */
export function needsRecheck(
  { payment, operation }: PaymentWithOperation,
  result: InquiryResult,
  now: number,
  recoveryMax: number,
  latestAt = operation.createdAt,
): boolean {
  if (operation.state === 'refused') {
    // The last recheck has to be answered: an effect that appeared before it would be missed.
    const isDue = now < recheckUntil(operation.createdAt, recoveryMax) || isUnanswered(result);
    return isDue && (isRequestedVoid(operation) ? isHeld(payment) : result.kind !== 'refused');
  }
  // A notification scheduled the recheck, and the inquiry was not answered, or the records of the processor lag behind.
  const mayBeHeld = ['unknown', 'not-found'].includes(result.kind) && payment.status === 'Authorized';
  // Its order was pending when the payment was released, and may still be decided.
  const isPending = result.kind === 'pending' && now < recheckUntil(latestAt, recoveryMax);
  if (operation.id === payment.id)
    return payment.status === 'Opened' || mayBeHeld || (isOver(payment) && (isPending || isUnanswered(result)));
  return operation.type === 'payment_refund' && result.kind !== 'approved';
}

/**
 * True when the processor's record contradicts ours and no transition covers it: only a person can resolve it, or another
 * record of the processor. The snapshot is as it is after the inquiry.
 */
export function isContradicted({ payment, operation }: PaymentWithOperation, result: InquiryResult): boolean {
  if (result.kind !== 'approved' || isRequestedVoid(operation)) return false;
  if (operation.state === 'refused') return true;
  // The processor holds, or has captured, an amount of a payment that ended without it, or more than was requested.
  const isRecorded =
    payment.status === 'Collected' || (payment.status === 'Authorized' && result.captured === undefined);
  return operation.id === payment.id && !isRecorded;
}

/**
 * True when an operation remains contradictory after an inquiry. A record that is not found, or not decided, takes nothing
 * back of what the processor has reported before.
 */
export function isContradictory(after: PaymentSnapshot, result: InquiryResult): boolean {
  const { closedIds, contradictoryIds } = after.reconciliation;
  const { id } = after.operation;
  if (closedIds.includes(id)) return false;
  const isUndecided = ['unknown', 'not-found', 'pending'].includes(result.kind);
  return isContradicted(after, result) || (contradictoryIds.includes(id) && isUndecided);
}

/** True when the record of a payment that was released just now may show it as it was before. */
export const mayShowFormerState = (
  { payment, operation, reconciliation }: PaymentSnapshot,
  result: InquiryResult,
  now: number,
  latestAt = Number.NEGATIVE_INFINITY,
): boolean =>
  operation.id === payment.id &&
  operation.state === 'accepted' &&
  result.kind === 'approved' &&
  result.captured === undefined &&
  !reconciliation.contradictoryIds.includes(operation.id) &&
  now < latestAt + RELEASE_SHOWN_MS;

/**
 * True for a payment that was pending, is authorized by now, and lacks its capture where that is a call of its own. It is rechecked
 * until the capture has started, so that a crash in between does not lose it. The capture of a payment whose first
 * operation was completed as Authorized was declined, or not sent: it is the merchant who captures that one, or voids it.
 */
export const lacksCapture = (
  { payment, operation }: PaymentWithOperation,
  { sale }: Pick<Capabilities, 'sale'>,
): boolean =>
  payment.type === 'payment' &&
  payment.status === 'Authorized' &&
  payment.operationCount === 1 &&
  operation.stateAfter?.status === 'Opened' &&
  !sale;

export const isHeld = ({ status }: Payment): boolean => status === 'Opened' || status === 'Authorized';

/** Released or failed: nothing of the payment is left at the processor. */
const isOver = (payment: Payment): boolean => !isHeld(payment) && payment.status !== 'Collected';
