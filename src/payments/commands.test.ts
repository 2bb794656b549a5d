import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { buildPayment, FIRST, NEXT, NOW, PAYMENT_STATES, USD } from '../../test/fixtures/payment-fixtures.ts';
import type { Currency } from '../kernel/currency.ts';
import { Failure } from '../kernel/failure.ts';
import { allowedOperations, type Command, type RequestedAmount, validateCommand } from './commands.ts';
import { initialOperation, newOperation, type Payment, stateOf } from './payment.ts';
import { isAllowedTransition, STATUSES, type Status, TRANSITIONS } from './transitions.ts';

const COMMANDS = ['capture', 'payment_refund', 'authorization_void', 'expiry'] as const;
const IN_PARTS = { partialCapture: true };
const WHOLE_ONLY = { partialCapture: false };

const of = (text: string, currency?: Currency): RequestedAmount => ({ text, currency });
const commandOf = (type: (typeof COMMANDS)[number], amount?: RequestedAmount): Command =>
  type === 'capture' || type === 'payment_refund' ? { type, amount } : { type };
const inStatus = (status: Status): Payment => buildPayment(PAYMENT_STATES[status]);

/** Code, field and message of the refusal. */
function refusal(payment: Payment, command: Command, can = IN_PARTS): readonly (string | undefined)[] {
  try {
    validateCommand(payment, command, can);
  } catch (error) {
    assert.ok(error instanceof Failure, String(error));
    return [error.code, error.field, error.message.replace(`${error.field}: `, '')];
  }
  return assert.fail('was admitted');
}

const WHAT = {
  capture: 'be captured',
  payment_refund: 'be refunded',
  authorization_void: 'be voided',
  expiry: 'expire',
} as const;

/** From the decisions, not from the table: what each command can be asked of. */
const ASKABLE: Readonly<Record<(typeof COMMANDS)[number], readonly Status[]>> = {
  capture: ['Authorized'],
  payment_refund: ['Collected'],
  authorization_void: ['Opened', 'Authorized'],
  expiry: ['Opened', 'Authorized'],
};

describe('a command', () => {
  for (const type of COMMANDS) {
    for (const status of STATUSES) {
      const isAllowed = ASKABLE[type].includes(status);
      it(`${type} is ${isAllowed ? 'allowed' : 'rejected'} while the payment is ${status}`, () => {
        if (isAllowed) assert.ok(validateCommand(inStatus(status), commandOf(type), IN_PARTS) > 0n);
        else
          assert.deepEqual(refusal(inStatus(status), commandOf(type)), [
            'payment_state',
            'id',
            `the payment is ${status} and cannot ${WHAT[type]}`,
          ]);
      });
    }
  }

  it('is allowed exactly where the transition table has a row for it', () => {
    const triggers = {
      capture: 'capture',
      payment_refund: 'refund',
      authorization_void: 'void',
      expiry: 'expiry',
    } as const;
    for (const type of COMMANDS) {
      const from = STATUSES.filter((each) => STATUSES.some((to) => isAllowedTransition(each, to, triggers[type])));
      assert.deepEqual(from, ASKABLE[type]);
      assert.ok(TRANSITIONS.some(({ by }) => by.includes(triggers[type])));
    }
  });

  it('is rejected while another operation is in progress, whatever the status and the command', () => {
    for (const type of COMMANDS) {
      for (const status of STATUSES) {
        const [code, field, message] = refusal({ ...inStatus(status), operationInProgress: 'other' }, commandOf(type));
        assert.deepEqual([code, field], ['operation_in_progress', undefined]);
        assert.match(message ?? '', /^operation in progress: /);
      }
    }
  });

  it('is one of at most 1000 on a payment, except for the expiry', () => {
    for (const type of COMMANDS) {
      for (const status of ASKABLE[type]) {
        assert.ok(validateCommand({ ...inStatus(status), operationCount: 999 }, commandOf(type), IN_PARTS) > 0n);
        const full = { ...inStatus(status), operationCount: 1000 };
        if (type === 'expiry') assert.ok(validateCommand(full, commandOf(type), IN_PARTS) > 0n);
        else
          assert.deepEqual(refusal(full, commandOf(type)), [
            'payment_state',
            'id',
            'the payment has had too many operations',
          ]);
      }
    }
  });

  it('without an amount applies to the entire remaining amount', () => {
    assert.equal(validateCommand(inStatus('Authorized'), commandOf('capture'), IN_PARTS), 10_000n);
    assert.equal(validateCommand(inStatus('Authorized'), commandOf('capture'), WHOLE_ONLY), 10_000n);
    assert.equal(validateCommand(inStatus('Collected'), commandOf('payment_refund'), IN_PARTS), 5000n);
    assert.equal(
      validateCommand({ ...inStatus('Authorized'), authorized: 7000n }, commandOf('capture'), IN_PARTS),
      7000n,
    );
  });

  it('that ends a payment has the authorized amount, or else the requested amount', () => {
    for (const type of ['authorization_void', 'expiry'] as const) {
      assert.equal(validateCommand({ ...inStatus('Authorized'), authorized: 7000n }, commandOf(type), IN_PARTS), 7000n);
      assert.equal(validateCommand(inStatus('Opened'), commandOf(type), IN_PARTS), 10_000n);
    }
  });
});

