import { fdatasyncSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { Connection } from './connection.ts';
import { isDiskFault, readLog, uncopied } from './log-length.ts';

/**
 * Copies pages of the write-ahead log into the database file, on a connection of its own. Each message begins a copy, and
 * its reply ends it.
 */

/** Each pass copies what the writer has appended during the one before. */
const MAX_PASSES = 4;

/** The reply to a request to copy. `fault`: the disk failed, with the reason; any other failure is tried again. */
export type Copied = { readonly kind: 'copied' | 'failed' } | { readonly kind: 'fault'; readonly reason: string };

const { path, file, step } = workerData as { path: string; file: number; step: number };
const connection = new Connection(path, { readOnly: false });

function copy(): void {
  for (let passes = 0; passes < MAX_PASSES; passes++) {
    const before = readLog(connection, 'noop').checkpointed;
    const { checkpointed } = readLog(connection, 'passive');
    // A reader needs the rest, or the log has begun again.
    if (checkpointed <= before) return;
    // SQLite flushes the file only in the checkpoint that reaches the end of the log.
    fdatasyncSync(file);
    if (uncopied(readLog(connection, 'noop')) < step) return;
  }
}

function tryToCopy(): Copied {
  try {
    copy();
    return { kind: 'copied' };
  } catch (error) {
    return isDiskFault(error) ? { kind: 'fault', reason: (error as Error).message } : { kind: 'failed' };
  }
}

parentPort?.on('message', (message: 'copy' | 'close') => {
  if (message === 'copy') parentPort?.postMessage(tryToCopy());
  else {
    connection.close();
    parentPort?.close();
  }
});
