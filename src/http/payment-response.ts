import { formatIso8601 } from '../kernel/clock.ts';
import { exactNumber } from '../kernel/json.ts';
import { formatNumber } from '../kernel/money.ts';
import type { Operation, OperationState, Payment, PaymentSnapshot } from '../payments/payment.ts';
import type { OperationType } from '../payments/processor.ts';
import { REASONS, RESPONSE_CODES, type Reason, STATUSES } from '../payments/transitions.ts';
import { object, optional, output, type ValueOf } from './fields.ts';

/** Responses about payments; they write their complete envelope (decisions: Payments). */

const OPERATIONS = ['authorization', 'payment', 'capture', 'payment_refund', 'authorization_void', 'expiry'] as const;
const OPERATION_STATUSES = { in_progress: 'in_progress', accepted: 'succeeded', refused: 'failed' } as const;

const transactionInfo = object({
  type: output.text('What is answered: the type of the request with _response, or transaction_details_response'),
  operation: optional(
    output.oneOf(OPERATIONS, 'Lookup only: what this transaction is; expiry for what the clock ended'),
  ),
  operation_status: optional(output.oneOf(Object.values(OPERATION_STATUSES), 'Lookup only: how this transaction went')),
  reference_code: optional(output.text('The caller’s reference; absent when none was given')),
  transaction_id: output.text('Id of this transaction'),
  payment_id: output.text('Id of the payment: the transaction_id of its authorization or payment'),
  request_id: output.text('Id that the processor gave to this transaction; ours until it gives one'),
  status: output.oneOf(STATUSES, 'How the payment stands'),
  reason: optional(output.oneOf([...REASONS.Declined, ...REASONS.ProcessorError], 'Why it was declined or failed')),
  response_code: optional(output.text('Response code; absent while there is none')),
  reconciliation_id: output.text('Id for reconciliation'),
  created_at: output.time('When this transaction was requested'),
});

const amountDetails = object({
  total_amount: optional(output.amount('Capture and refund: amount of this transaction')),
  authorized_amount: optional(output.amount('What was authorized; 0 until then')),
  collected_amount: optional(output.amount('Lookup: what was captured')),
  refunded_amount: optional(output.amount('Refund and lookup: what was given back so far')),
  currency: output.text('ISO 4217 code'),
});

/** Members of all endpoints of payments. */
export const paymentResponse = object({
  status: output.oneOf(
    ['success', 'Fail', 'Error'],
    'success: approved or accepted; Fail: declined; Error: processor error, or outcome of a capture, refund or void unknown',
  ),
  message: output.text('Short description'),
  data: object({
    transaction_info: transactionInfo,
    order_info: object({ amount_details: amountDetails }),
    processor_info: object({
      approval_code: optional(output.text('Authorization code, when the processor returns it')),
      transaction_id: optional(output.text('Id given by the processor’s network or acquirer')),
      avs: optional(
        object({ code: output.text('Result of address verification'), codeRaw: output.text('As it came') }),
      ),
    }),
    card: optional(
      object({
        token: output.text('Permanent token of the card that the payment brought in clear'),
        card: output.text('Card number, first 6 and last 4 digits'),
        scheme: output.integer('Format of the token'),
      }),
    ),
  }),
});

type PaymentResponse = ValueOf<typeof paymentResponse>;

/** The names of the operations in messages. */
const OPERATION_NAMES: Readonly<Record<OperationType, string>> = {
  authorization: 'Authorization',
  payment: 'Payment',
  capture: 'Capture',
  payment_refund: 'Refund',
  authorization_void: 'Authorization void',
  expiry: 'Expiry',
};

/** An operation with its payment. */
type OperationOfPayment = Pick<PaymentSnapshot, 'payment' | 'operation'>;

const isFirst = ({ payment, operation }: OperationOfPayment): boolean => operation.id === payment.id;

function formatEnvelope(pair: OperationOfPayment): Pick<PaymentResponse, 'status' | 'message'> {
  const { type, state, failure: failed } = pair.operation;
  const name = OPERATION_NAMES[type];
  if (state === 'refused')
    return failed?.status === 'Declined'
      ? { status: 'Fail', message: `${name} declined` }
      : { status: 'Error', message: `${name} failed at the processor` };
  if (state === 'in_progress' && !isFirst(pair)) return { status: 'Error', message: 'Outcome unknown, being resolved' };
  // Its outcome was unknown, and then the processor had cancelled it.
  if (isFirst(pair) && pair.payment.status === 'Cancelled')
    return { status: 'Error', message: `${name} cancelled at the processor` };
  const isOpen = isFirst(pair) && pair.payment.status === 'Opened';
  return { status: 'success', message: isOpen ? `${name} in progress` : `${name} successful` };
}

/** The reason why this transaction failed; a first one that was accepted may still be declined. */
export const findReason = (pair: OperationOfPayment): Reason | undefined =>
  pair.operation.failure?.reason ?? (isFirst(pair) ? pair.payment.reason : undefined);

