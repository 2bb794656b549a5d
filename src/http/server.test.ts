import assert from 'node:assert/strict';
import { type AddressInfo, connect } from 'node:net';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { SERVICE_ORIGIN } from '../audit/audit.ts';
import { Transactions } from '../idempotency/transaction.ts';
import type { Grant, RequestHead, Route } from './route.ts';
import { addPublicRoutes, addRoutes, createBaseServer, type ServerOptions, sendInChunks } from './server.ts';

/** Each request is one line of the log and one observation, and each failure is counted once, however it ends. */

const logged: number[] = [];
const addresses: string[] = [];
const counted: string[] = [];
const reporting = {
  stopwatch: () => 0,
  log: {
    request: ({ status, address }: { status: number; address: string }) => {
      logged.push(status);
      addresses.push(address);
    },
    error: () => undefined,
  },
  metrics: { countFailure: (_: string, code: string) => counted.push(code), observeRequest: () => undefined },
  listener: 'test',
  random: { bytes: (length: number) => new Uint8Array(length) },
  trustedProxies: [],
} as unknown as ServerOptions;
const app = createBaseServer(reporting);
const grant = { at: 0, origin: SERVICE_ORIGIN };
/** Resolves when a test lets the caller of `/slow` in. */
const admitted = Promise.withResolvers<Grant>();
let address = '';

async function* failing(text: string): AsyncGenerator<string> {
  if (text !== '') yield text;
  if (text !== '') await new Promise((resolve) => setImmediate(resolve));
  throw new Error('unreadable');
}

async function* endless(): AsyncGenerator<string> {
  for (;;) yield 'x'.repeat(1000);
}

const download = (path: string, lines: () => AsyncIterable<string>): Route =>
  ({
    method: 'GET',
    path,
    family: 'console',
    data: { schema: {} },
    isStream: true,
    run: async () => ({ type: 'text/plain', name: 'file', lines: lines() }),
  }) as unknown as Route;

before(async () => {
  const door = {
    admit: (_: RequestHead, { path }: Route) => (path === '/slow' ? admitted.promise : grant),
    confirm: async () => grant,
    contextOf: () => grant,
    addHeaders: () => undefined,
  };
  const clock = (): number => 0;
  const transactions = new Transactions({ clock } as ConstructorParameters<typeof Transactions>[0]);
  const routes = [
    download('/unreadable', () => failing('')),
    download('/broken', () => failing('x'.repeat(100_000))),
    download('/endless', endless),
    {
      method: 'POST',
      path: '/slow',
      family: 'console',
      body: { parse: (body: unknown) => body },
      data: { schema: {} },
      run: async () => 'never',
    } as unknown as Route,
  ];
  addRoutes(app, routes, { ...reporting, door, services: {}, transactions, clock });
  const file = { path: '/file', method: 'GET', family: 'vault' } as const;
  const sink = { path: '/sink', method: 'POST', family: 'vault' } as const;
  const publicRoutes = [
    { ...file, handle: (_: FastifyRequest, reply: FastifyReply) => sendInChunks(reply, Buffer.alloc(64_000_000)) },
    { ...sink, handle: (_: FastifyRequest, reply: FastifyReply) => reply.code(204).send() },
  ];
  addPublicRoutes(app, publicRoutes, reporting);
  await app.listen();
  address = `http://localhost:${(app.server.address() as AddressInfo).port}`;
});

after(() => app.close());

async function nextLogged(): Promise<number[]> {
  while (logged.length === 0) await delay(1);
  // A second report would come with the end of the response, which is over.
  await new Promise((resolve) => setImmediate(resolve));
  return logged.splice(0);
}

test('a download that fails before its first line is one failure, and no file', async () => {
  const response = await fetch(`${address}/unreadable`);
  assert.equal(response.status, 500);
  assert.equal(response.headers.get('content-disposition'), null);
  assert.equal(((await response.json()) as { code: string }).code, 'internal');
  assert.deepEqual(await nextLogged(), [500]);
  assert.deepEqual(counted.splice(0), ['internal']);
});

test('a download that fails later is logged once, its connection ends, and its failure is counted', async () => {
  await assert.rejects(fetch(`${address}/broken`).then((response) => response.text()));
  assert.deepEqual(await nextLogged(), [200]);
  assert.deepEqual(counted.splice(0), ['internal']);
});

test('a download whose client disconnects is logged once', async () => {
  const leaving = new AbortController();
  const response = await fetch(`${address}/endless`, { signal: leaving.signal });
  await response.body?.getReader().read();
  leaving.abort();
  assert.deepEqual(await nextLogged(), [200]);
  assert.deepEqual(counted, []);
});

test('a client that leaves while its access is checked is logged once', async () => {
  const { port } = app.server.address() as AddressInfo;
  const arrived = new Promise<void>((resolve) =>
    app.server.once('request', (request) => request.once('close', resolve)),
  );
  const socket = connect(port, 'localhost');
  socket.end('POST /slow HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{');
  socket.destroySoon();
  await arrived;
  admitted.resolve(grant);
  assert.deepEqual(await nextLogged(), [400]);
  assert.deepEqual(counted.splice(0), ['malformed_request']);
});

test('a client that leaves during the body of a route without a door is logged once', async () => {
  await leaveAfter('POST /sink HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\n{');
  assert.deepEqual(await nextLogged(), [400]);
  assert.deepEqual(counted.splice(0), ['malformed_request']);
});

test('a client that leaves while a file is sent is logged once', async () => {
  const leaving = new AbortController();
  const response = await fetch(`${address}/file`, { signal: leaving.signal });
  await response.body?.getReader().read();
  leaving.abort();
  assert.deepEqual(await nextLogged(), [200]);
  assert.deepEqual(counted, []);
});

test('a client that requests no route and leaves is logged with its address', async () => {
  addresses.splice(0);
  await leaveAfter('GET /none HTTP/1.1\r\nhost: localhost\r\n\r\n');
  assert.deepEqual(await nextLogged(), [404]);
  assert.deepEqual(counted.splice(0), ['unknown_path']);
  assert.match(addresses.join(), /^(127\.0\.0\.1|::1)$/);
});

/** Sends a text; the connection ends when the server has begun with the request. */
async function leaveAfter(text: string): Promise<void> {
  const { port } = app.server.address() as AddressInfo;
  const ended = new Promise<void>((resolve) =>
    app.server.prependOnceListener('request', ({ socket }) => {
      socket.once('close', () => resolve());
      process.nextTick(() => socket.destroy());
    }),
  );
  const client = connect(port, 'localhost');
  client.on('error', () => undefined);
  client.write(text);
  await ended;
  client.destroy();
}
