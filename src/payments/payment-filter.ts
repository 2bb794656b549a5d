import { DAY } from '../kernel/clock.ts';
import { invalidField } from '../kernel/failure.ts';
import { minIdAt } from '../kernel/ids.ts';
import { LIMITS } from '../kernel/limits.ts';
import type { Payment, PaymentType } from './payment.ts';
import type { PaymentColumns } from './payment-record.ts';
import type { Status } from './transitions.ts';

/** Filters of payments. Pure. */
export interface PaymentFilter {
  readonly statuses?: readonly Status[] | undefined;
  readonly types?: readonly PaymentType[] | undefined;
  readonly processor?: string | undefined;
  /** Unix times of their start in milliseconds; `to` is exclusive. */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  readonly currency?: string | undefined;
  /** The requested amount in minor units. */
  readonly amount?: bigint | undefined;
  readonly referenceCode?: string | undefined;
  readonly lastFour?: string | undefined;
  readonly isInDoubt?: true | undefined;
}

/** Range of the ids of payments that started in this time: from one, before another. */
export const idRange = ({ from, to }: PaymentFilter): readonly [from: string, to: string] => [
  from === undefined ? '' : minIdAt(from),
  to === undefined ? AFTER_ALL_IDS : minIdAt(to),
];

const AFTER_ALL_IDS = '~';

/** True when the columns in clear do not exclude the payment. */
export const mayMatch = (
  { statuses, processor, isInDoubt }: PaymentFilter,
  payment: Pick<PaymentColumns, 'status' | 'processor'> & { readonly inDoubtSince: number | undefined },
): boolean =>
  (statuses === undefined || statuses.includes(payment.status)) &&
  (processor === undefined || processor === payment.processor) &&
  (isInDoubt === undefined || payment.inDoubtSince !== undefined);

/** True when the columns in clear do not suffice to decide. */
export const needsUnsealing = ({ types, currency, amount, referenceCode, lastFour }: PaymentFilter): boolean =>
  [types, currency, amount, referenceCode, lastFour].some((wanted) => wanted !== undefined);

/** Decides about an unsealed payment. */
export const matches = (
  { types, currency, amount, referenceCode, lastFour }: PaymentFilter,
  payment: Payment,
): boolean =>
  (types === undefined || types.includes(payment.type)) &&
  (currency === undefined || currency === payment.currency) &&
  (amount === undefined || amount === payment.amount) &&
  (referenceCode === undefined || referenceCode === payment.referenceCode) &&
  (lastFour === undefined || payment.card.truncated.endsWith(lastFour));

/** Throws `invalid_field`. */
export function assertFilter({ lastFour, from, to }: PaymentFilter): void {
  if (lastFour !== undefined && !/^[0-9]{4}$/.test(lastFour)) throw invalidField('last_four', 'fourDigits');
  for (const [field, time] of Object.entries({ from, to }))
    if (time !== undefined && !(Number.isSafeInteger(time) && time >= 0)) throw invalidField(field, 'time');
  if (from !== undefined && to !== undefined && to < from) throw invalidField('to', 'order');
}

/** Returns a period for counters. Throws `invalid_field`. */
export function assertPeriod(from: number, to: number): void {
  assertFilter({ from, to });
  const days = LIMITS.statisticsDaysPerQuery;
  if (to - from > days * DAY) throw invalidField('to', 'period', { days });
}

/** Returns how a payment with this status counts: opened and cancelled ones count neither as approved nor as failed. */
export const APPROVAL_BY_STATUS: Readonly<Record<Status, 'approved' | 'not-approved' | 'none'>> = {
  Opened: 'none',
  Authorized: 'approved',
  Collected: 'approved',
  Voided: 'approved',
  Cancelled: 'none',
  Declined: 'not-approved',
  ProcessorError: 'not-approved',
};