function formatInfo(pair: OperationOfPayment): Omit<PaymentResponse['data']['transaction_info'], 'type'> {
  const { payment, operation } = pair;
  const { details: particulars, state } = operation;
  const code = findReason(pair) ?? (state === 'accepted' ? 'approved' : undefined);
  const own = code && RESPONSE_CODES[code];
  // Never decided: anything accepted later is another operation, and the code of a reversal is not that of an approval.
  const isOpen = isFirst(pair) && payment.status === 'Opened';
  const isCancelled = isFirst(pair) && payment.status === 'Cancelled';
  return {
    reference_code: operation.referenceCode ?? payment.referenceCode,
    transaction_id: operation.id,
    payment_id: payment.id,
    request_id: particulars.processorId ?? operation.id,
    status: payment.status,
    reason: payment.reason,
    response_code: isCancelled ? undefined : (particulars.responseCode ?? (isOpen ? undefined : own)),
    reconciliation_id: particulars.reconciliationId ?? operation.id,
    created_at: formatIso8601(operation.createdAt),
  };
}

const formatProcessorInfo = ({ details: particulars }: Operation): PaymentResponse['data']['processor_info'] => ({
  approval_code: particulars.approvalCode,
  transaction_id: particulars.networkId,
  avs: particulars.avs,
});

const formatAmount = ({ currency }: Payment, minor: bigint) => exactNumber(formatNumber({ minor, currency }));

/** The amounts in the response of each operation. */
function formatAmounts({
  payment,
  operation,
}: OperationOfPayment): PaymentResponse['data']['order_info']['amount_details'] {
  const { currency } = payment;
  const total = formatAmount(payment, operation.amount);
  if (operation.type === 'capture') return { total_amount: total, currency };
  if (operation.type === 'payment_refund')
    return { total_amount: total, refunded_amount: formatAmount(payment, payment.refunded), currency };
  return { authorized_amount: formatAmount(payment, payment.authorized), currency };
}

/** Returns the response of an operation. */
export function formatOperation(pair: OperationOfPayment): PaymentResponse {
  const { payment, operation } = pair;
  const { token } = payment.card;
  return {
    ...formatEnvelope(pair),
    data: {
      transaction_info: { type: `${operation.type}_response`, ...formatInfo(pair) },
      order_info: { amount_details: formatAmounts(pair) },
      processor_info: formatProcessorInfo(operation),
      ...(isFirst(pair) && token !== undefined && { card: { ...token, card: payment.card.truncated } }),
    },
  };
}

/** The result of the transaction. An Opened payment is undecided, also when the processor has accepted it. */
export function operationState(pair: OperationOfPayment): OperationState {
  if (findReason(pair) !== undefined) return 'refused';
  const isUndecided = isFirst(pair) && pair.payment.status === 'Opened';
  return isUndecided ? 'in_progress' : pair.operation.state;
}

/** Returns the response of a lookup: the payment as it is now. */
export function formatDetails(pair: OperationOfPayment): PaymentResponse {
  const { payment, operation } = pair;
  const { authorized, collected, refunded, currency, isExpired: expired } = payment;
  return {
    status: 'success',
    message: 'Get Transaction Details successful',
    data: {
      transaction_info: {
        type: 'transaction_details_response',
        operation: expired ? 'expiry' : operation.type,
        operation_status: OPERATION_STATUSES[operationState(pair)],
        ...formatInfo(pair),
      },
      order_info: {
        amount_details: {
          authorized_amount: formatAmount(payment, authorized),
          collected_amount: formatAmount(payment, collected),
          refunded_amount: formatAmount(payment, refunded),
          currency,
        },
      },
      processor_info: formatProcessorInfo(operation),
    },
  };
}

export const responseExample = {
  status: 'success',
  message: 'Authorization successful',
  data: {
    transaction_info: {
      type: 'authorization_response',
      reference_code: 'A-1001',
      transaction_id: 'aahlqkczgvaaatqbhwzmfnrcx',
      payment_id: 'aahlqkczgvaaatqbhwzmfnrcx',
      request_id: 'aahlqkczgwxrktmyjqpdhbnvc',
      status: 'Authorized',
      response_code: '00',
      reconciliation_id: 'RECXRKTMYJQPDHBNVC',
      created_at: '2026-01-15T10:30:00.000Z',
    },
    order_info: { amount_details: { authorized_amount: 125.5, currency: 'USD' } },
    processor_info: {
      approval_code: '482913',
      transaction_id: 'NETXRKTMYJQPDHBNVC',
      avs: { code: 'Y', codeRaw: 'Y' },
    },
  },
};

/** The example of an operation after that authorization. */
export const operationExample = (
  type: OperationType,
  message: string,
  status: string,
  amounts: Readonly<Record<string, number | string>>,
) => {
  const { transaction_info: first, processor_info: processor } = responseExample.data;
  const info = { ...first, type: `${type}_response`, transaction_id: 'aahlqkdabcaaahvnrtpxmbqsd', status };
  return {
    status: 'success',
    message,
    data: {
      transaction_info: { ...info, request_id: 'aahlqkdabdknvxwqzrtmchfpb' },
      order_info: { amount_details: amounts },
      processor_info: { approval_code: '193045', transaction_id: processor.transaction_id },
    },
  };
};
