import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  buildPayment,
  buildReconciliation,
  captured,
  FIRST,
  failed,
  isFirstType,
  LIFETIMES,
  NEXT,
  NOW,
  OUTCOME_NAMES,
  OUTCOMES,
  type OutcomeName,
  PAYMENT_STATES,
  processorDetails,
  RULES,
  USD,
  withCompleted,
  withOperation,
} from '../../test/fixtures/payment-fixtures.ts';
import type { Currency } from '../kernel/currency.ts';
import { applyEvent, applyState, NEVER_CONFIRMED, NEVER_RECEIVED } from './apply-event.ts';
import {
  newOperation,
  type Operation,
  type Payment,
  type PaymentSnapshot,
  type PaymentType,
  stateOf,
} from './payment.ts';
import type { PaymentEvent } from './payment-event.ts';
import type { InquiryResult, OperationType, Outcome } from './processor.ts';
import { isContradicted, needsRecheck } from './reconciliation.ts';
import { REASONS, STATUSES, type Status, TRANSITIONS } from './transitions.ts';

const TYPES: readonly OperationType[] = [
  'authorization',
  'payment',
  'capture',
  'payment_refund',
  'authorization_void',
  'expiry',
];

const apply = (snapshot: PaymentSnapshot | undefined, event: PaymentEvent, now = NOW): PaymentSnapshot | undefined =>
  applyEvent(snapshot, event, now, RULES);

/** By our request; undefined when the response does not complete the operation. */
function responded(snapshot: PaymentSnapshot, outcome: Outcome): PaymentSnapshot | undefined {
  const after = apply(snapshot, { type: 'responded', outcome });
  return after?.operation.state === 'in_progress' ? undefined : after;
}

/** By an inquiry, or by our request where only that can have this outcome. */
function completedBy(snapshot: PaymentSnapshot, outcome: Outcome | InquiryResult): PaymentSnapshot | undefined {
  return outcome.kind === 'not-sent'
    ? responded(snapshot, outcome)
    : apply(snapshot, { type: 'inquired', result: outcome });
}

/** By an inquiry about a completed operation. */
function recheck(snapshot: PaymentSnapshot, result: InquiryResult, now = NOW): PaymentSnapshot {
  const after = apply(snapshot, { type: 'inquired', result }, now);
  assert.ok(after !== undefined);
  return after;
}

/** Payment and operation stay as they are, but for its history; what is rechecked may change. */
function assertUnchanged(after: PaymentSnapshot, before: PaymentSnapshot, about = ''): void {
  assert.equal(after.payment, before.payment, about);
  assert.deepEqual({ ...after.operation, history: before.operation.history }, before.operation, about);
}

/** The operation is in doubt until it is resolved, and neither it nor the payment is changed. */
function assertContradicted(after: PaymentSnapshot, before: PaymentSnapshot, about = ''): void {
  const { id } = before.operation;
  assertUnchanged(after, before, about);
  const { recheckIds, contradictoryIds, inDoubtSince, lastProblem } = after.reconciliation;
  assert.deepEqual([recheckIds, contradictoryIds], [[id], [id]], about);
  assert.deepEqual([inDoubtSince, lastProblem], [NOW, 'contradiction'], about);
}

const CLP = 'CLP' as Currency;

const settled = (snapshot: PaymentSnapshot, outcomeName: OutcomeName): PaymentSnapshot | undefined =>
  completedBy(snapshot, OUTCOMES[outcomeName]);

const isOutcome = (result: Outcome | InquiryResult): result is Outcome =>
  result.kind !== 'reversed' && result.kind !== 'not-found';

type Row = Partial<Readonly<Record<OutcomeName, string>>>;

const AMOUNTS: Readonly<Record<OperationType, readonly bigint[]>> = {
  authorization: [10_000n],
  payment: [10_000n],
  capture: [2000n, 8000n],
  payment_refund: [2000n, 5000n, 5001n],
  authorization_void: [10_000n],
  expiry: [10_000n],
};

/** The results of a first operation, by the status of its payment: as `describeResult` returns them. */
const FIRST_RESULTS: Partial<Readonly<Record<Status, Row>>> = {
  Opened: {
    approved: 'accepted, Authorized 10000/0/0',
    captured: 'accepted, Collected 10000/10000/0',
    'captured in part': 'accepted, Collected 10000/6000/0',
    refused: 'refused by Declined InsufficientFunds, Declined InsufficientFunds 0/0/0',
    broken: 'refused by ProcessorError InvalidConfiguration, ProcessorError InvalidConfiguration 0/0/0',
    pending: 'accepted, Opened 0/0/0, rechecked',
    reversed: 'accepted, Cancelled 0/0/0',
    'not sent': 'refused by ProcessorError ConnectionRejected, ProcessorError ConnectionRejected 0/0/0',
  },
  Authorized: {
    captured: 'accepted, Collected 10000/10000/0',
    'captured in part': 'accepted, Collected 10000/6000/0',
    refused: 'refused by Declined InsufficientFunds, Declined InsufficientFunds 10000/0/0',
    broken: 'refused by ProcessorError InvalidConfiguration, ProcessorError InvalidConfiguration 10000/0/0',
    reversed: 'accepted, Voided 10000/0/0',
  },
};

/** The results of further operations other than refusals. More than was collected is never refunded. */
const LATER_RESULTS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'capture 2000 Authorized': {
    approval: 'accepted, Collected 10000/2000/0',
    pending: 'accepted, Collected 10000/2000/0',
    reversed: 'refused by ProcessorError Undefined, Voided 10000/0/0',
  },
  'capture 8000 Authorized': {
    approval: 'accepted, Collected 10000/8000/0',
    pending: 'accepted, Collected 10000/8000/0',
    reversed: 'refused by ProcessorError Undefined, Voided 10000/0/0',
  },
  // A notification reported the capture, or its reversal, before the response.
  'capture 8000 Collected': {
    approval: 'accepted, Collected 10000/8000/3000',
    pending: 'accepted, Collected 10000/8000/3000',
  },
  'capture 2000 Voided': { reversed: 'refused by ProcessorError Undefined, Voided 10000/0/0' },
  'capture 8000 Voided': { reversed: 'refused by ProcessorError Undefined, Voided 10000/0/0' },
  'payment_refund 2000 Collected': {
    approval: 'accepted, Collected 10000/8000/5000',
    pending: 'accepted, Collected 10000/8000/5000, rechecked',
  },
  'payment_refund 5000 Collected': {
    approval: 'accepted, Collected 10000/8000/8000',
    pending: 'accepted, Collected 10000/8000/8000, rechecked',
  },
  ...Object.fromEntries(
    (
      [
        ['Opened', 'Cancelled 0/0/0'],
        ['Authorized', 'Voided 10000/0/0'],
        ['Cancelled', 'Cancelled 0/0/0'],
        ['Voided', 'Voided 10000/0/0'],
      ] as const
    ).flatMap(([status, after]) => [
      [`authorization_void 10000 ${status}`, { approval: `accepted, ${after}`, reversed: `accepted, ${after}` }],
      [`expiry 10000 ${status}`, { approval: `accepted, ${after}, expired`, reversed: `accepted, ${after}, expired` }],
    ]),
  ),
};

const FAILURES: Partial<Readonly<Record<OutcomeName, string>>> = {
  refused: 'Declined InsufficientFunds',
  broken: 'ProcessorError InvalidConfiguration',
  'not sent': 'ProcessorError ConnectionRejected',
};

const APPROVALS: readonly OutcomeName[] = ['approved', 'captured', 'captured in part'];

