import type { Keyring } from '../crypto/keyring.ts';
import type { Transaction } from '../idempotency/transaction.ts';
import { DAY, type Random } from '../kernel/clock.ts';
import { type Tenant, tenantKey } from '../kernel/environment.ts';
import { Failure } from '../kernel/failure.ts';
import { LIMITS } from '../kernel/limits.ts';
import type { TrustedTime } from '../kernel/time-guard.ts';
import { Cache } from '../storage/cache.ts';
import type { Database } from '../storage/database.ts';
import type { Outbox } from '../webhooks/outbox.ts';
import { assignTokens, type Tokenization, type TokenizationResult } from './assign-tokens.ts';
import type { Token } from './token.ts';
import { hasPurgeableTokens, purgeDeletedTokens, type StoredToken, TokenStore } from './token-store.ts';
import type { TokenUses } from './token-uses.ts';
import { inTurns } from './turns.ts';

/** Counter of created tokens. */
export const TOKENS_CREATED = 'tokens';

/** How long the value of a deleted token is not issued again. */
const RESERVED_AFTER_DELETION_MS = 30 * DAY;
/** Each takes up to 200 kB for the digests of a busy tenant. Reading its keys again costs less than a request. */
const MAX_CACHED_STORES = 2000;

type Uses = Pick<TokenUses, 'note' | 'isDeleting'>;

export interface Deletion {
  readonly token: string;
  readonly deleted: boolean;
}

/** Creates, inspects and deletes permanent tokens. */
export class Vault {
  readonly #database: Database;
  readonly #keyring: Keyring;
  readonly #time: TrustedTime;
  readonly #random: Random;
  readonly #uses: Uses | undefined;
  readonly #stores: Cache<string, TokenStore>;
  readonly #outbox: Outbox | undefined;

  constructor(options: {
    database: Database;
    keyring: Keyring;
    time: TrustedTime;
    random: Random;
    /** Absent where no webhooks are written. */
    outbox?: Outbox | undefined;
    /** Records the last use of tokens; absent: uses are not recorded. */
    tokenUses?: Uses;
  }) {
    const clock = (): number => options.time.steadyNow();
    this.#stores = new Cache({ clock, max: MAX_CACHED_STORES, ttlMs: Number.POSITIVE_INFINITY });
    this.#database = options.database;
    this.#keyring = options.keyring;
    this.#time = options.time;
    this.#random = options.random;
    this.#outbox = options.outbox;
    this.#uses = options.tokenUses;
  }

