import type { Actor } from '../audit/audit.ts';
import { LIMITS } from '../kernel/limits.ts';
import type { HistoryEntry, PaymentSnapshot, Requester } from './payment.ts';
import type { PaymentEvent } from './payment-event.ts';

/** The history of an operation beside its request: how it became unknown, and how that was resolved. Pure. */

export const toRequester = ({ type, id, name }: Actor): Requester => {
  if (type === 'key' || type === 'person') return id === undefined ? { type } : { type, id };
  return name === undefined ? { type } : { type, name };
};

/** Returns the snapshot after an event with the entry that the event adds to the history of its operation, if it adds one. */
export function withHistory(
  before: PaymentSnapshot,
  after: PaymentSnapshot,
  event: PaymentEvent,
  now: number,
): PaymentSnapshot {
  const entry = toEntry(before, after, event, now);
  if (entry === undefined) return after;
  const history = [...after.operation.history, entry].slice(-LIMITS.paymentHistoryEntries);
  return { ...after, operation: { ...after.operation, history } };
}

function toEntry(
  before: PaymentSnapshot,
  after: PaymentSnapshot,
  event: PaymentEvent,
  at: number,
): HistoryEntry | undefined {
  if (event.type === 'resolved-manually') {
    const { outcome, by, reason } = event;
    return { type: 'resolved-manually', at, ...attemptsOf(before, 0), outcome, by, ...(reason !== '' && { reason }) };
  }
  const { inDoubtSince, lastProblem } = after.reconciliation;
  if (inDoubtSince !== undefined && before.reconciliation.inDoubtSince === undefined)
    return { type: 'in-doubt', at, ...problemOf(lastProblem) };
  if (event.type === 'taken-over') return { type: 'taken-over', at };
  if (before.operation.state === 'in_progress' && after.operation.state !== 'in_progress') {
    if (event.type === 'reversed' || event.type === 'superseded')
      return { type: event.type, at, ...attemptsOf(before, 1) };
    return event.type === 'inquired' ? { type: 'confirmed', at, ...attemptsOf(before, 1) } : undefined;
  }
  const { status } = after.payment;
  return event.type === 'inquired' && status !== before.payment.status ? { type: 'changed', at, status } : undefined;
}

const attemptsOf = ({ reconciliation: { inquiries, lastProblem } }: PaymentSnapshot, last: number) => ({
  inquiries: inquiries + last,
  ...problemOf(lastProblem),
});

const problemOf = (problem: string | undefined) => (problem === undefined ? {} : { problem });
