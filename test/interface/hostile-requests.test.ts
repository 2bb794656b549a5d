import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { LIMITS } from '../../src/kernel/limits.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import { assertUnreadable, assertUnreadableOrCut, dial, exchange, requestText, untilClosed } from '../fixtures/wire.ts';

const PATH = '/v1/tokenization/simple';
const CARDS = JSON.stringify({ chd: [{ card: '4111111111111111', name: 'A', exp: '12/29' }], tags: [], scheme: 7 });

describe('malformed and unusual requests', () => {
  let service: TestService;
  let key: string;
  before(async () => {
    service = await startTestService();
    key = (await service.newKey(await service.newAccount())).secret;
  });
  after(async () => {
    // Nothing of all this was an error of the service.
    const errors = service.log.filter((line) => ['error', 'fatal'].includes(JSON.parse(line).level));
    await service.stop();
    assert.deepEqual(errors, []);
  });

  const headers = (more: Record<string, string> = {}): Record<string, string> => ({
    'x-api-key': key,
    'content-type': 'application/json',
    ...more,
  });
  const isServing = async (): Promise<void> => {
    assert.equal((await service.call('POST', PATH, { key, body: CARDS })).status, 200);
  };

  test('malformed percent-encoding is 400, in the envelope, and logged without the path', async () => {
    for (const path of ['/v1/tokens/%/inspect', '/v1/tokens/%zz/inspect', '/v1/tokens/%4/inspect', '/%E0%A4%A']) {
      const [response] = await exchange(service, requestText(`GET ${path}`, headers({ 'x-request-id': 'percent' })));
      assert.equal(response?.status, 400, path);
      assert.equal(response.headers['x-request-id'], 'percent');
      const { desc, ...rest } = JSON.parse(response.body);
      assert.deepEqual(rest, { status_code: 400, status: 'fail', data: '' });
      assert.ok(!desc.includes('%'));
    }
    const lines = service.log.map((line) => JSON.parse(line)).filter(({ request_id }) => request_id === 'percent');
    assert.deepEqual(
      lines.map(({ status, route }) => [status, route]),
      Array(4).fill([400, '(none)']),
    );
  });

  test('encoded and unusual characters in a path parameter are an unknown record', async () => {
    for (const id of ['%00', '%0d%0aset-cookie:x', '..%2f..%2fetc', '%F0%9F%92%B3', "'%20or%201=1--", '%', '*'].filter(
      (each) => each !== '%',
    )) {
      const response = await service.call('GET', `/v1/tokens/${id}/inspect`, { key });
      assert.equal(response.status, 400, id);
      assert.equal(response.headers['set-cookie'], undefined);
    }
  });

  test('a very long path is rejected, with and without a valid key', async () => {
    const responses = await exchange(service, requestText(`GET /v1/tokens/${'a'.repeat(10_000)}/inspect`, headers()));
    assert.ok([400, 404, 414].includes(responses[0]?.status ?? 0), `${responses[0]?.status}`);
    assert.ok(responses[0]?.headers['x-request-id']);
    assert.equal((await service.call('GET', `/${'a'.repeat(10_000)}`)).status, 404);
    assert.equal((await service.call('GET', `/v1/account?${'a'.repeat(10_000)}`, { key })).status, 200);
    assertUnreadableOrCut(await exchange(service, requestText(`GET /${'a'.repeat(40_000)}`)));
    await isServing();
  });

  test('headers beyond their limit are rejected', async () => {
    assertUnreadableOrCut(await exchange(service, requestText('GET /healthz', { long: 'x'.repeat(20_000) })));
    const many = Object.fromEntries(Array.from({ length: 2000 }, (_, index) => [`h${index}`, 'x'.repeat(10)]));
    assertUnreadableOrCut(await exchange(service, requestText('GET /healthz', many)));
    assert.equal((await exchange(service, requestText('GET /healthz', { long: 'x'.repeat(8000) })))[0]?.status, 200);
  });

  test('NUL bytes are rejected in the head, and are malformed JSON in the body', async () => {
    for (const line of ['GET /heal\0thz', 'GET /healthz\0', 'GE\0T /healthz']) {
      const responses = await exchange(service, requestText(line));
      assert.ok(
        responses.every(({ status }) => status >= 400),
        JSON.stringify(line),
      );
    }
    assertUnreadable(await exchange(service, requestText('GET /healthz', { 'x-request-id': 'a\0b' })));
    for (const body of ['\0', `${CARDS}\0`, CARDS.replace('"A"', '"A\0"')]) {
      const { status, json } = await service.call('POST', PATH, { key, body });
      assert.equal(status, 400);
      assert.match(json.desc, /^malformed JSON at character [0-9]+: /);
    }
    const { status, json } = await service.call('POST', PATH, { key, body: CARDS.replace('"A"', '"A\\u0000"') });
    assert.equal(status, 400);
    assert.match(json.desc, /^chd\[0\]\.name: /);
  });

  test('pipelined requests are answered in order', async () => {
    const ids = Array.from({ length: 12 }, (_, index) => `pipe-${index}`);
    const text = ids
      .map((id, index) => {
        const connection = index === ids.length - 1 ? 'close' : 'keep-alive';
        const own = { connection, 'x-request-id': id };
        if (index % 3 === 0) return requestText('GET /healthz', own);
        if (index % 3 === 1) return requestText('POST /v1/account', headers(own));
        return requestText(`POST ${PATH}`, headers({ ...own, 'content-length': String(CARDS.length) }), CARDS);
      })
      .join('');
    const responses = await exchange(service, text);
    assert.deepEqual(
      responses.map(({ headers }) => headers['x-request-id']),
      ids,
    );
    assert.deepEqual([...new Set(responses.map(({ status }) => status))], [200]);
    for (const [index, { body }] of responses.entries()) {
      const data = JSON.parse(body).data;
      assert.equal(index % 3 === 0, data === undefined);
      if (index % 3 === 2) assert.equal(data.tokens.length, 1);
    }
  });

  /** How many connections to the sandbox were closed because too many requests waited on them. */
  const closedConnections = async (): Promise<number> => {
    const { text } = await service.call('GET', '/metrics', { environment: 'console' });
    const value = /^cardvault_pipelined_connections_closed_total\{listener="sandbox"\} ([0-9]+)$/m.exec(text)?.[1];
    return Number(value ?? 0);
  };

  test('as many requests may wait for one connection as the limit says, and more close it', async () => {
    // Its response waits for the database, so all of these are read before the first one responds.
    const ask = (count: number): string =>
      requestText('GET /readyz', { connection: 'keep-alive' }).repeat(count - 1) + requestText('GET /readyz');
    const answered = await exchange(service, ask(LIMITS.pipelinedRequests + 1));
    assert.deepEqual(
      answered.map(({ status }) => status),
      Array(LIMITS.pipelinedRequests + 1).fill(200),
    );
    assert.equal(await closedConnections(), 0);
    const before = service.log.length;
    const socket = await dial(service);
    socket.on('error', () => undefined);
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.write(ask(2000));
    socket.resume();
    await closed;
    await isServing();
    const lines = service.log.slice(before).filter((line) => JSON.parse(line).route === '/readyz');
    assert.ok(lines.length <= LIMITS.pipelinedRequests + 1, `${lines.length} of 2,000 requests were served`);
    assert.equal(await closedConnections(), 1);
  });

  test('bytes after a rejected request on the same connection are a separate request', async () => {
    const smuggled = requestText('POST /v1/account', headers());
    const first = requestText(`POST ${PATH}`, {
      connection: 'keep-alive',
      'x-api-key': 'wrong',
      'content-length': String(smuggled.length),
    });
    const last = requestText('GET /healthz', { 'x-request-id': 'last' });
    const responses = await exchange(service, first + smuggled + last);
    assert.equal(responses[0]?.status, 403);
    assert.ok(responses.slice(1).every(({ headers }) => headers['x-request-id'] === 'last'));
  });

  test('contradictory or malformed lengths are rejected', async () => {
    const line = `POST ${PATH}`;
    const cases: [string, Record<string, string>][] = [
      ['both', { 'content-length': '5', 'transfer-encoding': 'chunked' }],
      ['negative', { 'content-length': '-1' }],
      ['words', { 'content-length': 'ten' }],
      ['plus', { 'content-length': '+5' }],
      ['list', { 'content-length': '5, 6' }],
      ['huge', { 'content-length': '99999999999999999999999' }],
      ['unknown encoding', { 'transfer-encoding': 'cow' }],
    ];
    for (const [what, lengths] of cases) {
      const responses = await exchange(service, requestText(line, headers(lengths), '0\r\n\r\n'));
      assert.ok(
        responses.every(({ status }) => status >= 400),
        what,
      );
    }
    const twice = requestText(line, headers({ 'content-length': '5', 'Content-Length': '6' }), 'x'.repeat(6));
    assertUnreadable(await exchange(service, twice));
    await isServing();
  });

  test('a length that is too small never has an effect, and one that is too large waits for the rest', async () => {
    const short = headers({ 'content-length': String(CARDS.length - 10) });
    for (const connection of ['close', 'keep-alive']) {
      const responses = await exchange(service, requestText(`POST ${PATH}`, { ...short, connection }, CARDS));
      assert.ok(responses.every(({ status }) => status === 400));
    }

    const socket = await dial(service);
    const received = untilClosed(socket);
    const long = headers({ 'content-length': String(CARDS.length + 2) });
    socket.write(requestText(`POST ${PATH}`, long, CARDS));
    await sleep(300);
    socket.write('\r\n');
    assert.match(await received, /^HTTP\/1\.1 200 /);
  });

  test('a body that arrives byte by byte is read completely', async () => {
    const socket = await dial(service);
    const received = untilClosed(socket);
    const length = String(CARDS.length);
    for (const byte of requestText(`POST ${PATH}`, headers({ 'content-length': length }), CARDS)) {
      socket.write(byte);
      await sleep(1);
    }
    assert.match(await received, /^HTTP\/1\.1 200 /);
  });

  test('requests that are aborted midway cause only a log line', async () => {
    const count = 40;
    const read = async (): Promise<number> =>
      Number((await service.core.database.read('select count(*) as n from tokens'))[0]?.['n']);
    const before = await read();
    for (let index = 0; index < count; index++) {
      const socket = await dial(service);
      const text = requestText(`POST ${PATH}`, headers({ 'content-length': String(CARDS.length) }), CARDS);
      socket.write(text.slice(0, text.length - 1 - (index % 60)));
      await sleep(2);
      if (index % 2 === 0) socket.destroy();
      else socket.end();
    }
    await isServing();
    assert.equal(await read(), before + 1);
  });

  test('silent connections do not block others', async () => {
    const silent = await Promise.all(Array.from({ length: 100 }, () => dial(service)));
    silent.forEach((socket) => {
      socket.on('error', () => undefined);
    });
    await isServing();
    for (const socket of silent) socket.destroy();
  });

  test('an early response does not need the body', async () => {
    const socket = await dial(service);
    const first = new Promise<string>((resolve) => socket.once('data', (chunk: Buffer) => resolve(String(chunk))));
    socket.on('error', () => undefined);
    socket.write(requestText(`POST ${PATH}`, { 'x-api-key': 'wrong', 'content-length': '1000000' }, 'x'));
    assert.match(await first, /^HTTP\/1\.1 403 /);
    socket.destroy();
  });

  test('Expect: 100-continue is answered once the key is checked', async () => {
    const own = { expect: '100-continue', 'content-length': String(CARDS.length) };
    const socket = await dial(service);
    const received = untilClosed(socket);
    socket.write(requestText(`POST ${PATH}`, headers(own), CARDS));
    assert.match(await received, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 /);
  });

  test('HTTP/1.0 is served, and an Upgrade is ignored', async () => {
    const old = requestText('GET /healthz').replace('HTTP/1.1', 'HTTP/1.0');
    assert.equal((await exchange(service, old))[0]?.status, 200);
    const upgrade = { connection: 'upgrade, close', upgrade: 'websocket' };
    assert.equal((await exchange(service, requestText('GET /healthz', upgrade)))[0]?.status, 200);
  });
});
