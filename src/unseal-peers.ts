import type { Server, Socket } from 'node:net';
import { connect, createServer, type TLSSocket } from 'node:tls';
import type { UnsealPeer, UnsealPeersSettings } from './config.ts';
import { rootKeysFromBytes } from './crypto/custody/custodians-file.ts';
import type { RootKeys } from './crypto/custody.ts';
import type { Host } from './http/listeners.ts';
import { loadIdentity } from './http/tls.ts';
import { SECOND } from './kernel/clock.ts';
import { LIMITS } from './kernel/limits.ts';
import { OperatorError } from './kernel/operator-error.ts';

/**
 * Nodes that unseal each other: a sealed node asks the others for the root key over TLS 1.3, in which both sides prove
 * the private key of a certificate whose SHA-256 the other side has in its settings. No CA counts. Off unless it is
 * configured, because it lets one unsealed node unseal all others without any custodian.
 *
 * The client sends one line of JSON, `{"ceremony"}`, and gets one, `{"root", "previous"?}`.
 */
const TIMEOUT_MS = 5 * SECOND;

class PeerError extends OperatorError {
  override readonly name = 'PeerError';
}

const buildTls = ({ identity }: UnsealPeersSettings) => {
  const { certificate: cert, key } = loadIdentity(identity);
  // The certificates are pinned, so their issuers do not count.
  return { cert, key, minVersion: 'TLSv1.3', rejectUnauthorized: false, requestCert: true } as const;
};

/** Returns the SHA-256 of the certificate whose private key the other side has proven; undefined without one. */
const fingerprintOf = (socket: TLSSocket): string | undefined =>
  socket.getPeerX509Certificate()?.fingerprint256.replaceAll(':', '').toLowerCase();

export interface PeerListener {
  close(): Promise<void>;
}

interface PeerService {
  readonly hosts: readonly Host[];
  /** The id of the ceremony of this node. */
  readonly ceremony: string;
  /** Returns the root key once this is on record. `recipient` names the other node. */
  giveRootKeys(recipient: string): Promise<RootKeys>;
  onRefused(reason: string, address: string): void;
}

/** Gives the root key to the nodes of the settings. */
export async function listenForPeers(settings: UnsealPeersSettings, service: PeerService): Promise<PeerListener> {
  const options = buildTls(settings);
  const pinned = new Set(settings.peers.map(({ fingerprint }) => fingerprint));
  const sockets = new Set<Socket>();
  const servers: Server[] = [];
  for (const { address, mayBeMissing } of service.hosts) {
    const server = createServer(options, (socket) => {
      void serve(socket, pinned, service).catch(() => socket.destroy());
    });
    server.maxConnections = LIMITS.socketConnections;
    server.on('connection', (socket: Socket) => {
      sockets.add(socket);
      socket.setTimeout(TIMEOUT_MS, () => socket.destroy());
      socket.once('close', () => sockets.delete(socket));
    });
    server.on('tlsClientError', (_error, socket) => socket.destroy());
    await new Promise<void>((resolve, reject) => {
      server.once('error', ({ code = '' }: NodeJS.ErrnoException) => {
        if (mayBeMissing && (code === 'EADDRNOTAVAIL' || code === 'EAFNOSUPPORT')) resolve();
        else
          reject(
            new PeerError(`cannot listen on ${address} port ${settings.port} (${code}); see CARDVAULT_UNSEAL_PORT`),
          );
      });
      server.listen({ port: settings.port, host: address }, () => {
        servers.push(server);
        resolve();
      });
    });
  }
  return {
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await Promise.all(servers.map((server) => new Promise<void>((resolve) => server.close(() => resolve()))));
    },
  };
}

async function serve(socket: TLSSocket, pinned: ReadonlySet<string>, service: PeerService): Promise<void> {
  const address = socket.remoteAddress ?? '';
  socket.on('error', () => socket.destroy());
  const fingerprint = fingerprintOf(socket);
  if (fingerprint === undefined || !pinned.has(fingerprint)) {
    service.onRefused(fingerprint === undefined ? 'no certificate' : 'unknown certificate', address);
    socket.destroy();
    return;
  }
  const { ceremony } = parseLine(await readLine(socket));
  if (ceremony !== service.ceremony) {
    service.onRefused('another ceremony', address);
    socket.destroy();
    return;
  }
  const { root, previous } = await service.giveRootKeys(`peer ${fingerprint} at ${address}`);
  socket.end(`${JSON.stringify({ root: encodeKey(root), ...(previous && { previous: encodeKey(previous) }) })}\n`);
}

function encodeKey(key: RootKeys['root']): string {
  const bytes = key.export();
  const text = bytes.toString('base64');
  bytes.fill(0);
  return text;
}

/**
 * Returns the root key from another node; undefined when it is not reached, not the pinned one, or sealed itself.
 * `onMalformed`: called when it sent anything else than a root key, after which it counts as sealed.
 */
export async function fetchFromPeer(
  settings: UnsealPeersSettings,
  { host, port, fingerprint }: UnsealPeer,
  ceremony: string,
  onMalformed: () => void = () => undefined,
): Promise<RootKeys | undefined> {
  const socket = connect({ ...buildTls(settings), host, port, checkServerIdentity: () => undefined });
  socket.setTimeout(TIMEOUT_MS, () => socket.destroy());
  socket.on('error', () => socket.destroy());
  try {
    const isConnected = await new Promise<boolean>((resolve) => {
      socket.once('secureConnect', () => resolve(true));
      socket.once('close', () => resolve(false));
    });
    // Before anything is sent or read.
    if (!isConnected || fingerprintOf(socket) !== fingerprint) return undefined;
    const line = readLine(socket);
    socket.write(`${JSON.stringify({ ceremony })}\n`);
    return parseResponse(await line.catch(() => '{}'), onMalformed);
  } finally {
    socket.destroy();
  }
}

/** The caller gets no error: it would not ask the nodes after this one, and its text may contain a part of a key. */
function parseResponse(line: string, onMalformed: () => void): RootKeys | undefined {
  try {
    const { root, previous } = parseLine(line);
    if (typeof root !== 'string') return undefined;
    const decode = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text, 'base64'));
    return rootKeysFromBytes(decode(root), typeof previous === 'string' ? decode(previous) : undefined);
  } catch {
    onMalformed();
    return undefined;
  }
}

function parseLine(line: string): Record<string, unknown> {
  const value: unknown = JSON.parse(line);
  if (typeof value !== 'object' || value === null) throw new PeerError('the message is malformed');
  return value as Record<string, unknown>;
}

function readLine(socket: TLSSocket): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      const end = text.indexOf('\n');
      if (end >= 0) resolve(text.slice(0, end));
      else if (text.length > LIMITS.socketLineBytes) socket.destroy();
    });
    socket.once('close', () => reject(new PeerError('the connection ended')));
  });
}
