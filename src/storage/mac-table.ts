import type { DigestKeys } from '../crypto/digest-keys.ts';
import type { Keyring } from '../crypto/keyring.ts';
import { computeRowMac, isRowMacValid } from '../crypto/row-mac.ts';
import { parameterOf } from './account-numbers.ts';
import { blob, type Row, type Value, type Write, write } from './database.ts';
import type { DigestColumn } from './digest-columns.ts';
import type { Kind } from './table.ts';

/** A table whose rows are stored in clear with a MAC, so that a row that was altered in the database is detected. */
export interface MacTable {
  readonly name: string;
  /** Columns of the primary key; the first one names the account. */
  readonly key: readonly [account: string, ...others: string[]];
  /** The columns under the MAC, in the order in which it covers them. */
  readonly sealed: Readonly<Record<string, Kind>>;
  /** The column of the MAC. */
  readonly mac: string;
  /** Names a row in the audit log, for example `key:ID`. */
  readonly target: (row: Row) => string;
}

export const rowMacKey = (keyring: Keyring): Promise<DigestKeys> =>
  keyring.digests({ account: '', environment: 'service', purpose: 'row-macs' });

/**
 * Represents a number that JavaScript cannot hold exactly, or a value that is no number; this service writes none of
 * them.
 */
const UNSAFE = Number.MIN_SAFE_INTEGER;

/**
 * Reads an integer column, whatever an attacker wrote there. A value that cannot be read is never returned as null: the
 * row would then be authentic in this code, and different in a condition on the column.
 */
export const safeInteger = (column: string): string =>
  `case when ${column} is null or ${column} between ${UNSAFE} and ${Number.MAX_SAFE_INTEGER} then ${column} else ${UNSAFE} end`;

/**
 * Returns the columns that `isRowAuthentic` needs, for a query. In a join, `alias` names the table, and `prefix`
 * precedes each name.
 */
export function macColumns({ sealed, mac }: MacTable, alias = '', prefix = ''): string {
  const from = alias === '' ? '' : `${alias}.`;
  return Object.entries({ ...sealed, [mac]: 'blob' })
    .map(([column, kind]) => {
      const name = from + column;
      const value = kind === 'integer' ? safeInteger(name) : name;
      return `${value} as ${prefix}${column}`;
    })
    .join(', ');
}

/** Checks a row of `macColumns`. Use nothing of a row, and seal nothing of it again, before this has returned true. */
export const isRowAuthentic = (keys: DigestKeys, table: MacTable, row: Row, prefix = ''): boolean =>
  isRowMacValid(keys, table.name, valuesOf(table, row, prefix), row[prefix + table.mac]);

export const computeMac = (keys: DigestKeys, table: MacTable, row: Row): Uint8Array =>
  computeRowMac(keys, table.name, valuesOf(table, row));

/**
 * Returns a digest that identifies the content of an altered row. It is keyed, so that it reveals nothing, and an
 * attacker cannot compute it.
 */
export const computeRowState = (keys: DigestKeys, table: MacTable, row: Row, prefix = ''): Uint8Array =>
  computeRowMac(keys, `state of ${table.name}`, [...valuesOf(table, row, prefix), row[prefix + table.mac] ?? null]);

const valuesOf = ({ sealed }: MacTable, row: Row, prefix = ''): Value[] =>
  Object.keys(sealed).map((column) => row[prefix + column] ?? null);

/** Declares the MACs of a table for rotations of their key. A row that was altered gets no new MAC. */
export const toDigestColumn = (table: MacTable): DigestColumn => ({
  table: table.name,
  purpose: 'row-macs',
  scope: 'service',
  key: table.key,
  column: table.mac,
  selects: [macColumns(table)],
  renew: ({ keys }, row) =>
    Promise.resolve(
      isRowAuthentic(keys, table, row) ? [replaceMac(table, row, computeMac(keys, table, row))] : 'altered',
    ),
});

/** Conflicts when the row was changed since it was read. */
function replaceMac({ name, key, mac }: MacTable, row: Row, next: Uint8Array): Write {
  const place = key.map((column) => `${column} = ${parameterOf(column)}`).join(' and ');
  const values = key.map((column) => row[column] ?? null);
  return write(`update ${name} set ${mac} = ? where ${place} and ${mac} = ?`, [next, ...values, blob(row, mac)], 1);
}
