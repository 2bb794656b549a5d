import { uptime } from 'node:os';
import type { Config } from './config.ts';
import type { Clocks } from './core.ts';
import { type Clock, type MonotonicClock, SECOND } from './kernel/clock.ts';

/** The clocks of the machine, for every thread of the process. */

export const wallClock: Clock = () => Date.now();

/** The wall clock as it was at the start, advanced by a monotonic one. */
const steadyClock: Clock = () => performance.timeOrigin + performance.now();

/** On Linux the time since the boot: unlike `performance.now` it advances while the machine is suspended. */
const monotonicClock: MonotonicClock = process.platform === 'linux' ? () => uptime() * SECOND : () => performance.now();

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
