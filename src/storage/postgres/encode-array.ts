import type { Value } from '../database.ts';

/** The types of the values in columns, under their PostgreSQL names. */
export type ElementType = 'text' | 'bigint' | 'bytea';

/** Object ids of the element types, which never change (pg_type.dat). */
const OID: Readonly<Record<ElementType, number>> = { bytea: 17, bigint: 20, text: 25 };

export const typeOf = (value: Exclude<Value, null>): ElementType =>
  typeof value === 'string' ? 'text' : typeof value === 'number' ? 'bigint' : 'bytea';

const HEADER_BYTES = 20;
const LENGTH_BYTES = 4;
const BIGINT_BYTES = 8;
const NULL_LENGTH = -1;

/**
 * Encodes a column of values as one parameter: a one-dimensional array in PostgreSQL's binary format. Bytes are sent
 * unchanged, where the text format would double and escape them.
 */
export function encodeArray(type: ElementType, values: readonly Value[]): Buffer {
  let size = HEADER_BYTES;
  for (const value of values) size += LENGTH_BYTES + sizeOf(value);
  const bytes = Buffer.allocUnsafe(size);
  bytes.writeInt32BE(1, 0); // Number of dimensions.
  bytes.writeInt32BE(values.includes(null) ? 1 : 0, 4);
  bytes.writeInt32BE(OID[type], 8);
  bytes.writeInt32BE(values.length, 12);
  bytes.writeInt32BE(1, 16); // Lower bound.
  let at = HEADER_BYTES;
  for (const value of values) {
    const length = sizeOf(value);
    bytes.writeInt32BE(value === null ? NULL_LENGTH : length, at);
    at += LENGTH_BYTES;
    if (typeof value === 'string') bytes.write(value, at, 'utf8');
    else if (typeof value === 'number') bytes.writeBigInt64BE(BigInt(value), at);
    else if (value !== null) bytes.set(value, at);
    at += length;
  }
  return bytes;
}

const sizeOf = (value: Value): number => {
  if (value === null) return 0;
  if (typeof value === 'string') return Buffer.byteLength(value);
  return typeof value === 'number' ? BIGINT_BYTES : value.length;
};
