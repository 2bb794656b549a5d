import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  captured,
  NOW,
  OUTCOMES,
  PAYMENT_STATES,
  RULES,
  withCompleted,
  withOperation,
} from '../../test/fixtures/payment-fixtures.ts';
import { LIMITS } from '../kernel/limits.ts';
import { applyEvent, NEVER_CONFIRMED, NEVER_RECEIVED } from './apply-event.ts';
import { toRequester } from './history.ts';
import type { PaymentSnapshot } from './payment.ts';
import type { PaymentEvent } from './payment-event.ts';

/** The snapshot after the events, one second apart. */
const after = (snapshot: PaymentSnapshot, ...events: PaymentEvent[]): PaymentSnapshot =>
  events.reduce((current, event, index) => applyEvent(current, event, NOW + 1000 * index, RULES) ?? current, snapshot);

const historyOf = (snapshot: PaymentSnapshot, ...events: PaymentEvent[]) =>
  after(snapshot, ...events).operation.history;

const TIMED_OUT: PaymentEvent = { type: 'responded', outcome: OUTCOMES.unknown };
const UNANSWERED: PaymentEvent = { type: 'unanswered', problem: 'ECONNREFUSED' };
const BY = { type: 'person', id: 'person-1' } as const;
const MANUALLY: PaymentEvent = { type: 'resolved-manually', outcome: 'refused', by: BY, reason: 'No record of it' };
const capture = () => withOperation(PAYMENT_STATES.Authorized, { type: 'capture', amount: 2000n });
const authorization = () => withOperation({}, { type: 'authorization' });

describe('the history of an operation', () => {
  it('is empty when the first response decides', () => {
    for (const name of ['approved', 'refused', 'pending', 'not sent'] as const)
      assert.deepEqual(historyOf(authorization(), { type: 'responded', outcome: OUTCOMES[name] }), []);
  });

  it('has the time-out, and the inquiry that confirmed the outcome with the number and the last problem of those before', () => {
    assert.deepEqual(
      historyOf(capture(), TIMED_OUT, UNANSWERED, UNANSWERED, { type: 'inquired', result: OUTCOMES.approved }),
      [
        { type: 'in-doubt', at: NOW, problem: 'timeout' },
        { type: 'confirmed', at: NOW + 3000, inquiries: 3, problem: 'ECONNREFUSED' },
      ],
    );
  });

  it('says when recovery first found the outcome unknown, after a crash', () => {
    assert.deepEqual(historyOf(capture(), UNANSWERED, UNANSWERED), [
      { type: 'in-doubt', at: NOW, problem: 'ECONNREFUSED' },
    ]);
  });

  it('has the reversal and its result', () => {
    const events: PaymentEvent[] = [
      TIMED_OUT,
      { type: 'taken-over', notFound: true },
      { type: 'reversed', failure: NEVER_RECEIVED },
    ];
    assert.deepEqual(
      historyOf(authorization(), ...events).map(({ type, inquiries }) => [type, inquiries]),
      [
        ['in-doubt', undefined],
        ['taken-over', undefined],
        ['reversed', 2],
      ],
    );
    const superseded = historyOf(capture(), TIMED_OUT, { type: 'superseded', state: OUTCOMES.reversed });
    assert.deepEqual(superseded.at(-1)?.type, 'superseded');
  });

  it('names the user who resolved it, with the outcome and the reason', () => {
    assert.deepEqual(historyOf(capture(), TIMED_OUT, UNANSWERED, MANUALLY).at(-1), {
      type: 'resolved-manually',
      at: NOW + 2000,
      inquiries: 1,
      problem: 'ECONNREFUSED',
      outcome: 'refused',
      by: BY,
      reason: 'No record of it',
    });
    const withoutReason = historyOf(capture(), TIMED_OUT, { ...MANUALLY, reason: '' }).at(-1);
    assert.ok(withoutReason !== undefined && !('reason' in withoutReason));
  });

  it('has a later inquiry that changed the status, and none that did not', () => {
    const opened = withCompleted({}, {}, { recheckIds: ['first'] });
    const collected: PaymentEvent = {
      type: 'inquired',
      result: { kind: 'approved', captured: captured(10_000n), details: {} },
    };
    const pending: PaymentEvent = { type: 'inquired', result: OUTCOMES.pending };
    assert.deepEqual(historyOf(opened, pending, pending, collected), [
      { type: 'changed', at: NOW + 2000, status: 'Collected' },
    ]);
  });

  it('has a contradiction that only a user can resolve, and how that ended', () => {
    const refused = withCompleted(
      { ...PAYMENT_STATES.ProcessorError },
      { state: 'refused', failure: NEVER_CONFIRMED },
      { recheckIds: ['first'] },
    );
    const contradiction: PaymentEvent = { type: 'inquired', result: OUTCOMES.approved };
    const unanswered: PaymentEvent = { type: 'unanswered', problem: 'timeout' };
    const [inDoubt, ...others] = historyOf(refused, contradiction, unanswered, contradiction, MANUALLY);
    assert.deepEqual(inDoubt, { type: 'in-doubt', at: NOW, problem: 'contradiction' });
    assert.deepEqual(
      others.map(({ type }) => type),
      ['resolved-manually'],
    );
  });

  it('has a limited number of entries', () => {
    const refused = withCompleted(PAYMENT_STATES.ProcessorError, { state: 'refused' });
    const contradiction: PaymentEvent = { type: 'inquired', result: OUTCOMES.approved };
    const answer: PaymentEvent = { type: 'inquired', result: OUTCOMES.refused };
    const many = Array.from({ length: LIMITS.paymentHistoryEntries + 9 }, () => [contradiction, answer]).flat();
    assert.equal(historyOf(refused, ...many).length, LIMITS.paymentHistoryEntries);
  });

  it('leaves no inquiries to count for the next operation', () => {
    const { reconciliation } = after(capture(), TIMED_OUT, UNANSWERED, MANUALLY);
    assert.deepEqual([reconciliation.inquiries, reconciliation.lastInquiredAt], [0, undefined]);
  });
});

describe('a check that a user requested early', () => {
  it('counts as an inquiry, and neither as an attempt nor as one more without a record', () => {
    const early: PaymentEvent = { type: 'unanswered', problem: 'not-found', notFound: true, resumeAt: NOW + 60_000 };
    const before = after(capture(), TIMED_OUT, { type: 'unanswered', problem: 'not-found', notFound: true });
    const { reconciliation } = after(before, early, early);
    assert.equal(reconciliation.inquiries, 3);
    assert.equal(reconciliation.lastInquiredAt, NOW + 1000);
    assert.deepEqual([reconciliation.attempts, reconciliation.consecutiveNotFound], [1, 1]);
  });
});

describe('a requester', () => {
  it('is named by its id, and the user of a command by name', () => {
    assert.deepEqual(toRequester({ type: 'key', id: 'key-1', name: 'Shop' }), { type: 'key', id: 'key-1' });
    assert.deepEqual(toRequester({ type: 'person', id: 'p-1', name: 'Ana' }), { type: 'person', id: 'p-1' });
    const operator = toRequester({ type: 'operator', name: 'ops', source: 'os-user' });
    assert.deepEqual(operator, { type: 'operator', name: 'ops' });
    assert.deepEqual(toRequester({ type: 'service' }), { type: 'service' });
  });
});
