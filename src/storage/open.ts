import type { MessagePort } from 'node:worker_threads';
import type { SadKeyStore } from '../crypto/sad-keys.ts';
import { type Clock, type Random, SECOND } from '../kernel/clock.ts';
import type { TrustedTime } from '../kernel/time-guard.ts';
import type { Driver, Snapshot } from './database.ts';
import { PeriodicTask, type PeriodicWork } from './periodic-task.ts';
import { DatabaseClock, SYNC_INTERVAL_MS } from './postgres/database-clock.ts';
import { PostgresDatabase, type PostgresPool } from './postgres/postgres.ts';
import { sadKeyTable } from './sad-key-table.ts';
import { SadKeyFiles } from './sqlite/sad-key-files.ts';
import { SqliteDatabase } from './sqlite/sqlite.ts';

/** The database and how it is used. */
export type DatabaseOptions =
  | { readonly kind: 'sqlite'; readonly file: string }
  | ({
      readonly kind: 'postgres';
      /** The clock that decides: the database's for all nodes, or that of the machine. */
      readonly clock: 'database' | 'system';
    } & PostgresPool);

/** A database with the parts that depend on its kind. */
export interface OpenedDatabase {
  readonly database: Driver;
  readonly clock: Clock;
  /** Keys of the sensitive authentication data, outside of the backed-up data. */
  readonly sadKeys: SadKeyStore;
  /** True when other nodes may use the database too. */
  readonly isShared: boolean;
  /** True when all nodes use the time of the database. */
  readonly hasSharedClock: boolean;
  /**
   * Connects for the first time. Returns true when the database has a schema; always true with SQLite, where opening
   * created the file.
   */
  connect(): Promise<boolean>;
  /** PostgreSQL: opens a consistent view for a backup. Undefined with SQLite, whose rows are copied in one statement. */
  readonly openSnapshot: (() => Promise<Snapshot>) | undefined;
  /** SQLite: returns a port to the writer, for another thread that opens the database. */
  connectWriter(): MessagePort | undefined;
  /** Calls the listener once when no later write can succeed in this process. */
  onBroken(listener: (error: Error) => void): void;
  /** Periodic tasks of a node that serves requests. */
  maintenance(
    time: TrustedTime,
    onError: (kind: string, error: unknown) => void,
  ): { start(): void; stop(): Promise<void> };
}

const IDLE = { start: () => undefined, stop: () => Promise.resolve() };

/** Opens no connection yet. `writerPort`: SQLite that another thread of this process has opened. */
export function openDatabase(
  options: DatabaseOptions,
  clock: Clock,
  random: Random,
  writerPort?: MessagePort,
): OpenedDatabase {
  if (options.kind === 'postgres') return openPostgres(options, clock, random);
  const database = new SqliteDatabase(options.file, writerPort);
  return {
    database,
    clock,
    sadKeys: new SadKeyFiles(options.file),
    isShared: false,
    hasSharedClock: false,
    connect: () => Promise.resolve(true),
    openSnapshot: undefined,
    connectWriter: () => database.connectWriter(),
    onBroken: (listener) => database.onBroken(listener),
    maintenance: () => IDLE,
  };
}

/** How often a node records its activity and removes what other nodes left, in readings of the time. */
const TOUCH_EVERY = 20;
/** Shorter than the time within which a change is valid on every node. */
const TIMELINE_INTERVAL_MS = 3 * SECOND;
const PURGE_EVERY = 3600;

function openPostgres(
  options: DatabaseOptions & { kind: 'postgres' },
  systemClock: Clock,
  random: Random,
): OpenedDatabase {
  const time = new DatabaseClock(systemClock, () => database.time());
  const clock = options.clock === 'database' ? time.now : systemClock;
  const database = new PostgresDatabase(options, { clock, random });
  const connect = async (): Promise<boolean> => {
    await time.sync();
    return database.hasSchema();
  };
  return {
    database,
    clock,
    sadKeys: sadKeyTable(database),
    isShared: true,
    hasSharedClock: options.clock === 'database',
    connect,
    openSnapshot: () => database.openSnapshot(),
    connectWriter: () => undefined,
    // Lost connections are opened again.
    onBroken: () => undefined,
    maintenance: (trusted, onError) => {
      const newTask = (every: number, work: PeriodicWork[]): PeriodicTask =>
        new PeriodicTask({ every, sweeps: [], work, time: trusted, onRemoved: () => undefined, onError });
      // A task of its own: the writes of others may wait at a server that was replaced until this finds it out.
      const timeline = { kind: 'timeline', run: () => database.refreshTimeline() };
      const tasks = [
        newTask(SYNC_INTERVAL_MS, listChores(database, time, trusted)),
        newTask(TIMELINE_INTERVAL_MS, [timeline]),
      ];
      return {
        start: () => {
          for (const task of tasks) task.start();
        },
        stop: async () => {
          for (const task of tasks) await task.stop();
        },
      };
    },
  };
}

/** Work of each node: all of it in the same round, and some of it in every few rounds. */
function listChores(database: PostgresDatabase, time: DatabaseClock, trusted: TrustedTime): PeriodicWork[] {
  // A clock that jumped would take an active writer's row for an abandoned one, so this waits for trusted time.
  const purgeWriters = async (now: number | undefined): Promise<void> => {
    if (now !== undefined) await database.purgeWriters(now);
  };
  let round = 0;
  const every = (rounds: number, run: () => Promise<void>) => () => (round % rounds === 0 ? run() : Promise.resolve());
  // From its start on, a node is known to others that would change the schema.
  const touch = (): Promise<void> => (round === 1 || round % TOUCH_EVERY === 0 ? database.touch() : Promise.resolve());
  const syncTime = (): Promise<void> => {
    round++;
    return time.sync();
  };
  return [
    { kind: 'clock', run: syncTime },
    { kind: 'heartbeat', run: touch },
    { kind: 'writers', run: every(PURGE_EVERY, () => purgeWriters(trusted.trustedNow())) },
  ];
}
