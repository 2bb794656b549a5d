import type { CommitResult, Database, RewriteReport, Row, UnitOfWork, Value } from '../../src/storage/database.ts';
import type { SeededRandom } from './seeded-random.ts';

interface Waiting {
  readonly owner: CrashableDatabase;
  readonly unit: UnitOfWork;
  readonly resolve: (outcome: CommitResult) => void;
  readonly reject: (error: unknown) => void;
}

const never = <T>(): Promise<T> => new Promise(() => undefined);

/** The one database of all nodes: it commits one unit at a time, in an order that the seed decides. */
export class Disk {
  readonly database: Database;
  readonly #seeded: SeededRandom;
  #waiting: Waiting[] = [];
  #lastRead: Promise<unknown> = Promise.resolve();
  /** Reads that are on their way to the database and back. */
  reading = 0;

  constructor(database: Database, seeded: SeededRandom) {
    this.database = database;
    this.#seeded = seeded;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /** The writes whose process runs. */
  get ready(): number {
    return this.#ready().length;
  }

  #ready(): Waiting[] {
    return this.#waiting.filter(({ owner }) => !owner.isHeldUp);
  }

  commit(owner: CrashableDatabase, unit: UnitOfWork): Promise<CommitResult> {
    return new Promise((resolve, reject) => this.#waiting.push({ owner, unit, resolve, reject }));
  }

  /** One after the other, so that they come back in the same order each time. */
  async read(sql: string, values: readonly Value[]): Promise<Row[]> {
    this.reading++;
    const rows = this.#lastRead.then(() => this.database.read(sql, ...values));
    this.#lastRead = rows.catch(() => undefined);
    try {
      return await rows;
    } finally {
      this.reading--;
    }
  }

  /** Commits one of the units; a crash of its process comes before or after. */
  async step(crash: ((owner: CrashableDatabase) => void) | undefined): Promise<void> {
    const ready = this.#ready();
    const next = ready[this.#seeded.below(ready.length)];
    if (next === undefined) return;
    this.#waiting.splice(this.#waiting.indexOf(next), 1);
    if (crash !== undefined && this.#seeded.percent(50)) return crash(next.owner);
    try {
      const outcome = await this.database.commit(next.unit);
      if (crash !== undefined) crash(next.owner);
      else if (!next.owner.isDead) next.resolve(outcome);
    } catch (error) {
      next.reject(error);
    }
  }

  /** Some of the writes of a crashed process are still executed. */
  abandon(owner: CrashableDatabase): void {
    this.#waiting = this.#waiting.filter((each) => each.owner !== owner || this.#seeded.percent(50));
  }
}

/** The database as one process sees it: once that has crashed nothing of it comes back. */
export class CrashableDatabase implements Database {
  isDead = false;
  /** Its process stands still, as when its machine sleeps. */
  isHeldUp = false;
  readonly #disk: Disk;

  constructor(disk: Disk) {
    this.#disk = disk;
  }

  async read(sql: string, ...values: readonly Value[]): Promise<Row[]> {
    const rows = this.isDead ? undefined : await this.#disk.read(sql, values);
    return rows === undefined || this.isDead ? never() : rows;
  }

  readStored(sql: string, ...values: readonly Value[]): Promise<Row[]> {
    return this.isDead ? never() : this.#disk.database.readStored(sql, ...values);
  }

  nameAccount(id: string, number: number): void {
    this.#disk.database.nameAccount(id, number);
  }

  commit(unit: UnitOfWork): Promise<CommitResult> {
    return this.isDead ? never() : this.#disk.commit(this, unit);
  }

  migrate = never<void>;
  scrub = never<void>;
  rewriteTables = never<RewriteReport>;
  backup = never<void>;
  close = never<void>;
}
