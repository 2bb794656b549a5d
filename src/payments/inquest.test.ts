import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  buildOperation,
  captured,
  FIRST,
  isFirstType,
  LIFETIMES,
  NOW,
  OUTCOMES,
  PAYMENT_STATES,
  told,
  USD,
  withOperation,
} from '../../test/fixtures/payment-fixtures.ts';
import { type Evidence, givenUp, inquest, passed, type Verdict } from './inquest.ts';
import type { Operation, Payment } from './payment.ts';
import type { InquiryResult, OperationRef, OperationType, Outcome, PaymentHistory } from './processor.ts';
import { NEVER_CONFIRMED, NEVER_RECEIVED, type PaymentSnapshot } from './settle.ts';
import type { TimedProcessor } from './timed-processor.ts';

/** What the processor says when it is asked, in turn. */
interface Script {
  readonly inquire?: readonly InquiryResult[];
  readonly reverse?: InquiryResult;
  readonly captureAuthorized?: Outcome;
  readonly repeatVoid?: Outcome;
}

interface Asked {
  readonly what: keyof Script;
  readonly history: PaymentHistory;
  readonly subject?: OperationRef;
  readonly operation?: Operation;
  readonly payment?: Payment;
}

/** An Asking that answers from the script and notes what it was asked; a question that is not in it is a fault. */
function scripted(script: Script): { readonly asking: TimedProcessor; readonly asked: Asked[] } {
  const asked: Asked[] = [];
  let inquiries = 0;
  const say = <T>(word: T | undefined): Promise<T> =>
    word === undefined ? Promise.reject(new Error('not in the script')) : Promise.resolve(word);
  const stand: Pick<TimedProcessor, keyof Script> = {
    inquire: (history, subject) => {
      asked.push({ what: 'inquire', history, subject });
      return say(script.inquire?.[inquiries++]);
    },
    reverse: (history, subject) => {
      asked.push({ what: 'reverse', history, subject });
      return say(script.reverse);
    },
    captureAuthorized: (payment, operation, history) => {
      asked.push({ what: 'captureAuthorized', history, operation, payment });
      return say(script.captureAuthorized);
    },
    repeatVoid: (operation, history) => {
      asked.push({ what: 'repeatVoid', history, operation });
      return say(script.repeatVoid);
    },
  };
  return { asking: stand as unknown as TimedProcessor, asked };
}

interface Circumstances {
  readonly payment?: Partial<Payment>;
  readonly sale?: boolean;
  readonly absences?: number;
  /** Milliseconds since the operation was begun. */
  readonly age?: number;
}

const RECOVERY_MAX = 1000;
const AUTHORIZATION = buildOperation({ state: 'accepted', details: { processorId: 'p-first' } });
const EARLIER: Operation = buildOperation({ id: 'earlier', type: 'capture', state: 'refused' });

async function hold(
  type: OperationType,
  script: Script,
  { payment = {}, sale = true, absences = 2, age = 0 }: Circumstances = {},
): Promise<{ verdict: Verdict; asked: Asked[]; evidence: Evidence }> {
  const isFirst = isFirstType(type);
  const status = isFirst ? 'Opened' : type === 'payment_refund' ? 'Collected' : 'Authorized';
  const pair = withOperation(
    { ...PAYMENT_STATES[status], ...payment },
    { type, amount: 2000n, createdAt: NOW - age, details: { processorId: 'p-own' } },
  );
  const { asking, asked } = scripted(script);
  const evidence: Evidence = {
    pair,
    operations: isFirst ? [pair.operation] : [AUTHORIZATION, EARLIER, pair.operation],
    asking,
    capabilities: { sale, partialCapture: true, notFoundThreshold: absences },
    times: { timeout: 10, recoveryDelay: 10, recoveryMax: RECOVERY_MAX, lifetimes: LIFETIMES },
    now: NOW,
    isTimeTrusted: true,
  };
  return { verdict: await inquest(evidence), asked, evidence };
}

