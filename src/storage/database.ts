import type { KeyObject } from 'node:crypto';
import { OperatorError } from '../kernel/operator-error.ts';
import type { Migration } from './migration.ts';

/**
 * The seam between the service and its database, as narrow as it can be: reads, and units of writes that are committed
 * whole or not at all. Both are the same SQL text on every database: `?` parameters, text and blob ids, integer
 * milliseconds. There are no interactive transactions; what must not have changed since it was read is said as the
 * number of rows that a write has to touch.
 */
export type Value = string | number | null | Uint8Array;

export type Row = Readonly<Record<string, Value>>;

/** One SQL statement, run once for each row of parameters. */
export interface Write {
  readonly sql: string;
  readonly rows: readonly (readonly Value[])[];
  /** How many rows of the table each run must touch; otherwise the whole unit is undone. Absent: any number. */
  readonly expectedRows?: number;
}

/** A line for the hash-chained journal, see `journal.ts`. */
export interface JournalEntry {
  /** Empty when the entry belongs to no account. */
  readonly account: string;
  readonly environment: string;
  /** Milliseconds. */
  readonly at: number;
  readonly record: string;
}

export interface UnitOfWork {
  /** The one account whose rows these are; absent when they are of several, or of none. */
  readonly account?: string;
  readonly writes: readonly Write[];
  readonly journal?: readonly JournalEntry[];
  /** What the unit removes has to be cleared from the write-ahead log too, see `scrub`. */
  readonly scrubAfterCommit?: boolean;
}

/** `conflict`: nothing of the unit happened, because a run of a write did not touch what it had to. */
export type CommitResult =
  | { readonly committed: true }
  | { readonly committed: false; readonly write: number; readonly row: number };

export interface Database {
  read(sql: string, ...values: readonly Value[]): Promise<Row[]>;
  /** Resolves when the unit is on disk, or was undone. Throws `StorageError` when neither can be said to have happened. */
  commit(unit: UnitOfWork): Promise<CommitResult>;
  /**
   * Brings the schema up to date; safe with many starters. Throws when a newer version wrote the database. `migrations`: in
   * place of those of this version, for tests.
   */
  migrate(clock: () => number, migrations?: readonly Migration[]): Promise<void>;
  /** Clears what the write-ahead log still holds of rows that were erased since the last time. */
  scrub(): Promise<void>;
  /** A consistent copy while in use. */
  backup(path: string): Promise<void>;
  close(): Promise<void>;
}

/** A database as the service drives it. */
export interface Driver extends Database {
  /** Units that wait for the next commit. */
  readonly queuedUnits: number;
  /** Can it read and write? */
  isAlive(): Promise<boolean>;
  /** The key that seals the journal; no journal entry can be written before it is known. */
  useJournalKey(key: KeyObject): Promise<void>;
}

/** The database is away, full or damaged. Its message is for operators and holds no data. */
export class StorageError extends OperatorError {
  override readonly name = 'StorageError';
}

/** A row holds what this service never writes: it was changed in the database itself, or is damaged. */
export class MalformedRowError extends StorageError {}

/**
 * Rows of a write have the same number of values, and nothing but values, in them; text has no U+0000, which PostgreSQL
 * does not take. What is malformed is refused before it joins the units of others.
 */
export const isWellFormed = ({ writes, journal = [] }: UnitOfWork): boolean =>
  writes.every(({ rows }) => rows.every((row) => row.length === rows[0]?.length && row.every(isValue))) &&
  journal.every(({ record }) => isValue(record));

export const isValue = (value: unknown): boolean =>
  typeof value === 'string'
    ? !value.includes('\0')
    : Number.isSafeInteger(value) || value === null || value instanceof Uint8Array;

/** One run of one statement. */
export const write = (sql: string, values: readonly Value[], expectedRows?: number): Write =>
  expectedRows === undefined ? { sql, rows: [values] } : { sql, rows: [values], expectedRows };

/** For writes that cannot lose a race. */
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

export const integerOrNull = (row: Row, column: string): number | undefined =>
  row[column] === null ? undefined : integer(row, column);

export const blob = (row: Row, column: string): Uint8Array => {
  const value = row[column];
  if (!(value instanceof Uint8Array)) throw new MalformedRowError(`column ${column}: expected bytes`);
  return value;
};

export const blobOrNull = (row: Row, column: string): Uint8Array | undefined =>
  row[column] === null ? undefined : blob(row, column);
