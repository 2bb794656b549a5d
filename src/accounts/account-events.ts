import type { AuditAction, AuditEvent } from '../audit/audit.ts';
import type { Account } from './account.ts';
import type { ApiKey } from './api-key.ts';

/** Audit records of the operator's changes, with the resulting attributes of the account or key. */
export function accountEvent(action: AuditAction, { id }: Account, detail?: Record<string, string>): AuditEvent {
  const event = { action, outcome: 'success', account: id, environment: '', targets: [`account:${id}`] } as const;
  return { ...event, ...(detail !== undefined && { detail }) };
}

/** Returns the audit record of a key whose row was altered, without anything that the row claims. */
export function tamperedKeyEvent(action: AuditAction, { account, environment, id }: ApiKey): AuditEvent {
  const event = { action, outcome: 'success', account, environment, targets: [`key:${id}`] } as const;
  return { ...event, detail: { altered: 'yes' } };
}

export function keyEvent(
  action: AuditAction,
  key: ApiKey,
  extra: Record<string, string | number | string[]> = {},
): AuditEvent {
  const { account, environment, id, name, prefix, permissions, allowList } = key;
  const detail = { name, prefix, permissions, allow_list: allowList.map(({ cidr }) => cidr), ...extra };
  const targets = [`key:${id}`];
  return { action, outcome: 'success', account, environment, targets, detail };
}
