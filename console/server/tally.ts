import { createCapture } from '../../src/http/endpoints/create-capture.ts';
import { bucketBound, requestOutcome, successCounter } from '../../src/http/request-counters.ts';
import { APPROVAL_BY_STATUS } from '../../src/payments/payment-filter.ts';
import type { PaymentCount } from '../../src/payments/payment-queries.ts';
import type { Counted } from '../../src/storage/statistics.ts';
import { TOKENS_MADE } from '../../src/vault/vault.ts';

/** What happened in some time, added up from counters. Pure. */
export interface Tally {
  readonly tokens: number;
  readonly captures: number;
  readonly payments: number;
  readonly approved: number;
  readonly notApproved: number;
  readonly requests: number;
  readonly refused: number;
  readonly failed: number;
  /** How many requests took at most so many milliseconds, and longer than the step before. */
  readonly steps: ReadonlyMap<number, number>;
}

/** The counter of captures that were made. */
export const CAPTURES_MADE = successCounter(createCapture.operationId);

export function tallyOf(counted: readonly Counted[], payments: readonly PaymentCount[]): Tally {
  const sum = (fits: (name: string) => boolean): number => added(counted.filter(({ name }) => fits(name)));
  const answered = (how: string): number => sum((name) => requestOutcome(name) === how);
  const paid = (outcome: string): number =>
    added(payments.filter(({ status }) => APPROVAL_BY_STATUS[status] === outcome));
  const [refused, failed] = [answered('refused'), answered('failed')];
  return {
    tokens: sum((name) => name === TOKENS_MADE),
    captures: sum((name) => name === CAPTURES_MADE),
    payments: added(payments),
    approved: paid('approved'),
    notApproved: paid('not-approved'),
    requests: answered('ok') + refused + failed,
    refused,
    failed,
    steps: stepsOf(counted),
  };
}

const added = (counts: readonly { readonly number: number }[]): number =>
  counts.reduce((total, { number }) => total + number, 0);

function stepsOf(counted: readonly Counted[]): Map<number, number> {
  const steps = new Map<number, number>();
  for (const { name, number } of counted) {
    const step = bucketBound(name);
    if (step !== undefined) steps.set(step, (steps.get(step) ?? 0) + number);
  }
  return steps;
}

/** Within how many milliseconds this share of the requests was answered, as far as steps tell; undefined without any. */
export function answeredWithin({ steps }: Pick<Tally, 'steps'>, share: number): number | undefined {
  const total = added([...steps.values()].map((number) => ({ number })));
  let sum = 0;
  for (const [step, number] of [...steps].sort(([one], [other]) => one - other)) {
    sum += number;
    if (number > 0 && sum >= total * share) return step;
  }
  return undefined;
}
