import assert from 'node:assert/strict';
import { generateKeyPairSync, X509Certificate } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { after, afterEach, before, describe, test } from 'node:test';
import { createSelfSigned } from '../crypto/certificate.ts';
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
  async function send(
    answers: readonly { address: string; family: number }[][],
    { url = `http://shop.example:${port}/hook`, signal }: { url?: string; signal?: AbortSignal } = {},
  ) {
    let lookups = 0;
    const sender = new WebhookSender(
      new TargetAddresses(['127.0.0.0/8'], () => []),
      async () => answers[lookups++] ?? [],
    );
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

  test('reads a bounded part of a response, and has ended before', async () => {
    const closed = Promise.withResolvers<number>();
    respond = (_, response) => {
      let written = 0;
      response.writeHead(200);
      const chunk = Buffer.alloc(16 * 1024);
      const write = (): void => {
        while (!response.destroyed && response.write(chunk)) written += chunk.length;
      };
      response.on('drain', write);
      response.on('close', () => closed.resolve(written));
      write();
    };
    assert.equal((await send([[LOOPBACK]])).error, undefined);
    await closed.promise;
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
