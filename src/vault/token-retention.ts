import {
  type ChangeControl,
  type ChangeRight,
  type RestrictedChange,
  toSummaryLines,
} from '../accounts/change-control.ts';
import { type AuditEvent, SERVICE_ORIGIN } from '../audit/audit.ts';
import type { Keyring } from '../crypto/keyring.ts';
import type { Transaction, Transactions } from '../idempotency/transaction.ts';
import { DAY, formatIso8601, HOUR } from '../kernel/clock.ts';
import { type Tenant, tenantKey } from '../kernel/environment.ts';
import { notPossible } from '../kernel/failure.ts';
import { LIMITS } from '../kernel/limits.ts';
import { truncatePan } from '../kernel/pan.ts';
import type { TrustedTime } from '../kernel/time-guard.ts';
import { type Database, isAlteration, type Write } from '../storage/database.ts';
import { yieldBeforeScan } from '../storage/pagination.ts';
import type { Outbox } from '../webhooks/outbox.ts';
import {
  type ActingRule,
  type Announcement,
  deleteRule,
  deleteUses,
  findLastUse,
  findObsoleteUses,
  findRule,
  isUsedSince,
  listDueTenants,
  listRuledTenants,
  listUnusedTokens,
  lockUnusedTokens,
  type RetentionRule,
  type StoredRule,
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

/** Tokens of one transaction. */
interface Batch {
  readonly tokens: readonly UnusedToken[];
  /** The last token that was read, also where it was left out; undefined when none is due. */
  readonly reached: UnusedToken | undefined;
}

/** The change that starts rules again, as a part of another unit. */
export interface RestartedRules {
  readonly writes: readonly Write[];
  readonly events: readonly AuditEvent[];
}

/**
 * Retention rules: tokens that were not used for a number of days end. A token is used when it is created, inspected,
 * read for a placeholder, or returned for its card again. The service announces a deletion 14 days before it acts, and
 * deletes only tokens that were due at the announcement and were neither used nor changed since.
 */
export class TokenRetention {
  readonly #services: Services;
  /** When the rule of a tenant is evaluated next, in this process. */
  readonly #evaluateAt = new Map<string, number>();
  /** The last token that an announced deletion of a tenant has deleted or left out: rows up to it are not read again. */
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

  /**
   * Builds the change by which all rules start again now, for a database that was restored to an earlier moment. The
   * uses after that moment are lost: no token may count as unused for longer than from now on, and no announcement of
   * before may act. A rule that was altered in the database deletes nothing, and is left for an operator.
   */
  async restart(): Promise<RestartedRules> {
    const { database, keyring, time } = this.#services;
    const now = time.latestNow();
    const writes: Write[] = [];
    const events: AuditEvent[] = [];
    for (const tenant of await listRuledTenants(database)) {
      const stored = await this.#findAuthenticRule(tenant);
      if (stored?.rule === undefined) continue;
      const { unusedDays, since } = stored.rule;
      const rule = { unusedDays, since: Math.max(since, now), announcement: undefined };
      writes.push(await upsertRule(keyring, tenant, rule, stored.revision));
      const detail = { old_unused_days: unusedDays, unused_days: unusedDays, reason: 'restored' };
      events.push({ action: 'retention.set', outcome: 'success', ...tenant, detail });
    }
    return { writes, events };
  }

  /** One altered row must not prevent the restore of the others. */
  async #findAuthenticRule(tenant: Tenant): Promise<StoredRule | undefined> {
    const { database, keyring } = this.#services;
    try {
      return await findRule(database, keyring, tenant);
    } catch (error) {
      if (isAlteration(error)) return undefined;
      throw error;
    }
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
    if (stored === undefined || rule === undefined || announcement === undefined || announcement.actsAt > now) return 0;
    const { tokens, reached } = await this.#nextBatch(tenant, announcement.cutoff);
    if (reached !== undefined && tokens.length > 0) {
      const acting = { ...rule, announcement, revision: stored.revision };
      const deleted = await transactions.run({ origin: SERVICE_ORIGIN, account: tenant.account }, (transaction) =>
        this.#delete(transaction, tenant, acting, tokens),
      );
      // The next announcement of a rule that was changed begins with the oldest token.
      if (deleted === undefined) this.#deletedUntil.delete(tenantKey(tenant));
      else this.#deletedUntil.set(tenantKey(tenant), reached);
      return deleted ?? 0;
    }
    const ended = await upsertRule(keyring, tenant, { ...rule, announcement: undefined }, stored.revision);
    await transactions.run({ origin: SERVICE_ORIGIN, account: tenant.account }, async (transaction) => {
      transaction.write(ended, notPossible('retentionUnchanged'));
    });
    this.#evaluateAt.delete(tenantKey(tenant));
    this.#deletedUntil.delete(tenantKey(tenant));
    return 0;
  }

  /** Returns the next tokens that are due; those that were altered in the database are left for an operator. */
  async #nextBatch(tenant: Tenant, cutoff: number): Promise<Batch> {
    const { database, keyring } = this.#services;
    const store = await TokenStore.load(database, keyring, tenant);
    const tokens: UnusedToken[] = [];
    let reached: UnusedToken | undefined;
    for await (const page of this.#pages(tenant, cutoff, this.#deletedUntil.get(tenantKey(tenant))))
      for (const each of page) {
        reached = each;
        const stored = (await store.findDeletable(each.token))?.stored;
        // A token that was changed since the page was read may be in use.
        if (stored?.revision === each.revision) tokens.push(each);
        if (tokens.length === BATCH) return { tokens, reached };
      }
    return { tokens, reached };
  }

  /**
   * Deletes the tokens of a batch that are as they were selected, and returns their number; undefined when the rule was
   * changed or removed since. Each attempt reads everything again: a conflict means that a token or the rule changed.
   */
  async #delete(
    transaction: Transaction,
    tenant: Tenant,
    acting: ActingRule,
    selected: readonly UnusedToken[],
  ): Promise<number | undefined> {
    const { database, keyring, time, outbox } = this.#services;
    const present = await findRule(database, keyring, tenant);
    const { unusedDays, announcement, revision } = acting;
    if (present?.revision !== revision || present.rule?.announcement?.actsAt !== announcement.actsAt) return undefined;
    const store = await TokenStore.load(database, keyring, tenant);
    const found = await Promise.all(
      selected.map(async ({ token, revision: seen }) => {
        if (await isUsedSince(database, tenant, token, announcement.cutoff)) return [];
        const each = await store.findDeletable(token);
        return each?.stored?.revision === seen ? [each] : [];
      }),
    );
    const deletable = found.flat();
    if (deletable.length === 0) return 0;
    const deleted = deletable.map(({ value }) => value);
    for (const lock of lockUnusedTokens(tenant, acting, deleted)) transaction.write(lock);
    for (const change of store.delete(deletable, time.latestNow())) transaction.write(change);
    transaction.scrub();
    const targets = deleted.map((token) => `token:${token}`);
    const detail = { reason: 'retention', unused_days: unusedDays };
    transaction.record({ action: 'token.deleted', outcome: 'success', ...tenant, targets, detail });
    for (const token of deleted) await outbox.emit(transaction, tenant, { type: 'token.deleted', data: { token } });
    return deleted.length;
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
