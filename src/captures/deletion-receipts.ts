import type { AuditAction } from '../audit/audit.ts';
import { AuditLogQuery, type LogEntry } from '../audit/audit-log-query.ts';
import { beginningOf, loadBeginnings } from '../audit/beginnings.ts';
import { loadVaultId } from '../audit/checkpoints.ts';
import {
  digestRecordId,
  REMOVED_PARTS,
  type Receipt,
  type ReceiptKind,
  type ReceiptStatement,
  signReceipt,
} from '../audit/receipt.ts';
import { verifyLog } from '../audit/verify-log.ts';
import type { DigestKeys } from '../crypto/digest-keys.ts';
import type { Keyring } from '../crypto/keyring.ts';
import type { SadKeys } from '../crypto/sad-keys.ts';
import type { SigningKeys } from '../crypto/signing-key.ts';
import type { Transaction } from '../idempotency/transaction.ts';
import { type Clock, DAY, formatIso8601, formatIso8601OrNull, HOUR, type Random } from '../kernel/clock.ts';
import type { Tenant } from '../kernel/environment.ts';
import { Failure, notPossible } from '../kernel/failure.ts';
import { LIMITS } from '../kernel/limits.ts';
import { explain } from '../kernel/reasons.ts';
import type { Database } from '../storage/database.ts';
import { TokenStore } from '../vault/token-store.ts';
import { findCaptureRow } from './capture-store.ts';
import { toSadPeriodTarget } from './captures.ts';

/** The record whose deletion a receipt states. */
export type ReceiptSubject =
  | { readonly kind: 'token'; readonly id: string }
  | { readonly kind: 'capture'; readonly id: string }
  /** Unix time in milliseconds, within the hour in which the captures expired. */
  | { readonly kind: 'sad'; readonly expiredAt: number };

export interface ReceiptRequest {
  /** The account is '' for sensitive authentication data, whose keys all accounts of an environment share. */
  readonly tenant: Tenant;
  readonly subject: ReceiptSubject;
  /** Days for which backups are stored, as the operator states. */
  readonly backupDays: number | undefined;
}

/** A backup that exists, with the moment that it contains. */
interface KnownBackup {
  readonly id: string;
  readonly createdAt: number;
}

export interface ReceiptServices {
  readonly database: Database;
  readonly keyring: Keyring;
  readonly sadKeys: SadKeys;
  /** Sign the receipt, and verify the checkpoints of the log and the beginning of one that was pruned. */
  readonly signingKeys: Pick<SigningKeys, 'sign' | 'list'>;
  /** Returns the backups that have not ended, the oldest first. */
  listBackups(database: Database): Promise<readonly KnownBackup[]>;
  readonly journalKey: DigestKeys;
  readonly clock: Clock;
  readonly random: Random;
}

const ACTIONS: Readonly<Record<ReceiptKind, AuditAction>> = {
  token: 'token.deleted',
  capture: 'capture.deleted',
  sad: 'sad-key.destroyed',
};

/** Issues signed receipts of deletions, from the audit log. Deletions themselves do nothing for them. */
export class DeletionReceipts {
  readonly #services: ReceiptServices;
  readonly #log: AuditLogQuery;

  constructor(services: ReceiptServices) {
    this.#services = services;
    this.#log = new AuditLogQuery(services);
  }

