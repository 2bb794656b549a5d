import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fastJson from 'fast-json-stringify';
import {
  buildOperation,
  buildPayment,
  FIRST,
  NEXT,
  NOW,
  PAYMENT_STATES,
} from '../../test/fixtures/payment-fixtures.ts';
import type { Currency } from '../kernel/currency.ts';
import type { Operation, Payment, PaymentSnapshot } from '../payments/payment.ts';
import type { OperationType, ProcessorDetails } from '../payments/processor.ts';
import { REASONS, RESPONSE_CODES } from '../payments/transitions.ts';
import { serializable } from './fields.ts';
import {
  formatDetails,
  formatOperation,
  operationExample,
  paymentResponse,
  responseExample,
} from './payment-response.ts';

const write = fastJson(serializable(paymentResponse.schema) as object);
/** The response as a client parses it from the wire. */
// biome-ignore lint/suspicious/noExplicitAny: tests inspect responses of every shape
const sent = (response: unknown): any => JSON.parse(write(response));

const pair = (
  payment: Partial<Payment>,
  operation: Partial<Operation> & { type: OperationType },
): Pick<PaymentSnapshot, 'payment' | 'operation'> => ({
  payment: buildPayment(payment),
  operation: buildOperation({ state: 'accepted', ...operation }),
});

const details: ProcessorDetails = {
  processorId: 'p-1',
  responseCode: '08',
  reconciliationId: 'rec-1',
  approvalCode: '123456',
  networkId: 'net-1',
  avs: { code: 'Y', codeRaw: 'A' },
};
const declined = { status: 'Declined', reason: 'InsufficientFunds' } as const;
const broken = { status: 'ProcessorError', reason: 'ConnectionRejected' } as const;

describe('the response to an authorization or payment', () => {
  it("contains the authorized amount, and the processor's details", () => {
    assert.deepEqual(
      sent(formatOperation(pair(PAYMENT_STATES.Authorized, { type: 'authorization', details: details }))),
      {
        status: 'success',
        message: 'Authorization successful',
        data: {
          transaction_info: {
            type: 'authorization_response',
            reference_code: 'A-1',
            transaction_id: FIRST,
            payment_id: FIRST,
            request_id: 'p-1',
            status: 'Authorized',
            response_code: '08',
            reconciliation_id: 'rec-1',
            created_at: new Date(NOW - 100).toISOString(),
          },
          order_info: { amount_details: { authorized_amount: 100, currency: 'USD' } },
          processor_info: { approval_code: '123456', transaction_id: 'net-1', avs: { code: 'Y', codeRaw: 'A' } },
        },
      },
    );
  });

  it('has ids of the vault, and code 00, where the processor returned none', () => {
    const { transaction_info: info, processor_info: processor } = sent(
      formatOperation(pair(PAYMENT_STATES.Collected, { type: 'payment' })),
    ).data;
    assert.deepEqual([info.type, info.request_id, info.reconciliation_id], ['payment_response', FIRST, FIRST]);
    assert.equal(info.response_code, '00');
    assert.deepEqual(processor, {});
  });

  it('is a success with the status Opened and without a code while the outcome is unknown', () => {
    for (const state of ['in_progress', 'accepted'] as const) {
      const { status, message, data } = sent(formatOperation(pair({}, { type: 'payment', state })));
      assert.deepEqual([status, message, data.transaction_info.status], ['success', 'Payment in progress', 'Opened']);
      assert.equal('response_code' in data.transaction_info, false);
      assert.equal(data.order_info.amount_details.authorized_amount, 0);
    }
  });

  it('is an Error when the processor had cancelled the order by the time its outcome was known', () => {
    const { status, message, data } = sent(
      formatOperation(pair(PAYMENT_STATES.Cancelled, { type: 'payment', details })),
    );
    assert.deepEqual([status, message], ['Error', 'Payment cancelled at the processor']);
    assert.equal(data.transaction_info.status, 'Cancelled');
    assert.equal('response_code' in data.transaction_info, false);
  });

  it('is Fail when declined, Error when the processor failed, each with reason and code', () => {
    for (const failed of [
      ...REASONS.Declined.map((reason) => ({ status: 'Declined', reason }) as const),
      ...REASONS.ProcessorError.map((reason) => ({ status: 'ProcessorError', reason }) as const),
    ]) {
      const response = sent(
        formatOperation(pair(failed, { type: 'authorization', state: 'refused', failure: failed })),
      );
      const isDeclined = failed.status === 'Declined';
      assert.equal(response.status, isDeclined ? 'Fail' : 'Error');
      assert.equal(response.message, isDeclined ? 'Authorization declined' : 'Authorization failed at the processor');
      const { status, reason, response_code: code } = response.data.transaction_info;
      assert.deepEqual([status, reason, code], [failed.status, failed.reason, RESPONSE_CODES[failed.reason]]);
    }
  });

  it('contains the token of a card that was sent in clear, whatever the outcome', () => {
    const token = { token: '4111110000001111', scheme: 7 };
    const withToken = { card: { truncated: '411111******1111', token } };
    for (const standing of [PAYMENT_STATES.Collected, PAYMENT_STATES.Declined, PAYMENT_STATES.Opened])
      assert.deepEqual(sent(formatOperation(pair({ ...standing, ...withToken }, { type: 'payment' }))).data.card, {
        ...token,
        card: '411111******1111',
      });
    const capture = pair({ ...PAYMENT_STATES.Collected, ...withToken }, { type: 'capture' });
    assert.equal('card' in sent(formatOperation(capture)).data, false);
    assert.equal(
      'card' in sent(formatDetails(pair({ ...PAYMENT_STATES.Collected, ...withToken }, { type: 'payment' }))).data,
      false,
    );
  });
});

