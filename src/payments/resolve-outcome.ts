import { applyEvent, applyState, NEVER_CONFIRMED, NEVER_RECEIVED, type PaymentRules } from './apply-event.ts';
import type { Operation, PaymentSnapshot } from './payment.ts';
import type { PaymentEvent } from './payment-event.ts';
import {
  type Capabilities,
  type InquiryResult,
  isVoidOrExpiry,
  type OperationRef,
  type PaymentHistory,
  unknown,
} from './processor.ts';
import { ACCOUNT_CHANGED, isHeld } from './reconciliation.ts';
import { buildHistory, type TimedProcessor, toOperationRef } from './timed-processor.ts';

export interface ResolutionContext {
  readonly snapshot: PaymentSnapshot;
  /** All operations of the payment, in the order of time. */
  readonly operations: readonly Operation[];
  readonly processor: TimedProcessor;
  readonly capabilities: Capabilities;
  readonly rules: PaymentRules;
  readonly now: number;
  /** A user requested the inquiry before the payment was due: that nothing was found says nothing. */
  readonly isEarly: boolean;
  /** While time is not trusted nothing is reversed because `recovery-max` has passed. */
  readonly isTimeTrusted: boolean;
  /**
   * The settings name another account at the processor than that to which the operation may have been sent: that it finds nothing there
   * says nothing.
   */
  readonly isOtherAccount: boolean;
}

/**
 * Inquires about an operation whose outcome is unknown, and returns what happened. After `recovery-max` that is
 * `taken-over`: once it is stored, the next call sends the reversal.
 */
export function resolveOutcome(context: ResolutionContext): Promise<PaymentEvent> {
  const { operation, reconciliation } = context.snapshot;
  if (isVoidOrExpiry(operation)) return resolveVoid(context);
  return reconciliation.isTakenOver ? reverse(context) : inquire(context);
}

async function inquire(context: ResolutionContext): Promise<PaymentEvent> {
  const { history, operationRef } = refsOf(context);
  const found = await context.processor.inquire(history, operationRef);
  const result = await completeSale(context, history, operationRef, found);
  if (isDecisive(context, result)) return { type: 'inquired', result };
  if (context.isOtherAccount) return UNANSWERED_THERE;
  const notFound = result.kind === 'not-found';
  if (isNeverReceived(context, notFound) || isOverdue(context)) return { type: 'taken-over', notFound };
  return unanswered(context, notFound);
}

/**
 * A reversal may take effect whenever it arrives, answered or not. So once one may have been sent, an inquiry does not
 * confirm the operation, unless the processor reports that it can no longer be reversed.
 */
async function reverse(context: ResolutionContext): Promise<PaymentEvent> {
  // Another account has nothing to reverse, and would leave the operation where it is.
  if (context.isOtherAccount) return UNANSWERED_THERE;
  const { history, operationRef } = refsOf(context);
  const { operation, reconciliation } = context.snapshot;
  const reversal = await context.processor.reverse(history, operationRef);
  if (reversal.kind === 'not-reversible') {
    const found = await context.processor.inquire(history, operationRef);
    const result = await completeSale(context, history, operationRef, found);
    return isDecisive(context, result) ? { type: 'inquired', result } : unanswered(context);
  }
  if (reversal.kind === 'unknown') return unanswered(context);
  if (reversal.kind === 'reversed-with-authorization' && operation.type === 'capture')
    return { type: 'inquired', result: REVERSED };
  const isUnknownThere = reconciliation.consecutiveNotFound >= context.capabilities.notFoundThreshold;
  return { type: 'reversed', failure: isUnknownThere ? NEVER_RECEIVED : NEVER_CONFIRMED };
}

/** A payment that was found authorized still lacks its capture where that is a call of its own. */
async function completeSale(
  { processor, capabilities, snapshot }: ResolutionContext,
  history: PaymentHistory,
  operationRef: OperationRef,
  found: InquiryResult,
): Promise<InquiryResult> {
  const { payment, operation } = snapshot;
  const needsCapture = operation.type === 'payment' && !capabilities.sale;
  if (found.kind !== 'approved' || found.captured !== undefined || !needsCapture) return found;
  const authorized = { ...operationRef, processorId: found.details.processorId };
  const captured = await processor.captureAuthorized(payment, operation, { ...history, operations: [authorized] });
  if (captured.kind === 'approved' || captured.kind === 'pending') return { ...found, captured: operationRef.amount };
  const state = captured.kind === 'refused' ? await processor.inquire(history, authorized) : UNKNOWN_CAPTURE;
  // The repeated capture was refused, and the first request may still arrive: only reversing the payment ends that.
  return state.kind === 'approved' && state.captured === undefined ? UNKNOWN_CAPTURE : state;
}

const UNKNOWN_CAPTURE: InquiryResult = unknown('capture');
const REVERSED: InquiryResult = { kind: 'reversed', details: {} };

