import { listRecentOperatorNotices } from '../../src/accounts/account-notices.ts';
import { measureLag } from '../../src/audit/journal-tail.ts';
import type { ReviewRule } from '../../src/audit/review-rules.ts';
import { listFindings } from '../../src/audit/review-store.ts';
import type { ShippingTarget } from '../../src/audit/shipping.ts';
import { listVerifications } from '../../src/audit/verification-store.ts';
import { findBackupTimes } from '../../src/backup/backup-store.ts';
import type { DigestKeys } from '../../src/crypto/digest-keys.ts';
import { DAY, MINUTE } from '../../src/kernel/clock.ts';
import type { Environment } from '../../src/kernel/environment.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import type { ProxyConfigurations } from '../../src/proxy/proxy-configurations.ts';
import type { OverdueKeys } from '../../src/rotation/key-ages.ts';
import { type Database, integer, integerOrNull, type Row, text } from '../../src/storage/database.ts';
import type { AlertKind, Finding, Severity } from './alert.ts';

/** Sources of alerts: each returns the causes of its kind that exist now, and reads a bounded number of rows. */

export interface SourceDependencies {
  readonly database: Database;
  readonly journalKey: DigestKeys;
  readonly configurations: ProxyConfigurations;
  /** Expiry of the listeners' certificate; undefined when it cannot be read. */
  certificateEnd(): number | undefined;
  /** Receivers of the audit log; absent: none. */
  readonly auditReceivers?: readonly ShippingTarget[];
  /** Milliseconds after which a backup, and a drill, are overdue; absent: never. */
  readonly backupMaxAges?: { readonly backup?: number | undefined; readonly drill?: number | undefined };
  /** Keys of the vault that are older than their period. */
  countOverdueKeys(): Promise<OverdueKeys>;
}

type Source = (dependencies: SourceDependencies, now: number) => Promise<Finding[]>;

/** Recovery resolves most unknown outcomes within this time. */
const IN_DOUBT_AFTER_MS = 2 * MINUTE;
const IN_DOUBT_LONG_MS = 15 * MINUTE;
/** Denied and limited requests of an account's keys. */
const REFUSED_WITHIN_MS = 15 * MINUTE;
const REFUSED_BURST = 20;
const MANY_REFUSED = 1000;
const KEY_WARNING_MS = 14 * DAY;
const CERTIFICATE_WARNING_MS = 30 * DAY;
/** From here on an expiry is urgent. */
const URGENT_MS = 3 * DAY;
/** How long an expired key is reported; expired certificates are until they are replaced. */
const EXPIRED_KEY_MS = DAY;
const SETTINGS_CHANGED_MS = 7 * DAY;
/** The log is verified every day. */
const UNVERIFIED_AFTER_MS = 2 * DAY;
/** Records are sent within seconds. */
const NOT_SHIPPED_AFTER_MS = 15 * MINUTE;
/** Refused sign-ins of a user within a day; fewer are mistyped. */
const REFUSED_SIGN_INS = 5;

const ALTERED_ROWS = 'select count(*) as number, min(found_at) as since from altered_rows';

const MAX = LIMITS.alertsPerSource;
const IN_DOUBT = `select account, environment, count(*) as number, min(in_doubt_since) as since from payments
  where in_doubt_since is not null and in_doubt_since <= ? group by account, environment limit ${MAX}`;
const EXPIRING_KEYS = `select account, environment, id, name, expires_at from api_keys
  where expires_at > ? and expires_at <= ? and revoked_at is null and successor is null order by expires_at limit ${MAX}`;
const PENDING_APPROVALS = `select account, environment, count(*) as number, min(created_at) as since from approvals
  where status = 'waiting' and expires_at > ? group by account, environment limit ${MAX}`;
const PENDING_ACTIVATIONS =
  "select count(*) as number, min(created_at) as since from activation_requests where status = 'requested'";

const ENDING_TOKENS = `select account, environment, acts_at, announced from retention_rules
  where acts_at is not null and announced is not null limit ${MAX}`;

/** The newest requests decide, however many there are. */
const REFUSED = `select account, environment, cast(sum(1 + repeats) as bigint) as number, min(at) as since from (
    select account, environment, at, status, api_key, repeats from request_log where at >= ? order by at desc
    limit ${LIMITS.requestsPerAlert}) as requests
  where status in (403, 429) and api_key is not null group by account, environment limit ${MAX}`;

