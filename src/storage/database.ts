import type { DigestKeys } from '../crypto/digest-keys.ts';
import { UnsealError } from '../crypto/seal.ts';
import { OperatorError } from '../kernel/operator-error.ts';

/**
 * The interface between the service and its database, kept narrow: reads, and units of writes that are committed
 * atomically. Both are the same SQL text on every database: `?` parameters, text and blob ids, integer milliseconds.
 * Accounts and environments have the parameters `?account` and `?environment`, see `account-numbers.ts`.
 * There are no interactive transactions; a condition on earlier reads is expressed as the number of rows that a write
 * has to touch.
 */
export type Value = string | number | null | Uint8Array;

export type Row = Readonly<Record<string, Value>>;

/** One SQL statement, run once for each row of parameters. */
export interface Write {
  readonly sql: string;
  readonly rows: readonly (readonly Value[])[];
  /** Number of rows of the table that each run must touch; otherwise the unit is rolled back. Absent: any number. */
  readonly expectedRows?: number;
}

/**
 * Numbers that are added to a row of totals, which is created when it does not exist. Many units add to the same row, so a
 * driver may add those of several units at once, and each writer adds to a row of its own: the total is the sum over all
 * lanes. An addition never conflicts.
 */
export interface Addition {
  /** An insert that adds on conflict. Its parameters are those of `key`, the lane of the writer, and `numbers`. */
  readonly sql: string;
  readonly key: readonly Value[];
  readonly numbers: readonly number[];
}

/** A record for the hash-chained journal, see `journal.ts`. */
export interface JournalEntry {
  /** Empty when the entry belongs to no account. */
  readonly account: string;
  readonly environment: string;
  /** Milliseconds. */
  readonly at: number;
  readonly record: string;
}

export interface UnitOfWork {
  /** The one account that owns the rows; absent when several accounts own them, or none. */
  readonly account?: string;
  readonly writes: readonly Write[];
  readonly additions?: readonly Addition[];
  readonly journal?: readonly JournalEntry[];
  /** True when the unit erases data that must be cleared from the write-ahead log too, see `scrub`. */
  readonly scrubAfterCommit?: boolean;
}

/** `conflict`: the unit was not committed, because a run of a write did not touch the expected rows. */
export type CommitResult =
  | { readonly committed: true }
  | { readonly committed: false; readonly write: number; readonly row: number };

/** A database that is only read. */
export type DatabaseReads = Pick<Database, 'read' | 'readStored'>;

export interface Database {
  read(sql: string, ...values: readonly Value[]): Promise<Row[]>;
  /** Reads rows as the database holds them, with numbers in the columns of accounts and environments. */
  readStored(sql: string, ...values: readonly Value[]): Promise<Row[]>;
  /** Notes the number of an account that the next commit inserts. */
  nameAccount(id: string, number: number): void;
  /**
   * Resolves when the unit is on disk, or was rolled back. Throws `StorageError` when the result of the commit is
   * unknown.
   */
  commit(unit: UnitOfWork): Promise<CommitResult>;
  /**
   * Updates the schema; safe with several concurrent starts. Throws when a newer version wrote the database. Tests pass
   * other `migrations`.
   */
  migrate(clock: () => number, migrations?: readonly Migration[]): Promise<void>;
  /** Clears from the write-ahead log what was erased since the last scrub. `close` does so, too, where nothing prevents it. */
  scrub(): Promise<void>;
  /**
   * Clears deleted rows from the files of the database, for its owner; the tables are locked one after the other, or all at once. Throws
   * `StorageError`.
   */
  rewriteTables(): Promise<RewriteReport>;
  /** Writes a consistent copy while the database is in use. */
  backup(path: string): Promise<void>;
  close(): Promise<void>;
}

export interface RewriteReport {
  /** Number of tables that were rewritten. */
  readonly tables: number;
  /** Number of deleted rows that remain, because another transaction may still read them. */
  readonly visible: number;
  /** True when the files on disk are the new ones already. */
  readonly flushed: boolean;
  /** The earlier contents of the write-ahead log: cleared, cleared later because of a reader, or kept until its files end. */
  readonly log: 'cleared' | 'later' | 'kept';
}

/** A consistent view of a database at one moment, on a connection of its own. */
export interface Snapshot {
  /** Reads rows as the database holds them. */
  readStored(sql: string, ...values: readonly Value[]): Promise<Row[]>;
  close(): Promise<void>;
}

