import { choice, integer, object, omissible, optional, plainText, reference, reply } from '../../src/http/fields.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { STATUSES } from '../../src/payments/transitions.ts';
import { approvalOr } from './approvals.ts';
import { define, orNull } from './definition.ts';

/** Payments. Amounts are decimal text in the currency's places, as 12.50. */

const PAYMENT_TYPES = ['authorization', 'payment'] as const;
const OPERATION_TYPES = [
  'authorization',
  'payment',
  'capture',
  'payment_refund',
  'authorization_void',
  'expiry',
] as const;

const summary = {
  id: reply.text('transaction_id'),
  type: orNull(reply.word(PAYMENT_TYPES, 'Type; null when the record cannot be opened')),
  status: reply.word(STATUSES, 'Status'),
  reason: reply.nullableText('Why it was declined or failed'),
  amount: reply.text('Asked for'),
  currency: reply.text('Currency'),
  card: reply.text('Truncated card number'),
  reference_code: reply.nullableText("Caller's reference"),
  processor: reply.text('Processor'),
  refund: reply.word(['none', 'part', 'whole'] as const, 'How much of what was collected was given back'),
  is_doubtful: reply.truth('The outcome of an operation is not known'),
  is_damaged: reply.truth('The record cannot be opened: it was changed in the database; amounts and card are empty'),
  created_at: reply.time('When it was begun'),
};

const text = (what: string) => optional(plainText(LIMITS.referenceCodeCharacters, what));

/** What is looked for may be a card number by mistake, so it stands in no address. */
export const listPayments = define({
  method: 'POST',
  path: '/api/accounts/:account/:environment/payments/search',
  access: 'payments:read',
  evenSuspended: true,
  body: object({
    status: optional(choice(STATUSES, 'Status')),
    type: optional(choice(PAYMENT_TYPES, 'Type')),
    processor: text('Processor'),
    currency: text('Currency'),
    amount: text('Amount, as 12.50'),
    reference_code: text('Reference, exactly'),
    last_four: text('Last four digits of the card'),
    id: text('transaction_id, or the id of the processor; with it the others are not looked at'),
    doubtful: optional(choice(['yes'] as const, 'Only those whose outcome is not known')),
    from: text('ISO 8601, from then on'),
    to: text('ISO 8601, before'),
    cursor: optional(reference('Where the page before ended')),
  }),
  data: object({
    payments: reply.list(object(summary), 'Newest first'),
    next: reply.nullableText('Where to look on; null at the end'),
    looked_back_to: reply.nullableTime('How far the search has looked; null when it reached the end'),
  }),
});

const operation = object({
  id: reply.text('transaction_id of the operation'),
  type: reply.word(OPERATION_TYPES, 'What was done'),
  state: reply.word(['in_progress', 'accepted', 'refused'] as const, 'How it went'),
  amount: reply.text('Of the operation'),
  reference_code: reply.nullableText("Caller's reference"),
  status_after: reply.nullableText('Status of the payment afterwards'),
  reason: reply.nullableText('Why not'),
  response_code: reply.nullableText("Processor's response code"),
  approval_code: reply.nullableText('Approval code'),
  processor_id: reply.nullableText("Processor's id"),
  reconciliation_id: reply.nullableText('For reconciliation'),
  avs: reply.nullableText('Address verification'),
  created_at: reply.time('When it was begun'),
});

const payment = object({
  ...summary,
  authorized_amount: reply.text('Authorized'),
  collected_amount: reply.text('Collected'),
  refunded_amount: reply.text('Given back'),
  token: reply.nullableText('Token that was made of the card'),
  expires_at: reply.nullableTime('When the clock ends it'),
  operations: reply.list(operation, 'In the order of time'),
  /** What would be allowed now, whoever asks. */
  can: object({
    capture: reply.truth('Capture'),
    capture_in_parts: reply.truth('Less than all'),
    refund: reply.truth('Refund'),
    void: reply.truth('Void'),
    /** Decimal text. */
    capturable: reply.text('What can be captured'),
    refundable: reply.text('What can be refunded'),
  }),
  /** Goes along with an operation, so that nothing is done twice. */
  seen: reply.integer('Operations begun so far'),
});

export const showPayment = define({
  method: 'GET',
  path: '/api/accounts/:account/:environment/payments/:id',
  access: 'payments:read',
  data: payment,
});

const asked = {
  seen: integer({ min: 0, max: Number.MAX_SAFE_INTEGER }, 'As it was read'),
  reference_code: text('Reference'),
};
const amount = omissible(plainText(LIMITS.referenceCodeCharacters, 'As 12.50; absent: all that is left'));

const path = '/api/accounts/:account/:environment/payments/:id';

export const captureByHand = define({
  method: 'POST',
  path: `${path}/capture`,
  access: 'payments:operate',
  stepUp: true,
  byTwo: 'payment.capture',
  body: object({ ...asked, amount }),
  data: approvalOr(payment),
});

export const refundByHand = define({
  method: 'POST',
  path: `${path}/refund`,
  access: 'payments:operate',
  stepUp: true,
  byTwo: 'payment.refund',
  body: object({ ...asked, amount }),
  data: approvalOr(payment),
});

export const voidByHand = define({
  method: 'POST',
  path: `${path}/void`,
  access: 'payments:operate',
  stepUp: true,
  byTwo: 'payment.void',
  body: object(asked),
  data: approvalOr(payment),
});
