import type { SadKeyStore } from '../crypto/sad-key.ts';
import type { Clock, Random } from '../kernel/clock.ts';
import type { TrustedTime } from '../kernel/time-guard.ts';
import type { Driver } from './database.ts';
import { PeriodicTask, type PeriodicWork } from './periodic-task.ts';
import { DatabaseClock, SYNC_INTERVAL_MS } from './postgres/database-clock.ts';
import { PostgresDatabase, type PostgresPool } from './postgres/postgres.ts';
import { sadKeyTable } from './sad-key-table.ts';
import { SadKeyFiles } from './sqlite/sad-key-files.ts';
import { SqliteDatabase } from './sqlite/sqlite.ts';

/** Which database, and how it is used. */
export type DatabaseOptions =
  | { readonly kind: 'sqlite'; readonly file: string }
  | ({
      readonly kind: 'postgres';
      /** Whose time counts: the database's for all nodes, or that of the machine. */
      readonly clock: 'database' | 'system';
    } & PostgresPool);

/** A database, and what goes with its kind. */
export interface OpenedDatabase {
  readonly database: Driver;
  readonly clock: Clock;
  /** Keys of the sensitive authentication data, outside of what is backed up. */
  readonly sadKeys: SadKeyStore;
  /** May other nodes work on it too? */
  readonly isShared: boolean;
  /** All nodes go by the time of the database. */
  readonly hasSharedClock: boolean;
  /** The first contact. Does the database have a schema? Of SQLite always true: opening made the file. */
  connect(): Promise<boolean>;
  /** Told once when no later write can succeed in this process. */
  onBroken(listener: (error: Error) => void): void;
  /** What a node that serves has to do all the time. */
  maintenance(
    time: TrustedTime,
    onError: (kind: string, error: unknown) => void,
  ): { start(): void; stop(): Promise<void> };
}

const IDLE = { start: () => undefined, stop: () => Promise.resolve() };

/** Connects to nothing yet. */
export function openDatabase(options: DatabaseOptions, clock: Clock, random: Random): OpenedDatabase {
  if (options.kind === 'postgres') return openPostgres(options, clock, random);
  const database = new SqliteDatabase(options.file);
  return {
    database,
    clock,
    sadKeys: new SadKeyFiles(options.file),
    isShared: false,
    hasSharedClock: false,
    connect: () => Promise.resolve(true),
    onBroken: (listener) => database.onBroken(listener),
    maintenance: () => IDLE,
  };
}

/** How often a node shows that it lives, and removes what others left, in looks at the time. */
const TOUCH_EVERY = 20;
/** Within the time in which a change holds on every node. */
const TIMELINE_EVERY = 3;
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
  // The row of a writer that works must not be taken for one that was left: it waits for a trusted time.
  const purgeWriters = async (now: number | undefined): Promise<void> => {
    if (now !== undefined) await database.purgeWriters(now);
  };
  let round = 0;
  const every = (rounds: number, run: () => Promise<void>) => () => (round % rounds === 0 ? run() : Promise.resolve());
  const syncTime = (): Promise<void> => {
    round++;
    return time.sync();
  };
  const chores = (trusted: TrustedTime): PeriodicWork[] => [
    { kind: 'time', run: syncTime },
    { kind: 'seen', run: every(TOUCH_EVERY, () => database.touch()) },
    { kind: 'newest', run: every(TIMELINE_EVERY, () => database.refreshTimeline()) },
    { kind: 'writers', run: every(PURGE_EVERY, () => purgeWriters(trusted.trustedNow())) },
  ];
  const maintenance: OpenedDatabase['maintenance'] = (trusted, onError) =>
    new PeriodicTask({
      every: SYNC_INTERVAL_MS,
      sweeps: [],
      work: chores(trusted),
      time: trusted,
      onRemoved: () => undefined,
      onError,
    });
  // Connections are made again.
  const onBroken = (): void => undefined;
  const hasSharedClock = options.clock === 'database';
  return {
    database,
    clock,
    sadKeys: sadKeyTable(database),
    isShared: true,
    hasSharedClock,
    connect,
    onBroken,
    maintenance,
  };
}