/** Inquires about the state of the payment of a void or an expiry, and repeats a void that is missing. */
async function resolveVoid(context: ResolutionContext): Promise<PaymentEvent> {
  const { processor, operations, snapshot } = context;
  const { payment, operation } = snapshot;
  const [first] = operations;
  if (first === undefined) return unanswered(context, false);
  const history = buildHistory(payment, operations, operation);
  const state = await processor.inquire(history, toOperationRef(payment, first));
  if (state.kind === 'reversed') return { type: 'inquired', result: state };
  if (state.kind === 'refused' || (state.kind === 'approved' && state.captured !== undefined)) {
    // An expiry that ended with a payment which stays as it is would start again at once.
    const isLost = operation.type === 'expiry' && isHeld(payment) && isImpossible(context, state);
    return isLost ? CONTRADICTION : { type: 'superseded', state };
  }
  const notFound = state.kind === 'not-found';
  // A void that is repeated at another account is refused there, whatever the first one did.
  if (context.isOtherAccount && (notFound || state.kind === 'unknown')) return UNANSWERED_THERE;
  if (!notFound) {
    const result = await processor.repeatVoid(operation, history);
    const isKnown = result.kind !== 'not-sent' && isDecisive(context, result);
    return isKnown ? { type: 'inquired', result } : unanswered(context, false);
  }
  if (!isNeverReceived(context, notFound) && !isOverdue(context)) return unanswered(context, true);
  const reversal = await processor.reverse(history, toOperationRef(payment, first));
  const isLeft = reversal.kind === 'unknown' || reversal.kind === 'not-reversible';
  return isLeft ? unanswered(context, true) : { type: 'inquired', result: REVERSED };
}

/**
 * Inquires about a completed operation. A first operation that recovery refused must not stay at the processor: it is
 * reversed again. Whether a void arrived late shows in the state of the payment. That another account does not know the operation
 * says nothing.
 */
export async function recheckOutcome({
  isOtherAccount,
  ...context
}: Pick<ResolutionContext, 'processor' | 'snapshot' | 'operations' | 'isOtherAccount'>): Promise<InquiryResult> {
  const result = await recheck(context);
  return isOtherAccount && result.kind === 'not-found' ? unknown(ACCOUNT_CHANGED) : result;
}

async function recheck({
  processor,
  snapshot: { payment, operation },
  operations,
}: Pick<ResolutionContext, 'processor' | 'snapshot' | 'operations'>): Promise<InquiryResult> {
  const history = buildHistory(payment, operations, operation);
  const [first = operation] = operations;
  const operationRef = toOperationRef(payment, operation.type === 'authorization_void' ? first : operation);
  const wasReversed = operation.id === payment.id && operation.state === 'refused';
  if (!wasReversed) return processor.inquire(history, operationRef);
  const reversal = await processor.reverse(history, operationRef);
  if (reversal.kind === 'unknown' || reversal.kind === 'not-found') return reversal;
  // An operation that can no longer be reversed was approved, and remains valid.
  return reversal.kind === 'not-reversible' ? { kind: 'approved', details: {} } : REVERSED;
}

function refsOf({ snapshot, operations }: ResolutionContext): { history: PaymentHistory; operationRef: OperationRef } {
  const { payment, operation } = snapshot;
  return { history: buildHistory(payment, operations, operation), operationRef: toOperationRef(payment, operation) };
}

/** The operation stays in doubt until a member or an operator states its outcome, or the settings name its account again. */
const UNANSWERED_THERE = { type: 'unanswered', problem: ACCOUNT_CHANGED, notFound: false } as const;

const unanswered = ({ processor }: ResolutionContext, notFound?: boolean): PaymentEvent => ({
  type: 'unanswered',
  problem: processor.lastProblem,
  notFound,
});

const isDecisive = ({ snapshot, now, rules }: ResolutionContext, result: InquiryResult): boolean =>
  applyEvent(snapshot, { type: 'inquired', result }, now, rules) !== undefined;

/** Only a person can end what the records of the processor rule out. */
const CONTRADICTION = { type: 'unanswered', problem: 'contradiction', notFound: false } as const;

const isImpossible = ({ snapshot, now, rules }: ResolutionContext, state: InquiryResult): boolean =>
  applyState(snapshot.payment, state, now, rules) === undefined;

const isNeverReceived = ({ snapshot, capabilities, isEarly }: ResolutionContext, notFound: boolean): boolean =>
  notFound && !isEarly && snapshot.reconciliation.consecutiveNotFound + 1 >= capabilities.notFoundThreshold;

const isOverdue = ({ snapshot, now, isTimeTrusted, rules }: ResolutionContext): boolean =>
  isTimeTrusted && now - snapshot.operation.createdAt >= rules.recoveryMax;