describe('the amount of a capture', () => {
  const capture = (amount: RequestedAmount, can = IN_PARTS): bigint =>
    validateCommand(inStatus('Authorized'), commandOf('capture', amount), can);
  const why = (amount: RequestedAmount, can = IN_PARTS) =>
    refusal(inStatus('Authorized'), commandOf('capture', amount), can);
  const AT = 'capture_info.amount_details.total_amount';

  it('is up to the authorized amount, in its currency', () => {
    assert.equal(capture(of('0.01')), 1n);
    assert.equal(capture(of('99.99', USD)), 9999n);
    assert.equal(capture(of('100', USD)), 10_000n);
    assert.deepEqual(why(of('100.01')), ['invalid_field', AT, 'more than is left of the payment']);
  });

  it('is in no other currency', () => {
    const field = 'capture_info.amount_details.currency';
    assert.deepEqual(why(of('1', 'EUR' as Currency)), ['invalid_field', field, 'expected the currency of the payment']);
  });

  it('is above 0 and has the decimals of the currency', () => {
    const expected =
      'expected an amount above 0 with at most 12 digits before the point and no more places than the currency has';
    for (const text of ['0', '0.00', '1.005', '1e2', '-1', '', '1000000000000'])
      assert.deepEqual(why(of(text)), ['invalid_field', AT, expected], text);
  });

  it('is the authorized amount where the processor captures in full only', () => {
    assert.equal(capture(of('100.00'), WHOLE_ONLY), 10_000n);
    assert.deepEqual(why(of('99.99'), WHOLE_ONLY), ['invalid_field', AT, 'this processor captures in full only']);
    assert.deepEqual(why(of('100.01'), WHOLE_ONLY), ['invalid_field', AT, 'more than is left of the payment']);
  });

  it('is exact above 2^53', () => {
    const rich = { ...inStatus('Authorized'), authorized: 9_007_199_254_740_993n, amount: 9_007_199_254_740_993n };
    assert.equal(
      validateCommand(
        { ...rich, currency: 'CLF' as Currency },
        commandOf('capture', of('900719925474.0993')),
        IN_PARTS,
      ),
      rich.amount,
    );
    assert.deepEqual(refusal({ ...rich, currency: 'CLF' as Currency }, commandOf('capture', of('900719925474.0994'))), [
      'invalid_field',
      AT,
      'more than is left of the payment',
    ]);
  });
});

