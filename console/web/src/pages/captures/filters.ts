import type { ValueOf } from '../../../../../src/http/fields.ts';
import type { listCaptures } from '../../../../wire/records.ts';
import { startOfDay } from '../../../../wire/start-of-day.ts';
import { omitEmpty, useFilters } from '../../parts/url-filters.ts';

/** Filters of captures. Dates are days, not times. */
const CODE_FILTERS = ['status', 'currency', 'from', 'to'] as const;
const TEXT_FILTERS = ['id', 'last_four'] as const;
export type Filters = Readonly<Record<(typeof CODE_FILTERS)[number] | (typeof TEXT_FILTERS)[number], string>>;

type CaptureQuery = ValueOf<NonNullable<typeof listCaptures.body>>;

export const useCaptureFilters = () => useFilters(CODE_FILTERS, TEXT_FILTERS);

/** Returns what the service would reject. */
export const findFaults = ({ last_four }: Filters): { readonly last_four?: 'fourDigits' } =>
  /^(\d{4})?$/.test(last_four) ? {} : { last_four: 'fourDigits' };

export const toCaptureQuery = ({ from, to, currency, ...same }: Filters, timeZone: string): CaptureQuery =>
  omitEmpty({
    ...same,
    currency: currency.toUpperCase(),
    from: startOfDay(from, timeZone),
    // The last day is included.
    to: startOfDay(to, timeZone, 1),
  }) as CaptureQuery;
