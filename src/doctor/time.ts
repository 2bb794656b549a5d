import { formatIso8601, SECOND } from '../kernel/clock.ts';
import { LIMITS } from '../kernel/limits.ts';
import { DISTRUST_TEXTS } from '../kernel/time-guard.ts';
import type { ClockRecords } from '../storage/clock-record-store.ts';
import { type Check, ok, problem, warning } from './check.ts';

/** Rules about the clock. */

const TOLERATED_MS = SECOND;

/** `isSynchronized`: as the system states it; undefined where it does not. */
export function checkSynchronization(isSynchronized: boolean | undefined): Check {
  const name = 'clock synchronization';
  if (isSynchronized === true) return ok(name, 'the clock of this machine is synchronized');
  const message =
    isSynchronized === false
      ? 'the clock of this machine is not synchronized'
      : 'the system does not state whether its clock is synchronized';
  return warning(name, message, 'synchronize it by NTP: timedatectl status, or chronyc tracking');
}

/**
 * `offset`: milliseconds that this machine is ahead of the database; undefined without a server. `decides`: true when the
 * clock of the machine decides, and not that of the database.
 */
export function checkOffset(offset: number, decides: boolean): Check {
  const name = 'clock offset';
  const seconds = Math.abs(offset / SECOND).toFixed(1);
  if (Math.abs(offset) <= TOLERATED_MS) return ok(name, `this machine and the database differ by ${seconds} s`);
  const message = `this machine is ${seconds} s ${offset > 0 ? 'ahead of' : 'behind'} the database`;
  return decides
    ? problem(name, message, 'synchronize both by NTP, or set CARDVAULT_CLOCK=database')
    : warning(name, message, 'synchronize both by NTP: the lines of the log have the time of the machine');
}

/**
 * The findings of a service that compares the clock with the time that has passed. `now`: by the clock that decides.
 */
export function checkTrust({ trusted, distrust }: Partial<ClockRecords>, now: number): Check {
  const name = 'trusted time';
  const advice = 'compare the clock with another one, correct it, or: cardvault clock status, cardvault clock confirm';
  if (distrust !== undefined && Math.abs(now - distrust.at) <= LIMITS.clockToleranceMs)
    return problem(name, `time is not trusted: ${DISTRUST_TEXTS[distrust.reason]}`, advice);
  if (trusted === undefined)
    return warning(name, 'no trusted time is stored yet', 'start the service, which stores it each minute');
  if (trusted.at > now + LIMITS.clockToleranceMs)
    return problem(name, `the clock is behind the last trusted time, ${formatIso8601(trusted.at)}`, advice);
  if (now - trusted.at > LIMITS.uncheckedStopMs)
    return warning(
      name,
      `no service has compared the clock since ${formatIso8601(trusted.at)}`,
      'start the service, and then: cardvault clock status',
    );
  return ok(name, `time was trusted at ${formatIso8601(trusted.at)}`);
}