describe('the amount of a refund', () => {
  it('is up to the collected amount that is not refunded yet, also in parts where captures are in full only', () => {
    const refund = (text: string): bigint =>
      validateCommand(inStatus('Collected'), commandOf('payment_refund', of(text)), WHOLE_ONLY);
    assert.equal(refund('0.01'), 1n);
    assert.equal(refund('50'), 5000n);
    assert.deepEqual(refusal(inStatus('Collected'), commandOf('payment_refund', of('50.01'))), [
      'invalid_field',
      'refund_info.amount_details.total_amount',
      'more than is left of the payment',
    ]);
    assert.deepEqual(refusal(inStatus('Collected'), commandOf('payment_refund', of('1', 'EUR' as Currency))), [
      'invalid_field',
      'refund_info.amount_details.currency',
      'expected the currency of the payment',
    ]);
  });

  it('cannot be above 0 once the collected amount is refunded', () => {
    const done = { ...inStatus('Collected'), refunded: 8000n };
    for (const amount of [undefined, of('0.01')])
      assert.deepEqual(refusal(done, commandOf('payment_refund', amount)), [
        'payment_state',
        'id',
        'the payment is refunded in full',
      ]);
    assert.equal(validateCommand({ ...done, refunded: 7999n }, commandOf('payment_refund'), IN_PARTS), 1n);
  });

  it('is never more than the remaining amount, after any number of refunds', () => {
    const cents = fc.bigInt({ min: 1n, max: 9000n });
    fc.assert(
      fc.property(fc.array(cents, { maxLength: 8 }), (parts) => {
        let payment: Payment = { ...inStatus('Collected'), refunded: 0n };
        for (const part of parts) {
          const text = `${part / 100n}.${String(part % 100n).padStart(2, '0')}`;
          const left = payment.collected - payment.refunded;
          if (part > left) refusal(payment, commandOf('payment_refund', of(text)));
          else {
            assert.equal(validateCommand(payment, commandOf('payment_refund', of(text)), IN_PARTS), part);
            payment = { ...payment, refunded: payment.refunded + part };
          }
        }
      }),
    );
  });
});

describe('the state of a payment', () => {
  it('consists of status, reason and amounts', () => {
    assert.deepEqual(stateOf(buildPayment({ ...PAYMENT_STATES.Collected, reason: 'Referred' })), {
      status: 'Collected',
      reason: 'Referred',
      authorized: 10_000n,
      collected: 8000n,
      refunded: 3000n,
    });
  });
});

describe('a new operation', () => {
  it('is in progress without an effect', () => {
    const request = {
      type: 'payment_refund',
      amount: 7n,
      referenceCode: 'R-1',
      operationRef: 'R-1.next',
      requestedBy: undefined,
    } as const;
    assert.deepEqual(newOperation(NEXT, NOW, buildPayment(), request), {
      id: NEXT,
      paymentId: FIRST,
      type: 'payment_refund',
      state: 'in_progress',
      amount: 7n,
      referenceCode: 'R-1',
      operationRef: 'R-1.next',
      requestedBy: undefined,
      details: {},
      failure: undefined,
      createdAt: NOW,
      stateAfter: undefined,
      history: [],
    });
  });

  it('that is the first one has the details of the payment', () => {
    const payment = buildPayment({
      type: 'payment',
      amount: 9_007_199_254_740_993n,
      operationInProgress: FIRST,
      referenceCode: 'A-2',
    });
    const request = {
      type: 'payment',
      amount: 9_007_199_254_740_993n,
      referenceCode: 'A-2',
      operationRef: 'A-2.first',
      requestedBy: undefined,
    } as const;
    assert.deepEqual(initialOperation(payment, request), newOperation(FIRST, payment.createdAt, payment, request));
    assert.equal(initialOperation(payment, request).id, payment.id);
  });
});

describe('a command of a user who viewed the payment before', () => {
  it('is rejected when another operation has started since', () => {
    const payment = buildPayment({ ...PAYMENT_STATES.Authorized, operationCount: 3 });
    const capture = (expectedOperations: number): Command => ({
      type: 'capture',
      amount: undefined,
      expectedOperations,
    });
    assert.equal(validateCommand(payment, capture(3), IN_PARTS), 10_000n);
    for (const expected of [2, 4]) assert.equal(refusal(payment, capture(expected))[0], 'changed_meanwhile');
  });
});

describe('the operations that a payment allows', () => {
  it('are those that a command can start, with their amounts', () => {
    const allowed = (status: Status) => allowedOperations(inStatus(status), IN_PARTS);
    assert.deepEqual(allowed('Authorized'), { capture: 10_000n, refund: undefined, void: 10_000n });
    assert.deepEqual(allowed('Collected'), { capture: undefined, refund: 5000n, void: undefined });
    assert.deepEqual(allowed('Opened'), { capture: undefined, refund: undefined, void: 10_000n });
    assert.deepEqual(allowed('Declined'), { capture: undefined, refund: undefined, void: undefined });
  });

  it('do not hide an error', () => {
    const broken = Object.defineProperty(inStatus('Opened'), 'status', { get: () => assert.fail('broken') });
    assert.throws(() => allowedOperations(broken, IN_PARTS), /broken/);
  });
});
