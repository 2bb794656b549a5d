import {
  type ChangeControl,
  type ChangeRight,
  type RestrictedChange,
  toSummaryLines,
} from '../accounts/change-control.ts';
import { SERVICE_ORIGIN } from '../audit/audit.ts';
import type { Keyring } from '../crypto/keyring.ts';
import type { Transaction, Transactions } from '../idempotency/transaction.ts';
import { DAY, formatIso8601, HOUR } from '../kernel/clock.ts';
import { type Tenant, tenantKey } from '../kernel/environment.ts';
import { notPossible } from '../kernel/failure.ts';
import { LIMITS } from '../kernel/limits.ts';
import { truncatePan } from '../kernel/pan.ts';
import type { TrustedTime } from '../kernel/time-guard.ts';
import type { Database } from '../storage/database.ts';
import { yieldBeforeScan } from '../storage/pagination.ts';
import type { Outbox } from '../webhooks/outbox.ts';
import {
  type Announcement,
  deleteRule,
  deleteUses,
  findLastUse,
  findObsoleteUses,
  findRule,
  listDueTenants,
  listRuledTenants,
  listUnusedTokens,
  type RetentionRule,
  type UnusedToken,
  type UsePosition,
  upsertRule,
} from './retention-store.ts';
import { TokenStore } from './token-store.ts';

/** How long tokens that are due remain after their deletion was announced. */
const WAIT_MS = 14 * DAY;
/** How often a rule without an announcement is evaluated. */
const EVALUATE_EVERY_MS = HOUR;
/** Tokens in one transaction. */
const BATCH = 100;

interface Services {
  readonly database: Database;
  readonly keyring: Keyring;
  readonly time: TrustedTime;
  readonly transactions: Transactions;
  readonly changeControl: ChangeControl;
  readonly outbox: Outbox;
}

/** A token that the rule will end, for a report. */
export interface DueToken {
  readonly token: string;
  /** First six and last four digits. */
  readonly card: string;
  readonly createdAt: number;
  /** The day of the last use, as the time at which it began. */
  readonly lastUsedAt: number | undefined;
}

/** The rule of a tenant with the tokens that it concerns now. */
export interface RetentionState {
  /** Undefined when it was altered in the database: it then deletes nothing. */
  readonly rule: RetentionRule | undefined;
  /** Tokens that were not used since this time are due. */
  readonly cutoff: number;
}

/** A change of a rule, as it is stored for a second person. */
export interface RetentionChange {
  /** Undefined: the rule ends. */
  readonly unusedDays?: number | undefined;
}

/**
 * Retention rules: tokens that were not used for a number of days end. A token is used when it is created, inspected,
 * read for a placeholder, or returned for its card again. The service announces a deletion 14 days before it acts, and
 * deletes only tokens that were due at the announcement and were not used since.
 */
export class TokenRetention {
  readonly #services: Services;
  /** When the rule of a tenant is evaluated next, in this process. */
  readonly #evaluateAt = new Map<string, number>();
  /** The last token that an announced deletion of a tenant has deleted: rows before it are not read again. */
  readonly #deletedUntil = new Map<string, UnusedToken>();
  #checkedUse: UsePosition | undefined;

  constructor(services: Services) {
    this.#services = services;
  }

  /** Undefined without a rule. */
  async find(tenant: Tenant): Promise<RetentionState | undefined> {
    const { database, keyring, time } = this.#services;
    const stored = await findRule(database, keyring, tenant);
    return stored && { rule: stored.rule, cutoff: cutoffOf(stored.rule, time.steadyNow()) };
  }

