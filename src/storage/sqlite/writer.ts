import type { KeyObject } from 'node:crypto';
import { parentPort, workerData } from 'node:worker_threads';
import type { Unit } from '../database.ts';
import type { GroupResult } from '../group.ts';
import { applyMigrations, type Migration } from '../migrate.ts';
import { writeGroup } from './group-writer.ts';
import { Connection } from './open.ts';

/** The writer thread: the only place of the process that writes to the file, so that nothing else waits for the disk. */
export type Request =
  | { readonly kind: 'group'; readonly units: readonly Unit[] }
  | { readonly kind: 'migrate'; readonly migrations: readonly Migration[]; readonly now: number }
  | { readonly kind: 'journal-key'; readonly key: KeyObject }
  | { readonly kind: 'scrub' }
  | { readonly kind: 'ping' }
  | { readonly kind: 'close' };

export type Reply = { readonly results: readonly GroupResult[] } | { readonly error: string };

const { path } = workerData as { path: string };
const connection = new Connection(path, { readOnly: false });
let journalKey: KeyObject | undefined;

function answer(request: Request): readonly GroupResult[] {
  switch (request.kind) {
    case 'group':
      return writeGroup(connection, journalKey, request.units);
    case 'migrate':
      applyMigrations(connection.database, request.migrations, request.now);
      return [];
    case 'journal-key':
      journalKey = request.key;
      return [];
    case 'scrub':
      connection.database.exec('pragma wal_checkpoint(truncate)');
      return [];
    case 'ping':
      // As far as a write goes without one: it fails when the file cannot be locked.
      connection.database.exec('begin immediate; rollback');
      return [];
    case 'close':
      connection.close();
      return [];
  }
}

parentPort?.on('message', (request: Request) => {
  let reply: Reply;
  try {
    reply = { results: answer(request) };
  } catch (error) {
    // SQLite's texts name tables and files, never values.
    reply = { error: error instanceof Error ? error.message : 'the writer failed' };
  }
  parentPort?.postMessage(reply);
  if (request.kind === 'close') parentPort?.close();
});
