import { type AuditAction, buildAuditEntry, type Origin } from '../audit/audit.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Tenant } from '../kernel/environment.ts';
import type { JournalEntry } from '../storage/database.ts';
import type { Operation } from './payment.ts';

/** Who asks something of a payment: a person, or a key. */
export interface Requester {
  readonly tenant: Tenant;
  readonly origin: Origin;
}

/** What the audit log says of an operation: ids and words, no amounts. */
export function paymentEvent(
  clock: Clock,
  action: Extract<AuditAction, `payment.${string}`>,
  { tenant, operation }: { readonly tenant: Tenant; readonly operation: Operation },
  origin: Origin,
  outcome = 'success',
): JournalEntry {
  const targets = [`payment:${operation.paymentId}`];
  const detail = { operation: operation.type, transaction: operation.id };
  return buildAuditEntry(clock, origin, { action, outcome, ...tenant, targets, detail });
}

/** The service itself, which nobody asked. */
export const SERVICE_ORIGIN: Origin = { actor: { type: 'service' } };
