import { HOUR, MINUTE, type Random, SECOND } from '../kernel/clock.ts';
import { LIMITS } from '../kernel/limits.ts';

/** When a failed attempt is repeated (webhooks.md 3). Pure. */

const UNITS: Readonly<Record<string, number>> = { s: SECOND, m: MINUTE, h: HOUR };
const LONGEST_MS = 24 * HOUR;

/** Delays after a failed attempt vary by up to this share, so that endpoints of one outage do not come back at once. */
const JITTER_PERCENT = 10;

/** Parses `5s,5m,30m`; undefined for any other text. */
export function parseSchedule(text: string): number[] | undefined {
  const delays = text.split(',').map((part) => {
    const [, number = '', unit = ''] = /^([1-9][0-9]{0,5})([smh])$/.exec(part.trim()) ?? [];
    return Number(number) * (UNITS[unit] ?? Number.NaN);
  });
  const isValid =
    delays.length <= LIMITS.webhookDelays && delays.every((delay) => delay >= SECOND && delay <= LONGEST_MS);
  return isValid ? delays : undefined;
}

interface FailedAttempt {
  /** Failed attempts since the schedule began, this one included. */
  readonly step: number;
  readonly endedAt: number;
  /** Time before which the receiver does not want another one. */
  readonly retryAfter: number | undefined;
}

/** Returns the time of the next attempt; undefined after the last. `Retry-After` only postpones it, by up to a day. */
export function nextAttemptAt(
  delays: readonly number[],
  { step, endedAt, retryAfter }: FailedAttempt,
  random: Random,
): number | undefined {
  const delay = delays[step - 1];
  if (delay === undefined) return undefined;
  const regular = endedAt + delay + random.below(Math.floor((delay * JITTER_PERCENT) / 100) + 1);
  const wanted = retryAfter === undefined ? 0 : Math.min(retryAfter, endedAt + LONGEST_MS);
  return Math.max(regular, wanted);
}

/** IMF-fixdate (RFC 9110 5.6.7). */
const DATE = /^[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2} GMT$/;

/** Returns the time that a `Retry-After` header names (RFC 9110 10.2.3); undefined for a malformed one. */
export function parseRetryAfter(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined;
  if (/^[0-9]{1,9}$/.test(header)) return now + Number(header) * SECOND;
  const time = DATE.test(header) ? Date.parse(header) : Number.NaN;
  return Number.isNaN(time) ? undefined : time;
}
