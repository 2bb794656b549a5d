import { type Tenant, tenantKey } from '../kernel/environment.ts';
import { LIMITS } from '../kernel/limits.ts';
import { toOwnMemory } from '../kernel/own-memory.ts';
import type { TrustedTime } from '../kernel/time-guard.ts';
import type { Database } from '../storage/database.ts';
import { listRuledTenants, toDay, upsertUses } from './retention-store.ts';

interface TenantUses {
  readonly tenant: Tenant;
  /** Tokens whose use was written today. */
  readonly written: Set<string>;
  readonly pending: Set<string>;
}

/**
 * Records on which day tokens were last used, for tenants with a retention rule; others cost one search of a map. A use
 * is noted in memory and written within seconds, apart from the transaction of the request, once a day for each token.
 * The end of a process without a stop loses the uses of the last seconds.
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

  /** Notes the use of tokens of a tenant, now. */
  note(tenant: Tenant, tokens: Iterable<string>): void {
    if (this.#tenants.size === 0) return;
    const uses = this.#tenants.get(tenantKey(tenant));
    if (uses === undefined) return;
    this.#startDay();
    for (const token of tokens)
      if (!(uses.written.has(token) || uses.pending.has(token))) uses.pending.add(toOwnMemory(token));
  }

  /** Writes what was noted, and reads which tenants have a rule; call it every few seconds. */
  async flush(): Promise<void> {
    this.#startDay();
    for (const uses of this.#tenants.values()) await this.#write(uses);
    await this.#readTenants();
  }

  async #readTenants(): Promise<void> {
    const tenants = await listRuledTenants(this.#database);
    const names = new Set(tenants.map(tenantKey));
    for (const name of this.#tenants.keys()) if (!names.has(name)) this.#tenants.delete(name);
    for (const tenant of tenants) {
      const name = tenantKey(tenant);
      if (!this.#tenants.has(name)) this.#tenants.set(name, { tenant, written: new Set(), pending: new Set() });
    }
  }

  async #write({ tenant, written, pending }: TenantUses): Promise<void> {
    const day = this.#day;
    while (pending.size > 0) {
      const tokens = firstOf(pending, LIMITS.rowsPerSweep);
      await this.#database.commit({ account: tenant.account, writes: [upsertUses(tenant, tokens, day)] });
      // Forgotten uses of this day are written again, which changes nothing.
      if (written.size > LIMITS.rememberedTokenUses) written.clear();
      for (const token of tokens) {
        pending.delete(token);
        if (day === this.#day) written.add(token);
      }
    }
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
