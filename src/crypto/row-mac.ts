import type { KeyObject } from 'node:crypto';
import { isSameDigest, keyedDigest } from './fingerprint.ts';

/** A column as a database returns it. */
type ColumnValue = string | number | null | Uint8Array;

/**
 * Returns the MAC of a row: HMAC-SHA-256 over the name of its table and its columns as they are stored, in a fixed
 * order. An attacker who can write to the database, but does not have the root key, can neither change the row nor move
 * it.
 */
export function computeRowMac(key: KeyObject, table: string, columns: readonly ColumnValue[]): Uint8Array {
  const encoded = columns.map((value) =>
    value instanceof Uint8Array ? { bytes: Buffer.from(value).toString('hex') } : value,
  );
  return keyedDigest(key, JSON.stringify([table, ...encoded]));
}

/** False for a MAC of another row, and for a value that is missing or not of bytes. */
export const isRowMacValid = (
  key: KeyObject,
  table: string,
  columns: readonly ColumnValue[],
  mac: ColumnValue | undefined,
): boolean => mac instanceof Uint8Array && isSameDigest(computeRowMac(key, table, columns), mac);
