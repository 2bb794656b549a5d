import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { after, describe, test } from 'node:test';
import { Connections, type Reply } from './connection.ts';

const connections = new Connections();
after(() => connections.close());

/** What comes of a request to somebody who answers these bytes and keeps the connection open. */
async function askOf(bytes: string): Promise<Reply> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.write(bytes));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  const url = new URL(`http://127.0.0.1:${address.port}/`);
  try {
    return await connections.send({ method: 'POST', url, headers: {}, body: '{}', signal: AbortSignal.timeout(5000) });
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
    test(`that brings ${name} tells nothing, at once`, { timeout: 4000 }, async () => {
      assert.equal((await askOf(bytes)).kind, 'unknown');
    });

  test('passes over early hints', async () => {
    const bytes = 'HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}';
    assert.deepEqual(await askOf(bytes), { kind: 'answered', status: 201, body: '{}' });
  });

  test('follows no redirect', async () => {
    const reply = await askOf('HTTP/1.1 307 T\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n');
    assert.deepEqual(reply, { kind: 'answered', status: 307, body: '' });
  });
});
