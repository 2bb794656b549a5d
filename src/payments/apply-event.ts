import { withHistory } from './history.ts';
import {
  initialOperation,
  type Operation,
  type OperationState,
  type Payment,
  type PaymentSnapshot,
  type PaymentState,
  type Reconciliation,
  stateOf,
} from './payment.ts';
import type { PaymentEvent } from './payment-event.ts';
import {
  type Capabilities,
  type InquiryResult,
  isRequestedVoid,
  type Outcome,
  type ProcessorDetails,
} from './processor.ts';
import {
  type ExpiryTimes,
  isContradictory,
  isHeld,
  isRecheckDue,
  lacksCapture,
  mayShowFormerState,
  NEW_RECONCILIATION,
  needsRecheck,
  resolved,
  withContradiction,
  withInquiry,
  withoutContradiction,
  withoutRecheck,
  withRecheck,
  withRemainingDoubt,
} from './reconciliation.ts';
import { type FailureStatus, isAllowedTransition, type Status, type Trigger } from './transitions.ts';

type Inquired = Extract<PaymentEvent, { type: 'inquired' }>;

/** The settings and the capabilities of the payment's processor that decide. */
export interface PaymentRules {
  readonly lifetimes: ExpiryTimes;
  readonly recoveryMax: number;
  readonly capabilities: Pick<Capabilities, 'sale'>;
}

export const NEVER_RECEIVED: FailureStatus = { status: 'ProcessorError', reason: 'ConnectionRejected' };
export const NEVER_CONFIRMED: FailureStatus = { status: 'ProcessorError', reason: 'Undefined' };

/**
 * Returns the snapshot after the event; undefined when no row of the transition table allows it, or when it says nothing
 * new. Pure. The repository adds the time at which the payment is due next.
 */
export function applyEvent(
  snapshot: PaymentSnapshot | undefined,
  event: PaymentEvent,
  now: number,
  rules: PaymentRules,
): PaymentSnapshot | undefined {
  if (event.type === 'requested') return snapshot === undefined ? open(event, now, rules) : undefined;
  if (snapshot === undefined) return undefined;
  const after = change(snapshot, event, now, rules);
  return after && withHistory(snapshot, after, event, now);
}

function change(
  snapshot: PaymentSnapshot,
  event: Exclude<PaymentEvent, { type: 'requested' }>,
  now: number,
  rules: PaymentRules,
): PaymentSnapshot | undefined {
  const isInProgress = snapshot.operation.state === 'in_progress';
  switch (event.type) {
    case 'started':
      return snapshot.payment.operationInProgress === undefined ? start(snapshot, event.operation) : undefined;
    case 'responded':
      return isInProgress ? applyResponse(snapshot, event, now, rules) : scheduleContradicted(snapshot, event.outcome);
    case 'inquired':
      return isInProgress
        ? applyInquiry(snapshot, event.result, now, rules)
        : applyRecheck(snapshot, event, now, rules);
    case 'unanswered':
      return countAttempt(snapshot, event, now);
    case 'taken-over':
      return isInProgress ? takeOver(snapshot, event.notFound, now) : undefined;
    case 'reversed':
      return isInProgress ? withLaterRecheck(refuse(snapshot, 'processor', event.failure)) : undefined;
    case 'superseded':
      return isInProgress ? supersede(snapshot, event.state, now, rules) : undefined;
    case 'notified':
      return isRecheckDue(snapshot, now) ? undefined : withLaterRecheck(snapshot);
    default:
      return isInProgress ? applyManually(snapshot, event.outcome, now, rules) : closeDoubt(snapshot);
  }
}

