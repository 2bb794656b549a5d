import type { KeyObject } from 'node:crypto';
import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import type { Migration } from '../database.ts';
import { type GroupResult, isCommitted } from '../group-commit.ts';
import { applyMigrations } from './apply-migrations.ts';
import { BUSY_TIMEOUT_MS, Connection } from './connection.ts';
import { PROBE_WRITE, writeGroups } from './group-writer.ts';
import type { Packed } from './packing.ts';

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

/** The replies on a port have the order of its requests. `results`: absent when all units are committed. */
export type Reply = { readonly results?: readonly GroupResult[] | undefined } | { readonly error: string };

type Group = Extract<Request, { kind: 'group' }>;
type Command = Exclude<Request, Group>;

interface Arrived<Kind = Request> {
  readonly port: MessagePort;
  readonly request: Kind;
}

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
  let groups: Arrived<Group>[] = [];
  const flush = (): void => {
    if (groups.length > 0) reply(groups, () => write(groups.map(({ request }) => request.packed)));
    groups = [];
  };
  for (const { port, request } of arrived) {
    if (request.kind === 'group') groups.push({ port, request });
    else {
      flush();
      reply([{ port }], () => obey(request));
    }
  }
  flush();
}

function write(groups: readonly Packed[]): Reply[] {
  lastGroupFailed = true;
  const written = writeGroups(connection, journalKey, groups);
  lastGroupFailed = false;
  return written.map((results) => ({ results: results.every(isCommitted) ? undefined : results }));
}

/** Sends each port its reply, or all of them the error. */
function reply(receivers: readonly Pick<Arrived, 'port'>[], act: () => readonly Reply[]): void {
  let replies: readonly Reply[];
  try {
    replies = act();
  } catch (error) {
    // SQLite's messages name tables and files, never values.
    const text = error instanceof Error ? error.message : 'the writer failed';
    replies = receivers.map(() => ({ error: text }));
  }
  for (const [index, { port }] of receivers.entries()) port.postMessage(replies[index]);
}

function obey(command: Command): Reply[] {
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
  return [{}];
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
