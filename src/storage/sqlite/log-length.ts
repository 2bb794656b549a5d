import type { Connection } from './connection.ts';

/** Pages that one thread copies and flushes within a few milliseconds. */
export const SHORT_LOG = 400;

/** The header of the log, and a page in it, which has a header of its own. Source: SQLite's "WAL-mode File Format", 1. */
const HEADER_BYTES = 32;
const PAGE_BYTES = 24 + 4096;

/** Returns the bytes of the file that this many pages of the log take. */
export const bytesOfLog = (pages: number): number => (pages === 0 ? 0 : HEADER_BYTES + pages * PAGE_BYTES);

/** The write-ahead log, in pages of 4 KiB. `checkpointed`: those of them that are in the database file. */
interface Log {
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
