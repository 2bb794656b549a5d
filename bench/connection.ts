import type { OnReadOpts } from 'node:net';
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';

const READ_BYTES = 65_536;

/** A response of status 200 can tell of a failure: a declined payment, an unknown token. */
const FAILED = /"status":"(fail|error)/i;

/** A keep-alive connection of the load, with one request at a time. It reads little more than the head of a response. */
export class Connection {
  readonly socket: TLSSocket;
  readonly ready: Promise<void>;
  onResponse: (connection: Connection, isGood: boolean, text: string) => void = () => undefined;
  /** Called when the server closes the connection while a request is in progress. */
  onLost: (error: Error) => void = () => undefined;
  /** When the request in progress arrived, in milliseconds; undefined while there is none. */
  arrivedAt: number | undefined;
  keepsText = false;
  #text = '';
  #missing = 0;
  #isGood = false;

  constructor(port: number) {
    const onread: OnReadOpts = {
      buffer: Buffer.alloc(READ_BYTES),
      callback: (bytes, buffer) => this.#read(bytes, Buffer.from(buffer.buffer, buffer.byteOffset)),
    };
    // The types leave out that a TLS socket takes it as any socket does.
    const options: ConnectionOptions & { onread: OnReadOpts } = {
      ...{ host: '127.0.0.1', port, servername: 'localhost', onread },
      // The certificates are those of the servers that the benchmark started itself.
      rejectUnauthorized: false,
    };
    this.socket = connect(options);
    this.socket.setNoDelay(true);
    this.ready = new Promise((resolve, reject) => {
      this.socket.on('secureConnect', resolve);
      this.socket.on('error', reject);
      this.socket.on('close', () => {
        const error = new Error('the server closed a connection');
        reject(error);
        if (this.arrivedAt !== undefined) this.onLost(error);
      });
    });
  }

  #read(bytes: number, buffer: Buffer): boolean {
    if (this.#missing > 0) {
      this.#missing -= bytes;
      if (this.keepsText) this.#text += buffer.toString('latin1', 0, bytes);
    } else if (!this.#readHead(buffer.toString('latin1', 0, bytes))) return true;
    if (this.#missing > 0) return true;
    const text = this.#text;
    this.#text = '';
    this.onResponse(this, this.#isGood, text);
    return true;
  }

  /** Returns false when the head of the response is not complete yet. */
  #readHead(text: string): boolean {
    this.#text += text;
    const end = this.#text.indexOf('\r\n\r\n');
    if (end < 0) return false;
    const length = /\r\ncontent-length: ([0-9]+)/i.exec(this.#text)?.[1];
    if (length === undefined) throw new Error('a response without content-length');
    this.#isGood = this.#text.startsWith('200', 9) && !FAILED.test(this.#text);
    this.#missing = Number(length) - (this.#text.length - end - 4);
    return true;
  }
}

export async function openConnections(port: number, count: number): Promise<Connection[]> {
  const opened = Array.from({ length: count }, () => new Connection(port));
  await Promise.all(opened.map(({ ready }) => ready));
  return opened;
}
