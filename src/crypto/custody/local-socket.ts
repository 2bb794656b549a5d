import { type KeyObject, randomBytes, timingSafeEqual } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { LIMITS } from '../../kernel/limits.ts';
import { OperatorError } from '../../kernel/operator-error.ts';
import { CustodyError, type RootKeys, SealedError, toRootKey } from '../custody.ts';
import { rootKeysFromBytes } from './custodians-file.ts';
import type { UnsealProgress } from './share-collector.ts';
import type { SealedShare } from './share-transport.ts';

/**
 * The socket by which commands on the machine reach the node that has the root key, or gathers shares of it. It is in a
 * folder of its own that only the user of the service can enter; `CARDVAULT_ROOT_KEY_GROUP` adds the members of a group.
 * The members write to that folder. Its sticky bit keeps them from replacing the socket of the service, and the client
 * uses no socket that one of them opened.
 *
 * Node cannot ask the system for the user of a connection. So the client proves its user: the server sends a random
 * nonce, the client creates a file in that folder with the nonce as content, and the owner of that file is the user. Only
 * a process of a user, or root, can create a file that the user owns.
 *
 * Each message is one line of JSON. The server begins with `{"nonce"}`; the client answers with its request, and the
 * server with `{"ok", …}` or `{"error"}`; then the connection ends.
 */
export type SocketRequest =
  | { readonly command: 'status' }
  | ({ readonly command: 'share' } & SealedShare)
  | { readonly command: 'root-key' }
  | { readonly command: 'replace-root-key'; readonly root: string };

/** The work that the node does for commands. `peer` is the proven user, as `uid:1000`. */
export interface SocketService {
  progress(): UnsealProgress;
  /** The key for which shares are encrypted; undefined for a node that needs none. */
  readonly nodeKey: string | undefined;
  addShare(share: SealedShare, peer: string): Promise<UnsealProgress>;
  /** Throws `SealedError`. */
  giveRootKeys(peer: string): Promise<RootKeys>;
  /** Seals another root key, and keeps it in memory. Throws `SealedError`. */
  replaceRootKey(next: KeyObject): Promise<void>;
}

export interface SocketPlace {
  /** The absolute path of the socket. */
  readonly path: string;
  /** The group whose members may connect. */
  readonly group: number | undefined;
}

const NONCE_BYTES = 32;
const USER_FOLDER = 0o700;
const GROUP_FOLDER = 0o3770;
const USER_SOCKET = 0o600;
const GROUP_SOCKET = 0o660;
const PROOF_FILE = 0o644;
const GROUP = 0o070;
const OTHERS = 0o007;
const GROUP_WRITES = 0o020;
const NOT_OWNER_WRITES = 0o022;
const STICKY = 0o1000;
const MODE = 0o7777;
/** A longer path does not fit into the address of a socket. */
const MAX_PATH_BYTES = 103;

class SocketError extends OperatorError {
  override readonly name = 'SocketError';
}

const proofPath = (folder: string, nonce: string): string => join(folder, `proof-${nonce.slice(0, 32)}`);

function assertPathFits(path: string): void {
  if (Buffer.byteLength(path) > MAX_PATH_BYTES)
    throw new SocketError(
      `the path of the socket has more than ${MAX_PATH_BYTES} bytes: set CARDVAULT_SOCKET to a shorter one, such as /run/cardvault/unseal.sock`,
    );
}

/** A socket that accepts commands until it is closed. */
export interface OpenSocket {
  close(): Promise<void>;
}

