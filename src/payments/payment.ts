import type { Currency } from '../kernel/currency.ts';
import { Failure, invalid } from '../kernel/failure.ts';
import { LIMITS } from '../kernel/limits.ts';
import { parseAmount } from '../kernel/money.ts';
import type { OperationType, ProcessorDetails } from './processor.ts';
import { type FailureStatus, isAllowedTransition, type Reason, type Status } from './transitions.ts';

/** A payment and its operations, and what may be asked of them. Pure. */

export type PaymentType = 'authorization' | 'payment';

export interface Payment {
  /** That of its first operation. */
  readonly id: string;
  readonly type: PaymentType;
  readonly processor: string;
  readonly status: Status;
  readonly reason: Reason | undefined;
  readonly currency: Currency;
  /** What was asked for; all amounts in minor units. */
  readonly amount: bigint;
  readonly authorized: bigint;
  readonly collected: bigint;
  readonly refunded: bigint;
  readonly referenceCode: string | undefined;
  readonly card: PaymentCard;
  /** Captures whose sensitive authentication data is to be erased once the authorization is answered. */
  readonly captureIds: readonly string[];
  /** The operation under way. */
  readonly operationInProgress: string | undefined;
  /** Operations begun so far. */
  readonly operationCount: number;
  /** How many inquiries in a row found nothing of it. */
  readonly consecutiveNotFound: number;
  /** The operation under way is being undone, or a void repeated, by recovery: from then on nothing else may end it. */
  readonly reversalStarted?: true | undefined;
  /** Why nobody could say, when that was asked last: a word for operators. */
  readonly lastProblem?: string | undefined;
  /** Operations that have ended here, and about which the processor may have more to say. */
  readonly recheckIds: readonly string[];
  readonly createdAt: number;
  /** When the clock ends it, milliseconds. */
  readonly expiresAt: number | undefined;
  /** The clock has ended it. */
  readonly isExpired: boolean;
}

/** What is kept of the card. */
export interface PaymentCard {
  readonly truncated: string;
  /** Made by a payment that brought the card in clear. */
  readonly token?: { readonly token: string; readonly scheme: number } | undefined;
}

export type OperationState = 'in_progress' | 'accepted' | 'refused';

export interface Operation {
  /** Its `transaction_id`, and our key of it at the processor. */
  readonly id: string;
  readonly paymentId: string;
  readonly type: OperationType;
  readonly state: OperationState;
  readonly amount: bigint;
  readonly referenceCode: string | undefined;
  readonly details: ProcessorDetails;
  /** Why it was refused. */
  readonly failure: FailureStatus | undefined;
  readonly createdAt: number;
  /** How the payment stood when it had ended. */
  readonly stateAfter: PaymentState | undefined;
}

/** An operation before anything of it is sent. */
export const newOperation = (
  id: string,
  now: number,
  payment: Pick<Payment, 'id'>,
  asked: Pick<Operation, 'type' | 'amount' | 'referenceCode'>,
): Operation => ({
  ...asked,
  id,
  paymentId: payment.id,
  state: 'in_progress',
  details: {},
  failure: undefined,
  createdAt: now,
  stateAfter: undefined,
});

/** The first operation as it was begun: the payment tells all of it. */
export const initialOperation = (payment: Payment): Operation => {
  const { id, createdAt, type, amount, referenceCode } = payment;
  return newOperation(id, createdAt, payment, { type, amount, referenceCode });
};

export type PaymentState = Pick<Payment, 'status' | 'reason' | 'authorized' | 'collected' | 'refunded'>;

export const stateOf = ({ status, reason, authorized, collected, refunded }: Payment): PaymentState => ({
  status,
  reason,
  authorized,
  collected,
  refunded,
});

/** A part of a payment as the caller wrote it. */
export interface RequestedAmount {
  readonly text: string;
  /** Absent: that of the payment. */
  readonly currency: Currency | undefined;
}

