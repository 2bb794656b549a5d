import type { StoredEntry, StoredUnit } from '../account-numbers.ts';
import type { Value } from '../database.ts';

/**
 * Units on their way to the writer thread. Copying between threads costs time per object, so a group is sent as a few
 * flat arrays and one block of bytes, which is transferred without a copy.
 */
export interface Packed {
  /** Each distinct text once. */
  readonly statements: readonly string[];
  /**
   * For each unit the number of its writes, then for each write its statement, rows, columns and expected rows, and at last
   * the number of its journal entries.
   */
  readonly shape: readonly number[];
  /** All values in order; `undefined` is a placeholder for the next bytes. */
  readonly values: readonly (Exclude<Value, Uint8Array> | undefined)[];
  readonly sizes: readonly number[];
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** For each journal entry its account, the number of it, environment, time and record. */
  readonly journal: readonly (string | number)[];
}

/** Represents the absence of a number of rows to touch. */
const ANY_COUNT = -1;

export function pack(units: readonly StoredUnit[]): Packed {
  const statements: string[] = [];
  const shape: number[] = [];
  const values: (Exclude<Value, Uint8Array> | undefined)[] = [];
  const blobs: Uint8Array[] = [];
  const journal: (string | number)[] = [];
  for (const { writes, journal: entries = [] } of units) {
    shape.push(writes.length);
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
    shape.push(entries.length);
    for (const { account, number, environment, at, record } of entries)
      journal.push(account, number, environment, at, record);
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

/** The next write of a unit. Its rows are read one after the other. */
interface PackedWrite {
  /** The place of its text among the statements. */
  readonly statement: number;
  readonly rows: number;
  readonly columns: number;
  readonly expectedRows: number | undefined;
}

/** Reads a group in the order in which it was packed, without building its units. */
export class PackedReader {
  readonly #packed: Packed;
  #shape = 0;
  #value = 0;
  #size = 0;
  #byte = 0;
  #entry = 0;

  constructor(packed: Packed) {
    this.#packed = packed;
  }

  get isAtEnd(): boolean {
    return this.#shape >= this.#packed.shape.length;
  }

  /** Returns the number of the writes of the next unit, or of its journal entries when its writes were read. */
  count(): number {
    return this.#packed.shape[this.#shape++] ?? 0;
  }

  write(): PackedWrite {
    const [statement, rows, columns] = [this.count(), this.count(), this.count()];
    const expectedRows = this.count();
    return { statement, rows, columns, expectedRows: expectedRows === ANY_COUNT ? undefined : expectedRows };
  }

  value(): Value {
    const { values, sizes, bytes } = this.#packed;
    const plain = values[this.#value++];
    if (plain !== undefined) return plain;
    const start = this.#byte;
    this.#byte += sizes[this.#size++] ?? 0;
    return bytes.subarray(start, this.#byte);
  }

  entry(): StoredEntry {
    const [account, number, environment, at, record] = this.#packed.journal.slice(this.#entry, this.#entry + 5);
    this.#entry += 5;
    return { account, number, environment, at, record } as StoredEntry;
  }
}