  /**
   * Tokenizes cards: one result for each card, in their order. Throws `nothing_tokenized` or `token_space_full` when no card
   * can be tokenized.
   */
  async tokenize(transaction: Transaction, tenant: Tenant, request: Tokenization): Promise<TokenizationResult[]> {
    const store = await this.#store(tenant);
    const { now, attempt } = transaction;
    if (request.persistent && this.#uses?.isDeleting(tenant)) await this.#usePersistent(tenant, store, request);
    const { results, inserts, updates } = await assignTokens(store, request, { random: this.#random, now, attempt });
    const seal = await this.#keyring.sealer(tenant, 'tokens', inserts.length + updates.length);
    const format = request.persistent ? request.format : undefined;
    const inserted =
      inserts.length > LIMITS.cardsPerTurn
        ? await store.insertInTurns(inserts, seal, format)
        : store.insert(inserts, seal, format);
    if (inserts.length > 0) for (const write of inserted) transaction.write(write);
    if (updates.length > 0) for (const write of store.update(updates, seal)) transaction.write(write);
    transaction.count(tenant, TOKENS_CREATED, inserts.length);
    // New tokens were used by their creation.
    if (inserts.length < results.length) {
      const created = new Set(inserts.map(({ token }) => token));
      const existing = results.flatMap(({ token }) => token?.token ?? []).filter((token) => !created.has(token));
      await this.#uses?.note(tenant, existing);
    }
    return results;
  }

  /** Throws `unknown_token`. */
  async inspect(tenant: Tenant, token: string): Promise<Token> {
    const [found] = await this.#findUsed(tenant, [token]);
    if (found === undefined) throw new Failure('unknown_token', { field: 'token' });
    return found.token;
  }

  /**
   * Returns tokens with their card numbers, for `usage` (a word for the audit log); those that do not exist are not in the
   * map. Each read is recorded in the transaction.
   */
  async detokenize(
    transaction: Transaction,
    tenant: Tenant,
    tokens: readonly string[],
    usage: string,
  ): Promise<Map<string, Token>> {
    const detokenized = new Map<string, Token>();
    const stored = await this.#findUsed(tenant, tokens);
    for (const [index, token] of tokens.entries()) {
      const found = stored[index];
      if (found !== undefined) detokenized.set(token, found.token);
      const outcome = found === undefined ? 'missing' : 'success';
      // A text that is no token is untrusted, and may be a card number.
      const targets = found === undefined ? [] : [`token:${found.token.token}`];
      transaction.recordAlways({
        action: 'token.detokenized',
        outcome,
        ...tenant,
        targets,
        detail: { use: usage },
      });
    }
    return detokenized;
  }

  /** Finds tokens, and notes their use. */
  async #findUsed(tenant: Tenant, tokens: readonly string[]): Promise<(StoredToken | undefined)[]> {
    const store = await this.#store(tenant);
    const find = (): Promise<(StoredToken | undefined)[]> => inTurns(tokens, (token) => store.find(token));
    const found = await find();
    const used = found.flatMap((each) => each?.token.token ?? []);
    return (await this.#uses?.note(tenant, used)) ? find() : found;
  }

  /** Stores the use of the tokens that the cards have already, before they are looked up to be returned. */
  async #usePersistent(tenant: Tenant, store: TokenStore, { cards, format }: Tokenization): Promise<void> {
    const pans = [...new Set(cards.map(({ pan }) => pan))];
    const found = await inTurns(pans, (pan) => store.findPersistent(pan, format));
    const used = found.flatMap((each) => each?.token.token ?? []);
    await this.#uses?.note(tenant, used);
  }

  /** Deletes tokens permanently; returns one entry for each distinct token, in order. */
  async delete(transaction: Transaction, tenant: Tenant, tokens: readonly string[]): Promise<Deletion[]> {
    const store = await this.#store(tenant);
    const distinct = [...new Set(tokens)];
    const found = await inTurns(distinct, (token) => store.findDeletable(token));
    const deletable = found.flatMap((each) => each ?? []);
    if (deletable.length > 0) {
      for (const write of store.delete(deletable, this.#time.latestNow())) transaction.write(write);
      transaction.scrub();
    }
    const outcome = deletable.length === distinct.length ? 'success' : deletable.length === 0 ? 'missing' : 'partial';
    const targets = deletable.map(({ value }) => `token:${value}`);
    const event = { action: 'token.deleted', outcome, ...tenant, targets } as const;
    // A caller may reject a deletion that found nothing; it is recorded all the same.
    if (deletable.length === 0) transaction.recordAlways(event);
    else transaction.record(event);
    const outbox = this.#outbox;
    if (outbox !== undefined)
      await inTurns(deletable, ({ value }) =>
        outbox.emit(transaction, tenant, { type: 'token.deleted', data: { token: value } }),
      );
    return distinct.map((token, index) => ({ token, deleted: found[index] !== undefined }));
  }

  isSweepDue(now: number): Promise<boolean> {
    return hasPurgeableTokens(this.#database, now - RESERVED_AFTER_DELETION_MS);
  }

  /** Releases the values of tokens that were deleted long before this trusted time; returns how many. */
  sweep(now: number): Promise<number> {
    return purgeDeletedTokens(this.#database, now - RESERVED_AFTER_DELETION_MS, LIMITS.rowsPerSweep);
  }

  async #store(tenant: Tenant): Promise<TokenStore> {
    const now = this.#time.steadyNow();
    const load = (): Promise<TokenStore> => TokenStore.load(this.#database, this.#keyring, tenant, now);
    const store = await this.#stores.get(tenantKey(tenant), load);
    await store.refresh(now);
    return store;
  }
}