const SERVICE = { account: '', environment: '' } as const;
const NOTHING = { subject: '', label: '', number: 0, expiresAt: undefined, since: undefined } as const;

const scopeOf = (row: Row) => ({
  account: text(row, 'account'),
  environment: text(row, 'environment') as Environment,
});

const urgency = (expiresAt: number, now: number): Severity => (expiresAt - now <= URGENT_MS ? 'high' : 'medium');

const unknownOutcomes: Source = async ({ database }, now) => {
  const found = (await database.read(IN_DOUBT, now - IN_DOUBT_AFTER_MS)).map((row): Finding & { since: number } => {
    const since = integer(row, 'since');
    const severity = now - since >= IN_DOUBT_LONG_MS ? 'high' : 'medium';
    return { ...NOTHING, ...scopeOf(row), kind: 'unknown-outcomes', severity, number: integer(row, 'number'), since };
  });
  if (found.length === 0) return [];
  // Operators have one alert about all of them.
  const severity = found.some((each) => each.severity === 'high') ? 'high' : 'medium';
  const number = found.reduce((sum, each) => sum + each.number, 0);
  const since = Math.min(...found.map((each) => each.since));
  return [...found, { ...NOTHING, ...SERVICE, kind: 'unknown-outcomes', severity, number, since }];
};

const refusedRequests: Source = async ({ database }, now) =>
  (await database.read(REFUSED, now - REFUSED_WITHIN_MS)).flatMap((row) => {
    const [number, since] = [integer(row, 'number'), integer(row, 'since')];
    const severity = number >= MANY_REFUSED ? 'high' : 'medium';
    if (number < REFUSED_BURST) return [];
    return [{ ...NOTHING, ...scopeOf(row), kind: 'requests-refused', severity, number, since }];
  });

const expiringKeys: Source = async ({ database }, now) =>
  (await database.read(EXPIRING_KEYS, now - EXPIRED_KEY_MS, now + KEY_WARNING_MS)).map((row) => {
    const expiresAt = integer(row, 'expires_at');
    const severity = urgency(expiresAt, now);
    const named = { subject: text(row, 'id'), label: text(row, 'name') };
    return { ...NOTHING, ...scopeOf(row), ...named, kind: 'key-expires', severity, expiresAt };
  });

const expiringCertificates: Source = async ({ configurations }, now) =>
  (await configurations.listCertificateExpiries())
    .filter(({ expiresAt }) => expiresAt <= now + CERTIFICATE_WARNING_MS)
    .slice(0, MAX)
    .map(({ account, environment, certificate, expiresAt }) => ({
      ...NOTHING,
      account,
      environment,
      kind: certificate === 'merchant' ? 'certificate-expires' : 'processor-key-expires',
      severity: urgency(expiresAt, now),
      expiresAt,
    }));

const expiringTlsCertificate: Source = async ({ certificateEnd }, now) => {
  const expiresAt = certificateEnd();
  if (expiresAt === undefined || expiresAt > now + CERTIFICATE_WARNING_MS) return [];
  return [{ ...NOTHING, ...SERVICE, kind: 'tls-certificate-expires', severity: urgency(expiresAt, now), expiresAt }];
};

const pendingApprovals: Source = async ({ database }, now) =>
  (await database.read(PENDING_APPROVALS, now)).map((row) => {
    const [number, since] = [integer(row, 'number'), integer(row, 'since')];
    return { ...NOTHING, ...scopeOf(row), kind: 'approvals-wait', severity: 'medium', number, since };
  });

const pendingActivations: Source = async ({ database }) => {
  const [row = {}] = await database.read(PENDING_ACTIVATIONS);
  const [number, since] = [integer(row, 'number'), integerOrNull(row, 'since')];
  return number === 0 ? [] : [{ ...NOTHING, ...SERVICE, kind: 'activations-wait', severity: 'medium', number, since }];
};

/** Settings that decide where card data goes, changed by an operator. */
const changedSettings: Source = async ({ database }, now) =>
  (await listRecentOperatorNotices(database, now - SETTINGS_CHANGED_MS, MAX)).map(
    ({ account, environment, action, at }) => ({
      ...NOTHING,
      account,
      environment,
      kind: 'settings-changed',
      subject: action,
      severity: 'high',
      since: at,
    }),
  );

