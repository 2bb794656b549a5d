import type { Environment } from '../../src/kernel/environment.ts';
import type { Capability } from '../people/roles.ts';

/** Alerts of accounts, and of the service, whose account is ''. */

export const SEVERITIES = ['high', 'medium'] as const;
export type Severity = (typeof SEVERITIES)[number];

/** The capability that shows an alert of an account of this kind; operators see those of the service. */
export const CAPABILITY_BY_KIND = {
  'unknown-outcomes': 'payments:read',
  'key-expires': 'keys:read',
  'requests-refused': 'requests:read',
  'certificate-expires': 'proxy:read',
  'processor-key-expires': 'proxy:read',
  'approvals-wait': 'approvals:decide',
  'settings-changed': 'overview:read',
  'tokens-end': 'tokens:read',
  'activations-wait': 'operate',
  'tls-certificate-expires': 'operate',
  'audit-log-altered': 'operate',
  'audit-log-unverified': 'operate',
  'audit-log-not-shipped': 'operate',
  'rows-altered': 'operate',
  'sign-ins-refused': 'team:read',
  'keys-changed': 'keys:read',
  'dual-control-off': 'overview:read',
  'data-exported': 'audit:read',
  'operator-commands': 'operate',
  'backup-overdue': 'operate',
  'drill-overdue': 'operate',
  'rotation-due': 'operate',
} as const satisfies Readonly<Record<string, Capability>>;

export type AlertKind = keyof typeof CAPABILITY_BY_KIND;

export const ALERT_KINDS = Object.keys(CAPABILITY_BY_KIND) as AlertKind[];

/** A cause that exists now. */
export interface Finding {
  /** '' for the service. */
  readonly account: string;
  readonly environment: Environment | '';
  readonly kind: AlertKind;
  /** Distinguishes the alerts of a kind, for example by the id of the key; '' where there is one. */
  readonly subject: string;
  /** The name in the sentence, for example that of the key; may be ''. */
  readonly label: string;
  readonly severity: Severity;
  /** How many there are; 0 where nothing is counted. */
  readonly number: number;
  readonly expiresAt: number | undefined;
  /** When the cause began; undefined where the time at which it was found counts. */
  readonly since: number | undefined;
}

/** A stored alert. */
export interface Alert extends Finding {
  readonly id: string;
  readonly since: number;
}

/** Returns a text that identifies the cause. */
export const causeOf = ({ account, environment, kind, subject }: Finding): string =>
  [account, environment, kind, subject].join('\n');

/** Returns the capability that shows an alert; operators see those of the service. */
export const capabilityFor = ({ account, kind }: Pick<Finding, 'account' | 'kind'>): Capability =>
  account === '' ? 'operate' : CAPABILITY_BY_KIND[kind];
