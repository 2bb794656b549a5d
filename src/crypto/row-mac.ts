import type { DigestKeys } from './digest-keys.ts';

/** A column as a database returns it. */
type ColumnValue = string | number | null | Uint8Array;

/**
 * Returns the MAC of a row: a byte that names the version of the key, and HMAC-SHA-256 over the name of its table and its columns as they are stored, in a fixed
 * order. An attacker who can write to the database, but does not have the root key, can neither change the row nor move
 * it.
 */
export const computeRowMac = (keys: DigestKeys, table: string, columns: readonly ColumnValue[]): Uint8Array =>
  keys.digest(encodeRow(table, columns));

function encodeRow(table: string, columns: readonly ColumnValue[]): string {
  const encoded = columns.map((value) =>
    value instanceof Uint8Array ? { bytes: Buffer.from(value).toString('hex') } : value,
  );
  return JSON.stringify([table, ...encoded]);
}

/** False for a MAC of another row, and for a value that is missing or not of bytes. */
export const isRowMacValid = (
  keys: DigestKeys,
  table: string,
  columns: readonly ColumnValue[],
  mac: ColumnValue | undefined,
): boolean => mac instanceof Uint8Array && keys.isValid(encodeRow(table, columns), mac);
