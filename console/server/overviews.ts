import { type Clock, DAY, HOUR } from '../../src/kernel/clock.ts';
import type { Tenant } from '../../src/kernel/environment.ts';
import type { PaymentQueries } from '../../src/payments/payment-queries.ts';
import { Kept } from '../../src/storage/kept.ts';
import type { Counted, Statistics } from '../../src/storage/statistics.ts';
import { type Tally, tallyOf } from './tally.ts';

const HOURS_OF_DAY = 24;

/** What happened with a tenant in some time. */
export interface Overview {
  readonly period: Tally;
  /** Of the time before it, which is as long: the present hour is the last of both. */
  readonly before: Tally;
  /** By hours or days, of which each begins at `at`; none is left out. */
  readonly points: readonly { readonly at: number; readonly tally: Tally }[];
}

interface Span {
  readonly from: number;
  /** Not of it. */
  readonly to: number;
}

/** Adds up what was counted. However many ask for the same at once and in the next seconds, it is read once. */
export class Overviews {
  readonly #statistics: Statistics;
  readonly #payments: PaymentQueries;
  readonly #clock: Clock;
  readonly #kept: Kept<Overview>;

  constructor(options: { statistics: Statistics; paymentListing: PaymentQueries; clock: Clock }) {
    this.#statistics = options.statistics;
    this.#payments = options.paymentListing;
    this.#clock = options.clock;
    this.#kept = new Kept(options.clock);
  }

  /** One day by the hour, more by the day; the present one is the last. */
  of(tenant: Tenant, days: number): Promise<Overview> {
    const now = this.#clock();
    const thisHour = now - (now % HOUR);
    return this.#kept.get([tenant.environment, tenant.account, days, thisHour].join('/'), () =>
      this.#read(tenant, days, thisHour),
    );
  }

  async #read(tenant: Tenant, days: number, thisHour: number): Promise<Overview> {
    const [step, number] = days === 1 ? [HOUR, HOURS_OF_DAY] : [DAY, days];
    const to = thisHour - (thisHour % step) + step;
    const span = { from: to - number * step, to };
    const [countedAt, payments, before] = await Promise.all([
      this.#countedAt(tenant, span, step),
      this.#payments.counts(tenant, span.from, span.to),
      this.#tally(tenant, spanBefore(span, thisHour)),
    ]);
    const paidAt = Map.groupBy(payments, ({ hour }) => hour - (hour % step));
    return {
      period: tallyOf([...countedAt.values()].flat(), payments),
      before,
      points: [...countedAt].map(([at, counted]) => ({ at, tally: tallyOf(counted, paidAt.get(at) ?? []) })),
    };
  }

  async #countedAt(tenant: Tenant, { from, to }: Span, step: number): Promise<Map<number, Counted[]>> {
    const counted = new Map<number, Counted[]>();
    for (let at = from; at < to; at += step) counted.set(at, await this.#statistics.sums(tenant, at, at + step));
    return counted;
  }

  async #tally(tenant: Tenant, { from, to }: Span): Promise<Tally> {
    return tallyOf(await this.#statistics.sums(tenant, from, to), await this.#payments.counts(tenant, from, to));
  }
}

/** What can be compared with it: as long, and up to the same hour of its last day. */
function spanBefore({ from, to }: Span, thisHour: number): Span {
  const length = to - from;
  return { from: from - length, to: thisHour + HOUR - length };
}
