import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { approve, executeApproval, listApprovals, setDualControl, showApproval } from '../../console/wire/approvals.ts';
import { listAudit } from '../../console/wire/audit.ts';
import { checkPaymentAsOperator, resolvePaymentAsOperator } from '../../console/wire/operator.ts';
import {
  capturePaymentManually,
  checkPayment,
  listPayments,
  resolvePayment,
  showPayment,
} from '../../console/wire/payments.ts';
import type { Environment } from '../../src/kernel/environment.ts';
import { claimUntil } from '../../src/payments/payment-store.ts';
import { write } from '../../src/storage/database.ts';
import { Shell } from '../fixtures/command.ts';
import { eventually } from '../fixtures/eventually.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import {
  followOnRequest,
  idOf,
  type Merchant,
  newMerchant,
  order,
  PAYMENTS,
  TIMES_OUT,
} from '../interface/payment-requests.ts';
import { newCaller, VISA } from '../interface/vault-requests.ts';
import { type AccountUser, assertRefused, executedResult, newAccountUser, successData } from './account-user.ts';
import { newPerson, type UserClient } from './console-client.ts';

/** Unknown outcomes in the console: how they are shown, checked at once and resolved, and what remains of that. */

const SETTINGS = { 'timeout-ms': '300', 'recovery-delay-ms': '30000' };
const UNTIL_FIRST_CHECK = 31_000;
const LATER = 3_600_000;
const UNTIL_NEXT_CHECK = 11_000;

interface HistoryEntry {
  readonly type: string;
  readonly at: string;
}