function open(
  { order, operationRef, requestedBy }: Extract<PaymentEvent, { type: 'requested' }>,
  now: number,
  { lifetimes }: PaymentRules,
): PaymentSnapshot | undefined {
  if (!isAllowedTransition('new', 'Opened', 'request')) return undefined;
  const payment: Payment = {
    ...order,
    status: 'Opened',
    reason: undefined,
    authorized: 0n,
    collected: 0n,
    refunded: 0n,
    operationInProgress: order.id,
    operationCount: 1,
    createdAt: now,
    expiresAt: now + lifetimes.opened,
    isExpired: false,
  };
  return {
    payment,
    operation: initialOperation(payment, { operationRef, requestedBy }),
    reconciliation: NEW_RECONCILIATION,
  };
}

const start = ({ payment, reconciliation }: PaymentSnapshot, operation: Operation): PaymentSnapshot => ({
  payment: { ...payment, operationInProgress: operation.id, operationCount: payment.operationCount + 1 },
  operation,
  reconciliation: resolved(reconciliation),
});

/** An operation that completes, and its effect on the payment. */
interface Effect {
  readonly state: Exclude<OperationState, 'in_progress'>;
  /** Undefined when no row of the table allows it, or when the amounts cannot be. */
  readonly payment: Payment | undefined;
  readonly failure?: FailureStatus;
  /** The processor may report more. */
  readonly recheck?: true;
}

/**
 * The data that decides an effect, beside the payment: its operation, the trigger of a first operation, whether another
 * operation may have captured the payment, and the time.
 */
interface EffectContext {
  readonly operation: Operation;
  readonly by: Trigger;
  readonly hasOtherCapture: boolean;
  readonly now: number;
  readonly lifetimes: ExpiryTimes;
}

type Result = Outcome | InquiryResult;
type ResultOf<Kind extends Result['kind']> = Extract<Result, { readonly kind: Kind }>;
type Effects = {
  readonly [Kind in Result['kind']]?: (payment: Payment, result: ResultOf<Kind>, context: EffectContext) => Effect;
};

const FIRST: Effects = {
  approved: (payment, result, context) => ({ state: 'accepted', payment: approve(payment, result, context) }),
  pending: (payment, _, { by }) => ({
    state: 'accepted',
    payment: by === 'request' ? move(payment, 'Opened', by) : payment,
    recheck: true,
  }),
  refused: (payment, { failure }, { by }) => fail(payment, failure, by),
  'not-sent': (payment, { failure = NEVER_RECEIVED }, { by }) => fail(payment, failure, by),
  reversed: (payment) => ({ state: 'accepted', payment: release(payment, 'processor') }),
};

/** The operation was declined, or never sent, and the payment stays as it is. */
const WITHOUT_EFFECT = {
  refused: (payment, { failure }) => ({ state: 'refused', payment, failure }),
  'not-sent': (payment, { failure = NEVER_RECEIVED }) => ({ state: 'refused', payment, failure }),
} satisfies Effects;

const CAPTURED = (payment: Payment, _: Result, { operation, hasOtherCapture }: EffectContext): Effect => ({
  state: 'accepted',
  payment:
    !hasOtherCapture && isRecorded(payment, operation)
      ? payment
      : move({ ...payment, collected: operation.amount }, 'Collected', 'capture'),
});

/** More than was captured cannot be refunded: the operation then remains in doubt. */
const refund = (payment: Payment, { amount }: Operation): Payment | undefined => {
  const refunded = payment.refunded + amount;
  return refunded > payment.collected ? undefined : move({ ...payment, refunded }, 'Collected', 'refund');
};

/** A notification may have reported the release before. */
const isReleased = ({ status }: Payment): boolean => status === 'Cancelled' || status === 'Voided';

const VOIDED = (payment: Payment): Effect => ({
  state: 'accepted',
  payment: isReleased(payment) ? payment : release(payment, 'void'),
});

const EXPIRED = (payment: Payment): Effect => {
  const expired = { ...payment, isExpired: true };
  return { state: 'accepted', payment: isReleased(payment) ? expired : release(expired, 'expiry') };
};