describe('the response to a capture, refund or void', () => {
  const cases = [
    ['capture', PAYMENT_STATES.Collected, 'Capture', { total_amount: 20, currency: 'USD' }],
    ['payment_refund', PAYMENT_STATES.Collected, 'Refund', { total_amount: 20, refunded_amount: 30, currency: 'USD' }],
    ['authorization_void', PAYMENT_STATES.Voided, 'Authorization void', { authorized_amount: 100, currency: 'USD' }],
    ['expiry', PAYMENT_STATES.Voided, 'Expiry', { authorized_amount: 100, currency: 'USD' }],
  ] as const;
  for (const [type, standing, name, amounts] of cases) {
    it(`states the effect of ${type}, its failure, or that its outcome is unknown`, () => {
      const responseTo = (operation: Partial<Operation>) =>
        sent(formatOperation(pair(standing, { type, amount: 2000n, ...operation })));
      const done = responseTo({});
      assert.deepEqual([done.status, done.message], ['success', `${name} successful`]);
      assert.deepEqual(done.data.order_info.amount_details, amounts);
      const { transaction_info: info } = done.data;
      assert.deepEqual([info.type, info.transaction_id, info.payment_id], [`${type}_response`, NEXT, FIRST]);
      assert.equal(info.status, standing.status);
      assert.equal(info.response_code, '00');
      const refused = responseTo({ state: 'refused', failure: declined });
      assert.deepEqual([refused.status, refused.message], ['Fail', `${name} declined`]);
      assert.equal(refused.data.transaction_info.response_code, '51');
      const failed = responseTo({ state: 'refused', failure: broken });
      assert.deepEqual([failed.status, failed.message], ['Error', `${name} failed at the processor`]);
      assert.equal(failed.data.transaction_info.response_code, '91');
      const unknown = responseTo({ state: 'in_progress' });
      assert.deepEqual([unknown.status, unknown.message], ['Error', 'Outcome unknown, being resolved']);
      assert.equal(unknown.data.transaction_info.status, standing.status);
      assert.equal('response_code' in unknown.data.transaction_info, false);
    });
  }

  it('has the reference of the operation, or else that of the payment', () => {
    const reference = (referenceCode: string | undefined) =>
      sent(formatOperation(pair(PAYMENT_STATES.Collected, { type: 'capture', referenceCode }))).data.transaction_info
        .reference_code;
    assert.deepEqual([reference('B-2'), reference(undefined)], ['B-2', 'A-1']);
  });
});

