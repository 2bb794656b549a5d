import { fdatasyncSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { Connection } from './connection.ts';
import { readLog, SHORT_LOG } from './log-length.ts';

/**
 * Copies pages of the write-ahead log into the database file, on a connection of its own. Each message begins a copy, and
 * its reply ends it.
 */

/** Each pass copies what the writer has appended during the one before. */
const MAX_PASSES = 4;

const { path, file } = workerData as { path: string; file: number };
const connection = new Connection(path, { readOnly: false });

function copy(): void {
  for (let passes = 0; passes < MAX_PASSES; passes++) {
    const { checkpointed } = readLog(connection, 'passive');
    // SQLite leaves this flush to the checkpoint that reaches the end of the log, which is the writer's.
    fdatasyncSync(file);
    if (readLog(connection, 'noop').length - checkpointed <= SHORT_LOG) return;
  }
}

parentPort?.on('message', (message: 'copy' | 'close') => {
  if (message === 'close') {
    connection.close();
    parentPort?.close();
    return;
  }
  try {
    copy();
    parentPort?.postMessage('copied');
  } catch {
    // The next copy tries again; a fault of the disk is reported by the writes that meet it.
    parentPort?.postMessage('failed');
  }
});
