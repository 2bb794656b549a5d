import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import { assertUnreadable, exchange, requestText } from '../fixtures/wire.ts';
import { LINES, patternOf } from './request-lines.ts';

const MIB = 1024 * 1024;

describe('order of checks', () => {
  let service: TestService;
  let key: string;
  before(async () => {
    service = await startTestService();
    key = (await service.newKey(await service.newAccount())).secret;
  });
  after(() => service.stop());

  const tokenize = '/v1/tokenization/simple';
  const tooLarge = 'x'.repeat(MIB + 1);

  // Each request is wrong in everything that is checked later as well.
  test('an unknown path is 404 before anything else', async () => {
    const paths = [
      '/v1/tokenization',
      '/v1/tokenization/simple/more',
      '/V1/tokenization/simple',
      '/v1/request',
      '/V1/request',
      '/V1/requests/x/tokenize',
      '/transactions',
      '/transactions/requests/x/y',
      '/v1/Tokens',
      '//v1/tokens',
      '/',
      '/nothing',
    ];
    for (const path of paths) {
      for (const method of ['POST', 'GET', 'PUT', 'OPTIONS']) {
        const response = await service.call(method, path, {
          body: tooLarge,
          headers: { 'content-type': 'text/plain' },
        });
        assert.equal(response.status, 404, `${method} ${path}`);
        assert.equal(response.headers.allow, undefined);
      }
    }
  });

  test('an unsupported method is 405 before the key', async () => {
    const headers = { 'content-type': 'text/plain', 'content-encoding': 'gzip', 'idempotency-key': '' };
    const response = await service.call('PUT', tokenize, { body: tooLarge, headers });
    assert.equal(response.status, 405);
    assert.equal(response.headers.allow, 'POST');
  });

  test('an invalid key is 403 before the media type', async () => {
    const headers = { 'content-type': 'text/plain', 'idempotency-key': '' };
    assert.equal((await service.call('POST', tokenize, { key: 'wrong', body: tooLarge, headers })).status, 403);
  });

  test('an unsupported media type is 415 before the size', async () => {
    const headers = { 'content-type': 'text/plain', 'idempotency-key': '' };
    assert.equal((await service.call('POST', tokenize, { key, body: tooLarge, headers })).status, 415);
  });

  test('an excessive size is 413 before the Idempotency-Key', async () => {
    const headers = { 'idempotency-key': '' };
    assert.equal((await service.call('POST', tokenize, { key, body: tooLarge, headers })).status, 413);
  });

  test('a malformed Idempotency-Key is 400 before the syntax', async () => {
    for (const wrong of ['', 'a b', 'x'.repeat(256), 'ä', 'a\tb']) {
      const headers = { 'idempotency-key': wrong };
      const response = await service.call('POST', tokenize, { key, body: 'no json', headers });
      assert.equal(response.status, 400);
      assert.equal(response.json.desc, 'Idempotency-Key: expected 1 to 255 visible ASCII characters');
    }
    for (const right of ['x', 'x'.repeat(255), '!"#$%&~']) {
      const headers = { 'idempotency-key': right };
      assert.match(
        (await service.call('POST', tokenize, { key, body: 'no json', headers })).json.desc,
        /^malformed JSON/,
      );
    }
  });

  test('syntax is 400 before the fields, and fields before records', async () => {
    const id = '0f4e2c9a-5d1b-4b7e-9c3a-8a1d2e3f4b5c';
    const path = `/transactions/requests/${id}/tokenize`;
    assert.match((await service.call('POST', path, { key, body: '{"scheme":2,' })).json.desc, /^malformed JSON/);
    assert.match((await service.call('POST', path, { key, body: { tags: [], scheme: 2 } })).json.desc, /^scheme: /);
    assert.match(
      (await service.call('POST', path, { key, body: { tags: [], scheme: 1 } })).json.desc,
      /^id: no such capture/,
    );
  });

  describe('methods', () => {
    const METHODS = 'GET HEAD POST PUT PATCH DELETE OPTIONS TRACE PROPFIND QUERY SEARCH PURGE REPORT LINK'.split(' ');
    const paths = [...new Set(LINES.map(({ path }) => path))];
    for (const path of paths) {
      test(`${path} accepts its methods, and responds to any other with 405 and Allow`, async () => {
        const served = LINES.filter((line) => line.path === path).map(({ method }) => method);
        for (const method of METHODS) {
          for (const slash of ['', '/']) {
            const response = await service.call(method, path + slash);
            const what = `${method} ${path}${slash}`;
            if (served.includes(method)) assert.equal(response.status, 403, what);
            else {
              assert.equal(response.status, 405, what);
              assert.deepEqual((response.headers.allow ?? '').split(', ').sort(), [...served].sort(), what);
              const { desc, ...rest } = method === 'HEAD' ? { ...WRONG_METHOD, desc: '' } : response.json;
              assert.deepEqual({ ...rest, desc: '' }, { ...WRONG_METHOD, desc: '' }, what);
              assert.equal(typeof desc, 'string');
              if (method === 'HEAD') assert.equal(response.text, '');
            }
          }
        }
      });
    }

    for (const [path, environment] of [
      ['/healthz', 'sandbox'],
      ['/readyz', 'production'],
      ['/openapi.json', 'sandbox'],
      ['/docs', 'console'],
      ['/metrics', 'console'],
    ] as const) {
      test(`${path} responds to any method except GET with 405 and Allow`, async () => {
        for (const method of METHODS.filter((name) => name !== 'GET')) {
          const response = await service.call(method, path, { environment });
          assert.equal(response.status, 405, method);
          assert.equal(response.headers.allow, 'GET', method);
        }
      });
    }

    test('a method that HTTP does not define is malformed, and CONNECT is not served', async () => {
      for (const method of ['FOO', 'get', 'Post']) {
        assertUnreadable(await exchange(service, requestText(`${method} /healthz`)), method);
      }
      const responses = await exchange(service, requestText('CONNECT localhost:443'));
      assert.ok(responses.every(({ status }) => status >= 400));
    });

    test('OPTIONS * is 404', async () => {
      assert.equal((await exchange(service, requestText('OPTIONS *')))[0]?.status, 404);
    });
  });

  describe('trailing slashes', () => {
    for (const line of LINES) {
      test(`${line.method} ${line.path} is served with and without`, async () => {
        const [without, withSlash] = await Promise.all(
          ['', '/'].map((slash) => service.call(line.method, line.path + slash, { key, body: line.body })),
        );
        assert.ok([200, 400].includes(without?.status ?? 0));
        assert.equal(withSlash?.status, without?.status);
        assert.equal(withSlash?.json.desc, without?.json.desc);
        const routes = service.log.slice(-2).map((text) => JSON.parse(text).route);
        assert.deepEqual(routes, [patternOf(line), patternOf(line)]);
      });
    }

    test('a query is not part of the path', async () => {
      assert.equal((await service.call('GET', '/v1/account/?a=b&c', { key })).status, 200);
      assert.equal((await service.call('GET', '/v1/account?a=/x/', { key })).status, 200);
    });
  });
});

const WRONG_METHOD = { status_code: 405, status: 'fail', data: '' };