  /**
   * Sets or ends the rule; a change withdraws an announcement. Throws `not_possible` where nothing changes, and
   * `ApprovalRequired` under dual control.
   */
  async set(
    transaction: Transaction,
    tenant: Tenant,
    { unusedDays }: RetentionChange,
    right: ChangeRight = {},
  ): Promise<void> {
    const { database, keyring, changeControl } = this.#services;
    const stored = await findRule(database, keyring, tenant);
    const present = stored?.rule?.unusedDays;
    // A rule that was altered in the database is replaced or ended.
    const isAltered = stored !== undefined && stored.rule === undefined;
    if (present === unusedDays && !isAltered) throw notPossible('retentionUnchanged');
    await changeControl.permit(transaction, tenant, describeChange(present, unusedDays), right);
    const rule = {
      unusedDays: unusedDays ?? 0,
      since: stored?.rule?.since ?? transaction.now,
      announcement: undefined,
    };
    const change = unusedDays === undefined ? deleteRule(tenant, stored?.revision ?? 0) : undefined;
    transaction.write(change ?? (await upsertRule(keyring, tenant, rule, stored?.revision)));
    transaction.record({
      action: unusedDays === undefined ? 'retention.removed' : 'retention.set',
      outcome: 'success',
      ...tenant,
      detail: {
        old_unused_days: present ?? 'none',
        ...(unusedDays !== undefined && { unused_days: unusedDays }),
      },
    });
  }

  /** Lists the tokens that are due now, oldest first, with truncated cards; those that were altered are left out. */
  async *listDue(tenant: Tenant, cutoff: number): AsyncGenerator<DueToken> {
    const { database, keyring } = this.#services;
    const store = await TokenStore.load(database, keyring, tenant);
    for await (const tokens of this.#pages(tenant, cutoff)) {
      for (const { token, createdAt } of tokens) {
        const stored = (await store.findDeletable(token))?.stored;
        if (stored === undefined) continue;
        const lastUsedAt = await findLastUse(database, tenant, token);
        yield { token, card: truncatePan(stored.token.card.pan), createdAt, lastUsedAt };
      }
    }
  }

  /** True when tokens are to be deleted at this time. */
  async isSweepDue(now: number): Promise<boolean> {
    return (await listDueTenants(this.#services.database, now)).length > 0;
  }

  /**
   * Deletes a batch of tokens whose announced time has come, or announces deletions, at this trusted time; returns how many
   * tokens were deleted.
   */
  async sweep(now: number): Promise<number> {
    const { database } = this.#services;
    for (const tenant of await listDueTenants(database, now)) {
      const deleted = await this.#act(tenant, now);
      if (deleted > 0) return deleted;
    }
    for (const tenant of await listRuledTenants(database)) await this.#evaluate(tenant, now);
    await this.#purgeUses();
    return 0;
  }

  async *#pages(tenant: Tenant, cutoff: number, from?: UnusedToken): AsyncGenerator<UnusedToken[]> {
    let after = from;
    do {
      await yieldBeforeScan();
      const page = await listUnusedTokens(this.#services.database, tenant, cutoff, after, LIMITS.rowsPerSweep);
      if (page.length > 0) yield page;
      after = page.length < LIMITS.rowsPerSweep ? undefined : page.at(-1);
    } while (after !== undefined);
  }

  /** Announces a deletion when any token is due. */
  async #evaluate(tenant: Tenant, now: number): Promise<void> {
    const { database, keyring, transactions } = this.#services;
    const name = tenantKey(tenant);
    const next = this.#evaluateAt.get(name) ?? 0;
    if (now < next && next - now <= EVALUATE_EVERY_MS) return;
    this.#evaluateAt.set(name, now + EVALUATE_EVERY_MS);
    const stored = await findRule(database, keyring, tenant);
    const rule = stored?.rule;
    if (rule === undefined || rule.announcement !== undefined) return;
    const cutoff = cutoffOf(rule, now);
    const due = await listUnusedTokens(database, tenant, cutoff, undefined, LIMITS.countedRecords);
    if (due.length === 0) return;
    const isMore = due.length === LIMITS.countedRecords;
    const announcement: Announcement = { at: now, cutoff, actsAt: now + WAIT_MS, count: due.length, isMore };
    const change = await upsertRule(keyring, tenant, { ...rule, announcement }, stored?.revision);
    await transactions.run({ origin: SERVICE_ORIGIN, account: tenant.account }, async (transaction) => {
      transaction.write(change, notPossible('retentionUnchanged'));
      transaction.record({
        action: 'retention.announced',
        outcome: 'success',
        ...tenant,
        detail: {
          unused_days: rule.unusedDays,
          tokens: due.length,
          ...(isMore && { more: 'yes' }),
          unused_since: formatIso8601(cutoff),
          deletes_from: formatIso8601(announcement.actsAt),
        },
      });
    });
  }

  /** Deletes a batch, or ends the announcement when no token is left. */
  async #act(tenant: Tenant, now: number): Promise<number> {
    const { database, keyring, transactions } = this.#services;
    // A rule that was altered in the database deletes nothing.
    const stored = await findRule(database, keyring, tenant);
    const rule = stored?.rule;
    const announcement = rule?.announcement;
    if (rule === undefined || announcement === undefined || announcement.actsAt > now) return 0;
    const batch = await this.#nextBatch(tenant, announcement.cutoff);
    const last = batch.at(-1);
    if (last !== undefined) {
      const tokens = batch.map(({ token }) => token);
      await transactions.run({ origin: SERVICE_ORIGIN, account: tenant.account }, (transaction) =>
        this.#delete(transaction, tenant, rule, tokens),
      );
      this.#deletedUntil.set(tenantKey(tenant), last);
      return batch.length;
    }
    const ended = await upsertRule(keyring, tenant, { ...rule, announcement: undefined }, stored?.revision);
    await transactions.run({ origin: SERVICE_ORIGIN, account: tenant.account }, async (transaction) => {
      transaction.write(ended, notPossible('retentionUnchanged'));
    });
    this.#evaluateAt.delete(tenantKey(tenant));
    this.#deletedUntil.delete(tenantKey(tenant));
    return 0;
  }

