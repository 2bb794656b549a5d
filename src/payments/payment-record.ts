import type { Currency } from '../kernel/currency.ts';
import {
  firstOperation,
  type Operation,
  type OperationState,
  type Payment,
  type PaymentCard,
  type PaymentType,
  type Standing,
} from './payment.ts';
import type { OperationType, Particulars } from './processor.ts';
import type { Failed, Reason, Status } from './transitions.ts';

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
export type PaymentColumns = Pick<Payment, 'id' | 'processor' | 'status' | 'operation' | 'createdAt'>;

/** Of a payment and its first operation. */
export function paymentRecord(payment: Payment, first: Operation): string {
  const { amount, authorized, collected, refunded, captures, watched, absences } = payment;
  const record: PaymentRecord = {
    type: payment.type,
    reason: payment.reason,
    currency: payment.currency,
    amounts: [`${amount}`, `${authorized}`, `${collected}`, `${refunded}`],
    reference: payment.referenceCode,
    card: payment.card,
    captures: captures.length === 0 ? undefined : captures,
    begun: payment.begun,
    absences: absences === 0 ? undefined : absences,
    given_up: payment.isGivenUp,
    problem: payment.problem,
    watched: watched.length === 0 ? undefined : watched,
    expires_at: payment.expiresAt,
    expired: payment.expired ? true : undefined,
    first: { state: first.state, ...toldOf(first) },
  };
  return JSON.stringify(record);
}

export function paymentFrom(record: string, columns: PaymentColumns): { payment: Payment; first: Operation } {
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
    captures: read.captures ?? [],
    begun: read.begun,
    absences: read.absences ?? 0,
    ...(read.given_up === true && { isGivenUp: true }),
    ...(read.problem !== undefined && { problem: read.problem }),
    watched: read.watched ?? [],
    expiresAt: read.expires_at,
    expired: read.expired === true,
  };
  const { state, ...told } = read.first;
  return { payment, first: { ...firstOperation(payment), state, ...toldFrom(told) } };
}

/** What a processor told of an operation. */
interface Told {
  readonly particulars?: Particulars | undefined;
  readonly failed?: Failed | undefined;
  readonly after?: {
    readonly status: Status;
    readonly reason?: Reason | undefined;
    readonly amounts: readonly string[];
  };
}

const toldOf = ({ particulars, failed, after }: Operation): Told => ({
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

const toldFrom = ({ particulars = {}, failed, after }: Told): Pick<Operation, 'particulars' | 'failed' | 'after'> => ({
  particulars,
  failed,
  after: after && standingFrom(after),
});

interface OperationRecord extends Told {
  readonly amount: string;
  readonly reference?: string | undefined;
}

export interface OperationColumns {
  readonly id: string;
  readonly payment: string;
  readonly type: OperationType;
  readonly state: OperationState;
  readonly createdAt: number;
}

export function operationRecord(operation: Operation): string {
  const { amount, referenceCode } = operation;
  const record: OperationRecord = { amount: `${amount}`, reference: referenceCode, ...toldOf(operation) };
  return JSON.stringify(record);
}

export function operationFrom(record: string, columns: OperationColumns): Operation {
  const { amount, reference, ...told } = JSON.parse(record) as OperationRecord;
  return { ...columns, amount: BigInt(amount), referenceCode: reference, ...toldFrom(told) };
}

function standingFrom({ status, reason, amounts }: NonNullable<Told['after']>): Standing {
  const [authorized = '0', collected = '0', refunded = '0'] = amounts;
  return {
    status,
    reason,
    authorized: BigInt(authorized),
    collected: BigInt(collected),
    refunded: BigInt(refunded),
  };
}
