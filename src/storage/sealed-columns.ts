import type { EncryptionContext } from '../crypto/seal.ts';
import type { KeyScope, Purpose } from '../crypto/wrapped-key.ts';
import type { Database, Row, Write } from './database.ts';
import {
  countByKey,
  type KeyName,
  type OwnedRows,
  positionOf,
  type RowPosition,
  readOwnedRows,
  replaceValue,
} from './owned-rows.ts';

/**
 * The sealed columns of a table, as its owner declares it: so that a rotation of keys can seal every row again, and count
 * what is still sealed under an older key. Every owner of sealed columns exports its declarations beside its tables.
 */
export interface SealedColumns extends OwnedRows {
  readonly purpose: Purpose;
  /** Further columns that contexts contain. */
  readonly bound: readonly string[];
  /** Sealed columns with the encryption context of a row. Throws `MalformedRowError`. */
  readonly contexts: Readonly<Record<string, (row: Row) => EncryptionContext>>;
}

/** Reads the next rows of a scope in the order of the key, with all columns that opening and sealing need. */
export function readSealedRows(
  database: Database,
  columns: SealedColumns,
  scope: KeyScope,
  after: RowPosition,
  limit: number,
): Promise<Row[]> {
  const { key, bound, contexts } = columns;
  return readOwnedRows(database, columns, [...key, ...bound, ...Object.keys(contexts)], scope, { after, limit });
}

/** Reads all rows of a scope, page by page. */
export async function* readAllSealedRows(
  database: Database,
  columns: SealedColumns,
  scope: KeyScope,
  pageRows: number,
): AsyncGenerator<Row, void, undefined> {
  for (let after: RowPosition; ; ) {
    const rows = await readSealedRows(database, columns, scope, after, pageRows);
    yield* rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < pageRows) return;
    after = positionOf(columns, last);
  }
}

/** Returns the write that replaces a sealed value; conflicts when the row was changed since it was read. */
export const replaceSealed = (
  columns: SealedColumns,
  scope: KeyScope,
  { row, column, sealed }: { readonly row: Row; readonly column: string; readonly sealed: Uint8Array },
): Write => replaceValue(columns, scope, { row, column, value: sealed });

/** The id of the key of a sealed value, see `crypto/seal.ts`. */
const KEY_ID: KeyName = {
  sql: 'substr(value, 2, 8)',
  parse: (bytes) => Buffer.from(bytes).toString('hex'),
};

/** Counts the sealed values of a scope by the hexadecimal id of their key. */
export const countSealed = (
  database: Database,
  columns: SealedColumns,
  scope: KeyScope,
  pageRows: number,
): Promise<Map<string, number>> =>
  countByKey(database, { ...columns, columns: Object.keys(columns.contexts) }, scope, { name: KEY_ID, pageRows });