const describePayment = ({ status, reason, authorized, collected, refunded }: Payment): string =>
  `${status}${reason === undefined ? '' : ` ${reason}`} ${authorized}/${collected}/${refunded}`;

/** State of the operation and its failure, status and reason of the payment, authorized, collected and refunded amount. */
function describeResult(after: PaymentSnapshot | undefined): string | undefined {
  if (after === undefined) return undefined;
  const { payment, operation, reconciliation } = after;
  const by = operation.failure === undefined ? '' : ` by ${operation.failure.status} ${operation.failure.reason}`;
  const more = [payment.isExpired ? ', expired' : '', reconciliation.recheckIds.length > 0 ? ', rechecked' : ''];
  return `${operation.state}${by}, ${describePayment(payment)}${more.join('')}`;
}

/** The result of an inquiry; `not sent` is a result of our request alone. */
function expectedResult({ payment, operation }: PaymentSnapshot, outcomeName: OutcomeName): string | undefined {
  const { type, amount } = operation;
  const { status } = payment;
  if (isFirstType(type)) {
    // Whatever happened since, the payment may still be decided.
    if (outcomeName === 'pending') return `accepted, ${describePayment(payment)}, rechecked`;
    return FIRST_RESULTS[status]?.[outcomeName];
  }
  const failure = FAILURES[outcomeName];
  if (failure !== undefined) {
    if (type === 'expiry') return undefined;
    const isRechecked = type === 'authorization_void' && outcomeName !== 'not sent';
    return `refused by ${failure}, ${describePayment(payment)}${isRechecked ? ', rechecked' : ''}`;
  }
  return LATER_RESULTS[`${type} ${amount} ${status}`]?.[APPROVALS.includes(outcomeName) ? 'approval' : outcomeName];
}

const every = (visit: (pair: PaymentSnapshot, outcomeName: OutcomeName, about: string) => void): void => {
  for (const type of TYPES)
    for (const amount of AMOUNTS[type])
      for (const status of STATUSES)
        for (const outcomeName of OUTCOME_NAMES)
          visit(
            withOperation(PAYMENT_STATES[status], { type, amount }),
            outcomeName,
            `${type} of ${amount}, ${status}, ${outcomeName}`,
          );
};

describe('a result of an operation in progress', () => {
  it('has the listed effect in each status, and no other', () => {
    every((pair, outcomeName, about) => {
      assert.equal(describeResult(settled(pair, outcomeName)), expectedResult(pair, outcomeName), about);
    });
  });

  it('has the same effect as a response, except for a first operation that is completed and a refused void', () => {
    every((pair, outcomeName, about) => {
      const outcome = OUTCOMES[outcomeName];
      if (!isOutcome(outcome)) return;
      const { type } = pair.operation;
      const isAnswered = isFirstType(type) && pair.payment.status !== 'Opened';
      const expected = expectedResult(pair, outcomeName);
      const ofResponse = type === 'authorization_void' ? expected?.replace(', rechecked', '') : expected;
      assert.equal(describeResult(responded(pair, outcome)), isAnswered ? undefined : ofResponse, about);
    });
  });

  it('changes the status only as the transition table allows, and keeps each amount within the one before', () => {
    let moves = 0;
    every((pair, outcomeName, about) => {
      const { payment } = settled(pair, outcomeName) ?? pair;
      const hasMoved = payment.status !== pair.payment.status;
      const isListed = TRANSITIONS.some(({ from, to }) => from === pair.payment.status && to === payment.status);
      assert.ok(!hasMoved || isListed, about);
      moves += hasMoved ? 1 : 0;
      assert.ok(payment.authorized >= payment.collected && payment.collected >= payment.refunded, about);
      assert.equal(payment.expiresAt !== undefined, ['Opened', 'Authorized'].includes(payment.status), about);
      const reasons: readonly (string | undefined)[] =
        payment.status === 'Declined' || payment.status === 'ProcessorError' ? REASONS[payment.status] : [undefined];
      assert.ok(reasons.includes(payment.reason), about);
    });
    assert.ok(moves > 40, String(moves));
  });

  it('leaves no operation in progress, and stores the details of the processor and the state after it', () => {
    let ends = 0;
    every((pair, outcomeName, about) => {
      const counters = { consecutiveNotFound: 3, isTakenOver: outcomeName !== 'not sent' };
      const after = settled({ ...pair, reconciliation: buildReconciliation(counters) }, outcomeName);
      if (after === undefined) return;
      ends++;
      const { payment, operation, reconciliation } = after;
      const { consecutiveNotFound, isTakenOver } = reconciliation;
      assert.deepEqual([payment.operationInProgress, consecutiveNotFound, isTakenOver], [undefined, 0, false], about);
      assert.deepEqual(operation.stateAfter, stateOf(payment), about);
      const isOfAuthorization = outcomeName === 'reversed' && operation.type === 'capture';
      assert.deepEqual(
        operation.details,
        outcomeName === 'not sent' ? { failureCause: 'not-sent' } : isOfAuthorization ? {} : processorDetails,
        about,
      );
    });
    assert.ok(ends > 100, String(ends));
  });

  it('has two failures of its own', () => {
    assert.deepEqual(NEVER_RECEIVED, { status: 'ProcessorError', reason: 'ConnectionRejected' });
    assert.deepEqual(NEVER_CONFIRMED, { status: 'ProcessorError', reason: 'Undefined' });
  });
});

describe('the first operation', () => {
  const first = withOperation({}, { type: 'authorization' });

  it('that is approved expires with the authorization', () => {
    const payment = settled(first, 'approved')?.payment;
    assert.equal(payment?.expiresAt, NOW + LIFETIMES.authorization);
  });

  it('expires when the processor states it, at the latest', () => {
    const until = (expiresAt: number): number | undefined =>
      completedBy(first, { kind: 'approved', details: { expiresAt } })?.payment.expiresAt;
    assert.equal(until(NOW + 1), NOW + 1);
    assert.equal(until(NOW + LIFETIMES.authorization + 1), NOW + LIFETIMES.authorization);
  });

  it('remains in doubt when more was captured than requested', () => {
    const capturedOutcome = (minor: bigint): Outcome => ({
      kind: 'approved',
      captured: captured(minor),
      details: processorDetails,
    });
    assert.equal(completedBy(first, capturedOutcome(10_001n)), undefined);
    assert.equal(applyState(buildPayment(PAYMENT_STATES.Authorized), capturedOutcome(10_001n), NOW, RULES), undefined);
    assert.equal(completedBy(first, capturedOutcome(10_000n))?.payment.status, 'Collected');
  });
});

describe('an operation that is reversed', () => {
  it('leaves the payment unchanged, unless it is the first operation', () => {
    const capture = withOperation(PAYMENT_STATES.Authorized, { type: 'capture' });
    const after = apply(capture, { type: 'reversed', failure: NEVER_RECEIVED });
    assert.deepEqual(after?.payment, { ...capture.payment, operationInProgress: undefined });
    assert.deepEqual(after?.reconciliation.recheckIds, [NEXT]);
    assert.deepEqual(after?.operation.details, { failureCause: 'not-received' });
    const first = apply(withOperation({}, { type: 'payment' }), { type: 'reversed', failure: NEVER_CONFIRMED });
    assert.deepEqual([first?.payment.status, first?.payment.reason], ['ProcessorError', 'Undefined']);
  });

  it('is rechecked once', () => {
    const capture = withOperation(PAYMENT_STATES.Authorized, { type: 'capture' }, { recheckIds: [NEXT, 'other'] });
    const after = apply(capture, { type: 'reversed', failure: NEVER_CONFIRMED });
    assert.deepEqual(after?.reconciliation.recheckIds, ['other', NEXT]);
    assert.equal(after?.operation.state, 'refused');
    assert.deepEqual(after?.operation.failure, NEVER_CONFIRMED);
    assert.equal(
      apply(withOperation(PAYMENT_STATES.Voided, { type: 'payment' }), { type: 'reversed', failure: NEVER_CONFIRMED }),
      undefined,
    );
  });
});

