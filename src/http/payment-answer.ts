import { iso8601 } from '../kernel/clock.ts';
import { exactNumber } from '../kernel/json.ts';
import { formatNumber } from '../kernel/money.ts';
import type { Operation, OperationState, Payment } from '../payments/payment.ts';
import type { OperationType } from '../payments/processor.ts';
import type { Pair } from '../payments/settle.ts';
import { REASONS, RESPONSE_CODES, type Reason, STATUSES } from '../payments/transitions.ts';
import { object, optional, type ReadBy, reply } from './fields.ts';

/** Answers about payments; they say their whole envelope (decisions: Payments). */

const OPERATIONS = ['authorization', 'payment', 'capture', 'payment_refund', 'authorization_void', 'expiry'] as const;
const RESULTS = { in_progress: 'in_progress', accepted: 'succeeded', refused: 'failed' } as const;

const transactionInfo = object({
  type: reply.text('What is answered: the type of the request with _response, or transaction_details_response'),
  operation: optional(reply.word(OPERATIONS, 'Lookup only: what this transaction is; expiry for what the clock ended')),
  operation_status: optional(reply.word(Object.values(RESULTS), 'Lookup only: how this transaction went')),
  reference_code: optional(reply.text('The caller’s reference; absent when none was given')),
  transaction_id: reply.text('Id of this transaction'),
  payment_id: reply.text('Id of the payment: the transaction_id of its authorization or payment'),
  request_id: reply.text('Id that the processor gave to this transaction; ours until it gives one'),
  status: reply.word(STATUSES, 'How the payment stands'),
  reason: optional(reply.word([...REASONS.Declined, ...REASONS.ProcessorError], 'Why it was declined or failed')),
  response_code: optional(reply.text('Response code; absent while there is none')),
  reconciliation_id: reply.text('Id for reconciliation'),
  created_at: reply.time('When this transaction was requested'),
});

const amountDetails = object({
  total_amount: optional(reply.amount('Capture and refund: amount of this transaction')),
  authorized_amount: optional(reply.amount('What was authorized; 0 until then')),
  collected_amount: optional(reply.amount('Lookup: what was captured')),
  refunded_amount: optional(reply.amount('Refund and lookup: what was given back so far')),
  currency: reply.text('ISO 4217 code'),
});

/** Of all endpoints of payments. */
export const paymentAnswer = object({
  status: reply.word(
    ['success', 'Fail', 'Error'],
    'success: approved or accepted; Fail: declined; Error: processor error, or outcome of a capture, refund or void unknown',
  ),
  message: reply.text('Short description'),
  data: object({
    transaction_info: transactionInfo,
    order_info: object({ amount_details: amountDetails }),
    processor_info: object({
      approval_code: optional(reply.text('Authorization code, when the processor returns it')),
      transaction_id: optional(reply.text('Id given by the processor’s network or acquirer')),
      avs: optional(object({ code: reply.text('Result of address verification'), codeRaw: reply.text('As it came') })),
    }),
    card: optional(
      object({
        token: reply.text('Permanent token of the card that the payment brought in clear'),
        card: reply.text('Card number, first 6 and last 4 digits'),
        scheme: reply.integer('Format of the token'),
      }),
    ),
  }),
});

type Answer = ReadBy<typeof paymentAnswer>;

/** As messages name the operations. */
const NAMES: Readonly<Record<OperationType, string>> = {
  authorization: 'Authorization',
  payment: 'Payment',
  capture: 'Capture',
  payment_refund: 'Refund',
  authorization_void: 'Authorization void',
  expiry: 'Expiry',
};

const isFirst = ({ payment, operation }: Pair): boolean => operation.id === payment.id;

function envelopeOf(pair: Pair): Pick<Answer, 'status' | 'message'> {
  const { type, state, failed } = pair.operation;
  const name = NAMES[type];
  if (state === 'refused')
    return failed?.status === 'Declined'
      ? { status: 'Fail', message: `${name} declined` }
      : { status: 'Error', message: `${name} failed at the processor` };
  if (state === 'in_progress' && !isFirst(pair)) return { status: 'Error', message: 'Outcome unknown, being resolved' };
  const isOpen = isFirst(pair) && pair.payment.status === 'Opened';
  return { status: 'success', message: isOpen ? `${name} in progress` : `${name} successful` };
}

