import type { StoredEntry, StoredUnit } from '../account-numbers.ts';
import type { Value, Write } from '../database.ts';

/**
 * Units on their way to the writer thread. Copying between threads costs time per object, so a group is sent as a few
 * flat arrays and one block of bytes, which is transferred without a copy.
 */
export interface Packed {
  /** Each distinct text once. */
  readonly statements: readonly string[];
  /**
   * For each unit the number of its writes and journal entries, then for each write its statement, rows, columns and
   * expected rows.
   */
  readonly shape: readonly number[];
  /** All values in order; `undefined` is a placeholder for the next bytes. */
  readonly values: readonly (Exclude<Value, Uint8Array> | undefined)[];
  readonly sizes: readonly number[];
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly journal: readonly StoredEntry[];
}

/** Represents the absence of a number of rows to touch. */
const ANY_COUNT = -1;

export function pack(units: readonly StoredUnit[]): Packed {
  const statements: string[] = [];
  const shape: number[] = [];
  const values: (Exclude<Value, Uint8Array> | undefined)[] = [];
  const blobs: Uint8Array[] = [];
  const journal: StoredEntry[] = [];
  for (const { writes, journal: entries = [] } of units) {
    shape.push(writes.length, entries.length);
    journal.push(...entries);
    for (const { sql, rows, expectedRows = ANY_COUNT } of writes) {
      let statement = statements.indexOf(sql);
      if (statement < 0) statement = statements.push(sql) - 1;
      shape.push(statement, rows.length, rows[0]?.length ?? 0, expectedRows);
      for (const row of rows) {
        for (const value of row) {
          if (value instanceof Uint8Array) blobs.push(value);
          values.push(value instanceof Uint8Array ? undefined : value);
        }
      }
    }
  }
  return { statements, shape, values, ...concatenate(blobs), journal };
}

function concatenate(blobs: readonly Uint8Array[]): Pick<Packed, 'sizes' | 'bytes'> {
  const sizes = blobs.map(({ length }) => length);
  const bytes = new Uint8Array(sizes.reduce((sum, size) => sum + size, 0));
  let at = 0;
  for (const blob of blobs) {
    bytes.set(blob, at);
    at += blob.length;
  }
  return { sizes, bytes };
}

export function unpack(packed: Packed): StoredUnit[] {
  const { statements, shape, values, sizes, bytes, journal } = packed;
  const units: StoredUnit[] = [];
  const at = { shape: 0, value: 0, size: 0, byte: 0, entry: 0 };
  const number = (): number => shape[at.shape++] ?? 0;
  const value = (): Value => {
    const plain = values[at.value++];
    if (plain !== undefined) return plain;
    const size = sizes[at.size++] ?? 0;
    at.byte += size;
    return bytes.subarray(at.byte - size, at.byte);
  };
  while (at.shape < shape.length) {
    const writeCount = number();
    const entryCount = number();
    const writes: Write[] = [];
    for (let write = 0; write < writeCount; write++) {
      const sql = statements[number()] ?? '';
      const rowCount = number();
      const columns = number();
      const expectedRows = number();
      const rows = Array.from({ length: rowCount }, () => Array.from({ length: columns }, value));
      writes.push(expectedRows === ANY_COUNT ? { sql, rows } : { sql, rows, expectedRows });
    }
    units.push({ writes, journal: journal.slice(at.entry, at.entry + entryCount) });
    at.entry += entryCount;
  }
  return units;
}
