import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  buildOperation,
  buildPayment,
  FIRST,
  failed,
  LIFETIMES,
  NEXT,
  NOW,
  OUTCOME_NAMES,
  OUTCOMES,
  type OutcomeName,
  PAYMENT_STATES,
  told,
  USD,
  withOperation,
} from '../../test/fixtures/payment-fixtures.ts';
import type { Currency } from '../kernel/currency.ts';
import type { Operation, Payment } from './payment.ts';
import type { InquiryResult, OperationType } from './processor.ts';
import {
  expectsMore,
  isBeyondUs,
  NEVER_CONFIRMED,
  NEVER_RECEIVED,
  overtaken,
  type PaymentSnapshot,
  refusedForNow,
  resettle,
  settle,
  standing,
  unwatched,
} from './settle.ts';
import { STATUSES, type Status } from './transitions.ts';

const CLP = 'CLP' as Currency;

describe('an operation that ends without effect', () => {
  it('leaves the payment as it is, unless it is the first', () => {
    const capture = withOperation(PAYMENT_STATES.Authorized, { type: 'capture' });
    const after = refusedForNow(capture, NEVER_RECEIVED);
    assert.deepEqual(after?.payment, { ...capture.payment, operationInProgress: undefined, recheckIds: [NEXT] });
    assert.deepEqual(after?.operation.details, {});
    const first = refusedForNow(withOperation({}, { type: 'payment' }), NEVER_CONFIRMED);
    assert.deepEqual([first?.payment.status, first?.payment.reason], ['ProcessorError', 'Undefined']);
  });

  it('for now, is watched once', () => {
    const capture = withOperation({ ...PAYMENT_STATES.Authorized, recheckIds: [NEXT, 'other'] }, { type: 'capture' });
    const after = refusedForNow(capture, NEVER_CONFIRMED);
    assert.deepEqual(after?.payment.recheckIds, ['other', NEXT]);
    assert.equal(after?.operation.state, 'refused');
    assert.deepEqual(after?.operation.failure, NEVER_CONFIRMED);
    assert.equal(refusedForNow(withOperation(PAYMENT_STATES.Voided, { type: 'payment' }), NEVER_CONFIRMED), undefined);
    assert.deepEqual(unwatched(buildPayment({ recheckIds: ['a', NEXT, 'b'] }), NEXT).recheckIds, ['a', 'b']);
  });
});

describe('an operation that was overtaken', () => {
  const void_ = (status: Status): PaymentSnapshot =>
    withOperation(PAYMENT_STATES[status], { type: 'authorization_void' });
  const by = (pair: PaymentSnapshot, word: 'refused' | 'captured' | 'captured in part'): PaymentSnapshot =>
    overtaken(pair, OUTCOMES[word], NOW, LIFETIMES);

  it('is refused, and the payment stands as it does at the processor', () => {
    const after = by(void_('Authorized'), 'captured in part');
    assert.equal(after?.payment.status, 'Collected');
    assert.equal(after?.payment.collected, 6000n);
    assert.equal(after?.payment.operationInProgress, undefined);
    assert.equal(after?.operation.state, 'refused');
    assert.deepEqual(after?.operation.failure, NEVER_CONFIRMED);
    assert.deepEqual(after?.operation.details, {});
    assert.equal(by(void_('Opened'), 'refused')?.payment.status, 'Declined');
  });

  it('ends also where the payment stands so already', () => {
    for (const status of ['Collected', 'Declined', 'ProcessorError', 'Voided', 'Cancelled'] as const) {
      for (const word of ['refused', 'captured'] as const) {
        const pair = void_(status);
        const after = by(pair, word);
        assert.deepEqual(after?.payment, { ...pair.payment, operationInProgress: undefined }, `${status}, ${word}`);
        assert.equal(after?.operation.state, 'refused');
      }
    }
  });
});

