import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { reset } from '../fixtures/reset.ts';

/** The messages that a client sends. */
export interface Message {
  /** Letter of the protocol: Q is a simple query, P parse, B bind, E execute, S sync; empty for the very first. */
  readonly kind: string;
  readonly bytes: Buffer;
  /** Which connection to the proxy, from 0. */
  readonly connection: number;
}

/**
 * `hold`: this message and all behind it wait for `release`, whatever becomes of the client. `cut`: it never arrives, and
 * the connection is reset. `last`: it arrives, and no answer comes back, because the connection is reset. Bytes: they
 * arrive instead.
 */
type Verdict = 'pass' | 'hold' | 'cut' | 'last' | Buffer;

/** Between a client and a server of PostgreSQL, without TLS: decides what becomes of each message of the client. */
export class WireProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #near = new Set<Socket>();
  readonly #held: (() => void)[] = [];
  #count = 0;
  onMessage: (message: Message) => Verdict = () => 'pass';

  private constructor(target: number) {
    this.#server = createServer({ allowHalfOpen: true }, (near) => this.#connect(near, target));
  }

  static async to(target: number): Promise<WireProxy> {
    const proxy = new WireProxy(target);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  /** The same address by way of the proxy. */
  static async before(address: string): Promise<{ proxy: WireProxy; address: string }> {
    const [, port] = /@127\.0\.0\.1:(\d+)/.exec(address) ?? [];
    const proxy = await WireProxy.to(Number(port));
    return { proxy, address: address.replace(`:${port}`, `:${proxy.port}`) };
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get connections(): number {
    return this.#count;
  }

  /** Forwards the messages on hold to the server. */
  release(): void {
    for (const act of this.#held.splice(0)) act();
  }

  /** Resets the connections of all clients; what is held stays held. */
  reset(): void {
    for (const socket of this.#near) reset(socket);
    this.#near.clear();
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }

  #connect(near: Socket, target: number): void {
    const connection = this.#count++;
    const far = connect({ port: target, host: '127.0.0.1', allowHalfOpen: true });
    for (const socket of [near, far]) {
      this.#sockets.add(socket.setNoDelay(true));
      socket.on('error', () => undefined);
    }
    this.#near.add(near);
    let held = false;
    let isDone = false;
    const toServer = (act: () => void): void => {
      if (held) this.#held.push(act);
      else act();
    };
    const judge = (message: Message): void => {
      if (isDone) return;
      const verdict = held ? 'pass' : this.onMessage(message);
      if (verdict === 'hold') held = true;
      if (verdict !== 'cut') toServer(() => far.write(verdict instanceof Buffer ? verdict : message.bytes));
      if (verdict !== 'cut' && verdict !== 'last') return;
      isDone = true;
      reset(near);
      far.end();
    };
    const reader = new MessageReader((kind, bytes) => judge({ kind, bytes, connection }));
    near.on('data', (chunk) => reader.push(chunk));
    near.on('close', () => toServer(() => far.end()));
    near.on('end', () => toServer(() => far.end()));
    far.on('data', (chunk) => isDone || near.destroyed || near.write(chunk));
    far.on('end', () => near.end());
    far.on('close', () => near.destroy());
  }
}

class MessageReader {
  readonly #found: (kind: string, bytes: Buffer) => void;
  #rest = Buffer.alloc(0);
  #isFirst = true;

  constructor(found: (kind: string, bytes: Buffer) => void) {
    this.#found = found;
  }

  push(chunk: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, chunk]);
    for (;;) {
      const letter = this.#isFirst ? 0 : 1;
      if (this.#rest.length < letter + 4) return;
      const size = letter + this.#rest.readInt32BE(letter);
      if (this.#rest.length < size) return;
      const bytes = this.#rest.subarray(0, size);
      this.#rest = this.#rest.subarray(size);
      this.#isFirst = false;
      this.#found(letter === 0 ? '' : bytes.toString('latin1', 0, 1), bytes);
    }
  }
}

/** A simple query as a message. */
export function simpleQuery(sql: string): Buffer {
  const text = Buffer.from(`${sql}\0`);
  const bytes = Buffer.alloc(5);
  bytes.write('Q');
  bytes.writeInt32BE(4 + text.length, 1);
  return Buffer.concat([bytes, text]);
}

export const isQuery = ({ kind, bytes }: Message, sql: string): boolean =>
  kind === 'Q' && bytes.toString('utf8', 5, bytes.length - 1) === sql;
