import type { Actor } from '../audit/audit.ts';
import type { Currency } from '../kernel/currency.ts';
import type { OperationType, ProcessorDetails } from './processor.ts';
import type { FailureStatus, Reason, Status } from './transitions.ts';

/** A payment, its operations, and the knowledge about their outcome. */

export type PaymentType = 'authorization' | 'payment';

/** A payment. Amounts are in minor units, times in milliseconds. */
export interface Payment {
  /** The id of its first operation. */
  readonly id: string;
  readonly type: PaymentType;
  readonly processor: string;
  readonly status: Status;
  readonly reason: Reason | undefined;
  readonly currency: Currency;
  /** The requested amount. */
  readonly amount: bigint;
  readonly authorized: bigint;
  readonly collected: bigint;
  readonly refunded: bigint;
  readonly referenceCode: string | undefined;
  readonly card: PaymentCard;
  /** Captures whose sensitive authentication data is erased when the authorization has a result. */
  readonly captureIds: readonly string[];
  readonly operationInProgress: string | undefined;
  /** Operations started so far. */
  readonly operationCount: number;
  readonly createdAt: number;
  readonly expiresAt: number | undefined;
  /** True when an expiry ended the payment. */
  readonly isExpired: boolean;
}

/** The stored part of the card. */
export interface PaymentCard {
  readonly truncated: string;
  /** The token that a payment with a card in clear created. */
  readonly token?: { readonly token: string; readonly scheme: number } | undefined;
}

/**
 * The user or key that requested an operation, or resolved one. Users and keys are named by their ids, because their names
 * can change; the user of a command has a name only.
 */
export type Requester = Pick<Actor, 'type' | 'id' | 'name'>;

/** How an unknown outcome was resolved; the words of the audit log. */
export type ResolvedBy = 'confirmed' | 'reversed' | 'superseded';

/**
 * `in-doubt`: the outcome became unknown. `taken-over`: a reversal was started, or a void sent again. `changed`: an inquiry
 * about the completed operation found another status. It is stored as it is, with the operation.
 */
export interface HistoryEntry {
  readonly type: 'in-doubt' | 'taken-over' | 'changed' | ResolvedBy | 'resolved-manually';
  /** Unix time in milliseconds. */
  readonly at: number;
  /** Why the last attempt had no result; with `in-doubt` and resolutions. */
  readonly problem?: string;
  /** The number of inquiries until a resolution. */
  readonly inquiries?: number;
  /** The status of the payment afterwards; with `changed`. */
  readonly status?: Status;
  /** This and the following members belong to manual resolutions. */
  readonly outcome?: 'accepted' | 'refused';
  readonly by?: Requester;
  readonly reason?: string;
}

export type OperationState = 'in_progress' | 'accepted' | 'refused';

export interface Operation {
  /** Its `transaction_id`. */
  readonly id: string;
  readonly paymentId: string;
  readonly type: OperationType;
  readonly state: OperationState;
  readonly amount: bigint;
  readonly referenceCode: string | undefined;
  /** Our reference of it at the processor, fixed before anything of it is sent: `buildOperationRef`. */
  readonly operationRef: string;
  readonly details: ProcessorDetails;
  /** The reason of its refusal. */
  readonly failure: FailureStatus | undefined;
  readonly createdAt: number;
  /** The state of the payment when the operation completed. */
  readonly stateAfter: PaymentState | undefined;
  /** Undefined for operations that were stored before requesters were. */
  readonly requestedBy: Requester | undefined;
  /** In the order of time. Empty for an operation whose outcome was never unknown and never changed later. */
  readonly history: readonly HistoryEntry[];
}

/** How the outcome of a payment's operations is being resolved. Times in milliseconds. */
export interface Reconciliation {
  /** The next time recovery, a notification or an expiry processes the payment. */
  readonly dueAt: number | undefined;
  /** Attempts of recovery since the operation started or completed. */
  readonly attempts: number;
  readonly inDoubtSince: number | undefined;
  /** Why the last attempt had no result: a code for operators. */
  readonly lastProblem: string | undefined;
  /** Inquiries since the operation started or completed, also those that a user requested. */
  readonly inquiries: number;
  readonly lastInquiredAt: number | undefined;
  /** Consecutive inquiries that returned not-found. */
  readonly consecutiveNotFound: number;
  /**
   * True once recovery may have sent a reversal of the operation in progress, or its void again: from then on the response to
   * the first request completes nothing.
   */
  readonly isTakenOver: boolean;
  /** Completed operations about which the processor may report more. The one that was asked about last is the last. */
  readonly recheckIds: readonly string[];
  /**
   * Operations of `recheckIds` that the processor's record contradicted, where no transition covers it. They keep the payment in doubt
   * until the processor states otherwise, or a person resolves them: an inquiry that finds nothing does not unsay the record.
   */
  readonly contradictoryIds: readonly string[];
  /** Operations whose contradiction a person has seen to: no later record of the processor opens it again. */
  readonly closedIds: readonly string[];
}

/** A payment with one of its operations. */
export interface PaymentSnapshot {
  readonly payment: Payment;
  readonly operation: Operation;
  readonly reconciliation: Reconciliation;
}

/** Returns the operation whose outcome a payment in doubt waits for: the one that is inquired about, and that a person resolves. */
export const operationInDoubt = (
  { id, operationInProgress }: Pick<Payment, 'id' | 'operationInProgress'>,
  { contradictoryIds: [contradictory] }: Pick<Reconciliation, 'contradictoryIds'>,
): string => operationInProgress ?? contradictory ?? id;

/** An operation before anything of it is sent. */
export const newOperation = (
  id: string,
  now: number,
  payment: Pick<Payment, 'id'>,
  requested: Pick<Operation, 'type' | 'amount' | 'referenceCode' | 'operationRef' | 'requestedBy'>,
): Operation => ({
  ...requested,
  id,
  paymentId: payment.id,
  state: 'in_progress',
  details: {},
  failure: undefined,
  createdAt: now,
  stateAfter: undefined,
  history: [],
});

/** The first operation as it was started: the payment contains all else of it. */
export const initialOperation = (
  payment: Payment,
  { operationRef, requestedBy }: Pick<Operation, 'operationRef' | 'requestedBy'>,
): Operation => {
  const { id, createdAt, type, amount, referenceCode } = payment;
  return newOperation(id, createdAt, payment, { type, amount, referenceCode, operationRef, requestedBy });
};

export type PaymentState = Pick<Payment, 'status' | 'reason' | 'authorized' | 'collected' | 'refunded'>;

export const stateOf = ({ status, reason, authorized, collected, refunded }: PaymentState): PaymentState => ({
  status,
  reason,
  authorized,
  collected,
  refunded,
});
