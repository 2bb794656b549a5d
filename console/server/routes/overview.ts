import { listOperatorNotices } from '../../../src/accounts/account-notices.ts';
import { DAY, formatIso8601 } from '../../../src/kernel/clock.ts';
import { countInDoubt } from '../../../src/payments/payment-queries.ts';
import { showOverview } from '../../wire/overview.ts';
import { type Route, route } from '../route.ts';
import { latencyPercentile, type UsageSummary } from '../usage-summary.ts';

const DEFAULT_DAYS = 7;
const NOTICE_AGE_MS = 30 * DAY;

export const overviewRoutes: readonly Route[] = [
  route(showOverview, async ({ services, tenant, query, now }) => {
    const { totals, usageOverview, database } = services;
    const [records, inDoubt, notices, { period, before, points }] = await Promise.all([
      totals.count(tenant),
      countInDoubt(database, tenant),
      listOperatorNotices(database, tenant, now - NOTICE_AGE_MS),
      usageOverview.of(tenant, query.days ?? DEFAULT_DAYS),
    ]);
    return {
      totals: { ...records, in_doubt: inDoubt },
      operator_changes: notices.map(({ action, at }) => ({ action, at: formatIso8601(at) })),
      period: toUsageView(period),
      before: toUsageView(before),
      points: points.map(({ at, usage: tally }) => ({ at: formatIso8601(at), ...toUsageView(tally) })),
    };
  }),
];

const MEDIAN = 0.5;
const P95 = 0.95;

const toUsageView = ({ notApproved, steps, ...tally }: UsageSummary) => ({
  ...tally,
  not_approved: notApproved,
  median_ms: latencyPercentile({ steps }, MEDIAN) ?? null,
  p95_ms: latencyPercentile({ steps }, P95) ?? null,
});
