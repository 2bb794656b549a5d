import { DAY } from '../../src/kernel/clock.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import type { FINDINGS } from '../wire/operator.ts';

/** Findings about the health of the service. */

type HealthFinding = (typeof FINDINGS)[number];

interface HealthCheck {
  readonly finding: HealthFinding;
  readonly state: 'good' | 'warning' | 'bad';
  /** The number of affected items; 0 where the finding counts nothing. */
  readonly count: number;
  /** The limit of `count`; 0 without one. */
  readonly limit: number;
  /** Milliseconds; expiry of the affected item, if it has one. */
  readonly expiresAt: number | undefined;
}

interface HealthInputs {
  readonly now: number;
  readonly isReady: boolean;
  /** True when the newest heads of the audit log have valid seals; undefined while they cannot be read. */
  readonly isLogSealed: boolean | undefined;
  readonly waitingWrites: number;
  readonly inDoubtPayments: number;
  /** Number of enabled users who did not sign in for 90 days. */
  readonly inactiveUsers: number;
  readonly blockedPasswords: number;
  readonly isTimeTrusted: boolean;
  /** Rows with an invalid MAC. */
  readonly alteredRows: number;
  /** Expiry of the certificate of the listeners. */
  readonly certificateEnd: number | undefined;
  /** Expiry times of the certificates of payload proxies. */
  readonly proxyEnds: readonly number[];
  /** True when a crash may leave the memory in a file; undefined where the system does not say. */
  readonly coreDumps: boolean | undefined;
  /** True when the root key is in clear in the data directory although API keys for production exist. */
  readonly isRootKeyExposed: boolean;
}

/** How long before the expiry of a certificate the finding appears. */
const CERTIFICATE_WARNING_MS = 30 * DAY;
/** The fraction of the queue of writes that shows a slow disk, and not only a short peak. */
const QUEUE_WARNING_SHARE = 0.1;

export const runHealthChecks = (inputs: HealthInputs): HealthCheck[] => [
  database(inputs),
  auditLog(inputs),
  rows(inputs),
  writes(inputs),
  certificate(inputs),
  proxyCertificates(inputs),
  payments(inputs),
  users(inputs),
  passwords(inputs),
  time(inputs),
  custody(inputs),
  ...coreDumps(inputs),
];

type Numbers = Partial<Pick<HealthCheck, 'count' | 'limit' | 'expiresAt'>>;

const check = (finding: HealthFinding, state: HealthCheck['state'], numbers: Numbers = {}): HealthCheck => ({
  finding,
  state,
  count: 0,
  limit: 0,
  expiresAt: undefined,
  ...numbers,
});

const database = ({ isReady }: HealthInputs): HealthCheck =>
  isReady ? check('database-works', 'good') : check('database-fails', 'bad');

function auditLog({ isLogSealed }: HealthInputs): HealthCheck {
  if (isLogSealed === undefined) return check('log-unreadable', 'bad');
  return isLogSealed ? check('log-sealed', 'good') : check('log-broken', 'bad');
}

const rows = ({ alteredRows: count }: HealthInputs): HealthCheck =>
  count === 0 ? check('rows-sealed', 'good') : check('rows-altered', 'bad', { count });

function writes({ waitingWrites: count }: HealthInputs): HealthCheck {
  const limit = LIMITS.queuedUnits;
  return check('writes-wait', count > limit * QUEUE_WARNING_SHARE ? 'warning' : 'good', { count, limit });
}

function certificate({ certificateEnd: expiresAt, now }: HealthInputs): HealthCheck {
  if (expiresAt === undefined) return check('certificate-unknown', 'warning');
  if (expiresAt <= now) return check('certificate-ended', 'bad', { expiresAt });
  return check('certificate-ends', isNear(expiresAt, now) ? 'warning' : 'good', { expiresAt });
}

function proxyCertificates({ proxyEnds, now }: HealthInputs): HealthCheck {
  const ended = proxyEnds.filter((end) => end <= now).length;
  const near = proxyEnds.filter((end) => isNear(end, now)).length;
  if (ended > 0) return check('proxies-ended', 'bad', { count: ended });
  if (near > 0) return check('proxies-near', 'warning', { count: near });
  return check(proxyEnds.length === 0 ? 'proxies-none' : 'proxies-good', 'good');
}

const payments = ({ inDoubtPayments: count }: HealthInputs): HealthCheck =>
  count === 0 ? check('payments-known', 'good') : check('payments-in-doubt', 'warning', { count });

const time = ({ isTimeTrusted }: HealthInputs): HealthCheck =>
  isTimeTrusted ? check('time-trusted', 'good') : check('time-untrusted', 'bad');

const custody = ({ isRootKeyExposed }: HealthInputs): HealthCheck =>
  isRootKeyExposed ? check('custody-exposed', 'warning') : check('custody-good', 'good');

const coreDumps = ({ coreDumps: allowed }: HealthInputs): HealthCheck[] => {
  if (allowed === undefined) return [];
  return [allowed ? check('dumps-on', 'warning') : check('dumps-off', 'good')];
};

const users = ({ inactiveUsers: count }: HealthInputs): HealthCheck =>
  count === 0 ? check('users-active', 'good') : check('users-inactive', 'warning', { count });

const passwords = ({ blockedPasswords: count }: HealthInputs): HealthCheck =>
  count === 0 ? check('passwords-accepted', 'good') : check('passwords-blocked', 'warning', { count });

const isNear = (end: number, now: number): boolean => end > now && end - now < CERTIFICATE_WARNING_MS;
