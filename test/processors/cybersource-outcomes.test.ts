import assert from 'node:assert/strict';
import { after, afterEach, describe, test } from 'node:test';
import type { InquiryResult, Outcome } from '../../src/payments/processor.ts';
import { approvedId, card, history, money, openCyberSourceFixture, order, subject } from './cybersource-fixture.ts';
import type { ForcedOutcome } from './cybersource-ledger.ts';

const desk = await openCyberSourceFixture();
const { cybersource, standIn } = desk;
after(async () => {
  await desk.stop();
  assert.deepEqual(standIn.violations, []);
});
afterEach(() => standIn.heal());

/** Formats `Status Reason` of a refusal, otherwise the kind. */
const inBrief = (word: Outcome | InquiryResult): string =>
  word.kind === 'refused' ? `${word.failure.status} ${word.failure.reason}` : word.kind;

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
        standIn.inject({ on: 'payment', fault: 'verdict', verdict });
        const call = desk.call();
        const outcome = await cybersource.authorize(call, order({ capture }), card());
        assert.equal(inBrief(outcome), expected);
        assert.equal(standIn.requests.at(-1), 'reversal');
        assert.equal(standIn.books.byKey(call.operationRef)?.state, 'undone');
        const asked = subject(capture ? 'payment' : 'authorization', call.operationRef);
        assert.equal(inBrief(await cybersource.inquire(desk.call(), history(), asked)), expected);
      });

      for (const fault of ['drop-before', 'drop-after', '502-before', 'garbage', 'wrong-amount'] as const) {
        test(`${name}: unknown when the reversal meets ${fault}; the inquiry resolves it`, async () => {
          standIn.inject({ on: 'payment', fault: 'verdict', verdict });
          standIn.inject({ on: 'reversal', fault });
          const call = desk.call();
          assert.equal((await cybersource.authorize(call, order({ capture }), card())).kind, 'unknown');
          const asked = subject(capture ? 'payment' : 'authorization', call.operationRef);
          standIn.inject({
            on: 'reversal',
            fault: 'verdict',
            verdict: { status: '', http: 400, reason: 'NOT_SUPPORTED' },
          });
          const wasUndone = standIn.books.byKey(call.operationRef)?.state === 'undone';
          const first = await cybersource.inquire(desk.call(), history(), asked);
          assert.equal(inBrief(first), wasUndone ? expected : 'unknown');
          standIn.heal();
          assert.equal(inBrief(await cybersource.inquire(desk.call(), history(), asked)), expected);
          assert.equal(standIn.books.byKey(call.operationRef)?.state, 'undone');
        });
      }
    }
  });
}

describe('a sale that was only authorized, and whose response was lost', () => {
  for (const verdict of UNDONE.map(([each]) => each)) {
    test(`${verdict.status} ${verdict.reason ?? ''}: is reversed by our reference`, async () => {
      standIn.inject({ on: 'payment', fault: 'verdict', verdict });
      standIn.inject({ on: 'reversal', fault: 'drop-before' });
      const call = desk.call();
      assert.equal((await cybersource.authorize(call, order({ capture: true }), card())).kind, 'unknown');
      const held = money(verdict.authorizedAmount ?? '10.50');
      const asked = subject('payment', call.operationRef, undefined, held);
      assert.equal((await cybersource.reverse(desk.call(), history(), asked)).kind, 'reversed');
      assert.equal(standIn.books.byKey(call.operationRef)?.state, 'undone');
    });
  }
});

describe('soft declines that the operator accepts', () => {
  for (const reason of ['AVS_FAILED', 'CV_FAILED']) {
    test(`${reason}: authorized, and a sale is not captured`, async () => {
      const verdict = { status: 'AUTHORIZED_PENDING_REVIEW', reason, holds: true };
      standIn.inject({ on: 'payment', fault: 'verdict', verdict });
      const settings = { 'soft-decline': 'accept' };
      const call = desk.call({ settings });
      const outcome = await cybersource.authorize(call, order({ capture: true }), card());
      const id = approvedId(outcome);
      assert.equal('captured' in outcome, false);
      const asked = subject('payment', call.operationRef);
      const finding = await cybersource.inquire(desk.call({ settings }), history(), asked);
      assert.equal(approvedId(finding), id);
      assert.equal('captured' in finding, false);
      const past = history({ ...asked, processorId: id });
      approvedId(await cybersource.capture(desk.call({ settings }), past, money('10.50')));
    });
  }
});

describe('responses without a final result', () => {
  for (const status of ['AUTHORIZED_PENDING_REVIEW', 'PENDING_REVIEW']) {
    test(`${status} with DECISION_PROFILE_REVIEW is pending, until it is decided at CyberSource`, async () => {
      const verdict = { status, reason: 'DECISION_PROFILE_REVIEW', holds: true };
      standIn.inject({ on: 'payment', fault: 'verdict', verdict });
      const call = desk.call();
      const outcome = await cybersource.authorize(call, order(), card());
      assert.equal(outcome.kind, 'pending');
      const asked = subject('authorization', call.operationRef, standIn.books.byKey(call.operationRef)?.id);
      assert.equal((await cybersource.inquire(desk.call(), history(), asked)).kind, 'pending');
      approvedId(await cybersource.void(desk.call(), history(asked)));
      assert.equal((await cybersource.inquire(desk.call(), history(), asked)).kind, 'reversed');
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
        standIn.inject({ on, fault: 'verdict', verdict });
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
    standIn.inject({ on: 'payment', fault: 'verdict', verdict });
    const contradiction = { kind: 'unknown', problem: 'contradiction' };
    assert.deepEqual(await cybersource.authorize(desk.call(), order(), card()), contradiction);
    for (const id of [undefined, '', '../1', '1'.repeat(61)]) {
      standIn.answerOnce('payment', { status: 201, body: { id, status: 'AUTHORIZED' } });
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
        standIn.answerOnce('payment', { status, body });
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
      standIn.inject({ on: 'payment', fault: 'verdict', verdict });
      const call = desk.call();
      const sent = standIn.requests.length;
      assert.equal(inBrief(await cybersource.authorize(call, order(), card())), expected);
      assert.equal(standIn.requests.length, sent + 1);
      const asked = subject('authorization', call.operationRef);
      assert.equal(inBrief(await cybersource.inquire(desk.call(), history(), asked)), expected);
    });
  }

  test('a refund that is declined is refused, also by inquiry', async () => {
    const sale = desk.call();
    const id = approvedId(await cybersource.authorize(sale, order({ capture: true }), card()));
    const past = history(subject('payment', sale.operationRef, id));
    standIn.inject({ on: 'refund', fault: 'verdict', verdict: { status: 'DECLINED', reason: 'GENERAL_DECLINE' } });
    const call = desk.call();
    assert.equal(inBrief(await cybersource.refund(call, past, money('10.50'))), 'Declined Rejected');
    const asked = subject('payment_refund', call.operationRef);
    assert.equal(inBrief(await cybersource.inquire(desk.call(), past, asked)), 'Declined Rejected');
    assert.equal(standIn.books.totals(id).refunded, 0n);
  });

  for (const [http, expected] of [
    [401, 'ProcessorError InvalidConfiguration'],
    [403, 'ProcessorError InvalidConfiguration'],
    [404, 'ProcessorError InvalidConfiguration'],
    [429, 'ProcessorError ConnectionRejected'],
  ] as const) {
    test(`HTTP ${http}: ${expected}`, async () => {
      standIn.inject({ on: 'payment', fault: 'verdict', verdict: { status: '', http } });
      assert.equal(inBrief(await cybersource.authorize(desk.call(), order(), card())), expected);
    });
  }
});