describe('an operation that was superseded', () => {
  const void_ = (status: Status): PaymentSnapshot =>
    withOperation(PAYMENT_STATES[status], { type: 'authorization_void' });
  const by = (
    pair: PaymentSnapshot,
    outcomeName: 'refused' | 'captured' | 'captured in part',
  ): PaymentSnapshot | undefined => apply(pair, { type: 'superseded', state: OUTCOMES[outcomeName] });

  it('is refused, and the payment takes the state at the processor', () => {
    const after = by(void_('Authorized'), 'captured in part');
    assert.equal(after?.payment.status, 'Collected');
    assert.equal(after?.payment.collected, 6000n);
    assert.equal(after?.payment.operationInProgress, undefined);
    assert.equal(after?.operation.state, 'refused');
    assert.deepEqual(after?.operation.failure, NEVER_CONFIRMED);
    assert.deepEqual(after?.operation.details, {});
    assert.equal(by(void_('Opened'), 'refused')?.payment.status, 'Declined');
  });

  it('completes also when the payment is already in that state', () => {
    for (const status of ['Collected', 'Declined', 'ProcessorError', 'Voided', 'Cancelled'] as const) {
      for (const outcomeName of ['refused', 'captured'] as const) {
        const pair = void_(status);
        const after = by(pair, outcomeName);
        assert.deepEqual(
          after?.payment,
          { ...pair.payment, operationInProgress: undefined },
          `${status}, ${outcomeName}`,
        );
        assert.equal(after?.operation.state, 'refused');
      }
    }
  });
});

describe('the state of a payment at the processor', () => {
  const statusAfter = (status: Status, outcomeName: OutcomeName): Payment | undefined =>
    applyState(buildPayment(PAYMENT_STATES[status]), OUTCOMES[outcomeName], NOW, RULES);
  const EXPECTED: Partial<Record<Status, Partial<Record<OutcomeName, Status>>>> = {
    Opened: {
      approved: 'Authorized',
      captured: 'Collected',
      'captured in part': 'Collected',
      refused: 'Declined',
      broken: 'ProcessorError',
      reversed: 'Cancelled',
    },
    Authorized: {
      captured: 'Collected',
      'captured in part': 'Collected',
      refused: 'Declined',
      broken: 'ProcessorError',
      reversed: 'Voided',
    },
  };

  it('is applied only as the transition table allows', () => {
    for (const status of STATUSES)
      for (const outcomeName of OUTCOME_NAMES)
        assert.equal(
          statusAfter(status, outcomeName)?.status,
          EXPECTED[status]?.[outcomeName],
          `${status}, ${outcomeName}`,
        );
  });

  it('sets a reason for failures only', () => {
    assert.equal(statusAfter('Authorized', 'refused')?.reason, 'InsufficientFunds');
    assert.equal(statusAfter('Opened', 'broken')?.reason, 'InvalidConfiguration');
    assert.equal(statusAfter('Opened', 'reversed')?.reason, undefined);
  });
});

