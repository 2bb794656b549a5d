import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  buildOperation,
  captured,
  FIRST,
  isFirstType,
  NOW,
  OUTCOMES,
  PAYMENT_STATES,
  processorDetails,
  RULES,
  USD,
  withCompleted,
  withOperation,
} from '../../test/fixtures/payment-fixtures.ts';
import { NEVER_CONFIRMED, NEVER_RECEIVED } from './apply-event.ts';
import type { Operation, Payment, Reconciliation } from './payment.ts';
import type { PaymentEvent } from './payment-event.ts';
import {
  type InquiryResult,
  type OperationRef,
  type OperationType,
  type Outcome,
  type PaymentHistory,
  type ReversalResult,
  unknown as unknownResult,
} from './processor.ts';
import { type ResolutionContext, recheckOutcome, resolveOutcome } from './resolve-outcome.ts';
import type { TimedProcessor } from './timed-processor.ts';

/** The responses of the processor, in their order. */
interface Script {
  readonly inquire?: readonly InquiryResult[];
  readonly reverse?: ReversalResult;
  readonly captureAuthorized?: Outcome;
  readonly repeatVoid?: Outcome;
}

interface RecordedCall {
  readonly what: keyof Script;
  readonly history: PaymentHistory;
  readonly subject?: OperationRef;
  readonly operation?: Operation;
  readonly payment?: Payment;
}

/** A processor that responds from the script and records its calls; a call that is not in the script is rejected. */
function scripted(script: Script): { readonly processor: TimedProcessor; readonly calls: RecordedCall[] } {
  const calls: RecordedCall[] = [];
  let inquiries = 0;
  const respond = <T>(response: T | undefined): Promise<T> =>
    response === undefined ? Promise.reject(new Error('not in the script')) : Promise.resolve(response);
  const fake: Pick<TimedProcessor, keyof Script | 'lastProblem'> = {
    lastProblem: 'timeout',
    inquire: (history, subject) => {
      calls.push({ what: 'inquire', history, subject });
      return respond(script.inquire?.[inquiries++]);
    },
    reverse: (history, subject) => {
      calls.push({ what: 'reverse', history, subject });
      return respond(script.reverse);
    },
    captureAuthorized: (payment, operation, history) => {
      calls.push({ what: 'captureAuthorized', history, operation, payment });
      return respond(script.captureAuthorized);
    },
    repeatVoid: (operation, history) => {
      calls.push({ what: 'repeatVoid', history, operation });
      return respond(script.repeatVoid);
    },
  };
  return { processor: fake as unknown as TimedProcessor, calls };
}

interface Circumstances {
  readonly payment?: Partial<Payment>;
  readonly reconciliation?: Partial<Reconciliation>;
  readonly isTimeTrusted?: boolean;
  readonly isEarly?: boolean;
  readonly isOtherAccount?: boolean;
  readonly sale?: boolean;
  readonly notFoundThreshold?: number;
  /** Milliseconds since the operation started. */
  readonly age?: number;
}

const RECOVERY_MAX = 1000;
const AUTHORIZATION = buildOperation({ state: 'accepted', details: { processorId: 'p-first' } });
const EARLIER: Operation = buildOperation({ id: 'earlier', type: 'capture', state: 'refused' });

async function hold(
  type: OperationType,
  script: Script,
  {
    payment,
    reconciliation,
    sale = true,
    notFoundThreshold = 2,
    age = 0,
    isTimeTrusted = true,
    isEarly = false,
    isOtherAccount = false,
  }: Circumstances = {},
): Promise<{ event: PaymentEvent; calls: RecordedCall[]; context: ResolutionContext }> {
  const isFirst = isFirstType(type);
  const status = isFirst ? 'Opened' : type === 'payment_refund' ? 'Collected' : 'Authorized';
  const snapshot = withOperation(
    { ...PAYMENT_STATES[status], ...payment },
    { type, amount: 2000n, createdAt: NOW - age, details: { processorId: 'p-own' } },
    reconciliation,
  );
  const { processor, calls } = scripted(script);
  const context: ResolutionContext = {
    snapshot,
    operations: isFirst ? [snapshot.operation] : [AUTHORIZATION, EARLIER, snapshot.operation],
    processor,
    capabilities: { sale, partialCapture: true, notFoundThreshold },
    rules: { ...RULES, recoveryMax: RECOVERY_MAX },
    now: NOW,
    isEarly,
    isTimeTrusted,
    isOtherAccount,
  };
  return { event: await resolveOutcome(context), calls, context };
}

