import { type Clock, SECOND } from '../kernel/clock.ts';
import { type Database, integer, text, write } from './database.ts';
import type { Table } from './table.ts';

export const TABLES: readonly Table[] = [
  {
    name: 'leases',
    key: ['name'],
    columns: { name: 'text', owner: 'text', expires_at: 'integer' },
    isLocal: true,
  },
];

/** Lifetime of a lease that is not renewed: after a node dies, another replaces it in its first round after that. */
const LEASE_MS = 8 * SECOND;
const RENEW_BEFORE_MS = LEASE_MS / 2;

const FIND = 'select owner, expires_at from leases where name = ?';
/** A lease that expires later than any new one was acquired while the clock was wrong. */
const ACQUIRE = `insert into leases (name, owner, expires_at) values (?, ?, ?)
  on conflict (name) do update set owner = excluded.owner, expires_at = excluded.expires_at
    where leases.owner = excluded.owner or leases.expires_at <= excluded.expires_at - ${LEASE_MS}
      or leases.expires_at > excluded.expires_at + ${LEASE_MS}`;
const RELEASE = 'delete from leases where name = ? and owner = ?';

/**
 * Work that one of many nodes does for all of them. The lease saves work and guarantees nothing: the work has to be
 * correct when two nodes do it, because a node that was paused does not know that its lease expired.
 */
export class Lease {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #name: string;
  readonly #owner: string;
  #until = 0;

  constructor(options: { database: Database; clock: Clock; name: string; owner: string }) {
    this.#database = options.database;
    this.#clock = options.clock;
    this.#name = options.name;
    this.#owner = options.owner;
  }

  /** True while this node holds the lease. Acquires the lease when it is free. */
  async acquire(): Promise<boolean> {
    const now = this.#clock();
    if (now < this.#until - RENEW_BEFORE_MS && this.#until <= now + LEASE_MS) return true;
    if (await this.#isHeldByAnother(now)) {
      this.#until = 0;
      return false;
    }
    const until = now + LEASE_MS;
    const { committed } = await this.#database.commit({
      writes: [write(ACQUIRE, [this.#name, this.#owner, until], 1)],
    });
    this.#until = committed ? until : 0;
    return committed;
  }

  /** Releases the lease, so that another node need not wait for its expiry. */
  async release(): Promise<void> {
    if (this.#until === 0) return;
    this.#until = 0;
    await this.#database.commit({ writes: [write(RELEASE, [this.#name, this.#owner])] });
  }

  async #isHeldByAnother(now: number): Promise<boolean> {
    const [row] = await this.#database.read(FIND, this.#name);
    if (row === undefined || text(row, 'owner') === this.#owner) return false;
    const expiresAt = integer(row, 'expires_at');
    return expiresAt > now && expiresAt <= now + 2 * LEASE_MS;
  }
}