describe('unknown outcomes in the console', { timeout: 240_000 }, () => {
  let service: TestService;
  let merchant: Merchant;
  let user: AccountUser;
  let operator: UserClient;
  before(async () => {
    service = await startTestService();
    merchant = await newMerchant(service, SETTINGS);
    user = await newAccountUser(service, merchant.account);
    operator = await newPerson(service, '', 'operator', 'Olga');
  });
  after(() => service.stop());

  const shown = async (id: string, of = user) => successData(await of.call(showPayment, { params: { id } }));
  const check = (id: string, of = user) => of.call(checkPayment, { params: { id } });
  const resolve = (id: string, body: object, of = user) => of.call(resolvePayment, { params: { id }, body });
  const typesOf = (operation: { history: readonly HistoryEntry[] }) => operation.history.map(({ type }) => type);
  const recordsOf = async (id: string, action: string, of = user) =>
    successData(await of.call(listAudit, { body: { target: `payment:${id}`, action } })).records;

  /** Recovery does nothing about the payment in the time of the test: only users do. */
  async function postpone(id: string): Promise<void> {
    const postponed = write('update payments set due_at = due_at + ? where id = ?', [LATER, id], 1);
    assert.ok((await service.core.database.commit({ writes: [postponed] })).committed);
  }

  /** A payment with a capture that was executed, and whose response was lost. */
  async function lostCapture(triggers = '_capture_timeout'): Promise<{ id: string; capture: string }> {
    const id = await merchant.opened('authorization', { amount: 999, triggers });
    const capture = idOf(await merchant.move('capture', id, 500));
    await postpone(id);
    return { id, capture };
  }

  describe('a check', () => {
    test('runs the inquiry of recovery at once, and its result is in the response, the history and the audit log', async () => {
      const { id, capture } = await lostCapture();
      service.advance(UNTIL_FIRST_CHECK);
      const before = await shown(id);
      const { transaction_id, operation, problem } = before.unknown_outcome;
      assert.deepEqual([transaction_id, operation, problem], [capture, 'capture', 'timeout']);
      const after = successData(await check(id));
      assert.deepEqual([after.status, after.collected_amount, after.unknown_outcome], ['Collected', '500.00', null]);
      assert.deepEqual(typesOf(after.operations[1]), ['in-doubt', 'confirmed']);
      assert.equal(after.operations[1].history[1].inquiries, 1);
      const [checked] = await recordsOf(id, 'payment.checked');
      assert.deepEqual([checked.actor_type, checked.actor_id], ['person', user.person.id]);
      const [resolved] = await recordsOf(id, 'payment.resolved');
      assert.deepEqual([resolved.actor_type, resolved.outcome], ['service', 'confirmed']);
      assert.ok(Math.abs(Date.parse(resolved.at) - Date.parse(after.operations[1].history[1].at)) < 60_000);
    });

    test('without a result counts as an inquiry, leaves the schedule of recovery as it was, and has an interval', async () => {
      const id = await merchant.opened('authorization', { amount: TIMES_OUT, triggers: '_inquiry_timeout' });
      await postpone(id);
      const early = await check(id);
      assertRefused(early, 'not_possible');
      assert.match(early.json.message, /next check is possible in [0-9]+ s/);
      const { unknown_outcome: before } = await shown(id);
      service.advance(UNTIL_FIRST_CHECK);
      const first = successData(await check(id));
      assert.deepEqual([first.unknown_outcome.inquiries, first.unknown_outcome.problem], [1, 'timeout']);
      assert.equal(before.inquiries, 0);
      assert.equal(first.unknown_outcome.next_inquiry_at, before.next_inquiry_at);
      assertRefused(await check(id), 'not_possible');
      service.advance(UNTIL_NEXT_CHECK);
      assert.equal(successData(await check(id)).unknown_outcome, null);
    });

    test('does nothing while another process has claimed the payment', async () => {
      const { id } = await lostCapture();
      service.advance(UNTIL_FIRST_CHECK);
      const [row] = await service.core.database.read('select due_at from payments where id = ?', id);
      const due = {
        tenant: { account: merchant.account, environment: 'sandbox' },
        id,
        dueAt: Number(row?.['due_at']),
      } as const;
      const claim = claimUntil(due, service.now() + 100_000);
      assert.ok((await service.core.database.commit({ account: merchant.account, writes: [claim] })).committed);
      assert.equal(successData(await check(id)).unknown_outcome.inquiries, 0);
      // The job of recovery in this process finds it due.
      service.advance(100_000);
      await eventually(async () => (await shown(id)).unknown_outcome === null);
    });

    test('is refused for a payment whose outcome is known, in another account, and to a user who may only read', async () => {
      const id = await merchant.opened();
      assertRefused(await check(id), 'not_possible');
      const other = await newAccountUser(service, (await newMerchant(service)).account);
      assertRefused(await check(id, other), 'not_possible');
      const auditor = await newAccountUser(service, merchant.account, { role: 'auditor' });
      assertRefused(await check(id, auditor), 'not_allowed');
    });
  });

  describe('a manual resolution', () => {
    test('needs a reason and a role that may resolve; then it is final, and names the user', async () => {
      const { id, capture } = await lostCapture();
      const analyst = await newAccountUser(service, merchant.account, { role: 'analyst' });
      const body = { transaction_id: capture, outcome: 'accepted', reason: 'Transmitted in the Business Center' };
      assertRefused(await resolve(id, body, analyst), 'not_allowed');
      await user.person.stepUp();
      assertRefused(await resolve(id, { ...body, reason: ' ' }), 'invalid_field', 'reason');
      assertRefused(await resolve(id, { ...body, reason: `card ${VISA}` }), 'invalid_field', 'reason', VISA);
      const after = executedResult(await resolve(id, body));
      assert.deepEqual([after.status, after.collected_amount, after.unknown_outcome], ['Collected', '500.00', null]);
      const entry = after.operations[1].history.at(-1);
      assert.deepEqual(
        [entry.type, entry.outcome, entry.reason, entry.by],
        ['resolved-manually', 'accepted', body.reason, { type: 'person', id: user.person.id, name: user.person.name }],
      );
      const [record] = await recordsOf(id, 'payment.resolved-manually');
      assert.deepEqual([record.actor_id, record.outcome], [user.person.id, 'accepted']);
      assert.deepEqual(
        record.detail.find(({ name }: { name: string }) => name === 'reason'),
        { name: 'reason', value: body.reason },
      );
      assertRefused(await resolve(id, body), 'not_possible');
    });

    test('is for an operation of the payment in the path, by members and operators alike', async () => {
      const [one, other] = [await lostCapture(), await lostCapture()];
      const body = { transaction_id: other.capture, outcome: 'refused', reason: 'No record of it' };
      await user.person.stepUp();
      const refusals = [await resolve(one.id, body), await resolve('pay_none', body)];
      await operator.stepUp();
      const params = { id: merchant.account, where: 'sandbox', payment: one.id };
      refusals.push(await operator.call(resolvePaymentAsOperator, { params, body }));
      const unknown = await resolve(one.id, { ...body, transaction_id: 'pay_none' });
      for (const refusal of refusals) {
        assertRefused(refusal, 'not_possible');
        assert.equal(refusal.json.message, unknown.json.message);
      }
      for (const { id } of [one, other]) assert.equal((await shown(id)).is_in_doubt, true);
    });

    test('of a payment that names another operation than the one in doubt is refused', async () => {
      const { id } = await lostCapture();
      await user.person.stepUp();
      const body = { transaction_id: id, outcome: 'refused', reason: 'seen' };
      const response = await resolve(id, body);
      assertRefused(response, 'not_possible');
      assert.match(response.json.message, /another transaction/);
    });

    test('by a command has a reason, which the history shows with the name of the operator', async () => {
      const { id, capture } = await lostCapture('_capture_lost');
      const shell = new Shell(service.directory, service.core);
      const { code, err } = await shell.run(
        ...['payments', 'resolve', '--account', merchant.account, '--environment', 'sandbox'],
        ...['--transaction', capture, '--outcome', 'refused', '--reason', 'No record of it'],
      );
      assert.equal(code, 0, err);
      const { operations } = await shown(id);
      const entry = operations[1].history.at(-1);
      assert.deepEqual([entry.outcome, entry.reason, entry.by.type], ['refused', 'No record of it', 'operator']);
      const [record] = await recordsOf(id, 'payment.resolved-manually');
      assert.equal(record.actor_type, 'operator');
    });
  });

  describe('under dual control', () => {
    const environment: Environment = 'production';
    let account: string;
    let owner: AccountUser;
    let second: AccountUser;
    let send: Awaited<ReturnType<typeof newCaller>>['send'];
    before(async () => {
      ({ account, send } = await newCaller(service, { environment }));
      await service.core.transactions.run({ origin: { actor: { type: 'operator' } } }, (transaction) =>
        service.core.activations.enable(
          transaction,
          { account, environment },
          { processor: 'simulator', settings: SETTINGS, force: true },
        ),
      );
      owner = await newAccountUser(service, account, { environment });
      second = await newAccountUser(service, account, { environment });
      await owner.person.stepUp();
      successData(await owner.call(setDualControl, { body: { dual_control: true } }));
    });

    async function lost(): Promise<{ id: string; capture: string; body: object }> {
      const id = idOf(await send('POST', PAYMENTS, order('authorization', { amount: 999, triggers: '_capture_lost' })));
      const capture = idOf(await send('POST', `${PAYMENTS}/${id}/capture`, followOnRequest('capture', 10)));
      await postpone(id);
      return { id, capture, body: { transaction_id: capture, outcome: 'refused', reason: 'No record of it' } };
    }

    test('a member needs the approval of another, who sees the operation, the outcome and the reason', async () => {
      const { id, body } = await lost();
      await owner.person.stepUp();
      const { approval } = successData(await resolve(id, body, owner));
      assert.match(approval, /^approval_/);
      assert.equal((await shown(id, owner)).is_in_doubt, true);
      await second.person.stepUp();
      const { approval: waiting } = successData(await second.call(showApproval, { params: { id: approval } }));
      const lines = Object.fromEntries(
        waiting.summary.map(({ name, value }: { name: string; value: string }) => [name, value]),
      );
      assert.deepEqual(
        [lines['operation'], lines['outcome'], lines['reason']],
        ['capture', 'refused', 'No record of it'],
      );
      successData(await second.call(approve, { params: { id: approval } }));
      await owner.person.stepUp();
      successData(await owner.call(executeApproval, { params: { id: approval } }));
      const { operations, status } = await shown(id, owner);
      assert.deepEqual([status, operations[1].state], ['Authorized', 'refused']);
      assert.equal(operations[1].history.at(-1).by.id, owner.person.id);
    });

    test('is refused for an operation of another payment, before a request is stored and when a stored one is executed', async () => {
      const [one, other] = [await lost(), await lost()];
      const pending = async () => successData(await owner.call(listApprovals)).approvals.length;
      const before = await pending();
      await owner.person.stepUp();
      assertRefused(await resolve(one.id, other.body, owner), 'not_possible');
      await operator.stepUp();
      const params = { id: account, where: environment, payment: one.id };
      assertRefused(await operator.call(resolvePaymentAsOperator, { params, body: other.body }), 'not_possible');
      assert.equal(await pending(), before);
      // Such requests are only in the database when an earlier version stored them.
      const { approvals } = service.console;
      const resolution = { paymentId: one.id, transactionId: other.capture, outcome: 'refused', reason: 'seen' };
      const byOperator = await approvals.requestByOperator(
        { account, environment },
        { action: 'payment.resolve', summary: [], body: JSON.stringify(resolution) },
        { actor: { type: 'person', id: operator.id, name: 'Olga' } },
      );
      assertRefused(await owner.call(approve, { params: { id: byOperator } }), 'not_possible');
      const request = { environment, action: 'payment.resolve', summary: [] };
      const call = { params: { account, environment, id: one.id }, body: JSON.stringify(other.body) };
      const byMember = await service.core.transactions.run({ origin: { actor: { type: 'service' } } }, (transaction) =>
        approvals.request(transaction, { account, person: owner.person }, { ...request, call }),
      );
      await second.person.stepUp();
      successData(await second.call(approve, { params: { id: byMember } }));
      assertRefused(await owner.call(executeApproval, { params: { id: byMember } }), 'not_possible');
      for (const { id } of [one, other]) assert.equal((await shown(id, owner)).is_in_doubt, true);
    });

    test('a command of an operator waits for the approval of a member, and takes effect with it', async () => {
      const { id, capture } = await lost();
      const run = (...args: string[]) =>
        new Shell(service.directory, service.core).run(
          'payments',
          ...args,
          '--account',
          account,
          '--environment',
          environment,
        );
      const resolution = ['--transaction', capture, '--outcome', 'refused', '--reason', 'No record of it'];
      const { code, out, err } = await run('resolve', ...resolution, '--json');
      assert.deepEqual([code, out], [1, '']);
      const { approval_id: approval } = JSON.parse(err);
      assert.deepEqual(JSON.parse(err), { error: 'approval required', approval_id: approval });
      assert.equal((await shown(id, owner)).is_in_doubt, true);
      const { approval: waiting } = successData(await owner.call(showApproval, { params: { id: approval } }));
      assert.deepEqual([waiting.action, waiting.status, waiting.by_operator], ['payment.resolve', 'waiting', true]);
      const lines = waiting.summary.map(({ name, value }: { name: string; value: string }) => `${name} ${value}`);
      for (const line of [`payment ${id}`, 'operation capture', 'outcome refused', 'reason No record of it'])
        assert.ok(lines.includes(line), line);
      await owner.person.stepUp();
      assert.deepEqual(successData(await owner.call(approve, { params: { id: approval } })), { executed: true });
      const { operations, status } = await shown(id, owner);
      assert.deepEqual([status, operations[1].state], ['Authorized', 'refused']);
      const entry = operations[1].history.at(-1);
      assert.deepEqual([entry.type, entry.by.type, entry.reason], ['resolved-manually', 'operator', 'No record of it']);
      const [record] = await recordsOf(id, 'payment.resolved-manually', owner);
      assert.deepEqual([record.actor_type, record.outcome], ['operator', 'refused']);
      const again = await run('resolve', ...resolution);
      assert.notEqual(again.code, 0);
      assert.match(again.err, /no such transaction in doubt/);
    });

    test('an operator needs the approval of a member', async () => {
      const { id, body } = await lost();
      await operator.stepUp();
      const params = { id: account, where: environment, payment: id };
      const { approval } = successData(await operator.call(resolvePaymentAsOperator, { params, body }));
      assert.match(approval, /^approval_/);
      assert.equal((await shown(id, owner)).is_in_doubt, true);
      await owner.person.stepUp();
      successData(await owner.call(approve, { params: { id: approval } }));
      const { operations } = await shown(id, owner);
      const entry = operations[1].history.at(-1);
      assert.deepEqual([entry.type, entry.by.id], ['resolved-manually', operator.id]);
    });
  });

  test('an operator checks and resolves the payments of every account', async () => {
    const { id } = await lostCapture();
    const params = { id: merchant.account, where: 'sandbox', payment: id };
    assertRefused(await operator.call(checkPaymentAsOperator, { params }), 'not_possible');
    service.advance(UNTIL_FIRST_CHECK);
    const result = successData(await operator.call(checkPaymentAsOperator, { params }));
    assert.deepEqual(result, { is_in_doubt: false, status: 'Collected', problem: 'timeout' });
    const other = await lostCapture();
    const body = { transaction_id: other.capture, outcome: 'accepted', reason: 'Seen in the Business Center' };
    await operator.stepUp();
    const resolved = await operator.call(resolvePaymentAsOperator, { params: { ...params, payment: other.id }, body });
    assert.deepEqual(successData(resolved), { approval: null, result: { done: true } });
    assert.equal((await shown(other.id)).status, 'Collected');
    assertRefused(
      await operator.call(checkPaymentAsOperator, { params: { ...params, where: 'moon' } }),
      'unknown_record',
    );
    assertRefused(await user.person.call(checkPaymentAsOperator, { params }), 'not_allowed');
  });

  describe('the history', () => {
    test('names the API key, the user and the service that requested each operation', async () => {
      const own = await newMerchant(service);
      const other = await newAccountUser(service, own.account);
      const id = await own.opened('authorization');
      await other.person.stepUp();
      executedResult(await other.call(capturePaymentManually, { params: { id }, body: { expected_operations: 1 } }));
      const { operations } = await shown(id, other);
      const requesters = operations.map(({ requested_by: by }: { requested_by: { type: string } }) => by);
      assert.deepEqual(
        requesters.map(({ type }: { type: string }) => type),
        ['key', 'person'],
      );
      assert.ok(requesters[0].id.length > 5 && requesters[0].name.length > 0);
      assert.deepEqual(requesters[1], { type: 'person', id: other.person.id, name: other.person.name });
      await service.enablePayments(own.account, { 'authorization-expiry': '1s' });
      service.advance(6000);
      const expiring = await own.opened('authorization');
      service.advance(3000);
      const expired = async () => (await shown(expiring, other)).operations[1];
      await eventually(async () => (await expired()) !== undefined);
      assert.deepEqual((await expired()).requested_by, { type: 'service', id: null, name: null });
      const [record] = await recordsOf(expiring, 'payment.expired', other);
      assert.equal(record.actor_type, 'service');
    });
  });

  describe('the reason ConnectionRejected', () => {
    test('says where it happened: not sent, or the issuer was unavailable; in the list, too', async () => {
      const unsent = idOf(await merchant.order('authorization', { triggers: '_refused_connection' }));
      const issuer = idOf(await merchant.order('authorization', { amount: 42_000 }));
      const declined = idOf(await merchant.order('authorization', { amount: 5001 }));
      for (const [id, reason, cause] of [
        [unsent, 'ConnectionRejected', 'not-sent'],
        [issuer, 'ConnectionRejected', 'issuer-unavailable'],
        [declined, 'Rejected', null],
      ] as const) {
        const payment = await shown(id);
        assert.deepEqual([payment.reason, payment.failure_cause], [reason, cause]);
        assert.equal(payment.operations[0].failure_cause, cause);
        const { payments } = successData(await user.call(listPayments, { body: { id } }));
        assert.equal(payments[0].failure_cause, cause);
      }
      const { payments } = successData(await user.call(listPayments, { body: { status: 'ProcessorError' } }));
      assert.deepEqual(
        new Set(payments.map(({ failure_cause: cause }: { failure_cause: string }) => cause)),
        new Set(['not-sent', 'issuer-unavailable']),
      );
    });
  });
});