/** The effect of each result of each operation type on the payment. A result that is not listed decides nothing. */
const EFFECTS: Readonly<Record<Operation['type'], Effects>> = {
  authorization: FIRST,
  payment: FIRST,
  capture: {
    approved: CAPTURED,
    pending: CAPTURED,
    reversed: (payment) => ({
      state: 'refused',
      payment: payment.status === 'Voided' ? payment : move(payment, 'Voided', 'processor'),
      failure: NEVER_CONFIRMED,
    }),
    ...WITHOUT_EFFECT,
  },
  payment_refund: {
    approved: (payment, _, { operation }) => ({ state: 'accepted', payment: refund(payment, operation) }),
    pending: (payment, _, { operation }) => ({ state: 'accepted', payment: refund(payment, operation), recheck: true }),
    ...WITHOUT_EFFECT,
  },
  authorization_void: { approved: VOIDED, reversed: VOIDED, ...WITHOUT_EFFECT },
  // Only its success ends an expiry.
  expiry: { approved: EXPIRED, reversed: EXPIRED },
};

/**
 * Completes the operation by a result; undefined when the result decides nothing. A capture in progress is the only one,
 * because it started on an authorized payment.
 */
function settleBy(
  snapshot: PaymentSnapshot,
  result: Result,
  by: Trigger,
  now: number,
  { lifetimes }: PaymentRules,
  hasOtherCapture = snapshot.operation.state !== 'in_progress',
): PaymentSnapshot | undefined {
  const { payment, operation } = snapshot;
  const applyEffect = EFFECTS[operation.type][result.kind] as
    | ((payment: Payment, result: Result, context: EffectContext) => Effect)
    | undefined;
  const effect = applyEffect?.(payment, result, { operation, by, hasOtherCapture, now, lifetimes });
  if (effect?.payment === undefined) return undefined;
  // The details of a reversal belong to the authorization, not to its capture.
  const isOfCapture = !(result.kind === 'reversed' && operation.type === 'capture');
  const details = isOfCapture ? detailsOf(result) : {};
  const completed = complete({ ...snapshot, payment: effect.payment }, effect.state, details, effect.failure);
  return effect.recheck === true ? withLaterRecheck(completed) : completed;
}

function detailsOf(result: Result): ProcessorDetails {
  if (result.kind === 'not-sent')
    return result.failure === undefined ? { failureCause: result.failureCause ?? 'not-sent' } : {};
  return 'details' in result ? result.details : {};
}

function applyResponse(
  snapshot: PaymentSnapshot,
  { outcome, state }: Extract<PaymentEvent, { type: 'responded' }>,
  now: number,
  rules: PaymentRules,
): PaymentSnapshot {
  const { isTakenOver } = snapshot.reconciliation;
  const completed = isTakenOver ? undefined : settleBy(snapshot, outcome, 'request', now, rules);
  if (completed === undefined)
    return markInDoubt(snapshot, outcome.kind === 'unknown' ? outcome.problem : undefined, now);
  return state === undefined ? completed : withState(completed, state, now, rules);
}

/** The state of the payment at the processor is that which the operation found when it completed. */
function withState(
  completed: PaymentSnapshot,
  state: InquiryResult,
  now: number,
  rules: PaymentRules,
): PaymentSnapshot {
  const payment = applyState(completed.payment, state, now, rules);
  if (payment === undefined) return completed;
  return { ...completed, payment, operation: { ...completed.operation, stateAfter: stateOf(payment) } };
}

function markInDoubt(snapshot: PaymentSnapshot, problem: string | undefined, now: number): PaymentSnapshot {
  const { reconciliation } = snapshot;
  const inDoubtSince = reconciliation.inDoubtSince ?? now;
  return { ...snapshot, reconciliation: { ...reconciliation, inDoubtSince, lastProblem: problem } };
}

