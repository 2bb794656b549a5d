import { type Tenant, tenantKey } from '../kernel/environment.ts';
import { LIMITS } from '../kernel/limits.ts';
import { toOwnMemory } from '../kernel/own-memory.ts';
import type { TrustedTime } from '../kernel/time-guard.ts';
import type { Database } from '../storage/database.ts';
import { isDeletionNear, listRules, toDay, upsertUses, upsertUsesInOrder } from './retention-store.ts';

interface TenantUses {
  readonly tenant: Tenant;
  /** When tokens of the tenant are deleted; undefined while no deletion is announced. */
  actsAt: number | undefined;
  /** Tokens whose use was written today. */
  readonly written: Set<string>;
  readonly pending: Set<string>;
}

/**
 * Records on which day tokens were last used, for tenants with a retention rule; others cost one search of a map. A use
 * is noted in memory and written within seconds, apart from the transaction of the request, once a day for each token.
 * The end of a process without a stop loses the uses of the last seconds. While tokens of the tenant are deleted, a use is
 * written before the request reads the token: no token that a response shows is deleted by the rule afterwards.
 */
export class TokenUses {
  readonly #database: Database;
  readonly #time: TrustedTime;
  /** Tenants with a rule. */
  readonly #tenants = new Map<string, TenantUses>();
  #day = 0;

  constructor(options: { database: Database; time: TrustedTime }) {
    this.#database = options.database;
    this.#time = options.time;
  }

  /** True while tokens of the tenant are deleted, or will be soon. */
  isDeleting(tenant: Tenant): boolean {
    if (this.#tenants.size === 0) return false;
    const actsAt = this.#tenants.get(tenantKey(tenant))?.actsAt;
    return actsAt !== undefined && isDeletionNear(actsAt, this.#time.latestNow());
  }

  /**
   * Notes the use of tokens of a tenant, now. While its tokens are deleted the use is stored first: the promise resolves to
   * true then, and the caller reads the tokens again, because a deletion may have been faster.
   */
  note(tenant: Tenant, tokens: Iterable<string>): Promise<boolean> | false {
    if (this.#tenants.size === 0) return false;
    const uses = this.#tenants.get(tenantKey(tenant));
    if (uses === undefined) return false;
    this.#startDay();
    const used: string[] = [];
    for (const token of tokens) if (!uses.written.has(token)) used.push(token);
    if (used.length === 0) return false;
    if (this.isDeleting(tenant)) return this.#store(uses, used, upsertUsesInOrder).then(() => true);
    for (const token of used) if (!uses.pending.has(token)) uses.pending.add(toOwnMemory(token));
    return false;
  }

  /** Writes what was noted, and reads which tenants have a rule; call it every few seconds. */
  async flush(): Promise<void> {
    this.#startDay();
    const errors: unknown[] = [];
    const keep = (error: unknown): void => void errors.push(error);
    // The database of one tenant may be away where others are there.
    for (const uses of this.#tenants.values()) await this.#write(uses).catch(keep);
    await this.readRules();
    if (errors.length > 0) throw errors[0];
  }

  /** Reads which tenants have a rule. Until the first time no use is recorded. */
  async readRules(): Promise<void> {
    const rules = await listRules(this.#database);
    const names = new Set(rules.map(({ tenant }) => tenantKey(tenant)));
    for (const name of this.#tenants.keys()) if (!names.has(name)) this.#tenants.delete(name);
    for (const { tenant, actsAt } of rules) {
      const name = tenantKey(tenant);
      const known = this.#tenants.get(name);
      if (known !== undefined) known.actsAt = actsAt;
      else this.#tenants.set(name, { tenant, actsAt, written: new Set(), pending: new Set() });
    }
  }

  async #write(uses: TenantUses): Promise<void> {
    const { pending } = uses;
    while (pending.size > 0) {
      const tokens = firstOf(pending, LIMITS.rowsPerSweep);
      await this.#store(uses, tokens, (...use) => [upsertUses(...use)]);
      for (const token of tokens) pending.delete(token);
    }
  }

  async #store(
    { tenant, written }: TenantUses,
    tokens: readonly string[],
    toWrites: typeof upsertUsesInOrder,
  ): Promise<void> {
    const day = this.#day;
    await this.#database.commit({ account: tenant.account, writes: toWrites(tenant, tokens, day) });
    // Forgotten uses of this day are written again, which changes nothing.
    if (written.size > LIMITS.rememberedTokenUses) written.clear();
    if (day === this.#day) for (const token of tokens) written.add(toOwnMemory(token));
  }

  #startDay(): void {
    const day = toDay(this.#time.steadyNow());
    if (day === this.#day) return;
    this.#day = day;
    for (const { written } of this.#tenants.values()) written.clear();
  }
}

/** Thousands may wait: they are not all copied for each step. */
function firstOf<T>(values: Iterable<T>, count: number): T[] {
  const found: T[] = [];
  for (const value of values) {
    found.push(value);
    if (found.length === count) break;
  }
  return found;
}
