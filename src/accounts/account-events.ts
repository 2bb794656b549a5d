import { type AuditAction, buildAuditEntry, type Origin } from '../audit/audit.ts';
import type { Clock } from '../kernel/clock.ts';
import type { JournalEntry } from '../storage/database.ts';
import type { Account } from './account.ts';
import type { ApiKey } from './api-key.ts';

/** Audit records of what the operator did, with what the account or key is like afterwards. */
export function accountEvent(
  clock: Clock,
  action: AuditAction,
  { id }: Account,
  origin: Origin,
  detail?: Record<string, string>,
): JournalEntry {
  const event = { action, outcome: 'success', account: id, environment: '', targets: [`account:${id}`] } as const;
  return buildAuditEntry(clock, origin, { ...event, ...(detail !== undefined && { detail }) });
}

/** An audit record of a key whose row was altered: nothing that the row claims goes into the log. */
export function tamperedKeyEvent(
  clock: Clock,
  action: AuditAction,
  { account, environment, id }: ApiKey,
  origin: Origin,
): JournalEntry {
  const event = { action, outcome: 'success', account, environment, targets: [`key:${id}`] } as const;
  return buildAuditEntry(clock, origin, { ...event, detail: { altered: 'yes' } });
}

export function keyEvent(
  clock: Clock,
  action: AuditAction,
  key: ApiKey,
  origin: Origin,
  extra: Record<string, string | number | string[]> = {},
): JournalEntry {
  const { account, environment, id, name, prefix, permissions, allowList } = key;
  const detail = { name, prefix, permissions, allow_list: allowList.map(({ cidr }) => cidr), ...extra };
  const targets = [`key:${id}`];
  return buildAuditEntry(clock, origin, { action, outcome: 'success', account, environment, targets, detail });
}
