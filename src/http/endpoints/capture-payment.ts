import { defineEndpoint } from '../endpoint.ts';
import { exactly, object } from '../fields.ts';
import { partialAmount, toRequestedAmount } from '../payment-fields.ts';
import { executeOperation, referenceCode, replayPayment } from '../payment-requests.ts';
import { operationExample, paymentResponse } from '../payment-response.ts';

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
    transaction_info: object({ type: exactly('capture', 'capture'), reference_code: referenceCode }),
    capture_info: partialAmount('The amount to capture'),
  }),
  data: paymentResponse,
  failures: ['unknown_payment', 'payment_state', 'operation_in_progress'],
  example: {
    body: {
      transaction_info: { type: 'capture', reference_code: 'A-1001' },
      capture_info: { amount_details: { total_amount: 100, currency: 'USD' } },
    },
    data: operationExample('capture', 'Capture successful', 'Collected', { total_amount: 100, currency: 'USD' }),
  },
  handle(call) {
    const { transaction_info: info, capture_info: part } = call.body;
    return executeOperation(call, { type: info.type, amount: toRequestedAmount(part) }, info.reference_code);
  },
  replay: replayPayment,
});
