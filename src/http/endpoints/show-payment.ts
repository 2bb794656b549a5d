import { defineEndpoint, pathParameter } from '../endpoint.ts';
import { formatDetails, paymentResponse, responseExample } from '../payment-response.ts';

const { transaction_info: info, processor_info: processor } = responseExample.data;

/** GET /v1/payments/transactions/{transactionId} (interface: Payments). */
export const showPayment = defineEndpoint({
  method: 'GET',
  path: '/v1/payments/transactions/:id',
  params: { id: 'transaction_id or request_id of any operation' },
  family: 'payments',
  tag: 'Payments',
  operationId: 'showPayment',
  permission: 'payments:read',
  summary: 'Look a transaction up',
  description:
    'The last update of the payment that the transaction belongs to. Works while payments are disabled, too.',
  data: paymentResponse,
  failures: ['unknown_payment'],
  example: {
    data: {
      status: 'success',
      message: 'Get Transaction Details successful',
      data: {
        transaction_info: {
          ...info,
          type: 'transaction_details_response',
          operation: 'authorization',
          operation_status: 'succeeded',
        },
        order_info: {
          amount_details: { authorized_amount: 125.5, collected_amount: 0, refunded_amount: 0, currency: 'USD' },
        },
        processor_info: processor,
      },
    },
  },
  async run(call) {
    return formatDetails(await call.services.payments.lookup(call.tenant, pathParameter(call, 'id')));
  },
});
