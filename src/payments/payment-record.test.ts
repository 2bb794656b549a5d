import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { buildOperation, buildPayment, buildReconciliation, NOW, USD } from '../../test/fixtures/payment-fixtures.ts';
import type { HistoryEntry, Operation, Payment, PaymentState, Reconciliation, Requester } from './payment.ts';
import {
  formatOperationRecord,
  formatPaymentRecord,
  type PaymentRow,
  parseOperationRecord,
  parsePaymentRecord,
} from './payment-record.ts';
import type { ProcessorDetails } from './processor.ts';
import { REASONS, STATUSES } from './transitions.ts';

const rowAgain = (row: PaymentRow): PaymentRow => {
  const { id, processor, status, operationInProgress, createdAt } = row.payment;
  const { dueAt, attempts, inDoubtSince } = row.reconciliation;
  const columns = { id, processor, status, operationInProgress, createdAt };
  return parsePaymentRecord(formatPaymentRecord(row), columns, { dueAt, attempts, inDoubtSince });
};

const rowOf = (payment: Payment, initial = buildOperation(), reconciliation = buildReconciliation()): PaymentRow => ({
  payment,
  initial,
  reconciliation,
});

const again = (payment: Payment): Payment => rowAgain(rowOf(payment)).payment;

const operationAgain = (operation: Operation): Operation => {
  const { id, paymentId, type, state, createdAt } = operation;
  return parseOperationRecord(formatOperationRecord(operation), { id, paymentId, type, state, createdAt });
};

/** Undefined members equal missing ones, and objects have no prototypes of their own. */
const withoutUndefined = (value: unknown): unknown => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const members = Object.entries(value).filter(([, each]) => each !== undefined);
  return Object.fromEntries(members.map(([name, each]) => [name, withoutUndefined(each)]));
};

