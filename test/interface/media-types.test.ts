import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { shareService } from '../fixtures/shared-service.ts';
import type { TestService } from '../fixtures/test-service.ts';
import { exchange, requestText } from '../fixtures/wire.ts';
import { LINES } from './request-lines.ts';

const shared = shareService();

const MIB = 1024 * 1024;

describe('media types and sizes', () => {
  let service: TestService;
  let key: string;
  before(async () => {
    service = await shared.open();
    key = (await service.newKey(await service.newAccount())).secret;
  });
  after(() => shared.close());

  const path = '/v1/tokenization/simple';
  const body = LINES.find((line) => line.path === path)?.body;
  const withType = async (type: string): Promise<number> =>
    (await service.call('POST', path, { key, body, headers: { 'content-type': type } })).status;

  for (const type of [
    'application/json',
    'application/json; charset=utf-8',
    'application/json;charset=UTF-8',
    'APPLICATION/JSON',
    'Application/Json ; charset="utf-8"; version=1',
    'application/json;',
    ' application/json ',
  ]) {
    test(`"${type}" is accepted`, async () => assert.equal(await withType(type), 200));
  }

  for (const type of [
    'text/plain',
    'text/json',
    'application/jsonp',
    'application/json5',
    'application/problem+json',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/xml',
    'application/octet-stream',
    'application',
    'application/',
    '/json',
    'json',
    '*/*',
    '',
    ';',
    'text/plain; application/json',
    'text/plain, application/json',
  ]) {
    test(`"${type}" is 415`, async () => assert.equal(await withType(type), 415));
  }

  test('a body without a type is 415, and so is no body at all', async () => {
    const text = JSON.stringify(body);
    const headers = { 'x-api-key': key, 'content-length': String(text.length) };
    const [response] = await exchange(service, requestText(`POST ${path}`, headers, text));
    assert.equal(response?.status, 415);
    const [empty] = await exchange(service, requestText(`POST ${path}`, { 'x-api-key': key }));
    assert.equal(empty?.status, 415);
  });

  test('an empty body with the required type is 400', async () => {
    const { status, json } = await service.call('POST', path, { key, body: '' });
    assert.equal(status, 400);
    assert.match(json.desc, /^malformed JSON/);
  });

  test('every endpoint with a body requires its type', async () => {
    for (const { method, path, body } of LINES.filter((line) => line.body !== undefined)) {
      const response = await service.call(method, path, { key, body, headers: { 'content-type': 'text/plain' } });
      assert.equal(response.status, 415, `${method} ${path}`);
    }
  });

  test('any Content-Encoding is 415 on every endpoint, also one that changes nothing', async () => {
    for (const { method, path, body = '' } of LINES) {
      for (const encoding of ['gzip', 'br', 'deflate', 'identity', '']) {
        const headers = { 'content-encoding': encoding };
        const { status } = await service.call(method, path, { key, body: gzipSync(JSON.stringify(body)), headers });
        assert.equal(status, 415, `${method} ${path} ${encoding}`);
      }
    }
  });

  test('the account endpoint needs neither body nor type', async () => {
    const text = JSON.stringify({ any: 'thing' });
    const length = String(text.length);
    const requests = [
      requestText('POST /v1/account', { 'x-api-key': key }),
      requestText('POST /v1/account', { 'x-api-key': key, 'content-length': '0' }),
      requestText('POST /v1/account', { 'x-api-key': key, 'content-length': length }, text),
      ...['text/plain', 'application/json', 'nonsense', ';', 'a/b;c'].map((type) =>
        requestText('POST /v1/account', { 'x-api-key': key, 'content-type': type, 'content-length': length }, text),
      ),
      requestText('POST /v1/account', { 'x-api-key': key, 'content-type': 'nonsense' }),
      requestText('POST /v1/account', { 'x-api-key': key, 'transfer-encoding': 'chunked' }, '3\r\n{{{\r\n0\r\n\r\n'),
    ];
    for (const request of requests) {
      const [response] = await exchange(service, request);
      assert.equal(response?.status, 200, request);
    }
  });

  describe('sizes', () => {
    const ofSize = (size: number): string => {
      const start = '{"chd":[{"card":"4111111111111111","name":"A","exp":"12/29"}],"tags":[],"scheme":1,"more":"';
      return `${start}${'x'.repeat(size - start.length - 2)}"}`;
    };

    test('1 MiB is accepted, one byte more is 413', async () => {
      assert.equal(ofSize(MIB).length, MIB);
      assert.equal((await service.call('POST', path, { key, body: ofSize(MIB) })).status, 200);
      const { status, json } = await service.call('POST', path, { key, body: ofSize(MIB + 1) });
      assert.equal(status, 413);
      assert.deepEqual(Object.keys(json), ['status_code', 'status', 'desc', 'data']);
    });

    test('bytes are counted, not characters', async () => {
      const wide = ofSize(MIB).replace(/x{100}/, 'é'.repeat(100));
      assert.equal(wide.length, MIB);
      assert.equal((await service.call('POST', path, { key, body: wide })).status, 413);
    });

    test('a chunked body is counted while it arrives', async () => {
      const chunked = (text: string): string => {
        const middle = 700_000;
        const parts = [text.slice(0, middle), text.slice(middle)];
        return `${parts.map((part) => `${part.length.toString(16)}\r\n${part}\r\n`).join('')}0\r\n\r\n`;
      };
      const headers = { 'x-api-key': key, 'content-type': 'application/json', 'transfer-encoding': 'chunked' };
      const send = async (size: number): Promise<number | undefined> =>
        (await exchange(service, requestText(`POST ${path}`, headers, chunked(ofSize(size)))))[0]?.status;
      assert.equal(await send(MIB), 200);
      assert.equal(await send(MIB + 1), 413);
    });
  });
});
