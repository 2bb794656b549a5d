import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { generateKeyPairSync, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer, type Server as HttpsServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, describe, test } from 'node:test';
import { connect, type SecureContextOptions, type TLSSocket } from 'node:tls';
import { promisify } from 'node:util';
import { createCa, createSelfSigned, createServerCertificate } from '../crypto/certificate.ts';
import { SECOND } from '../kernel/clock.ts';
import { LIMITS } from '../kernel/limits.ts';
import { WebhookSender } from './send.ts';
import { TargetAddresses } from './target-address.ts';

const LOOPBACK = { address: '127.0.0.1', family: 4 };
const METADATA = { address: '169.254.169.254', family: 4 };
const PUBLIC = { address: '8.8.8.8', family: 4 };

describe('an attempt to deliver a webhook', () => {
  let server: Server;
  let port: number;
  const succeed = (_: IncomingMessage, response: ServerResponse): void => void response.writeHead(204).end();
  let respond: (request: IncomingMessage, response: ServerResponse) => void = succeed;
  const paths: string[] = [];
  before(async () => {
    server = createServer((request, response) => {
      paths.push(request.url ?? '');
      respond(request, response);
    });
    server.on('upgrade', (request, socket) => {
      paths.push(request.url ?? '');
      socket.end('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    ({ port } = server.address() as AddressInfo);
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  afterEach(() => {
    respond = succeed;
    paths.length = 0;
  });

  /** `answers`: the addresses of the name at each lookup. */
  function newSender(answers: readonly { address: string; family: number }[][], onLookup?: () => void): WebhookSender {
    const left = [...answers];
    return new WebhookSender(new TargetAddresses(['127.0.0.0/8'], () => []), async () => {
      onLookup?.();
      return left.shift() ?? [];
    });
  }

  async function send(
    answers: readonly { address: string; family: number }[][],
    { url = `http://shop.example:${port}/hook`, signal }: { url?: string; signal?: AbortSignal } = {},
  ) {
    let lookups = 0;
    const sender = newSender(answers, () => lookups++);
    const message = { url, headers: { 'webhook-id': 'evt_a' }, body: Buffer.from('{}') };
    const result = await sender.send(message, signal);
    sender.close();
    return { ...result, lookups };
  }

  test('goes to the address that was checked, also when the name has another one right after', async () => {
    const { statusCode, lookups } = await send([[LOOPBACK], [METADATA]]);
    assert.deepEqual([statusCode, lookups, paths], [204, 1, ['/hook']]);
  });

  test('goes nowhere when one address of the name is forbidden, when there is none, or too many', async () => {
    const many = Array.from({ length: LIMITS.webhookAddresses + 1 }, () => LOOPBACK);
    for (const answer of [
      [LOOPBACK, METADATA],
      [METADATA, LOOPBACK],
      [PUBLIC, { address: '::1', family: 6 }],
      [],
      many,
    ])
      assert.equal((await send([answer])).error, 'address');
    for (const host of ['169.254.169.254', '[::ffff:10.0.0.1]', '[64:ff9b::a9fe:a9fe]', '0x0a.1'])
      assert.equal((await send([[LOOPBACK]], { url: `http://${host}:${port}/` })).error, 'address', host);
    assert.deepEqual(paths, []);
  });

  test('follows no redirect, and takes no upgrade', async () => {
    respond = (_, response) => void response.writeHead(307, { location: `http://127.0.0.1:${port}/inside` }).end();
    const { statusCode, error } = await send([[LOOPBACK]]);
    assert.deepEqual([statusCode, error, paths], [307, 'status', ['/hook']]);
    const upgraded = await send([[LOOPBACK]], { url: `http://shop.example:${port}/upgrade` });
    assert.equal(upgraded.error === undefined, false);
  });

  test('has no line of its URL in its headers', async () => {
    let host: string | undefined;
    respond = ({ headers }, response) => {
      host = headers.host;
      response.writeHead(204).end();
    };
    const url = `http://shop.example:${port}/a%0d%0ax-injected:%201?b=%0d%0a`;
    assert.equal((await send([[LOOPBACK]], { url })).statusCode, 204);
    assert.deepEqual([host, paths], [`shop.example:${port}`, ['/a%0d%0ax-injected:%201?b=%0d%0a']]);
  });

  test('ends when headers, a lookup, or the end of the headers do not come', async () => {
    const soon = (): AbortSignal => AbortSignal.timeout(40);
    respond = () => undefined;
    assert.equal((await send([[LOOPBACK]], { signal: soon() })).error, 'timeout');
    respond = (_, response) => void response.socket?.write('HTTP/1.1 200 OK\r\nx-slow: ');
    assert.equal((await send([[LOOPBACK]], { signal: soon() })).error, 'timeout');
    const sender = new WebhookSender(new TargetAddresses(), () => new Promise(() => undefined));
    const message = { url: 'https://shop.example/', headers: {}, body: Buffer.from('{}') };
    assert.equal((await sender.send(message, soon())).error, 'timeout');
  });

  test('ends by itself after 15 seconds, lookup of the name included', { timeout: 10_000 }, async (context) => {
    assert.equal(LIMITS.webhookAttemptMs, 15 * SECOND);
    const deadlines: { readonly milliseconds: number; readonly controller: AbortController }[] = [];
    // The mock is restored at the end of this test, whatever its result is.
    context.mock.method(AbortSignal, 'timeout', (milliseconds: number) => {
      const controller = new AbortController();
      deadlines.push({ milliseconds, controller });
      return controller.signal;
    });
    const lookup = Promise.withResolvers<void>();
    const sender = new WebhookSender(new TargetAddresses(), () => {
      lookup.resolve();
      return new Promise(() => undefined);
    });
    const message = { url: 'https://shop.example/', headers: {}, body: Buffer.from('{}') };
    const received = Promise.withResolvers<void>();
    respond = () => received.resolve();
    // Neither attempt has a signal of its caller, and neither the name nor the response ever arrives.
    for (const [begin, inProgress] of [
      [() => sender.send(message), lookup.promise],
      [() => send([[LOOPBACK]]), received.promise],
    ] as const) {
      deadlines.length = 0;
      const attempt = begin();
      await inProgress;
      const [deadline] = deadlines;
      assert.deepEqual([deadlines.length, deadline?.milliseconds], [1, LIMITS.webhookAttemptMs]);
      deadline?.controller.abort();
      assert.equal((await attempt).error, 'timeout');
    }
    sender.close();
  });

  test('lasts as long as its connection, with the result of the headers', async () => {
    const started = Promise.withResolvers<void>();
    respond = (_, response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.flushHeaders();
      started.resolve();
    };
    const sender = newSender([[LOOPBACK]]);
    const ends = new AbortController();
    const message = { url: `http://shop.example:${port}/hook`, headers: {}, body: Buffer.from('{}') };
    let result: unknown;
    const sent = sender.send(message, ends.signal).then((given) => {
      result = given;
    });
    await started.promise;
    // Enough rounds of I/O events for the headers to arrive.
    for (let round = 0; round < 20; round++) await new Promise((resolve) => setTimeout(resolve, 1));
    assert.equal(result, undefined);
    ends.abort();
    await sent;
    assert.deepEqual(result, { statusCode: 200, error: undefined, retryAfter: undefined });
    sender.close();
  });

  test('reads a bounded part of a response, and has ended before', async () => {
    const closed = Promise.withResolvers<number>();
    const chunk = Buffer.alloc(64 * 1024);
    // The buffers of a connection take some of what is never read, and much less than this.
    const most = 2048 * chunk.length;
    respond = (_, response) => {
      let written = 0;
      response.writeHead(200);
      const write = (): void => {
        while (!response.destroyed && written < most) {
          written += chunk.length;
          if (!response.write(chunk)) return;
        }
        response.end();
      };
      response.on('drain', write);
      response.on('close', () => closed.resolve(written));
      write();
    };
    const sender = newSender([[LOOPBACK]]);
    const message = { url: `http://shop.example:${port}/hook`, headers: {}, body: Buffer.from('{}') };
    assert.equal((await sender.send(message)).error, undefined);
    const written = await closed.promise;
    sender.close();
    assert.ok(written < most, `the receiver could write all ${written} bytes`);
  });

  test('verifies the certificate whatever the environment says', async () => {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const der = await createSelfSigned(privateKey, 'shop.example', Date.now());
    const cert = new X509Certificate(der).toString();
    const key = privateKey.export({ type: 'pkcs8', format: 'pem' });
    const secure = createHttpsServer({ cert, key }, (_, response) => void response.end());
    await new Promise<void>((resolve) => secure.listen(0, '127.0.0.1', resolve));
    const url = `https://shop.example:${(secure.address() as AddressInfo).port}/`;
    process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
    try {
      assert.equal((await send([[LOOPBACK]], { url })).error, 'tls');
    } finally {
      delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
      secure.close();
    }
  });
});

/** A program that sends to the URLs of its arguments. */
const SENDING = join(import.meta.dirname, '..', '..', 'test', 'fixtures', 'sending-process.ts');
/** Settings with which a client of Node accepts TLS 1.1, which it refuses by default. */
const WEAK_TLS = '--tls-min-v1.0 --tls-cipher-list=DEFAULT@SECLEVEL=0';

describe('an attempt over TLS', () => {
  let folder: string;
  let ca: string;
  const servers: HttpsServer[] = [];
  const ports: Record<'usual' | 'tls12' | 'tls11', number> = { usual: 0, tls12: 0, tls11: 0 };
  /** The requests that the servers received. */
  const received: { readonly name: unknown; readonly host: string | undefined; readonly protocol: string | null }[] =
    [];
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'cardvault-test-'));
    const authority = await createCa(Date.now());
    ca = authority.certificate;
    writeFileSync(join(folder, 'ca.pem'), ca);
    const { certificate: cert, key } = await createServerCertificate(
      authority,
      [{ type: 'dns', value: 'shop.example' }],
      Date.now(),
    );
    const start = async (options: SecureContextOptions): Promise<number> => {
      const server = createHttpsServer({ cert, key, ...options }, (request, response) => {
        const socket = request.socket as TLSSocket;
        received.push({ name: socket.servername, host: request.headers.host, protocol: socket.getProtocol() });
        response.writeHead(204).end();
      });
      server.on('tlsClientError', () => undefined);
      servers.push(server);
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      return (server.address() as AddressInfo).port;
    };
    ports.usual = await start({});
    ports.tls12 = await start({ maxVersion: 'TLSv1.2' });
    ports.tls11 = await start({ minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' });
  });
  after(() => {
    for (const server of servers) server.close();
    rmSync(folder, { recursive: true, force: true });
  });
  afterEach(() => {
    received.length = 0;
  });

  /** Sends from a process of its own, because Node reads these variables at its start. */
  async function sendFrom(variables: Readonly<Record<string, string>>, ...urls: string[]): Promise<unknown[]> {
    const env = { ...process.env, NODE_OPTIONS: '', ...variables };
    const { stdout } = await promisify(execFile)(process.execPath, [SENDING, ...urls], { env });
    return JSON.parse(stdout);
  }
  const trusting = () => ({ NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem') });
  const DELIVERED = { statusCode: 204 };
  const UNTRUSTED = { error: 'tls' };

  test('names the host, and trusts the authorities of NODE_EXTRA_CA_CERTS for its own name alone', async () => {
    const urls = ['shop.example', 'other.example', '127.0.0.1'].map((host) => `https://${host}:${ports.usual}/hook`);
    const results = await sendFrom({ ...trusting(), NODE_TLS_REJECT_UNAUTHORIZED: '0' }, ...urls);
    assert.deepEqual(results, [DELIVERED, UNTRUSTED, UNTRUSTED]);
    const expected = { name: 'shop.example', host: `shop.example:${ports.usual}`, protocol: 'TLSv1.3' };
    assert.deepEqual(received, [expected]);
    assert.deepEqual(await sendFrom({}, urls[0] ?? ''), [UNTRUSTED]);
  });

  test('takes TLS 1.2, and nothing older whatever the environment says', async () => {
    const weak = { minVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const;
    const socket = connect({ port: ports.tls11, host: '127.0.0.1', servername: 'shop.example', ca, ...weak });
    await once(socket, 'secureConnect');
    assert.equal(socket.getProtocol(), 'TLSv1.1');
    socket.destroy();
    const urls = [ports.tls12, ports.tls11].map((port) => `https://shop.example:${port}/hook`);
    assert.deepEqual(await sendFrom({ ...trusting(), NODE_OPTIONS: WEAK_TLS }, ...urls), [DELIVERED, UNTRUSTED]);
    assert.deepEqual(
      received.map(({ protocol }) => protocol),
      ['TLSv1.2'],
    );
  });

  test('connects to no proxy, whatever the environment says', async () => {
    let connections = 0;
    const proxy = createTcpServer((socket) => {
      connections++;
      socket.destroy();
    });
    const plain = createServer((_, response) => void response.writeHead(204).end());
    for (const server of [proxy, plain]) await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const portOf = (server: Pick<Server, 'address'>): number => (server.address() as AddressInfo).port;
    try {
      const names = ['HTTPS_PROXY', 'HTTP_PROXY', 'ALL_PROXY'].flatMap((name) => [name, name.toLowerCase()]);
      const proxies = Object.fromEntries(names.map((name) => [name, `http://127.0.0.1:${portOf(proxy)}`]));
      const variables = { ...trusting(), ...proxies, NODE_USE_ENV_PROXY: '1', NO_PROXY: '', no_proxy: '' };
      const urls = [`https://shop.example:${ports.usual}/hook`, `http://shop.example:${portOf(plain)}/hook`];
      assert.deepEqual(await sendFrom(variables, ...urls), [DELIVERED, DELIVERED]);
      assert.equal(connections, 0);
    } finally {
      proxy.close();
      plain.close();
    }
  });
});