const unansweredEvent = (notFound: boolean | undefined): PaymentEvent => ({
  type: 'unanswered',
  problem: 'timeout',
  notFound,
});
const names = (calls: readonly RecordedCall[]): string[] => calls.map(({ what }) => what);
const MODIFICATIONS = ['authorization', 'payment', 'capture', 'payment_refund'] as const;
const ENDINGS = ['authorization_void', 'expiry'] as const;
const TAKEN_OVER = { isTakenOver: true } as const;
const REVERSALS = {
  reversed: { kind: 'reversed' },
  withAuthorization: { kind: 'reversed-with-authorization' },
  notFound: { kind: 'not-found' },
  notReversible: { kind: 'not-reversible' },
  unknown: unknownResult('timeout'),
} as const satisfies Record<string, ReversalResult>;
const FIRST_SUBJECT: OperationRef = {
  type: 'authorization',
  operationId: FIRST,
  operationRef: FIRST,
  processorId: 'p-first',
  amount: { minor: 10_000n, currency: USD },
  isAuthorized: true,
};
const HISTORY: PaymentHistory = { referenceCode: 'A-1', operations: [FIRST_SUBJECT] };

describe('resolving an authorization, payment, capture or refund', () => {
  for (const type of MODIFICATIONS) {
    it(`accepts the outcome of the ${type} that the processor reports`, async () => {
      for (const outcome of [OUTCOMES.approved, OUTCOMES.refused, OUTCOMES.pending] as const) {
        const { event, calls } = await hold(type, { inquire: [outcome] });
        assert.deepEqual(event, { type: 'inquired', result: outcome });
        assert.deepEqual(names(calls), ['inquire']);
      }
    });

    it(`inquires about the ${type} itself, with the earlier operations that took effect`, async () => {
      const { calls, context } = await hold(type, { inquire: [OUTCOMES.approved] });
      const { operation } = context.snapshot;
      const subject = {
        type,
        operationId: operation.id,
        operationRef: operation.operationRef,
        processorId: 'p-own',
        amount: { minor: 2000n, currency: USD },
      };
      const history = isFirstType(type) ? { ...HISTORY, operations: [] } : HISTORY;
      assert.deepEqual(calls, [{ what: 'inquire', history, subject }]);
    });

    it(`leaves the ${type} unresolved while the outcome is unknown, and counts not-found results`, async () => {
      const unknown = await hold(type, { inquire: [OUTCOMES.unknown] }, { reconciliation: { consecutiveNotFound: 1 } });
      assert.deepEqual(unknown.event, unansweredEvent(false));
      const absent = await hold(type, { inquire: [OUTCOMES['not-found']] });
      assert.deepEqual(absent.event, unansweredEvent(true));
      assert.deepEqual(names(absent.calls), ['inquire']);
      const more = await hold(
        type,
        { inquire: [OUTCOMES['not-found']] },
        { reconciliation: { consecutiveNotFound: 3 }, notFoundThreshold: 5 },
      );
      assert.deepEqual(more.event, unansweredEvent(true));
      const never = await hold(
        type,
        { inquire: [OUTCOMES['not-found']] },
        { reconciliation: { consecutiveNotFound: 99 }, notFoundThreshold: Infinity },
      );
      assert.deepEqual(never.event, unansweredEvent(true));
    });

    it(`starts a reversal of the ${type} after enough not-found results, or after recovery-max`, async () => {
      const gone = await hold(
        type,
        { inquire: [OUTCOMES['not-found']] },
        { reconciliation: { consecutiveNotFound: 1 } },
      );
      assert.deepEqual(gone.event, { type: 'taken-over', notFound: true });
      const late = { age: RECOVERY_MAX, notFoundThreshold: Infinity, reconciliation: { consecutiveNotFound: 1 } };
      assert.deepEqual((await hold(type, { inquire: [OUTCOMES['not-found']] }, late)).event, {
        type: 'taken-over',
        notFound: true,
      });
      const unknown = await hold(type, { inquire: [OUTCOMES.unknown] }, late);
      assert.deepEqual(unknown.event, { type: 'taken-over', notFound: false });
      assert.deepEqual(names(unknown.calls), ['inquire']);
      const justBefore = await hold(type, { inquire: [OUTCOMES.unknown] }, { ...late, age: RECOVERY_MAX - 1 });
      assert.equal(justBefore.event.type, 'unanswered');
    });

    it(`reverses the ${type} after a reversal started, whatever an inquiry would return`, async () => {
      for (const reverse of [REVERSALS.notFound, REVERSALS.reversed]) {
        const { event, calls, context } = await hold(
          type,
          { reverse },
          { reconciliation: { ...TAKEN_OVER, consecutiveNotFound: 1 } },
        );
        assert.deepEqual(event, { type: 'reversed', failure: NEVER_CONFIRMED });
        const { id } = context.snapshot.operation;
        const subject = {
          type,
          operationId: id,
          operationRef: id,
          processorId: 'p-own',
          amount: { minor: 2000n, currency: USD },
        };
        const history = isFirstType(type) ? { ...HISTORY, operations: [] } : HISTORY;
        assert.deepEqual(calls, [{ what: 'reverse', history, subject }]);
        const never = await hold(type, { reverse }, { reconciliation: { ...TAKEN_OVER, consecutiveNotFound: 2 } });
        assert.deepEqual(never.event, { type: 'reversed', failure: NEVER_RECEIVED });
      }
    });

    it(`leaves the ${type} unresolved while the reversal is not confirmed`, async () => {
      const { event } = await hold(
        type,
        { reverse: REVERSALS.unknown },
        { reconciliation: { ...TAKEN_OVER, consecutiveNotFound: 7 }, age: RECOVERY_MAX },
      );
      assert.deepEqual(event, unansweredEvent(undefined));
    });

    it(`inquires about the ${type} again when the processor can no longer reverse it`, async () => {
      const reconciliation = { ...TAKEN_OVER, consecutiveNotFound: 7 };
      const script = { reverse: REVERSALS.notReversible, inquire: [OUTCOMES.approved] };
      const { event, calls } = await hold(type, script, { reconciliation });
      assert.deepEqual(event, { type: 'inquired', result: OUTCOMES.approved });
      assert.deepEqual(names(calls), ['reverse', 'inquire']);
      const unread = await hold(type, { ...script, inquire: [OUTCOMES.unknown] }, { reconciliation });
      assert.deepEqual(unread.event, unansweredEvent(undefined));
    });
  }

  it('counts an operation as reversed with its authorization, and reports that of a capture', async () => {
    for (const type of ['authorization', 'payment', 'payment_refund'] as const) {
      const { event } = await hold(type, { reverse: REVERSALS.withAuthorization }, { reconciliation: TAKEN_OVER });
      assert.deepEqual(event, { type: 'reversed', failure: NEVER_CONFIRMED });
    }
    const reverse = REVERSALS.withAuthorization;
    const { event } = await hold('capture', { reverse }, { reconciliation: TAKEN_OVER });
    assert.deepEqual(event, { type: 'inquired', result: { kind: 'reversed', details: {} } });
    const alone = await hold('capture', { reverse: REVERSALS.reversed }, { reconciliation: TAKEN_OVER });
    assert.deepEqual(alone.event, { type: 'reversed', failure: NEVER_CONFIRMED });
  });

  it('does not accept an outcome that contradicts the operation', async () => {
    const { event } = await hold(
      'payment_refund',
      { inquire: [OUTCOMES.approved] },
      { payment: { refunded: 7000n }, reconciliation: { consecutiveNotFound: 1 } },
    );
    assert.deepEqual(event, unansweredEvent(false));
  });
});