describe('a late outcome of a completed operation', () => {
  const ended = (
    payment: Partial<Payment>,
    operation: Partial<Operation> & { type: OperationType },
    recheckIds: readonly string[] = [],
  ): PaymentSnapshot =>
    withCompleted({ ...payment, operationInProgress: 'busy' }, operation, {
      consecutiveNotFound: 2,
      isTakenOver: true,
      recheckIds,
    });
  const later = (pair: PaymentSnapshot, outcomeName: OutcomeName): PaymentSnapshot => {
    const finding = OUTCOMES[outcomeName];
    assert.ok(finding.kind !== 'not-sent');
    return recheck(pair, finding);
  };
  const FINDINGS = OUTCOME_NAMES.filter((outcomeName) => outcomeName !== 'not sent');

  it('updates a pending payment, and leaves an operation in progress unchanged', () => {
    const pending = ended({}, { type: 'authorization', details: { processorId: 'p-0', networkId: 'n' } }, [
      FIRST,
      'other',
    ]);
    const after = later(pending, 'approved');
    assert.equal(after.payment.status, 'Authorized');
    assert.equal(after.payment.authorized, 10_000n);
    assert.equal(after.payment.operationInProgress, 'busy');
    assert.deepEqual(after.reconciliation.recheckIds, ['other']);
    assert.deepEqual(after.operation.details, { ...processorDetails, networkId: 'n' });
    assert.equal(after.operation.state, 'accepted');
    assert.equal(later(pending, 'reversed').payment.status, 'Cancelled');
    for (const outcomeName of ['pending', 'unknown', 'not-found'] as const)
      assertUnchanged(later(pending, outcomeName), pending);
  });

  it('declines a pending payment, with the reason', () => {
    const after = later(ended({}, { type: 'authorization' }, [FIRST]), 'refused');
    assert.deepEqual([after.payment.status, after.payment.reason], ['Declined', 'InsufficientFunds']);
    assert.deepEqual(after.operation.details, processorDetails);
  });

  it('keeps the earlier details', () => {
    const pending = ended({}, { type: 'authorization', details: { approvalCode: '999999', networkId: 'n' } });
    const result: InquiryResult = { kind: 'approved', details: { approvalCode: undefined, responseCode: '08' } };
    const after = recheck(pending, result);
    assert.deepEqual(after.operation.details, { approvalCode: '999999', networkId: 'n', responseCode: '08' });
  });

  it('does not restore a reversed payment', () => {
    const reversedEarlier = ended(PAYMENT_STATES.ProcessorError, {
      type: 'authorization',
      state: 'refused',
      failure: NEVER_CONFIRMED,
    });
    for (const outcomeName of FINDINGS)
      assertUnchanged(later(reversedEarlier, outcomeName), reversedEarlier, outcomeName);
  });

  it('subtracts a refund that was refused in the end', () => {
    const refund = ended(PAYMENT_STATES.Collected, { type: 'payment_refund', amount: 2000n });
    const after = later(refund, 'refused');
    assert.equal(after.payment.refunded, 1000n);
    assert.equal(after.payment.status, 'Collected');
    assert.equal(after.operation.state, 'refused');
    assert.deepEqual(after.operation.failure, failed);
    assertUnchanged(later(after, 'refused'), after);
    assert.equal(later(refund, 'approved').payment.refunded, 3000n);
    assert.deepEqual(later(refund, 'approved').operation.details, processorDetails);
    assertUnchanged(later(refund, 'pending'), refund);
  });

  it('applies a capture or refund that took effect late', () => {
    const capture = ended(PAYMENT_STATES.Authorized, {
      type: 'capture',
      state: 'refused',
      failure: NEVER_CONFIRMED,
      amount: 2000n,
    });
    const after = later(capture, 'approved');
    assert.deepEqual([after.payment.status, after.payment.collected], ['Collected', 2000n]);
    assert.equal(after.payment.operationInProgress, 'busy');
    assert.deepEqual([after.reconciliation.consecutiveNotFound, after.reconciliation.isTakenOver], [2, true]);
    assert.equal(after.operation.state, 'accepted');
    assert.equal(after.operation.failure, undefined);
    const refund = ended(PAYMENT_STATES.Collected, {
      type: 'payment_refund',
      state: 'refused',
      failure: NEVER_CONFIRMED,
      amount: 2000n,
    });
    assert.equal(later(refund, 'approved').payment.refunded, 5000n);
    const tooMuch = { ...refund, operation: { ...refund.operation, amount: 5001n } };
    assertUnchanged(later(tooMuch, 'approved'), tooMuch);
  });

  it('applies a void that took effect late, by the state of the payment, while an amount is authorized', () => {
    const late = (status: Status): PaymentSnapshot =>
      ended(PAYMENT_STATES[status], { type: 'authorization_void', state: 'refused', failure: failed });
    for (const [status, to] of [
      ['Opened', 'Cancelled'],
      ['Authorized', 'Voided'],
    ] as const) {
      const after = later(late(status), 'reversed');
      assert.deepEqual([after.payment.status, after.payment.operationInProgress], [to, 'busy']);
      assert.deepEqual([after.operation.state, after.operation.failure], ['accepted', undefined]);
    }
    for (const status of STATUSES) {
      const pair = late(status);
      const isHeld = status === 'Opened' || status === 'Authorized';
      for (const outcomeName of FINDINGS)
        if (outcomeName !== 'reversed' || !isHeld)
          assertUnchanged(later(pair, outcomeName), pair, `${status}, ${outcomeName}`);
    }
  });

  it('does not change a capture, void or expiry that took effect', () => {
    for (const type of ['capture', 'authorization_void', 'expiry'] as const) {
      const pair = ended(PAYMENT_STATES.Collected, { type });
      for (const outcomeName of FINDINGS) {
        const after = later(pair, outcomeName);
        assert.equal(after.payment, pair.payment, `${type}, ${outcomeName}`);
        assert.equal(after.operation.state, 'accepted');
      }
    }
    for (const type of ['capture', 'payment_refund', 'authorization_void'] as const) {
      const pair = ended(PAYMENT_STATES.Voided, { type, state: 'refused', failure: failed });
      for (const outcomeName of FINDINGS.filter((each) => OUTCOMES[each].kind !== 'approved'))
        assertUnchanged(later(pair, outcomeName), pair);
    }
  });

  it('is expected until the outcome is final, and for a limited time after a reversal', () => {
    const more = (pair: PaymentSnapshot, outcomeName: OutcomeName, now = NOW): boolean => {
      const finding = OUTCOMES[outcomeName];
      assert.ok(finding.kind !== 'not-sent');
      // The operation was created 100 milliseconds ago.
      return needsRecheck(pair, finding, now, 55);
    };
    const reversedEarlier = ended(PAYMENT_STATES.Authorized, { type: 'capture', state: 'refused' });
    for (const outcomeName of ['unknown', 'not-found', 'pending', 'approved'] as const) {
      assert.equal(more(reversedEarlier, outcomeName, NOW + 9), true, outcomeName);
      // The last inquiry is repeated until it has a result.
      assert.equal(more(reversedEarlier, outcomeName, NOW + 10), outcomeName === 'unknown', outcomeName);
    }
    assert.equal(more(reversedEarlier, 'refused', NOW), false);
    for (const status of STATUSES) {
      const isHeld = status === 'Opened' || status === 'Authorized';
      for (const outcomeName of FINDINGS) {
        const refusedVoid = ended(PAYMENT_STATES[status], { type: 'authorization_void', state: 'refused' });
        assert.equal(more(refusedVoid, outcomeName, NOW + 9), isHeld, `${status}, ${outcomeName}`);
        assert.equal(more(refusedVoid, outcomeName, NOW + 10), isHeld && outcomeName === 'unknown');
      }
    }
    for (const status of STATUSES) {
      for (const outcomeName of FINDINGS) {
        // A notified authorization is inquired about until a response is about it.
        const isUnanswered = outcomeName === 'unknown' || outcomeName === 'not-found';
        // So is one that was released or failed until it is answered.
        const isOver = status !== 'Opened' && status !== 'Authorized' && status !== 'Collected';
        const expected =
          status === 'Opened' || (status === 'Authorized' && isUnanswered) || (isOver && outcomeName === 'unknown');
        assert.equal(
          more(ended(PAYMENT_STATES[status], { type: 'payment' }), outcomeName, NOW + 99),
          expected,
          `${status}, ${outcomeName}`,
        );
      }
    }
    for (const type of ['capture', 'authorization_void', 'expiry'] as const)
      for (const outcomeName of FINDINGS)
        assert.equal(more(ended(PAYMENT_STATES.Collected, { type }), outcomeName), false);
    const refund = ended(PAYMENT_STATES.Collected, { type: 'payment_refund' });
    for (const outcomeName of FINDINGS)
      assert.equal(more(refund, outcomeName, NOW + 99), OUTCOMES[outcomeName].kind !== 'approved', outcomeName);
  });
});

describe('a late outcome that cannot be applied', () => {
  const refund = (changes: Partial<Payment> = {}): PaymentSnapshot =>
    withCompleted(
      { ...PAYMENT_STATES.Collected, ...changes },
      { type: 'payment_refund', amount: 6000n, state: 'refused', failure: NEVER_CONFIRMED },
    );

  it('needs an operator when the processor has processed it and the amount is already used', () => {
    const before = refund();
    assertContradicted(recheck(before, OUTCOMES.approved), before);
  });

  it('needs none when the amount is available, or when it was not processed', () => {
    const roomy = refund({ refunded: 0n });
    assert.equal(isContradicted(recheck(roomy, OUTCOMES.approved), OUTCOMES.approved), false);
    const before = refund();
    for (const result of [OUTCOMES.unknown, OUTCOMES['not-found'], OUTCOMES.refused] as const)
      assert.equal(isContradicted(recheck(before, result), result), false);
  });

  it('needs none for a void of an unchanged payment', () => {
    const type = 'authorization_void';
    const ended: PaymentSnapshot = withCompleted(PAYMENT_STATES.Authorized, {
      type,
      state: 'refused',
      failure: NEVER_CONFIRMED,
    });
    assert.equal(isContradicted(ended, OUTCOMES.approved), false);
  });

  it('needs an operator when a reversed first operation can no longer be reversed', () => {
    const first: PaymentSnapshot = withCompleted(PAYMENT_STATES.ProcessorError, {
      state: 'refused',
      failure: NEVER_CONFIRMED,
    });
    for (const status of ['ProcessorError', 'Declined'] as const) {
      const before = { ...first, payment: { ...first.payment, status } };
      assertContradicted(recheck(before, OUTCOMES.approved), before);
    }
    assert.equal(isContradicted(first, OUTCOMES['not-found']), false);
  });
});

