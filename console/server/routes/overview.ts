import { listOperatorNotices } from '../../../src/accounts/account-notices.ts';
import { DAY, formatIso8601 } from '../../../src/kernel/clock.ts';
import type { Scope } from '../../../src/kernel/environment.ts';
import { formatDecimal } from '../../../src/kernel/money.ts';
import { countInDoubt } from '../../../src/payments/payment-queries.ts';
import { showOverview, showServiceOverview } from '../../wire/overview.ts';
import { type OverviewPeriod, parsePeriod } from '../overview-period.ts';
import { countReasons, sumByCurrency } from '../payment-figures.ts';
import { type ConsoleServices, type Route, route } from '../route.ts';
import { latencyPercentile, type UsageSummary } from '../usage-summary.ts';

const NOTICE_AGE_MS = 30 * DAY;

export const overviewRoutes: readonly Route[] = [
  route(showOverview, async ({ services, tenant, query, now }) => {
    const { totals, database } = services;
    const [records, inDoubt, notices, usage] = await Promise.all([
      totals.count(tenant),
      countInDoubt(database, tenant),
      listOperatorNotices(database, tenant, now - NOTICE_AGE_MS),
      loadUsage(services, tenant, parsePeriod(query, now)),
    ]);
    return {
      totals: { ...records, in_doubt: inDoubt },
      operator_changes: notices.map(({ action, at }) => ({ action, at: formatIso8601(at) })),
      ...usage,
    };
  }),

  route(showServiceOverview, async ({ services, query, now }) => {
    const [inDoubt, usage] = await Promise.all([
      countInDoubt(services.database),
      loadUsage(services, { account: undefined, environment: query.environment }, parsePeriod(query, now)),
    ]);
    return { in_doubt: inDoubt, ...usage };
  }),
];

async function loadUsage({ usageOverview }: ConsoleServices, scope: Scope, days: OverviewPeriod) {
  const { period, before, points, payments } = await usageOverview.of(scope, days);
  const [first, last] = days.days;
  return {
    from: formatIso8601(days.from),
    to: formatIso8601(days.to),
    first_day: first,
    last_day: last,
    zone: days.zone,
    step: days.step,
    is_exact: days.isExact,
    period: toUsageView(period),
    before: toUsageView(before),
    points: points.map(({ at, usage }) => ({ at: formatIso8601(at), ...toUsageView(usage) })),
    currencies: sumByCurrency(payments).map(({ currency, approved, authorized, collected, refunded }) => ({
      currency,
      approved,
      authorized: formatDecimal({ minor: authorized, currency }),
      collected: formatDecimal({ minor: collected, currency }),
      refunded: formatDecimal({ minor: refunded, currency }),
      net: formatDecimal({ minor: collected - refunded, currency }),
    })),
    reasons: countReasons(payments),
  };
}

const MEDIAN = 0.5;
const P95 = 0.95;

const toUsageView = ({ notApproved, steps, ...same }: UsageSummary) => ({
  ...same,
  not_approved: notApproved,
  median_ms: latencyPercentile({ steps }, MEDIAN) ?? null,
  p95_ms: latencyPercentile({ steps }, P95) ?? null,
});
