import type { CounterValue } from '../../src/accounts/usage.ts';
import { createCapture } from '../../src/http/endpoints/create-capture.ts';
import { bucketBound, requestOutcome, successCounter } from '../../src/http/request-counters.ts';
import { APPROVAL_BY_STATUS } from '../../src/payments/payment-queries.ts';
import type { PaymentTotal } from '../../src/payments/payment-totals.ts';
import { TOKENS_CREATED } from '../../src/vault/vault.ts';

/** Usage in a period, summed from counters. Pure. */
export interface UsageSummary {
  readonly tokens: number;
  readonly captures: number;
  readonly payments: number;
  readonly approved: number;
  readonly notApproved: number;
  readonly requests: number;
  readonly refused: number;
  readonly failed: number;
  /** Number of requests in a duration class: at most this number of milliseconds, and more than the previous bound. */
  readonly steps: ReadonlyMap<number, number>;
}

/** The counter of created captures. */
export const CAPTURES_CREATED = successCounter(createCapture.operationId);

export function summarizeUsage(
  counted: readonly CounterValue[],
  payments: readonly Pick<PaymentTotal, 'status' | 'number'>[],
): UsageSummary {
  const sumWhere = (matches: (name: string) => boolean): number => sum(counted.filter(({ name }) => matches(name)));
  const countOutcome = (how: string): number => sumWhere((name) => requestOutcome(name) === how);
  const countPayments = (outcome: string): number =>
    sum(payments.filter(({ status }) => APPROVAL_BY_STATUS[status] === outcome));
  const [refused, failed] = [countOutcome('refused'), countOutcome('failed')];
  return {
    tokens: sumWhere((name) => name === TOKENS_CREATED),
    captures: sumWhere((name) => name === CAPTURES_CREATED),
    payments: sum(payments),
    approved: countPayments('approved'),
    notApproved: countPayments('not-approved'),
    requests: countOutcome('ok') + refused + failed,
    refused,
    failed,
    steps: stepsOf(counted),
  };
}

const sum = (counts: readonly { readonly number: number }[]): number =>
  counts.reduce((total, { number }) => total + number, 0);

function stepsOf(counted: readonly CounterValue[]): Map<number, number> {
  const steps = new Map<number, number>();
  for (const { name, number } of counted) {
    const step = bucketBound(name);
    if (step !== undefined) steps.set(step, (steps.get(step) ?? 0) + number);
  }
  return steps;
}

/**
 * Returns the duration within which this share of the requests completed, as far as the classes show; undefined without
 * requests.
 */
export function latencyPercentile({ steps }: Pick<UsageSummary, 'steps'>, share: number): number | undefined {
  const total = sum([...steps.values()].map((number) => ({ number })));
  let reached = 0;
  for (const [step, number] of [...steps].sort(([one], [other]) => one - other)) {
    reached += number;
    if (number > 0 && reached >= total * share) return step;
  }
  return undefined;
}
