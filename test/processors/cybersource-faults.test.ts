import assert from 'node:assert/strict';
import { after, afterEach, describe, test } from 'node:test';
import type {
  InquiryResult,
  OperationRef,
  Outcome,
  PaymentHistory,
  ReversalResult,
} from '../../src/payments/processor.ts';
import { approvedId, card, history, money, openCyberSourceFixture, order, subject } from './cybersource-fixture.ts';
import type { Fault } from './fault-injection.ts';

type Kind = Extract<Fault, { fault: string }>['fault'];

/** The expected result, and whether CyberSource has executed the operation nevertheless. */
const FAULTS: Readonly<Record<Exclude<Kind, 'delay' | 'verdict'>, readonly [outcome: 'unknown', done: boolean]>> = {
  'drop-before': ['unknown', false],
  'drop-after': ['unknown', true],
  'never-answer': ['unknown', true],
  '502-before': ['unknown', false],
  '502-after': ['unknown', true],
  garbage: ['unknown', true],
  truncated: ['unknown', true],
  duplicate: ['unknown', true],
  'wrong-amount': ['unknown', true],
  'wrong-currency': ['unknown', true],
  'wrong-code': ['unknown', true],
};
const SHORT = 150;

const desk = await openCyberSourceFixture();
const { cybersource, fake } = desk;
after(async () => {
  await desk.stop();
  assert.deepEqual(fake.violations, []);
});
afterEach(() => fake.heal());

interface Attempt {
  readonly past: PaymentHistory;
  readonly subject: OperationRef;
  /** Returns the first transaction of the payment, if any. */
  readonly root: string | undefined;
  run(timeout: number): Promise<Outcome>;
}

async function held(): Promise<{ readonly past: PaymentHistory; readonly id: string }> {
  const call = desk.call();
  const id = approvedId(await cybersource.authorize(call, order(), card()));
  return { past: history(subject('authorization', call.operationId, id)), id };
}

async function collected(): Promise<{ readonly past: PaymentHistory; readonly id: string }> {
  const { past, id } = await held();
  const call = desk.call();
  const captureId = approvedId(await cybersource.capture(call, past, money('10.50')));
  return { past: history(...past.operations, subject('capture', call.operationId, captureId)), id };
}

const ATTEMPTS: Readonly<Record<string, () => Promise<Attempt>>> = {
  authorization: async () => {
    const key = desk.newKey();
    const run = (timeout: number): Promise<Outcome> =>
      cybersource.authorize(desk.call({ key, timeout }), order(), card());
    return { past: history(), subject: subject('authorization', key), root: undefined, run };
  },
  payment: async () => {
    const key = desk.newKey();
    const sale = order({ capture: true });
    const run = (timeout: number): Promise<Outcome> => cybersource.authorize(desk.call({ key, timeout }), sale, card());
    return { past: history(), subject: subject('payment', key), root: undefined, run };
  },
  capture: async () => {
    const key = desk.newKey();
    const { past, id } = await held();
    const run = (timeout: number): Promise<Outcome> =>
      cybersource.capture(desk.call({ key, timeout }), past, money('10.50'));
    return { past, subject: subject('capture', key), root: id, run };
  },
  payment_refund: async () => {
    const key = desk.newKey();
    const { past, id } = await collected();
    const run = (timeout: number): Promise<Outcome> =>
      cybersource.refund(desk.call({ key, timeout }), past, money('10.50'));
    return { past, subject: subject('payment_refund', key), root: id, run };
  },
  authorization_void: async () => {
    const key = desk.newKey();
    const { past, id } = await held();
    const run = (timeout: number): Promise<Outcome> => cybersource.void(desk.call({ key, timeout }), past);
    return { past, subject: subject('authorization_void', key), root: id, run };
  },
};
const REQUESTS = {
  authorization: 'payment',
  payment: 'payment',
  capture: 'capture',
  payment_refund: 'refund',
  authorization_void: 'reversal',
} as const;

const inquire = ({ past, subject }: Attempt): Promise<InquiryResult> => cybersource.inquire(desk.call(), past, subject);
const abandon = ({ past, subject }: Attempt): Promise<ReversalResult> =>
  cybersource.reverse(desk.call(), past, subject);
const standing = ({ root, subject }: Attempt): object =>
  fake.ledger.totals(root ?? fake.ledger.byKey(subject.operationId)?.id ?? '');

for (const [type, prepare] of Object.entries(ATTEMPTS)) {
  const on = REQUESTS[type as keyof typeof REQUESTS];
  describe(type, () => {
    for (const [fault, [kind, done]] of Object.entries(FAULTS)) {
      test(`${fault}: ${kind}; an inquiry reports that it was ${done ? '' : 'not '}processed, and it can be reversed`, async () => {
        // The response to another request, for the fault that repeats it.
        await (await prepare()).run(10_000);
        const attempt = await prepare();
        fake.inject({ on, fault: fault as 'garbage' });
        const sent = fake.requests.length;
        const outcome = await attempt.run(fault === 'never-answer' ? SHORT : 10_000);
        assert.equal(outcome.kind, kind, JSON.stringify(Object.keys(outcome)));
        assert.equal(fake.requests.length, sent + 1, 'sent once');
        assert.equal((await inquire(attempt)).kind, done ? 'approved' : 'not-found');
        await undo(type, attempt, done);
      });
    }

    test('a response that is late, but within the deadline, is accepted', async () => {
      const attempt = await prepare();
      fake.inject({ on, fault: 'delay', ms: 80 });
      approvedId(await attempt.run(10_000));
    });
  });
}