/** Recovery refused the operation while the process that sent it was delayed, and the processor approved it after all. */
const scheduleContradicted = (snapshot: PaymentSnapshot, { kind }: Outcome): PaymentSnapshot | undefined =>
  kind === 'approved' && snapshot.operation.state === 'refused' ? withLaterRecheck(snapshot) : undefined;

function applyInquiry(
  snapshot: PaymentSnapshot,
  result: InquiryResult,
  now: number,
  rules: PaymentRules,
): PaymentSnapshot | undefined {
  const completed = settleBy(snapshot, result, 'processor', now, rules);
  // Recovery repeated the void, and that was refused; the first request may still arrive.
  const mayArrive = isRequestedVoid(snapshot.operation) && result.kind === 'refused';
  return mayArrive ? withLaterRecheck(completed) : completed;
}

/** Applies the result of an inquiry about a completed operation, and decides whether the processor may report more. */
function applyRecheck(snapshot: PaymentSnapshot, event: Inquired, now: number, rules: PaymentRules): PaymentSnapshot {
  const { result, latestAt } = event;
  const after = applyLateResult(snapshot, event, now, rules);
  const { id } = after.operation;
  const isContradiction = isContradictory(after, result);
  const mayBeLate = isContradiction && mayShowFormerState(after, result, now, latestAt);
  if (isContradiction && !mayBeLate)
    return { ...after, reconciliation: withContradiction(after.reconciliation, id, now) };
  const isOpen =
    mayBeLate ||
    lacksCapture(after, rules.capabilities) ||
    needsRecheck(after, result, now, rules.recoveryMax, latestAt);
  const checked = isOpen ? withRecheck(after.reconciliation, id) : withoutRecheck(after.reconciliation, id);
  return withAnswer(after, withoutContradiction(checked, id));
}

/** The answer about a completed operation resolves nothing of an operation in progress. */
function withAnswer(snapshot: PaymentSnapshot, reconciliation: Reconciliation): PaymentSnapshot {
  if (snapshot.payment.operationInProgress !== undefined) return { ...snapshot, reconciliation };
  const isFree = reconciliation.recheckIds.length === 0;
  return { ...snapshot, reconciliation: isFree ? resolved(reconciliation) : withRemainingDoubt(reconciliation) };
}

function applyLateResult(
  snapshot: PaymentSnapshot,
  { result, hasOtherCapture }: Inquired,
  now: number,
  rules: PaymentRules,
): PaymentSnapshot {
  const { payment, operation } = snapshot;
  if (operation.id === payment.id) {
    const moved = applyState(payment, result, now, rules);
    return moved === undefined ? snapshot : { ...snapshot, payment: moved, operation: withDetails(operation, result) };
  }
  if (result.kind === 'refused' && operation.state === 'accepted' && operation.type === 'payment_refund') {
    const kept = { ...payment, refunded: payment.refunded - operation.amount };
    const told = withDetails(operation, result);
    const refused: Operation = { ...told, state: 'refused', failure: result.failure, stateAfter: stateOf(kept) };
    return { ...snapshot, payment: kept, operation: refused };
  }
  const isDone = isRequestedVoid(operation)
    ? result.kind === 'reversed' && isHeld(payment)
    : result.kind === 'approved';
  if (!isDone) return snapshot;
  if (operation.state === 'accepted') return { ...snapshot, operation: withDetails(operation, result) };
  // The request arrived late. An operation that is in progress by now remains so.
  const late = settleBy(snapshot, result, 'processor', now, rules, hasOtherCapture);
  if (late === undefined) return snapshot;
  const { operationInProgress } = payment;
  return { ...late, payment: { ...late.payment, operationInProgress }, reconciliation: snapshot.reconciliation };
}

