import { defineEndpoint } from '../endpoint.ts';
import { object, word } from '../fields.ts';
import { answerFor, paymentAnswer } from '../payment-answer.ts';
import { operateOn, recallPayment, referenceCode } from '../payment-call.ts';
import { partInfo, partOf } from '../payment-fields.ts';

/** POST /v1/payments/{transactionId}/capture (interface: Payments). */
export const capturePayment = defineEndpoint({
  method: 'POST',
  path: '/v1/payments/:id/capture',
  params: { id: 'transaction_id of the authorization' },
  family: 'payments',
  tag: 'Payments',
  operationId: 'capturePayment',
  permission: 'payments:write',
  summary: 'Capture an authorization',
  description:
    'Once, in full or in part; the rest can no longer be captured. Status Error with the message “Outcome unknown, being resolved” means that nobody knows yet; further operations on the payment are 409 until it is resolved.',
  body: object({
    transaction_info: object({ type: word('capture', 'capture'), reference_code: referenceCode }),
    capture_info: partInfo('The amount to capture'),
  }),
  data: paymentAnswer,
  failures: ['unknown_payment', 'payment_state', 'operation_in_progress'],
  example: {
    body: {
      transaction_info: { type: 'capture', reference_code: 'A-1001' },
      capture_info: { amount_details: { total_amount: 100, currency: 'USD' } },
    },
    data: answerFor('capture', 'Capture successful', 'Collected', { total_amount: 100, currency: 'USD' }),
  },
  handle(call) {
    const { transaction_info: info, capture_info: part } = call.body;
    return operateOn(call, { type: info.type, amount: partOf(part) }, info.reference_code);
  },
  recall: recallPayment,
});