describe('resolving a payment whose processor captures in a separate call', () => {
  const apart = { sale: false };

  it('captures an authorization that was found, with the reference of the payment', async () => {
    const { event, calls, context } = await hold(
      'payment',
      { inquire: [OUTCOMES.approved], captureAuthorized: OUTCOMES.approved },
      apart,
    );
    assert.deepEqual(event, { type: 'inquired', result: { ...OUTCOMES.approved, captured: captured(2000n) } });
    const { payment, operation } = context.snapshot;
    const authorized = { ...calls[0]?.subject, processorId: processorDetails.processorId };
    assert.deepEqual(calls[1], {
      what: 'captureAuthorized',
      payment,
      operation,
      history: { referenceCode: 'A-1', operations: [authorized] },
    });
  });

  it('captures in no other case', async () => {
    const cases: readonly [OperationType, InquiryResult, Circumstances][] = [
      ['payment', OUTCOMES.approved, { sale: true }],
      ['payment', OUTCOMES['captured in part'], apart],
      ['payment', OUTCOMES.pending, apart],
      ['payment', OUTCOMES.refused, apart],
      ['authorization', OUTCOMES.approved, apart],
      ['capture', OUTCOMES.approved, apart],
    ];
    for (const [type, outcome, circumstances] of cases) {
      const { event, calls } = await hold(type, { inquire: [outcome] }, circumstances);
      assert.deepEqual(event, { type: 'inquired', result: outcome });
      assert.deepEqual(names(calls), ['inquire']);
    }
  });

  it('inquires again when the capture is refused: an earlier one may have succeeded', async () => {
    for (const second of [OUTCOMES.captured, OUTCOMES.refused] as const) {
      const script = { inquire: [OUTCOMES.approved, second], captureAuthorized: OUTCOMES.refused };
      const { event, calls } = await hold('payment', script, apart);
      assert.deepEqual(event, { type: 'inquired', result: second });
      assert.deepEqual(names(calls), ['inquire', 'captureAuthorized', 'inquire']);
      assert.equal(calls[2]?.subject?.processorId, processorDetails.processorId);
    }
  });

  it('remains unresolved when the repeated capture is refused and none is found: the first may still arrive', async () => {
    const script = { inquire: [OUTCOMES.approved, OUTCOMES.approved], captureAuthorized: OUTCOMES.refused };
    assert.deepEqual((await hold('payment', script, apart)).event, unansweredEvent(false));
    const { event } = await hold('payment', script, { ...apart, age: RECOVERY_MAX });
    assert.equal(event.type, 'taken-over');
  });

  it('accepts a capture that the processor completes later', async () => {
    const script = { inquire: [OUTCOMES.approved], captureAuthorized: OUTCOMES.pending };
    const { event } = await hold('payment', script, apart);
    assert.ok(event.type === 'inquired' && event.result.kind === 'approved' && event.result.captured !== undefined);
  });

  it('remains unresolved when the capture is unknown or was not sent', async () => {
    for (const captureAuthorized of [OUTCOMES.unknown, OUTCOMES['not sent']] as const) {
      const { event } = await hold(
        'payment',
        { inquire: [OUTCOMES.approved], captureAuthorized },
        { ...apart, reconciliation: { consecutiveNotFound: 1 } },
      );
      assert.deepEqual(event, unansweredEvent(false));
    }
  });
});