const names = (asked: readonly Asked[]): string[] => asked.map(({ what }) => what);
const MOVEMENTS = ['authorization', 'payment', 'capture', 'payment_refund'] as const;
const ENDINGS = ['authorization_void', 'expiry'] as const;
const REVERSAL_STARTED = { reversalStarted: true } as const;
const FIRST_SUBJECT: OperationRef = {
  type: 'authorization',
  operationRef: FIRST,
  processorId: 'p-first',
  amount: { minor: 10_000n, currency: USD },
};
const HISTORY: PaymentHistory = { referenceCode: 'A-1', operations: [FIRST_SUBJECT] };

describe('an inquest into an authorization, payment, capture or refund', () => {
  for (const type of MOVEMENTS) {
    it(`takes the processor's word about the ${type}`, async () => {
      for (const word of [OUTCOMES.approved, OUTCOMES.refused, OUTCOMES.pending] as const) {
        const { verdict, asked } = await hold(type, { inquire: [word] });
        assert.deepEqual(verdict, { kind: 'word', word });
        assert.deepEqual(names(asked), ['inquire']);
      }
    });

    it(`asks about the ${type} itself, behind what had an effect`, async () => {
      const { asked, evidence } = await hold(type, { inquire: [OUTCOMES.approved] });
      const { operation } = evidence.pair;
      const subject = {
        type,
        operationRef: operation.id,
        processorId: 'p-own',
        amount: { minor: 2000n, currency: USD },
      };
      const history = isFirstType(type) ? { ...HISTORY, operations: [] } : HISTORY;
      assert.deepEqual(asked, [{ what: 'inquire', history, subject }]);
    });

    it(`leaves the ${type} open while nobody can say, and counts what is absent`, async () => {
      const unknown = await hold(type, { inquire: [OUTCOMES.unknown] }, { payment: { consecutiveNotFound: 1 } });
      assert.deepEqual(unknown.verdict, { kind: 'open', absences: 0 });
      const absent = await hold(type, { inquire: [OUTCOMES['not-found']] });
      assert.deepEqual(absent.verdict, { kind: 'open', absences: 1 });
      assert.deepEqual(names(absent.asked), ['inquire']);
      const more = await hold(
        type,
        { inquire: [OUTCOMES['not-found']] },
        { payment: { consecutiveNotFound: 3 }, absences: 5 },
      );
      assert.deepEqual(more.verdict, { kind: 'open', absences: 4 });
      const never = await hold(
        type,
        { inquire: [OUTCOMES['not-found']] },
        { payment: { consecutiveNotFound: 99 }, absences: Infinity },
      );
      assert.deepEqual(never.verdict, { kind: 'open', absences: 100 });
    });

    it(`finds no hope for the ${type} once it was absent often enough, or its time is over`, async () => {
      const gone = await hold(type, { inquire: [OUTCOMES['not-found']] }, { payment: { consecutiveNotFound: 1 } });
      assert.deepEqual(gone.verdict, { kind: 'hopeless', absences: 2 });
      const late = { age: RECOVERY_MAX, absences: Infinity, payment: { consecutiveNotFound: 1 } };
      assert.deepEqual((await hold(type, { inquire: [OUTCOMES['not-found']] }, late)).verdict, {
        kind: 'hopeless',
        absences: 2,
      });
      const unknown = await hold(type, { inquire: [OUTCOMES.unknown] }, late);
      assert.deepEqual(unknown.verdict, { kind: 'hopeless', absences: 0 });
      assert.deepEqual(names(unknown.asked), ['inquire']);
      const justBefore = await hold(type, { inquire: [OUTCOMES.unknown] }, { ...late, age: RECOVERY_MAX - 1 });
      assert.equal(justBefore.verdict.kind, 'open');
    });

    it(`has the ${type} undone once it is given up, whatever an inquiry would find`, async () => {
      for (const reverse of [OUTCOMES['not-found'], OUTCOMES.approved] as const) {
        const { verdict, asked, evidence } = await hold(
          type,
          { reverse },
          { payment: { ...REVERSAL_STARTED, consecutiveNotFound: 1 } },
        );
        assert.deepEqual(verdict, { kind: 'given-up', failed: NEVER_CONFIRMED });
        const { id } = evidence.pair.operation;
        const subject = { type, operationRef: id, processorId: 'p-own', amount: { minor: 2000n, currency: USD } };
        const history = isFirstType(type) ? { ...HISTORY, operations: [] } : HISTORY;
        assert.deepEqual(asked, [{ what: 'reverse', history, subject }]);
        const never = await hold(type, { reverse }, { payment: { ...REVERSAL_STARTED, consecutiveNotFound: 2 } });
        assert.deepEqual(never.verdict, { kind: 'given-up', failed: NEVER_RECEIVED });
      }
    });

    it(`leaves the ${type} open while it cannot be undone`, async () => {
      for (const reverse of [OUTCOMES.unknown, OUTCOMES.pending] as const) {
        const { verdict } = await hold(
          type,
          { reverse },
          { payment: { ...REVERSAL_STARTED, consecutiveNotFound: 7 }, age: RECOVERY_MAX },
        );
        assert.deepEqual(verdict, { kind: 'open', absences: 7 });
      }
    });

    it(`believes an inquiry about the ${type} again when the processor cannot undo it any more`, async () => {
      const payment = { ...REVERSAL_STARTED, consecutiveNotFound: 7 };
      const script = { reverse: OUTCOMES.refused, inquire: [OUTCOMES.approved] };
      const { verdict, asked } = await hold(type, script, { payment });
      assert.deepEqual(verdict, { kind: 'word', word: OUTCOMES.approved });
      assert.deepEqual(names(asked), ['reverse', 'inquire']);
      const unread = await hold(type, { ...script, inquire: [OUTCOMES.unknown] }, { payment });
      assert.deepEqual(unread.verdict, { kind: 'open', absences: 7 });
    });
  }

  it('gives up what was reversed with its authorization, and says so of a capture', async () => {
    for (const type of ['authorization', 'payment', 'payment_refund'] as const) {
      const { verdict } = await hold(type, { reverse: OUTCOMES.reversed }, { payment: REVERSAL_STARTED });
      assert.deepEqual(verdict, { kind: 'given-up', failed: NEVER_CONFIRMED });
    }
    const { verdict } = await hold('capture', { reverse: OUTCOMES.reversed }, { payment: REVERSAL_STARTED });
    assert.deepEqual(verdict, { kind: 'word', word: OUTCOMES.reversed });
  });

  it('does not take a word for definite that cannot be', async () => {
    const { verdict } = await hold(
      'payment_refund',
      { inquire: [OUTCOMES.approved] },
      { payment: { refunded: 7000n, consecutiveNotFound: 1 } },
    );
    assert.deepEqual(verdict, { kind: 'open', absences: 0 });
  });
});

