import { LIMITS } from '../../kernel/limits.ts';
import { explain } from '../../kernel/reasons.ts';
import type { NewPayment } from '../../payments/payments.ts';
import { defineEndpoint } from '../endpoint.ts';
import { anyJson, FieldMismatch, integer, list, object, oneOf, optional, plainText, type ValueOf } from '../fields.ts';
import { amountDetails, card, party, toMoney, toParty } from '../payment-fields.ts';
import { paymentHandler, referenceCode } from '../payment-requests.ts';
import { paymentResponse, responseExample } from '../payment-response.ts';

const lineItems = optional(
  list(anyJson('A line item, passed on as it is'), { min: 0, max: LIMITS.lineItems }, 'What is bought'),
);

const body = object({
  transaction_info: object({
    type: oneOf(['authorization', 'payment'], 'authorization, or payment: authorized and captured in one'),
    reference_code: referenceCode,
  }),
  card,
  order_info: object({
    amount_details: amountDetails,
    installments: optional(integer({ min: 1, max: LIMITS.installments }, 'Number of installments')),
    descriptor: optional(plainText(LIMITS.descriptorCharacters, 'What the cardholder reads on the statement')),
    line_items: lineItems,
  }),
  cardholder_info: party('The cardholder; required unless bill_to is given'),
  bill_to: party('The billing party; required unless cardholder_info is given'),
  device_info: optional(
    object({
      ip_address: optional(plainText(LIMITS.partyCharacters, 'Address of the cardholder’s device')),
      fingerprint_session_id: optional(plainText(LIMITS.partyCharacters, 'Session of the device fingerprint')),
    }),
  ),
  line_items: lineItems,
});

function toNewPayment(body_: ValueOf<typeof body>): NewPayment {
  const { transaction_info: info, order_info: order, cardholder_info: cardholder, bill_to: billTo } = body_;
  if (cardholder === undefined && billTo === undefined)
    throw new FieldMismatch(explain('payerRequired'), 'cardholder_info');
  const { total_amount: total, currency, items_amount: items } = order.amount_details;
  const path = 'order_info.amount_details';
  return {
    card: {
      number: body_.card.number,
      expiry: body_.card.expiration_date,
      securityCode: body_.card.security_code,
      holder: body_.card.holder,
    },
    order: {
      capture: info.type === 'payment',
      amount: toMoney(total, currency, `${path}.total_amount`),
      itemsAmount:
        items === undefined ? undefined : toMoney(items, currency, `${path}.items_amount`, { mayBeZero: true }),
      referenceCode: info.reference_code,
      installments: order.installments,
      descriptor: order.descriptor,
      cardholder: toParty(cardholder),
      billTo: toParty(billTo),
      ipAddress: body_.device_info?.ip_address,
      fingerprintSessionId: body_.device_info?.fingerprint_session_id,
      lineItems: body_.line_items ?? order.line_items ?? [],
    },
  };
}

/** POST /v1/payments (interface: Payments). */
export const createPayment = defineEndpoint({
  method: 'POST',
  path: '/v1/payments',
  family: 'payments',
  tag: 'Payments',
  operationId: 'createPayment',
  permission: 'payments:write',
  summary: 'Authorize, or pay',
  description:
    'Type authorization holds the amount; type payment also captures it and makes a permanent token of a card that came in clear. Each card field is a value or exactly one placeholder. A declined payment is 200 with status Fail; a refused request is 400 and makes no transaction. While the outcome is unknown the payment is Opened, and is resolved by itself.',
  body,
  data: paymentResponse,
  failures: [
    'unknown_token',
    'unknown_capture',
    'invalid_placeholder',
    'nothing_tokenized',
    'token_space_full',
    'operation_in_progress',
  ],
  example: {
    body: {
      transaction_info: { type: 'authorization', reference_code: 'A-1001' },
      card: { number: '4111111111111111', expiration_date: '12/2029', security_code: '123', holder: 'Ana Lopez' },
      order_info: { amount_details: { total_amount: 125.5, currency: 'USD' } },
      bill_to: { first_name: 'Ana', last_name: 'Lopez', country: 'US', email: 'ana@example.com' },
    },
    data: responseExample,
  },
  run: paymentHandler<ValueOf<typeof body>>(({ services, transaction, tenant, key, body: requested }) => {
    const caller = { tenant, permissions: key.permissions, key: { id: key.id, name: key.name } };
    return services.payments.intend(transaction, caller, toNewPayment(requested));
  }),
});