/** Why this transaction failed; a first one that was accepted may still be declined. */
export const reasonOf = (pair: Pair): Reason | undefined =>
  pair.operation.failed?.reason ?? (isFirst(pair) ? pair.payment.reason : undefined);

function infoOf(pair: Pair): Omit<Answer['data']['transaction_info'], 'type'> {
  const { payment, operation } = pair;
  const { particulars, state } = operation;
  const code = reasonOf(pair) ?? (state === 'accepted' ? 'approved' : undefined);
  const own = code && RESPONSE_CODES[code];
  // Never decided: whatever was accepted later is another operation.
  const isOpen = operation.id === payment.id && ['Opened', 'Cancelled'].includes(payment.status);
  return {
    reference_code: operation.referenceCode ?? payment.referenceCode,
    transaction_id: operation.id,
    payment_id: payment.id,
    request_id: particulars.processorId ?? operation.id,
    status: payment.status,
    reason: payment.reason,
    response_code: particulars.responseCode ?? (isOpen ? undefined : own),
    reconciliation_id: particulars.reconciliationId ?? operation.id,
    created_at: iso8601(operation.createdAt),
  };
}

const processorInfoOf = ({ particulars }: Operation): Answer['data']['processor_info'] => ({
  approval_code: particulars.approvalCode,
  transaction_id: particulars.networkId,
  avs: particulars.avs,
});

const amountOf = ({ currency }: Payment, minor: bigint) => exactNumber(formatNumber({ minor, currency }));

/** Which amounts the answer of each operation has. */
function amountsOf({ payment, operation }: Pair): Answer['data']['order_info']['amount_details'] {
  const { currency } = payment;
  const total = amountOf(payment, operation.amount);
  if (operation.type === 'capture') return { total_amount: total, currency };
  if (operation.type === 'payment_refund')
    return { total_amount: total, refunded_amount: amountOf(payment, payment.refunded), currency };
  return { authorized_amount: amountOf(payment, payment.authorized), currency };
}

/** The answer of an operation. */
export function renderOperation(pair: Pair): Answer {
  const { payment, operation } = pair;
  const { token } = payment.card;
  return {
    ...envelopeOf(pair),
    data: {
      transaction_info: { type: `${operation.type}_response`, ...infoOf(pair) },
      order_info: { amount_details: amountsOf(pair) },
      processor_info: processorInfoOf(operation),
      ...(isFirst(pair) && token !== undefined && { card: { ...token, card: payment.card.truncated } }),
    },
  };
}

/** How the transaction went. A payment that is Opened has not been decided, also when the processor has accepted it. */
export function stateOf(pair: Pair): OperationState {
  if (reasonOf(pair) !== undefined) return 'refused';
  const isUndecided = isFirst(pair) && pair.payment.status === 'Opened';
  return isUndecided ? 'in_progress' : pair.operation.state;
}

/** The answer of a lookup: the payment as it stands now. */
export function renderDetails(pair: Pair): Answer {
  const { payment, operation } = pair;
  const { authorized, collected, refunded, currency, expired } = payment;
  return {
    status: 'success',
    message: 'Get Transaction Details successful',
    data: {
      transaction_info: {
        type: 'transaction_details_response',
        operation: expired ? 'expiry' : operation.type,
        operation_status: RESULTS[stateOf(pair)],
        ...infoOf(pair),
      },
      order_info: {
        amount_details: {
          authorized_amount: amountOf(payment, authorized),
          collected_amount: amountOf(payment, collected),
          refunded_amount: amountOf(payment, refunded),
          currency,
        },
      },
      processor_info: processorInfoOf(operation),
    },
  };
}

export const answerExample = {
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

/** The example of an operation behind that authorization. */
export const answerFor = (
  type: OperationType,
  message: string,
  status: string,
  amounts: Readonly<Record<string, number | string>>,
) => {
  const { transaction_info: first, processor_info: processor } = answerExample.data;
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
