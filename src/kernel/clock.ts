/** Time and randomness are arguments everywhere, so that a test decides both. */

/** Milliseconds since the Unix epoch, UTC. */
export type Clock = () => number;

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
export const iso8601 = (milliseconds: number): string => new Date(milliseconds).toISOString();

export const timeOrNull = (milliseconds: number | undefined): string | null =>
  milliseconds === undefined ? null : iso8601(milliseconds);
