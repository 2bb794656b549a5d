import { countActiveCaptures } from '../../src/captures/capture-store.ts';
import type { Clock } from '../../src/kernel/clock.ts';
import { type Tenant, tenantKey } from '../../src/kernel/environment.ts';
import { countPayments } from '../../src/payments/payment-queries.ts';
import { Cache, costAwareTtl } from '../../src/storage/cache.ts';
import type { Database } from '../../src/storage/database.ts';
import { countTokens } from '../../src/vault/token-queries.ts';

const MAX_TENANTS = 1000;

interface TenantTotals {
  readonly tokens: number;
  /** Captures that have not expired. */
  readonly captures: number;
  readonly payments: number;
}

/** Counts the records of a tenant. Counts are cached, because they cost more the more records there are. */
export class RecordTotals {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #cache: Cache<string, TenantTotals>;

  constructor(options: { database: Database; clock: Clock }) {
    this.#database = options.database;
    this.#clock = options.clock;
    this.#cache = new Cache({ clock: options.clock, max: MAX_TENANTS, ttlMs: costAwareTtl });
  }

  count(tenant: Tenant): Promise<TenantTotals> {
    return this.#cache.get(tenantKey(tenant), async () => {
      const [tokens, captures, payments] = await Promise.all([
        countTokens(this.#database, tenant),
        countActiveCaptures(this.#database, tenant, this.#clock()),
        countPayments(this.#database, tenant),
      ]);
      return { tokens, captures, payments };
    });
  }
}
