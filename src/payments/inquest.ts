import type { Operation } from './payment.ts';
import {
  type Capabilities,
  type InquiryResult,
  type OperationRef,
  type Outcome,
  type PaymentHistory,
  unknown,
} from './processor.ts';
import type { RecoveryTimes } from './schedule.ts';
import { NEVER_CONFIRMED, NEVER_RECEIVED, overtaken, type PaymentSnapshot, refusedForNow, settle } from './settle.ts';
import { buildHistory, type TimedProcessor, toOperationRef } from './timed-processor.ts';
import type { FailureStatus } from './transitions.ts';

/** What is to be done about an operation whose outcome is unknown. */
export type Verdict =
  /** The processor's definite word. */
  | { readonly kind: 'word'; readonly word: InquiryResult | Outcome }
  /** Nothing of it is left at the processor. */
  | { readonly kind: 'given-up'; readonly failed: FailureStatus }
  /** The payment stands otherwise there, so that the operation has no object any more. */
  | { readonly kind: 'overtaken'; readonly stands: InquiryResult }
  /** Nobody can say in time: it is to be undone, once that is on disk. */
  | { readonly kind: 'hopeless'; readonly absences: number }
  /** Nobody can say yet. */
  | { readonly kind: 'open'; readonly absences: number };

export interface Evidence {
  readonly pair: PaymentSnapshot;
  /** All of the payment, in the order of time. */
  readonly operations: readonly Operation[];
  readonly asking: TimedProcessor;
  readonly capabilities: Capabilities;
  readonly times: RecoveryTimes;
  readonly now: number;
  /** While time is not trusted nothing is reversed because its time is over. */
  readonly isTimeTrusted: boolean;
}

/** Asks the processor what became of an operation; when nobody could say in time, has it undone. */
export function inquest(evidence: Evidence): Promise<Verdict> {
  const { payment, operation } = evidence.pair;
  if (operation.type === 'authorization_void' || operation.type === 'expiry') return ofEnding(evidence);
  return payment.reversalStarted === true ? undoing(evidence) : ofMovement(evidence);
}

async function ofMovement(evidence: Evidence): Promise<Verdict> {
  const { asking, capabilities, pair, operations } = evidence;
  const { payment, operation } = pair;
  const history = buildHistory(payment, operations, operation);
  const subject = toOperationRef(payment, operation);
  const word = await completed(evidence, history, subject, await asking.inquire(history, subject));
  if (isDefinite(evidence, word)) return { kind: 'word', word };
  const absences = word.kind === 'not-found' ? payment.consecutiveNotFound + 1 : 0;
  const isAbsent = absences >= capabilities.notFoundThreshold;
  const isHopeless = isAbsent || isOver(evidence);
  return { kind: isHopeless ? 'hopeless' : 'open', absences };
}

/**
 * A request to undo may take effect whenever it arrives, answered or not. So once one may have been sent the operation is
 * not taken for done, whatever an inquiry finds, unless the processor says that it cannot be undone any more.
 */
async function undoing(evidence: Evidence): Promise<Verdict> {
  const { asking, capabilities, pair, operations } = evidence;
  const { payment, operation } = pair;
  const { consecutiveNotFound: absences } = payment;
  const history = buildHistory(payment, operations, operation);
  const subject = toOperationRef(payment, operation);
  const undone = await asking.reverse(history, subject);
  if (undone.kind === 'refused') {
    const word = await completed(evidence, history, subject, await asking.inquire(history, subject));
    return isDefinite(evidence, word) ? { kind: 'word', word } : { kind: 'open', absences };
  }
  if (undone.kind === 'reversed' && operation.type === 'capture') return { kind: 'word', word: undone };
  if (!['approved', 'not-found', 'reversed'].includes(undone.kind)) return { kind: 'open', absences };
  return { kind: 'given-up', failed: absences >= capabilities.notFoundThreshold ? NEVER_RECEIVED : NEVER_CONFIRMED };
}