const HUGE = 9_007_199_254_740_993n;
const amount = fc.bigInt({ min: 0n, max: 10n ** 20n });
const text = fc.string({ unit: 'binary', maxLength: 20 });
const maybe = <T>(of: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(of, { nil: undefined });
const reason = maybe(fc.constantFrom(...REASONS.Declined, ...REASONS.ProcessorError));
const ids = fc.array(text, { maxLength: 3 });

const payments: fc.Arbitrary<Payment> = fc.record({
  id: text,
  type: fc.constantFrom('authorization', 'payment'),
  processor: text,
  status: fc.constantFrom(...STATUSES),
  reason,
  currency: fc.constant(USD),
  amount,
  authorized: amount,
  collected: amount,
  refunded: amount,
  referenceCode: maybe(text),
  card: fc.oneof(
    fc.record({ truncated: text }),
    fc.record({ truncated: text, token: fc.record({ token: text, scheme: fc.nat(9) }) }),
  ),
  captureIds: ids,
  operationInProgress: maybe(text),
  operationCount: fc.nat(1000),
  createdAt: fc.maxSafeNat(),
  expiresAt: maybe(fc.maxSafeNat()),
  isExpired: fc.boolean(),
});

const reconciliations: fc.Arbitrary<Reconciliation> = fc.record({
  dueAt: maybe(fc.maxSafeNat()),
  attempts: fc.nat(),
  inDoubtSince: maybe(fc.maxSafeNat()),
  lastProblem: maybe(text),
  inquiries: fc.nat(),
  lastInquiredAt: maybe(fc.maxSafeNat()),
  consecutiveNotFound: fc.nat(),
  isTakenOver: fc.boolean(),
  recheckIds: ids,
  contradictoryIds: ids,
  closedIds: ids,
});

const standings: fc.Arbitrary<PaymentState> = fc.record({
  status: fc.constantFrom(...STATUSES),
  reason,
  authorized: amount,
  collected: amount,
  refunded: amount,
});

const details: fc.Arbitrary<ProcessorDetails> = fc.record(
  {
    processorId: text,
    responseCode: text,
    reconciliationId: text,
    approvalCode: text,
    networkId: text,
    avs: fc.record({ code: text, codeRaw: text }),
    expiresAt: fc.maxSafeNat(),
  },
  { requiredKeys: [] },
);

/** `JSON.parse` returns objects with a prototype. */
const PLAIN = { noNullPrototype: true } as const;

const requesters: fc.Arbitrary<Requester> = fc.oneof(
  fc.constant<Requester>({ type: 'service' }),
  fc.record({ type: fc.constantFrom('key', 'person'), id: fc.string({ minLength: 1 }) }, PLAIN),
  fc.record({ type: fc.constant('operator' as const), name: text }, PLAIN),
);

const historyEntries: fc.Arbitrary<HistoryEntry> = fc.oneof(
  fc.record({ type: fc.constant('in-doubt' as const), at: fc.maxSafeNat(), problem: text }, PLAIN),
  fc.record({ type: fc.constant('confirmed' as const), at: fc.maxSafeNat(), inquiries: fc.nat() }, PLAIN),
  fc.record(
    {
      type: fc.constant('resolved-manually' as const),
      at: fc.maxSafeNat(),
      outcome: fc.constantFrom('accepted', 'refused'),
      by: requesters,
      reason: text,
    },
    PLAIN,
  ),
);

const operations: fc.Arbitrary<Operation> = fc.record({
  id: text,
  paymentId: text,
  type: fc.constantFrom('authorization', 'payment', 'capture', 'payment_refund', 'authorization_void', 'expiry'),
  state: fc.constantFrom('in_progress', 'accepted', 'refused'),
  amount,
  referenceCode: maybe(text),
  operationRef: text,
  details,
  failure: maybe(fc.constant({ status: 'Declined', reason: 'Referred' } as const)),
  createdAt: fc.maxSafeNat(),
  stateAfter: maybe(standings),
  requestedBy: maybe(requesters),
  history: fc.array(historyEntries, { maxLength: 3 }),
});

describe('the record of a payment', () => {
  it('is parsed to what was stored, whatever its content', () => {
    fc.assert(
      fc.property(payments, (payment) => assert.deepEqual(withoutUndefined(again(payment)), withoutUndefined(payment))),
    );
  });

  it('contains the first operation, which differs from the payment in its result only', () => {
    fc.assert(
      fc.property(payments, operations, (payment, { paymentId: _, ...operation }) => {
        const { id, type, amount, referenceCode, createdAt } = payment;
        const shared = { id, paymentId: id, type, amount, referenceCode, createdAt };
        const first: Operation = { ...operation, ...shared };
        assert.deepEqual(withoutUndefined(rowAgain(rowOf(payment, first)).initial), withoutUndefined(first));
      }),
    );
  });

  it('contains the reconciliation', () => {
    fc.assert(
      fc.property(reconciliations, (reconciliation) => {
        const row = rowOf(buildPayment({ operationInProgress: 'next' }), buildOperation(), reconciliation);
        assert.deepEqual(withoutUndefined(rowAgain(row).reconciliation), withoutUndefined(reconciliation));
      }),
    );
  });

  it('takes a payment of release 0.1.0 that is in doubt without an operation in progress as contradicted', () => {
    const contradictory = (payment: Partial<Payment>, reconciliation: Partial<Reconciliation>): readonly string[] =>
      rowAgain(rowOf(buildPayment(payment), buildOperation(), buildReconciliation(reconciliation))).reconciliation
        .contradictoryIds;
    assert.deepEqual(contradictory({}, { inDoubtSince: NOW, recheckIds: ['a', 'b'] }), ['a', 'b']);
    assert.deepEqual(contradictory({}, { inDoubtSince: NOW, recheckIds: ['a', 'b'], contradictoryIds: ['b'] }), ['b']);
    assert.deepEqual(contradictory({}, { recheckIds: ['a'] }), []);
    assert.deepEqual(contradictory({ operationInProgress: 'c' }, { inDoubtSince: NOW, recheckIds: ['a'] }), []);
  });

  it('preserves amounts above 2^53 exactly', () => {
    const payment = buildPayment({ amount: HUGE, authorized: HUGE + 1n, collected: HUGE + 2n, refunded: HUGE + 3n });
    const { amount, authorized, collected, refunded } = again(payment);
    assert.deepEqual([amount, authorized, collected, refunded], [HUGE, HUGE + 1n, HUGE + 2n, HUGE + 3n]);
    assert.notEqual(BigInt(Number(HUGE)), HUGE);
  });

  it('does not repeat the columns', () => {
    const payment = buildPayment({ id: 'own-id', processor: 'own-processor', operationInProgress: 'own-operation' });
    const reconciliation = buildReconciliation({ dueAt: NOW + 77, attempts: 8_642, inDoubtSince: NOW + 88 });
    const record = formatPaymentRecord(rowOf(payment, buildOperation(), reconciliation));
    assert.doesNotMatch(record, /own-|Opened|8642/);
    for (const time of [NOW + 77, NOW + 88]) assert.equal(record.includes(String(time)), false);
    assert.equal(record.includes(String(NOW - 500)), false);
  });
});

describe('the record of an operation', () => {
  it('contains the operation reference where it is more than the id, and reads a record without one as the id', () => {
    const operation = buildOperation({ type: 'capture', operationRef: 'A-1.next' });
    assert.match(formatOperationRecord(operation), /"operation_ref":"A-1\.next"/);
    const before = buildOperation({ type: 'capture' });
    assert.doesNotMatch(formatOperationRecord(before), /operation_ref/);
    assert.equal(operationAgain(before).operationRef, before.id);
    assert.equal(rowAgain(rowOf(buildPayment(), buildOperation())).initial.operationRef, 'first');
  });

  it('is parsed to what was stored, whatever its content', () => {
    fc.assert(
      fc.property(operations, (operation) =>
        assert.deepEqual(withoutUndefined(operationAgain(operation)), withoutUndefined(operation)),
      ),
    );
  });

  it('preserves amounts above 2^53 exactly, also in the state of the payment', () => {
    const after = {
      status: 'Collected',
      reason: undefined,
      authorized: HUGE,
      collected: HUGE + 1n,
      refunded: HUGE + 2n,
    } as const;
    const read = operationAgain(buildOperation({ amount: HUGE, stateAfter: after }));
    assert.equal(read.amount, HUGE);
    assert.deepEqual(read.stateAfter, after);
  });
});