describe('a payment that was released or failed', () => {
  const late = NOW - 100 + 2 * RULES.recoveryMax;
  const over = (status: 'Cancelled' | 'Voided' | 'Declined' | 'ProcessorError', type: PaymentType = 'payment') =>
    withCompleted({ ...PAYMENT_STATES[status], type }, { type }, { recheckIds: [FIRST] });

  it('is in doubt when the processor captured, or still holds, its amount, until a person has seen to it', () => {
    for (const status of ['Cancelled', 'Voided', 'Declined', 'ProcessorError'] as const)
      for (const outcomeName of ['captured', 'captured in part', 'approved'] as const) {
        const before = over(status);
        const after = recheck(before, OUTCOMES[outcomeName]);
        assertContradicted(after, { ...before, operation: after.operation }, `${status}, ${outcomeName}`);
        assert.equal(after.operation.state, 'accepted');
        for (const outcome of ['accepted', 'refused'] as const) {
          const resolution = { type: 'resolved-manually', outcome, by: { type: 'operator' }, reason: '' } as const;
          const resolved = apply(after, resolution);
          assertUnchanged(resolved ?? assert.fail(), after);
          const closed = { lastProblem: 'contradiction', closedIds: [FIRST] };
          assert.deepEqual(resolved?.reconciliation, buildReconciliation(closed));
        }
      }
  });

  it('is in doubt after a void of a pending payment that the processor had captured', () => {
    const pending = apply(withOperation({ type: 'payment' }, { type: 'payment' }), {
      type: 'responded',
      outcome: OUTCOMES.pending,
    });
    assert.ok(pending !== undefined);
    const { operation } = withOperation({}, { type: 'authorization_void' });
    const voided = apply(apply(pending, { type: 'started', operation }), {
      type: 'responded',
      outcome: OUTCOMES.approved,
    });
    assert.deepEqual([voided?.payment.status, voided?.reconciliation.recheckIds], ['Cancelled', [FIRST]]);
    const first: PaymentSnapshot = { ...(voided ?? assert.fail()), operation: pending.operation };
    assert.equal(recheck(first, OUTCOMES.captured).reconciliation.inDoubtSince, NOW);
  });

  it('is rechecked until it is answered, and for a limited time while its order may still be decided', () => {
    const before = over('Cancelled');
    for (const outcomeName of ['pending', 'unknown'] as const)
      assertUnchanged(recheck(before, OUTCOMES[outcomeName]), before);
    assert.deepEqual(recheck(before, OUTCOMES.unknown, late).reconciliation.recheckIds, [FIRST]);
    assert.deepEqual(recheck(before, OUTCOMES.pending, late - 1).reconciliation.recheckIds, [FIRST]);
    assert.deepEqual(recheck(before, OUTCOMES.pending, late).reconciliation.recheckIds, []);
    // It may have been released long after it was created.
    const released = apply(before, { type: 'inquired', result: OUTCOMES.pending, latestAt: NOW - 99 }, late);
    assert.deepEqual(released?.reconciliation.recheckIds, [FIRST]);
    const elsewhere = { kind: 'unknown', problem: 'account-changed' } as const;
    assert.deepEqual(recheck(before, elsewhere, late).reconciliation.recheckIds, []);
    for (const outcomeName of ['reversed', 'refused', 'not-found'] as const)
      assert.deepEqual(recheck(over('Cancelled'), OUTCOMES[outcomeName]).reconciliation, buildReconciliation());
  });

  it('is not in doubt while the records of the processor may not show the release yet', () => {
    const before = over('Voided');
    const inquired = (result: InquiryResult, latestAt: number) => apply(before, { type: 'inquired', result, latestAt });
    const early = inquired(OUTCOMES.approved, NOW - 60_000);
    assert.deepEqual([early?.reconciliation.inDoubtSince, early?.reconciliation.recheckIds], [undefined, [FIRST]]);
    assert.equal(inquired(OUTCOMES.approved, NOW - 600_000)?.reconciliation.inDoubtSince, NOW);
    assert.equal(inquired(OUTCOMES.captured, NOW - 60_000)?.reconciliation.inDoubtSince, NOW);
  });

  it('is not in doubt again once a person has seen to it, whatever the processor reports', () => {
    const resolution = {
      type: 'resolved-manually',
      outcome: 'accepted',
      by: { type: 'operator' },
      reason: '',
    } as const;
    const closed = apply(recheck(over('Voided'), OUTCOMES.captured), resolution) ?? assert.fail();
    const noted = apply(closed, { type: 'notified' }) ?? assert.fail();
    assert.deepEqual(noted.reconciliation.recheckIds, [FIRST]);
    assert.deepEqual(recheck(noted, OUTCOMES.captured).reconciliation, closed.reconciliation);
  });

  it('is resolved once where its capture and its state show the same', () => {
    const { payment } = over('Voided');
    const capture = withCompleted(
      payment,
      { type: 'capture', state: 'refused', failure: NEVER_CONFIRMED },
      { inDoubtSince: NOW, recheckIds: [FIRST, NEXT], contradictoryIds: [NEXT, FIRST] },
    );
    const resolution = { type: 'resolved-manually', outcome: 'refused', by: { type: 'operator' }, reason: '' } as const;
    assert.deepEqual(apply(capture, resolution)?.reconciliation, buildReconciliation({ closedIds: [NEXT, FIRST] }));
  });

  it('is not in doubt while the processor has what the payment has', () => {
    for (const [status, outcomeName] of [
      ['Authorized', 'approved'],
      ['Collected', 'captured'],
      ['Collected', 'approved'],
    ] as const)
      assert.equal(isContradicted(withCompleted(PAYMENT_STATES[status], {}), OUTCOMES[outcomeName]), false);
  });
});

describe('a pending payment of which more was captured than requested', () => {
  it('is in doubt', () => {
    for (const status of ['Opened', 'Authorized'] as const) {
      const before = withCompleted(PAYMENT_STATES[status], {}, { recheckIds: [FIRST] });
      const after = recheck(before, { ...OUTCOMES.captured, captured: captured(10_001n) });
      assert.equal(after.payment, before.payment);
      assert.equal(after.reconciliation.inDoubtSince, NOW);
    }
  });
});

describe('a payment that fails after its approval', () => {
  it('drops the code of the approval', () => {
    const before: PaymentSnapshot = withCompleted(PAYMENT_STATES.Authorized, {
      state: 'accepted',
      details: processorDetails,
    });
    const result: InquiryResult = { kind: 'refused', failure: failed, details: {} };
    const { payment, operation } = recheck(before, result);
    assert.equal(payment.status, 'Declined');
    assert.equal(operation.details.responseCode, undefined);
    assert.equal(operation.details.approvalCode, processorDetails.approvalCode);
  });
});

describe('a capture in another currency', () => {
  it('is not accepted', () => {
    const result: InquiryResult = {
      kind: 'approved',
      captured: { minor: 10_000n, currency: CLP },
      details: processorDetails,
    };
    assert.equal(applyState(buildPayment(), result, NOW, RULES), undefined);
  });
});

describe('a capture that was reversed', () => {
  it('is not confused with another capture of the same amount', () => {
    const before: PaymentSnapshot = withCompleted(
      { ...PAYMENT_STATES.Collected, refunded: 0n },
      { type: 'capture', amount: 8000n, state: 'refused', failure: NEVER_CONFIRMED },
    );
    assertContradicted(recheck(before, OUTCOMES.approved), before);
  });

  it('took effect when the state of the payment reported it first, and no other capture did', () => {
    const before: PaymentSnapshot = withCompleted(
      { ...PAYMENT_STATES.Collected, refunded: 0n },
      { type: 'capture', amount: 8000n, state: 'refused', failure: NEVER_CONFIRMED },
      { attempts: 3, inDoubtSince: NOW, recheckIds: [NEXT], contradictoryIds: [NEXT] },
    );
    const find = (snapshot: PaymentSnapshot, hasOtherCapture: boolean) =>
      apply(snapshot, { type: 'inquired', result: OUTCOMES.approved, hasOtherCapture });
    const after = find(before, false);
    assert.deepEqual(after?.payment, before.payment);
    assert.deepEqual([after?.operation.state, after?.operation.failure], ['accepted', undefined]);
    assert.deepEqual(after?.reconciliation, buildReconciliation());
    assert.equal(find(before, true)?.reconciliation.inDoubtSince, NOW);
    assertUnchanged(find(before, true) ?? assert.fail(), before);
    for (const amount of [7999n, 8001n]) {
      const other = { ...before, operation: { ...before.operation, amount } };
      assertUnchanged(find(other, false) ?? assert.fail(), other);
    }
    const declined = { ...before, payment: { ...before.payment, status: 'Declined' as const } };
    assertUnchanged(find(declined, false) ?? assert.fail(), declined);
  });

  it('that a notification reported first completes with the response, and not before', () => {
    const running = (status: 'Collected' | 'Declined'): PaymentSnapshot =>
      withOperation({ ...PAYMENT_STATES[status], collected: 8000n, refunded: 0n }, { type: 'capture', amount: 8000n });
    assert.equal(describeResult(settled(running('Collected'), 'approved')), 'accepted, Collected 10000/8000/0');
    assert.equal(settled(running('Declined'), 'approved'), undefined);
  });
});

