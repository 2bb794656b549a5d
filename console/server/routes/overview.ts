import { listOperatorNotices } from '../../../src/accounts/account-notices.ts';
import { DAY, iso8601 } from '../../../src/kernel/clock.ts';
import { countInDoubt } from '../../../src/payments/payment-store.ts';
import { showOverview } from '../../wire/overview.ts';
import { type Route, route } from '../route.ts';
import { answeredWithin, type Tally } from '../tally.ts';

const DAYS = 7;
const NOTICES_SHOWN_MS = 30 * DAY;

export const overviewRoutes: readonly Route[] = [
  route(showOverview, async ({ services, tenant, query, now }) => {
    const { totals, overviews, database } = services;
    const [records, doubtful, notices, { period, before, points }] = await Promise.all([
      totals.of(tenant),
      countInDoubt(database, tenant),
      listOperatorNotices(database, tenant, now - NOTICES_SHOWN_MS),
      overviews.of(tenant, query.days ?? DAYS),
    ]);
    return {
      totals: { ...records, doubtful },
      operator_changes: notices.map(({ action, at }) => ({ action, at: iso8601(at) })),
      period: shown(period),
      before: shown(before),
      points: points.map(({ at, tally }) => ({ at: iso8601(at), ...shown(tally) })),
    };
  }),
];

const MEDIAN = 0.5;
const MOST = 0.95;

const shown = ({ notApproved, steps, ...tally }: Tally) => ({
  ...tally,
  not_approved: notApproved,
  median_ms: answeredWithin({ steps }, MEDIAN) ?? null,
  p95_ms: answeredWithin({ steps }, MOST) ?? null,
});