describe('the response to a lookup', () => {
  it('has the requested ids and the current state of the payment', () => {
    const response = sent(formatDetails(pair(PAYMENT_STATES.Collected, { type: 'capture', details: details })));
    assert.deepEqual([response.status, response.message], ['success', 'Get Transaction Details successful']);
    const { transaction_info: info, order_info: order } = response.data;
    assert.deepEqual(
      [info.type, info.operation, info.operation_status, info.transaction_id, info.status],
      ['transaction_details_response', 'capture', 'succeeded', NEXT, 'Collected'],
    );
    assert.deepEqual(order.amount_details, {
      authorized_amount: 100,
      collected_amount: 80,
      refunded_amount: 30,
      currency: 'USD',
    });
  });

  it('is a success also for an operation that failed or is in progress', () => {
    const failed = sent(
      formatDetails(pair(PAYMENT_STATES.Authorized, { type: 'capture', state: 'refused', failure: declined })),
    );
    assert.equal(failed.status, 'success');
    assert.equal(failed.data.transaction_info.operation_status, 'failed');
    assert.equal(failed.data.transaction_info.response_code, '51');
    const underWay = sent(formatDetails(pair(PAYMENT_STATES.Authorized, { type: 'capture', state: 'in_progress' })));
    assert.equal(underWay.data.transaction_info.operation_status, 'in_progress');
  });

  it('names expiry as the operation that ended an expired authorization', () => {
    const { transaction_info: info } = sent(
      formatDetails(pair({ ...PAYMENT_STATES.Voided, isExpired: true }, { type: 'authorization' })),
    ).data;
    assert.deepEqual([info.operation, info.status], ['expiry', 'Voided']);
  });

  it('never has the code 00 for a payment that was pending and then declined', () => {
    const later = pair(PAYMENT_STATES.Declined, { type: 'authorization', state: 'accepted' });
    const { transaction_info: info } = sent(formatDetails(later)).data;
    assert.deepEqual([info.status, info.reason, info.response_code], ['Declined', 'Rejected', '05']);
    assert.equal(info.operation_status, 'failed');
    // A capture before the failure has none of these members.
    const capture = sent(formatDetails(pair(PAYMENT_STATES.Declined, { type: 'capture', state: 'accepted' }))).data
      .transaction_info;
    assert.deepEqual([capture.operation_status, capture.response_code], ['succeeded', '00']);
  });
});

describe('amounts of responses', () => {
  it('are JSON numbers without rounding', () => {
    const rich = { ...PAYMENT_STATES.Authorized, amount: 9_999_999_999_999_999n, authorized: 9_999_999_999_999_999n };
    const text = write(formatOperation(pair({ ...rich, currency: 'CLF' as Currency }, { type: 'authorization' })));
    assert.match(text, /"authorized_amount":999999999999\.9999[,}]/);
    const yen = write(formatOperation(pair({ ...rich, currency: 'JPY' as Currency }, { type: 'authorization' })));
    assert.match(yen, /"authorized_amount":9999999999999999[,}]/);
    const plain = write(
      formatOperation(pair({ ...PAYMENT_STATES.Authorized, authorized: 1050n }, { type: 'authorization' })),
    );
    assert.match(plain, /"authorized_amount":10\.5[,}]/);
  });
});

describe('the examples', () => {
  it('are responses as the service writes them', () => {
    assert.deepEqual(sent(responseExample), responseExample);
    const capture = operationExample('capture', 'Capture successful', 'Collected', {
      total_amount: 100,
      currency: 'USD',
    });
    assert.deepEqual(sent(capture), capture);
    assert.equal(capture.data.transaction_info.type, 'capture_response');
    assert.equal(capture.data.transaction_info.payment_id, responseExample.data.transaction_info.transaction_id);
    assert.notEqual(capture.data.transaction_info.transaction_id, capture.data.transaction_info.payment_id);
  });
});