describe('the details of an operation', () => {
  const accepted = (): PaymentSnapshot =>
    withCompleted(PAYMENT_STATES.Authorized, { state: 'accepted', details: processorDetails });

  it('keeps the code of an outcome that is not a refusal', () => {
    const result: InquiryResult = { kind: 'approved', captured: { minor: 10_000n, currency: USD }, details: {} };
    const { payment, operation } = recheck(accepted(), result);
    assert.equal(payment.status, 'Collected');
    assert.deepEqual(operation.details, processorDetails);
  });
});

describe('a requested payment', () => {
  const order = {
    id: FIRST,
    type: 'payment',
    processor: 'simulator',
    currency: USD,
    amount: 10_000n,
    referenceCode: 'A-1',
    card: { truncated: '411111******1111' },
    captureIds: ['capture-1'],
  } as const;
  const KEY = { type: 'key', id: 'key-1' } as const;

  it('is Opened, with its first operation in progress and no amounts yet', () => {
    const opened = apply(undefined, { type: 'requested', order, operationRef: 'A-1.first', requestedBy: KEY });
    assert.deepEqual(opened, {
      payment: buildPayment({
        ...order,
        operationInProgress: FIRST,
        createdAt: NOW,
        expiresAt: NOW + LIFETIMES.opened,
      }),
      operation: newOperation(FIRST, NOW, order, {
        type: 'payment',
        amount: 10_000n,
        referenceCode: 'A-1',
        operationRef: 'A-1.first',
        requestedBy: KEY,
      }),
      reconciliation: buildReconciliation(),
    });
  });

  it('is requested once, and no other event applies to a payment that does not exist', () => {
    assert.equal(
      apply(withOperation({}, { type: 'authorization' }), {
        type: 'requested',
        order,
        operationRef: 'A-1.first',
        requestedBy: KEY,
      }),
      undefined,
    );
    assert.equal(apply(undefined, { type: 'notified' }), undefined);
  });
});

describe('a further operation', () => {
  const { operation } = withOperation(PAYMENT_STATES.Authorized, { type: 'capture' });

  it('is counted, and is not in doubt because of earlier ones', () => {
    const before = withCompleted(
      { ...PAYMENT_STATES.Authorized, operationCount: 3 },
      {},
      { attempts: 4, inDoubtSince: NOW, recheckIds: [FIRST] },
    );
    const after = apply(before, { type: 'started', operation });
    assert.deepEqual(after?.payment, { ...before.payment, operationInProgress: NEXT, operationCount: 4 });
    assert.equal(after?.operation, operation);
    assert.deepEqual(after?.reconciliation, buildReconciliation({ recheckIds: [FIRST] }));
  });

  it('ends no doubt about a contradictory one, neither when it starts nor when it completes', () => {
    const doubt = { inDoubtSince: NOW - 50, recheckIds: [FIRST], contradictoryIds: [FIRST] };
    const before = withCompleted(PAYMENT_STATES.Authorized, {}, { ...doubt, attempts: 4 });
    const started = apply(before, { type: 'started', operation });
    assert.deepEqual(started?.reconciliation, buildReconciliation(doubt));
    const completed = apply(started, { type: 'responded', outcome: OUTCOMES.approved });
    assert.equal(completed?.operation.state, 'accepted');
    assert.deepEqual(completed?.reconciliation, buildReconciliation(doubt));
  });

  it('does not start while another one is in progress', () => {
    assert.equal(apply(withOperation({}, { type: 'authorization' }), { type: 'started', operation }), undefined);
  });
});

describe('a response to our request', () => {
  const capture = withOperation(PAYMENT_STATES.Authorized, { type: 'capture', amount: 2000n });

  it('with an unknown outcome puts the operation in doubt', () => {
    const after = apply(capture, { type: 'responded', outcome: OUTCOMES.unknown });
    assertUnchanged(after ?? assert.fail(), capture);
    assert.deepEqual(after?.reconciliation, buildReconciliation({ inDoubtSince: NOW, lastProblem: 'timeout' }));
    const again = apply(after, { type: 'responded', outcome: OUTCOMES.unknown }, NOW + 5);
    assert.equal(again?.reconciliation.inDoubtSince, NOW);
    const tooMuch = withOperation(PAYMENT_STATES.Collected, { type: 'payment_refund', amount: 5001n });
    const contradicted = apply(tooMuch, { type: 'responded', outcome: OUTCOMES.approved });
    assert.deepEqual(contradicted?.reconciliation, buildReconciliation({ inDoubtSince: NOW }));
  });

  it('does not complete an operation that recovery has taken over', () => {
    const reversing = { ...capture, reconciliation: buildReconciliation({ isTakenOver: true }) };
    for (const outcome of [OUTCOMES.approved, OUTCOMES.refused, OUTCOMES['not sent']] as const) {
      const after = apply(reversing, { type: 'responded', outcome });
      assertUnchanged(after ?? assert.fail(), reversing);
      assert.equal(after?.reconciliation.inDoubtSince, NOW);
    }
  });

  it('that is refused takes the state that the processor reports for the payment', () => {
    const refused = (state: InquiryResult) => apply(capture, { type: 'responded', outcome: OUTCOMES.refused, state });
    const after = refused(OUTCOMES['captured in part']);
    assert.deepEqual([after?.payment.status, after?.payment.collected], ['Collected', 6000n]);
    assert.equal(after?.operation.state, 'refused');
    assert.equal(after?.operation.stateAfter?.status, 'Collected');
    const same = refused(OUTCOMES.approved);
    assert.deepEqual([same?.payment.status, same?.operation.stateAfter?.status], ['Authorized', 'Authorized']);
  });

  it('that is approved after recovery refused the operation has it rechecked', () => {
    const refused = withCompleted(PAYMENT_STATES.Authorized, { type: 'capture', state: 'refused' });
    const after = apply(refused, { type: 'responded', outcome: OUTCOMES.approved });
    assertUnchanged(after ?? assert.fail(), refused);
    assert.deepEqual(after?.reconciliation.recheckIds, [NEXT]);
    assert.equal(apply(refused, { type: 'responded', outcome: OUTCOMES.refused }), undefined);
    const accepted = withCompleted(PAYMENT_STATES.Collected, { type: 'capture' });
    assert.equal(apply(accepted, { type: 'responded', outcome: OUTCOMES.approved }), undefined);
  });

  it('completes no first operation of a payment that is not Opened', () => {
    for (const status of STATUSES)
      for (const outcomeName of ['approved', 'captured', 'refused', 'pending', 'not sent'] as const) {
        const after = responded(
          withOperation(PAYMENT_STATES[status], { type: 'authorization' }),
          OUTCOMES[outcomeName],
        );
        assert.equal(after !== undefined, status === 'Opened', `${status}, ${outcomeName}`);
      }
    const { payment } = responded(withOperation({}, { type: 'authorization' }), OUTCOMES.pending) ?? assert.fail();
    assert.deepEqual([payment.status, payment.expiresAt], ['Opened', NOW + 500]);
  });
});