/** Numbers of what a database has executed. */
export interface ExecutedWrites {
  /** Groups of units that were written together. */
  readonly groups: number;
  /** Units in these groups, with those that met a conflict. */
  readonly units: number;
}

/** A database with what the service needs to operate it. */
export interface Driver extends Database {
  /** Number of units that wait for the next commit. */
  readonly queuedUnits: number;
  /** Counted since this driver was opened. */
  readonly executed: ExecutedWrites;
  /** True when the database can be read and written. */
  isAlive(): Promise<boolean>;
  /** Returns the bytes that the database takes on its disk. */
  measureSize(): Promise<number>;
  /** Sets the key that seals the journal; no journal entry can be written before. Its versions are read again while units are committed. */
  useJournalKey(key: DigestKeys): Promise<void>;
}

/** Thrown when the database is unavailable, full or damaged. Its message is for operators and contains no data. */
export class StorageError extends OperatorError {
  override readonly name = 'StorageError';
}

/** Thrown for a row that this service never writes: it was altered in the database, or is damaged. */
export class MalformedRowError extends StorageError {}

/** True when the error means that a record was altered in the database. */
export const isAlteration = (error: unknown): boolean =>
  error instanceof UnsealError || error instanceof MalformedRowError;

/**
 * Checks that the rows of a write have the same number of values, all of a supported type; text has no U+0000, which
 * PostgreSQL rejects. A malformed unit is rejected before it joins the units of others.
 */
export const isWellFormed = ({ writes, additions = [], journal = [] }: UnitOfWork): boolean =>
  writes.every(({ rows }) => rows.every((row) => row.length === rows[0]?.length && row.every(isValue))) &&
  additions.every(({ key, numbers }) => key.every(isValue) && numbers.every(Number.isSafeInteger)) &&
  journal.every(({ record }) => isValue(record));

export const isValue = (value: unknown): boolean =>
  typeof value === 'string'
    ? !value.includes('\0')
    : Number.isSafeInteger(value) || value === null || value instanceof Uint8Array;

/** Returns one run of one statement. */
export const write = (sql: string, values: readonly Value[], expectedRows?: number): Write =>
  expectedRows === undefined ? { sql, rows: [values] } : { sql, rows: [values], expectedRows };

/** Commits a unit that cannot conflict. */
export async function commitOrThrow(database: Database, unit: UnitOfWork): Promise<void> {
  const outcome = await database.commit(unit);
  if (!outcome.committed) throw new StorageError(`write ${outcome.write} met an unexpected state`);
}

export const text = (row: Row, column: string): string => {
  const value = row[column];
  if (typeof value !== 'string') throw new MalformedRowError(`column ${column}: expected text`);
  return value;
};

export const textOrNull = (row: Row, column: string): string | undefined =>
  row[column] === null ? undefined : text(row, column);

export const integer = (row: Row, column: string): number => {
  const value = row[column];
  if (typeof value !== 'number') throw new MalformedRowError(`column ${column}: expected an integer`);
  return value;
};

/** Reads the number that the next change of a row compares: one that JavaScript cannot hold exactly is never written. */
export const revision = (row: Row): number => {
  const value = integer(row, 'revision');
  if (!Number.isSafeInteger(value)) throw new MalformedRowError('column revision: the number is too large');
  return value;
};

export const integerOrNull = (row: Row, column: string): number | undefined =>
  row[column] === null ? undefined : integer(row, column);

export const blob = (row: Row, column: string): Uint8Array => {
  const value = row[column];
  if (!(value instanceof Uint8Array)) throw new MalformedRowError(`column ${column}: expected bytes`);
  return value;
};

export const blobOrNull = (row: Row, column: string): Uint8Array | undefined =>
  row[column] === null ? undefined : blob(row, column);

/** A numbered step of the schema. */
export interface Migration {
  readonly version: number;
  readonly name: string;
  /** The release of cardvault that ships it, such as 0.2.0. */
  readonly release: string;
  /** The oldest version whose code still works with this schema, beside nodes of the newer version. */
  readonly minCompatible: number;
  /** The oldest version that it can be applied to; 0 for every one. An empty database needs none. */
  readonly upgradesFrom: number;
  readonly sql: string;
}
