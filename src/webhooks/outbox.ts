import type { Keyring } from '../crypto/keyring.ts';
import type { Transaction } from '../idempotency/transaction.ts';
import { type Clock, formatIso8601, type Random } from '../kernel/clock.ts';
import type { Tenant } from '../kernel/environment.ts';
import { MonotonicIds } from '../kernel/ids.ts';
import { Cache, MAX_CACHED_TENANTS, SETTINGS_TTL_MS } from '../storage/cache.ts';
import type { Database } from '../storage/database.ts';
import { type Endpoint, type EventType, isSelected } from './webhook.ts';
import { insertDeliveries, insertEvent, listEndpoints } from './webhook-store.ts';

export const EVENT_ID_PREFIX = 'evt_';

/** An event. `data` is written as JSON; exact numbers are written digit by digit. */
export interface WebhookEvent {
  readonly type: EventType;
  readonly data: object;
}

/**
 * Writes events and their deliveries in the transaction of what they tell: there is no change without its event, and no
 * event of what did not happen (webhooks.md 3). A tenant without endpoints costs nothing but a cached read.
 */
export class Outbox {
  readonly #database: Database;
  readonly #keyring: Keyring;
  readonly #ids: MonotonicIds;
  readonly #endpoints: Cache<string, readonly Endpoint[]>;
  #onWritten: () => void = () => undefined;

  constructor(options: { database: Database; keyring: Keyring; clock: Clock; random: Random }) {
    this.#database = options.database;
    this.#keyring = options.keyring;
    this.#ids = new MonotonicIds(options.clock, options.random);
    this.#endpoints = new Cache({ clock: options.clock, max: MAX_CACHED_TENANTS, ttlMs: SETTINGS_TTL_MS });
  }

  /** `callback`: called when deliveries were committed, so that they need not wait for the next look. */
  onWritten(callback: () => void): void {
    this.#onWritten = callback;
  }

  /** The endpoints of a tenant, at most two seconds old. */
  getEndpoints(tenant: Tenant): Promise<readonly Endpoint[]> {
    return this.#endpoints.get(`${tenant.environment}/${tenant.account}`, async () =>
      (await listEndpoints(this.#database, this.#keyring, tenant)).map(({ endpoint }) => endpoint),
    );
  }

  /** True when an endpoint of the tenant has selected one of the types; otherwise their data need not be built. */
  async isWanted(tenant: Tenant, types: readonly EventType[]): Promise<boolean> {
    const endpoints = await this.getEndpoints(tenant);
    return endpoints.some((endpoint) => types.some((type) => isSelected(endpoint, type)));
  }

  /** Adds an event to the transaction for each endpoint that has selected its type. `except`: an endpoint that does not get it. */
  async emit(transaction: Transaction, tenant: Tenant, { type, data }: WebhookEvent, except?: string): Promise<void> {
    const endpoints = await this.getEndpoints(tenant);
    const selected = endpoints
      .filter((endpoint) => endpoint.id !== except && isSelected(endpoint, type))
      .map(({ id }) => id);
    if (selected.length === 0) return;
    const id = `${EVENT_ID_PREFIX}${this.#ids.next()}`;
    const body = formatBody(type, transaction.now, tenant, data);
    transaction.write(await insertEvent(this.#keyring, tenant, { id, type, createdAt: transaction.now, body }));
    transaction.write(insertDeliveries(tenant, selected, id, transaction.now));
    transaction.afterCommit(async () => this.#onWritten());
  }
}

/** Returns the bytes that every attempt sends. */
export const formatBody = (type: string, at: number, { environment }: Tenant, data: object): Buffer =>
  Buffer.from(JSON.stringify({ type, timestamp: formatIso8601(at), environment, data }));
