import { DAY, HOUR, iso8601 } from '../../kernel/clock.ts';
import { countDoubtful } from '../../payments/payment-store.ts';
import { type Route, route } from '../route.ts';
import { answeredWithin, type Tally, tallyOf } from '../tally.ts';
import { showOverview } from '../wire/overview.ts';

const DAYS = 7;
const HOURS_OF_DAY = 24;

export const overviewRoutes: readonly Route[] = [
  route(showOverview, async ({ services, tenant, query, now }) => {
    const { totals, statistics, paymentListing } = services;
    const span = spanOf(query.days ?? DAYS, now);
    const { from, to, step } = span;
    const counts = async ({ from, to }: Pick<Span, 'from' | 'to'>) =>
      [await statistics.series(tenant, from, to), await paymentListing.counts(tenant, from, to)] as const;
    const [records, doubtful, [counted, payments], before] = await Promise.all([
      totals.of(tenant),
      countDoubtful(services.database, tenant),
      counts(span),
      counts(spanBefore(span, now)),
    ]);
    const pointOf = ({ hour }: { readonly hour: number }): number => hour - ((hour - from) % step);
    const [countedAt, paidAt] = [Map.groupBy(counted, pointOf), Map.groupBy(payments, pointOf)];
    const times = Array.from({ length: (to - from) / step }, (_, index) => from + index * step);
    return {
      totals: { ...records, doubtful },
      period: shown(tallyOf(counted, payments)),
      before: shown(tallyOf(...before)),
      points: times.map((at) => ({
        at: iso8601(at),
        ...shown(tallyOf(countedAt.get(at) ?? [], paidAt.get(at) ?? [])),
      })),
    };
  }),
];

interface Span {
  readonly from: number;
  /** Not of it. */
  readonly to: number;
  readonly step: number;
}

/** Whole hours or days in UTC, of which the last is the present one. */
function spanOf(days: number, now: number): Span {
  const [step, number] = days === 1 ? [HOUR, HOURS_OF_DAY] : [DAY, days];
  const to = now - (now % step) + step;
  return { from: to - number * step, to, step };
}

/** What can be compared with it: as long, and up to the same hour of its last day. */
function spanBefore({ from, to }: Span, now: number): Pick<Span, 'from' | 'to'> {
  const length = to - from;
  return { from: from - length, to: now - (now % HOUR) + HOUR - length };
}

const MEDIAN = 0.5;
const MOST = 0.95;

const shown = ({ notApproved, steps, ...tally }: Tally) => ({
  ...tally,
  not_approved: notApproved,
  median_ms: answeredWithin({ steps }, MEDIAN) ?? null,
  p95_ms: answeredWithin({ steps }, MOST) ?? null,
});
