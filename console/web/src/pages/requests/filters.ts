import type { ValueOf } from '../../../../../src/http/fields.ts';
import type { listAllRequests } from '../../../../wire/request-log.ts';
import { startOfDay } from '../../../../wire/start-of-day.ts';
import { omitEmpty, useFilters } from '../../parts/url-filters.ts';

/** Filters of requests. Dates are days, not times. */
const CODE_FILTERS = ['status', 'error', 'route', 'key', 'from', 'to', 'account', 'environment'] as const;
const TEXT_FILTERS = ['request_id', 'address'] as const;
export type RequestFilters = Readonly<Record<(typeof CODE_FILTERS)[number] | (typeof TEXT_FILTERS)[number], string>>;
type RequestQuery = ValueOf<NonNullable<typeof listAllRequests.body>>;

/** Filters that are shown on request. */
export const MORE_FILTERS = ['route', 'address', 'from', 'to'] as const;

export const useRequestFilters = () => useFilters(CODE_FILTERS, TEXT_FILTERS);

export const toRequestQuery = ({ from, to, ...same }: RequestFilters, timeZone: string): RequestQuery =>
  // The last day is included.
  omitEmpty({ ...same, from: startOfDay(from, timeZone), to: startOfDay(to, timeZone, 1) }) as RequestQuery;
