import type { Currency } from '../kernel/currency.ts';
import {
  initialOperation,
  type Operation,
  type OperationState,
  type Payment,
  type PaymentCard,
  type PaymentState,
  type PaymentType,
} from './payment.ts';
import type { OperationType, ProcessorDetails } from './processor.ts';
import type { FailureStatus, Reason, Status } from './transitions.ts';

/** The sealed parts of payments and operations as JSON; amounts as digits, because JSON numbers end at 2^53. */

interface PaymentRecord {
  readonly type: PaymentType;
  readonly reason?: Reason | undefined;
  readonly currency: Currency;
  readonly amounts: readonly [amount: string, authorized: string, collected: string, refunded: string];
  readonly reference?: string | undefined;
  readonly card: PaymentCard;
  readonly captures?: readonly string[] | undefined;
  readonly begun: number;
  readonly absences?: number | undefined;
  readonly given_up?: true | undefined;
  readonly problem?: string | undefined;
  readonly watched?: readonly string[] | undefined;
  readonly expires_at?: number | undefined;
  readonly expired?: true | undefined;
  readonly first: { readonly state: OperationState } & Told;
}

/** What stands beside the record, in columns. */
export type PaymentColumns = Pick<Payment, 'id' | 'processor' | 'status' | 'operationInProgress' | 'createdAt'>;

/** Of a payment and its first operation. */
export function formatPaymentRecord(payment: Payment, first: Operation): string {
  const {
    amount,
    authorized,
    collected,
    refunded,
    captureIds: captures,
    recheckIds: watched,
    consecutiveNotFound: absences,
  } = payment;
  const record: PaymentRecord = {
    type: payment.type,
    reason: payment.reason,
    currency: payment.currency,
    amounts: [`${amount}`, `${authorized}`, `${collected}`, `${refunded}`],
    reference: payment.referenceCode,
    card: payment.card,
    captures: captures.length === 0 ? undefined : captures,
    begun: payment.operationCount,
    absences: absences === 0 ? undefined : absences,
    given_up: payment.reversalStarted,
    problem: payment.lastProblem,
    watched: watched.length === 0 ? undefined : watched,
    expires_at: payment.expiresAt,
    expired: payment.isExpired ? true : undefined,
    first: { state: first.state, ...toldOf(first) },
  };
  return JSON.stringify(record);
}

export function parsePaymentRecord(record: string, columns: PaymentColumns): { payment: Payment; first: Operation } {
  const read = JSON.parse(record) as PaymentRecord;
  const [amount, authorized, collected, refunded] = read.amounts;
  const payment: Payment = {
    ...columns,
    type: read.type,
    reason: read.reason,
    currency: read.currency,
    amount: BigInt(amount),
    authorized: BigInt(authorized),
    collected: BigInt(collected),
    refunded: BigInt(refunded),
    referenceCode: read.reference,
    card: read.card,
    captureIds: read.captures ?? [],
    operationCount: read.begun,
    consecutiveNotFound: read.absences ?? 0,
    ...(read.given_up === true && { reversalStarted: true }),
    ...(read.problem !== undefined && { lastProblem: read.problem }),
    recheckIds: read.watched ?? [],
    expiresAt: read.expires_at,
    isExpired: read.expired === true,
  };
  const { state, ...told } = read.first;
  return { payment, first: { ...initialOperation(payment), state, ...toldFrom(told) } };
}

/** What a processor told of an operation. */
interface Told {
  readonly particulars?: ProcessorDetails | undefined;
  readonly failed?: FailureStatus | undefined;
  readonly after?: {
    readonly status: Status;
    readonly reason?: Reason | undefined;
    readonly amounts: readonly string[];
  };
}

const toldOf = ({ details: particulars, failure: failed, stateAfter: after }: Operation): Told => ({
  particulars,
  failed,
  ...(after && {
    after: {
      status: after.status,
      reason: after.reason,
      amounts: [`${after.authorized}`, `${after.collected}`, `${after.refunded}`],
    },
  }),
});

const toldFrom = ({
  particulars = {},
  failed,
  after,
}: Told): Pick<Operation, 'details' | 'failure' | 'stateAfter'> => ({
  details: particulars,
  failure: failed,
  stateAfter: after && standingFrom(after),
});

interface OperationRecord extends Told {
  readonly amount: string;
  readonly reference?: string | undefined;
}

export interface OperationColumns {
  readonly id: string;
  readonly paymentId: string;
  readonly type: OperationType;
  readonly state: OperationState;
  readonly createdAt: number;
}

export function formatOperationRecord(operation: Operation): string {
  const { amount, referenceCode } = operation;
  const record: OperationRecord = { amount: `${amount}`, reference: referenceCode, ...toldOf(operation) };
  return JSON.stringify(record);
}

export function parseOperationRecord(record: string, columns: OperationColumns): Operation {
  const { amount, reference, ...told } = JSON.parse(record) as OperationRecord;
  return { ...columns, amount: BigInt(amount), referenceCode: reference, ...toldFrom(told) };
}

function standingFrom({ status, reason, amounts }: NonNullable<Told['after']>): PaymentState {
  const [authorized = '0', collected = '0', refunded = '0'] = amounts;
  return {
    status,
    reason,
    authorized: BigInt(authorized),
    collected: BigInt(collected),
    refunded: BigInt(refunded),
  };
}