export const AMOUNT_EXPECTED = `expected an amount above 0 with at most ${LIMITS.amountIntegerDigits} digits before the point and no more places than the currency has`;

/** What a caller, or the clock, wants of a payment. */
export type Command = (
  | { readonly type: 'capture' | 'payment_refund'; readonly amount: RequestedAmount | undefined }
  | { readonly type: 'authorization_void' | 'expiry' }
) & {
  /**
   * How many operations of the payment had begun when a person looked at it. That is compared each time the command is
   * admitted, so that a second click, or a repeat after a lost answer, never does it twice.
   */
  readonly expectedOperations?: number | undefined;
};

const IN_PROGRESS = 'operation in progress: the payment waits for the end of another one';

const GROUPS = { capture: 'capture_info', payment_refund: 'refund_info' } as const;

/**
 * The amount of the operation that the command would begin. Throws `changed_meanwhile` when another one has begun since
 * the person looked, `operation_in_progress` while another one is under
 * way, `payment_state` when the transition table has no such line, `invalid_field` for an amount beyond what there is.
 */
export function validateCommand(payment: Payment, command: Command, can: { readonly partialCapture: boolean }): bigint {
  if (command.expectedOperations !== undefined && command.expectedOperations !== payment.operationCount)
    throw new Failure('changed_meanwhile');
  if (payment.operationInProgress !== undefined) throw new Failure('operation_in_progress', { message: IN_PROGRESS });
  assertTransitionAllowed(payment, command);
  if (payment.operationCount >= LIMITS.operationsPerPayment && command.type !== 'expiry')
    throw new Failure('payment_state', { field: 'id', message: 'the payment has had too many operations' });
  switch (command.type) {
    case 'capture':
      return amountWithin(payment, command.amount, payment.authorized, GROUPS.capture, can.partialCapture);
    case 'payment_refund':
      return amountWithin(payment, command.amount, payment.collected - payment.refunded, GROUPS.payment_refund, true);
    default:
      return payment.status === 'Authorized' ? payment.authorized : payment.amount;
  }
}

/** What each command makes of a payment when it succeeds. */
const LEADS_TO = {
  capture: { by: 'capture', to: ['Collected'] },
  payment_refund: { by: 'refund', to: ['Collected'] },
  authorization_void: { by: 'void', to: ['Voided', 'Cancelled'] },
  expiry: { by: 'expiry', to: ['Voided', 'Cancelled'] },
} as const;

const WORDS = {
  capture: 'captured',
  payment_refund: 'refunded',
  authorization_void: 'voided',
  expiry: 'ended by the clock',
} as const;

function assertTransitionAllowed({ status, collected, refunded }: Payment, { type }: Command): void {
  const { by, to } = LEADS_TO[type];
  if (!to.some((next) => isAllowedTransition(status, next, by)))
    throw new Failure('payment_state', {
      field: 'id',
      message: `the payment is ${status} and cannot be ${WORDS[type]}`,
    });
  if (type === 'payment_refund' && refunded >= collected)
    throw new Failure('payment_state', { field: 'id', message: 'the payment is refunded in full' });
}

function amountWithin(
  { currency }: Payment,
  asked: RequestedAmount | undefined,
  available: bigint,
  group: string,
  inParts: boolean,
): bigint {
  if (asked === undefined) return available;
  const field = `${group}.amount_details`;
  if (asked.currency !== undefined && asked.currency !== currency)
    throw invalid(`${field}.currency`, 'expected the currency of the payment');
  const minor = parseAmount(asked.text, currency);
  if (minor === undefined || minor === 0n) throw invalid(`${field}.total_amount`, AMOUNT_EXPECTED);
  if (minor > available) throw invalid(`${field}.total_amount`, 'more than is left of the payment');
  if (!inParts && minor !== available) throw invalid(`${field}.total_amount`, 'this processor captures in full only');
  return minor;
}