/** A payment that was found authorized still lacks its capture where that is a call of its own. */
async function completed(
  { asking, capabilities, pair }: Evidence,
  history: PaymentHistory,
  subject: OperationRef,
  found: InquiryResult,
): Promise<InquiryResult> {
  const { payment, operation } = pair;
  const lacksCapture = operation.type === 'payment' && !capabilities.sale;
  if (found.kind !== 'approved' || found.captured !== undefined || !lacksCapture) return found;
  const authorized = { ...subject, processorId: found.details.processorId };
  const captured = await asking.captureAuthorized(payment, operation, { ...history, operations: [authorized] });
  if (captured.kind === 'approved' || captured.kind === 'pending') return { ...found, captured: subject.amount };
  const stands = captured.kind === 'refused' ? await asking.inquire(history, authorized) : UNSURE;
  // This repetition was refused, and the first request may still arrive: only giving the payment back ends that.
  return stands.kind === 'approved' && stands.captured === undefined ? UNSURE : stands;
}

const UNSURE: InquiryResult = unknown('capture');

/** Of a void or an expiry: how does the payment stand there? A void that is missing is repeated. */
async function ofEnding(evidence: Evidence): Promise<Verdict> {
  const { asking, capabilities, pair, operations } = evidence;
  const { payment, operation } = pair;
  const [first] = operations;
  if (first === undefined) return { kind: 'open', absences: 0 };
  const history = buildHistory(payment, operations, operation);
  const stands = await asking.inquire(history, toOperationRef(payment, first));
  if (stands.kind === 'reversed') return { kind: 'word', word: stands };
  if (stands.kind === 'refused' || (stands.kind === 'approved' && stands.captured !== undefined))
    return { kind: 'overtaken', stands };
  const absences = stands.kind === 'not-found' ? payment.consecutiveNotFound + 1 : 0;
  if (stands.kind !== 'not-found') {
    const word = await asking.repeatVoid(operation, history);
    return isDefinite(evidence, word) ? { kind: 'word', word } : { kind: 'open', absences };
  }
  if (absences < capabilities.notFoundThreshold && !isOver(evidence)) return { kind: 'open', absences };
  const undone = await asking.reverse(history, toOperationRef(payment, first));
  const isGone = undone.kind === 'approved' || undone.kind === 'not-found' || undone.kind === 'reversed';
  return isGone ? { kind: 'word', word: { kind: 'reversed', details: {} } } : { kind: 'open', absences };
}

const isDefinite = ({ pair, now, times }: Evidence, word: InquiryResult | Outcome): boolean =>
  word.kind !== 'not-sent' && settle(pair, word, now, times.lifetimes) !== undefined;

const isOver = ({ pair, now, isTimeTrusted, times }: Evidence): boolean =>
  isTimeTrusted && now - pair.operation.createdAt >= times.recoveryMax;

/** On disk before anything is undone; undefined when the operation has ended. */
export const givenUp = (pair: PaymentSnapshot, absences: number): PaymentSnapshot | undefined =>
  pair.operation.state === 'in_progress'
    ? { ...pair, payment: { ...pair.payment, consecutiveNotFound: absences, reversalStarted: true } }
    : undefined;

/** What a verdict makes of an operation under way. */
export function passed(
  current: PaymentSnapshot,
  verdict: Verdict,
  { lifetimes }: RecoveryTimes,
  now: number,
): PaymentSnapshot | undefined {
  if (verdict.kind === 'word') {
    const { word } = verdict;
    // The repetition was refused; the first one may still be on its way.
    const isRefusedVoid = word.kind === 'refused' && current.operation.type === 'authorization_void';
    return isRefusedVoid ? refusedForNow(current, word.failure) : settle(current, word, now, lifetimes);
  }
  if (verdict.kind === 'given-up') return refusedForNow(current, verdict.failed);
  return verdict.kind === 'overtaken' ? overtaken(current, verdict.stands, now, lifetimes) : undefined;
}
