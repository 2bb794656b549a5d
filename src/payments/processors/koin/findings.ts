import type { Money } from '../../../kernel/money.ts';
import type { Finding, History, Outcome, Particulars, Refused, Subject, Unknown } from '../../processor.ts';
import { type Failed, RESPONSE_CODES } from '../../transitions.ts';
import { INVALID_DATA, type KoinOrder, type KoinRefund } from './mapping.ts';

/** What an order in KOIN's books says about one of our operations. Pure. */

export const unknown = (why: string): Unknown => ({ kind: 'unknown', why });

export const refused = (failed: Failed): Refused => ({
  kind: 'refused',
  failed,
  particulars: { responseCode: RESPONSE_CODES[failed.reason] },
});

/** Of an authorization or payment: how it stands now. */
export function paymentFinding(order: KoinOrder, asked: Money): Finding {
  const { standing, particulars, amount, id } = order;
  if (differs(amount, asked)) return unknown('contradiction');
  if (standing.kind === 'opened') return { kind: 'pending', particulars };
  if (standing.kind === 'reversed') return { kind: 'reversed', particulars };
  if (standing.kind === 'failed') return { kind: 'refused', failed: standing.failed, particulars };
  if (amount === undefined || id === undefined) return unknown('incomplete');
  return { kind: 'approved', captured: standing.kind === 'authorized' ? undefined : amount, particulars };
}

export function captureFinding(order: KoinOrder, asked: Money): Finding {
  const { standing, amount } = order;
  if (differs(amount, asked)) return unknown('contradiction');
  if (standing.kind === 'failed') return refused(standing.failed);
  if (standing.kind === 'reversed') return { kind: 'reversed', particulars: followUp(order) };
  if (standing.kind === 'opened' || standing.kind === 'authorized') return { kind: 'absent' };
  return amount === undefined ? unknown('incomplete') : { kind: 'approved', particulars: followUp(order) };
}

export function voidFinding(order: KoinOrder): Finding {
  const { standing } = order;
  if (standing.kind === 'reversed') return { kind: 'approved', particulars: followUp(order) };
  if (standing.kind === 'failed') return refused(standing.failed);
  return standing.kind === 'collected' || standing.kind === 'refunded' ? refused(INVALID_DATA) : { kind: 'absent' };
}

/** The answer about one refund. */
export function refundOutcome(refund: KoinRefund | undefined, asked: Money): Exclude<Outcome, { kind: 'not-sent' }> {
  if (refund === undefined) return unknown('unreadable');
  if (differs(refund.amount, asked)) return unknown('contradiction');
  const particulars = { processorId: refund.id, responseCode: RESPONSE_CODES.approved };
  if (refund.state === 'failed') return refused(refund.failed);
  if (refund.state === 'pending') return { kind: 'pending', particulars: { processorId: refund.id } };
  return refund.amount === undefined ? unknown('incomplete') : { kind: 'approved', particulars };
}

/**
 * Entries of an order's refunds do not tell our key. Ours is the one of its amount that no refund before accounts for; a
 * failed one is never taken for ours, because it may be an earlier try, and has moved nothing either way.
 */
export function refundFinding({ refunds }: KoinOrder, { operations }: History, subject: Subject): Finding {
  const named = refunds.find(({ id }) => id !== undefined && id === subject.processorId);
  if (named !== undefined) return refundOutcome(named, subject.amount);
  const others = operations.filter(({ type, key }) => type === 'payment_refund' && key !== subject.key);
  const ids = new Set(others.map(({ processorId }) => processorId));
  const left = refunds.filter(({ id, state }) => state !== 'failed' && (id === undefined || !ids.has(id)));
  if (left.some(({ amount }) => amount === undefined)) return unknown('unreadable');
  const like = left.filter(({ amount }) => !differs(amount, subject.amount));
  const unnamed = others.filter(
    ({ processorId, amount }) => processorId === undefined && !differs(amount, subject.amount),
  );
  const [first] = like;
  if (first === undefined || like.length <= unnamed.length) return { kind: 'absent' };
  return like.length === 1 ? refundOutcome(first, subject.amount) : unknown('ambiguous');
}

const differs = (found: Money | undefined, asked: Money): boolean =>
  found !== undefined && (found.minor !== asked.minor || found.currency !== asked.currency);

/** Captures and voids have no id of their own at KOIN: that of the order would be taken for the authorization's. */
function followUp({ particulars: { responseCode, reconciliationId, networkId } }: KoinOrder): Particulars {
  return { responseCode, reconciliationId, networkId };
}
