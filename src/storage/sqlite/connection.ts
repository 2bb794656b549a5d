import { DatabaseSync, type SQLOutputValue, type StatementSync } from 'node:sqlite';
import type { Row, Value } from '../database.ts';

/** How long to wait for another process (the command line) that briefly holds the write lock. */
export const BUSY_TIMEOUT_MS = 10_000;

/** The pragmas with their reasons. They run in this order, on every connection. */
const EVERY_CONNECTION = [
  `busy_timeout = ${BUSY_TIMEOUT_MS}`,
  // A commit is on disk before the response; NORMAL would lose the last ones at a power failure.
  'synchronous = FULL',
  // A deleted card number is overwritten, not only unlinked.
  'secure_delete = ON',
  // Pages. `Checkpoints` copies a log long before it has these; a commit does it where that fails.
  'wal_autocheckpoint = 64000',
  'temp_store = MEMORY',
];

/** Run after the others. The mode is stored in the file, so a connection that only reads finds it set. */
const WRITER_ONLY = [
  // Readers never wait for the writer, and a commit is one append and one flush.
  'journal_mode = WAL',
];

/**
 * KiB. The system caches the file as well, so that a larger cache saves no measurable time. The writer's holds the pages of
 * one large group; a reader's pages become invalid after each commit of the writer.
 */
const CACHE = { writer: -16_384, reader: -8192 };

/** A statement that reads lists of values, with the names of their columns. */
interface Query {
  readonly statement: StatementSync;
  readonly columns: readonly string[];
}

/** A connection that caches its prepared statements. */
export class Connection {
  readonly database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();
  readonly #queries = new Map<string, Query>();

  constructor(path: string, options: { readOnly: boolean }) {
    this.database = new DatabaseSync(path, { readOnly: options.readOnly });
    for (const pragma of [...EVERY_CONNECTION, ...(options.readOnly ? [] : WRITER_ONLY)]) {
      this.database.exec(`pragma ${pragma}`);
    }
    this.database.exec(`pragma cache_size = ${options.readOnly ? CACHE.reader : CACHE.writer}`);
  }

  statement(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.database.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }

  /**
   * Reads rows. An integer that JavaScript cannot hold exactly, which this service never writes, is read as the nearest
   * number: an altered row must not make the others unreadable.
   */
  read(sql: string, values: readonly Value[]): Row[] {
    const { statement, columns } = this.#query(sql);
    try {
      return toRows(columns, statement.all(...values));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ERR_OUT_OF_RANGE') throw error;
    }
    statement.setReadBigInts(true);
    try {
      return toRows(columns, statement.all(...values));
    } finally {
      statement.setReadBigInts(false);
    }
  }

  #query(sql: string): Query {
    let query = this.#queries.get(sql);
    if (query === undefined) {
      const statement = this.database.prepare(sql);
      statement.setReturnArrays(true);
      query = { statement, columns: statement.columns().map(({ name }) => name) };
      this.#queries.set(sql, query);
    }
    return query;
  }

  close(): void {
    this.#statements.clear();
    this.#queries.clear();
    this.database.close();
  }
}

/** `rows`: lists of values, which cost a third less to read than the objects that Node makes. */
const toRows = (columns: readonly string[], rows: readonly unknown[]): Row[] =>
  (rows as (readonly SQLOutputValue[])[]).map((values) => {
    const row: Record<string, Value> = {};
    for (let index = 0; index < columns.length; index++) {
      const value = values[index] as SQLOutputValue;
      row[columns[index] as string] = typeof value === 'bigint' ? Number(value) : value;
    }
    return row;
  });