describe('the transition table', () => {
  /** Runs with a row missing. */
  const without = (from: Status | 'new', to: Status, act: () => void): void => {
    const rows = TRANSITIONS as (typeof TRANSITIONS)[number][];
    const index = rows.findIndex((row) => row.from === from && row.to === to);
    const [row] = rows.splice(index, 1);
    try {
      act();
    } finally {
      if (row !== undefined) rows.splice(index, 0, row);
    }
  };
  const FIRST_OUTCOMES = {
    Opened: 'pending',
    Authorized: 'approved',
    Collected: 'captured',
    Declined: 'refused',
    ProcessorError: 'broken',
  } as const;

  it('applies the rows of a new payment to first responses, and those of Opened to inquiries', () => {
    const first = withOperation({}, { type: 'authorization' });
    for (const [to, outcomeName] of Object.entries(FIRST_OUTCOMES) as [
      keyof typeof FIRST_OUTCOMES,
      (typeof FIRST_OUTCOMES)[keyof typeof FIRST_OUTCOMES],
    ][]) {
      const response = () => responded(first, OUTCOMES[outcomeName])?.payment.status;
      const inquiry = () => completedBy(first, OUTCOMES[outcomeName])?.payment.status;
      assert.deepEqual([response(), inquiry()], [to, to]);
      without('new', to, () => assert.deepEqual([response(), inquiry()], [undefined, to]));
      if (to !== 'Opened') without('Opened', to, () => assert.deepEqual([response(), inquiry()], [to, undefined]));
    }
  });

  it('has the row that opens a payment', () => {
    const order = { ...buildPayment(), type: 'authorization' } as const;
    const KEY = undefined;
    assert.equal(
      apply(undefined, { type: 'requested', order, operationRef: 'A-1.first', requestedBy: KEY })?.payment.status,
      'Opened',
    );
    without('new', 'Opened', () =>
      assert.equal(
        apply(undefined, { type: 'requested', order, operationRef: 'A-1.first', requestedBy: KEY }),
        undefined,
      ),
    );
  });
});

describe('a void that recovery repeated', () => {
  it('is rechecked when it is refused: the first request may still arrive', () => {
    const before = withOperation(PAYMENT_STATES.Authorized, { type: 'authorization_void' }, { isTakenOver: true });
    const after = apply(before, { type: 'inquired', result: OUTCOMES.refused });
    assert.deepEqual([after?.operation.state, after?.reconciliation.recheckIds], ['refused', [NEXT]]);
    assert.deepEqual(
      responded(withOperation(PAYMENT_STATES.Authorized, { type: 'authorization_void' }), OUTCOMES.refused)
        ?.reconciliation.recheckIds,
      [],
    );
    assert.deepEqual(apply(before, { type: 'inquired', result: OUTCOMES.approved })?.reconciliation.recheckIds, []);
    const capture = withOperation(PAYMENT_STATES.Authorized, { type: 'capture' });
    assert.deepEqual(apply(capture, { type: 'inquired', result: OUTCOMES.refused })?.reconciliation.recheckIds, []);
  });
});

describe('an attempt without a result', () => {
  const before = withOperation({}, { type: 'payment' }, { attempts: 2, consecutiveNotFound: 3 });
  const count = (event: Partial<Extract<PaymentEvent, { type: 'unanswered' }>>, snapshot = before) =>
    apply(snapshot, { type: 'unanswered', problem: 'timeout', ...event })?.reconciliation;

  it('is counted, and so is a result not-found', () => {
    const expected = { attempts: 3, inDoubtSince: NOW, lastProblem: 'timeout', inquiries: 1, lastInquiredAt: NOW };
    assert.deepEqual(count({}), buildReconciliation({ ...expected, consecutiveNotFound: 3 }));
    assert.deepEqual(count({ notFound: true }), buildReconciliation({ ...expected, consecutiveNotFound: 4 }));
    assert.deepEqual(count({ notFound: false }), buildReconciliation({ ...expected, consecutiveNotFound: 0 }));
    const doubted = withOperation({}, { type: 'payment' }, { inDoubtSince: NOW - 50 });
    assert.equal(count({}, doubted)?.inDoubtSince, NOW - 50);
  });

  it('does not put a completed operation in doubt, and ends no doubt about one that is contradictory', () => {
    assert.equal(count({}, withCompleted({}, {}, { recheckIds: [FIRST] }))?.inDoubtSince, undefined);
    const contradictory = withCompleted({}, {}, { inDoubtSince: NOW - 50, contradictoryIds: [FIRST] });
    assert.equal(count({}, contradictory)?.inDoubtSince, NOW - 50);
  });
});

describe('an operation that recovery takes over', () => {
  it('is marked once, before anything is sent, with the count of not-found results', () => {
    const before = withOperation(PAYMENT_STATES.Authorized, { type: 'capture' }, { consecutiveNotFound: 2 });
    const start = (notFound?: boolean) => apply(before, { type: 'taken-over', notFound });
    assertUnchanged(start() ?? assert.fail(), before);
    assert.deepEqual(start()?.reconciliation, buildReconciliation({ consecutiveNotFound: 2, isTakenOver: true }));
    assert.equal(start(true)?.reconciliation.consecutiveNotFound, 3);
    assert.equal(start(false)?.reconciliation.consecutiveNotFound, 0);
    assert.equal(apply(start(), { type: 'taken-over' }), undefined);
  });

  it('is not marked when it has completed, and neither a reversal nor the state of the payment ends it again', () => {
    const completed = withCompleted(PAYMENT_STATES.Authorized, { type: 'capture' });
    for (const event of [
      { type: 'taken-over' },
      { type: 'reversed', failure: NEVER_RECEIVED },
      { type: 'superseded', state: OUTCOMES.captured },
    ] as const)
      assert.equal(apply(completed, event), undefined, event.type);
  });
});

describe('a notification', () => {
  it('schedules one recheck of the operation', () => {
    const before = withCompleted(PAYMENT_STATES.Authorized, {}, { dueAt: NOW + 50, recheckIds: ['other'] });
    const after = apply(before, { type: 'notified' });
    assertUnchanged(after ?? assert.fail(), before);
    assert.deepEqual(after?.reconciliation.recheckIds, ['other', FIRST]);
    const due = { ...before, reconciliation: buildReconciliation({ dueAt: NOW, recheckIds: [FIRST] }) };
    assert.equal(apply(due, { type: 'notified' }), undefined);
    assert.notEqual(apply(due, { type: 'notified' }, NOW - 1), undefined);
    const busy = withOperation({}, { type: 'authorization' }, { recheckIds: [FIRST] });
    assert.equal(apply(busy, { type: 'notified' }), undefined);
    const never = withCompleted({}, {}, { recheckIds: [FIRST] });
    assert.notEqual(apply(never, { type: 'notified' }), undefined);
  });
});

