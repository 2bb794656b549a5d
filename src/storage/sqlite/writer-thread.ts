import type { KeyObject } from 'node:crypto';
import { parentPort, workerData } from 'node:worker_threads';
import type { Migration } from '../database.ts';
import type { GroupResult } from '../group-commit.ts';
import { applyMigrations } from './apply-migrations.ts';
import { BUSY_TIMEOUT_MS, Connection } from './connection.ts';
import { PROBE_WRITE, writeGroup } from './group-writer.ts';

import { type Packed, unpack } from './packing.ts';

/** The writer thread: the only part of the process that writes to the file, so that nothing else waits for the disk. */
export type Request =
  | { readonly kind: 'group'; readonly packed: Packed }
  | { readonly kind: 'migrate'; readonly migrations: readonly Migration[]; readonly now: number }
  | { readonly kind: 'journal-key'; readonly key: KeyObject }
  | { readonly kind: 'scrub' }
  | { readonly kind: 'ping' }
  | { readonly kind: 'close' };

export type Reply = { readonly results: readonly GroupResult[] } | { readonly error: string };

const { path } = workerData as { path: string };
const connection = new Connection(path, { readOnly: false });
let journalKey: KeyObject | undefined;
/** Only a write that succeeds shows that the fault is over, as with a full disk. */
let lastGroupFailed = false;

function handle(request: Request): readonly GroupResult[] {
  switch (request.kind) {
    case 'group': {
      lastGroupFailed = true;
      const results = writeGroup(connection, journalKey, unpack(request.packed));
      lastGroupFailed = false;
      return results;
    }
    case 'migrate':
      applyMigrations(connection.database, request.migrations, request.now);
      return [];
    case 'journal-key':
      journalKey = request.key;
      return [];
    case 'scrub':
      scrub();
      return [];
    case 'ping':
      if (lastGroupFailed) connection.database.exec(PROBE_WRITE);
      lastGroupFailed = false;
      return [];
    case 'close':
      connection.close();
      return [];
  }
}

const SCRUB_TIMEOUT_MS = 100;

/** A reader that blocks the checkpoint is not awaited, because every write would wait too: a later scrub succeeds. */
function scrub(): void {
  const { database } = connection;
  database.exec(`pragma busy_timeout = ${SCRUB_TIMEOUT_MS}`);
  try {
    const row = database.prepare('pragma wal_checkpoint(truncate)').get();
    if (row?.['busy'] !== 0) throw new Error('the log could not be cleared while it is read');
  } finally {
    database.exec(`pragma busy_timeout = ${BUSY_TIMEOUT_MS}`);
  }
}

parentPort?.on('message', (request: Request) => {
  let reply: Reply;
  try {
    reply = { results: handle(request) };
  } catch (error) {
    // SQLite's messages name tables and files, never values.
    reply = { error: error instanceof Error ? error.message : 'the writer failed' };
  }
  parentPort?.postMessage(reply);
  if (request.kind === 'close') parentPort?.close();
});