describe('resolving a void or an expiry', () => {
  for (const type of ENDINGS) {
    it(`inquires about the payment of the ${type}, and confirms it when the payment was reversed`, async () => {
      const { event, calls } = await hold(type, { inquire: [OUTCOMES.reversed] });
      assert.deepEqual(event, { type: 'inquired', result: OUTCOMES.reversed });
      assert.deepEqual(calls, [{ what: 'inquire', history: HISTORY, subject: FIRST_SUBJECT }]);
    });

    it(`reports the ${type} as superseded when the payment failed or was captured`, async () => {
      for (const state of [OUTCOMES.refused, OUTCOMES.captured, OUTCOMES['captured in part']] as const) {
        const { event, calls } = await hold(type, { inquire: [state] });
        assert.deepEqual(event, { type: 'superseded', state: state });
        assert.deepEqual(names(calls), ['inquire']);
      }
    });

    it(`leaves ${type === 'expiry' ? 'an expiry in doubt' : 'no void in doubt'} whose payment was captured for more than it was authorized`, async () => {
      const state: InquiryResult = { kind: 'approved', captured: captured(10_001n), details: {} };
      const contradiction = { type: 'unanswered', problem: 'contradiction', notFound: false };
      const { event, calls } = await hold(type, { inquire: [state] });
      assert.deepEqual(event, type === 'expiry' ? contradiction : { type: 'superseded', state });
      assert.deepEqual(names(calls), ['inquire']);
    });

    it(`repeats the ${type} while the payment is unchanged or its state is unknown`, async () => {
      for (const state of [OUTCOMES.approved, OUTCOMES.pending, OUTCOMES.unknown] as const) {
        const { event, calls, context } = await hold(type, { inquire: [state], repeatVoid: OUTCOMES.approved });
        assert.deepEqual(event, { type: 'inquired', result: OUTCOMES.approved });
        assert.deepEqual(calls[1], { what: 'repeatVoid', operation: context.snapshot.operation, history: HISTORY });
        for (const repeatVoid of [OUTCOMES.unknown, OUTCOMES['not sent'], OUTCOMES.pending] as const) {
          const again = await hold(
            type,
            { inquire: [state], repeatVoid },
            { reconciliation: { consecutiveNotFound: 1 }, age: RECOVERY_MAX },
          );
          assert.deepEqual(again.event, unansweredEvent(false));
        }
      }
    });

    it(`reverses a payment that is not found, by its reference, after enough results for the ${type}`, async () => {
      const first = await hold(type, { inquire: [OUTCOMES['not-found']] });
      assert.deepEqual(first.event, unansweredEvent(true));
      assert.deepEqual(names(first.calls), ['inquire']);
      for (const circumstances of [
        { reconciliation: { consecutiveNotFound: 1 } },
        { age: RECOVERY_MAX, notFoundThreshold: Infinity },
      ]) {
        for (const reverse of [REVERSALS.reversed, REVERSALS.notFound, REVERSALS.withAuthorization]) {
          const { event, calls } = await hold(type, { inquire: [OUTCOMES['not-found']], reverse }, circumstances);
          assert.deepEqual(event, { type: 'inquired', result: { kind: 'reversed', details: {} } });
          assert.deepEqual(calls[1], { what: 'reverse', history: HISTORY, subject: FIRST_SUBJECT });
        }
        for (const reverse of [REVERSALS.unknown, REVERSALS.notReversible]) {
          const { event } = await hold(type, { inquire: [OUTCOMES['not-found']], reverse }, circumstances);
          assert.deepEqual(event, unansweredEvent(true));
        }
      }
      const young = await hold(
        type,
        { inquire: [OUTCOMES['not-found']] },
        { age: RECOVERY_MAX - 1, notFoundThreshold: Infinity },
      );
      assert.equal(young.event.type, 'unanswered');
    });

    it(`leaves the ${type} unresolved when the payment has no operation`, async () => {
      const { context } = await hold(type, { inquire: [OUTCOMES.reversed] });
      const { processor, calls } = scripted({});
      assert.deepEqual(await resolveOutcome({ ...context, processor, operations: [] }), unansweredEvent(false));
      assert.deepEqual(calls, []);
    });
  }

  it('accepts the refusal of a void, but not of an expiry', async () => {
    const script = { inquire: [OUTCOMES.approved], repeatVoid: OUTCOMES.refused };
    assert.deepEqual((await hold('authorization_void', script)).event, { type: 'inquired', result: OUTCOMES.refused });
    assert.deepEqual((await hold('expiry', script)).event, unansweredEvent(false));
  });
});

