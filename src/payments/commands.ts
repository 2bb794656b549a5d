import type { Currency } from '../kernel/currency.ts';
import { Failure, invalidField } from '../kernel/failure.ts';
import { LIMITS } from '../kernel/limits.ts';
import { parseAmount } from '../kernel/money.ts';
import { explain } from '../kernel/reasons.ts';
import type { Payment } from './payment.ts';
import { isAllowedTransition } from './transitions.ts';

/** Requests to change a payment, and the states that allow them. Pure. */

/** A partial amount as the caller wrote it. */
export interface RequestedAmount {
  readonly text: string;
  /** Absent: that of the payment. */
  readonly currency: Currency | undefined;
}

/** A command of a caller, or of the clock, for a payment. */
export type Command = (
  | { readonly type: 'capture' | 'payment_refund'; readonly amount: RequestedAmount | undefined }
  | { readonly type: 'authorization_void' | 'expiry' }
) & {
  /**
   * The number of operations of the payment that the user saw. It is compared each time the command is validated, so
   * that a second click, or a repeat after a lost response, never executes twice.
   */
  readonly expectedOperations?: number | undefined;
};

const GROUPS = { capture: 'capture_info', payment_refund: 'refund_info' } as const;

/**
 * Returns the amount of the operation that the command would start. Throws `changed_meanwhile` when another one has
 * started since the user read the payment, `operation_in_progress` while another one is in progress, `payment_state`
 * when the transition table has no such row, `invalid_field` for an amount beyond the available one.
 */
export function validateCommand(payment: Payment, command: Command, can: { readonly partialCapture: boolean }): bigint {
  if (command.expectedOperations !== undefined && command.expectedOperations !== payment.operationCount)
    throw new Failure('changed_meanwhile');
  if (payment.operationInProgress !== undefined) throw new Failure('operation_in_progress', explain('paymentBusy'));
  assertTransitionAllowed(payment, command);
  if (payment.operationCount >= LIMITS.operationsPerPayment && command.type !== 'expiry')
    throw new Failure('payment_state', explain('paymentOperations'), { field: 'id' });
  switch (command.type) {
    case 'capture':
      return amountWithin(payment, command.amount, payment.authorized, GROUPS.capture, can.partialCapture);
    case 'payment_refund':
      return amountWithin(payment, command.amount, payment.collected - payment.refunded, GROUPS.payment_refund, true);
    default:
      return payment.status === 'Authorized' ? payment.authorized : payment.amount;
  }
}

/** The status of a payment after each command succeeds. */
const LEADS_TO = {
  capture: { by: 'capture', to: ['Collected'] },
  payment_refund: { by: 'refund', to: ['Collected'] },
  authorization_void: { by: 'void', to: ['Voided', 'Cancelled'] },
  expiry: { by: 'expiry', to: ['Voided', 'Cancelled'] },
} as const;

const DISALLOWED = {
  capture: 'cannotCapture',
  payment_refund: 'cannotRefund',
  authorization_void: 'cannotVoid',
  expiry: 'cannotExpire',
} as const;

function assertTransitionAllowed({ status, collected, refunded }: Payment, { type }: Command): void {
  const { by, to } = LEADS_TO[type];
  if (!to.some((next) => isAllowedTransition(status, next, by)))
    throw new Failure('payment_state', explain(DISALLOWED[type], { status }), { field: 'id' });
  if (type === 'payment_refund' && refunded >= collected)
    throw new Failure('payment_state', explain('paymentRefunded'), { field: 'id' });
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
    throw invalidField(`${field}.currency`, 'amountCurrency');
  const minor = parseAmount(asked.text, currency);
  if (minor === undefined || minor === 0n)
    throw invalidField(`${field}.total_amount`, 'amount', { digits: LIMITS.amountIntegerDigits });
  if (minor > available) throw invalidField(`${field}.total_amount`, 'amountTooMuch');
  if (!inParts && minor !== available) throw invalidField(`${field}.total_amount`, 'amountWhole');
  return minor;
}

/** The amounts, in minor units, of the operations that a payment allows now; undefined when not allowed. */
interface AllowedOperations {
  readonly capture: bigint | undefined;
  readonly refund: bigint | undefined;
  readonly void: bigint | undefined;
}

/** Returns the result of `validateCommand` for each command, for users who view a payment. */
export function allowedOperations(payment: Payment, can: { readonly partialCapture: boolean }): AllowedOperations {
  const admitted = (command: Command): bigint | undefined => {
    try {
      return validateCommand(payment, command, can);
    } catch (error) {
      if (error instanceof Failure) return undefined;
      throw error;
    }
  };
  return {
    capture: admitted({ type: 'capture', amount: undefined }),
    refund: admitted({ type: 'payment_refund', amount: undefined }),
    void: admitted({ type: 'authorization_void' }),
  };
}
