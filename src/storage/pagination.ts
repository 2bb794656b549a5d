import { invalidField } from '../kernel/failure.ts';
import { LIMITS } from '../kernel/limits.ts';

/** Reading of long lists: page by page, and never more rows at once than a named limit. */
export interface Page<Item> {
  /** May be fewer than a page, or none, although more follow. */
  readonly items: readonly Item[];
  /** The start of the next page; undefined on the last one. */
  readonly cursor: string | undefined;
}

/** Rows in an order, read from a position in it. */
export interface PageScan<Row, Item> {
  /** Returns `limit` rows behind the last one, fewer only at the end. */
  read(after: Row | undefined, limit: number): Promise<readonly Row[]>;
  /** Undefined when the row does not match. */
  accept(row: Row): Promise<Item | undefined> | Item | undefined;
}

export interface PageScanResult<Row, Item> {
  readonly items: readonly Item[];
  /** The last row that was read; undefined when there was none. */
  readonly last: Row | undefined;
  readonly isEnd: boolean;
}

/** Reads until a page is full, the end is reached, or enough rows were read. */
export async function scanPage<Row, Item>({ read, accept }: PageScan<Row, Item>): Promise<PageScanResult<Row, Item>> {
  const items: Item[] = [];
  let last: Row | undefined;
  for (let looked = 0; looked < LIMITS.rowsPerPage; ) {
    // The first rows are usually those that match.
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

/** The size of a list, counted up to `LIMITS.countedRecords`, so that a count reads a bounded number of rows. */
export interface RecordCount {
  readonly number: number;
  /** True when there are more than `number`. */
  readonly isMore: boolean;
}

/** Rows that a count reads: one more than it counts. */
export const ROWS_COUNTED = LIMITS.countedRecords + 1;

/** Returns the count of the rows that matched; undefined when rows that were not read may match as well. */
export function toRecordCount(read: number, matching: number): RecordCount | undefined {
  if (read < ROWS_COUNTED) return { number: matching, isMore: false };
  return matching < ROWS_COUNTED ? undefined : { number: LIMITS.countedRecords, isMore: true };
}

type Part = string | number;

/** Encodes a position in an order as text that a client returns. */
export const encodeCursor = (...parts: readonly Part[]): string =>
  Buffer.from(JSON.stringify(parts), 'utf8').toString('base64url');

/** Returns the parts of a cursor, each of which must have the type of its example. Throws `invalid_field`. */
export function decodeCursor<const Parts extends readonly Part[]>(
  cursor: string,
  ...examples: Parts
): { [Index in keyof Parts]: Parts[Index] extends number ? number : string } {
  const parts = decodeParts(cursor);
  const fits = parts.length === examples.length && parts.every((part, index) => typeof part === typeof examples[index]);
  if (!fits) throw invalidCursor();
  return parts as { [Index in keyof Parts]: Parts[Index] extends number ? number : string };
}

/** Returns any number of parts. Throws `invalid_field`. */
export function decodeParts(cursor: string): Part[] {
  if (cursor.length > LIMITS.cursorCharacters) throw invalidCursor();
  try {
    const parts: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'));
    if (Array.isArray(parts) && parts.every(isPart)) return parts;
  } catch {
    // The text is not JSON.
  }
  throw invalidCursor();
}

const isPart = (part: unknown): part is Part =>
  typeof part === 'string' ? !part.includes('\0') : Number.isSafeInteger(part);

const invalidCursor = (): Error => invalidField('cursor', 'cursor');

/** Runs work that blocks the event loop one piece at a time, with an iteration of the event loop between them. */
export class ScanQueue {
  #last: Promise<void> = Promise.resolve();

  /** Resolves when the caller may start its work, which must be synchronous. */
  next(): Promise<void> {
    const turn = this.#last.then(() => new Promise<void>((resolve) => setImmediate(resolve)));
    this.#last = turn;
    return turn;
  }
}

const SCANS = new ScanQueue();

/**
 * Await this before each large scan. SQLite reads synchronously; scans run one at a time, so that other requests wait
 * for at most one.
 */
export const yieldBeforeScan = (): Promise<void> => SCANS.next();
