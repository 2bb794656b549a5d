import { type AuditAction, type AuditEvent, buildAuditEntry, type Origin } from '../audit/audit.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Tenant } from '../kernel/environment.ts';
import type { JournalEntry } from '../storage/database.ts';
import type { Operation } from './payment.ts';

/** Who asks something of a payment: a person, or a key. */
export interface Requester {
  readonly tenant: Tenant;
  readonly origin: Origin;
}

/** The audit record of an operation holds ids and codes, no amounts. */
export function paymentAuditEvent(
  action: Extract<AuditAction, `payment.${string}`>,
  { tenant, operation }: { readonly tenant: Tenant; readonly operation: Operation },
  outcome = 'success',
): AuditEvent {
  const targets = [`payment:${operation.paymentId}`];
  const detail = { operation: operation.type, transaction: operation.id };
  return { action, outcome, ...tenant, targets, detail };
}

/** As `paymentAuditEvent`, for units that are committed without a transaction. */
export const paymentEvent = (
  clock: Clock,
  action: Extract<AuditAction, `payment.${string}`>,
  about: { readonly tenant: Tenant; readonly operation: Operation },
  origin: Origin,
  outcome = 'success',
): JournalEntry => buildAuditEntry(clock, origin, paymentAuditEvent(action, about, outcome));

/** The service itself, which nobody asked. */
export const SERVICE_ORIGIN: Origin = { actor: { type: 'service' } };
