import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { approve, executeApproval, setDualControl, showApproval } from '../../console/wire/approvals.ts';
import { refundPaymentManually, showPayment } from '../../console/wire/payments.ts';
import { MINUTE } from '../../src/kernel/clock.ts';
import type { CommitResult, UnitOfWork } from '../../src/storage/database.ts';
import { eventually } from '../fixtures/eventually.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import { order, PAYMENTS } from '../interface/payment-requests.ts';
import { newCaller } from '../interface/vault-requests.ts';
import { type AccountUser, assertRefused, newAccountUser, successData } from './account-user.ts';

/** A process that ends while it executes an approved operation. */

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

describe('an approved refund whose process ends', { timeout: 120_000 }, () => {
  let service: TestService;
  before(async () => {
    service = await startTestService();
  });
  after(() => service.stop());

  /** From the point on, nothing is committed until `work` has ended. */
  async function dyingAt<T>({ isLast, at }: CrashPoint, work: () => Promise<T>): Promise<T> {
    const database = service.core.database as { commit(unit: UnitOfWork): Promise<CommitResult> };
    const commit = database.commit.bind(database);
    let [hasEnded, wasReached] = [false, false];
    database.commit = async (unit) => {
      const ends = !hasEnded && isLast(unit);
      hasEnded ||= ends;
      if (ends && at === 'after the commit') assert.ok((await commit(unit)).committed);
      wasReached ||= ends;
      if (hasEnded) throw new Error('the process has ended');
      return commit(unit);
    };
    try {
      return await work();
    } finally {
      database.commit = commit;
      assert.ok(wasReached, 'the process reached the point');
    }
  }

  /** A payment, and an approved request of its owner to refund it. */
  async function approvedRefund(): Promise<{ payment: string; approval: string; owner: AccountUser }> {
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
    const requested = await owner.call(refundPaymentManually, {
      params: { id: payment },
      body: { expected_operations: 1 },
    });
    const { approval } = successData(requested);
    await second.person.stepUp();
    successData(await second.call(approve, { params: { id: approval } }));
    return { payment, approval, owner };
  }

  for (const point of CRASH_POINTS)
    test(`${point.name} is refunded at most once, and its approval is not lost`, async () => {
      const { payment, approval, owner } = await approvedRefund();
      const execute = () => owner.call(executeApproval, { params: { id: approval } });
      const shown = async () => successData(await owner.call(showPayment, { params: { id: payment } }));
      assert.equal((await dyingAt(point, execute)).status, 500);

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
});
