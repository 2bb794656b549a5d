import { uptime } from 'node:os';
import type { Config } from './config.ts';
import type { Clocks } from './core.ts';
import { type Clock, type MonotonicClock, SECOND } from './kernel/clock.ts';

/** The clocks of the machine, for every thread of the process. */

export const wallClock: Clock = () => Date.now();

/** The wall clock as it was at the start, advanced by a monotonic one. */
const steadyClock: Clock = () => performance.timeOrigin + performance.now();

/** How long a reading of the time since the boot is continued. */
const CONTINUED_MS = SECOND;
/** The two clocks are read one after the other, and a correction of the wall clock moves it by less within a second. */
const AGREEMENT_MS = 2;

/**
 * Returns the time since the boot: unlike `performance.now` it advances while the machine is suspended. Reading it opens a
 * file, so a reading is continued by `ticks`, for a second and while the wall clock advances as `ticks` does: it does
 * not after a suspension.
 */
export function bootClock(sinceBoot: MonotonicClock, wall: Clock, ticks: MonotonicClock): MonotonicClock {
  let read = { boot: sinceBoot(), wall: wall(), ticks: ticks() };
  let last = read.boot;
  return () => {
    const [now, tick] = [wall(), ticks()];
    const passed = tick - read.ticks;
    const isContinued = passed < CONTINUED_MS && Math.abs(now - read.wall - passed) <= AGREEMENT_MS;
    if (!isContinued) read = { boot: sinceBoot(), wall: now, ticks: tick };
    // The file states hundredths of a second.
    last = Math.max(last, isContinued ? read.boot + passed : read.boot);
    return last;
  };
}

/** Finer than a millisecond, and paused while the machine is suspended. */
export const elapsed: MonotonicClock = () => performance.now();

const monotonicClock: MonotonicClock =
  process.platform === 'linux' ? bootClock(() => uptime() * SECOND, wallClock, elapsed) : elapsed;

const NANOSECONDS = 1_000_000n;

/** `performance.now` counts from the start of its thread, and `process.hrtime` is the same in all threads. */
const threadStart = Number(process.hrtime.bigint() / NANOSECONDS) - performance.now();

export const clockOf = ({ database }: Config): Clock =>
  database.kind === 'postgres' && database.clock === 'database' ? steadyClock : wallClock;

export const clocksOf = (config: Config): Clocks => ({
  clock: clockOf(config),
  monotonic: monotonicClock,
  stopwatch: () => threadStart + performance.now(),
});
