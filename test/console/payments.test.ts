import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { approve, executeApproval, listApprovals, setDualControl } from '../../console/wire/approvals.ts';
import { listAudit } from '../../console/wire/audit.ts';
import {
  capturePaymentManually,
  listPayments,
  refundPaymentManually,
  showPayment,
  voidPaymentManually,
} from '../../console/wire/payments.ts';
import { deleteCapture, deleteToken, showCapture, showToken } from '../../console/wire/records.ts';
import { runInWorkbench } from '../../console/wire/workbench.ts';
import { MINUTE } from '../../src/kernel/clock.ts';
import { type Value, write } from '../../src/storage/database.ts';
import { isPostgres } from '../fixtures/database.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import { type Merchant, newMerchant, order, PAYMENTS, REJECTED, TIMES_OUT } from '../interface/payment-requests.ts';
import { cards, newCaller, tokensIn, VISA } from '../interface/vault-requests.ts';
import {
  type AccountUser,
  assertRefused,
  assertUnknown,
  executedResult,
  newAccountUser,
  successData,
} from './account-user.ts';

interface Named {
  readonly id: string;
}

interface Current {
  readonly amount: string;
  readonly current_amount: string;
  readonly is_partly_captured: boolean;
}

const NO_SUCH_NUMBER = { skip: isPostgres && 'a column of integers in PostgreSQL has no such number' };

