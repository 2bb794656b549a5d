import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { approve, executeApproval, listApprovals, setDualControl, showApproval } from '../../console/wire/approvals.ts';
import { listAudit } from '../../console/wire/audit.ts';
import { refundPaymentManually, showPayment } from '../../console/wire/payments.ts';
import { MINUTE } from '../../src/kernel/clock.ts';
import type { CommitResult, UnitOfWork } from '../../src/storage/database.ts';
import { eventually } from '../fixtures/eventually.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import { followOnRequest, order, PAYMENTS } from '../interface/payment-requests.ts';
import { newCaller } from '../interface/vault-requests.ts';
import { type AccountUser, assertRefused, newAccountUser, successData } from './account-user.ts';
import { pathOf } from './console-client.ts';

/** Approved operations on payments: each is executed at most once, whatever fails. */

interface CrashPoint {
  readonly name: string;
  /** True for the unit at which the process ends. */
  isLast(unit: UnitOfWork): boolean;
  /** The process ends before the unit is committed, or before it hears of the commit. */
  readonly at: 'before the commit' | 'after the commit';
  readonly approval: 'approved' | 'done';
  /** The refunded amount once recovery has completed the operation. */
  readonly refunded: '0.00' | '125.50';
}

const writesTo = (unit: UnitOfWork, text: string): boolean => unit.writes.some(({ sql }) => sql.includes(text));
const isIntent = (unit: UnitOfWork): boolean =>
  writesTo(unit, 'update approvals') && writesTo(unit, 'insert into payment_operations');
const isConclusion = (unit: UnitOfWork): boolean => writesTo(unit, 'update payment_operations');

const CRASH_POINTS: readonly CrashPoint[] = [
  {
    name: 'before the intent is stored',
    isLast: isIntent,
    at: 'before the commit',
    approval: 'approved',
    refunded: '0.00',
  },
  { name: 'before the request is sent', isLast: isIntent, at: 'after the commit', approval: 'done', refunded: '0.00' },
  {
    name: 'before the result is stored',
    isLast: isConclusion,
    at: 'before the commit',
    approval: 'done',
    refunded: '125.50',
  },
  {
    name: 'before the response is sent',
    isLast: isConclusion,
    at: 'after the commit',
    approval: 'done',
    refunded: '125.50',
  },
];