  /**
   * Issues the receipt of a deletion that the audit log contains, after verifying that log and that the record does not
   * exist. Throws `not_possible`.
   */
  async issue(transaction: Transaction, { tenant, subject, backupDays }: ReceiptRequest): Promise<Receipt> {
    const target = toTarget(subject);
    const entry = await this.#findDeletion(tenant, subject, target);
    if (await this.#exists(tenant, subject, entry.at)) throw notPossible('receiptRecordExists');
    await this.#assertLogIntact(tenant);
    const receipt = await signReceipt(this.#services.signingKeys, {
      ...(await this.#describe(tenant, subject, entry)),
      ...describeBackups(subject.kind, entry.at, backupDays),
      backups_known: await this.#listBackupsBefore(subject.kind, entry.at),
      issued_at: formatIso8601(this.#services.clock()),
    });
    transaction.record({ action: 'receipt.issued', outcome: 'success', ...tenant, targets: [target] });
    return receipt;
  }

  async #describe(
    { account, environment }: Tenant,
    subject: ReceiptSubject,
    { lane, sequence, hash, at }: LogEntry,
  ): Promise<Omit<ReceiptStatement, 'backups_before' | 'backups_end' | 'backups_known' | 'issued_at'>> {
    const { database, journalKey } = this.#services;
    const vault = await loadVaultId(database, journalKey);
    const from = subject.kind === 'sad' ? startOfHour(subject.expiredAt) : undefined;
    return {
      vault,
      kind: subject.kind,
      account,
      environment,
      record: digestRecordId(vault, { account, environment }, toTarget(subject)),
      removed: REMOVED_PARTS[subject.kind],
      deleted_at: formatIso8601(at),
      expired_from: formatIso8601OrNull(from),
      expired_to: formatIso8601OrNull(from === undefined ? undefined : from + HOUR),
      audit: { account, lane, sequence, hash },
    };
  }

  /** Returns the newest record of the deletion: a value that was issued again may have been deleted twice. */
  async #findDeletion({ account, environment }: Tenant, { kind }: ReceiptSubject, target: string): Promise<LogEntry> {
    // The record of a deletion that found nothing names the capture, too; that of tokens names those that were deleted.
    const outcome = kind === 'token' ? undefined : 'success';
    const filter = { actions: [ACTIONS[kind]], target, environment, outcome };
    const beginnings = await loadBeginnings(this.#services.database, this.#services.signingKeys);
    // Records up to the beginning of a pruned log are not sealed: anyone who writes to the database can add one.
    const isOfLog = ({ lane, sequence }: LogEntry): boolean =>
      beginnings === 'altered' || sequence > beginningOf(beginnings, { account, lane });
    for (let cursor: string | undefined; ; ) {
      const page = await this.#log.read(account, filter, cursor);
      // A record that was made unreadable matches every filter.
      const found = page.items.find((entry) => entry.record !== undefined && isOfLog(entry));
      if (found !== undefined) return found;
      if (page.cursor === undefined) throw notPossible('receiptNoDeletion');
      cursor = page.cursor;
    }
  }

  async #exists(tenant: Tenant, subject: ReceiptSubject, deletedAt: number): Promise<boolean> {
    const { database, keyring, sadKeys } = this.#services;
    if (subject.kind === 'sad') return sadKeys.hasKeyOf(tenant.environment, subject.expiredAt);
    if (subject.kind === 'capture') return (await findCaptureRow(database, tenant, subject.id, 0)) !== undefined;
    const token = await (await TokenStore.load(database, keyring, tenant)).findDeletable(subject.id);
    if (token === undefined) return false;
    // The value may have been issued again since, to another card.
    const createdAt = token.stored?.token.createdAt ?? 0;
    return createdAt <= deletedAt;
  }

  /** The keys of sensitive authentication data are in no backup. */
  async #listBackupsBefore(kind: ReceiptKind, deletedAt: number): Promise<string[]> {
    if (kind === 'sad') return [];
    const backups = await this.#services.listBackups(this.#services.database);
    const before = backups.filter(({ createdAt }) => createdAt <= deletedAt).map(({ id }) => id);
    return before.slice(-LIMITS.backupsPerReceipt);
  }

  async #assertLogIntact({ account }: Tenant): Promise<void> {
    const { ok, explanation } = await verifyLog(this.#services, account);
    if (!ok) throw new Failure('not_possible', explain('receiptLogAltered', { fault: explanation ?? '' }));
  }
}

const startOfHour = (time: number): number => Math.floor(time / HOUR) * HOUR;

/** Returns the target that names the record in the audit log. */
const toTarget = (subject: ReceiptSubject): string =>
  subject.kind === 'sad' ? toSadPeriodTarget(startOfHour(subject.expiredAt)) : `${subject.kind}:${subject.id}`;

/** Backups never contain the keys of sensitive authentication data. */
function describeBackups(
  kind: ReceiptKind,
  deletedAt: number,
  days: number | undefined,
): Pick<ReceiptStatement, 'backups_before' | 'backups_end'> {
  if (kind === 'sad') return { backups_before: null, backups_end: null };
  const end = days === undefined ? undefined : deletedAt + days * DAY;
  return { backups_before: formatIso8601(deletedAt), backups_end: formatIso8601OrNull(end) };
}