describe('how the processor says that a payment stands', () => {
  const stands = (status: Status, word: OutcomeName): Payment | undefined =>
    standing(buildPayment(PAYMENT_STATES[status]), OUTCOMES[word], NOW, LIFETIMES);
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

  it('is news only along the table', () => {
    for (const status of STATUSES)
      for (const word of OUTCOME_NAMES)
        assert.equal(stands(status, word)?.status, EXPECTED[status]?.[word], `${status}, ${word}`);
  });

  it('gives a failure its reason and nothing else one', () => {
    assert.equal(stands('Authorized', 'refused')?.reason, 'InsufficientFunds');
    assert.equal(stands('Opened', 'broken')?.reason, 'InvalidConfiguration');
    assert.equal(stands('Opened', 'reversed')?.reason, undefined);
  });
});

describe('a later word about an operation that has ended', () => {
  const ended = (
    payment: Partial<Payment>,
    operation: Partial<Operation> & { type: OperationType },
  ): PaymentSnapshot => ({
    payment: buildPayment({ ...payment, operationInProgress: 'busy', consecutiveNotFound: 2, reversalStarted: true }),
    operation: buildOperation({ state: 'accepted', ...operation }),
  });
  const later = (pair: PaymentSnapshot, word: OutcomeName): PaymentSnapshot => {
    const finding = OUTCOMES[word];
    assert.ok(finding.kind !== 'not-sent');
    return resettle(pair, finding, NOW, LIFETIMES);
  };
  const FINDINGS = OUTCOME_NAMES.filter((word) => word !== 'not sent');

  it('moves a pending payment on, and leaves what is under way', () => {
    const pending = ended(
      { recheckIds: [FIRST] },
      { type: 'authorization', details: { processorId: 'p-0', networkId: 'n' } },
    );
    const after = later(pending, 'approved');
    assert.equal(after.payment.status, 'Authorized');
    assert.equal(after.payment.authorized, 10_000n);
    assert.equal(after.payment.operationInProgress, 'busy');
    assert.deepEqual(after.payment.recheckIds, [FIRST]);
    assert.deepEqual(after.operation.details, { ...told, networkId: 'n' });
    assert.equal(after.operation.state, 'accepted');
    assert.equal(later(pending, 'reversed').payment.status, 'Cancelled');
    for (const word of ['pending', 'unknown', 'not-found'] as const) assert.equal(later(pending, word), pending);
  });

  it('declines a pending payment, with the reason', () => {
    const after = later(ended({ recheckIds: [FIRST] }, { type: 'authorization' }), 'refused');
    assert.deepEqual([after.payment.status, after.payment.reason], ['Declined', 'InsufficientFunds']);
    assert.deepEqual(after.operation.details, told);
  });

  it('forgets nothing that was told before', () => {
    const pending = ended({}, { type: 'authorization', details: { approvalCode: '999999', networkId: 'n' } });
    const word: InquiryResult = { kind: 'approved', details: { approvalCode: undefined, responseCode: '08' } };
    const after = resettle(pending, word, NOW, LIFETIMES);
    assert.deepEqual(after.operation.details, { approvalCode: '999999', networkId: 'n', responseCode: '08' });
  });

  it('does not bring a given-up payment back', () => {
    const givenUp = ended(PAYMENT_STATES.ProcessorError, {
      type: 'authorization',
      state: 'refused',
      failure: NEVER_CONFIRMED,
    });
    for (const word of FINDINGS) assert.equal(later(givenUp, word), givenUp, word);
  });

  it('takes a refund back that was refused in the end', () => {
    const refund = ended(PAYMENT_STATES.Collected, { type: 'payment_refund', amount: 2000n });
    const after = later(refund, 'refused');
    assert.equal(after.payment.refunded, 1000n);
    assert.equal(after.payment.status, 'Collected');
    assert.equal(after.operation.state, 'refused');
    assert.deepEqual(after.operation.failure, failed);
    assert.equal(later(after, 'refused'), after);
    assert.equal(later(refund, 'approved').payment.refunded, 3000n);
    assert.deepEqual(later(refund, 'approved').operation.details, told);
    assert.equal(later(refund, 'pending'), refund);
  });

  it('finds a capture or refund that arrived late', () => {
    const capture = ended(PAYMENT_STATES.Authorized, {
      type: 'capture',
      state: 'refused',
      failure: NEVER_CONFIRMED,
      amount: 2000n,
    });
    const after = later(capture, 'approved');
    assert.deepEqual([after.payment.status, after.payment.collected], ['Collected', 2000n]);
    const { operationInProgress: operation, consecutiveNotFound: absences, reversalStarted: isGivenUp } = after.payment;
    assert.deepEqual([operation, absences, isGivenUp], ['busy', 2, true]);
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
    assert.equal(later(tooMuch, 'approved'), tooMuch);
  });

  it('finds a void that took effect late by how the payment stands, while there is something to give back', () => {
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
      for (const word of FINDINGS)
        if (word !== 'reversed' || !isHeld) assert.equal(later(pair, word), pair, `${status}, ${word}`);
    }
  });

  it('changes nothing of a capture, void or expiry that had its effect', () => {
    for (const type of ['capture', 'authorization_void', 'expiry'] as const) {
      const pair = ended(PAYMENT_STATES.Collected, { type });
      for (const word of FINDINGS) {
        const after = later(pair, word);
        assert.equal(after.payment, pair.payment, `${type}, ${word}`);
        assert.equal(after.operation.state, 'accepted');
      }
    }
    for (const type of ['capture', 'payment_refund', 'authorization_void'] as const) {
      const pair = ended(PAYMENT_STATES.Voided, { type, state: 'refused', failure: failed });
      for (const word of FINDINGS.filter((each) => OUTCOMES[each].kind !== 'approved'))
        assert.equal(later(pair, word), pair);
    }
  });

  it('is expected until it is definite, and for a while of what was given up', () => {
    const more = (pair: PaymentSnapshot, word: OutcomeName, now = NOW): boolean => {
      const finding = OUTCOMES[word];
      assert.ok(finding.kind !== 'not-sent');
      return expectsMore(pair, finding, now, NOW + 10);
    };
    const givenUp = ended(PAYMENT_STATES.Authorized, { type: 'capture', state: 'refused' });
    for (const word of ['unknown', 'not-found', 'pending', 'approved'] as const) {
      assert.equal(more(givenUp, word, NOW + 9), true, word);
      // The last look is repeated until it is answered.
      assert.equal(more(givenUp, word, NOW + 10), word === 'unknown', word);
    }
    assert.equal(more(givenUp, 'refused', NOW), false);
    for (const status of STATUSES) {
      const isHeld = status === 'Opened' || status === 'Authorized';
      for (const word of FINDINGS) {
        const refusedVoid = ended(PAYMENT_STATES[status], { type: 'authorization_void', state: 'refused' });
        assert.equal(more(refusedVoid, word, NOW + 9), isHeld, `${status}, ${word}`);
        assert.equal(more(refusedVoid, word, NOW + 10), isHeld && word === 'unknown');
      }
    }
    for (const status of STATUSES) {
      for (const word of FINDINGS) {
        // News of an authorization are asked about until there is an answer.
        const expected = status === 'Opened' || (status === 'Authorized' && word === 'unknown');
        assert.equal(
          more(ended(PAYMENT_STATES[status], { type: 'payment' }), word, NOW + 99),
          expected,
          `${status}, ${word}`,
        );
      }
    }
    for (const type of ['capture', 'authorization_void', 'expiry'] as const)
      for (const word of FINDINGS) assert.equal(more(ended(PAYMENT_STATES.Collected, { type }), word), false);
    const refund = ended(PAYMENT_STATES.Collected, { type: 'payment_refund' });
    for (const word of FINDINGS) assert.equal(more(refund, word, NOW + 99), OUTCOMES[word].kind !== 'approved', word);
  });
});

