import type { CounterValue, Usage } from '../../src/accounts/usage.ts';
import { type Clock, HOUR } from '../../src/kernel/clock.ts';
import type { Scope } from '../../src/kernel/environment.ts';
import { type PaymentTotal, sumPayments } from '../../src/payments/payment-totals.ts';
import { Cache, costAwareTtl } from '../../src/storage/cache.ts';
import type { Database } from '../../src/storage/database.ts';
import type { OverviewPeriod } from './overview-period.ts';
import { summarizeUsage, type UsageSummary } from './usage-summary.ts';

const MAX_REPORTS = 1000;
/** Steps that are read concurrently; over PostgreSQL each takes a round trip. */
const STEPS_AT_ONCE = 16;

/** Usage in a period. */
interface UsageReport {
  readonly period: UsageSummary;
  /** The period before. */
  readonly before: UsageSummary;
  /** By steps, each starting at `at`; none is left out. */
  readonly points: readonly { readonly at: number; readonly usage: UsageSummary }[];
  readonly payments: readonly PaymentTotal[];
}

interface Figures {
  readonly counters: readonly CounterValue[];
  readonly payments: readonly PaymentTotal[];
}

/** Sums counters and totals of payments. Concurrent and repeated requests within seconds share one reading. */
export class UsageOverview {
  readonly #usage: Usage;
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #cache: Cache<string, UsageReport>;

  constructor(options: { usage: Usage; database: Database; clock: Clock }) {
    this.#usage = options.usage;
    this.#database = options.database;
    this.#clock = options.clock;
    this.#cache = new Cache({ clock: options.clock, max: MAX_REPORTS, ttlMs: costAwareTtl });
  }

  /** Returns the usage of an account, or of all. */
  of(scope: Scope, period: OverviewPeriod): Promise<UsageReport> {
    const hour = Math.floor(this.#clock() / HOUR);
    const key = [scope.environment, scope.account ?? '', period.starts.length, period.from, period.to, hour].join('/');
    return this.#cache.get(key, () => this.#read(scope, period));
  }

  async #read(scope: Scope, { starts, to, before }: OverviewPeriod): Promise<UsageReport> {
    const steps: Figures[] = [];
    for (let at = 0; at < starts.length; at += STEPS_AT_ONCE) {
      const span = starts.slice(at, at + STEPS_AT_ONCE);
      const read = span.map((start, index) => this.#figures(scope, start, starts[at + index + 1] ?? to));
      steps.push(...(await Promise.all(read)));
    }
    const payments = steps.flatMap((step) => step.payments);
    const previous = await this.#figures(scope, before.from, before.to);
    return {
      period: summarizeUsage(
        steps.flatMap(({ counters }) => counters),
        payments,
      ),
      before: summarizeUsage(previous.counters, previous.payments),
      points: steps.map((step, index) => ({
        at: starts[index] ?? to,
        usage: summarizeUsage(step.counters, step.payments),
      })),
      payments,
    };
  }

  async #figures(scope: Scope, from: number, to: number): Promise<Figures> {
    const [counters, payments] = await Promise.all([
      this.#usage.sums(scope, from, to),
      sumPayments(this.#database, scope, from, to),
    ]);
    return { counters, payments };
  }
}
