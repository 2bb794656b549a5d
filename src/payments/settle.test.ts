import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  buildPayment,
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
  told,
  withOperation,
} from '../../test/fixtures/payment-fixtures.ts';
import { stateOf } from './payment.ts';
import type { OperationType, Outcome } from './processor.ts';
import { NEVER_CONFIRMED, NEVER_RECEIVED, type PaymentSnapshot, settle, standing } from './settle.ts';
import { REASONS, STATUSES, type Status, TRANSITIONS } from './transitions.ts';

const TYPES: readonly OperationType[] = [
  'authorization',
  'payment',
  'capture',
  'payment_refund',
  'authorization_void',
  'expiry',
];

const SILENT: readonly OutcomeName[] = ['unknown', 'not-found'];

const settled = (pair: PaymentSnapshot, word: OutcomeName): PaymentSnapshot | undefined =>
  settle(pair, OUTCOMES[word], NOW, LIFETIMES);

/** What each word makes of the status: of the operations, in the statuses in which they can be under way. */
const ENDS: Readonly<Record<string, Partial<Readonly<Record<OutcomeName, Status>>>>> = {
  'authorization Opened': {
    approved: 'Authorized',
    captured: 'Collected',
    'captured in part': 'Collected',
    refused: 'Declined',
    broken: 'ProcessorError',
    pending: 'Opened',
    reversed: 'Cancelled',
    'not sent': 'ProcessorError',
  },
  'capture Authorized': {
    approved: 'Collected',
    captured: 'Collected',
    'captured in part': 'Collected',
    pending: 'Collected',
    refused: 'Authorized',
    broken: 'Authorized',
    'not sent': 'Authorized',
    reversed: 'Voided',
  },
  'payment_refund Collected': {
    approved: 'Collected',
    captured: 'Collected',
    'captured in part': 'Collected',
    pending: 'Collected',
    refused: 'Collected',
    broken: 'Collected',
    'not sent': 'Collected',
  },
  'authorization_void Authorized': {
    approved: 'Voided',
    captured: 'Voided',
    'captured in part': 'Voided',
    reversed: 'Voided',
    refused: 'Authorized',
    broken: 'Authorized',
    'not sent': 'Authorized',
  },
  'authorization_void Opened': {
    approved: 'Cancelled',
    captured: 'Cancelled',
    'captured in part': 'Cancelled',
    reversed: 'Cancelled',
    refused: 'Opened',
    broken: 'Opened',
    'not sent': 'Opened',
  },
  'expiry Authorized': { approved: 'Voided', captured: 'Voided', 'captured in part': 'Voided', reversed: 'Voided' },
  'expiry Opened': {
    approved: 'Cancelled',
    captured: 'Cancelled',
    'captured in part': 'Cancelled',
    reversed: 'Cancelled',
  },
};

const every = (visit: (pair: PaymentSnapshot, word: OutcomeName, about: string) => void): void => {
  for (const type of TYPES)
    for (const status of STATUSES)
      for (const word of OUTCOME_NAMES)
        visit(withOperation(PAYMENT_STATES[status], { type, amount: 2000n }), word, `${type}, ${status}, ${word}`);
};

