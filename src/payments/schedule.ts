import { HOUR, type Random } from '../kernel/clock.ts';
import type { Operation, Payment } from './payment.ts';
import type { ProcessorSettings } from './processor.ts';
import { parseDuration } from './settings.ts';
import type { Lifetimes } from './settle.ts';

/** When things are due. Pure but for the jitter; all times in milliseconds. */

export interface RecoveryTimes {
  readonly timeout: number;
  readonly recoveryDelay: number;
  readonly recoveryMax: number;
  readonly lifetimes: Lifetimes;
}

/** `ahead`: by how much the deciding clock is ahead of the time of the schedules; lifetimes are longer by it. */
export const recoveryTimes = (settings: ProcessorSettings, ahead = 0): RecoveryTimes => ({
  timeout: Number(settings['timeout-ms']),
  recoveryDelay: Number(settings['recovery-delay-ms']),
  recoveryMax: parseDuration(settings['recovery-max'] ?? ''),
  lifetimes: {
    opened: parseDuration(settings['opened-expiry'] ?? '') + ahead,
    authorization: parseDuration(settings['authorization-expiry'] ?? '') + ahead,
  },
});

/** After the processor must have answered, and had the time to note what it did. */
export const firstRecoveryAt = (operation: Operation, { timeout, recoveryDelay }: RecoveryTimes): number =>
  operation.createdAt + timeout + recoveryDelay;

const LEAST_WAIT = 250;
const LONGEST_DOUBLINGS = 12;

/** The wait after so many attempts: it doubles up to an hour, with a jitter of a tenth so that a crowd spreads. */
export function backOff(attempts: number, { recoveryDelay }: RecoveryTimes, random: Random): number {
  const wait = Math.max(recoveryDelay, LEAST_WAIT) * 2 ** Math.min(attempts, LONGEST_DOUBLINGS);
  const capped = Math.min(wait, HOUR);
  return capped + random.below(Math.ceil(capped / 10));
}

/** The next look at a payment without an operation under way; `again` when something about it is watched. */
export function nextRecoveryAt({ recheckIds: watched, expiresAt }: Payment, again: number): number | undefined {
  const looks = [...(watched.length > 0 ? [again] : []), ...(expiresAt === undefined ? [] : [expiresAt])];
  return looks.length === 0 ? undefined : Math.min(...looks);
}

/** How long a request that nobody confirmed is still looked for. */
export const recheckUntil = (operation: Operation, { recoveryMax }: RecoveryTimes): number =>
  operation.createdAt + 2 * recoveryMax;
