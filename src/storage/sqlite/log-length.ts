import { readSync } from 'node:fs';
import type { Connection } from './connection.ts';

/** The write-ahead log, in pages of 4 KiB. `checkpointed`: those of them that are in the database file. */
export interface Log {
  readonly length: number;
  readonly checkpointed: number;
  /** True when a reader or another process prevented the copy. */
  readonly isBusy: boolean;
}

const STATEMENTS = {
  /** Changes nothing. */
  noop: 'pragma wal_checkpoint(noop)',
  /** Copies what no reader needs, and waits for nothing. */
  passive: 'pragma wal_checkpoint(passive)',
  /** Waits for readers and copies everything, so that the next commit is written at the begin of the file. */
  restart: 'pragma wal_checkpoint(restart)',
  /** Like `restart`, and empties the file of the log. */
  truncate: 'pragma wal_checkpoint(truncate)',
};

export function readLog(connection: Connection, mode: keyof typeof STATEMENTS): Log {
  const [row] = connection.read(STATEMENTS[mode], []);
  return {
    length: Number(row?.['log'] ?? 0),
    checkpointed: Number(row?.['checkpointed'] ?? 0),
    isBusy: row?.['busy'] !== 0,
  };
}

/** Returns the number of pages that are not in the database file. */
export const uncopied = ({ length, checkpointed }: Log): number => length - checkpointed;

const SQLITE_IOERR = 10;

/**
 * True when the disk failed during a checkpoint. SQLite takes the pages of earlier checkpoints for copied, and a flush that is
 * repeated succeeds without them: Linux reports a failed write once. So no such failure may be tried again in the same process.
 */
export function isDiskFault(error: unknown): boolean {
  const { errcode = 0, syscall } = error as { errcode?: number; syscall?: string };
  return syscall === 'fdatasync' || (errcode & 0xff) === SQLITE_IOERR;
}

/** Where fields are in the file. Source: SQLite's "WAL-mode File Format", 1. */
const HEADER = { bytes: 32, pageSizeAt: 8, saltsAt: 16 };
const FRAME = { bytes: 24, saltsAt: 8 };
const SALTS_BYTES = 8;

/**
 * Returns the length in bytes of a log with this many pages. The file itself has to agree, because what follows may be cut: the pages of
 * a log have the salts of its header, and other ones after each restart. Returns undefined when the last page has others, or the next
 * one the same.
 */
export function endOfLog(file: number, pages: number): number | undefined {
  const header = read(file, 0, HEADER.bytes);
  if (header === undefined || pages < 1) return undefined;
  const pageBytes = FRAME.bytes + header.readUInt32BE(HEADER.pageSizeAt);
  const salts = header.subarray(HEADER.saltsAt, HEADER.saltsAt + SALTS_BYTES);
  const belongs = (page: number): boolean =>
    read(file, HEADER.bytes + page * pageBytes + FRAME.saltsAt, SALTS_BYTES)?.equals(salts) ?? false;
  return belongs(pages - 1) && !belongs(pages) ? HEADER.bytes + pages * pageBytes : undefined;
}

/** Returns undefined when the file is shorter. */
function read(file: number, position: number, length: number): Buffer | undefined {
  const bytes = Buffer.alloc(length);
  return readSync(file, bytes, 0, length, position) === length ? bytes : undefined;
}