describe('a word about an operation under way', () => {
  for (const [begun, words] of Object.entries(ENDS)) {
    const [type, status] = begun.split(' ') as [OperationType, Status];
    const types: readonly OperationType[] = type === 'authorization' ? ['authorization', 'payment'] : [type];
    it(`about ${begun}: ${Object.keys(words).length} of ${OUTCOME_NAMES.length} words end it`, () => {
      for (const each of types) {
        for (const word of OUTCOME_NAMES) {
          const after = settled(withOperation(PAYMENT_STATES[status], { type: each, amount: 2000n }), word);
          assert.equal(after?.payment.status, words[word], `${each}, ${word}`);
        }
      }
    });
  }

  it('moves the payment along the table only, whatever the status', () => {
    let moves = 0;
    every((pair, word, about) => {
      const after = settled(pair, word);
      if (after === undefined || after.payment.status === pair.payment.status) return;
      moves++;
      const line = TRANSITIONS.find(({ from, to }) => from === pair.payment.status && to === after.payment.status);
      assert.ok(line !== undefined, about);
    });
    assert.ok(moves > 40, String(moves));
  });

  it('keeps authorized ≥ collected ≥ refunded, and an end of time for Opened and Authorized alone', () => {
    every((pair, word, about) => {
      const { payment } = settled(pair, word) ?? pair;
      assert.ok(payment.authorized >= payment.collected && payment.collected >= payment.refunded, about);
      assert.equal(payment.expiresAt !== undefined, ['Opened', 'Authorized'].includes(payment.status), about);
      const reasons: readonly string[] =
        payment.status === 'Declined' || payment.status === 'ProcessorError' ? REASONS[payment.status] : [];
      assert.equal(payment.reason !== undefined, reasons.length > 0, about);
      if (payment.reason !== undefined) assert.ok(reasons.includes(payment.reason), about);
    });
  });

  it('ends the operation and frees the payment, or does nothing at all', () => {
    let ends = 0;
    every((pair, word, about) => {
      const after = settled(
        { ...pair, payment: { ...pair.payment, consecutiveNotFound: 3, reversalStarted: true } },
        word,
      );
      if (after === undefined) return;
      ends++;
      assert.equal(after.payment.operationInProgress, undefined, about);
      assert.equal(after.payment.consecutiveNotFound, 0, about);
      assert.equal(after.payment.reversalStarted, undefined, about);
      assert.equal(after.operation.state, after.operation.failure === undefined ? 'accepted' : 'refused', about);
      assert.deepEqual(after.operation.stateAfter, stateOf(after.payment), about);
    });
    assert.ok(ends > 100, String(ends));
  });

  it('keeps what the processor told, if it told anything', () => {
    every((pair, word, about) => {
      const after = settled(pair, word);
      if (after === undefined) return;
      const isTold = word !== 'not sent' && !(word === 'reversed' && pair.operation.type === 'capture');
      assert.deepEqual(after.operation.details, isTold ? told : {}, about);
    });
  });

  it('decides nothing when nobody knows', () => {
    every((pair, word, about) => {
      if (SILENT.includes(word)) assert.equal(settled(pair, word), undefined, about);
    });
  });

  it('says why it was refused: the processor’s reason, or that it was never received', () => {
    for (const type of TYPES) {
      const pair = withOperation(PAYMENT_STATES[isFirstType(type) ? 'Opened' : 'Authorized'], { type });
      if (type === 'expiry') continue;
      assert.deepEqual(settled(pair, 'refused')?.operation.failure, failed);
      assert.deepEqual(settled(pair, 'not sent')?.operation.failure, NEVER_RECEIVED);
    }
    assert.deepEqual(NEVER_RECEIVED, { status: 'ProcessorError', reason: 'ConnectionRejected' });
    assert.deepEqual(NEVER_CONFIRMED, { status: 'ProcessorError', reason: 'Undefined' });
  });
});

describe('the first operation', () => {
  const first = withOperation({}, { type: 'authorization' });

  it('that is approved holds the whole amount, for as long as authorizations live', () => {
    const payment = settled(first, 'approved')?.payment;
    assert.equal(payment?.authorized, 10_000n);
    assert.equal(payment?.collected, 0n);
    assert.equal(payment?.expiresAt, NOW + LIFETIMES.authorization);
    assert.equal(payment?.reason, undefined);
    assert.deepEqual(payment?.recheckIds, []);
  });

  it('lives no longer than the processor says', () => {
    const until = (expiresAt: number): number | undefined =>
      settle(first, { kind: 'approved', details: { expiresAt } }, NOW, LIFETIMES)?.payment.expiresAt;
    assert.equal(until(NOW + 1), NOW + 1);
    assert.equal(until(NOW + LIFETIMES.authorization + 1), NOW + LIFETIMES.authorization);
  });

  it('that is captured, too, has collected what the processor says', () => {
    const whole = settled(first, 'captured')?.payment;
    assert.deepEqual([whole?.authorized, whole?.collected], [10_000n, 10_000n]);
    const part = settled(first, 'captured in part')?.payment;
    assert.deepEqual([part?.authorized, part?.collected], [10_000n, 6000n]);
  });

  it('stays in doubt when more was captured than asked for', () => {
    const word = (minor: bigint): Outcome => ({ kind: 'approved', captured: captured(minor), details: told });
    assert.equal(settle(first, word(10_001n), NOW, LIFETIMES), undefined);
    assert.equal(standing(buildPayment(PAYMENT_STATES.Authorized), word(10_001n), NOW, LIFETIMES), undefined);
    assert.equal(settle(first, word(10_000n), NOW, LIFETIMES)?.payment.status, 'Collected');
  });

  it('that is pending leaves the payment Opened and is watched', () => {
    const after = settled(first, 'pending');
    assert.deepEqual(after?.payment, { ...buildPayment(), recheckIds: [FIRST] });
    assert.equal(after?.operation.state, 'accepted');
  });

  it('that is refused takes the payment along, with the reason', () => {
    const after = settled(first, 'refused');
    assert.equal(after?.payment.reason, 'InsufficientFunds');
    assert.equal(after?.operation.state, 'refused');
    assert.equal(settled(first, 'not sent')?.payment.reason, 'ConnectionRejected');
  });
});

