import { createHash } from 'node:crypto';
import { type Database, integer, type Row, StorageError, type Value } from './database.ts';
import type { Kind, Table } from './table.ts';

/** Rows in the order of their keys, page by page; each row has its values in the order of the table's columns. */
export type RowPage = readonly (readonly Value[])[];

/** Maximum number of rows of a page, a power of two, and of bytes unless one row alone has more. */
const PAGE_ROWS = 1024;
const PAGE_BYTES = 1024 * 1024;

const list = (names: readonly string[]): string => names.join(', ');

/** `values` of the key behind which the page starts; undefined for the first page. */
const afterKey = ({ key }: Table, values: readonly Value[] | undefined): string =>
  values === undefined ? '' : ` where (${list(key)}) > (${list(key.map(() => '?'))})`;

/** The limit is part of the text, so that every database plans for a few rows from an index. */
const pageSql = (table: Table, what: string, after: readonly Value[] | undefined, limit: number): string =>
  `select ${what} from ${table.name}${afterKey(table, after)} order by ${list(table.key)} limit ${limit}`;

const listColumns = ({ columns }: Table): [string, Kind][] => Object.entries(columns);

/** The size of all texts and bytes of a row. */
const sizeSql = (table: Table): string =>
  listColumns(table)
    .filter(([, kind]) => kind !== 'integer')
    .map(([name]) => `coalesce(octet_length(${name}), 0)`)
    .join(' + ');

/** Returns all rows behind a key. Throws when a value would change on its way. */
export async function* readPages(
  database: Pick<Database, 'readStored'>,
  table: Table,
  begin?: readonly Value[],
): AsyncGenerator<RowPage, void, undefined> {
  const names = Object.keys(table.columns);
  const places = table.key.map((name) => names.indexOf(name));
  let after = begin;
  for (;;) {
    const found = await database.readStored(
      pageSql(table, `${sizeSql(table)} as size`, after, PAGE_ROWS),
      ...(after ?? []),
    );
    const sizes = found.map((row) => integer(row, 'size'));
    if (sizes.length === 0) return;
    const rows = await database.readStored(pageSql(table, list(names), after, limitFor(sizes)), ...(after ?? []));
    const page = rows.map((row, index) => toValues(table, row, sizes[index]));
    const last = page.at(-1);
    // The row's sizes were read before.
    if (last === undefined) throw new StorageError(`table ${table.name} is being changed`);
    yield page;
    if (page.length === sizes.length && sizes.length < PAGE_ROWS) return;
    after = places.map((place) => last[place] ?? null);
  }
}

/** Returns the largest power of two of rows within the limit, so that there are few different statements. */
function limitFor(sizes: readonly number[]): number {
  let fit = 0;
  for (let bytes = 0; fit < sizes.length; fit++) {
    bytes += sizes[fit] ?? 0;
    if (bytes > PAGE_BYTES) break;
  }
  if (fit === sizes.length) return PAGE_ROWS;
  return 2 ** Math.floor(Math.log2(Math.max(fit, 1)));
}

function toValues(table: Table, row: Row, size: number | undefined): Value[] {
  let bytes = 0;
  const values = listColumns(table).map(([name, kind]) => {
    const value = row[name];
    if (value === undefined || !isOfKind(value, kind))
      throw new StorageError(`table ${table.name}, column ${name}: expected ${kind}`);
    if (kind !== 'integer') bytes += sizeOf(value);
    return value;
  });
  // A text that is not valid UTF-8 would be changed.
  if (bytes !== size)
    throw new StorageError(`table ${table.name}: a row was changed, or has a text that cannot be read`);
  return values;
}

const isOfKind = (value: Value, kind: Kind): boolean =>
  value === null ||
  (kind === 'text' && typeof value === 'string') ||
  (kind === 'integer' && Number.isSafeInteger(value)) ||
  (kind === 'blob' && value instanceof Uint8Array);

const sizeOf = (value: Value): number => {
  if (value === null) return 0;
  return typeof value === 'object' ? value.length : Buffer.byteLength(String(value));
};

/** Properties of a table that every copy must share. */
export interface TableDigest {
  readonly rows: number;
  /** Hexadecimal SHA-256 over all rows in the order of their keys. */
  readonly sha256: string;
}

/** `progress` gets the number of rows that were read since its last call. */
export async function digestTable(
  database: Pick<Database, 'readStored'>,
  table: Table,
  progress: (rows: number) => void,
): Promise<TableDigest> {
  const sha256 = createHash('sha256');
  let rows = 0;
  for await (const page of readPages(database, table)) {
    sha256.update(encodePage(page));
    rows += page.length;
    progress(page.length);
  }
  return { rows, sha256: sha256.digest('hex') };
}

/** One byte for the type of a value and four for its length. */
const HEADER_BYTES = 5;
const TAGS = { null: 0x6e, text: 0x74, integer: 0x69, blob: 0x62 };

/**
 * Encodes each value as its type, its length and its bytes (of a number: its digits), so that no two pages have the
 * same encoding.
 */
function encodePage(page: RowPage): Buffer {
  const size = page.reduce((sum, row) => row.reduce<number>((bytes, v) => bytes + HEADER_BYTES + sizeOf(v), sum), 0);
  const buffer = Buffer.allocUnsafe(size);
  let at = 0;
  for (const row of page) {
    for (const value of row) {
      at = buffer.writeUInt8(tagOf(value), at);
      const start = at + HEADER_BYTES - 1;
      let length = 0;
      if (value instanceof Uint8Array) {
        buffer.set(value, start);
        length = value.length;
      } else if (value !== null) length = buffer.write(String(value), start);
      buffer.writeUInt32BE(length, at);
      at = start + length;
    }
  }
  return buffer;
}

function tagOf(value: Value): number {
  if (value === null) return TAGS.null;
  if (typeof value === 'string') return TAGS.text;
  return typeof value === 'number' ? TAGS.integer : TAGS.blob;
}
