import { type AuditAction, buildAuditEntry, type Origin } from '../../src/audit/audit.ts';
import type { Clock } from '../../src/kernel/clock.ts';
import type { JournalEntry } from '../../src/storage/database.ts';

interface EventDetails {
  readonly person?: string;
  /** Absent: `success`. */
  readonly outcome?: string;
  /** Further records concerned, such as `invitation:…`. */
  readonly targets?: readonly string[];
  readonly detail?: Readonly<Record<string, string | number>>;
}

/** Audit records about users: ids, roles and reasons; never an email address. */
export function personEvent(
  clock: Clock,
  origin: Origin,
  action: AuditAction,
  account: string,
  { person, outcome = 'success', targets = [], detail }: EventDetails,
): JournalEntry {
  const all = person === undefined ? targets : [`person:${person}`, ...targets];
  return buildAuditEntry(clock, origin, {
    action,
    outcome,
    account,
    environment: '',
    targets: all,
    ...(detail !== undefined && { detail }),
  });
}

/** Builds the same record for every account of the user; for a user without account, in the log of the service. */
export function eventPerAccount(
  clock: Clock,
  origin: Origin,
  action: AuditAction,
  memberships: readonly { readonly account: string }[],
  about: EventDetails,
): JournalEntry[] {
  const accounts = memberships.length === 0 ? [''] : memberships.map(({ account }) => account);
  return accounts.map((account) => personEvent(clock, origin, action, account, about));
}
