import {
  anyString,
  integer,
  list,
  object,
  oneOf,
  optional,
  optionalNotNull,
  output,
  plainText,
} from '../../src/http/fields.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { FAILURE_CAUSES, STATUSES } from '../../src/payments/transitions.ts';
import { resultOrApproval } from './approvals.ts';
import { define, orNull, recordCount, sortOrder } from './definition.ts';

/** Payments. Amounts are decimal texts with the minor unit of the currency, such as 12.50. */

const PAYMENT_TYPES = ['authorization', 'payment'] as const;
const OPERATION_TYPES = [
  'authorization',
  'payment',
  'capture',
  'payment_refund',
  'authorization_void',
  'expiry',
] as const;

const MANUAL_OUTCOMES = ['accepted', 'refused'] as const;

const failureCause = orNull(output.oneOf(FAILURE_CAUSES, 'Where a ConnectionRejected happened'));

const summary = {
  id: output.text('transaction_id'),
  type: orNull(output.oneOf(PAYMENT_TYPES, 'Type; null when the record cannot be opened')),
  status: output.oneOf(STATUSES, 'Status'),
  reason: output.nullableText('Reason of a decline or failure'),
  failure_cause: failureCause,
  amount: output.text('Requested amount'),
  current_amount: output.text('Collected less refunded; before that authorized or requested'),
  currency: output.text('Currency'),
  card: output.text('Truncated card number'),
  reference_code: output.nullableText("Merchant's reference"),
  processor: output.text('Processor'),
  is_partly_captured: output.bool('Less was collected than was authorized'),
  refund: output.oneOf(['none', 'part', 'whole'] as const, 'Refunded share of the collected amount'),
  is_in_doubt: output.bool('The outcome of an operation is not known'),
  is_altered: output.bool('The record cannot be opened: it was changed in the database; amounts and card are empty'),
  created_at: output.time('Start'),
};

const text = (what: string) => optional(plainText(LIMITS.referenceCodeCharacters, what));

/** A search text may be a card number by mistake, so it is sent in the body and not in the URL. */
export const listPayments = define({
  method: 'POST',
  path: '/api/accounts/:account/:environment/payments/search',
  access: 'payments:read',
  allowedWhileSuspended: true,
  body: object({
    status: optional(oneOf(STATUSES, 'Status')),
    type: optional(oneOf(PAYMENT_TYPES, 'Type')),
    processor: text('Processor'),
    currency: text('Currency'),
    amount_from: text('Least amount in any currency, as 12.50: requested, collected, or collected less refunded'),
    amount_to: text('Greatest amount in any currency'),
    reference_code: text('Beginning of the reference, in either case'),
    last_four: text('Last four digits of the card'),
    id: text('transaction_id, the id of the processor or our reference there; with it the other filters are ignored'),
    in_doubt: optional(oneOf(['yes'] as const, 'Only payments in doubt')),
    from: text('ISO 8601, from then on'),
    to: text('ISO 8601, before'),
    order: sortOrder,
    cursor: optional(anyString('Cursor of the previous page')),
  }),
  data: object({
    payments: output.list(object(summary), 'In the requested order'),
    next: output.nullableText('Cursor of the next page; null at the end'),
    count: recordCount,
    searched_back_to: output.nullableTime('Time up to which the search has read in its order; null at the end'),
  }),
});

const requester = object({
  type: output.oneOf(['key', 'person', 'operator', 'service', 'buyer', 'unknown'] as const, 'Type'),
  id: output.nullableText('Id of the key or user'),
  name: output.nullableText('Present name; null when the key or user no longer exists'),
});

const historyEntry = object({
  type: output.oneOf(
    ['in-doubt', 'taken-over', 'changed', 'confirmed', 'reversed', 'superseded', 'resolved-manually'] as const,
    'Event',
  ),
  at: output.time('Time'),
  problem: output.nullableText('Why the last inquiry had no result'),
  inquiries: orNull(output.integer('Inquiries until then')),
  status: output.nullableText('Status of the payment afterwards'),
  outcome: orNull(output.oneOf(MANUAL_OUTCOMES, 'Outcome that a user set')),
  by: orNull(requester),
  reason: output.nullableText('Reason that the user gave'),
});

const operation = object({
  id: output.text('transaction_id of the operation'),
  type: output.oneOf(OPERATION_TYPES, 'Action'),
  state: output.oneOf(['in_progress', 'accepted', 'refused'] as const, 'Outcome'),
  amount: output.text('Of the operation'),
  reference_code: output.nullableText("Merchant's reference"),
  operation_ref: output.text('Our reference of it at the processor'),
  status_after: output.nullableText('Status of the payment afterwards'),
  reason: output.nullableText('Reason of a decline or failure'),
  failure_cause: failureCause,
  response_code: output.nullableText("Processor's response code"),
  approval_code: output.nullableText('Approval code'),
  processor_id: output.nullableText("Processor's id"),
  reconciliation_id: output.nullableText('For reconciliation'),
  avs: output.nullableText('Address verification'),
  created_at: output.time('Start'),
  requested_by: orNull(requester),
  history: output.list(historyEntry, 'What became of it beside its first response, in the order of time'),
});

