import type { Tenant } from '../kernel/environment.ts';
import { LIMITS } from '../kernel/limits.ts';
import type { Statistics } from '../storage/statistics.ts';

/** What is counted of requests. The names of these counters are made and read here alone. */

const OUTCOMES = ['ok', 'refused', 'failed'] as const;

type Outcome = (typeof OUTCOMES)[number];

/** Upper ends of the steps of durations, milliseconds. Each request is in one step: the lowest that it fits. */
const STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 30_000, LIMITS.maxMeasuredMs].map(
  (end) => ({ end, name: `ms.le_${end}` }),
);
/** `end` stands for what has none: it is above every step. */
const LONGER = { end: LIMITS.maxMeasuredMs + 1, name: 'ms.longer' };
/** What took more than a second, before there were steps for it; counted as what it was shown as then. */
const OVER_A_SECOND = { end: 10_000, name: 'ms.inf' };

const END_OF_STEP: ReadonlyMap<string, number> = new Map(
  [...STEPS, LONGER, OVER_A_SECOND].map(({ end, name }) => [name, end]),
);

/** Made once, because every request takes one of them. */
const NAMES = new Map<string, Readonly<Record<Outcome, string>>>();

/** An answered request of a tenant: how it went, and how long it took. */
export function countRequest(
  statistics: Pick<Statistics, 'note'>,
  tenant: Tenant,
  operationId: string,
  { status, milliseconds }: { readonly status: number; readonly milliseconds: number },
): void {
  const { ok, refused, failed } = namesOf(operationId);
  statistics.note(tenant, status < 400 ? ok : status < 500 ? refused : failed);
  statistics.note(tenant, (STEPS.find(({ end }) => milliseconds <= end) ?? LONGER).name);
}

/** The counter of the requests of an operation that were done. */
export const counterOfDone = (operationId: string): string => namesOf(operationId).ok;

/** How the requests went that a counter counts; undefined when it counts something else. */
export function outcomeCounted(name: string): Outcome | undefined {
  const [, outcome] = name.split('.');
  return OUTCOMES.find((each) => each === outcome);
}

/**
 * Within how many milliseconds the requests were answered that a counter counts, one more than the longest step where
 * nobody knows; undefined when it counts something else.
 */
export const stepCounted = (name: string): number | undefined => END_OF_STEP.get(name);

function namesOf(operationId: string): Readonly<Record<Outcome, string>> {
  let names = NAMES.get(operationId);
  if (names === undefined) {
    names = { ok: `${operationId}.ok`, refused: `${operationId}.refused`, failed: `${operationId}.failed` };
    NAMES.set(operationId, names);
  }
  return names;
}
