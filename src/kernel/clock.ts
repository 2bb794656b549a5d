/** Time and randomness are arguments everywhere, so that a test decides both. */

/** Milliseconds since the Unix epoch, UTC. */
export type Clock = () => number;

/** Milliseconds since an arbitrary start. It never jumps, whatever sets the clocks of the machine. */
export type MonotonicClock = () => number;

/** A source of cryptographically strong randomness. */
export interface Random {
  /** `size` fresh bytes, owned by the caller. */
  bytes(size: number): Uint8Array;
  /** A uniform integer in [0, bound), bound from 1 to 2^32. */
  below(bound: number): number;
}

export const SECOND = 1000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/** ISO 8601 in UTC with milliseconds, the one time format of every answer. */
export const formatIso8601 = (milliseconds: number): string => new Date(milliseconds).toISOString();

export const formatIso8601OrNull = (milliseconds: number | undefined): string | null =>
  milliseconds === undefined ? null : formatIso8601(milliseconds);

const ISO_8601 =
  /^([0-9]{4}-[0-9]{2}-[0-9]{2})(?:T[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?(?:Z|[+-][0-9]{2}:[0-9]{2}))?$/;

/** A time as people write it: ISO 8601 with its zone, or a day, which begins in UTC. Undefined when it is none. */
export function parseIso8601(text: string): number | undefined {
  const [, day = ''] = ISO_8601.exec(text) ?? [];
  const [time, start] = [Date.parse(text), Date.parse(day)];
  // The 31st of a short month would be read as the 1st of the next.
  const isTime = !Number.isNaN(time) && !Number.isNaN(start) && formatIso8601(start).startsWith(day);
  return isTime ? time : undefined;
}