describe('a capture', () => {
  const capture = withOperation(PAYMENT_STATES.Authorized, { type: 'capture', amount: 2000n });

  it('collects its own amount, accepted or approved', () => {
    for (const word of ['approved', 'pending', 'captured'] as const) {
      const after = settled(capture, word);
      assert.deepEqual([after?.payment.authorized, after?.payment.collected], [10_000n, 2000n]);
      assert.equal(after?.operation.state, 'accepted');
      assert.deepEqual(after?.payment.recheckIds, []);
    }
  });

  it('that was undone together with its authorization was never confirmed', () => {
    const after = settled(capture, 'reversed');
    assert.deepEqual(after?.operation.failure, NEVER_CONFIRMED);
    assert.equal(after?.operation.state, 'refused');
    assert.equal(after?.payment.collected, 0n);
  });

  it('ends where news have told of it, or of its undoing, before its own answer', () => {
    const told = (amount: bigint): PaymentSnapshot =>
      withOperation(PAYMENT_STATES.Collected, { type: 'capture', amount });
    for (const word of ['approved', 'pending'] as const) {
      const after = settled(told(8000n), word);
      assert.deepEqual([after?.payment.status, after?.payment.collected], ['Collected', 8000n]);
      assert.equal(after?.payment.operationInProgress, undefined);
      assert.equal(after?.operation.state, 'accepted');
      assert.equal(settled(told(2000n), word), undefined, 'another capture');
    }
    const undone = settled(withOperation(PAYMENT_STATES.Voided, { type: 'capture' }), 'reversed');
    assert.equal(undone?.payment.status, 'Voided');
    assert.equal(undone?.payment.operationInProgress, undefined);
    assert.deepEqual(undone?.operation.failure, NEVER_CONFIRMED);
  });
});

describe('a refund', () => {
  const refund = (amount: bigint): PaymentSnapshot =>
    withOperation(PAYMENT_STATES.Collected, { type: 'payment_refund', amount });

  it('adds to what was given back', () => {
    const after = settled(refund(2000n), 'approved');
    assert.deepEqual([after?.payment.collected, after?.payment.refunded], [8000n, 5000n]);
    assert.equal(after?.operation.state, 'accepted');
    assert.deepEqual(after?.payment.recheckIds, []);
  });

  it('may give back the last, and never more', () => {
    assert.equal(settled(refund(5000n), 'approved')?.payment.refunded, 8000n);
    for (const word of ['approved', 'pending'] as const) assert.equal(settled(refund(5001n), word), undefined);
  });

  it('that is pending counts, and is watched', () => {
    const after = settled(refund(2000n), 'pending');
    assert.equal(after?.payment.refunded, 5000n);
    assert.deepEqual(after?.payment.recheckIds, [NEXT]);
    assert.equal(settled(refund(5001n), 'pending'), undefined);
  });

  it('that is refused gives nothing back', () => {
    for (const word of ['refused', 'not sent'] as const) {
      const after = settled(refund(2000n), word);
      assert.equal(after?.payment.refunded, 3000n);
      assert.equal(after?.operation.state, 'refused');
      assert.deepEqual(after?.payment.recheckIds, []);
    }
  });
});

describe('a void and an expiry', () => {
  it('differ in the mark of the clock', () => {
    for (const word of ['approved', 'reversed'] as const) {
      assert.equal(
        settled(withOperation(PAYMENT_STATES.Authorized, { type: 'expiry' }), word)?.payment.isExpired,
        true,
      );
      assert.equal(
        settled(withOperation(PAYMENT_STATES.Authorized, { type: 'authorization_void' }), word)?.payment.isExpired,
        false,
      );
    }
    assert.equal(
      settled(withOperation(PAYMENT_STATES.Authorized, { type: 'authorization_void' }), 'refused')?.payment.isExpired,
      false,
    );
  });

  it('that are pending or unknown stay under way; so does an expiry that is refused', () => {
    for (const type of ['authorization_void', 'expiry'] as const)
      assert.equal(settled(withOperation(PAYMENT_STATES.Authorized, { type }), 'pending'), undefined);
    for (const word of ['refused', 'not sent'] as const)
      assert.equal(settled(withOperation(PAYMENT_STATES.Authorized, { type: 'expiry' }), word), undefined);
  });

  it('end where news have given the payment back meanwhile', () => {
    for (const type of ['authorization_void', 'expiry'] as const) {
      for (const status of ['Cancelled', 'Voided'] as const) {
        for (const word of ['approved', 'reversed'] as const) {
          const after = settled(withOperation(PAYMENT_STATES[status], { type }), word);
          assert.equal(after?.payment.status, status);
          assert.equal(after?.payment.operationInProgress, undefined);
          assert.equal(after?.payment.isExpired, type === 'expiry');
          assert.equal(after?.operation.state, 'accepted');
        }
      }
    }
  });
});