describe('payments in the console', { timeout: 180_000 }, () => {
  let service: TestService;
  let merchant: Merchant;
  let desk: AccountUser;

  before(async () => {
    service = await startTestService();
    merchant = await newMerchant(service);
    desk = await newAccountUser(service, merchant.account);
  });
  after(() => service.stop());

  const shown = async (id: string) => successData(await desk.call(showPayment, { params: { id } }));
  const current = ({ amount, current_amount, is_partly_captured }: Current) => [
    amount,
    current_amount,
    is_partly_captured,
  ];
  const found = async (body: object, of = desk): Promise<string[]> =>
    successData(await of.call(listPayments, { body })).payments.map(({ id }: Named) => id);

  describe('the list', () => {
    test('a payment is shown with its truncated card and decimal amounts', async () => {
      const own = await newMerchant(service);
      const other = await newAccountUser(service, own.account);
      const id = await own.opened('authorization', { reference: `A ${VISA}` });
      const response = await other.call(listPayments, { body: {} });
      const { payments, next, count, searched_back_to } = successData(response);
      assert.deepEqual([next, count, searched_back_to], [null, { number: 1, is_more: false }, null]);
      const [{ created_at, ...rest }] = payments;
      assert.ok(Date.parse(created_at) <= service.now());
      assert.deepEqual(rest, {
        id,
        type: 'authorization',
        status: 'Authorized',
        reason: null,
        failure_cause: null,
        amount: '125.50',
        current_amount: '125.50',
        currency: 'USD',
        card: '411111******1111',
        reference_code: 'A 411111******1111',
        processor: 'simulator',
        is_partly_captured: false,
        refund: 'none',
        is_in_doubt: false,
        is_altered: false,
      });
      assert.ok(!response.text.includes(VISA));
    });

    test('each filter finds the matching payments, and no others', async () => {
      const own = await newMerchant(service);
      const other = await newAccountUser(service, own.account);
      const startedAt = service.now();
      const one = await own.opened('authorization', { amount: 10, currency: 'USD', reference: 'one' });
      service.advance(10 * MINUTE);
      const two = await own.opened('payment', { amount: 10, currency: 'JPY', reference: 'two' });
      const declined = await own.order('authorization', { amount: REJECTED, currency: 'EUR', reference: 'three' });
      const three = declined.json.data.transaction_info.transaction_id;
      const at = (minutes: number): string => new Date(startedAt + minutes * MINUTE).toISOString();
      const filters: readonly [object, string[]][] = [
        [{}, [three, two, one]],
        [{ status: 'Declined' }, [three]],
        [{ type: 'payment' }, [two]],
        [{ processor: 'simulator' }, [three, two, one]],
        [{ processor: 'koin' }, []],
        [{ currency: 'jpy' }, [two]],
        [{ currency: 'USD', amount_from: '10.00', amount_to: '10' }, [one]],
        [{ amount_from: '10.00', amount_to: '10.0000' }, [two, one]],
        [{ currency: 'JPY', amount_from: '11' }, []],
        [{ reference_code: 'one' }, [one]],
        [{ reference_code: 'T' }, [three, two]],
        [{ reference_code: 'ne' }, []],
        [{ last_four: '1111' }, [three, two, one]],
        [{ last_four: '1112' }, []],
        [{ in_doubt: 'yes' }, []],
        [{ to: at(5) }, [one]],
        [{ from: at(5) }, [three, two]],
        [{ from: at(5), to: at(6) }, []],
        [{ id: two, status: 'Declined' }, [two]],
        [{ id: `A-1.${two}` }, [two]],
        [{ id: `${two}a` }, []],
        [{ id: 'ü' }, []],
      ];
      for (const [filter, expected] of filters) {
        assert.deepEqual(await found(filter, other), expected, JSON.stringify(filter));
      }
    });

    test('an invalid filter is reported with its field, and not repeated', async () => {
      const wrong: readonly [string, string | undefined, object][] = [
        ['currency', 'XQZ', { currency: 'XQZ' }],
        ['amount_from', '10.50505', { amount_from: '10.50505' }],
        ['amount_to', '1e5', { currency: 'USD', amount_to: '1e5' }],
        ['amount_to', undefined, { amount_from: '2', amount_to: '1.99' }],
        ['last_four', VISA, { last_four: VISA }],
        ['from', '31.12.2026', { from: '31.12.2026' }],
        ['to', '2026-02-31T00:00:00Z', { to: '2026-02-31T00:00:00Z' }],
        ['to', undefined, { from: '2026-03-02', to: '2026-03-01' }],
        ['status', VISA, { status: VISA }],
        ['cursor', VISA, { cursor: VISA }],
      ];
      for (const [field, sent, body] of wrong)
        assertRefused(await desk.call(listPayments, { body }), 'invalid_field', field, sent);
    });

    test('a record that was changed in the database is listed as altered, and cannot be shown', async () => {
      const own = await newMerchant(service);
      const other = await newAccountUser(service, own.account);
      const id = await own.opened();
      const { database } = service.core;
      const [row = {}] = await database.read('select * from payments where account = ?account', own.account);
      const change = async (column: string, to: string, ...values: Value[]): Promise<void> => {
        const sql = `update payments set ${column} = ${to} where account = ?account`;
        assert.ok((await database.commit({ writes: [write(sql, [...values, own.account], 1)] })).committed);
      };
      const changes = [
        ['status', "'Collected'"],
        ['operation_in_progress', "'x'"],
        ['attempts', '1'],
        ['in_doubt_since', '1'],
        ['created_at', 'created_at + 1'],
        ['created_at', '9000000000000000000'],
        // A column of integers in PostgreSQL refuses this text.
        ...(isPostgres ? [] : ([['created_at', "'x'"]] as const)),
      ] as const;
      for (const [column, to] of changes) {
        await change(column, to);
        const [payment] = successData(await other.call(listPayments, { body: {} })).payments;
        const { type, amount, currency, card, is_altered } = payment;
        assert.deepEqual(
          { type, amount, currency, card, is_altered },
          { type: null, amount: '', currency: '', card: '', is_altered: true },
          `${column} = ${to}`,
        );
        assertRefused(await other.call(showPayment, { params: { id } }), 'not_possible');
        assertRefused(await other.call(listPayments, { body: { id } }), 'not_possible');
        await change(column, '?', row[column] ?? null);
      }
      successData(await other.call(showPayment, { params: { id } }));
    });

    test(
      'a record whose revision was changed to a number that is never written cannot be shown',
      NO_SUCH_NUMBER,
      async () => {
        const own = await newMerchant(service);
        const other = await newAccountUser(service, own.account);
        const id = await own.opened();
        const sql = 'update payments set revision = 9000000000000000000 where account = ?account';
        assert.ok((await service.core.database.commit({ writes: [write(sql, [own.account], 1)] })).committed);
        assertRefused(await other.call(showPayment, { params: { id } }), 'not_possible');
      },
    );
  });

  describe('a payment', () => {
    test('shows the operations, and those that are allowed', async () => {
      const id = await merchant.opened('authorization', { reference: 'A-7' });
      const { operations, can, expected_operations: expected, ...payment } = await shown(id);
      assert.deepEqual(can, {
        capture: true,
        capture_in_parts: true,
        refund: false,
        void: true,
        capturable: '125.50',
        refundable: '0.00',
      });
      assert.equal(expected, 1);
      const { authorized_amount, collected_amount, refunded_amount } = payment;
      assert.deepEqual([authorized_amount, collected_amount, refunded_amount], ['125.50', '0.00', '0.00']);
      assert.ok(Date.parse(payment.expires_at) > service.now());
      const [{ created_at, approval_code, processor_id, reconciliation_id, requested_by, ...operation }, ...more] =
        operations;
      assert.deepEqual(more, []);
      for (const text of [approval_code, processor_id, reconciliation_id]) assert.ok(text.length > 3);
      assert.equal(created_at, payment.created_at);
      assert.equal(payment.unknown_outcome, null);
      assert.deepEqual(
        [requested_by.type, typeof requested_by.id, typeof requested_by.name],
        ['key', 'string', 'string'],
      );
      assert.deepEqual(operation, {
        id,
        type: 'authorization',
        state: 'accepted',
        amount: '125.50',
        reference_code: 'A-7',
        operation_ref: id,
        status_after: 'Authorized',
        reason: null,
        failure_cause: null,
        response_code: '00',
        avs: 'Y',
        history: [],
      });
    });

    test('is found by the id of each operation, of the vault or of the processor', async () => {
      const id = await merchant.opened('payment');
      const refund = await merchant.move('refund', id, 5);
      const { operations } = await shown(id);
      const { transaction_id } = refund.json.data.transaction_info;
      assert.deepEqual(
        operations.map((each: { type: string }) => each.type),
        ['payment', 'payment_refund'],
      );
      for (const known of [transaction_id, operations[0].processor_id, operations[1].processor_id]) {
        assert.equal((await shown(known)).id, id);
        assert.deepEqual(await found({ id: known }), [id]);
      }
    });

    test('that was declined has a reason, and no allowed operation', async () => {
      const response = await merchant.order('authorization', { amount: REJECTED });
      const { status, reason, can, operations } = await shown(response.json.data.transaction_info.transaction_id);
      assert.deepEqual(
        [status, reason, operations[0].state, operations[0].reason],
        ['Declined', 'Rejected', 'refused', 'Rejected'],
      );
      assert.deepEqual([can.capture, can.capture_in_parts, can.refund, can.void], [false, false, false, false]);
    });

    test('allows no operation once payments are no longer enabled, and rejects one', async () => {
      const own = await newMerchant(service);
      const other = await newAccountUser(service, own.account);
      const id = await own.opened();
      await service.core.transactions.run({ origin: { actor: { type: 'operator' } } }, (transaction) =>
        service.core.activations.disable(transaction, { account: own.account, environment: 'sandbox' }),
      );
      const { can, expected_operations } = successData(await other.call(showPayment, { params: { id } }));
      assert.deepEqual([can.capture, can.void, can.capturable], [false, false, '0.00']);
      const response = await other.call(capturePaymentManually, { params: { id }, body: { expected_operations } });
      assertRefused(response, 'not_possible');
      assert.match(response.json.message, /not enabled/);
    });
  });

  test('users of a suspended account see its records, and have no more rights than its keys', async () => {
    const own = await newMerchant(service);
    const other = await newAccountUser(service, own.account);
    const id = await own.opened();
    const capture = await own.capture();
    const [token = ''] = tokensIn(await own.tokenize(cards([VISA])));
    await service.core.transactions.run({ origin: { actor: { type: 'operator' } } }, (transaction) =>
      service.core.accounts.suspend(transaction, own.account),
    );
    const { can, status } = successData(await other.call(showPayment, { params: { id } }));
    assert.deepEqual([status, can.capture, can.void], ['Authorized', false, false]);
    const responses = [
      await other.call(capturePaymentManually, { params: { id }, body: { expected_operations: 1 } }),
      await other.call(voidPaymentManually, { params: { id }, body: { expected_operations: 1 } }),
      await other.call(deleteToken, { params: { token } }),
      await other.call(deleteCapture, { params: { id: capture } }),
      await other.call(runInWorkbench, { body: { operation: 'proxyHash', hash_type: 'SHA256', payload: 'x' } }),
    ];
    for (const response of responses) {
      assertRefused(response, 'not_possible');
      assert.equal(response.json.message, 'The account is suspended.');
    }
    successData(await other.call(showToken, { params: { token } }));
    successData(await other.call(showCapture, { params: { id: capture } }));
  });

  describe('a manual operation', () => {
    test('captured in part, then refunded in parts: each response has the current payment', async () => {
      const id = await merchant.opened();
      await desk.person.stepUp();
      const act = async (definition: typeof capturePaymentManually, body: object) =>
        executedResult(await desk.call(definition, { params: { id }, body }));
      const captured = await act(capturePaymentManually, {
        expected_operations: 1,
        amount: '100.00',
        reference_code: 'hand',
      });
      assert.deepEqual(
        [captured.status, captured.collected_amount, captured.expected_operations],
        ['Collected', '100.00', 2],
      );
      assert.equal(captured.operations[1].reference_code, 'hand');
      assert.deepEqual(current(captured), ['125.50', '100.00', true]);
      const part = await act(refundPaymentManually, { expected_operations: 2, amount: '40.5' });
      assert.deepEqual([part.refunded_amount, part.can.refundable, part.refund], ['40.50', '59.50', 'part']);
      assert.deepEqual(current(part), ['125.50', '59.50', true]);
      const [listed] = successData(await desk.call(listPayments, { body: { id } })).payments;
      assert.deepEqual(current(listed), current(part));
      const rest = await act(refundPaymentManually, { expected_operations: 3 });
      assert.deepEqual([rest.refunded_amount, rest.can.refund, rest.can.refundable], ['100.00', false, '0.00']);
      assert.equal(rest.refund, 'whole');
      assert.deepEqual(current(rest), ['125.50', '0.00', true]);
      assertRefused(
        await desk.call(refundPaymentManually, { params: { id }, body: { expected_operations: 4 } }),
        'payment_state',
        'id',
      );
      const { records } = successData(
        await desk.call(listAudit, { body: { target: `payment:${id}`, actor: desk.person.id } }),
      );
      assert.equal(records.length, 3);
    });

    test('captured in full: the payment is worth what was authorized, and nothing is partly captured', async () => {
      const id = await merchant.opened();
      assert.deepEqual(current(await shown(id)), ['125.50', '125.50', false]);
      await merchant.move('capture', id);
      assert.deepEqual(current(await shown(id)), ['125.50', '125.50', false]);
    });

    test('voided', async () => {
      const id = await merchant.opened();
      await desk.person.stepUp();
      const voided = executedResult(
        await desk.call(voidPaymentManually, { params: { id }, body: { expected_operations: 1 } }),
      );
      assert.deepEqual([voided.status, voided.can.void], ['Voided', false]);
    });

    test('executed once, however often it is sent', async () => {
      const id = await merchant.opened('payment');
      await desk.person.stepUp();
      const body = { expected_operations: 1, amount: '1.00' };
      const responses = await Promise.all(
        Array.from({ length: 4 }, () => desk.call(refundPaymentManually, { params: { id }, body })),
      );
      const codes = responses.map(({ status, json }) => (status === 200 ? 'done' : json.code));
      assert.deepEqual(
        codes.filter((code) => code === 'done'),
        ['done'],
      );
      for (const code of codes) assert.ok(['done', 'changed_meanwhile', 'operation_in_progress'].includes(code), code);
      assertRefused(await desk.call(refundPaymentManually, { params: { id }, body }), 'changed_meanwhile');
      assert.equal((await shown(id)).refunded_amount, '1.00');
    });

    test('an unknown outcome is not a failure: the payment shows it', async () => {
      const own = await newMerchant(service, { 'timeout-ms': '1000' });
      const other = await newAccountUser(service, own.account);
      const id = await own.opened('authorization', { triggers: '_capture_timeout' });
      const result = executedResult(
        await other.call(capturePaymentManually, { params: { id }, body: { expected_operations: 1 } }),
      );
      assert.deepEqual([result.is_in_doubt, result.operations[1].state, result.can.void], [true, 'in_progress', false]);
      assert.deepEqual(await found({ in_doubt: 'yes' }, other), [id]);
      const again = await other.call(capturePaymentManually, { params: { id }, body: { expected_operations: 2 } });
      assertRefused(again, 'operation_in_progress');
    });

    test('an invalid value is reported with its field, and not repeated', async () => {
      const id = await merchant.opened();
      const paid = await merchant.opened('payment');
      await desk.person.stepUp();
      const amounts = [null, '', '125.51', '0', '0.00', '-1', '1.005', 'all', '1e1'];
      for (const amount of amounts) {
        for (const [definition, of] of [
          [capturePaymentManually, id],
          [refundPaymentManually, paid],
        ] as const)
          assertRefused(
            await desk.call(definition, { params: { id: of }, body: { expected_operations: 1, amount } }),
            'invalid_field',
            'amount',
            amount !== null && amount.length > 3 ? amount : undefined,
          );
      }
      assertRefused(
        await desk.call(capturePaymentManually, { params: { id }, body: {} }),
        'invalid_field',
        'expected_operations',
      );
      assert.equal((await shown(id)).expected_operations, 1);
    });

    test('requires the second factor', async () => {
      const id = await merchant.opened();
      service.advance(6 * MINUTE);
      for (const definition of [capturePaymentManually, refundPaymentManually, voidPaymentManually])
        assertRefused(
          await desk.call(definition, { params: { id }, body: { expected_operations: 1 } }),
          'step_up_required',
        );
    });

    test('a payment of another account, of the other environment, or that never existed is unknown, and remains', async () => {
      const id = await merchant.opened();
      const stranger = await newAccountUser(service, (await newMerchant(service)).account);
      await desk.person.stepUp();
      for (const definition of [showPayment, capturePaymentManually, voidPaymentManually, refundPaymentManually]) {
        const body = definition === showPayment ? {} : { body: { expected_operations: 1 } };
        const ways = [{ id }, { id, account: desk.account }, { id: 'aaaaaaaaaaaaaaaaaaaaaaaaa' }, { id: VISA }];
        for (const params of ways) assertUnknown(await stranger.call(definition, { params, ...body }));
      }
      const elsewhere = await desk.call(showPayment, { params: { id, environment: 'production' } });
      assertUnknown(elsewhere);
      assert.deepEqual(await found({ id }, stranger), []);
      assert.equal((await shown(id)).status, 'Authorized');
    });

    test('in production another user has to approve it, and sees the card and the amount', async () => {
      const { account, send } = await newCaller(service, { environment: 'production' });
      const tenant = { account, environment: 'production' } as const;
      const request = { processor: 'simulator', settings: {}, force: true };
      await service.core.transactions.run({ origin: { actor: { type: 'operator' } } }, (transaction) =>
        service.core.activations.enable(transaction, tenant, request),
      );
      const opened = await send('POST', PAYMENTS, order('payment'));
      const id = opened.json.data.transaction_info.transaction_id;
      const [owner, second] = [
        await newAccountUser(service, account, { environment: 'production' }),
        await newAccountUser(service, account, { environment: 'production' }),
      ];
      await owner.person.stepUp();
      executedResult(await owner.call(setDualControl, { body: { dual_control: true } }));
      assertRefused(
        await owner.call(refundPaymentManually, { params: { id }, body: { expected_operations: 1, amount: '999' } }),
        'invalid_field',
        'amount',
      );
      assertRefused(
        await owner.call(voidPaymentManually, { params: { id }, body: { expected_operations: 1 } }),
        'payment_state',
        'id',
      );
      const approval = successData(
        await owner.call(refundPaymentManually, { params: { id }, body: { expected_operations: 1 } }),
      );
      const [waiting] = successData(await second.call(listApprovals)).approvals;
      assert.deepEqual(waiting.summary, [
        { name: 'payment', value: id },
        { name: 'card', value: '411111******1111' },
        { name: 'amount', value: '125.50 USD' },
      ]);
      await second.person.stepUp();
      successData(await second.call(approve, { params: { id: approval.approval } }));
      successData(await owner.call(executeApproval, { params: { id: approval.approval } }));
      const payment = successData(await owner.call(showPayment, { params: { id } }));
      assert.deepEqual([payment.refunded_amount, payment.operations.length], ['125.50', 2]);
    });
  });

  test('a payment whose authorization got no response is listed as in doubt', async () => {
    const own = await newMerchant(service, { 'timeout-ms': '1000' });
    const other = await newAccountUser(service, own.account);
    await own.order('authorization', { amount: TIMES_OUT });
    const [payment] = successData(await other.call(listPayments, { body: { in_doubt: 'yes' } })).payments;
    assert.deepEqual([payment.status, payment.is_in_doubt], ['Opened', true]);
  });
});
