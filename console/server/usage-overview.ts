import type { CounterValue, Usage } from '../../src/accounts/usage.ts';
import { type Clock, DAY, HOUR } from '../../src/kernel/clock.ts';
import type { Tenant } from '../../src/kernel/environment.ts';
import type { PaymentQueries } from '../../src/payments/payment-queries.ts';
import { Cache, costAwareTtl } from '../../src/storage/cache.ts';
import { summarizeUsage, type UsageSummary } from './usage-summary.ts';

const MAX_REPORTS = 1000;

const HOURS_OF_DAY = 24;

/** Usage of a tenant in a period. */
interface UsageReport {
  readonly period: UsageSummary;
  /** The previous period of the same length, up to the same hour of its last day. */
  readonly before: UsageSummary;
  /** By hours or days, each starting at `at`; none is left out. */
  readonly points: readonly { readonly at: number; readonly usage: UsageSummary }[];
}

interface TimeSpan {
  readonly from: number;
  /** Exclusive end of the period. */
  readonly to: number;
}

/** Sums the counters. Concurrent and repeated requests within seconds share one reading. */
export class UsageOverview {
  readonly #usage: Usage;
  readonly #payments: PaymentQueries;
  readonly #clock: Clock;
  readonly #cache: Cache<string, UsageReport>;

  constructor(options: { usage: Usage; paymentQueries: PaymentQueries; clock: Clock }) {
    this.#usage = options.usage;
    this.#payments = options.paymentQueries;
    this.#clock = options.clock;
    this.#cache = new Cache({ clock: options.clock, max: MAX_REPORTS, ttlMs: costAwareTtl });
  }

  /** One day by the hour, longer periods by the day; the present day is the last. */
  of(tenant: Tenant, days: number): Promise<UsageReport> {
    const now = this.#clock();
    const thisHour = now - (now % HOUR);
    return this.#cache.get([tenant.environment, tenant.account, days, thisHour].join('/'), () =>
      this.#read(tenant, days, thisHour),
    );
  }

  async #read(tenant: Tenant, days: number, thisHour: number): Promise<UsageReport> {
    const [step, number] = days === 1 ? [HOUR, HOURS_OF_DAY] : [DAY, days];
    const to = thisHour - (thisHour % step) + step;
    const span = { from: to - number * step, to };
    const [countedAt, payments, before] = await Promise.all([
      this.#countersByStep(tenant, span, step),
      this.#payments.counts(tenant, span.from, span.to),
      this.#summarize(tenant, previousSpan(span, thisHour)),
    ]);
    const paidAt = Map.groupBy(payments, ({ hour }) => hour - (hour % step));
    return {
      period: summarizeUsage([...countedAt.values()].flat(), payments),
      before,
      points: [...countedAt].map(([at, counted]) => ({ at, usage: summarizeUsage(counted, paidAt.get(at) ?? []) })),
    };
  }

  async #countersByStep(tenant: Tenant, { from, to }: TimeSpan, step: number): Promise<Map<number, CounterValue[]>> {
    const counted = new Map<number, CounterValue[]>();
    for (let at = from; at < to; at += step) counted.set(at, await this.#usage.sums(tenant, at, at + step));
    return counted;
  }

  async #summarize(tenant: Tenant, { from, to }: TimeSpan): Promise<UsageSummary> {
    return summarizeUsage(await this.#usage.sums(tenant, from, to), await this.#payments.counts(tenant, from, to));
  }
}

/** Returns the previous period of the same length, up to the same hour of its last day. */
function previousSpan({ from, to }: TimeSpan, thisHour: number): TimeSpan {
  const length = to - from;
  return { from: from - length, to: thisHour + HOUR - length };
}