describe('an inquest into a payment whose processor captures in a call of its own', () => {
  const apart = { sale: false };

  it('captures what was found authorized, under the key of the payment', async () => {
    const { verdict, asked, evidence } = await hold(
      'payment',
      { inquire: [OUTCOMES.approved], captureAuthorized: OUTCOMES.approved },
      apart,
    );
    assert.deepEqual(verdict, { kind: 'word', word: { ...OUTCOMES.approved, captured: captured(2000n) } });
    const { payment, operation } = evidence.pair;
    const authorized = { ...asked[0]?.subject, processorId: told.processorId };
    assert.deepEqual(asked[1], {
      what: 'captureAuthorized',
      payment,
      operation,
      history: { referenceCode: 'A-1', operations: [authorized] },
    });
  });

  it('captures nothing else', async () => {
    const cases: readonly [OperationType, InquiryResult, Circumstances][] = [
      ['payment', OUTCOMES.approved, { sale: true }],
      ['payment', OUTCOMES['captured in part'], apart],
      ['payment', OUTCOMES.pending, apart],
      ['payment', OUTCOMES.refused, apart],
      ['authorization', OUTCOMES.approved, apart],
      ['capture', OUTCOMES.approved, apart],
    ];
    for (const [type, word, circumstances] of cases) {
      const { verdict, asked } = await hold(type, { inquire: [word] }, circumstances);
      assert.deepEqual(verdict, { kind: 'word', word });
      assert.deepEqual(names(asked), ['inquire']);
    }
  });

  it('asks again when the capture is refused: it may have been made before', async () => {
    for (const second of [OUTCOMES.captured, OUTCOMES.refused] as const) {
      const script = { inquire: [OUTCOMES.approved, second], captureAuthorized: OUTCOMES.refused };
      const { verdict, asked } = await hold('payment', script, apart);
      assert.deepEqual(verdict, { kind: 'word', word: second });
      assert.deepEqual(names(asked), ['inquire', 'captureAuthorized', 'inquire']);
      assert.equal(asked[2]?.subject?.processorId, told.processorId);
    }
  });

  it('waits where the repeated capture is refused and none is found: the first may still arrive', async () => {
    const script = { inquire: [OUTCOMES.approved, OUTCOMES.approved], captureAuthorized: OUTCOMES.refused };
    assert.deepEqual((await hold('payment', script, apart)).verdict, { kind: 'open', absences: 0 });
    const { verdict } = await hold('payment', script, { ...apart, age: RECOVERY_MAX });
    assert.equal(verdict.kind, 'hopeless');
  });

  it('takes a capture that is accepted and settled later for done', async () => {
    const script = { inquire: [OUTCOMES.approved], captureAuthorized: OUTCOMES.pending };
    const { verdict } = await hold('payment', script, apart);
    assert.ok(verdict.kind === 'word' && verdict.word.kind === 'approved' && verdict.word.captured !== undefined);
  });

  it('does not know yet when the capture is unknown or was not sent', async () => {
    for (const captureAuthorized of [OUTCOMES.unknown, OUTCOMES['not sent']] as const) {
      const { verdict } = await hold(
        'payment',
        { inquire: [OUTCOMES.approved], captureAuthorized },
        { ...apart, payment: { consecutiveNotFound: 1 } },
      );
      assert.deepEqual(verdict, { kind: 'open', absences: 0 });
    }
  });
});

