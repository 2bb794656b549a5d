import { defineEndpoint } from '../endpoint.ts';
import { exactly, object, type ValueOf } from '../fields.ts';
import { partialAmount, toRequestedAmount } from '../payment-fields.ts';
import { operationHandler, referenceCode } from '../payment-requests.ts';
import { operationExample, paymentResponse } from '../payment-response.ts';

const body = object({
  transaction_info: object({ type: exactly('payment_refund', 'payment_refund'), reference_code: referenceCode }),
  refund_info: partialAmount('The amount to give back'),
});

/** POST /v1/payments/{transactionId}/refund (interface: Payments). */
export const refundPayment = defineEndpoint({
  method: 'POST',
  path: '/v1/payments/:id/refund',
  params: { id: 'transaction_id of the authorization or payment, or of its capture' },
  family: 'payments',
  tag: 'Payments',
  operationId: 'refundPayment',
  permission: 'payments:write',
  summary: 'Refund a collected payment',
  description:
    'In full or in parts, up to the captured amount. One operation at a time: while another one is in progress the response is 409.',
  body,
  data: paymentResponse,
  failures: ['unknown_payment', 'payment_state', 'operation_in_progress'],
  example: {
    body: {
      transaction_info: { type: 'payment_refund', reference_code: 'A-1001' },
      refund_info: { amount_details: { total_amount: 25.5, currency: 'USD' } },
    },
    data: operationExample('payment_refund', 'Refund successful', 'Collected', {
      total_amount: 25.5,
      refunded_amount: 25.5,
      currency: 'USD',
    }),
  },
  run: operationHandler<ValueOf<typeof body>>(({ transaction_info: info, refund_info: part }) => ({
    command: { type: info.type, amount: toRequestedAmount(part) },
    reference: info.reference_code,
  })),
});
