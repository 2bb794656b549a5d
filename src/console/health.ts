import { DAY, iso8601 } from '../kernel/clock.ts';
import { LIMITS } from '../kernel/limits.ts';

/** What can be said of how the service does, in words for operators. */

export interface Check {
  readonly name: string;
  readonly state: 'good' | 'warning' | 'bad';
  readonly detail: string;
}

interface Vitals {
  readonly now: number;
  readonly isReady: boolean;
  /** The newest heads of the audit log are sealed with our key; undefined while they cannot be read. */
  readonly isLogSealed: boolean | undefined;
  readonly waitingWrites: number;
  readonly doubtfulPayments: number;
  /** Of the listeners. */
  readonly certificateEnd: number | undefined;
  /** Of proxies. */
  readonly proxyEnds: readonly number[];
}

/** Before a certificate ends. */
const WARNED_MS = 30 * DAY;
/** A part of the queue of writes that shows a slow disk, and not only a busy second. */
const BUSY_PART = 0.1;

export const checksOf = (vitals: Vitals): Check[] => [
  database(vitals),
  auditLog(vitals),
  writes(vitals),
  certificate(vitals),
  proxyCertificates(vitals),
  payments(vitals),
];

const check = (name: string, state: Check['state'], detail: string): Check => ({ name, state, detail });

const database = ({ isReady }: Vitals): Check =>
  isReady
    ? check('Database', 'good', 'It reads and writes.')
    : check('Database', 'bad', 'It does not read and write. See the log of the service.');

function auditLog({ isLogSealed }: Vitals): Check {
  const name = 'Audit log';
  if (isLogSealed === undefined) return check(name, 'bad', 'Its newest records cannot be read.');
  return isLogSealed
    ? check(name, 'good', 'Its newest records are sealed with the key of this vault. Verify it to check all of them.')
    : check(name, 'bad', 'A seal is wrong: it was changed in the database. Verify it to find where.');
}

function writes({ waitingWrites }: Vitals): Check {
  const isBusy = waitingWrites > LIMITS.waitingUnits * BUSY_PART;
  const detail = `${waitingWrites} of at most ${LIMITS.waitingUnits} wait for the disk.`;
  return check('Waiting writes', isBusy ? 'warning' : 'good', detail);
}

function certificate({ certificateEnd, now }: Vitals): Check {
  const name = 'Certificate of the listeners';
  if (certificateEnd === undefined) return check(name, 'warning', 'When it ends is not known.');
  return check(name, stateOfEnd(certificateEnd, now), `It ends on ${iso8601(certificateEnd).slice(0, 10)}.`);
}

function proxyCertificates({ proxyEnds, now }: Vitals): Check {
  const name = 'Certificates of proxies';
  const [ended, near] = [proxyEnds.filter((end) => end <= now), proxyEnds.filter((end) => isNear(end, now))];
  if (ended.length > 0) return check(name, 'bad', `${ended.length} have ended.`);
  if (near.length > 0) return check(name, 'warning', `${near.length} end within 30 days.`);
  return check(name, 'good', proxyEnds.length === 0 ? 'There are none.' : 'None ends within 30 days.');
}

const payments = ({ doubtfulPayments: number }: Vitals): Check =>
  number === 0
    ? check('Payments', 'good', 'The outcome of every payment is known, or is being asked for.')
    : check('Payments', 'warning', `Nobody knows the outcome of ${number} of them. See Processors.`);

const isNear = (end: number, now: number): boolean => end > now && end - now < WARNED_MS;

const stateOfEnd = (end: number, now: number): Check['state'] =>
  end <= now ? 'bad' : isNear(end, now) ? 'warning' : 'good';