describe('a recheck', () => {
  const pending = withCompleted({}, {}, { attempts: 3, recheckIds: [FIRST] });

  it('ends with a definite result, which resets the attempts and the doubt', () => {
    const after = recheck(pending, OUTCOMES.approved);
    assert.deepEqual(after.reconciliation, buildReconciliation());
    const busy = withCompleted({ operationInProgress: NEXT }, {}, { ...pending.reconciliation, inDoubtSince: NOW });
    assert.deepEqual(
      recheck(busy, OUTCOMES.approved).reconciliation,
      buildReconciliation({ attempts: 3, inDoubtSince: NOW }),
    );
  });

  it('continues while the processor may report more, keeps its attempts, and makes way for the others', () => {
    assert.deepEqual(recheck(pending, OUTCOMES.pending).reconciliation, pending.reconciliation);
    const two = { ...pending, reconciliation: { ...pending.reconciliation, recheckIds: [FIRST, 'other'] } };
    assert.deepEqual(recheck(two, OUTCOMES.pending).reconciliation.recheckIds, ['other', FIRST]);
    assert.deepEqual(recheck(two, OUTCOMES.approved).reconciliation, {
      ...pending.reconciliation,
      recheckIds: ['other'],
    });
  });

  it('of a contradictory operation continues until the processor or a person states otherwise', () => {
    const refused = { type: 'payment_refund', state: 'refused', amount: 6000n } as const;
    const doubt = { inDoubtSince: NOW, recheckIds: [NEXT], contradictoryIds: [NEXT] };
    const before = withCompleted(PAYMENT_STATES.Collected, refused, doubt);
    const late = NOW + 10 * RULES.recoveryMax;
    for (const outcomeName of ['approved', 'not-found', 'pending', 'unknown'] as const) {
      const after = recheck(before, OUTCOMES[outcomeName], late);
      const expected = { ...doubt, lastProblem: 'contradiction' };
      assert.deepEqual(after.reconciliation, buildReconciliation(expected), outcomeName);
      const unanswered = apply(after, { type: 'unanswered', problem: 'timeout' }, late);
      assert.equal(unanswered?.reconciliation.inDoubtSince, NOW);
    }
    for (const outcomeName of ['refused', 'reversed'] as const)
      assert.deepEqual(recheck(before, OUTCOMES[outcomeName], late).reconciliation, buildReconciliation());
    const withoutDoubt = withCompleted(PAYMENT_STATES.Collected, refused, { recheckIds: [NEXT] });
    assert.deepEqual(recheck(withoutDoubt, OUTCOMES['not-found'], late).reconciliation.recheckIds, []);
  });

  it('ends the doubt only with the last contradictory operation, and leaves the others rechecked', () => {
    const doubt = { attempts: 3, inDoubtSince: NOW, recheckIds: [FIRST, NEXT, 'other'] };
    const two = withCompleted(PAYMENT_STATES.Cancelled, {}, { ...doubt, contradictoryIds: [FIRST, NEXT] });
    const one = recheck(two, OUTCOMES.reversed);
    assert.deepEqual(
      one.reconciliation,
      buildReconciliation({ ...doubt, recheckIds: [NEXT, 'other'], contradictoryIds: [NEXT] }),
    );
    const none = recheck(
      { ...two, reconciliation: { ...two.reconciliation, contradictoryIds: [FIRST] } },
      OUTCOMES.reversed,
    );
    assert.deepEqual(none.reconciliation, buildReconciliation({ attempts: 3, recheckIds: [NEXT, 'other'] }));
  });

  it('continues until a payment that was found authorized has its capture in progress', () => {
    const rules = { ...RULES, capabilities: { sale: false } };
    const opened = buildPayment();
    const rechecked = (payment: Partial<Payment>, with_ = rules, after = opened): readonly string[] | undefined =>
      applyEvent(
        {
          ...pending,
          operation: { ...pending.operation, stateAfter: after },
          payment: buildPayment({ type: 'payment', ...payment }),
        },
        { type: 'inquired', result: OUTCOMES.approved },
        NOW,
        with_,
      )?.reconciliation.recheckIds;
    assert.deepEqual(rechecked({}), [FIRST]);
    assert.deepEqual(rechecked({ operationCount: 2 }), []);
    assert.deepEqual(rechecked({ type: 'authorization' }), []);
    assert.deepEqual(rechecked({}, RULES), []);
    assert.deepEqual(rechecked({ status: 'Collected', collected: 10_000n, expiresAt: undefined }), []);
    // It was authorized at once, and its capture was declined: the merchant decides about it.
    assert.deepEqual(rechecked(PAYMENT_STATES.Authorized), [FIRST]);
    assert.deepEqual(rechecked(PAYMENT_STATES.Authorized, rules, buildPayment(PAYMENT_STATES.Authorized)), []);
  });
});

describe('an outcome that an operator sets', () => {
  const state = (snapshot: PaymentSnapshot, outcome: 'accepted' | 'refused') =>
    apply(snapshot, { type: 'resolved-manually', outcome, by: { type: 'operator', name: 'ops' }, reason: 'seen' });

  it('completes the operation like the outcome of the processor', () => {
    const capture = withOperation(PAYMENT_STATES.Authorized, { type: 'capture', amount: 2000n }, { isTakenOver: true });
    const accepted = state(capture, 'accepted');
    assert.deepEqual([accepted?.payment.status, accepted?.payment.collected], ['Collected', 2000n]);
    const refused = state(capture, 'refused');
    assert.deepEqual([refused?.payment.status, refused?.operation.failure], ['Authorized', NEVER_CONFIRMED]);
    assert.deepEqual([refused?.reconciliation, refused?.operation.details], [buildReconciliation(), {}]);
    const sale = state(withOperation({}, { type: 'payment' }), 'accepted');
    assert.deepEqual([sale?.payment.status, sale?.payment.collected], ['Collected', 10_000n]);
    const hold = state(withOperation({}, { type: 'authorization' }), 'accepted');
    assert.deepEqual([hold?.payment.status, hold?.payment.collected], ['Authorized', 0n]);
    assert.equal(state(withOperation({}, { type: 'authorization' }), 'refused')?.payment.status, 'ProcessorError');
  });

  it('is not applied where no transition covers it', () => {
    assert.equal(state(withOperation(PAYMENT_STATES.Voided, { type: 'capture' }), 'accepted'), undefined);
    assert.equal(state(withOperation(PAYMENT_STATES.Authorized, { type: 'expiry' }), 'refused'), undefined);
  });

  const contradictory = (contradictoryIds: readonly string[], recheckIds: readonly string[]): PaymentSnapshot =>
    withCompleted(
      PAYMENT_STATES.Collected,
      { type: 'payment_refund', state: 'refused' },
      { attempts: 9, inDoubtSince: NOW, lastProblem: 'contradiction', recheckIds, contradictoryIds },
    );

  it('ends the doubt about a contradictory operation, and changes nothing else', () => {
    const lastProblem = 'contradiction';
    for (const outcome of ['accepted', 'refused'] as const) {
      const before = contradictory([NEXT], [NEXT]);
      const after = state(before, outcome);
      assertUnchanged(after ?? assert.fail(), before);
      assert.deepEqual(after?.reconciliation, buildReconciliation({ lastProblem, closedIds: [NEXT] }));
    }
    const others = state(contradictory([NEXT], ['pending', NEXT]), 'refused');
    assert.deepEqual(
      others?.reconciliation,
      buildReconciliation({ attempts: 9, lastProblem, recheckIds: ['pending'], closedIds: [NEXT] }),
    );
    const another = state(contradictory([NEXT, FIRST], [FIRST, NEXT]), 'refused')?.reconciliation;
    assert.deepEqual([another?.inDoubtSince, another?.recheckIds, another?.contradictoryIds], [NOW, [FIRST], [FIRST]]);
  });

  it('is not applied to a completed operation that is not contradictory', () => {
    assert.equal(state(contradictory([FIRST], [FIRST, NEXT]), 'refused'), undefined);
  });
});