/** Opens the socket. Throws `SocketError` while another process listens there. */
export async function openLocalSocket(place: SocketPlace, service: SocketService): Promise<OpenSocket> {
  assertPathFits(place.path);
  prepareFolder(place);
  if (existsSync(place.path)) await removeStaleSocket(place.path);
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    if (sockets.size >= LIMITS.socketConnections) {
      socket.destroy();
      return;
    }
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    void serveConnection(socket, place, service);
  });
  await listen(server, place);
  return {
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

/** Creates the folder of the socket, or checks that only its owner, and the group, can enter it. */
function prepareFolder({ path, group }: SocketPlace): void {
  const folder = dirname(path);
  if (!existsSync(folder)) {
    mkdirSync(folder, { recursive: true, mode: USER_FOLDER });
    if (group !== undefined) {
      chownSync(folder, -1, group);
      chmodSync(folder, GROUP_FOLDER);
    }
  }
  assertFolderProtected(folder, group);
  protectFromGroup(folder);
}

/** Lets members of the group remove or rename in the folder only what they created. Throws when another user owns it. */
function protectFromGroup(folder: string): void {
  const { mode, uid } = lstatSync(folder);
  if ((mode & GROUP_WRITES) === 0) return;
  const user = process.geteuid?.();
  if (user !== 0 && uid !== user)
    throw new SocketError(
      `the folder of the socket, ${folder}, belongs to another user, who could replace the socket: run this command as that user, or give the folder to the user of the service (chown)`,
    );
  // Earlier versions created it without the sticky bit.
  if ((mode & STICKY) === 0) chmodSync(folder, (mode & MODE) | STICKY);
}

/** Throws when a user other than this one, root and the group could enter the folder or replace the socket. */
function assertFolderProtected(folder: string, group: number | undefined): void {
  const { mode, uid, gid } = lstatSync(folder);
  const user = process.geteuid?.();
  const isOwn = user === 0 || uid === user || uid === 0 || group !== undefined;
  const isShared = (mode & GROUP) !== 0;
  const isOpen = (mode & OTHERS) !== 0 || (isShared && (group === undefined || gid !== group));
  if ((mode & constants.S_IFMT) !== constants.S_IFDIR || !isOwn || isOpen)
    throw new SocketError(
      `the folder of the socket, ${folder}, must belong to the user of the service and be closed to others; run: chmod 700 ${folder}`,
    );
}

/** The owner and the mode of a file, a socket or a folder. */
interface Ownership {
  readonly uid: number;
  readonly mode: number;
}

/**
 * True when the owner of the folder, root or `user` created the entry. A user who may write to the folder can create
 * entries there, but none that belongs to another user.
 */
export const isPlacedByOwner = (entry: Ownership, folder: Ownership, user: number | undefined): boolean =>
  (folder.mode & NOT_OWNER_WRITES) === 0 || [0, folder.uid, user].includes(entry.uid);

/**
 * Throws when a member of the group may have opened the socket. The folders above count as far as members may write to
 * them, because a member could replace a folder there.
 */
function assertPlacedByService(path: string): void {
  const user = process.geteuid?.();
  let entry: Ownership | undefined = lstatSync(path, { throwIfNoEntry: false });
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    const parent: Ownership = statSync(folder);
    if (entry === undefined || !isPlacedByOwner(entry, parent, user))
      throw new SocketError(
        `the socket ${path} was opened by another user than the one of the service: end that process, and remove the socket`,
      );
    if ((parent.mode & NOT_OWNER_WRITES) === 0 || folder === dirname(folder)) return;
    entry = parent;
  }
}

/** A process that was killed leaves its socket, to which no connection succeeds. */
async function removeStaleSocket(path: string): Promise<void> {
  const isServed = await new Promise<boolean>((resolve) => {
    const probe = connect(path);
    probe.once('connect', () => {
      probe.destroy();
      resolve(true);
    });
    probe.once('error', () => resolve(false));
  });
  if (isServed) throw new SocketError(`another process already uses the socket ${path}`);
  rmSync(path, { force: true });
}

function listen(server: Server, { path, group }: SocketPlace): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', ({ code }: NodeJS.ErrnoException) =>
      reject(new SocketError(`the socket ${path} cannot be opened (${code})`)),
    );
    server.listen(path, () => {
      // The folder protects it until then.
      if (group !== undefined) chownSync(path, -1, group);
      chmodSync(path, group === undefined ? USER_SOCKET : GROUP_SOCKET);
      resolve();
    });
  });
}

async function serveConnection(socket: Socket, place: SocketPlace, service: SocketService): Promise<void> {
  const nonce = randomBytes(NONCE_BYTES).toString('hex');
  try {
    socket.setTimeout(LIMITS.socketMs, () => socket.destroy());
    socket.write(`${JSON.stringify({ nonce })}\n`);
    const request = parseRequest(await readLine(socket));
    const peer = provePeer(dirname(place.path), nonce, place.group);
    socket.end(`${JSON.stringify({ ok: true, ...(await respond(request, peer, service)) })}\n`);
  } catch (error) {
    const message = error instanceof OperatorError ? error.message : 'the request failed';
    const isSealed = error instanceof SealedError;
    if (!socket.destroyed) socket.end(`${JSON.stringify({ ok: false, error: message, sealed: isSealed })}\n`);
  } finally {
    rmSync(proofPath(dirname(place.path), nonce), { force: true });
  }
}

async function respond(request: SocketRequest, peer: string, service: SocketService): Promise<object> {
  if (request.command === 'status') return { progress: service.progress(), key: service.nodeKey };
  if (request.command === 'share') return { progress: await service.addShare(request, peer) };
  if (request.command === 'replace-root-key') {
    await service.replaceRootKey(toRootKey(decodeKey(request.root)));
    return {};
  }
  const { root, previous } = await service.giveRootKeys(peer);
  return { root: encodeKey(root), ...(previous && { previous: encodeKey(previous) }) };
}

const decodeKey = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text, 'base64'));

function encodeKey(key: KeyObject): string {
  const bytes = key.export();
  const text = bytes.toString('base64');
  bytes.fill(0);
  return text;
}

