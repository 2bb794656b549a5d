import type { Usage } from '../accounts/usage.ts';
import type { Tenant } from '../kernel/environment.ts';
import { LIMITS } from '../kernel/limits.ts';

/** What is counted of requests. The names of these counters are made and read here alone. */

const OUTCOMES = ['ok', 'refused', 'failed'] as const;

type RequestOutcome = (typeof OUTCOMES)[number];

/** Upper ends of the steps of durations, milliseconds. Each request is in one step: the lowest that it fits. */
const LATENCY_BUCKETS = [
  1,
  2,
  5,
  10,
  20,
  50,
  100,
  200,
  500,
  1000,
  2000,
  5000,
  10_000,
  30_000,
  LIMITS.maxMeasuredMs,
].map((end) => ({ end, name: `ms.le_${end}` }));
/** `end` stands for what has none: it is above every step. */
const OVERFLOW_BUCKET = { end: LIMITS.maxMeasuredMs + 1, name: 'ms.longer' };
/** What took more than a second, before there were steps for it; counted as what it was shown as then. */
const LEGACY_BUCKET = { end: 10_000, name: 'ms.inf' };

const BUCKET_BOUNDS: ReadonlyMap<string, number> = new Map(
  [...LATENCY_BUCKETS, OVERFLOW_BUCKET, LEGACY_BUCKET].map(({ end, name }) => [name, end]),
);

/** Made once, because every request takes one of them. */
const COUNTERS = new Map<string, Readonly<Record<RequestOutcome, string>>>();

/** An answered request of a tenant: how it went, and how long it took. */
export function countRequest(
  statistics: Pick<Usage, 'note'>,
  tenant: Tenant,
  operationId: string,
  { status, milliseconds }: { readonly status: number; readonly milliseconds: number },
): void {
  const { ok, refused, failed } = countersOf(operationId);
  statistics.note(tenant, status < 400 ? ok : status < 500 ? refused : failed);
  statistics.note(tenant, bucketOf(milliseconds));
}

function bucketOf(milliseconds: number): string {
  for (const { end, name } of LATENCY_BUCKETS) if (milliseconds <= end) return name;
  return OVERFLOW_BUCKET.name;
}

/** The counter of the requests of an operation that were done. */
export const successCounter = (operationId: string): string => countersOf(operationId).ok;

/** How the requests went that a counter counts; undefined when it counts something else. */
export function requestOutcome(name: string): RequestOutcome | undefined {
  const [, outcome] = name.split('.');
  return OUTCOMES.find((each) => each === outcome);
}

/**
 * Within how many milliseconds the requests were answered that a counter counts, one more than the longest step where
 * nobody knows; undefined when it counts something else.
 */
export const bucketBound = (name: string): number | undefined => BUCKET_BOUNDS.get(name);

function countersOf(operationId: string): Readonly<Record<RequestOutcome, string>> {
  let names = COUNTERS.get(operationId);
  if (names === undefined) {
    names = { ok: `${operationId}.ok`, refused: `${operationId}.refused`, failed: `${operationId}.failed` };
    COUNTERS.set(operationId, names);
  }
  return names;
}
