import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { LIMITS } from '../../src/kernel/limits.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import { assertUnreadable, dial, exchange, requestText, untilClosed } from '../fixtures/wire.ts';

const LISTENERS = ['production', 'sandbox', 'console', 'cards'] as const;

describe('bytes that are not HTTP, over TLS', () => {
  let service: TestService;
  before(async () => {
    service = await startTestService();
  });
  after(async () => {
    const errors = service.log.filter((line) => ['error', 'fatal'].includes(JSON.parse(line).level));
    await service.stop();
    assert.deepEqual(errors, []);
  });

  const isServing = async (): Promise<void> => {
    for (const environment of LISTENERS)
      assert.equal((await service.call('GET', '/healthz', { environment })).status, 200);
  };

  const malformed: Readonly<Record<string, string>> = {
    'a line feed in a header': requestText('GET /healthz', { 'x-api-key': 'a\nb' }),
    'a line feed and a second header': requestText('GET /healthz', { 'x-api-key': 'a\n\nb: c' }),
    'a carriage return in a header': requestText('GET /healthz', { 'x-api-key': 'a\rb' }),
    'a length in letters': requestText('POST /v1/account', { 'content-length': 'abc' }),
    'a negative length': requestText('POST /v1/account', { 'content-length': '-1' }),
    'a blank in the name of a header': requestText('GET /healthz', { 'x api key': 'a' }),
    'no method': '\u0001\u0002\u0003 / HTTP/1.1\r\n\r\n',
    'another version': 'GET /healthz HTTP/9.9\r\nhost: localhost\r\n\r\n',
    'another protocol': 'SSH-2.0-OpenSSH_9.9\r\n\r\n',
  };
  for (const [what, text] of Object.entries(malformed)) {
    test(`${what}: 400 in the envelope, and the connection is closed`, async () => {
      for (const environment of LISTENERS) assertUnreadable(await exchange(service, text, { environment }), what);
      await isServing();
    });
  }

  test('headers beyond their limit: 400 in the envelope, and the connection is closed', async () => {
    const socket = await dial(service);
    const received = untilClosed(socket);
    const line = 'GET /healthz HTTP/1.1\r\nhost: localhost\r\nlong: ';
    socket.write(line + 'x'.repeat(LIMITS.headerBytes - line.length - 64));
    // Everything is read when the limit is met: what is left unread would reset the connection, and its answer with it.
    await sleep(300);
    socket.write(`${'x'.repeat(20 * 1024 - LIMITS.headerBytes)}\r\n\r\n`);
    const text = await received;
    assert.match(text, /^HTTP\/1\.1 400 Bad Request\r\n/);
    assert.match(text, /\r\nconnection: close\r\n/);
    const body = text.slice(text.indexOf('\r\n\r\n') + 4);
    const desc = 'The request itself cannot be read.';
    assert.equal(body, JSON.stringify({ status_code: 400, status: 'fail', desc, data: '' }));
    await isServing();
  });

  test('after a valid request on the same connection: a separate response', async () => {
    const good = requestText('GET /healthz', { connection: 'keep-alive' });
    const socket = await dial(service);
    const received = untilClosed(socket);
    const first = new Promise<void>((resolve) => socket.once('data', () => resolve()));
    socket.write(good);
    await first;
    socket.write(malformed['a length in letters'] ?? '');
    const text = await received;
    const statuses = [...text.matchAll(/HTTP\/1\.1 ([0-9]{3}) /g)].map(([, status]) => status);
    assert.deepEqual(statuses, ['200', '400']);
    await isServing();
  });

  test('the response has the members and the text of every other failure of the vault', async () => {
    const [response = assert.fail()] = await exchange(service, malformed['a line feed in a header'] ?? '');
    const unknown = await service.call('GET', '/no/such/path');
    assert.deepEqual(Object.keys(JSON.parse(response.body)), Object.keys(unknown.json));
    assert.equal(response.headers['content-type'], unknown.headers['content-type']);
  });

  test('without TLS: no response', async () => {
    for (const environment of LISTENERS) {
      for (const text of Object.values(malformed)) {
        const socket = connect(service.ports[environment], '127.0.0.1');
        const chunks: Buffer[] = [];
        socket.on('data', (chunk: Buffer) => chunks.push(chunk));
        socket.on('error', () => undefined);
        socket.write(text);
        await new Promise((resolve) => socket.on('close', resolve));
        assert.doesNotMatch(Buffer.concat(chunks).toString('latin1'), /HTTP|status/);
      }
    }
    await isServing();
  });
});
