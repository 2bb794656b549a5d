import { invalidField } from '../kernel/failure.ts';
import { LIMITS } from '../kernel/limits.ts';
import { yieldBeforeScan } from './scan-queue.ts';

/** How long lists are read: a page at a time, and never more rows at once than a named number. */
export interface Page<Item> {
  /** There may be fewer than a page holds, even none, and more to come. */
  readonly items: readonly Item[];
  /** Where the next page begins; undefined when there is none. */
  readonly cursor: string | undefined;
}

/** Rows in an order, read on from a place in it. */
export interface PageScan<Row, Item> {
  /** `limit` rows behind the last one, fewer only at the end. */
  read(after: Row | undefined, limit: number): Promise<readonly Row[]>;
  /** Undefined when the row is not wanted. */
  accept(row: Row): Promise<Item | undefined> | Item | undefined;
}

export interface PageScanResult<Row, Item> {
  readonly items: readonly Item[];
  /** The last row that was looked at; undefined when there was none. */
  readonly last: Row | undefined;
  readonly isEnd: boolean;
}

/** Walks until a page is full, the end is reached, or enough rows were looked at. */
export async function scanPage<Row, Item>({ read, accept }: PageScan<Row, Item>): Promise<PageScanResult<Row, Item>> {
  const items: Item[] = [];
  let last: Row | undefined;
  for (let looked = 0; looked < LIMITS.rowsPerPage; ) {
    // Most often the first ones are those that are wanted.
    const limit = looked === 0 ? LIMITS.recordsPerPage + 1 : LIMITS.rowsPerScan;
    const rows = await read(last, limit);
    for (const [index, row] of rows.entries()) {
      const item = await accept(row);
      last = row;
      if (item === undefined || items.push(item) < LIMITS.recordsPerPage) continue;
      return { items, last, isEnd: rows.length < limit && index === rows.length - 1 };
    }
    if (rows.length < limit) return { items, last, isEnd: true };
    looked += rows.length;
    await yieldBeforeScan();
  }
  return { items, last, isEnd: false };
}

type Part = string | number;

/** A place in an order as text that a caller hands back. */
export const encodeCursor = (...parts: readonly Part[]): string =>
  Buffer.from(JSON.stringify(parts), 'utf8').toString('base64url');

/** The parts of a cursor, of which each has to be of the type of its example. Throws `invalid_field`. */
export function decodeCursor<const Parts extends readonly Part[]>(
  cursor: string,
  ...examples: Parts
): { [Index in keyof Parts]: Parts[Index] extends number ? number : string } {
  const parts = decodeParts(cursor);
  const fits = parts.length === examples.length && parts.every((part, index) => typeof part === typeof examples[index]);
  if (!fits) throw invalidCursor();
  return parts as { [Index in keyof Parts]: Parts[Index] extends number ? number : string };
}

/** Any number of parts. Throws `invalid_field`. */
export function decodeParts(cursor: string): Part[] {
  if (cursor.length > LIMITS.cursorCharacters) throw invalidCursor();
  try {
    const parts: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'));
    if (Array.isArray(parts) && parts.every(isPart)) return parts;
  } catch {
    // No JSON.
  }
  throw invalidCursor();
}

const isPart = (part: unknown): part is Part =>
  typeof part === 'string' ? !part.includes('\0') : Number.isSafeInteger(part);

const invalidCursor = (): Error => invalidField('cursor', 'cursor');
