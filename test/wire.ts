import assert from 'node:assert/strict';
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';
import type { Environment } from '../src/kernel/environment.ts';
import type { House } from './house.ts';

/** What an HTTP client would not send: bytes over TLS, as they are. */
export interface WireOptions extends ConnectionOptions {
  readonly environment?: Environment | 'console';
  /** Address to call from. */
  readonly localAddress?: string;
}

/** An answer as it came. */
export interface WireAnswer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Longer than the service waits for the head of a request. */
const PATIENCE_MS = 40_000;

/** Resolves when the handshake is done; rejects with its error. */
export function dial(house: House, { environment = 'sandbox', ...options }: WireOptions = {}): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const port = house.ports[environment];
    const socket = connect({ host: '127.0.0.1', servername: 'localhost', port, ca: house.authority, ...options });
    socket.once('error', reject);
    socket.once('close', () => reject(new Error('closed before the end of the handshake')));
    socket.once('secureConnect', () => {
      socket.removeAllListeners('close');
      resolve(socket);
    });
  });
}

/** Everything that the service sends until it closes the connection. */
export function untilClosed(socket: TLSSocket): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const cut = setTimeout(() => {
      socket.destroy();
      reject(new Error(`not closed; so far: ${Buffer.concat(chunks).toString('latin1')}`));
    }, PATIENCE_MS);
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    // A reset is one way of refusing service.
    socket.on('error', () => undefined);
    socket.on('close', () => {
      clearTimeout(cut);
      resolve(Buffer.concat(chunks).toString('latin1'));
    });
  });
}

/** Sends bytes over a connection of their own; the last request in them asks to close it. */
export async function exchange(
  house: House,
  bytes: string | Uint8Array,
  options: WireOptions = {},
): Promise<WireAnswer[]> {
  const socket = await dial(house, options);
  const received = untilClosed(socket);
  socket.write(bytes);
  return answersIn(await received);
}

/** The lines of a request, with `host` and `connection: close`. */
export const requestText = (line: string, headers: Readonly<Record<string, string>> = {}, body = ''): string => {
  const all = { host: 'localhost', connection: 'close', ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${line} HTTP/1.1\r\n${lines.join('')}\r\n${body}`;
};

function answersIn(text: string): WireAnswer[] {
  const answers: WireAnswer[] = [];
  for (let rest = text; rest !== ''; ) {
    const end = rest.indexOf('\r\n\r\n');
    const [first = '', ...lines] = rest.slice(0, end).split('\r\n');
    const headers = Object.fromEntries(
      lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
    );
    const status = Number(/^HTTP\/1\.1 ([0-9]{3})/.exec(first)?.[1]);
    if (end < 0 || Number.isNaN(status)) throw new Error(`this is no answer: ${rest}`);
    const length = Number(headers['content-length'] ?? 0);
    answers.push({ status, headers, body: rest.slice(end + 4, end + 4 + length) });
    rest = rest.slice(end + 4 + length);
  }
  return answers;
}

/** One answer to what cannot be read as HTTP, and the end of the connection. */
export function assertUnreadable(answers: readonly WireAnswer[], what?: string): void {
  assert.deepEqual(
    answers.map(({ status }) => status),
    [400],
    what,
  );
  const [{ headers, body } = assert.fail()] = answers;
  assert.equal(headers['connection'], 'close');
  assert.equal(headers['cache-control'], 'no-store');
  assert.equal(headers['content-type'], 'application/json; charset=utf-8');
  const desc = 'The request itself cannot be read.';
  assert.deepEqual(JSON.parse(body), { status_code: 400, status: 'fail', desc, data: '' });
}

/** The same where so much is left unread that the connection may be reset before its answer arrives. */
export function assertUnreadableOrCut(answers: readonly WireAnswer[]): void {
  if (answers.length > 0) assertUnreadable(answers);
}
