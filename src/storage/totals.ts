import type { Clock } from '../kernel/clock.ts';
import type { Tenant } from '../kernel/environment.ts';
import { type Database, integer } from './database.ts';
import { Kept } from './kept.ts';

/** All are counted by an index alone; the deleted ones of the last day, which are not forgotten yet, by one of their own. */
const TOKENS = 'select count(*) as number from tokens where account = ? and environment = ?';
const DELETED_TOKENS = `select count(*) as number from tokens
  where deleted_at is not null and account || '' = ? and environment || '' = ?`;
const CAPTURES = 'select count(*) as number from captures where account = ? and environment = ? and expires_at > ?';
const PAYMENTS = 'select count(*) as number from payments where account = ? and environment = ?';

export interface TotalsOfTenant {
  readonly tokens: number;
  /** Those whose ttl has not ended. */
  readonly captures: number;
  readonly payments: number;
}

/** How many records a tenant has, as it was some seconds ago. */
export class Totals {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #kept: Kept<TotalsOfTenant>;

  constructor(options: { database: Database; clock: Clock }) {
    this.#database = options.database;
    this.#clock = options.clock;
    this.#kept = new Kept(options.clock);
  }

  of({ account, environment }: Tenant): Promise<TotalsOfTenant> {
    return this.#kept.get(`${environment}/${account}`, async () => {
      const [all, deleted, captures, payments] = await Promise.all([
        this.#count(TOKENS, account, environment),
        this.#count(DELETED_TOKENS, account, environment),
        this.#count(CAPTURES, account, environment, this.#clock()),
        this.#count(PAYMENTS, account, environment),
      ]);
      // Two moments: what was deleted between them must not show as less than nothing.
      return { tokens: Math.max(0, all - deleted), captures, payments };
    });
  }

  async #count(sql: string, ...values: readonly (string | number)[]): Promise<number> {
    const [row] = await this.#database.read(sql, ...values);
    return integer(row ?? {}, 'number');
  }
}