describe('an inquest into a void or an expiry', () => {
  for (const type of ENDINGS) {
    it(`asks how the payment of the ${type} stands, and is content when it was given back`, async () => {
      const { verdict, asked } = await hold(type, { inquire: [OUTCOMES.reversed] });
      assert.deepEqual(verdict, { kind: 'word', word: OUTCOMES.reversed });
      assert.deepEqual(asked, [{ what: 'inquire', history: HISTORY, subject: FIRST_SUBJECT }]);
    });

    it(`finds the ${type} overtaken where the payment failed or was captured`, async () => {
      for (const stands of [OUTCOMES.refused, OUTCOMES.captured, OUTCOMES['captured in part']] as const) {
        const { verdict, asked } = await hold(type, { inquire: [stands] });
        assert.deepEqual(verdict, { kind: 'overtaken', stands });
        assert.deepEqual(names(asked), ['inquire']);
      }
    });

    it(`repeats the ${type} while the payment stands, or nobody can say`, async () => {
      for (const stands of [OUTCOMES.approved, OUTCOMES.pending, OUTCOMES.unknown] as const) {
        const { verdict, asked, evidence } = await hold(type, { inquire: [stands], repeatVoid: OUTCOMES.approved });
        assert.deepEqual(verdict, { kind: 'word', word: OUTCOMES.approved });
        assert.deepEqual(asked[1], { what: 'repeatVoid', operation: evidence.pair.operation, history: HISTORY });
        for (const repeatVoid of [OUTCOMES.unknown, OUTCOMES['not sent'], OUTCOMES.pending] as const) {
          const again = await hold(
            type,
            { inquire: [stands], repeatVoid },
            { payment: { consecutiveNotFound: 1 }, age: RECOVERY_MAX },
          );
          assert.deepEqual(again.verdict, { kind: 'open', absences: 0 });
        }
      }
    });

    it(`gives what is absent back by the key of the payment, once that is sure for the ${type}`, async () => {
      const first = await hold(type, { inquire: [OUTCOMES['not-found']] });
      assert.deepEqual(first.verdict, { kind: 'open', absences: 1 });
      assert.deepEqual(names(first.asked), ['inquire']);
      for (const circumstances of [
        { payment: { consecutiveNotFound: 1 } },
        { age: RECOVERY_MAX, absences: Infinity },
      ]) {
        for (const reverse of [OUTCOMES.approved, OUTCOMES['not-found'], OUTCOMES.reversed] as const) {
          const { verdict, asked } = await hold(type, { inquire: [OUTCOMES['not-found']], reverse }, circumstances);
          assert.deepEqual(verdict, { kind: 'word', word: { kind: 'reversed', details: {} } });
          assert.deepEqual(asked[1], { what: 'reverse', history: HISTORY, subject: FIRST_SUBJECT });
        }
        for (const reverse of [OUTCOMES.unknown, OUTCOMES.refused, OUTCOMES.pending] as const) {
          const { verdict } = await hold(type, { inquire: [OUTCOMES['not-found']], reverse }, circumstances);
          const absences = (circumstances.payment?.consecutiveNotFound ?? 0) + 1;
          assert.deepEqual(verdict, { kind: 'open', absences });
        }
      }
      const young = await hold(
        type,
        { inquire: [OUTCOMES['not-found']] },
        { age: RECOVERY_MAX - 1, absences: Infinity },
      );
      assert.equal(young.verdict.kind, 'open');
    });

    it(`leaves the ${type} open when the payment has no operation`, async () => {
      const { evidence } = await hold(type, { inquire: [OUTCOMES.reversed] });
      const { asking, asked } = scripted({});
      assert.deepEqual(await inquest({ ...evidence, asking, operations: [] }), { kind: 'open', absences: 0 });
      assert.deepEqual(asked, []);
    });
  }

  it('takes a refused void for definite, and a refused expiry not', async () => {
    const script = { inquire: [OUTCOMES.approved], repeatVoid: OUTCOMES.refused };
    assert.deepEqual((await hold('authorization_void', script)).verdict, { kind: 'word', word: OUTCOMES.refused });
    assert.deepEqual((await hold('expiry', script)).verdict, { kind: 'open', absences: 0 });
  });
});

