import type { ValueOf } from '../../../../../src/http/fields.ts';
import type { listPayments } from '../../../../wire/payments.ts';
import { dayAsTime, onlyGiven, useFilters } from '../../parts/address-filters.ts';

/** What payments are looked for by. Days, not times. */
const WORDS = ['status', 'type', 'from', 'to', 'currency', 'doubtful'] as const;
const TEXTS = ['id', 'processor', 'amount', 'reference_code', 'last_four'] as const;
export type Filters = Readonly<Record<(typeof WORDS)[number] | (typeof TEXTS)[number], string>>;

/** Shown on demand. */
export const RARE_FILTERS = ['type', 'amount', 'currency', 'reference_code', 'last_four', 'processor'] as const;

type Fault = 'fourDigits' | 'currencyForm' | 'amountForm' | 'amountNeedsCurrency';
type Wanted = ValueOf<NonNullable<typeof listPayments.body>>;

export const usePaymentFilters = () => useFilters(WORDS, TEXTS);

/** What the service would refuse. */
export function faultsOf({ last_four, currency, amount }: Filters): Partial<Record<keyof Filters, Fault>> {
  return {
    ...(last_four !== '' && !/^\d{4}$/.test(last_four) && { last_four: 'fourDigits' }),
    ...(currency !== '' && !/^[a-z]{3}$/i.test(currency) && { currency: 'currencyForm' }),
    ...(amount !== '' && currency === '' && { currency: 'amountNeedsCurrency' }),
    ...(amount !== '' && !/^\d{1,12}([.,]\d+)?$/.test(amount) && { amount: 'amountForm' }),
  };
}

export const wantedOf = ({ from, to, amount, currency, ...same }: Filters): Wanted =>
  onlyGiven({
    ...same,
    amount: amount.replace(',', '.'),
    currency: currency.toUpperCase(),
    from: dayAsTime(from),
    // The last day is meant, too.
    to: dayAsTime(to, 1),
  }) as Wanted;