describe('while time is not trusted', () => {
  it('nothing is reversed because of its age', async () => {
    const overdue = { age: RECOVERY_MAX, isTimeTrusted: false };
    assert.deepEqual((await hold('capture', { inquire: [OUTCOMES.unknown] }, overdue)).event, unansweredEvent(false));
    const patient = { ...overdue, notFoundThreshold: 5 };
    assert.deepEqual(
      (await hold('expiry', { inquire: [OUTCOMES['not-found']] }, patient)).event,
      unansweredEvent(true),
    );
  });
});

describe('while the settings name another account than that to which the operation may have been sent', () => {
  const changed: PaymentEvent = { type: 'unanswered', problem: 'account-changed', notFound: false };
  const elsewhere = { isOtherAccount: true, age: RECOVERY_MAX, notFoundThreshold: 1 } as const;

  for (const type of MODIFICATIONS) {
    it(`a ${type} that is not found stays in doubt, and nothing is reversed`, async () => {
      for (const outcome of [OUTCOMES['not-found'], OUTCOMES.unknown]) {
        const { event, calls } = await hold(type, { inquire: [outcome] }, elsewhere);
        assert.deepEqual([event, names(calls)], [changed, ['inquire']]);
      }
      const { event, calls } = await hold(type, {}, { ...elsewhere, reconciliation: TAKEN_OVER });
      assert.deepEqual([event, calls], [changed, []]);
    });

    it(`a ${type} that is found has the outcome that was found`, async () => {
      const { event } = await hold(type, { inquire: [OUTCOMES.approved] }, elsewhere);
      assert.deepEqual(event, { type: 'inquired', result: OUTCOMES.approved });
    });
  }

  for (const type of ENDINGS)
    it(`the ${type} of a payment that is not found stays in doubt, and nothing is reversed`, async () => {
      for (const outcome of [OUTCOMES['not-found'], OUTCOMES.unknown]) {
        const { event, calls } = await hold(type, { inquire: [outcome] }, elsewhere);
        assert.deepEqual([event, names(calls)], [changed, ['inquire']]);
      }
    });
});

