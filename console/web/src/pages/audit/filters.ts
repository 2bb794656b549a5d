import type { ValueOf } from '../../../../../src/http/fields.ts';
import type { listServiceAudit } from '../../../../wire/audit.ts';
import { startOfDay } from '../../../../wire/start-of-day.ts';
import { omitEmpty, useFilters } from '../../parts/url-filters.ts';

/** Filters of audit records. Dates are days, not times. */
const CODE_FILTERS = ['action', 'outcome', 'environment', 'from', 'to', 'account'] as const;
const TEXT_FILTERS = ['actor', 'target'] as const;
export type AuditFilters = Readonly<Record<(typeof CODE_FILTERS)[number] | (typeof TEXT_FILTERS)[number], string>>;
type AuditQuery = ValueOf<NonNullable<typeof listServiceAudit.body>>;

export const useAuditFilters = () => useFilters(CODE_FILTERS, TEXT_FILTERS);

export const toAuditQuery = ({ from, to, ...same }: AuditFilters, timeZone: string): AuditQuery =>
  // The last day is included.
  omitEmpty({ ...same, from: startOfDay(from, timeZone), to: startOfDay(to, timeZone, 1) }) as AuditQuery;
