import { defineEndpoint } from '../endpoint.ts';
import { exactly, object, type ValueOf } from '../fields.ts';
import { partialAmount, toRequestedAmount } from '../payment-fields.ts';
import { operationHandler, referenceCode } from '../payment-requests.ts';
import { operationExample, paymentResponse } from '../payment-response.ts';

const body = object({
  transaction_info: object({ type: exactly('capture', 'capture'), reference_code: referenceCode }),
  capture_info: partialAmount('The amount to capture'),
});

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
    'Once, in full or in part; the rest can no longer be captured. Status Error with the message “Outcome unknown, being resolved” means that the result is not known yet; further operations on the payment are 409 until it is resolved.',
  body,
  data: paymentResponse,
  failures: ['unknown_payment', 'payment_state', 'operation_in_progress'],
  example: {
    body: {
      transaction_info: { type: 'capture', reference_code: 'A-1001' },
      capture_info: { amount_details: { total_amount: 100, currency: 'USD' } },
    },
    data: operationExample('capture', 'Capture successful', 'Collected', { total_amount: 100, currency: 'USD' }),
  },
  run: operationHandler<ValueOf<typeof body>>(({ transaction_info: info, capture_info: part }) => ({
    command: { type: info.type, amount: toRequestedAmount(part) },
    reference: info.reference_code,
  })),
});
