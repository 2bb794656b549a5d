import assert from 'node:assert/strict';
import { after, afterEach, describe, test } from 'node:test';
import type { InquiryResult, Outcome } from '../../src/payments/processor.ts';
import { approvedId, card, history, money, openCyberSourceFixture, order, subject } from './cybersource-fixture.ts';
import type { ForcedOutcome } from './cybersource-ledger.ts';

const desk = await openCyberSourceFixture();
const { cybersource, fake } = desk;
after(async () => {
  await desk.stop();
  assert.deepEqual(fake.violations, []);
});
afterEach(() => fake.heal());

/** Formats `Status Reason` of a refusal, otherwise the kind. */
const inBrief = (outcome: Outcome | InquiryResult): string =>
  outcome.kind === 'refused' ? `${outcome.failure.status} ${outcome.failure.reason}` : outcome.kind;

const UNDONE: readonly (readonly [ForcedOutcome, string])[] = [
  [{ status: 'PARTIAL_AUTHORIZED', holds: true, authorizedAmount: '4.00' }, 'Declined InsufficientFunds'],
  [{ status: 'AUTHORIZED_PENDING_REVIEW', reason: 'AVS_FAILED', holds: true }, 'Declined Rejected'],
  [{ status: 'AUTHORIZED_PENDING_REVIEW', reason: 'CV_FAILED', holds: true }, 'Declined InvalidCard'],
  [{ status: 'AUTHORIZED_RISK_DECLINED', reason: 'DECISION_PROFILE_REJECT', holds: true }, 'Declined Antifraud'],
];

for (const capture of [false, true]) {
  describe(`approvals with a warning, ${capture ? 'of sales' : 'of authorizations'}`, () => {
    for (const [verdict, expected] of UNDONE) {
      const name = `${verdict.status} ${verdict.reason ?? ''}`;

      test(`${name}: reversed, then ${expected}`, async () => {
        fake.inject({ on: 'payment', fault: 'verdict', verdict });
        const call = desk.call();
        const outcome = await cybersource.authorize(call, order({ capture }), card());
        assert.equal(inBrief(outcome), expected);
        assert.equal(fake.requests.at(-1), 'reversal');
        assert.equal(fake.ledger.byKey(call.operationId)?.state, 'undone');
        const ref = subject(capture ? 'payment' : 'authorization', call.operationId);
        assert.equal(inBrief(await cybersource.inquire(desk.call(), history(), ref)), expected);
      });

      for (const fault of ['drop-before', 'drop-after', '502-before', 'garbage', 'wrong-amount'] as const) {
        test(`${name}: unknown when the reversal meets ${fault}; the inquiry resolves it`, async () => {
          fake.inject({ on: 'payment', fault: 'verdict', verdict });
          fake.inject({ on: 'reversal', fault });
          const call = desk.call();
          assert.equal((await cybersource.authorize(call, order({ capture }), card())).kind, 'unknown');
          const ref = subject(capture ? 'payment' : 'authorization', call.operationId);
          fake.inject({
            on: 'reversal',
            fault: 'verdict',
            verdict: { status: '', http: 400, reason: 'NOT_SUPPORTED' },
          });
          const wasUndone = fake.ledger.byKey(call.operationId)?.state === 'undone';
          const first = await cybersource.inquire(desk.call(), history(), ref);
          assert.equal(inBrief(first), wasUndone ? expected : 'unknown');
          fake.heal();
          assert.equal(inBrief(await cybersource.inquire(desk.call(), history(), ref)), expected);
          assert.equal(fake.ledger.byKey(call.operationId)?.state, 'undone');
        });
      }
    }
  });
}

describe('a sale that was only authorized, and whose response was lost', () => {
  for (const verdict of UNDONE.map(([each]) => each)) {
    test(`${verdict.status} ${verdict.reason ?? ''}: is reversed by our reference`, async () => {
      fake.inject({ on: 'payment', fault: 'verdict', verdict });
      fake.inject({ on: 'reversal', fault: 'drop-before' });
      const call = desk.call();
      assert.equal((await cybersource.authorize(call, order({ capture: true }), card())).kind, 'unknown');
      const held = money(verdict.authorizedAmount ?? '10.50');
      const ref = subject('payment', call.operationId, undefined, held);
      assert.equal((await cybersource.reverse(desk.call(), history(), ref)).kind, 'reversed');
      assert.equal(fake.ledger.byKey(call.operationId)?.state, 'undone');
    });
  }
});