describe('a recheck', () => {
  const recheck = async (
    script: Script,
    type: OperationType,
    state: 'accepted' | 'refused',
    isOtherAccount = false,
  ) => {
    const operation = { type, state, details: { processorId: 'p-own' }, amount: 2000n } as const;
    const snapshot = withCompleted(PAYMENT_STATES.Authorized, operation);
    const { processor, calls } = scripted(script);
    const operations = isFirstType(type) ? [snapshot.operation] : [AUTHORIZATION, snapshot.operation];
    const result = await recheckOutcome({ processor, snapshot, operations, isOtherAccount });
    return { result, calls };
  };

  it('inquires about the operation itself', async () => {
    const { result, calls } = await recheck({ inquire: [OUTCOMES.approved] }, 'capture', 'refused');
    assert.equal(result, OUTCOMES.approved);
    assert.deepEqual([names(calls), calls[0]?.subject?.operationRef], [['inquire'], 'next']);
    const first = await recheck({ inquire: [OUTCOMES.pending] }, 'authorization', 'accepted');
    assert.deepEqual([names(first.calls), first.result], [['inquire'], OUTCOMES.pending]);
  });

  it('inquires about the payment of a void', async () => {
    const { calls } = await recheck({ inquire: [OUTCOMES.approved] }, 'authorization_void', 'refused');
    assert.deepEqual([names(calls), calls[0]?.subject?.operationRef], [['inquire'], FIRST]);
  });

  it('reverses a first operation that was refused again', async () => {
    for (const [reverse, expected] of [
      [REVERSALS.reversed, { kind: 'reversed', details: {} }],
      [REVERSALS.withAuthorization, { kind: 'reversed', details: {} }],
      [REVERSALS.notFound, OUTCOMES['not-found']],
      // It remains valid at the processor.
      [REVERSALS.notReversible, { kind: 'approved', details: {} }],
      [REVERSALS.unknown, REVERSALS.unknown],
    ] as const) {
      const { result, calls } = await recheck({ reverse }, 'authorization', 'refused');
      assert.deepEqual([names(calls), result], [['reverse'], expected]);
    }
  });

  it('has no result when another account does not know the operation', async () => {
    const changed: InquiryResult = { kind: 'unknown', problem: 'account-changed' };
    const reversed = await recheck({ reverse: REVERSALS.notFound }, 'authorization', 'refused', true);
    assert.deepEqual(reversed.result, changed);
    const capture = await recheck({ inquire: [OUTCOMES['not-found']] }, 'capture', 'refused', true);
    assert.deepEqual(capture.result, changed);
    const found = await recheck({ inquire: [OUTCOMES.approved] }, 'capture', 'refused', true);
    assert.deepEqual(found.result, OUTCOMES.approved);
  });
});