describe('a verdict', () => {
  const capture = (): PaymentSnapshot => withOperation(PAYMENT_STATES.Authorized, { type: 'capture' });
  const void_ = (): PaymentSnapshot => withOperation(PAYMENT_STATES.Authorized, { type: 'authorization_void' });
  const times = { timeout: 10, recoveryDelay: 10, recoveryMax: RECOVERY_MAX, lifetimes: LIFETIMES };
  const pass = (pair: PaymentSnapshot, verdict: Verdict): PaymentSnapshot | undefined =>
    passed(pair, verdict, times, NOW);

  it('that is the word of the processor ends the operation as that word says', () => {
    const after = pass(capture(), { kind: 'word', word: OUTCOMES.approved });
    assert.deepEqual([after?.payment.status, after?.operation.state], ['Collected', 'accepted']);
    const refused = pass(capture(), { kind: 'word', word: OUTCOMES.refused });
    assert.deepEqual([refused?.operation.state, refused?.payment.recheckIds], ['refused', []]);
  });

  it('that refuses a repeated void has it watched: the first may still arrive', () => {
    const after = pass(void_(), { kind: 'word', word: OUTCOMES.refused });
    assert.deepEqual([after?.operation.state, after?.payment.recheckIds], ['refused', [after?.operation.id]]);
    const done = pass(void_(), { kind: 'word', word: OUTCOMES.approved });
    assert.deepEqual([done?.payment.status, done?.payment.recheckIds], ['Voided', []]);
  });

  it('that gives up has the operation watched', () => {
    const after = pass(capture(), { kind: 'given-up', failed: NEVER_RECEIVED });
    assert.deepEqual(after?.operation.failure, NEVER_RECEIVED);
    assert.deepEqual(after?.payment.recheckIds, [after?.operation.id]);
  });

  it('that finds it overtaken takes over how the payment stands', () => {
    const after = pass(void_(), { kind: 'overtaken', stands: OUTCOMES.captured });
    assert.deepEqual([after?.payment.status, after?.operation.state], ['Collected', 'refused']);
  });

  it('that is open decides nothing', () => {
    assert.equal(pass(capture(), { kind: 'open', absences: 1 }), undefined);
    assert.equal(pass(capture(), { kind: 'hopeless', absences: 1 }), undefined);
  });
});

describe('giving up', () => {
  it('marks the payment, and counts what was absent', () => {
    const before = withOperation(PAYMENT_STATES.Authorized, { type: 'capture' });
    const after = givenUp(before, 3);
    assert.deepEqual(after, {
      ...before,
      payment: { ...before.payment, consecutiveNotFound: 3, reversalStarted: true },
    });
  });

  it('is too late when the operation has ended', () => {
    const ended = withOperation(PAYMENT_STATES.Authorized, { type: 'capture', state: 'accepted' });
    assert.equal(givenUp(ended, 3), undefined);
  });
});