/** The state after a reversal, by the type of the reversed operation. */
async function undo(type: string, attempt: Attempt, done: boolean): Promise<void> {
  const finding = await abandon(attempt);
  const nothing = { authorized: 0n, captured: 0n, refunded: 0n };
  const totals = { authorized: 105_000n, captured: 105_000n, refunded: 0n };
  if (type === 'authorization_void') {
    assert.equal(finding.kind, 'reversed-with-authorization');
    assert.deepEqual(standing(attempt), nothing);
  } else if (type === 'capture') {
    assert.equal(finding.kind, done ? 'reversed-with-authorization' : 'not-found');
    assert.deepEqual(standing(attempt), done ? nothing : { ...nothing, authorized: 105_000n });
  } else {
    assert.equal(finding.kind, done ? 'reversed' : 'not-found');
    assert.deepEqual(standing(attempt), type === 'payment_refund' ? totals : nothing);
  }
  if (!done) return;
  const after = { capture: 'reversed', payment_refund: 'refused', authorization_void: 'approved' }[type] ?? 'reversed';
  assert.equal((await inquire(attempt)).kind, after);
  // The case of a lost response: it is sent once more, and still nothing is left.
  const again = await abandon(attempt);
  const isWithAuthorization = type === 'capture' || type === 'authorization_void';
  const expected = isWithAuthorization ? ['reversed-with-authorization'] : ['reversed', 'not-found'];
  assert.ok(expected.includes(again.kind), again.kind);
}

describe('a time-out reversal', () => {
  const UNDOINGS = {
    authorization: 'timeout-reversal',
    payment: 'timeout-void',
    capture: 'timeout-void',
    payment_refund: 'timeout-void',
  } as const;
  for (const [type, on] of Object.entries(UNDOINGS)) {
    for (const fault of ['drop-before', 'drop-after', '502-after', 'garbage', 'wrong-amount', 'wrong-code'] as const) {
      test(`of ${type}, ${fault}: unknown`, async () => {
        const attempt = await (ATTEMPTS[type] ?? (() => assert.fail()))();
        fake.inject({ on: REQUESTS[type as 'payment'], fault: 'drop-after' });
        await attempt.run(10_000);
        fake.inject({ on, fault });
        assert.equal((await abandon(attempt)).kind, 'unknown');
      });
    }

    for (const verdict of [
      { status: '', http: 400, reason: 'NOT_VOIDABLE' },
      { status: '', http: 400, reason: 'TRANSACTION_ALREADY_SETTLED' },
      { status: '', http: 400, reason: 'INVALID_DATA', fields: ['reversalInformation.amountDetails.totalAmount'] },
      { status: '', http: 401 },
      { status: 'FAILED' },
    ]) {
      const isFinal = verdict.reason === 'NOT_VOIDABLE' || verdict.reason === 'TRANSACTION_ALREADY_SETTLED';
      const expected = isFinal ? 'not-reversible' : 'unknown';
      test(`of ${type}, ${verdict.http ?? 201} ${verdict.reason ?? verdict.status}: ${expected}`, async () => {
        const attempt = await (ATTEMPTS[type] ?? (() => assert.fail()))();
        await attempt.run(10_000);
        fake.inject({ on, fault: 'verdict', verdict });
        assert.equal((await abandon(attempt)).kind, expected);
      });
    }
  }

  for (const reason of ['MISSING_AUTH', 'TRANSACTION_ALREADY_REVERSED_OR_SETTLED']) {
    test(`of an authorization, 400 ${reason}: as in the transaction details`, async () => {
      const verdict = { status: '', http: 400, reason };
      const after = async (first: Parameters<typeof fake.inject>[0] | undefined): Promise<ReversalResult['kind']> => {
        const call = desk.call();
        if (first !== undefined) fake.inject(first);
        await cybersource.authorize(call, order(), card());
        const ref = subject('authorization', call.operationId);
        if (first === undefined) await cybersource.reverse(desk.call(), history(), ref);
        fake.inject({ on: 'timeout-reversal', fault: 'verdict', verdict });
        return (await cybersource.reverse(desk.call(), history(), ref)).kind;
      };
      const declined = { status: 'DECLINED', reason: 'PROCESSOR_DECLINED' };
      assert.equal(await after({ on: 'payment', fault: 'verdict', verdict: declined }), 'reversed');
      assert.equal(await after(undefined), 'reversed', 'reversed before');
      assert.equal(await after({ on: 'payment', fault: 'drop-after' }), 'unknown', 'held');
      const lost = await after({ on: 'payment', fault: 'drop-before' });
      assert.equal(lost, reason === 'MISSING_AUTH' ? 'not-found' : 'unknown', 'not found');
    });
  }

  test('without an operation: not found', async () => {
    for (const type of ['authorization', 'payment', 'capture', 'payment_refund'] as const) {
      const finding = await cybersource.reverse(desk.call(), history(), subject(type, desk.newKey()));
      assert.deepEqual(finding, { kind: 'not-found' });
    }
    const finding = await cybersource.reverse(desk.call(), history(), subject('authorization_void', desk.newKey()));
    assert.deepEqual(finding, { kind: 'not-found' });
  });

  test('of a known authorization uses its id', async () => {
    const { past, id } = await held();
    const [first] = past.operations;
    assert.ok(first);
    assert.equal((await cybersource.reverse(desk.call(), history(), first)).kind, 'reversed');
    assert.equal(fake.requests.at(-1), 'reversal');
    assert.equal(fake.ledger.totals(id).authorized, 0n);
  });
});
