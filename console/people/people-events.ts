import type { AuditAction, AuditEvent } from '../../src/audit/audit.ts';

interface EventDetails {
  readonly person?: string;
  /** Absent: `success`. */
  readonly outcome?: string;
  /** Further records concerned, such as `invitation:…`. */
  readonly targets?: readonly string[];
  readonly detail?: Readonly<Record<string, string | number>>;
}

/** Returns an audit event about a user: ids, roles and reasons; never an email address. */
export function personEvent(
  action: AuditAction,
  account: string,
  { person, outcome = 'success', targets = [], detail }: EventDetails,
): AuditEvent {
  const all = person === undefined ? targets : [`person:${person}`, ...targets];
  return { action, outcome, account, environment: '', targets: all, ...(detail !== undefined && { detail }) };
}

/** Returns the event for the log of each account of the user; for the log of the service when the user has none. */
export function eventPerAccount(
  action: AuditAction,
  memberships: readonly { readonly account: string }[],
  details: EventDetails,
): AuditEvent[] {
  const accounts = memberships.length === 0 ? [''] : memberships.map(({ account }) => account);
  return accounts.map((account) => personEvent(action, account, details));
}