/** Announced deletions of unused tokens. */
const endingTokens: Source = async ({ database }) =>
  (await database.read(ENDING_TOKENS)).map((row) => ({
    ...NOTHING,
    ...scopeOf(row),
    kind: 'tokens-end',
    severity: 'high',
    number: integer(row, 'announced'),
    expiresAt: integer(row, 'acts_at'),
  }));

const auditLog: Source = async ({ database, journalKey }, now) => {
  const verifications = await listVerifications(database, journalKey);
  const faulty = verifications.filter(({ fault }) => fault !== '');
  const altered = faulty.map(({ kind, at }): Finding => {
    return { ...NOTHING, ...SERVICE, kind: 'audit-log-altered', subject: kind, severity: 'high', since: at };
  });
  const newest = Math.max(0, ...verifications.map(({ succeededAt }) => succeededAt));
  if (altered.length > 0 || newest === 0 || now - newest <= UNVERIFIED_AFTER_MS) return altered;
  return [{ ...NOTHING, ...SERVICE, kind: 'audit-log-unverified', severity: 'high', since: newest }];
};

const unshippedLog: Source = async ({ database, auditReceivers = [] }, now) => {
  const findings: Finding[] = [];
  for (const target of auditReceivers) {
    const { records, oldest = now } = await measureLag(database, target);
    if (records === 0 || now - oldest < NOT_SHIPPED_AFTER_MS) continue;
    const named = { subject: target, label: target, number: records, since: oldest };
    findings.push({ ...NOTHING, ...SERVICE, ...named, kind: 'audit-log-not-shipped', severity: 'high' });
  }
  return findings;
};

const alteredRows: Source = async ({ database }) => {
  const [row = {}] = await database.read(ALTERED_ROWS);
  const [number, since] = [integer(row, 'number'), integerOrNull(row, 'since')];
  return number === 0 ? [] : [{ ...NOTHING, ...SERVICE, kind: 'rows-altered', severity: 'high', number, since }];
};

const REVIEW_SEVERITY: Readonly<Record<ReviewRule, Severity>> = {
  'sign-ins-refused': 'high',
  'keys-changed': 'medium',
  'dual-control-off': 'high',
  'data-exported': 'medium',
  'operator-commands': 'medium',
};

/** Findings of the rules of the daily review within the last day. */
const reviewedLog: Source = async ({ database }, now) =>
  (await listFindings(database, now, MAX))
    .filter(({ rule, number }) => rule !== 'sign-ins-refused' || number >= REFUSED_SIGN_INS)
    .map(({ rule, account, environment, subject, label, number, since }) => ({
      ...NOTHING,
      ...{ account, environment: environment as Environment | '', subject, label, number, since },
      kind: rule,
      severity: REVIEW_SEVERITY[rule],
    }));

/** Without any backup or drill, the alert begins when it is found. */
const overdueBackups: Source = async ({ database, backupMaxAges = {} }, now) => {
  if (backupMaxAges.backup === undefined && backupMaxAges.drill === undefined) return [];
  const { backedUpAt, drilledAt } = await findBackupTimes(database);
  const overdue = (kind: AlertKind, at: number | undefined, maxAge: number | undefined): Finding[] => {
    if (maxAge === undefined || (at !== undefined && now - at <= maxAge)) return [];
    return [{ ...NOTHING, ...SERVICE, kind, severity: 'high', since: at === undefined ? undefined : at + maxAge }];
  };
  return [
    ...overdue('backup-overdue', backedUpAt, backupMaxAges.backup),
    ...overdue('drill-overdue', drilledAt, backupMaxAges.drill),
  ];
};

const overdueKeys: Source = async ({ countOverdueKeys }) => {
  const { count: number, since } = await countOverdueKeys();
  return number === 0 ? [] : [{ ...NOTHING, ...SERVICE, kind: 'rotation-due', severity: 'medium', number, since }];
};

export const SOURCES: readonly Source[] = [
  unknownOutcomes,
  refusedRequests,
  expiringKeys,
  expiringCertificates,
  expiringTlsCertificate,
  pendingApprovals,
  pendingActivations,
  changedSettings,
  endingTokens,
  auditLog,
  unshippedLog,
  alteredRows,
  reviewedLog,
  overdueBackups,
  overdueKeys,
];
