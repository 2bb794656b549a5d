import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { listApprovals, setDualControl } from '../../console/wire/approvals.ts';
import type { Definition } from '../../console/wire/definition.ts';
import {
  capturePaymentManually,
  previewOperations,
  refundPaymentManually,
  showPayment,
  voidPaymentManually,
} from '../../console/wire/payments.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { startTestService, type TestResponse, type TestService } from '../fixtures/test-service.ts';
import { type Merchant, newMerchant, order, PAYMENTS, REJECTED } from '../interface/payment-requests.ts';
import { newCaller, VISA } from '../interface/vault-requests.ts';
import { type AccountUser, assertRefused, executedResult, newAccountUser, successData } from './account-user.ts';
import { pathOf } from './console-client.ts';

describe('an operation on several payments', { timeout: 120_000 }, () => {
  let service: TestService;
  let merchant: Merchant;
  let desk: AccountUser;
  before(async () => {
    service = await startTestService();
    merchant = await newMerchant(service);
    desk = await newAccountUser(service, merchant.account);
  });
  after(() => service.stop());

  /** Sends an operation with an Idempotency-Key. */
  const keyed = (
    definition: Definition,
    id: string,
    { key, body = { expected_operations: 1 }, as = desk }: { key: string; body?: object; as?: AccountUser },
  ): Promise<TestResponse> => {
    const params = { account: as.account, environment: 'sandbox', id };
    return as.person.send('POST', pathOf(definition, { params }), body, { 'idempotency-key': key });
  };
  const shown = async (id: string) => successData(await desk.call(showPayment, { params: { id } }));
  const preview = async (kind: string, ids: readonly string[], as = desk) =>
    successData(await as.call(previewOperations, { body: { kind, ids } })).payments;

  test('is previewed with the amount of each, or the reason why it is not possible', async () => {
    const authorized = await merchant.opened();
    const collected = await merchant.opened('payment', { amount: 700, currency: 'JPY' });
    const declined = await merchant.order('authorization', { amount: REJECTED });
    const { transaction_id: rejected } = declined.json.data.transaction_info;
    const ids = [authorized, collected, rejected, 'nothing'];
    const brief = async (kind: string) =>
      (await preview(kind, ids)).map(
        ({ amount, currency, refusal }: { amount: string; currency: string; refusal: { reason: string } | null }) =>
          refusal === null ? `${amount} ${currency}` : refusal.reason,
      );
    assert.deepEqual(await brief('capture'), ['125.50 USD', 'cannotCapture', 'cannotCapture', 'paymentUnknown']);
    assert.deepEqual(await brief('refund'), ['cannotRefund', '700 JPY', 'cannotRefund', 'paymentUnknown']);
    assert.deepEqual(await brief('void'), ['125.50 USD', 'cannotVoid', 'cannotVoid', 'paymentUnknown']);
    const [first] = await preview('capture', [authorized]);
    assert.deepEqual([first.card, first.expected_operations], ['411111******1111', 1]);
    assert.equal((await shown(authorized)).operations.length, 1);
    const auditor = await newAccountUser(service, merchant.account, { role: 'auditor' });
    const body = { kind: 'capture', ids };
    assertRefused(await auditor.call(previewOperations, { body }), 'not_allowed');
    const many = Array.from({ length: LIMITS.paymentsPerBatch + 1 }, () => authorized);
    assertRefused(await desk.call(previewOperations, { body: { kind: 'capture', ids: many } }), 'invalid_field', 'ids');
    assertRefused(await desk.call(previewOperations, { body: { kind: VISA, ids } }), 'invalid_field', 'kind', VISA);
  });

  test('a repeat with the key of an operation returns its result, and does nothing', async () => {
    for (const [definition, type, status] of [
      [capturePaymentManually, 'authorization', 'Collected'],
      [voidPaymentManually, 'authorization', 'Voided'],
      [refundPaymentManually, 'payment', 'Collected'],
    ] as const) {
      const id = await merchant.opened(type);
      const key = `${definition.path} ${id}`.replaceAll(' ', '-');
      const first = await keyed(definition, id, { key });
      const again = await keyed(definition, id, { key });
      assert.equal(executedResult(first).status, status);
      assert.equal(again.text, first.text);
      assert.equal(again.headers['idempotent-replayed'], 'true');
      assert.equal((await shown(id)).operations.length, 2);
    }
  });

  test('concurrent repeats start one operation', async () => {
    const id = await merchant.opened();
    const responses = await Promise.all(
      Array.from({ length: 4 }, () => keyed(capturePaymentManually, id, { key: `at-once-${id}` })),
    );
    for (const { status, json } of responses) assert.ok(status === 200 || json.code === 'operation_in_progress');
    assert.equal(executedResult(await keyed(capturePaymentManually, id, { key: `at-once-${id}` })).status, 'Collected');
    assert.equal((await shown(id)).operations.length, 2);
  });

  test('a second tab with a key of its own starts nothing', async () => {
    const id = await merchant.opened();
    executedResult(await keyed(capturePaymentManually, id, { key: `tab-1-${id}` }));
    assertRefused(await keyed(capturePaymentManually, id, { key: `tab-2-${id}` }), 'changed_meanwhile');
    const [{ refusal }] = await preview('capture', [id]);
    assert.equal(refusal.reason, 'cannotCapture');
  });

  test('an operation with an unknown outcome is not started again by a repeat', async () => {
    const id = await merchant.opened('authorization', { triggers: '+capture_timeout' });
    const key = `unknown-${id}`;
    const first = executedResult(await keyed(capturePaymentManually, id, { key }));
    assert.equal(first.operations[1].state, 'in_progress');
    assertRefused(await keyed(capturePaymentManually, id, { key }), 'operation_in_progress');
    assert.equal((await shown(id)).operations.length, 2);
  });

  test('a key is valid for one request of one user', async () => {
    const id = await merchant.opened('payment');
    const key = `mine-${id}`;
    const body = { expected_operations: 1, amount: '1.00' };
    executedResult(await keyed(refundPaymentManually, id, { key, body }));
    const other = { expected_operations: 1, amount: '2.00' };
    assertRefused(
      await keyed(refundPaymentManually, id, { key, body: other }),
      'idempotency_key_reused',
      'Idempotency-Key',
    );
    const colleague = await newAccountUser(service, merchant.account);
    assertRefused(
      await keyed(refundPaymentManually, id, { key, body, as: colleague }),
      'idempotency_key_reused',
      'Idempotency-Key',
    );
    assertRefused(await keyed(refundPaymentManually, id, { key: 'ü' }), 'invalid_field', 'Idempotency-Key');
    assert.equal((await shown(id)).refunded_amount, '1.00');
  });

  test('under dual control a repeat requests the same approval', async () => {
    const { account, send } = await newCaller(service, { environment: 'production' });
    const request = { processor: 'simulator', settings: { 'timeout-ms': '10000', 'recovery-delay-ms': '0' } };
    await service.core.transactions.run({ origin: { actor: { type: 'operator' } } }, (transaction) =>
      service.core.activations.enable(transaction, { account, environment: 'production' }, { ...request, force: true }),
    );
    const opened = await send('POST', PAYMENTS, order('payment'));
    const id: string = opened.json.data.transaction_info.transaction_id;
    const owner = await newAccountUser(service, account, { environment: 'production' });
    await newAccountUser(service, account);
    successData(await owner.call(setDualControl, { body: { dual_control: true } }));
    const path = pathOf(refundPaymentManually, { params: { account, environment: 'production', id } });
    const refund = () => owner.person.send('POST', path, { expected_operations: 1 }, { 'idempotency-key': 'once' });
    const [first, again] = [successData(await refund()), successData(await refund())];
    assert.equal(first.result, null);
    assert.deepEqual(again, first);
    const { approvals } = successData(await owner.call(listApprovals));
    assert.deepEqual(
      approvals.map((each: { id: string }) => each.id),
      [first.approval],
    );
  });
});
