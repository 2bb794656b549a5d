import type { Clock } from '../kernel/clock.ts';
import type { Environment } from '../kernel/environment.ts';
import type { JournalEntry } from '../storage/database.ts';

/**
 * The audit log: every use of a key that fails or reads card data, every deletion, every change of accounts and keys
 * (PCI DSS 10.2.1). Entries are part of the unit that has the effect, so that neither exists without the other.
 */
export const AUDIT_ACTIONS = [
  'service.initialised',
  'journal.opened',
  'clock.confirmed',
  'access.denied',
  'audit.read',
  'audit.exported',
  'audit.pruned',
  'requests.read',
  'records.exported',
  'records.export-ended',
  'vault.backed-up',
  'backup.verified',
  'backup.ended',
  'backup.drilled',
  'vault.restored',
  'vault.copied',
  'vault.unsealed',
  'keyring.ceremony-held',
  'keyring.share-acknowledged',
  'keyring.custody-moved',
  'keyring.custody-discarded',
  'keyring.root-key-given',
  'keyring.rotated',
  'keyring.rotation-finished',
  'keyring.destroyed',
  'capture.retrieved',
  'capture.tokenized',
  'capture.deleted',
  'token.detokenized',
  'token.deleted',
  'sad-key.destroyed',
  'receipt.issued',
  'database.scrubbed',
  'retention.set',
  'retention.removed',
  'retention.announced',
  'account.created',
  'account.suspended',
  'account.resumed',
  'account.edited',
  'account.exported',
  'account.export-ended',
  'cards.imported',
  'cards.import-ended',
  'key.created',
  'key.edited',
  'key.rotated',
  'key.revoked',
  'record.altered',
  'proxy.configured',
  'proxy.removed',
  'payments.enabled',
  'payments.disabled',
  'payment.requested',
  'payment.checked',
  'payment.resolved',
  'payment.resolved-manually',
  'payment.expired',
  'person.invited',
  'person.joined',
  'person.signed-in',
  'person.sign-in-refused',
  'person.disabled',
  'person.locked',
  'person.unlocked',
  'person.signed-out',
  'person.stepped-up',
  'person.step-up-refused',
  'person.edited',
  'person.reset',
  'person.removed',
  'factor.added',
  'factor.renamed',
  'factor.removed',
  'recovery-codes.made',
  'password.blocked',
  'password.changed',
  'email.changed',
  'email.confirmed',
  'membership.changed',
  'membership.removed',
  'invitation.revoked',
  'session.revoked',
  'approval.requested',
  'approval.approved',
  'approval.declined',
  'approval.withdrawn',
  'approval.carried-out',
  'activation.requested',
  'activation.approved',
  'activation.declined',
  'activation.withdrawn',
  'capture-session.created',
  'capture-session.completed',
  'capture-session.cancelled',
  'capture-session.failed',
  'webhook.created',
  'webhook.changed',
  'webhook.secret-rotated',
  'webhook.tested',
  'webhook.replayed',
  'webhook.disabled',
  'webhook.deleted',
] as const;

export type AuditAction = (typeof AUDIT_ACTIONS)[number];

export interface Actor {
  /** `operator` runs a command on the machine, `person` is signed in to the console, `buyer` uses the card form. */
  readonly type: 'key' | 'person' | 'operator' | 'service' | 'buyer' | 'unknown';
  readonly id?: string;
  readonly name?: string;
  /** Source of the operator's name: `CARDVAULT_OPERATOR`, or the operating system. */
  readonly source?: 'setting' | 'os-user';
}

/** The actor with address and request; created once for each request or command. */
export interface Origin {
  readonly actor: Actor;
  readonly address?: string;
  readonly requestId?: string;
}

/** The origin of what the service does by itself. */
export const SERVICE_ORIGIN: Origin = { actor: { type: 'service' } };

export interface AuditEvent {
  readonly action: AuditAction;
  /** `success`, or the reason of the failure as one word. */
  readonly outcome: string;
  /** Empty when no account is known. */
  readonly account: string;
  readonly environment: Environment | '';
  /** Ids of the records concerned, such as `capture:5f0c…`. */
  readonly targets?: readonly string[];
  /** Further details; never card data. */
  readonly detail?: Readonly<Record<string, string | number | readonly string[]>>;
}

/** The members of an entry beside account, environment and time. */
export interface AuditRecord {
  readonly action: AuditAction;
  readonly outcome: string;
  readonly actor: Actor;
  readonly address?: string;
  readonly request_id?: string;
  readonly targets?: readonly string[];
  readonly detail?: AuditEvent['detail'];
}

export function buildAuditEntry(clock: Clock, origin: Origin, event: AuditEvent): JournalEntry {
  const { action, outcome, targets, detail } = event;
  const record: AuditRecord = {
    action,
    outcome,
    actor: origin.actor,
    ...(origin.address !== undefined && { address: origin.address }),
    ...(origin.requestId !== undefined && { request_id: origin.requestId }),
    ...(targets !== undefined && { targets }),
    ...(detail !== undefined && { detail }),
  };
  return { account: event.account, environment: event.environment, at: clock(), record: JSON.stringify(record) };
}
