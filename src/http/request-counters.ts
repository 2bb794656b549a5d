import type { Usage } from '../accounts/usage.ts';
import type { Tenant } from '../kernel/environment.ts';
import { LIMITS } from '../kernel/limits.ts';

/** Counters of requests. Their names are created and parsed in this file alone. */

const OUTCOMES = ['ok', 'refused', 'failed'] as const;

type RequestOutcome = (typeof OUTCOMES)[number];

/** Upper bounds of the duration classes, in milliseconds. Each request is in one class: the lowest that contains it. */
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
/** `end` represents the unbounded class: it is above every bound. */
const OVERFLOW_BUCKET = { end: LIMITS.maxMeasuredMs + 1, name: 'ms.longer' };

const BUCKET_BOUNDS: ReadonlyMap<string, number> = new Map(
  [...LATENCY_BUCKETS, OVERFLOW_BUCKET].map(({ end, name }) => [name, end]),
);

/** Built once, because every request uses one of them. */
const COUNTERS = new Map<string, Readonly<Record<RequestOutcome, string>>>();

/** Returns the counter of a tenant's request by outcome and duration. */
export function countRequest(
  usage: Pick<Usage, 'note'>,
  tenant: Tenant,
  operationId: string,
  { status, milliseconds }: { readonly status: number; readonly milliseconds: number },
): void {
  const { ok, refused, failed } = countersOf(operationId);
  usage.note(tenant, status < 400 ? ok : status < 500 ? refused : failed);
  usage.note(tenant, bucketOf(milliseconds));
}

function bucketOf(milliseconds: number): string {
  for (const { end, name } of LATENCY_BUCKETS) if (milliseconds <= end) return name;
  return OVERFLOW_BUCKET.name;
}

/** Returns the counter of an operation's successful requests. */
export const successCounter = (operationId: string): string => countersOf(operationId).ok;

/** Returns the outcome of the requests that a counter counts; undefined for other counters. */
export function requestOutcome(name: string): RequestOutcome | undefined {
  const [, outcome] = name.split('.');
  return OUTCOMES.find((each) => each === outcome);
}

/**
 * Returns the upper bound of a counter's duration class, or one more than the longest bound for the unbounded class;
 * undefined for other counters.
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
