import { writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { type DigestKey, DigestKeys } from '../../crypto/digest-keys.ts';
import type { Migration } from '../database.ts';
import { type GroupResult, isCommitted } from '../group-commit.ts';
import { applyMigrations } from './apply-migrations.ts';
import { Checkpoints } from './checkpoints.ts';
import { Connection } from './connection.ts';
import { PROBE_WRITE, writeGroups } from './group-writer.ts';
import type { Packed } from './packing.ts';

/**
 * The writer thread: the only part of the process that writes to the file, so that nothing else waits for the disk. Each
 * thread that serves requests has a port to it.
 */
export type Order =
  | { readonly kind: 'group'; readonly packed: Packed }
  | { readonly kind: 'migrate'; readonly migrations: readonly Migration[]; readonly now: number }
  | { readonly kind: 'journal-key'; readonly versions: readonly DigestKey[]; readonly current: number }
  /** `hasErased`: false to scrub only when another process may have erased something. */
  | { readonly kind: 'scrub'; readonly hasErased: boolean }
  | { readonly kind: 'rewrite' }
  | { readonly kind: 'ping' }
  | { readonly kind: 'close' };

/** `id`: of the sender, to find the reply. */
export type Request = Order & { readonly id: number };

/** The result of a request. `results`: absent when all units are committed. */
type Outcome = { readonly results?: readonly GroupResult[] | undefined } | { readonly error: string };

export type Reply = Outcome & { readonly id: number };

type Group = Extract<Request, { kind: 'group' }>;
type Command = Exclude<Request, Group>;

interface Arrived<Kind = Request> {
  readonly port: MessagePort;
  readonly request: Kind;
}

const STANDARD_ERROR = 2;
const { path } = workerData as { path: string };
const connection = new Connection(path, { readOnly: false });
const stopwatch = (): number => performance.now();
const checkpoints = new Checkpoints(connection, path, stopwatch, (error) => {
  const reason = `the process ends because the disk failed while the log of SQLite was copied: ${error.message}\n`;
  try {
    writeSync(STANDARD_ERROR, reason);
  } finally {
    // No end that closes the connection: as the last one of the process it would copy the rest of the log, and remove it. Nor
    // may a closed standard error prevent it.
    process.kill(process.pid, 'SIGKILL');
    // The first process of a container ignores the signals that it sends itself, but not the fault with which the thread that
    // started this one aborts. This one writes nothing more.
    parentPort?.postMessage('the disk failed');
    Atomics.wait(new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)), 0, 0);
  }
});
const ports = new Set<MessagePort>();
let journalKey: DigestKeys | undefined;
/** Only a write that succeeds shows that the fault is over, as with a full disk. */
let lastGroupFailed = false;
/** The version of the data at the last scrub; undefined before the first one of this process. */
let scrubbedVersion: number | undefined;

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
    if (groups.length === 0) return;
    reply(groups, () => write(groups.map(({ request }) => request.packed)));
    groups = [];
    checkpoints.afterTransaction();
  };
  for (const { port, request } of arrived) {
    if (request.kind === 'group') groups.push({ port, request });
    else {
      flush();
      void obeyAndReply(port, request);
    }
  }
  flush();
}

function write(groups: readonly Packed[]): Outcome[] {
  lastGroupFailed = true;
  const written = writeGroups(connection, journalKey, groups);
  lastGroupFailed = false;
  return written.map((results) => ({ results: results.every(isCommitted) ? undefined : results }));
}

/** SQLite's messages name tables and files, never values. */
const failure = (error: unknown): Outcome => ({ error: error instanceof Error ? error.message : 'the writer failed' });

/** Sends each port its reply, or all of them the error. */
function reply(groups: readonly Arrived<Group>[], act: () => readonly Outcome[]): void {
  let outcomes: readonly Outcome[];
  try {
    outcomes = act();
  } catch (error) {
    outcomes = groups.map(() => failure(error));
  }
  for (const [index, { port, request }] of groups.entries())
    port.postMessage({ id: request.id, ...outcomes[index] } satisfies Partial<Reply>);
}

async function obeyAndReply(port: MessagePort, request: Command): Promise<void> {
  const outcome = await obey(request).then(() => ({}), failure);
  port.postMessage({ id: request.id, ...outcome });
  if (request.kind === 'close') parentPort?.close();
}

/** A command without a wait is complete before the next group is written. */
async function obey(command: Command): Promise<void> {
  switch (command.kind) {
    case 'migrate':
      applyMigrations(connection.database, command.migrations, command.now);
      break;
    case 'journal-key':
      journalKey = new DigestKeys();
      journalKey.replace(command.versions, command.current);
      break;
    case 'scrub':
      await scrub(command.hasErased);
      break;
    case 'rewrite':
      rewrite();
      break;
    case 'ping':
      if (lastGroupFailed) connection.database.exec(PROBE_WRITE);
      lastGroupFailed = false;
      break;
    case 'close':
      await checkpoints.close();
      break;
  }
}

/** SQLite changes the version of the data with each commit of another process, and not with those of this connection. */
async function scrub(hasErased: boolean): Promise<void> {
  // It is read before the log is cleared: what another process commits meanwhile is for the next scrub.
  const version = Number(connection.read('pragma data_version', [])[0]?.['data_version']);
  if (!hasErased && version === scrubbedVersion) return;
  await checkpoints.scrub();
  scrubbedVersion = version;
}

/**
 * Writes all rows to new pages. Its temporary copy of them may be larger than the memory, and belongs beside the file: another file system may be
 * small, or not encrypted.
 */
function rewrite(): void {
  const { database } = connection;
  database.exec(`pragma temp_store_directory = '${dirname(path).replaceAll("'", "''")}'; pragma temp_store = file`);
  try {
    database.exec('vacuum');
  } finally {
    database.exec('pragma temp_store = memory');
  }
}

// The only messages of the thread that started this one are ports.
parentPort?.on('message', (port: MessagePort) => {
  ports.add(port);
  port.on('message', (request: Request) => serve(takeArrived({ port, request })));
  port.on('close', () => {
    ports.delete(port);
    // A thread that ended may have erased something since its last scrub.
    scrubbedVersion = undefined;
  });
});
