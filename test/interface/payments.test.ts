import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { shareService } from '../fixtures/shared-service.ts';
import type { TestResponse, TestService } from '../fixtures/test-service.ts';
import {
  FAILED,
  type FirstType,
  ID,
  idOf,
  infoOf,
  type Merchant,
  newMerchant,
  OPENED,
  type OrderOptions,
  order,
  PAYMENTS,
  processed,
  REJECTED,
  TIMES_OUT,
  UNKNOWN,
} from './payment-requests.ts';
import { TIME, UUID } from './vault-requests.ts';

const shared = shareService();

/** Texts that differ from answer to answer. */
const FORMS = {
  transaction_id: ID,
  payment_id: ID,
  request_id: ID,
  created_at: TIME,
  reconciliation_id: /^REC[A-Z]{15}$/,
  'processor_info.approval_code': /^[0-9]{6}$/,
  'processor_info.transaction_id': /^NET[A-Z]{15}$/,
} as const;

/** The answer with every text that has its form replaced by the name of the form; another text stays and is seen. */
function shaped({ status, json, text }: TestResponse): unknown {
  assert.equal(status, 200, text);
  const { transaction_info: info, processor_info: processor, ...data } = structuredClone(json.data);
  const mask = (record: Record<string, unknown>, prefix = ''): void => {
    for (const name of Object.keys(record)) {
      const form = (FORMS as Record<string, RegExp>)[prefix + name];
      if (form?.test(String(record[name]))) record[name] = name;
    }
  };
  mask(info);
  mask(processor, 'processor_info.');
  return { ...json, data: { transaction_info: info, processor_info: processor, ...data } };
}

const IDS = { transaction_id: 'transaction_id', payment_id: 'payment_id', request_id: 'request_id' };
const APPROVAL = { approval_code: 'approval_code', transaction_id: 'transaction_id' };
const AVS = { code: 'Y', codeRaw: 'Y' };
const TIMES = { created_at: 'created_at' };
const RECONCILED = { reconciliation_id: 'reconciliation_id' };
const REFERENCE = { reference_code: 'A-1001' };
const USD = { currency: 'USD' };

