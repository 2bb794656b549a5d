import type { Currency } from '../kernel/currency.ts';
import type { Operation, OperationState, Payment, PaymentCard, PaymentType, Standing } from './payment.ts';
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
  readonly watched?: readonly string[] | undefined;
  readonly expires_at?: number | undefined;
  readonly expired?: true | undefined;
}

/** What stands beside the record, in columns. */
export type PaymentColumns = Pick<Payment, 'id' | 'processor' | 'status' | 'operation' | 'createdAt'>;

export function paymentRecord(payment: Payment): string {
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
    watched: watched.length === 0 ? undefined : watched,
    expires_at: payment.expiresAt,
    expired: payment.expired ? true : undefined,
  };
  return JSON.stringify(record);
}

export function paymentFrom(record: string, columns: PaymentColumns): Payment {
  const read = JSON.parse(record) as PaymentRecord;
  const [amount, authorized, collected, refunded] = read.amounts;
  return {
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
    watched: read.watched ?? [],
    expiresAt: read.expires_at,
    expired: read.expired === true,
  };
}

interface OperationRecord {
  readonly amount: string;
  readonly reference?: string | undefined;
  readonly particulars?: Particulars | undefined;
  readonly failed?: Failed | undefined;
  readonly after?: {
    readonly status: Status;
    readonly reason?: Reason | undefined;
    readonly amounts: readonly string[];
  };
}

export interface OperationColumns {
  readonly id: string;
  readonly payment: string;
  readonly type: OperationType;
  readonly state: OperationState;
  readonly createdAt: number;
}

export function operationRecord({ amount, referenceCode, particulars, failed, after }: Operation): string {
  const record: OperationRecord = {
    amount: `${amount}`,
    reference: referenceCode,
    particulars,
    failed,
    ...(after && {
      after: {
        status: after.status,
        reason: after.reason,
        amounts: [`${after.authorized}`, `${after.collected}`, `${after.refunded}`],
      },
    }),
  };
  return JSON.stringify(record);
}

export function operationFrom(record: string, columns: OperationColumns): Operation {
  const { amount, reference, particulars = {}, failed, after } = JSON.parse(record) as OperationRecord;
  return {
    ...columns,
    amount: BigInt(amount),
    referenceCode: reference,
    particulars,
    failed,
    after: after && standingFrom(after),
  };
}

function standingFrom({ status, reason, amounts }: NonNullable<OperationRecord['after']>): Standing {
  const [authorized = '0', collected = '0', refunded = '0'] = amounts;
  return {
    status,
    reason,
    authorized: BigInt(authorized),
    collected: BigInt(collected),
    refunded: BigInt(refunded),
  };
}
