import { AsyncLocalStorage } from 'node:async_hooks';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { createServer, type Server, type ServerOptions } from 'node:https';
import { type AddressInfo, createServer as createConnectionServer, type Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { FastifyInstance } from 'fastify';
import { MINUTE, SECOND } from '../kernel/clock.ts';
import { Failure } from '../kernel/failure.ts';
import { LIMITS } from '../kernel/limits.ts';
import { OperatorError } from '../kernel/operator-error.ts';
import { NON_PAGE_HEADERS } from './browser-headers.ts';
import type { ConnectionLimit } from './connection-limit.ts';
import { ENVELOPES } from './envelopes.ts';
import { BASE_HEADERS, JSON_TYPE } from './send.ts';

export class ListenError extends OperatorError {
  override readonly name = 'ListenError';
}

const TIMEOUTS = {
  // A handshake costs as much as 25 requests, so idle connections are kept.
  keepAliveTimeout: 65 * SECOND,
  headersTimeout: 20 * SECOND,
  requestTimeout: MINUTE,
  connectionsCheckingInterval: 5 * SECOND,
  handshakeTimeout: 10 * SECOND,
};

/** Longer than any pause that a request or an idle connection may make. */
const INACTIVITY_TIMEOUT_MS = 2 * MINUTE;

/** How often a draining listener closes connections that have become idle. */
const DRAIN_CHECK_MS = 50;

/** One address of a listener. */
export interface Host {
  readonly address: string;
  /** A default address that the machine lacks is skipped. */
  readonly mayBeMissing: boolean;
}

interface ListenAddress {
  readonly port: number;
  readonly host: string;
  readonly reusePort: boolean;
}

interface ListenOptions {
  readonly hosts: readonly Host[];
  readonly tls: ServerOptions;
  /** True when several threads listen on the same ports, and the system distributes the connections. */
  readonly reusePort?: boolean;
}

/** One TLS listener on all its addresses; a stop completes the requests in progress. */
class Listener {
  readonly #app: FastifyInstance;
  readonly #servers: Server[] = [];
  readonly #sockets = new Set<Socket>();
  /** The connections below TLS that have no handshake yet. */
  readonly #handshakes = new Set<Socket>();
  readonly #limit: ConnectionLimit;
  readonly #onTooManyPipelined: () => void;
  #draining = false;

  constructor(app: FastifyInstance, limit: ConnectionLimit, onTooManyPipelined: () => void) {
    this.#app = app;
    this.#limit = limit;
    this.#onTooManyPipelined = onTooManyPipelined;
  }

  get port(): number {
    return (this.#servers[0]?.address() as AddressInfo | undefined)?.port ?? 0;
  }

  get addresses(): string[] {
    return this.#servers.map((server) => (server.address() as AddressInfo).address);
  }

  async listen(port: number, { hosts, tls, reusePort = false }: ListenOptions): Promise<void> {
    await this.#app.ready();
    for (const host of hosts) {
      // With port 0 the first address picks one and the others follow.
      const address = { port: this.port === 0 ? port : this.port, host: host.address, reusePort };
      const server = await this.#open(address, host.mayBeMissing, tls);
      if (server !== undefined) this.#servers.push(server);
    }
    if (this.#servers.length === 0) throw new ListenError('none of the addresses to listen on exists on this machine');
  }

  /** Uses another certificate for new connections. */
  setCertificate(tls: ServerOptions): void {
    for (const server of this.#servers) server.setSecureContext(tls);
  }

  /** Accepts no more connections and waits for requests in progress, at most `drainMs` milliseconds. */
  async close(drainMs: number): Promise<void> {
    this.#draining = true;
    const closed = this.#servers.map((server) => new Promise<void>((resolve) => server.close(() => resolve())));
    // A connection without a request would end only with the time for its handshake, or for requests in progress.
    for (const socket of this.#handshakes) socket.destroy();
    for (const socket of this.#sockets) {
      if (socket.bytesRead === 0) socket.destroy();
      else endAfterResponse(socket);
    }
    const closeIdle = (): void => {
      for (const server of this.#servers) server.closeIdleConnections();
    };
    closeIdle();
    // A connection whose response was on its way becomes idle later.
    const idle = setInterval(closeIdle, DRAIN_CHECK_MS);
    const cut = setTimeout(() => {
      for (const socket of this.#sockets) socket.destroy();
    }, drainMs);
    await Promise.all(closed);
    clearTimeout(cut);
    clearInterval(idle);
    await this.#app.close();
  }

  #open(address: ListenAddress, mayBeMissing: boolean, tls: ServerOptions): Promise<Server | undefined> {
    const options = { ...tls, ...TIMEOUTS, maxHeaderSize: LIMITS.headerBytes, requireHostHeader: false };
    const routing = this.#app.routing as RequestListener;
    const pipelined = new PipelinedRequests(this.#onTooManyPipelined);
    const serve: RequestListener = (request, response) => {
      if (!pipelined.admit(request, response)) return;
      if (this.#draining) response.shouldKeepAlive = false;
      routing(request, response);
    };
    const server = createServer(options, serve);
    // The server rejects it as a request without Host: Node's own responses have none of our headers.
    server.on('checkExpectation', serve);
    server.maxConnections = LIMITS.connections;
    limitConnections(server, this.#limit);
    server.on('connection', (socket: Socket) => {
      this.#handshakes.add(socket);
      socket.once('close', () => this.#handshakes.delete(socket));
    });
    // Ends connections without traffic, also those whose client never reads the responses.
    server.setTimeout(INACTIVITY_TIMEOUT_MS, (socket) => socket.destroy());
    server.on('secureConnection', (socket) => {
      keepAddress(socket);
      const below = accepted.getStore()?.socket;
      if (below !== undefined) this.#handshakes.delete(below);
      if (this.#draining) socket.destroy();
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
    });
    server.on('clientError', (error, socket: TLSSocket) => {
      if (isTimeout(error) && socket.bytesRead === 0) closeUnusedConnection(socket);
      else rejectMalformed(socket);
    });
    // A connection without TLS gets neither service nor explanation.
    server.on('tlsClientError', (_error, socket) => socket.destroy());
    return new Promise((resolve, reject) => {
      server.once('error', (error: NodeJS.ErrnoException) => {
        if (isMissing(error) && mayBeMissing) resolve(undefined);
        else reject(toListenError(error, address));
      });
      server.listen(address, () => resolve(server));
    });
  }
}

/**
 * Counts the requests that wait for the responses of earlier ones on their connection. Node reads on while no response is queued, so
 * that one connection could leave thousands of requests in memory.
 */
class PipelinedRequests {
  readonly #waiting = new WeakMap<Socket, number>();
  readonly #onClosed: () => void;

  /** `onClosed`: called once for each connection that is closed. */
  constructor(onClosed: () => void) {
    this.#onClosed = onClosed;
  }

  /** Returns false when the connection has sent too many, and closes it. */
  admit({ socket }: IncomingMessage, response: ServerResponse): boolean {
    // The response has its connection already where none is before it.
    if (response.socket !== null) return true;
    // Requests of the bytes that were read before are still delivered.
    if (socket.destroyed) return false;
    const waiting = (this.#waiting.get(socket) ?? 0) + 1;
    if (waiting > LIMITS.pipelinedRequests) {
      socket.destroy();
      this.#onClosed();
      return false;
    }
    this.#waiting.set(socket, waiting);
    response.once('close', () => this.#waiting.set(socket, (this.#waiting.get(socket) ?? 1) - 1));
    return true;
  }
}

/** Closes connections beyond the limit of their address before any work is done for them, such as a handshake. */
function limitConnections(server: Server, limit: ConnectionLimit): void {
  // TLS starts in a listener of Node's own, which must not see a rejected connection.
  const accept = server.listeners('connection') as ((socket: Socket) => void)[];
  server.removeAllListeners('connection');
  server.on('connection', (socket: Socket) => {
    const address = socket.remoteAddress ?? '';
    const end = limit.admit(address);
    if (end === undefined) {
      // A reset frees the connection immediately. It can fail when the client was faster.
      socket.on('error', () => undefined);
      socket.resetAndDestroy();
      return;
    }
    socket.once('close', end);
    accepted.run({ socket, address }, () => {
      for (const each of accept) each.call(server, socket);
    });
  });
}

/** The connection below TLS with its address, for what Node runs on behalf of that connection. */
const accepted = new AsyncLocalStorage<{ readonly socket: Socket; readonly address: string }>();

/**
 * Gives a connection the address that it was accepted from. The system no longer knows that of a client that has reset the connection
 * with its request, which would be recorded without an address.
 */
function keepAddress(socket: TLSSocket): void {
  Object.defineProperty(socket, 'remoteAddress', { value: accepted.getStore()?.address || socket.remoteAddress });
}

/** Makes the response that is on its way on a connection the last one. */
function endAfterResponse(socket: Socket & { _httpMessage?: ServerResponse | null }): void {
  if (socket._httpMessage) socket._httpMessage.shouldKeepAlive = false;
}

const isTimeout = ({ code }: NodeJS.ErrnoException): boolean => code === 'ERR_HTTP_REQUEST_TIMEOUT';

/**
 * Browsers open connections in advance, and take a response on one for that of the request that they are sending: such
 * a connection is closed silently. Bytes that have arrived are read first.
 */
function closeUnusedConnection(socket: TLSSocket): void {
  setImmediate(() => {
    if (socket.bytesRead === 0) socket.destroy();
  });
}

/** Responds to HTTP that Node cannot parse, such as headers that are malformed or too large. */
function rejectMalformed(socket: TLSSocket & { _httpMessage?: unknown }): void {
  // In the middle of another response it would be parsed as a part of that one.
  if (socket.writable && !socket._httpMessage) socket.end(MALFORMED_RESPONSE);
  else socket.destroy();
}

const MALFORMED_BODY = JSON.stringify(ENVELOPES.vault.failure(new Failure('malformed_request'), 400));
const MALFORMED_RESPONSE = [
  'HTTP/1.1 400 Bad Request',
  `content-type: ${JSON_TYPE}`,
  `content-length: ${Buffer.byteLength(MALFORMED_BODY)}`,
  ...Object.entries({ ...BASE_HEADERS, ...NON_PAGE_HEADERS }).map(([name, value]) => `${name}: ${value}`),
  'connection: close',
  '',
  MALFORMED_BODY,
].join('\r\n');

const isMissing = ({ code }: NodeJS.ErrnoException): boolean => code === 'EADDRNOTAVAIL' || code === 'EAFNOSUPPORT';

const toListenError = (
  error: NodeJS.ErrnoException,
  { host, port }: Pick<ListenAddress, 'host' | 'port'>,
): ListenError => new ListenError(`cannot listen on ${host} port ${port}: ${describeListenError(error)}`);

function describeListenError({ code }: NodeJS.ErrnoException): string {
  if (code === 'EADDRINUSE') return 'EADDRINUSE, another process has it; the CARDVAULT_…_PORT settings choose another';
  if (code === 'EADDRNOTAVAIL') return 'EADDRNOTAVAIL, this machine has no such address; see CARDVAULT_HOST';
  return code ?? 'unknown';
}

/**
 * Throws when another process listens on one of these ports. Ports that are shared by threads would be shared with it
 * too, when it belongs to the same user, and it would get a part of the connections.
 */
export async function assertUnused(ports: readonly number[], hosts: readonly Host[]): Promise<void> {
  for (const port of ports.filter((each) => each !== 0))
    for (const { address: host } of hosts) {
      const probe = createConnectionServer();
      await new Promise<void>((resolve, reject) => {
        probe.once('error', (error: NodeJS.ErrnoException) =>
          isMissing(error) ? resolve() : reject(toListenError(error, { host, port })),
        );
        probe.listen({ port, host, exclusive: true }, () => probe.close(() => resolve()));
      });
    }
}

/** Several listeners with one certificate. */
export class Listeners<Name extends string> {
  readonly #listeners: ReadonlyMap<Name, Listener>;

  /** `onTooManyPipelined`: called with the name of the listener when a connection is closed because too many requests wait on it. */
  constructor(
    apps: Readonly<Record<Name, FastifyInstance>>,
    newLimit: (name: string) => ConnectionLimit,
    onTooManyPipelined: (name: string) => void = () => undefined,
  ) {
    const names = Object.keys(apps) as Name[];
    const newListener = (name: Name) => new Listener(apps[name], newLimit(name), () => onTooManyPipelined(name));
    this.#listeners = new Map(names.map((name) => [name, newListener(name)]));
  }

  /** The port of each listener, 0 before it listens. */
  get ports(): Readonly<Record<Name, number>> {
    return Object.fromEntries([...this.#listeners].map(([name, { port }]) => [name, port])) as Record<Name, number>;
  }

  get addresses(): readonly string[] {
    return [...this.#listeners.values()][0]?.addresses ?? [];
  }

  async listen(ports: Readonly<Record<Name, number>>, options: ListenOptions): Promise<void> {
    for (const [name, listener] of this.#listeners) await listener.listen(ports[name], options);
  }

  /** Uses another certificate for new connections. */
  setCertificate(tls: ServerOptions): void {
    for (const listener of this.#listeners.values()) listener.setCertificate(tls);
  }

  async close(drainMs: number): Promise<void> {
    await Promise.all([...this.#listeners.values()].map((listener) => listener.close(drainMs)));
  }
}