describe('soft declines that the operator accepts', () => {
  /** An authorization of before the setting became `reverse`. */
  const accepted = async (reason: string) => {
    const verdict = { status: 'AUTHORIZED_PENDING_REVIEW', reason, holds: true };
    fake.inject({ on: 'payment', fault: 'verdict', verdict });
    const call = desk.call({ settings: { 'soft-decline': 'accept' } });
    const id = approvedId(await cybersource.authorize(call, order(), card()));
    return { id, ref: subject('authorization', call.operationId, id) };
  };

  for (const reason of ['AVS_FAILED', 'CV_FAILED']) {
    test(`${reason}: authorized, and a sale is not captured`, async () => {
      const verdict = { status: 'AUTHORIZED_PENDING_REVIEW', reason, holds: true };
      fake.inject({ on: 'payment', fault: 'verdict', verdict });
      const settings = { 'soft-decline': 'accept' };
      const call = desk.call({ settings });
      const outcome = await cybersource.authorize(call, order({ capture: true }), card());
      const id = approvedId(outcome);
      assert.equal('captured' in outcome, false);
      const ref = subject('payment', call.operationId);
      const finding = await cybersource.inquire(desk.call({ settings }), history(), ref);
      assert.equal(approvedId(finding), id);
      assert.equal('captured' in finding, false);
      const past = history({ ...ref, processorId: id });
      approvedId(await cybersource.capture(desk.call({ settings }), past, money('10.50')));
    });

    test(`${reason}: a later setting releases no authorization that was accepted`, async () => {
      const { id, ref: known } = await accepted(reason);
      const ref = { ...known, isAuthorized: true };
      assert.equal(approvedId(await cybersource.inquire(desk.call(), history(), ref)), id);
      assert.equal(fake.ledger.totals(id).authorized, 105_000n);
      approvedId(await cybersource.capture(desk.call(), history(ref), money('10.50')));
    });

    test(`${reason}: one that we do not know as authorized is reversed, also where its id is known`, async () => {
      const { id, ref } = await accepted(reason);
      assert.equal((await cybersource.inquire(desk.call(), history(), ref)).kind, 'refused');
      assert.equal(fake.ledger.totals(id).authorized, 0n);
    });
  }
});

describe('responses without a final result', () => {
  for (const status of ['AUTHORIZED_PENDING_REVIEW', 'PENDING_REVIEW']) {
    test(`${status} with DECISION_PROFILE_REVIEW is pending, until it is decided at CyberSource`, async () => {
      const verdict = { status, reason: 'DECISION_PROFILE_REVIEW', holds: true };
      fake.inject({ on: 'payment', fault: 'verdict', verdict });
      const call = desk.call();
      const outcome = await cybersource.authorize(call, order(), card());
      assert.equal(outcome.kind, 'pending');
      const ref = subject('authorization', call.operationId, fake.ledger.byKey(call.operationId)?.id);
      assert.equal((await cybersource.inquire(desk.call(), history(), ref)).kind, 'pending');
      approvedId(await cybersource.void(desk.call(), history(ref)));
      assert.equal((await cybersource.inquire(desk.call(), history(), ref)).kind, 'reversed');
    });
  }

  for (const verdict of [
    { status: 'DECLINED', reason: 'PROCESSOR_TIMEOUT' },
    { status: 'SERVER_ERROR' },
    { status: 'SOMETHING_NEW' },
    { status: '', http: 400, reason: 'DUPLICATE_REQUEST' },
    { status: '', http: 400, reason: 'INVALID_DATA', fields: ['clientReferenceInformation.transactionId'] },
    { status: '', http: 500 },
    { status: '', http: 302 },
    { status: '', http: 408 },
  ]) {
    test(`${verdict.http ?? 201} ${verdict.status} ${verdict.reason ?? ''}: unknown`, async () => {
      for (const on of ['payment', 'capture', 'refund', 'reversal'] as const) {
        const first = subject(
          'authorization',
          desk.newKey(),
          approvedId(await cybersource.authorize(desk.call(), order(), card())),
        );
        const sale = await cybersource.authorize(desk.call(), order({ capture: true }), card());
        fake.inject({ on, fault: 'verdict', verdict });
        const run = {
          payment: () => cybersource.authorize(desk.call(), order(), card()),
          capture: () => cybersource.capture(desk.call(), history(first), money('10.50')),
          refund: () =>
            cybersource.refund(
              desk.call(),
              history(subject('payment', desk.newKey(), approvedId(sale))),
              money('1.00'),
            ),
          reversal: () => cybersource.void(desk.call(), history(first)),
        }[on];
        const outcome = await run();
        assert.equal(outcome.kind, 'unknown', on);
      }
    });
  }

  test('an approval of another amount, or without an id, is unknown', async () => {
    const verdict = { status: 'AUTHORIZED', holds: true, authorizedAmount: '10.00' };
    fake.inject({ on: 'payment', fault: 'verdict', verdict });
    const contradiction = { kind: 'unknown', problem: 'contradiction' };
    assert.deepEqual(await cybersource.authorize(desk.call(), order(), card()), contradiction);
    for (const id of [undefined, '', '../1', '1'.repeat(61)]) {
      fake.respondOnce('payment', { status: 201, body: { id, status: 'AUTHORIZED' } });
      assert.deepEqual(await cybersource.authorize(desk.call(), order(), card()), contradiction);
    }
  });

  test('bodies of every other form are unknown', async () => {
    for (const body of [
      '',
      'null',
      '[]',
      '{}',
      '"AUTHORIZED"',
      '{"status":1}',
      '{"status":"AUTHORIZED"',
      '{"status":{}}',
    ]) {
      for (const status of [200, 201, 202, 204, 400]) {
        fake.respondOnce('payment', { status, body });
        assert.equal((await cybersource.authorize(desk.call(), order(), card())).kind, 'unknown', body);
      }
    }
  });
});