  /** Returns the next tokens that are due; those that were altered in the database are left for an operator. */
  async #nextBatch(tenant: Tenant, cutoff: number): Promise<UnusedToken[]> {
    const { database, keyring } = this.#services;
    const store = await TokenStore.load(database, keyring, tenant);
    const batch: UnusedToken[] = [];
    for await (const tokens of this.#pages(tenant, cutoff, this.#deletedUntil.get(tenantKey(tenant))))
      for (const each of tokens) {
        if ((await store.findDeletable(each.token))?.stored !== undefined) batch.push(each);
        if (batch.length === BATCH) return batch;
      }
    return batch;
  }

  async #delete(
    transaction: Transaction,
    tenant: Tenant,
    { unusedDays }: RetentionRule,
    batch: readonly string[],
  ): Promise<void> {
    const { database, keyring, time, outbox } = this.#services;
    const store = await TokenStore.load(database, keyring, tenant);
    const found = await Promise.all(batch.map((token) => store.findDeletable(token)));
    const deletable = found.filter((each) => each?.stored !== undefined).flatMap((each) => each ?? []);
    if (deletable.length === 0) return;
    for (const change of store.delete(deletable, time.latestNow())) transaction.write(change);
    transaction.scrub();
    const targets = deletable.map(({ value }) => `token:${value}`);
    const detail = { reason: 'retention', unused_days: unusedDays };
    transaction.record({ action: 'token.deleted', outcome: 'success', ...tenant, targets, detail });
    for (const { value } of deletable)
      await outbox.emit(transaction, tenant, { type: 'token.deleted', data: { token: value } });
  }

  /** Checks a bounded number of uses in each call, and continues there with the next one. */
  async #purgeUses(): Promise<void> {
    const { database, transactions } = this.#services;
    const { keys, reached } = await findObsoleteUses(database, this.#checkedUse);
    this.#checkedUse = reached;
    if (keys.length === 0) return;
    await transactions.run({ origin: SERVICE_ORIGIN }, async (transaction) => {
      transaction.write(deleteUses(keys));
    });
  }
}

/** Uses are known since `since` alone: nothing that may have been used before counts as unused for longer. */
function cutoffOf(rule: RetentionRule | undefined, now: number): number {
  const cutoff = rule === undefined ? 0 : now - rule.unusedDays * DAY;
  return rule === undefined || cutoff <= rule.since ? 0 : cutoff;
}

const describeChange = (present: number | undefined, unusedDays: number | undefined): RestrictedChange => ({
  action: 'retention.set',
  summary: toSummaryLines([
    ['unused_days_now', present === undefined ? undefined : String(present)],
    ['unused_days', unusedDays === undefined ? 'none' : String(unusedDays)],
  ]),
  body: JSON.stringify({ unusedDays } satisfies RetentionChange),
});