function countAttempt(
  snapshot: PaymentSnapshot,
  { problem, notFound, resumeAt }: Extract<PaymentEvent, { type: 'unanswered' }>,
  now: number,
): PaymentSnapshot {
  const { payment } = snapshot;
  const reconciliation = withInquiry(snapshot.reconciliation, now);
  const isCounted = resumeAt === undefined;
  const isInDoubt = payment.operationInProgress !== undefined || reconciliation.contradictoryIds.length > 0;
  return {
    ...snapshot,
    reconciliation: {
      ...reconciliation,
      attempts: reconciliation.attempts + (isCounted ? 1 : 0),
      inDoubtSince: isInDoubt ? (reconciliation.inDoubtSince ?? now) : undefined,
      lastProblem: problem,
      consecutiveNotFound: countNotFound(reconciliation.consecutiveNotFound, isCounted ? notFound : undefined),
    },
  };
}

const countNotFound = (count: number, notFound: boolean | undefined): number =>
  notFound === undefined ? count : notFound ? count + 1 : 0;

function takeOver(snapshot: PaymentSnapshot, notFound: boolean | undefined, now: number): PaymentSnapshot | undefined {
  if (snapshot.reconciliation.isTakenOver) return undefined;
  // Before a void is sent again, nothing is inquired.
  const reconciliation = notFound === undefined ? snapshot.reconciliation : withInquiry(snapshot.reconciliation, now);
  const consecutiveNotFound = countNotFound(reconciliation.consecutiveNotFound, notFound);
  return { ...snapshot, reconciliation: { ...reconciliation, consecutiveNotFound, isTakenOver: true } };
}

function supersede(snapshot: PaymentSnapshot, state: InquiryResult, now: number, rules: PaymentRules): PaymentSnapshot {
  const payment = applyState(snapshot.payment, state, now, rules) ?? snapshot.payment;
  return complete({ ...snapshot, payment }, 'refused', {}, NEVER_CONFIRMED);
}

function applyManually(
  snapshot: PaymentSnapshot,
  outcome: 'accepted' | 'refused',
  now: number,
  rules: PaymentRules,
): PaymentSnapshot | undefined {
  const { payment, operation } = snapshot;
  if (outcome === 'refused')
    return settleBy(snapshot, { kind: 'refused', failure: NEVER_CONFIRMED, details: {} }, 'processor', now, rules);
  const captured = operation.type === 'payment' ? { minor: operation.amount, currency: payment.currency } : undefined;
  return settleBy(snapshot, { kind: 'approved', captured, details: {} }, 'processor', now, rules);
}

/** A person has seen to a contradiction at the processor. The records stay, and so do the rechecks of other operations. */
function closeDoubt(snapshot: PaymentSnapshot): PaymentSnapshot | undefined {
  const { payment, operation, reconciliation } = snapshot;
  const { recheckIds, contradictoryIds, closedIds } = reconciliation;
  if (!contradictoryIds.includes(operation.id)) return undefined;
  // The state of the payment shows its capture too: one cause is resolved once.
  const ids = operation.type === 'capture' ? [operation.id, payment.id] : [operation.id];
  const isLeft = (id: string): boolean => !(ids.includes(id) && contradictoryIds.includes(id));
  return withAnswer(snapshot, {
    ...reconciliation,
    recheckIds: recheckIds.filter(isLeft),
    contradictoryIds: contradictoryIds.filter(isLeft),
    closedIds: [...new Set([...closedIds, ...ids])],
  });
}

/**
 * Returns the payment in the state that the processor reports; undefined when that is not new, or when the transition
 * table does not allow it.
 */
export function applyState(
  payment: Payment,
  result: Result,
  now: number,
  { lifetimes }: Pick<PaymentRules, 'lifetimes'>,
): Payment | undefined {
  if (result.kind === 'refused') return fail(payment, result.failure, 'processor').payment;
  if (result.kind === 'reversed') return release(payment, 'processor');
  return result.kind === 'approved' ? approve(payment, result, { by: 'processor', now, lifetimes }) : undefined;
}

