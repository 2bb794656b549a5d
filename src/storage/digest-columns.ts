import { type DigestKeys, versionByte } from '../crypto/digest-keys.ts';
import type { Keyring } from '../crypto/keyring.ts';
import type { KeyScope, Purpose } from '../crypto/wrapped-key.ts';
import type { Database, Row, Write } from './database.ts';
import { countByKey, type KeyName, type OwnedRows, type RowPage, readOwnedRows } from './owned-rows.ts';
import type { SealedColumns } from './sealed-columns.ts';

/** The dependencies of a renewal. */
export interface RenewalParts {
  readonly database: Database;
  readonly keyring: Keyring;
  readonly scope: KeyScope;
  readonly keys: DigestKeys;
}

/**
 * A column of keyed digests or MACs, as its owner declares it: so that a rotation of their key can compute each again, and
 * count what is still under an older version. Every value begins with the byte of its version, see `crypto/digest-keys.ts`.
 */
export interface DigestColumn extends OwnedRows {
  readonly purpose: Purpose;
  readonly column: string;
  /** The list of a select statement for `renew`; the key and the column itself are read as well. */
  readonly selects?: readonly string[];
  /**
   * Returns the writes that replace the digest of a row by one of the current version. They conflict when the row was changed
   * since it was read. 'altered' when the present digest does not belong to the row. Absent: the row ends within days, and what
   * was digested is not stored.
   */
  readonly renew?: (parts: RenewalParts, row: Row) => Promise<readonly Write[] | 'altered'>;
}

/** All columns that depend on keys which can be rotated. */
export interface RotatedColumns {
  readonly sealed: readonly SealedColumns[];
  readonly digests: readonly DigestColumn[];
}

/** Reads the next rows of a scope in the order of the key. */
export function readDigestRows(
  database: Database,
  column: DigestColumn,
  scope: KeyScope,
  page: RowPage,
): Promise<Row[]> {
  const { key, selects = [] } = column;
  const selected = new Set(selects.map((each) => each.split(' ').at(-1)));
  const others = [...key, column.column].filter((name) => !selected.has(name));
  return readOwnedRows(database, column, [...others, ...selects], scope, page);
}

/** The version byte of a digest, as a decimal number. */
const VERSION: KeyName = { sql: 'substr(value, 1, 1)', parse: (bytes) => String(bytes[0] ?? 0) };

/** Counts the digests of a scope by the byte of their version, as a decimal number. */
export const countDigests = (
  database: Database,
  column: DigestColumn,
  scope: KeyScope,
  pageRows: number,
): Promise<Map<string, number>> =>
  countByKey(database, { ...column, columns: [column.column] }, scope, { name: VERSION, pageRows });

/** True for a digest of this version, whatever else it contains. */
export const isOfVersion = (digest: unknown, version: number): boolean =>
  digest instanceof Uint8Array && digest[0] === versionByte(version);
