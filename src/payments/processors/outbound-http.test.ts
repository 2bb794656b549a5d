import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { after, describe, test } from 'node:test';
import { newKeyPair } from '../../../test/fixtures/rsa-key-pairs.ts';
import { createSelfSigned } from '../../crypto/certificate.ts';
import { ProcessorHosts } from '../processor-hosts.ts';
import { type HttpResult, OutboundHttp, type ProcessorRequest } from './outbound-http.ts';

const connections = new OutboundHttp(new ProcessorHosts());
after(() => connections.close());

const TO = { processor: 'koin', documentedOrigins: ['https://pay.example'] };

const requestTo = (url: string, environment: 'sandbox' | 'production' = 'sandbox'): ProcessorRequest => ({
  tenant: { account: 'acct_1', environment },
  to: TO,
  method: 'POST',
  url: new URL(url),
  headers: {},
  body: '{}',
  signal: AbortSignal.timeout(5000),
});

async function listening(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Returns the result of a request to a server that sends these bytes and keeps the connection open. */
async function askOf(bytes: string): Promise<HttpResult> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.write(bytes));
  });
  const host = await listening(server);
  try {
    return await connections.send(requestTo(`http://${host}/`));
  } finally {
    server.close();
  }
}

const ODD_ANSWERS = {
  'an upgrade': 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n',
  'a chunk of no size': 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}',
  'two lengths': 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}',
  'no HTTP': 'SSH-2.0\r\n',
};

describe('a connection to a processor', () => {
  for (const [name, bytes] of Object.entries(ODD_ANSWERS))
    test(`that receives ${name} fails without waiting`, { timeout: 4000 }, async () => {
      assert.equal((await askOf(bytes)).kind, 'unknown');
    });

  test('skips early hints', async () => {
    const bytes = 'HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}';
    assert.deepEqual(await askOf(bytes), { kind: 'answered', status: 201, body: '{}' });
  });

  test('verifies the certificate whatever the environment says', async () => {
    const { privateKey } = newKeyPair();
    const cert = new X509Certificate(await createSelfSigned(privateKey, 'pay.example', Date.now())).toString();
    const key = privateKey.export({ type: 'pkcs8', format: 'pem' });
    let visits = 0;
    const server = createHttpsServer({ cert, key }, (_request, response) => {
      visits++;
      response.end('{}');
    });
    const url = `https://${await listening(server)}/`;
    process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
    try {
      const reply = await connections.send(requestTo(url));
      assert.deepEqual([reply.kind, visits], ['not-sent', 0]);
    } finally {
      delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
      server.close();
    }
  });

  for (const status of [302, 307])
    test(`follows no redirect of status ${status}`, async () => {
      let visits = 0;
      const target = createHttpServer((_request, response) => {
        visits++;
        response.end('{}');
      });
      const location = `http://${await listening(target)}/`;
      const origin = createHttpServer((_request, response) => response.writeHead(status, { location }).end());
      try {
        const reply = await connections.send(requestTo(`http://${await listening(origin)}/`));
        assert.deepEqual([reply, visits], [{ kind: 'answered', status, body: '' }, 0]);
      } finally {
        target.close();
        origin.close();
      }
    });
});

describe('the host of a request in production', () => {
  test('receives no request unless it is documented or listed, also on an open connection', async () => {
    let visits = 0;
    const server = createHttpServer((_request, response) => {
      visits++;
      response.end('{}');
    });
    const host = await listening(server);
    const reported: string[] = [];
    const [listing, strict] = [new OutboundHttp(new ProcessorHosts([host])), connections];
    for (const each of [listing, strict])
      each.onHostRefused((tenant, processor) => reported.push(`${tenant.account} ${processor}`));
    try {
      assert.equal((await strict.send(requestTo(`http://${host}/`))).kind, 'answered');
      const refused = await strict.send(requestTo(`http://${host}/`, 'production'));
      assert.deepEqual(refused, { kind: 'not-sent', why: 'host-refused' });
      assert.deepEqual([visits, reported], [1, ['acct_1 koin']]);
      assert.equal((await listing.send(requestTo(`http://${host}/`, 'production'))).kind, 'answered');
      assert.equal(visits, 2);
    } finally {
      listing.close();
      server.close();
    }
  });
});