function approve(
  payment: Payment,
  { captured, details }: ResultOf<'approved'>,
  { by, now, lifetimes }: Pick<EffectContext, 'by' | 'now' | 'lifetimes'>,
): Payment | undefined {
  const authorized = { ...payment, authorized: payment.amount };
  if (captured !== undefined) {
    // More than was requested, or another currency, is impossible: the operation then remains in doubt.
    if (captured.minor > payment.amount || captured.currency !== payment.currency) return undefined;
    return move({ ...authorized, collected: captured.minor }, 'Collected', by);
  }
  const latest = now + lifetimes.authorization;
  return move({ ...authorized, expiresAt: Math.min(latest, details.expiresAt ?? latest) }, 'Authorized', by);
}

const fail = (payment: Payment, failure: FailureStatus, by: Trigger): Effect => ({
  state: 'refused',
  payment: move({ ...payment, reason: failure.reason }, failure.status, by),
  failure,
});

const release = (payment: Payment, by: Trigger): Payment | undefined =>
  move(payment, payment.status === 'Opened' ? 'Cancelled' : 'Voided', by);

/** True when the processor's state of the payment already reported this capture, before a response about the capture itself. */
const isRecorded = ({ status, collected }: Payment, { amount }: Operation): boolean =>
  status === 'Collected' && collected === amount;

/** Completes an operation without the processor's result; a first one fails its payment. */
function refuse(snapshot: PaymentSnapshot, by: Trigger, failure: FailureStatus): PaymentSnapshot | undefined {
  const { payment, operation } = snapshot;
  const failed = operation.id === payment.id ? fail(payment, failure, by).payment : payment;
  const isNeverReceived = failure.reason === NEVER_RECEIVED.reason;
  const details: ProcessorDetails = isNeverReceived ? { failureCause: 'not-received' } : {};
  return failed && complete({ ...snapshot, payment: failed }, 'refused', details, failure);
}

/**
 * The only guard: undefined when the transition table has no such row. The first response uses the rows of `new`,
 * because an intent is stored as Opened.
 */
function move(payment: Payment, to: Status, by: Trigger): Payment | undefined {
  const from = by === 'request' && payment.status === 'Opened' ? 'new' : payment.status;
  if (!isAllowedTransition(from, to, by)) return undefined;
  return { ...payment, status: to, expiresAt: to === 'Authorized' || to === 'Opened' ? payment.expiresAt : undefined };
}

function complete(
  { payment, operation, reconciliation }: PaymentSnapshot,
  state: OperationState,
  details: ProcessorDetails,
  failure: FailureStatus | undefined,
): PaymentSnapshot {
  const after: PaymentState = stateOf(payment);
  return {
    payment: { ...payment, operationInProgress: undefined },
    operation: { ...operation, state, details: mergeDetails(operation.details, details), failure, stateAfter: after },
    reconciliation: { ...resolved(reconciliation), consecutiveNotFound: 0, isTakenOver: false },
  };
}

function withLaterRecheck<Snapshot extends PaymentSnapshot | undefined>(snapshot: Snapshot): Snapshot {
  if (snapshot === undefined) return snapshot;
  return { ...snapshot, reconciliation: withRecheck(snapshot.reconciliation, snapshot.operation.id) };
}

function withDetails(operation: Operation, result: InquiryResult): Operation {
  if (!('details' in result)) return operation;
  const details = mergeDetails(operation.details, result.details);
  // The response code of an approval no longer applies.
  const ofRefusal = result.kind === 'refused' ? { responseCode: result.details.responseCode } : {};
  return { ...operation, details: { ...details, ...ofRefusal } };
}

/** Later results often report less: details that they lack remain. */
function mergeDetails(earlier: ProcessorDetails, later: ProcessorDetails): ProcessorDetails {
  const merged: Record<string, unknown> = { ...earlier };
  for (const [name, value] of Object.entries(later)) if (value !== undefined) merged[name] = value;
  return merged;
}