describe('refusals', () => {
  const REFUSED: readonly (readonly [ForcedOutcome, string])[] = [
    [{ status: 'DECLINED', reason: 'INSUFFICIENT_FUND' }, 'Declined InsufficientFunds'],
    [{ status: 'DECLINED', reason: 'EXPIRED_CARD' }, 'Declined ExpiredCard'],
    [{ status: 'DECLINED', reason: 'STOLEN_LOST_CARD' }, 'Declined StolenCard'],
    [{ status: 'DECLINED', reason: 'GENERAL_DECLINE' }, 'Declined Rejected'],
    [{ status: 'AUTHORIZED_PENDING_REVIEW', reason: 'CONTACT_PROCESSOR' }, 'Declined Referred'],
    [{ status: 'AUTHORIZED_RISK_DECLINED', reason: 'DECISION_PROFILE_REJECT' }, 'Declined Antifraud'],
  ];
  for (const [verdict, expected] of REFUSED) {
    test(`${verdict.status} ${verdict.reason}: ${expected}, and nothing is reversed`, async () => {
      fake.inject({ on: 'payment', fault: 'verdict', verdict });
      const call = desk.call();
      const sent = fake.requests.length;
      assert.equal(inBrief(await cybersource.authorize(call, order(), card())), expected);
      assert.equal(fake.requests.length, sent + 1);
      const ref = subject('authorization', call.operationId);
      assert.equal(inBrief(await cybersource.inquire(desk.call(), history(), ref)), expected);
    });
  }

  test('a refund that is declined is refused, also by inquiry', async () => {
    const sale = desk.call();
    const id = approvedId(await cybersource.authorize(sale, order({ capture: true }), card()));
    const past = history(subject('payment', sale.operationId, id));
    fake.inject({ on: 'refund', fault: 'verdict', verdict: { status: 'DECLINED', reason: 'GENERAL_DECLINE' } });
    const call = desk.call();
    assert.equal(inBrief(await cybersource.refund(call, past, money('10.50'))), 'Declined Rejected');
    const ref = subject('payment_refund', call.operationId);
    assert.equal(inBrief(await cybersource.inquire(desk.call(), past, ref)), 'Declined Rejected');
    assert.equal(fake.ledger.totals(id).refunded, 0n);
  });

  for (const [http, expected] of [
    [401, 'ProcessorError InvalidConfiguration'],
    [403, 'ProcessorError InvalidConfiguration'],
    [404, 'ProcessorError InvalidConfiguration'],
    [429, 'ProcessorError ConnectionRejected'],
  ] as const) {
    test(`HTTP ${http}: ${expected}`, async () => {
      fake.inject({ on: 'payment', fault: 'verdict', verdict: { status: '', http } });
      assert.equal(inBrief(await cybersource.authorize(desk.call(), order(), card())), expected);
    });
  }
});

describe('a failure with the reason ConnectionRejected', () => {
  const causes = [
    ['ISSUER_UNAVAILABLE', 'issuer-unavailable'],
    ['PROCESSOR_ERROR', 'processor-failed'],
  ] as const;
  for (const [reason, cause] of causes)
    test(`is ${cause} for ${reason}, in the response and in an inquiry`, async () => {
      fake.inject({ on: 'payment', fault: 'verdict', verdict: { status: 'DECLINED', reason } });
      const call = desk.call();
      const outcome = await cybersource.authorize(call, order(), card());
      const found = await cybersource.inquire(desk.call(), history(), subject('authorization', call.operationId));
      for (const result of [outcome, found]) {
        assert.equal(inBrief(result), 'ProcessorError ConnectionRejected');
        assert.equal(result.kind === 'refused' && result.details.failureCause, cause);
      }
    });

  test('is processor-failed for a request that CyberSource limits; another failure has no cause', async () => {
    fake.inject({ on: 'payment', fault: 'verdict', verdict: { status: '', http: 429 } });
    const limited = await cybersource.authorize(desk.call(), order(), card());
    assert.equal(limited.kind === 'refused' && limited.details.failureCause, 'processor-failed');
    fake.inject({ on: 'payment', fault: 'verdict', verdict: { status: 'DECLINED', reason: 'EXPIRED_CARD' } });
    const expired = await cybersource.authorize(desk.call(), order(), card());
    assert.ok(expired.kind === 'refused' && !('failureCause' in expired.details));
  });
});
