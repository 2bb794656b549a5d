import { defineEndpoint } from '../endpoint.ts';
import { exactly, object, type ValueOf } from '../fields.ts';
import { operationHandler, referenceCode } from '../payment-requests.ts';
import { operationExample, paymentResponse } from '../payment-response.ts';

const body = object({
  transaction_info: object({
    type: exactly('authorization_void', 'authorization_void'),
    reference_code: referenceCode,
  }),
});

/** POST /v1/payments/{transactionId}/void (interface: Payments). */
export const voidPayment = defineEndpoint({
  method: 'POST',
  path: '/v1/payments/:id/void',
  params: { id: 'transaction_id of the authorization' },
  family: 'payments',
  tag: 'Payments',
  operationId: 'voidPayment',
  permission: 'payments:write',
  summary: 'Void an authorization',
  description:
    'An Authorized payment becomes Voided, an Opened one Cancelled. A payment is captured or voided, never both.',
  body,
  data: paymentResponse,
  failures: ['unknown_payment', 'payment_state', 'operation_in_progress'],
  example: {
    body: { transaction_info: { type: 'authorization_void', reference_code: 'A-1001' } },
    data: operationExample('authorization_void', 'Authorization void successful', 'Voided', {
      authorized_amount: 125.5,
      currency: 'USD',
    }),
  },
  run: operationHandler<ValueOf<typeof body>>(({ transaction_info: info }) => ({
    command: { type: info.type },
    reference: info.reference_code,
  })),
});
