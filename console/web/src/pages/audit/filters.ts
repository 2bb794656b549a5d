import type { ValueOf } from '../../../../../src/http/fields.ts';
import type { listServiceAudit } from '../../../../wire/audit.ts';
import { dayAsTime, onlyGiven, useFilters } from '../../parts/address-filters.ts';

/** What records are looked for by. Days, not times. */
const WORDS = ['action', 'environment', 'from', 'to', 'account'] as const;
const TEXTS = ['actor', 'target', 'outcome'] as const;
export type AuditFilters = Readonly<Record<(typeof WORDS)[number] | (typeof TEXTS)[number], string>>;
type Wanted = ValueOf<NonNullable<typeof listServiceAudit.body>>;

export const useAuditFilters = () => useFilters(WORDS, TEXTS);

export const wantedOf = ({ from, to, ...same }: AuditFilters): Wanted =>
  // The last day is meant, too.
  onlyGiven({ ...same, from: dayAsTime(from), to: dayAsTime(to, 1) }) as Wanted;