describe('an approved refund', { timeout: 120_000 }, () => {
  let service: TestService;
  before(async () => {
    service = await startTestService();
  });
  after(() => service.stop());

  /** From the point on, nothing is committed until `work` has ended; `isOnce`: the commit at the point alone fails. */
  async function interruptedAt<T>(
    { isLast, at }: Pick<CrashPoint, 'isLast' | 'at'>,
    work: () => Promise<T>,
    isOnce = false,
  ): Promise<T> {
    const database = service.core.database as { commit(unit: UnitOfWork): Promise<CommitResult> };
    const commit = database.commit.bind(database);
    let hasEnded = false;
    database.commit = async (unit) => {
      const ends = !hasEnded && isLast(unit);
      hasEnded ||= ends;
      if (ends && at === 'after the commit') assert.ok((await commit(unit)).committed);
      if (ends || (hasEnded && !isOnce)) throw new Error('the process has ended');
      return commit(unit);
    };
    try {
      return await work();
    } finally {
      database.commit = commit;
      assert.ok(hasEnded, 'the process reached the point');
    }
  }

  /** A payment of an account under dual control, with two users who can approve. */
  async function newPayment() {
    const { account, send } = await newCaller(service, { environment: 'production' });
    const request = { processor: 'simulator', settings: { 'timeout-ms': '10000', 'recovery-delay-ms': '0' } };
    await service.core.transactions.run({ origin: { actor: { type: 'operator' } } }, (transaction) =>
      service.core.activations.enable(transaction, { account, environment: 'production' }, { ...request, force: true }),
    );
    const opened = await send('POST', PAYMENTS, order('payment'));
    const payment: string = opened.json.data.transaction_info.transaction_id;
    const [owner, second] = [
      await newAccountUser(service, account, { environment: 'production' }),
      await newAccountUser(service, account, { environment: 'production' }),
    ];
    await owner.person.stepUp();
    successData(await owner.call(setDualControl, { body: { dual_control: true } }));
    return { account, payment, owner, second, send };
  }

  /** A payment, and an approved request of its owner to refund it. */
  async function approvedRefund() {
    const { payment, owner, second, send } = await newPayment();
    const requested = await owner.call(refundPaymentManually, {
      params: { id: payment },
      body: { expected_operations: 1 },
    });
    const { approval } = successData(requested);
    await second.person.stepUp();
    successData(await second.call(approve, { params: { id: approval } }));
    return { payment, approval, owner, send };
  }

  for (const point of CRASH_POINTS)
    test(`whose process ends ${point.name} is executed at most once, and its approval is not lost`, async () => {
      const { payment, approval, owner } = await approvedRefund();
      const execute = () => owner.call(executeApproval, { params: { id: approval } });
      const shown = async () => successData(await owner.call(showPayment, { params: { id: payment } }));
      assert.equal((await interruptedAt(point, execute)).status, 500);

      const { approval: left } = successData(await owner.call(showApproval, { params: { id: approval } }));
      assert.equal(left.status, point.approval);
      if (point.approval === 'approved') {
        assert.equal((await shown()).operations.length, 1);
        successData(await execute());
        assert.equal((await shown()).refunded_amount, '125.50');
      }
      assertRefused(await execute(), 'changed_meanwhile');

      service.advance(MINUTE);
      await eventually(async () => (await shown()).operations[1].state !== 'in_progress');
      const { operations, refunded_amount: refunded } = await shown();
      assert.equal(operations.length, 2);
      assert.equal(refunded, point.approval === 'approved' ? '125.50' : point.refunded);
      const atProcessor = 'select refunded from simulator_payments where operation_ref = ?';
      const [row] = await service.core.database.read(atProcessor, payment);
      assert.equal(row?.['refunded'], refunded === '0.00' ? '0' : '12550');
    });

  test('that is requested with an Idempotency-Key awaits one approval, wherever the process ends', async () => {
    const { account, payment, owner } = await newPayment();
    const path = pathOf(refundPaymentManually, { params: { account, environment: 'production', id: payment } });
    const headers = { 'idempotency-key': 'refund-1' };
    const request = () => owner.person.send('POST', path, { expected_operations: 1 }, headers);
    const isLast = (unit: UnitOfWork): boolean => writesTo(unit, 'insert into approvals');
    assert.equal((await interruptedAt({ isLast, at: 'after the commit' }, request)).status, 500);
    // The claim of the key ends.
    service.advance(MINUTE);
    const { approval } = successData(await request());
    const { approvals } = successData(await owner.call(listApprovals));
    assert.deepEqual(
      approvals.map(({ id }: { id: string }) => id),
      [approval],
    );
  });

  const outcomesOf = async (owner: AccountUser, approval: string): Promise<string[]> => {
    const body = { target: `approval:${approval}`, action: 'approval.carried-out' };
    const { records } = successData(await owner.call(listAudit, { body }));
    return records.map(({ outcome }: { outcome: string }) => outcome).reverse();
  };

  test('that the payment no longer allows ends its approval, with one record', async () => {
    const { payment, approval, owner, send } = await approvedRefund();
    assert.equal((await send('POST', `${PAYMENTS}/${payment}/refund`, followOnRequest('refund', 5))).status, 200);
    assertRefused(await owner.call(executeApproval, { params: { id: approval } }), 'changed_meanwhile');
    assert.deepEqual(await outcomesOf(owner, approval), ['changed_meanwhile']);
    const { refunded_amount } = successData(await owner.call(showPayment, { params: { id: payment } }));
    assert.equal(refunded_amount, '5.00');
  });

  test('whose result could not be stored is recorded as executed, then as failed', async () => {
    const { approval, owner } = await approvedRefund();
    const execute = () => owner.call(executeApproval, { params: { id: approval } });
    const point = { isLast: isConclusion, at: 'before the commit' } as const;
    assert.equal((await interruptedAt(point, execute, true)).status, 500);
    assert.deepEqual(await outcomesOf(owner, approval), ['success', 'failed']);
  });
});
