/** Time and randomness are arguments everywhere, so that a test controls both. */

/** Milliseconds since the Unix epoch, UTC. */
export type Clock = () => number;

/** Milliseconds since an arbitrary start. The value never jumps, whatever sets the clocks of the machine. */
export type MonotonicClock = () => number;

/** A source of cryptographically strong randomness. */
export interface Random {
  /** Returns `size` fresh bytes, owned by the caller. */
  bytes(size: number): Uint8Array;
  /** Returns a uniform integer in [0, bound), for a bound from 1 to 2^32. */
  below(bound: number): number;
}

export const SECOND = 1000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/** The last time that was formatted. Times of the same millisecond share the text. */
const lastFormatted = { milliseconds: Number.NaN, text: '' };

/** Returns a time as ISO 8601 in UTC with milliseconds, the only time format of responses. */
export function formatIso8601(milliseconds: number): string {
  if (milliseconds !== lastFormatted.milliseconds) {
    lastFormatted.text = new Date(milliseconds).toISOString();
    lastFormatted.milliseconds = milliseconds;
  }
  return lastFormatted.text;
}

export const formatIso8601OrNull = (milliseconds: number | undefined): string | null =>
  milliseconds === undefined ? null : formatIso8601(milliseconds);

const ISO_8601 =
  /^([0-9]{4}-[0-9]{2}-[0-9]{2})(?:T[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?(?:Z|[+-][0-9]{2}:[0-9]{2}))?$/;

/**
 * Returns the time that a text states: ISO 8601 with a time zone, or a date, which starts at midnight UTC. Undefined
 * for any other text.
 */
export function parseIso8601(text: string): number | undefined {
  const [, day = ''] = ISO_8601.exec(text) ?? [];
  const [time, start] = [Date.parse(text), Date.parse(day)];
  // `Date` would parse the 31st of a short month as the 1st of the next month.
  const isTime = !Number.isNaN(time) && !Number.isNaN(start) && formatIso8601(start).startsWith(day);
  return isTime ? time : undefined;
}

/** Delays. The service waits by the timers of the machine; a test lets them pass immediately. */
export interface Timers {
  /**
   * Calls `run` once after `milliseconds`, and returns a function that cancels the call. A waiting timer keeps no
   * process alive.
   */
  after(milliseconds: number, run: () => void): () => void;
}

/** Resolves after `milliseconds`. */
export const delay = (timers: Timers, milliseconds: number): Promise<void> =>
  new Promise((resolve) => timers.after(milliseconds, resolve));
