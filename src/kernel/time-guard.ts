import type { Clock, MonotonicClock, Timers } from './clock.ts';
import { LIMITS } from './limits.ts';

/** Time for decisions and periodic work that a jump of the clock must not disturb. */
export interface TrustedTime extends Timers {
  /**
   * Returns the time of the deciding clock, or undefined while it is not trusted. Code that destroys records calls this
   * for each decision and waits while there is no time: the returned time was compared at this very moment.
   */
  trustedNow(): number | undefined;
  /**
   * Returns a time that passes evenly: that of the deciding clock while it is trusted, otherwise the last trusted time
   * plus the time that has passed since. Schedules and leases use it: a jump must neither advance nor block them.
   */
  steadyNow(): number;
  /** Returns the later of deciding clock and `steadyNow`. Lifetimes start here, so that no record expires too early. */
  latestNow(): number;
  /** Returns all of them at one moment: two readings can differ by a millisecond, which would lengthen a lifetime. */
  timesNow(): Times;
}

/** The times of one reading, in milliseconds. */
interface Times {
  /** The deciding clock, whether or not it is trusted. */
  readonly now: number;
  readonly steady: number;
  readonly latest: number;
}

/** Returns by how much lifetimes that are counted from `steadyNow` have to be longer, so that none ends too early. */
export function aheadOfSteady(time: TrustedTime): number {
  const { steady, latest } = time.timesNow();
  return latest - steady;
}

/** The reasons for which time is not trusted. */
export type Distrust =
  /** The deciding clock is ahead of the time that has passed. */
  | 'ahead'
  | 'behind'
  /** The service was stopped for so long that only an operator can confirm the clock. */
  | 'long-stop'
  /** The last trusted time is missing in the database, or was altered there. */
  | 'no-record';

/** Sentences for operators. */
export const DISTRUST_TEXTS: Readonly<Record<Distrust, string>> = {
  ahead: 'the clock is ahead of the time that has passed',
  behind: 'the clock is behind the last trusted time and what has passed since',
  'long-stop': 'the service was stopped for long, and records are due to be deleted or voided',
  'no-record': 'the last trusted time is missing or was changed, and records are due to be deleted or voided',
};

/** The deciding clock compared with the time that has passed, at one moment. */
export interface TimeReading {
  /** The deciding clock, in milliseconds. */
  readonly time: number;
  readonly monotonic: number;
  /** The last trusted time plus the time that has passed since; undefined without a last trusted time. */
  readonly expected: number | undefined;
  /** Undefined while time is trusted. */
  readonly distrust: Distrust | undefined;
}

/** A clock that was found ahead, and the time that was expected at that moment. */
export interface KnownJump {
  readonly at: number;
  readonly expected: number;
}

interface Reference {
  readonly time: number;
  readonly monotonic: number;
  /** By how much the clock may be later than expected: the service was stopped for an unknown time. */
  readonly slack: number;
  /** Start of the period in which time was compared without a gap; undefined before the first comparison. */
  readonly since: number | undefined;
}

/**
 * The part of the passing time by which the expectation may follow the clock. A clock that is corrected evenly is
 * followed; one that drifts gains no more than this.
 */
const MAX_DRIFT = 0.01;

export const systemTimers: Timers = {
  after: (milliseconds, run) => {
    const timer = setTimeout(run, milliseconds).unref();
    return () => clearTimeout(timer);
  },
};

/**
 * Compares the deciding clock with monotonic time. After a jump, time is not trusted until the clock agrees again with
 * the last trusted time plus the time that has passed, or until `accept` is called.
 */
export class TimeGuard implements TrustedTime {
  readonly #clock: Clock;
  readonly #monotonic: MonotonicClock;
  readonly #timers: Timers;
  #reference: Reference | undefined;
  #isTrusted: boolean | undefined;
  #lastTrusted: number | undefined;
  #onChange: (reading: TimeReading) => void = () => undefined;

