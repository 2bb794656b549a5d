import { type Clock, DAY, HOUR } from '../kernel/clock.ts';
import { ENVIRONMENTS, type Scope, type Tenant } from '../kernel/environment.ts';
import { invalidField } from '../kernel/failure.ts';
import { LIMITS } from '../kernel/limits.ts';
import { commitOrThrow, type Database, integer, text } from '../storage/database.ts';
import { yieldBeforeScan } from '../storage/pagination.ts';
import type { Table } from '../storage/table.ts';

export const TABLES: readonly Table[] = [
  {
    name: 'statistics',
    key: ['account', 'environment', 'hour', 'name'],
    columns: { account: 'integer', environment: 'integer', hour: 'integer', name: 'text', number: 'integer' },
  },
];

const ADD = `insert into statistics (account, environment, hour, name, number) values (?account, ?environment, ?, ?, ?)
  on conflict (account, environment, hour, name) do update set number = statistics.number + excluded.number`;
const SUMS = 'select name, cast(sum(number) as bigint) as number from statistics';
const BETWEEN = 'environment = ?environment and hour >= ? and hour < ? group by name order by name';
const OF_ACCOUNT = `${SUMS} where account = ?account and ${BETWEEN}`;
const OF_ALL = `${SUMS} where ${BETWEEN}`;
const PURGE = 'delete from statistics where account = ?account and environment = ?environment and hour < ?';

/** Counters of events. */
export interface CounterValue {
  readonly name: string;
  readonly number: number;
}

interface Counters {
  readonly tenant: Tenant;
  readonly hour: number;
  readonly numbers: Map<string, number>;
}

/**
 * Counts events for each tenant by the hour. Counters gather in memory and are added to those in the database
 * periodically: a process that is killed loses those of its last seconds, and nothing else depends on them.
 */
export class Usage {
  readonly #database: Database;
  readonly #clock: Clock;
  /** By environment and account, of the present hour. */
  #present = new Map<string, Counters>();
  /** Counters of past hours. */
  #past: Counters[] = [];
  /** The counters of the last call. A request counts more than once, and many come from one tenant. */
  #last: Counters | undefined;
  #counters = 0;
  #purgedAt = 0;

  constructor(options: { database: Database; clock: Clock }) {
    this.#database = options.database;
    this.#clock = options.clock;
  }

  note(tenant: Tenant, name: string, by = 1): void {
    const numbers = this.#numbersOf(tenant);
    const number = numbers.get(name);
    if (number === undefined) {
      // Reached only while the database is unavailable for long.
      if (this.#counters >= LIMITS.countersInMemory) return;
      this.#counters++;
    }
    numbers.set(name, (number ?? 0) + by);
  }

  /**
   * Adds the counters to the database. Counters whose write failed remain for the next call, so after a broken
   * connection a counter can be too high.
   */
  async flush(): Promise<void> {
    const taken = [...this.#past, ...this.#present.values()];
    this.#past = [];
    this.#present = new Map();
    this.#last = undefined;
    this.#counters = 0;
    const rows = summed(taken);
    for (let at = 0; at < rows.length; at += LIMITS.rowsPerCommit) {
      try {
        await commitOrThrow(this.#database, {
          writes: [{ sql: ADD, rows: rows.slice(at, at + LIMITS.rowsPerCommit), expectedRows: 1 }],
        });
      } catch (error) {
        this.#keep(rows.slice(at));
        throw error;
      }
    }
  }

  /**
   * Returns the sums of the hours that start in this time, of one account or of all; `to` is exclusive. Throws
   * `invalid_field`.
   */
  async sums({ account, environment }: Scope, from: number, to: number): Promise<CounterValue[]> {
    const days = LIMITS.statisticsDaysPerQuery;
    if (!(to >= from && to - from <= days * DAY)) throw invalidField('to', 'period', { days });
    const sums = new Map<string, number>();
    for (let day = from; day < to; day += DAY) {
      await yieldBeforeScan();
      const span = [environment, day, Math.min(day + DAY, to)] as const;
      const rows =
        account === undefined
          ? await this.#database.read(OF_ALL, ...span)
          : await this.#database.read(OF_ACCOUNT, account, ...span);
      for (const row of rows) {
        const name = text(row, 'name');
        sums.set(name, integer(row, 'number') + (sums.get(name) ?? 0));
      }
    }
    return [...sums].map(([name, number]) => ({ name, number }));
  }

  /** Deletes old counters, once a day. */
  async purgeOld(now: number): Promise<void> {
    if (now - this.#purgedAt < DAY) return;
    const accounts = (await this.#database.read('select id from accounts')).map((row) => text(row, 'id'));
    const before = now - LIMITS.statisticsDaysKept * DAY;
    for (const account of accounts) {
      const rows = ENVIRONMENTS.map((environment) => [account, environment, before]);
      await this.#database.commit({ account, writes: [{ sql: PURGE, rows }] });
    }
    this.#purgedAt = now;
  }

  #numbersOf(tenant: Tenant): Map<string, number> {
    const now = this.#clock();
    const hour = now - (now % HOUR);
    if (this.#last?.tenant === tenant && this.#last.hour === hour) return this.#last.numbers;
    const name = tenant.environment + tenant.account;
    const counters = this.#present.get(name);
    if (counters?.hour === hour) {
      this.#last = { tenant, hour, numbers: counters.numbers };
      return counters.numbers;
    }
    if (counters !== undefined) this.#past.push(counters);
    const fresh: Counters = { tenant, hour, numbers: new Map() };
    this.#present.set(name, fresh);
    this.#last = fresh;
    return fresh.numbers;
  }

  #keep(rows: readonly Row[]): void {
    for (const [account, environment, hour, name, number] of rows) {
      if (this.#counters >= LIMITS.countersInMemory) return;
      this.#counters++;
      this.#past.push({ tenant: { account, environment }, hour, numbers: new Map([[name, number]]) });
    }
  }
}

type Row = readonly [account: string, environment: Tenant['environment'], hour: number, name: string, number: number];

/**
 * One row for each counter, because a statement adds to a row only once; always in the same order, so that nodes that
 * add to the same rows never deadlock.
 */
function summed(counters: readonly Counters[]): Row[] {
  const rows = new Map<string, Row>();
  for (const { tenant, hour, numbers } of counters) {
    for (const [name, number] of numbers) {
      const key = [tenant.account, tenant.environment, hour, name].join('\n');
      rows.set(key, [tenant.account, tenant.environment, hour, name, number + (rows.get(key)?.[4] ?? 0)]);
    }
  }
  return [...rows].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, row]) => row);
}
