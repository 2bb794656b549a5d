import type { ValueOf } from '../../../../../src/http/fields.ts';
import type { listPayments } from '../../../../wire/payments.ts';
import { startOfDay } from '../../parts/start-of-day.ts';
import { omitEmpty, useFilters } from '../../parts/url-filters.ts';

/** Filters of payments. Dates are days, not times. */
const CODE_FILTERS = ['status', 'type', 'from', 'to', 'currency', 'in_doubt'] as const;
const TEXT_FILTERS = ['id', 'processor', 'amount', 'reference_code', 'last_four'] as const;
export type Filters = Readonly<Record<(typeof CODE_FILTERS)[number] | (typeof TEXT_FILTERS)[number], string>>;

/** Filters that are shown on request. */
export const MORE_FILTERS = ['type', 'amount', 'currency', 'reference_code', 'last_four', 'processor'] as const;

type Fault = 'fourDigits' | 'currencyForm' | 'amountForm' | 'amountNeedsCurrency';
type PaymentQuery = ValueOf<NonNullable<typeof listPayments.body>>;

export const usePaymentFilters = () => useFilters(CODE_FILTERS, TEXT_FILTERS);

/** Returns what the service would reject. */
export function findFaults({ last_four, currency, amount }: Filters): Partial<Record<keyof Filters, Fault>> {
  return {
    ...(last_four !== '' && !/^\d{4}$/.test(last_four) && { last_four: 'fourDigits' }),
    ...(currency !== '' && !/^[a-z]{3}$/i.test(currency) && { currency: 'currencyForm' }),
    ...(amount !== '' && currency === '' && { currency: 'amountNeedsCurrency' }),
    ...(amount !== '' && !/^\d{1,12}([.,]\d+)?$/.test(amount) && { amount: 'amountForm' }),
  };
}

export const toPaymentQuery = ({ from, to, amount, currency, ...same }: Filters, timeZone: string): PaymentQuery =>
  omitEmpty({
    ...same,
    amount: amount.replace(',', '.'),
    currency: currency.toUpperCase(),
    from: startOfDay(from, timeZone),
    // The last day is included.
    to: startOfDay(to, timeZone, 1),
  }) as PaymentQuery;
