import type { OnReadOpts } from 'node:net';
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';
import { type Plan, prepare } from './requests.ts';

/**
 * The load: a process of its own with keep-alive connections, each sending its next request when it has the answer to
 * the last. Requests are bytes built beforehand and responses are only measured, so that little of the machine goes here.
 */
export type LoadOrder =
  | { readonly kind: 'prepare'; readonly plan: Plan }
  | { readonly kind: 'connect'; readonly layouts: Readonly<Record<string, readonly Node[]>> }
  | { readonly kind: 'run'; readonly layout: string; readonly name: string; readonly milliseconds: number }
  | { readonly kind: 'disconnect' };

/** Where connections go. */
export interface Node {
  readonly port: number;
  readonly authority: string;
  readonly connections: number;
}

export interface Load {
  readonly requests: number;
  readonly failures: number;
  readonly seconds: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
  /** CPU of the load itself, microseconds. */
  readonly cpu: number;
}

export type LoadReport = { readonly done: true; readonly load?: Load } | { readonly error: string };

const READ_BYTES = 65_536;
const MOST_LATENCIES = 2 ** 22;

const prepared = new Map<string, Buffer[]>();
const layouts = new Map<string, Connection[]>();

class Connection {
  readonly socket: TLSSocket;
  readonly ready: Promise<void>;
  answered: (status: string, milliseconds: number) => void = () => undefined;
  lost: (error: Error) => void = () => undefined;
  #head = '';
  #left = 0;
  #status = '';
  #sentAt = 0;

  constructor(port: number, authority: string) {
    const onread: OnReadOpts = {
      buffer: Buffer.alloc(READ_BYTES),
      callback: (bytes, buffer) => this.#read(bytes, Buffer.from(buffer.buffer, buffer.byteOffset)),
    };
    // The types leave out that a TLS socket takes it as any socket does.
    const options: ConnectionOptions & { onread: OnReadOpts } = {
      host: '127.0.0.1',
      port,
      ca: authority,
      servername: 'localhost',
      onread,
    };
    this.socket = connect(options);
    this.socket.setNoDelay(true);
    this.ready = new Promise((resolve, reject) => {
      this.socket.on('secureConnect', resolve);
      this.socket.on('error', reject);
      this.socket.on('close', () => {
        const error = new Error('the server closed a connection');
        reject(error);
        this.lost(error);
      });
    });
  }

  send(request: Buffer): void {
    this.#sentAt = performance.now();
    this.socket.write(request);
  }

  #read(bytes: number, buffer: Buffer): boolean {
    if (this.#left > 0) this.#left -= bytes;
    else if (!this.#readHead(buffer.toString('latin1', 0, bytes))) return true;
    if (this.#left <= 0) this.answered(this.#status, performance.now() - this.#sentAt);
    return true;
  }

  /** False when the head of the answer is not complete yet. */
  #readHead(text: string): boolean {
    this.#head += text;
    const end = this.#head.indexOf('\r\n\r\n');
    if (end < 0) return false;
    const length = /\r\ncontent-length: ([0-9]+)/i.exec(this.#head)?.[1];
    if (length === undefined) throw new Error('an answer without content-length');
    this.#status = this.#head.slice(9, 12);
    this.#left = Number(length) - (this.#head.length - end - 4);
    this.#head = '';
    return true;
  }
}

function run(connections: readonly Connection[], name: string, milliseconds: number): Promise<Load> {
  const requests = prepared.get(name) ?? [];
  if (requests.length === 0) throw new Error(`nothing is prepared for ${name}`);
  const latencies = new Float64Array(MOST_LATENCIES);
  let count = 0;
  let failures = 0;
  let next = Math.floor(Math.random() * requests.length);
  let open = connections.length;
  const cpu = process.cpuUsage();
  const start = performance.now();
  const end = start + milliseconds;
  return new Promise((resolve, reject) => {
    const send = (connection: Connection): void => {
      next = next + 1 < requests.length ? next + 1 : 0;
      connection.send(requests[next] as Buffer);
    };
    const finish = (): void => {
      const seconds = (performance.now() - start) / 1000;
      const { user, system } = process.cpuUsage(cpu);
      const sorted = latencies.subarray(0, Math.min(count, MOST_LATENCIES)).sort();
      const at = (share: number): number => sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN;
      resolve({ requests: count, failures, seconds, p50: at(0.5), p99: at(0.99), cpu: user + system });
    };
    for (const connection of connections) {
      connection.answered = (status, took) => {
        latencies[count++] = took;
        if (status !== '200') failures++;
        if (performance.now() < end) send(connection);
        else if (--open === 0) finish();
      };
      connection.lost = reject;
      send(connection);
    }
  });
}

function disconnect(): void {
  for (const { socket } of [...layouts.values()].flat()) socket.destroy();
  layouts.clear();
}

async function connected(nodes: readonly Node[]): Promise<Connection[]> {
  const connections = nodes.flatMap(({ port, authority, connections: count }) =>
    Array.from({ length: count }, () => new Connection(port, authority)),
  );
  await Promise.all(connections.map(({ ready }) => ready));
  return connections;
}

async function follow(order: LoadOrder): Promise<LoadReport> {
  switch (order.kind) {
    case 'prepare':
      prepared.set(order.plan.name, prepare(order.plan));
      return { done: true };
    case 'connect':
      disconnect();
      for (const [layout, nodes] of Object.entries(order.layouts)) layouts.set(layout, await connected(nodes));
      return { done: true };
    case 'run':
      return { done: true, load: await run(layouts.get(order.layout) ?? [], order.name, order.milliseconds) };
    case 'disconnect':
      disconnect();
      return { done: true };
  }
}

process.on('message', (order: LoadOrder) => {
  follow(order).then(
    (report) => process.send?.(report),
    (error: Error) => process.send?.({ error: error.message } satisfies LoadReport),
  );
});
process.on('disconnect', () => process.exit(0));