  constructor({
    clock,
    monotonic,
    timers = systemTimers,
  }: {
    clock: Clock;
    monotonic: MonotonicClock;
    timers?: Timers | undefined;
  }) {
    this.#clock = clock;
    this.#monotonic = monotonic;
    this.#timers = timers;
  }

  /**
   * Starts with the last trusted time of an earlier process; undefined when there is none. `jump` is the finding of the
   * newest process that did not trust the clock. A clock that continues from there is still ahead: a restart must not
   * make it trusted.
   */
  begin(lastTrusted: number | undefined, jump?: KnownJump): void {
    const monotonic = this.#monotonic();
    const time = this.#clock();
    if (jump !== undefined && time >= jump.at - LIMITS.clockToleranceMs)
      this.#reference = { time: jump.expected + time - jump.at, monotonic, slack: 0, since: undefined };
    else if (lastTrusted !== undefined)
      this.#reference = { time: lastTrusted, monotonic, slack: LIMITS.uncheckedStopMs, since: undefined };
    else this.#reference = undefined;
  }

  /** Calls the listener at each change between trusted and not trusted, from the next reading on. */
  onChange(listener: (reading: TimeReading) => void): void {
    this.#isTrusted = undefined;
    this.#onChange = listener;
  }

  /** Trusts the clock at its present time. */
  accept({ time, monotonic }: TimeReading): void {
    this.#reference = { time, monotonic, slack: 0, since: time };
    this.read();
  }

  /**
   * Returns the start of the period in which time was compared without a gap; undefined before time was trusted for the
   * first time.
   */
  get since(): number | undefined {
    return this.#reference?.since;
  }

  /** Returns the newest time that was trusted in this process. */
  get lastTrusted(): number | undefined {
    return this.#lastTrusted;
  }

  read(): TimeReading {
    const monotonic = this.#monotonic();
    const time = this.#clock();
    const reference = this.#reference;
    const expected = reference && reference.time + monotonic - reference.monotonic;
    const reading = { time, monotonic, expected, distrust: distrustOf(time, expected, reference?.slack ?? 0) };
    const isTrusted = reading.distrust === undefined;
    if (isTrusted && reference !== undefined) {
      this.#reference = followClock(reference, time, monotonic);
      this.#lastTrusted = time;
    }
    if (isTrusted !== this.#isTrusted) {
      this.#isTrusted = isTrusted;
      this.#onChange(reading);
    }
    return reading;
  }

  after(milliseconds: number, run: () => void): () => void {
    return this.#timers.after(milliseconds, run);
  }

  trustedNow(): number | undefined {
    const { time, distrust } = this.read();
    return distrust === undefined ? time : undefined;
  }

  steadyNow(): number {
    return this.timesNow().steady;
  }

  latestNow(): number {
    return this.timesNow().latest;
  }

  timesNow(): Times {
    const { time, expected, distrust } = this.read();
    const steady = distrust === undefined ? time : Math.round(expected ?? time);
    return { now: time, steady, latest: Math.max(time, steady) };
  }
}

function distrustOf(time: number, expected: number | undefined, slack: number): Distrust | undefined {
  if (expected === undefined) return 'no-record';
  if (time < expected - LIMITS.clockToleranceMs) return 'behind';
  if (time <= expected + slack + LIMITS.clockToleranceMs) return undefined;
  return slack === 0 ? 'ahead' : 'long-stop';
}

/** Returns the reference after a trusted reading. */
function followClock(reference: Reference, time: number, monotonic: number): Reference {
  const { since } = reference;
  if (since === undefined) return { time, monotonic, slack: 0, since: time };
  const passed = Math.max(0, monotonic - reference.monotonic);
  const expected = reference.time + passed;
  const drift = passed * MAX_DRIFT;
  return { time: expected + Math.min(drift, Math.max(-drift, time - expected)), monotonic, slack: 0, since };
}