const payment = object({
  ...summary,
  authorized_amount: output.text('Authorized'),
  collected_amount: output.text('Collected'),
  refunded_amount: output.text('Refunded'),
  token: output.nullableText('Token of the card'),
  expires_at: output.nullableTime('Expiry'),
  operations: output.list(operation, 'In the order of time'),
  unknown_outcome: orNull(
    object({
      transaction_id: output.text('Operation whose outcome is unknown'),
      operation: output.oneOf(OPERATION_TYPES, 'Action'),
      since: output.time('Start'),
      inquiries: output.integer('Inquiries so far'),
      problem: output.nullableText('Why the last one had no result'),
      next_inquiry_at: output.nullableTime('Next inquiry of the service'),
      check_at: output.time('First time at which a user may check'),
    }),
  ),
  /** Operations that the payment allows now, whatever the role of the caller. */
  can: object({
    capture: output.bool('Capture'),
    capture_in_parts: output.bool('Partial capture'),
    refund: output.bool('Refund'),
    void: output.bool('Void'),
    /** Decimal text. */
    capturable: output.text('Amount that can be captured'),
    refundable: output.text('Amount that can be refunded'),
  }),
  /** Sent back with an operation, so that a stale page starts nothing twice. */
  expected_operations: output.integer('Operations started so far'),
});

export const showPayment = define({
  method: 'GET',
  path: '/api/accounts/:account/:environment/payments/:id',
  access: 'payments:read',
  data: payment,
});

const operationFields = {
  expected_operations: integer({ min: 0, max: Number.MAX_SAFE_INTEGER }, 'Value that was read'),
  reference_code: text('Reference'),
};
const amount = optionalNotNull(plainText(LIMITS.referenceCodeCharacters, 'As 12.50; absent: the remaining amount'));

const path = '/api/accounts/:account/:environment/payments/:id';

export const capturePaymentManually = define({
  method: 'POST',
  path: `${path}/capture`,
  access: 'payments:operate',
  stepUp: true,
  dualControl: 'payment.capture',
  takesIdempotencyKey: true,
  body: object({ ...operationFields, amount }),
  data: resultOrApproval(payment),
});

export const refundPaymentManually = define({
  method: 'POST',
  path: `${path}/refund`,
  access: 'payments:operate',
  stepUp: true,
  dualControl: 'payment.refund',
  takesIdempotencyKey: true,
  body: object({ ...operationFields, amount }),
  data: resultOrApproval(payment),
});

export const voidPaymentManually = define({
  method: 'POST',
  path: `${path}/void`,
  access: 'payments:operate',
  stepUp: true,
  dualControl: 'payment.void',
  takesIdempotencyKey: true,
  body: object(operationFields),
  data: resultOrApproval(payment),
});

export const OPERATION_KINDS = ['capture', 'refund', 'void'] as const;

/** Returns what an operation on several payments would do, for one confirmation. It starts nothing. */
export const previewOperations = define({
  method: 'POST',
  path: '/api/accounts/:account/:environment/payments/preview',
  access: 'payments:operate',
  largeBody: true,
  body: object({
    kind: oneOf(OPERATION_KINDS, 'Operation'),
    ids: list(plainText(LIMITS.searchCharacters, 'transaction_id'), { min: 1, max: LIMITS.paymentsPerBatch }),
  }),
  data: object({
    payments: output.list(
      object({
        id: output.text('transaction_id'),
        amount: output.text('Amount of the operation; empty when it is not possible'),
        currency: output.text('Currency'),
        card: output.text('Truncated card number'),
        expected_operations: output.integer('Sent back with the operation'),
        refusal: output.nullableExplanation('Why the operation is not possible; null when it is'),
      }),
      'In the order of the request',
    ),
  }),
});

/** Has the processor inquired about the unknown outcome now, as recovery would at its time. */
export const checkPayment = define({
  method: 'POST',
  path: `${path}/check`,
  access: 'payments:operate',
  data: payment,
});

/** The statement of a user about an unknown outcome, by members and operators alike. */
export const resolution = object({
  transaction_id: plainText(LIMITS.searchCharacters, 'Operation whose outcome is unknown'),
  outcome: oneOf(MANUAL_OUTCOMES, 'Outcome at the processor'),
  reason: plainText(LIMITS.noteCharacters, 'What the processor shows'),
});

export const resolvePayment = define({
  method: 'POST',
  path: `${path}/resolve`,
  access: 'payments:resolve',
  stepUp: true,
  dualControl: 'payment.resolve',
  body: resolution,
  data: resultOrApproval(payment),
});
