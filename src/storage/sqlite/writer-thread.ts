import type { KeyObject } from 'node:crypto';
import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import type { Migration } from '../database.ts';
import type { GroupResult } from '../group-commit.ts';
import { applyMigrations } from './apply-migrations.ts';
import { BUSY_TIMEOUT_MS, Connection } from './connection.ts';
import { PROBE_WRITE, writeGroup } from './group-writer.ts';
import { type Packed, unpack } from './packing.ts';

/**
 * The writer thread: the only part of the process that writes to the file, so that nothing else waits for the disk. Each
 * thread that serves requests has a port to it.
 */
export type Request =
  | { readonly kind: 'group'; readonly packed: Packed }
  | { readonly kind: 'migrate'; readonly migrations: readonly Migration[]; readonly now: number }
  | { readonly kind: 'journal-key'; readonly key: KeyObject }
  | { readonly kind: 'scrub' }
  | { readonly kind: 'ping' }
  | { readonly kind: 'close' };

/** The replies on a port have the order of its requests. */
export type Reply = { readonly results: readonly GroupResult[] } | { readonly error: string };

interface Arrived {
  readonly port: MessagePort;
  readonly request: Request;
}

type Command = Exclude<Request, { kind: 'group' }>;

const { path } = workerData as { path: string };
const connection = new Connection(path, { readOnly: false });
const ports = new Set<MessagePort>();
let journalKey: KeyObject | undefined;
/** Only a write that succeeds shows that the fault is over, as with a full disk. */
let lastGroupFailed = false;

/** Returns what has arrived on all ports, the first request included. */
function takeArrived(first: Arrived): Arrived[] {
  const arrived = [first];
  for (const port of ports) {
    let next = receiveMessageOnPort(port);
    while (next !== undefined) {
      arrived.push({ port, request: next.message });
      next = receiveMessageOnPort(port);
    }
  }
  return arrived;
}

/** Groups that have arrived one after the other, on whatever ports, share one transaction and one flush. */
function serve(arrived: readonly Arrived[]): void {
  let groups: { readonly port: MessagePort; readonly packed: Packed }[] = [];
  const flush = (): void => {
    if (groups.length > 0) writeGroups(groups);
    groups = [];
  };
  for (const { port, request } of arrived) {
    if (request.kind === 'group') groups.push({ port, packed: request.packed });
    else {
      flush();
      reply([port], () => [obey(request)]);
    }
  }
  flush();
}

function writeGroups(groups: readonly { readonly port: MessagePort; readonly packed: Packed }[]): void {
  reply(
    groups.map(({ port }) => port),
    () => {
      lastGroupFailed = true;
      const units = groups.map(({ packed }) => unpack(packed));
      const results = writeGroup(connection, journalKey, units.flat());
      lastGroupFailed = false;
      let end = 0;
      return units.map(({ length }) => {
        end += length;
        return results.slice(end - length, end);
      });
    },
  );
}

/** Sends each port its results, or all of them the error. */
function reply(receivers: readonly MessagePort[], act: () => readonly (readonly GroupResult[])[]): void {
  let replies: readonly Reply[];
  try {
    replies = act().map((results) => ({ results }));
  } catch (error) {
    // SQLite's messages name tables and files, never values.
    const text = error instanceof Error ? error.message : 'the writer failed';
    replies = receivers.map(() => ({ error: text }));
  }
  for (const [index, port] of receivers.entries()) port.postMessage(replies[index]);
}

function obey(command: Command): readonly GroupResult[] {
  switch (command.kind) {
    case 'migrate':
      applyMigrations(connection.database, command.migrations, command.now);
      break;
    case 'journal-key':
      journalKey = command.key;
      break;
    case 'scrub':
      scrub();
      break;
    case 'ping':
      if (lastGroupFailed) connection.database.exec(PROBE_WRITE);
      lastGroupFailed = false;
      break;
    case 'close':
      connection.close();
      parentPort?.close();
      break;
  }
  return [];
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

// The only messages of the thread that started this one are ports.
parentPort?.on('message', (port: MessagePort) => {
  ports.add(port);
  port.on('message', (request: Request) => serve(takeArrived({ port, request })));
  port.on('close', () => ports.delete(port));
});