describe('what turns up late and cannot be entered', () => {
  const refund = (changes: Partial<Payment> = {}): PaymentSnapshot => ({
    payment: buildPayment({ ...PAYMENT_STATES.Collected, ...changes }),
    operation: buildOperation({ type: 'payment_refund', amount: 6000n, state: 'refused', failure: NEVER_CONFIRMED }),
  });

  it('is beyond us when the processor has done it: the amount is used up here', () => {
    const before = refund();
    const after = resettle(before, OUTCOMES.approved, NOW, LIFETIMES);
    assert.deepEqual(after, before);
    assert.equal(isBeyondUs(before, after, OUTCOMES.approved), true);
  });

  it('is not, when there is room for it, or when it was not done', () => {
    const roomy = refund({ refunded: 0n });
    assert.equal(isBeyondUs(roomy, resettle(roomy, OUTCOMES.approved, NOW, LIFETIMES), OUTCOMES.approved), false);
    const before = refund();
    for (const word of [OUTCOMES.unknown, OUTCOMES['not-found'], OUTCOMES.refused] as const)
      assert.equal(isBeyondUs(before, resettle(before, word, NOW, LIFETIMES), word), false);
  });

  it('is not, of a void whose payment stands, nor of a first operation', () => {
    const type = 'authorization_void';
    const ended: PaymentSnapshot = {
      payment: buildPayment(PAYMENT_STATES.Authorized),
      operation: buildOperation({ type, state: 'refused', failure: NEVER_CONFIRMED }),
    };
    assert.equal(isBeyondUs(ended, ended, OUTCOMES.approved), false);
    const first: PaymentSnapshot = {
      payment: buildPayment(PAYMENT_STATES.ProcessorError),
      operation: buildOperation({ state: 'refused', failure: NEVER_CONFIRMED }),
    };
    assert.equal(isBeyondUs(first, first, OUTCOMES.approved), false);
  });

  it('is beyond us when a first operation that was given up cannot be undone', () => {
    const first: PaymentSnapshot = {
      payment: buildPayment(PAYMENT_STATES.ProcessorError),
      operation: buildOperation({ state: 'refused', failure: NEVER_CONFIRMED }),
    };
    assert.equal(isBeyondUs(first, first, OUTCOMES.refused), true);
  });
});