function parseRequest(line: string): SocketRequest {
  const value = parseLine(line);
  const { command, ceremony, index, share, root } = value;
  if (command === 'status' || command === 'root-key') return { command };
  if (command === 'replace-root-key' && typeof root === 'string') return { command, root };
  const isShare = typeof ceremony === 'string' && Number.isInteger(index) && typeof share === 'string';
  if (command === 'share' && isShare) return { command, ceremony, index: index as number, share };
  throw new SocketError('the request is malformed');
}

function parseLine(line: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
  } catch {
    // The error is the same.
  }
  throw new SocketError('the message is malformed');
}

/** Returns the user who created the proof. Throws when the proof is missing or the user may not connect. */
function provePeer(folder: string, nonce: string, group: number | undefined): string {
  let handle: number;
  try {
    handle = openSync(proofPath(folder, nonce), constants.O_RDONLY | constants.O_NOFOLLOW);
  } catch {
    throw new SocketError('the user of the connection is not proven');
  }
  try {
    const { uid, nlink, size } = fstatSync(handle);
    const content = Buffer.alloc(Buffer.byteLength(nonce));
    readSync(handle, content, 0, content.length, 0);
    const isProof = nlink === 1 && size === content.length && timingSafeEqual(content, Buffer.from(nonce));
    const isAllowed = uid === process.geteuid?.() || uid === 0 || group !== undefined;
    if (!isProof || !isAllowed) throw new SocketError('the user of the connection is not proven');
    return `uid:${uid}`;
  } finally {
    closeSync(handle);
  }
}

/** Reads one line of limited length. */
function readLine(socket: Socket): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    socket.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      size += chunk.length;
      const end = chunk.indexOf('\n');
      if (end < 0 && size <= LIMITS.socketLineBytes) return;
      socket.removeAllListeners('data');
      const line = Buffer.concat(chunks);
      for (const each of chunks) each.fill(0);
      if (end < 0) reject(new SocketError('the message is too long'));
      else resolve(line.toString('utf8', 0, size - chunk.length + end));
      line.fill(0);
    });
    socket.once('close', () => reject(new SocketError('the connection ended')));
  });
}

/** Sends one request. Undefined when no process listens. Throws `CustodyError` with the reason of a refusal. */
export async function callLocalSocket(
  { path, group }: SocketPlace,
  request: SocketRequest,
): Promise<Record<string, unknown> | undefined> {
  assertPathFits(path);
  const folder = dirname(path);
  if (!existsSync(path)) return undefined;
  // A socket that another user opened would get the shares, and could pass on the proof for a connection of its own.
  assertFolderProtected(folder, group);
  assertPlacedByService(path);
  const socket = connect(path);
  try {
    const isConnected = await new Promise<boolean>((resolve) => {
      socket.once('connect', () => resolve(true));
      socket.once('error', () => resolve(false));
    });
    if (!isConnected) return undefined;
    // Another user may have opened it between the first check and the connection.
    assertPlacedByService(path);
    socket.on('error', () => socket.destroy());
    socket.setTimeout(LIMITS.socketMs, () => socket.destroy());
    const { nonce } = parseLine(await readLine(socket));
    if (typeof nonce !== 'string' || !/^[0-9a-f]{64}$/.test(nonce)) throw new SocketError('the message is malformed');
    return await exchange(socket, proofPath(folder, nonce), nonce, request);
  } finally {
    socket.destroy();
  }
}

async function exchange(
  socket: Socket,
  proof: string,
  nonce: string,
  request: SocketRequest,
): Promise<Record<string, unknown>> {
  writeFileSync(proof, nonce, { flag: 'wx', mode: USER_SOCKET });
  try {
    // The folder protects it, and the service has to read it also when root created it.
    chmodSync(proof, PROOF_FILE);
    socket.write(`${JSON.stringify(request)}\n`);
    const answer = parseLine(await readLine(socket));
    if (answer['ok'] === true) return answer;
    throw answer['sealed'] === true ? new SealedError() : new CustodyError(String(answer['error']));
  } finally {
    rmSync(proof, { force: true });
  }
}

/** Returns the root key of the unsealed node of this machine. Throws `SealedError`. */
export async function fetchRootKeys(place: SocketPlace): Promise<RootKeys> {
  const answer = await callLocalSocket(place, { command: 'root-key' });
  const { root, previous } = answer ?? {};
  if (typeof root !== 'string') throw new SealedError();
  return rootKeysFromBytes(decodeKey(root), typeof previous === 'string' ? decodeKey(previous) : undefined);
}

/** Lets the unsealed node of this machine replace the root key. Throws `SealedError`. */
export async function sendNextRootKey(place: SocketPlace, next: KeyObject): Promise<void> {
  const answer = await callLocalSocket(place, { command: 'replace-root-key', root: encodeKey(next) });
  if (answer === undefined) throw new SealedError();
}
