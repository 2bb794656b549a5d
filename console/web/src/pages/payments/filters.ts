import type { ValueOf } from '../../../../../src/http/fields.ts';
import type { listPayments } from '../../../../wire/payments.ts';
import { startOfDay } from '../../../../wire/start-of-day.ts';
import { omitEmpty, useFilters } from '../../parts/url-filters.ts';

/** Filters of payments. Dates are days, not times. */
const CODE_FILTERS = ['status', 'type', 'from', 'to', 'currency', 'in_doubt'] as const;
const TEXT_FILTERS = ['id', 'processor', 'amount_from', 'amount_to', 'reference_code', 'last_four'] as const;
export type Filters = Readonly<Record<(typeof CODE_FILTERS)[number] | (typeof TEXT_FILTERS)[number], string>>;

/** Filters that are shown on request. */
export const MORE_FILTERS = [
  'type',
  'amount_from',
  'amount_to',
  'currency',
  'reference_code',
  'last_four',
  'processor',
] as const;

export type Fault = 'fourDigits' | 'currencyForm' | 'amountForm' | 'amountOrder';
type PaymentQuery = ValueOf<NonNullable<typeof listPayments.body>>;

export const usePaymentFilters = () => useFilters(CODE_FILTERS, TEXT_FILTERS);

/** Returns what the service would reject. */
export function findFaults(filters: Filters): Partial<Record<keyof Filters, Fault>> {
  const { last_four, currency, amount_from, amount_to } = filters;
  return {
    ...(last_four !== '' && !/^\d{4}$/.test(last_four) && { last_four: 'fourDigits' }),
    ...(currency !== '' && !/^[a-z]{3}$/i.test(currency) && { currency: 'currencyForm' }),
    ...(amount_from !== '' && amount_to !== '' && isBelow(amount_to, amount_from) && { amount_to: 'amountOrder' }),
    ...(isMalformed(amount_from) && { amount_from: 'amountForm' }),
    ...(isMalformed(amount_to) && { amount_to: 'amountForm' }),
  };
}

const isMalformed = (amount: string): boolean => amount !== '' && !/^\d{1,12}([.,]\d{1,4})?$/.test(amount);

const isBelow = (amount: string, least: string): boolean =>
  Number(amount.replace(',', '.')) < Number(least.replace(',', '.'));

export const toPaymentQuery = (
  { from, to, amount_from, amount_to, currency, ...same }: Filters,
  timeZone: string,
): PaymentQuery =>
  omitEmpty({
    ...same,
    amount_from: amount_from.replace(',', '.'),
    amount_to: amount_to.replace(',', '.'),
    currency: currency.toUpperCase(),
    from: startOfDay(from, timeZone),
    // The last day is included.
    to: startOfDay(to, timeZone, 1),
  }) as PaymentQuery;