describe('a payment that fails after its approval', () => {
  it('does not keep the code of the approval', () => {
    const before: PaymentSnapshot = {
      payment: buildPayment(PAYMENT_STATES.Authorized),
      operation: buildOperation({ state: 'accepted', details: told }),
    };
    const word: InquiryResult = { kind: 'refused', failure: failed, details: {} };
    const { payment, operation } = resettle(before, word, NOW, LIFETIMES);
    assert.equal(payment.status, 'Declined');
    assert.equal(operation.details.responseCode, undefined);
    assert.equal(operation.details.approvalCode, told.approvalCode);
  });
});

describe('a capture in another currency', () => {
  it('is not believed', () => {
    const word: InquiryResult = { kind: 'approved', captured: { minor: 10_000n, currency: CLP }, details: told };
    assert.equal(standing(buildPayment(), word, NOW, LIFETIMES), undefined);
  });
});

describe('a capture that was given up', () => {
  it('is not taken for another one of the same amount', () => {
    const before: PaymentSnapshot = {
      payment: buildPayment({ ...PAYMENT_STATES.Collected, refunded: 0n }),
      operation: buildOperation({ type: 'capture', amount: 8000n, state: 'refused', failure: NEVER_CONFIRMED }),
    };
    const after = resettle(before, OUTCOMES.approved, NOW, LIFETIMES);
    assert.deepEqual(after, before);
    assert.equal(isBeyondUs(before, after, OUTCOMES.approved), true);
  });

  it('that news told of first ends with its own answer, and only then', () => {
    const running = (status: 'Collected' | 'Declined', amount: bigint): PaymentSnapshot =>
      withOperation({ ...PAYMENT_STATES[status], collected: 8000n, refunded: 0n }, { type: 'capture', amount });
    const ended = settle(running('Collected', 8000n), OUTCOMES.approved, NOW, LIFETIMES);
    assert.deepEqual([ended?.operation.state, ended?.payment.collected], ['accepted', 8000n]);
    assert.equal(settle(running('Collected', 7000n), OUTCOMES.approved, NOW, LIFETIMES), undefined);
    assert.equal(settle(running('Declined', 8000n), OUTCOMES.approved, NOW, LIFETIMES), undefined);
  });
});

describe('what was told of an operation', () => {
  const accepted = (): PaymentSnapshot => ({
    payment: buildPayment(PAYMENT_STATES.Authorized),
    operation: buildOperation({ state: 'accepted', details: told }),
  });

  it('keeps its code when the word is no refusal', () => {
    const word: InquiryResult = { kind: 'approved', captured: { minor: 10_000n, currency: USD }, details: {} };
    const { payment, operation } = resettle(accepted(), word, NOW, LIFETIMES);
    assert.equal(payment.status, 'Collected');
    assert.deepEqual(operation.details, told);
  });
});