describe('payment responses', () => {
  let service: TestService;
  let me: Merchant;
  before(async () => {
    service = await shared.open();
    me = await newMerchant(service, { 'timeout-ms': '400' });
  });
  after(() => shared.close());

  const FIRST: Readonly<Record<FirstType, { name: string; approved: string }>> = {
    authorization: { name: 'Authorization', approved: 'Authorized' },
    payment: { name: 'Payment', approved: 'Collected' },
  };

  for (const type of ['authorization', 'payment'] as const) {
    describe(type, () => {
      const { name, approved } = FIRST[type];
      // By a token, so that a payment makes none of its own; see `payments-tokens.test.ts`.
      const byToken = async (options: OrderOptions = {}): Promise<TestResponse> => {
        const created = await me.tokenize({
          chd: [{ card: '4111111111111111', name: 'A', exp: '12/29' }],
          tags: [],
          scheme: 7,
        });
        const number = `{{${created.json.data.tokens[0].token}:detokenize}}`;
        return me.order(type, { card: { number, expiration_date: '12/2029' }, ...options });
      };
      const first = (status: string, message: string, info: object, authorized: number, processor: object) => ({
        status,
        message,
        data: {
          transaction_info: { type: `${type}_response`, ...REFERENCE, ...IDS, ...TIMES, ...info },
          order_info: { amount_details: { authorized_amount: authorized, ...USD } },
          processor_info: processor,
        },
      });

      test('approved', async () => {
        const info = { ...RECONCILED, status: approved, response_code: '00' };
        const expected = first('success', `${name} successful`, info, 125.5, { ...APPROVAL, avs: AVS });
        assert.deepEqual(shaped(await byToken()), expected);
      });

      test('declined', async () => {
        const response = await byToken({ amount: REJECTED });
        const info = { reconciliation_id: idOf(response), status: 'Declined', reason: 'Rejected', response_code: '05' };
        assert.deepEqual(shaped(response), first('Fail', `${name} declined`, info, 0, {}));
      });

      test('failed at the processor', async () => {
        const response = await byToken({ amount: FAILED });
        const why = { status: 'ProcessorError', reason: 'Undefined', response_code: '96' };
        const info = { reconciliation_id: idOf(response), ...why };
        assert.deepEqual(shaped(response), first('Error', `${name} failed at the processor`, info, 0, {}));
      });

      for (const [what, options] of [
        ['opened', { amount: OPENED }],
        ['without an answer in time', { amount: TIMES_OUT }],
        ['opened by a word of the email', { triggers: '_autoinprogress' }],
      ] as const) {
        test(what, async () => {
          const response = await byToken(options);
          const info = { reconciliation_id: idOf(response), status: 'Opened' };
          assert.deepEqual(shaped(response), first('success', `${name} in progress`, info, 0, {}));
        });
      }

      test('its payment_id is its transaction_id', async () => {
        const info = infoOf(await byToken());
        assert.equal(info.payment_id, info.transaction_id);
        assert.notEqual(info.request_id, info.transaction_id);
      });
    });
  }

  describe('capture, refund and void', () => {
    const moved = (type: string, message: string, status: string, amounts: object) => ({
      status: 'success',
      message,
      data: {
        transaction_info: { type, ...REFERENCE, ...IDS, ...TIMES, ...RECONCILED, status, response_code: '00' },
        order_info: { amount_details: { ...amounts, ...USD } },
        processor_info: APPROVAL,
      },
    });

    test('capture', async () => {
      const id = await me.opened();
      const response = await me.move('capture', id);
      assert.deepEqual(
        shaped(response),
        moved('capture_response', 'Capture successful', 'Collected', { total_amount: 125.5 }),
      );
      assert.equal(infoOf(response).payment_id, id);
      assert.notEqual(idOf(response), id);
    });

    test('refund', async () => {
      const id = await me.opened('payment');
      for (const [amount, refunded] of [
        [25.25, 25.25],
        [50, 75.25],
      ] as const) {
        const expected = { total_amount: amount, refunded_amount: refunded };
        assert.deepEqual(
          shaped(await me.move('refund', id, amount)),
          moved('payment_refund_response', 'Refund successful', 'Collected', expected),
        );
      }
    });

    for (const [what, options, status, authorized] of [
      ['void of an authorization', {}, 'Voided', 125.5],
      ['void of what is open', { amount: OPENED }, 'Cancelled', 0],
    ] as const) {
      test(what, async () => {
        const response = await me.move('void', await me.opened('authorization', options));
        const expected = { authorized_amount: authorized };
        assert.deepEqual(
          shaped(response),
          moved('authorization_void_response', 'Authorization void successful', status, expected),
        );
      });
    }

    for (const [move, type, what, status] of [
      ['capture', 'authorization', 'Capture', 'Authorized'],
      ['refund', 'payment', 'Refund', 'Collected'],
      ['void', 'authorization', 'Authorization void', 'Authorized'],
    ] as const) {
      const amounts: Readonly<Record<string, object>> = {
        capture: { total_amount: 125.5 },
        refund: { total_amount: 125.5, refunded_amount: 0 },
        void: { authorized_amount: 125.5 },
      };
      const answered = (outcome: string, message: string, info: object) => ({
        status: outcome,
        message,
        data: {
          transaction_info: { ...REFERENCE, ...IDS, ...TIMES, status, ...info },
          order_info: { amount_details: { ...amounts[move], ...USD } },
          processor_info: {},
        },
      });
      const shapedMove = async (triggers: string): Promise<[TestResponse, Record<string, unknown>]> => {
        const response = await me.move(move, await me.opened(type, { triggers: `_${move}_${triggers}` }));
        const found = shaped(response) as { data: { transaction_info: Record<string, unknown> } };
        assert.match(
          String(found.data.transaction_info['type']),
          /^(capture|payment_refund|authorization_void)_response$/,
        );
        delete found.data.transaction_info['type'];
        return [response, found];
      };

      test(`${move}, declined: the payment is unchanged`, async () => {
        const [response, found] = await shapedMove('decline');
        const info = { reconciliation_id: reconciliationOf(response), response_code: '05' };
        assert.deepEqual(found, answered('Fail', `${what} declined`, info));
      });

      test(`${move}, failed at the processor: the payment is unchanged`, async () => {
        const [response, found] = await shapedMove('error');
        const info = { reconciliation_id: reconciliationOf(response), response_code: '96' };
        assert.deepEqual(found, answered('Error', `${what} failed at the processor`, info));
      });

      test(`${move} with an unknown outcome`, async () => {
        const [response, found] = await shapedMove('timeout');
        assert.deepEqual(found, answered('Error', UNKNOWN, { reconciliation_id: idOf(response) }));
      });
    }

    /** Ours, as long as the processor gave none. */
    const reconciliationOf = (response: TestResponse): string => {
      const { reconciliation_id: id, transaction_id: ours } = infoOf(response);
      assert.ok(id === ours || FORMS.reconciliation_id.test(id), id);
      return id === ours ? ours : 'reconciliation_id';
    };

    test('each has the reference_code of its request, or that of the payment', async () => {
      const id = await me.opened();
      const body = { transaction_info: { type: 'capture', reference_code: 'own é' } };
      const own = await me.send('POST', `${PAYMENTS}/${id}/capture`, body);
      assert.equal(infoOf(own).reference_code, 'own é');
      assert.equal(infoOf(await me.move('refund', id, 1)).reference_code, 'A-1001');
      assert.equal(infoOf(await me.show(id)).reference_code, 'A-1001');
      assert.equal(infoOf(await me.show(idOf(own))).reference_code, 'own é');
    });

    test('there is no reference_code when none was sent', async () => {
      const { reference_code: _, ...info } = order().transaction_info;
      const response = await me.send('POST', PAYMENTS, { ...order(), transaction_info: info });
      assert.ok(!('reference_code' in infoOf(response)));
    });
  });

  describe('lookup', () => {
    const details = (operation: string, info: object, amounts: object, processor: object) => ({
      status: 'success',
      message: 'Get Transaction Details successful',
      data: {
        transaction_info: {
          type: 'transaction_details_response',
          operation,
          operation_status: 'succeeded',
          ...REFERENCE,
          ...IDS,
          ...TIMES,
          ...RECONCILED,
          response_code: '00',
          ...info,
        },
        order_info: { amount_details: { ...amounts, ...USD } },
        processor_info: processor,
      },
    });

    test('of every operation of a payment returns the current payment, and the ids of that operation', async () => {
      const authorization = await me.order();
      const capture = await me.move('capture', idOf(authorization), 100);
      const refund = await me.move('refund', idOf(authorization), '0.10');
      const amounts = { authorized_amount: 125.5, collected_amount: 100, refunded_amount: 0.1 };
      for (const [response, operation, processor] of [
        [authorization, 'authorization', { ...APPROVAL, avs: AVS }],
        [capture, 'capture', APPROVAL],
        [refund, 'payment_refund', APPROVAL],
      ] as const) {
        const shown = await me.show(idOf(response));
        assert.deepEqual(shaped(shown), details(operation, { status: 'Collected' }, amounts, processor));
        const { transaction_id, payment_id, request_id, created_at, reconciliation_id } = infoOf(response);
        const found = infoOf(shown);
        assert.deepEqual({ ...found, transaction_id, payment_id, request_id, created_at, reconciliation_id }, found);
        assert.deepEqual((await me.show(request_id)).json, shown.json, 'by the id of the processor');
      }
    });

    test('of a payment, and of a void', async () => {
      const payment = await me.order('payment');
      const shown = shaped(await me.show(idOf(payment)));
      const amounts = { authorized_amount: 125.5, collected_amount: 125.5, refunded_amount: 0 };
      assert.deepEqual(shown, details('payment', { status: 'Collected' }, amounts, { ...APPROVAL, avs: AVS }));
      const voided = await me.move('void', await me.opened());
      assert.deepEqual(
        shaped(await me.show(idOf(voided))),
        details(
          'authorization_void',
          { status: 'Voided' },
          { authorized_amount: 125.5, collected_amount: 0, refunded_amount: 0 },
          APPROVAL,
        ),
      );
    });

    test('of a declined payment states the reason', async () => {
      const response = await me.order('authorization', { amount: REJECTED });
      const ids = { reconciliation_id: idOf(response), operation_status: 'failed' };
      const info = { status: 'Declined', reason: 'Rejected', response_code: '05', ...ids };
      const amounts = { authorized_amount: 0, collected_amount: 0, refunded_amount: 0 };
      assert.deepEqual(shaped(await me.show(idOf(response))), details('authorization', info, amounts, {}));
    });

    test('of an operation in progress', async () => {
      const id = await me.opened('payment', { amount: TIMES_OUT });
      const { operation_status: state, status, response_code: code } = infoOf(await me.show(id));
      assert.deepEqual([state, status, code], ['in_progress', 'Opened', undefined]);
    });

    test('of a pending payment, and of one that was voided while pending', async () => {
      const id = idOf(await me.order('payment', { triggers: '_autoinprogress' }));
      const undecided = infoOf(await me.show(id));
      const pending = ['in_progress', 'Opened', undefined];
      assert.deepEqual([undecided.operation_status, undecided.status, undecided.response_code], pending);
      await me.move('void', id);
      const gone = infoOf(await me.show(id));
      assert.deepEqual([gone.operation_status, gone.status, gone.response_code], ['succeeded', 'Cancelled', undefined]);
    });

    test('of a refused capture states the failure, with the unchanged payment', async () => {
      const capture = await me.move('capture', await me.opened('authorization', { triggers: '_capture_decline' }));
      const info = infoOf(await me.show(idOf(capture)));
      assert.deepEqual(
        [info.operation, info.operation_status, info.status, info.reason, info.response_code],
        ['capture', 'failed', 'Authorized', undefined, '05'],
      );
    });
  });

  test('transaction ids ascend as text', async () => {
    const ids: string[] = [];
    for (let count = 0; count < 5; count++) {
      const id = await me.opened();
      ids.push(id, idOf(await me.move('capture', id)), idOf(await me.move('refund', id)));
    }
    assert.deepEqual(ids, [...ids].sort());
    assert.equal(new Set(ids).size, ids.length);
  });

  test('the token of a card in clear is in the first response only', async () => {
    const response = await me.order('payment');
    const { card } = processed(response);
    assert.deepEqual(Object.keys(card).sort(), ['card', 'scheme', 'token']);
    assert.deepEqual({ ...card, token: '' }, { token: '', card: '411111******1111', scheme: 7 });
    assert.match(card.token, UUID);
    for (const later of [await me.show(idOf(response)), await me.move('refund', idOf(response))])
      assert.ok(!('card' in processed(later)));
  });

  test('created_at is the time of the request', async () => {
    const start = service.now();
    const at = Date.parse(infoOf(await me.order()).created_at);
    assert.ok(start <= at && at <= service.now());
  });
});
