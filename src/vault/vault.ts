import type { Usage } from '../accounts/usage.ts';
import { buildAuditEntry, type Origin } from '../audit/audit.ts';
import type { Keyring } from '../crypto/keyring.ts';
import { alsoWrites, type Effect, refuseIfTakenOver } from '../idempotency/effect.ts';
import { type Clock, DAY, type Random } from '../kernel/clock.ts';
import { type Tenant, tenantKey } from '../kernel/environment.ts';
import { Failure } from '../kernel/failure.ts';
import { LIMITS } from '../kernel/limits.ts';
import type { TrustedTime } from '../kernel/time-guard.ts';
import { Cache, MAX_CACHED_TENANTS } from '../storage/cache.ts';
import { commitOrThrow, type Database, type JournalEntry } from '../storage/database.ts';
import { type Tokenization, type TokenizationResult, TokenizationRun } from './assign-tokens.ts';
import type { Token } from './token.ts';
import { hasPurgeableTokens, purgeDeletedTokens, TokenStore } from './token-store.ts';

/** The counter of tokens that were made. */
export const TOKENS_CREATED = 'tokens';

/** How long the value of a deleted token is not issued again. */
const RESERVED_AFTER_DELETION_MS = 30 * DAY;

export interface Deletion {
  readonly token: string;
  readonly deleted: boolean;
}

/** Permanent tokens: made, inspected, deleted. */
export class Vault {
  readonly #database: Database;
  readonly #keyring: Keyring;
  readonly #clock: Clock;
  readonly #time: TrustedTime;
  readonly #random: Random;
  readonly #statistics: Usage | undefined;
  readonly #stores: Cache<string, TokenStore>;

  constructor(options: {
    database: Database;
    keyring: Keyring;
    clock: Clock;
    time: TrustedTime;
    random: Random;
    /** Where the tokens that were made are counted. */
    statistics?: Usage;
  }) {
    this.#stores = new Cache({ clock: options.clock, max: MAX_CACHED_TENANTS, ttlMs: Number.POSITIVE_INFINITY });
    this.#database = options.database;
    this.#keyring = options.keyring;
    this.#clock = options.clock;
    this.#time = options.time;
    this.#random = options.random;
    this.#statistics = options.statistics;
  }

  /**
   * Tokens for cards, all in one unit: one result per card, in their order. Throws `nothing_tokenized` or
   * `token_space_full` when no card can be tokenized. `journal` goes along in the unit.
   */
  async tokenize(
    tenant: Tenant,
    request: Tokenization,
    effect: Effect<TokenizationResult[]>,
    journal: readonly JournalEntry[] = [],
  ): Promise<TokenizationResult[]> {
    const store = await this.#store(tenant);
    const run = new TokenizationRun({ store, request, random: this.#random, now: this.#clock() });
    for (let attempt = 0; attempt < LIMITS.commitAttempts; attempt++) {
      await run.assign();
      const results = run.results();
      const seal = await this.#keyring.sealer(tenant, 'tokens', run.sealCount());
      const own = run.writes(seal);
      const writes = [...own, ...(await alsoWrites(effect, results))];
      if (writes.length === 0 && journal.length === 0) return results;
      const outcome = await this.#database.commit({ account: tenant.account, writes, journal });
      if (outcome.committed) {
        if (run.insertCount() > 0) this.#statistics?.note(tenant, TOKENS_CREATED, run.insertCount());
        return results;
      }
      refuseIfTakenOver(outcome, own.length);
      run.onConflict(outcome);
    }
    throw new Failure('unavailable');
  }

  /** Throws `unknown_token`. */
  async inspect(tenant: Tenant, token: string): Promise<Token> {
    const found = await (await this.#store(tenant)).find(token);
    if (found === undefined) throw new Failure('unknown_token', { field: 'token' });
    return found.token;
  }

  /**
   * Tokens with their card numbers, for `use` (a word for the audit log); those that do not exist are not in the map. The
   * audit records of all are on disk before it is returned.
   */
  async detokenize(
    tenant: Tenant,
    tokens: readonly string[],
    origin: Origin,
    usage: string,
  ): Promise<Map<string, Token>> {
    const store = await this.#store(tenant);
    const detokenized = new Map<string, Token>();
    const journal: JournalEntry[] = [];
    // All at once: over a network each question has its way to go.
    const stored = await Promise.all(tokens.map((token) => store.find(token)));
    for (const [index, token] of tokens.entries()) {
      const found = stored[index];
      if (found !== undefined) detokenized.set(token, found.token);
      const outcome = found === undefined ? 'missing' : 'success';
      // What is no token is whatever the caller wrote there, and may be a card number.
      const targets = found === undefined ? [] : [`token:${found.token.token}`];
      const event = { action: 'token.detokenized', outcome, ...tenant, targets, detail: { use: usage } } as const;
      journal.push(buildAuditEntry(this.#clock, origin, event));
    }
    if (journal.length > 0) await commitOrThrow(this.#database, { account: tenant.account, writes: [], journal });
    return detokenized;
  }

  /** Deletes for good; one entry for each distinct token, in order. */
  async delete(tenant: Tenant, tokens: readonly string[], effect: Effect<Deletion[]>): Promise<Deletion[]> {
    const store = await this.#store(tenant);
    const distinct = [...new Set(tokens)];
    for (let attempt = 0; attempt < LIMITS.commitAttempts; attempt++) {
      const found = await Promise.all(distinct.map((token) => store.findDeletable(token)));
      const deletions = distinct.map((token, index): Deletion => ({ token, deleted: found[index] !== undefined }));
      const deletable = found.flatMap((each) => each ?? []);
      const deleted = deletable.map(({ value }) => value);
      const own = deleted.length === 0 ? [] : store.delete(deletable, this.#time.latestNow());
      const writes = [...own, ...(await alsoWrites(effect, deletions))];
      const journal = [this.#deletionEntry(tenant, deleted, distinct, effect)];
      const outcome = await this.#database.commit({ account: tenant.account, writes, journal, scrubAfterCommit: true });
      if (outcome.committed) return deletions;
      refuseIfTakenOver(outcome, own.length);
    }
    throw new Failure('unavailable');
  }

  isSweepDue(now: number): Promise<boolean> {
    return hasPurgeableTokens(this.#database, now - RESERVED_AFTER_DELETION_MS);
  }

  /** Lets the values of tokens that were deleted long before this trusted time be issued again; returns how many. */
  sweep(now: number): Promise<number> {
    return purgeDeletedTokens(this.#database, now - RESERVED_AFTER_DELETION_MS, LIMITS.rowsPerSweep);
  }

  #deletionEntry(
    tenant: Tenant,
    deleted: readonly string[],
    requested: readonly string[],
    effect: Effect<Deletion[]>,
  ): JournalEntry {
    const outcome = deleted.length === requested.length ? 'success' : deleted.length === 0 ? 'missing' : 'partial';
    const targets = deleted.map((token) => `token:${token}`);
    return buildAuditEntry(this.#clock, effect.origin, { action: 'token.deleted', outcome, ...tenant, targets });
  }

  #store(tenant: Tenant): Promise<TokenStore> {
    return this.#stores.get(tenantKey(tenant), () => TokenStore.load(this.#database, this.#keyring, tenant));
  }
}
