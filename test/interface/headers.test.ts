import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { LIMITS } from '../../src/kernel/limits.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import { dial, exchange, requestText, untilClosed, type WireAnswer } from '../fixtures/wire.ts';

const LISTENERS = ['production', 'sandbox', 'console'] as const;
type Listener = (typeof LISTENERS)[number];

/** A service under a host name of its own, so that its headers can restrict browsers to TLS. */
const HOST = 'vault.example';
const json = { 'content-type': 'application/json', 'content-length': '2' };

interface RequestSpec {
  readonly text: string;
  readonly status: number | Readonly<Record<Listener, number>>;
  /** Node rejects it as malformed; the requested host is unknown. */
  readonly isRaw?: true;
}

const request = (
  line: string,
  status: RequestSpec['status'],
  headers: Readonly<Record<string, string>> = {},
  body = '',
): RequestSpec => ({
  text: requestText(line, { host: HOST, ...headers }, body),
  status,
});
const only = (listener: Listener, there: number, elsewhere: number): RequestSpec['status'] =>
  Object.fromEntries(LISTENERS.map((each) => [each, each === listener ? there : elsewhere])) as never;

/** Every kind of answer and refusal, with its status. */
const REQUESTS: Readonly<Record<string, RequestSpec>> = {
  health: request('GET /healthz', 200),
  'the reference': request('GET /docs', 200),
  'the interface': request('GET /openapi.json', 200),
  metrics: request('GET /metrics', only('console', 200, 404)),
  'a page': request('GET /', only('console', 200, 404)),
  'a call': request('GET /api/session', only('console', 200, 404)),
  'a call without a session': request('GET /api/profile', only('console', 401, 404)),
  'a call of another site': request('POST /api/sign-in', only('console', 403, 404), { origin: 'https://evil.example' }),
  'a call in another type': request(
    'POST /api/sign-in',
    only('console', 415, 404),
    { ...json, 'content-type': 'text/plain' },
    '{}',
  ),
  'a long call': request('POST /api/sign-in', only('console', 413, 404), {
    ...json,
    origin: `https://${HOST}`,
    'content-length': String(LIMITS.bodyBytes),
  }),
  'a malformed call': request(
    'POST /api/sign-in',
    only('console', 400, 404),
    { ...json, origin: `https://${HOST}` },
    '{]',
  ),
  'another method of a call': request('PUT /api/session', only('console', 405, 404)),
  'another method of a page': request('POST /', only('console', 405, 404)),
  'another method': request('PATCH /healthz', 405),
  'nothing there': request('GET /api/nothing', 404),
  'no key': request('GET /v1/account', only('console', 404, 403)),
  'a malformed path': request('GET /%zz', 400),
  'a path that is too long': request(`GET /v1/tokens/${'a'.repeat(LIMITS.pathParameterCharacters + 1)}/inspect`, 404),
  'an unknown expectation': request('POST /v1/account', 400, { ...json, expect: 'tea' }, '{}'),
  'no host': { text: 'GET /healthz HTTP/1.1\r\nconnection: close\r\n\r\n', status: 400 },
  'no HTTP': { text: 'SSH-2.0-OpenSSH_9.9\r\n\r\n', status: 400, isRaw: true },
};

const statusOn = (listener: Listener, { status }: RequestSpec): number =>
  typeof status === 'number' ? status : status[listener];

describe('headers', () => {
  let service: TestService;
  before(async () => {
    service = await startTestService();
  });
  after(() => service.stop());

  const headersOf = async (environment: Listener, what: string, spec: RequestSpec): Promise<WireAnswer['headers']> => {
    const [response = assert.fail(what), ...more] = await exchange(service, spec.text, { environment });
    assert.deepEqual([response.status, more.length], [statusOn(environment, spec), 0], what);
    return response.headers;
  };

  for (const listener of LISTENERS)
    test(`of every response on the ${listener} listener prevent storing and sniffing`, async () => {
      for (const [what, spec] of Object.entries(REQUESTS)) {
        const headers = await headersOf(listener, what, spec);
        assert.equal(headers['cache-control'], 'no-store', what);
        assert.equal(headers['x-content-type-options'], 'nosniff', what);
        assert.equal(headers['x-request-id'] === undefined, spec.isRaw === true, what);
        assert.equal(headers['server'], undefined, what);
      }
    });

  test('of every response on the console listener prevent framing, embedding, scripts and requests without TLS', async () => {
    for (const [what, spec] of Object.entries(REQUESTS)) {
      const headers = await headersOf('console', what, spec);
      const rules = String(headers['content-security-policy']).split('; ');
      assert.ok(rules.includes("default-src 'none'") && rules.includes("frame-ancestors 'none'"), what);
      assert.equal(headers['x-frame-options'], 'DENY', what);
      assert.equal(headers['cross-origin-resource-policy'], 'same-origin', what);
      assert.equal(headers['referrer-policy'], 'no-referrer', what);
      assert.equal(headers['strict-transport-security'], spec.isRaw ? undefined : 'max-age=31536000', what);
    }
  });

  test('of the other listeners do not require TLS, which would apply to every port of the host', async () => {
    for (const listener of ['production', 'sandbox'] as const)
      for (const [what, spec] of Object.entries(REQUESTS))
        assert.equal((await headersOf(listener, what, spec))['strict-transport-security'], undefined, what);
  });

  test('of the console do not block other pages of the same machine', async () => {
    const own = { text: requestText('GET /api/session', { host: 'localhost:8445' }), status: 200 };
    assert.equal((await headersOf('console', 'localhost', own))['strict-transport-security'], undefined);
  });
});

test('responses require TLS for the subdomains too where the operator says so, but for those of the card form', async () => {
  const variables = { CARDVAULT_HSTS: 'subdomains', CARDVAULT_CAPTURE_ORIGIN: 'https://cards.example.com' };
  const service = await startTestService({ variables });
  try {
    const expected = 'max-age=31536000; includeSubDomains';
    for (const environment of ['production', 'sandbox'] as const)
      for (const [path, status] of [
        ['/v1/account', 403],
        ['/nothing', 404],
        ['/healthz', 200],
      ] as const) {
        const response = await service.call('GET', path, { environment });
        assert.deepEqual([response.status, response.headers['strict-transport-security']], [status, expected], path);
      }
    const page = await service.call('GET', '/api/session', { environment: 'console', headers: { host: HOST } });
    assert.equal(page.headers['strict-transport-security'], expected);
    const form = await service.call('GET', '/v1/integrity.json', { environment: 'cards' });
    assert.deepEqual([form.status, form.headers['strict-transport-security']], [200, 'max-age=31536000']);
  } finally {
    await service.stop();
  }
});

describe('requests that Node would reject with responses of its own', () => {
  let service: TestService;
  before(async () => {
    service = await startTestService();
  });
  after(() => service.stop());

  for (const what of ['no host', 'an unknown expectation'])
    test(`${what}: is rejected in the envelope, logged, and closes the connection`, async () => {
      const { text } = REQUESTS[what] ?? assert.fail();
      for (const environment of LISTENERS) {
        const withoutClose = text.replace('connection: close\r\n', '');
        const [{ headers, body } = assert.fail()] = await exchange(service, withoutClose, { environment });
        const desc = 'The request itself cannot be read.';
        assert.deepEqual(JSON.parse(body), { status_code: 400, status: 'fail', desc, data: '' });
        assert.equal(headers['connection'], 'close');
        assert.ok(service.log.some((line) => line.includes(String(headers['x-request-id']))));
      }
    });

  test('Expect: 100-continue is served, and so is HTTP/1.0, which has no host', async () => {
    const knowing = requestText('GET /healthz', { expect: '100-continue' });
    for (const text of [knowing, 'GET /healthz HTTP/1.0\r\n\r\n', 'GET / HTTP/1.0\r\n\r\n'])
      assert.match(await answerText(text), /HTTP\/1\.1 200 OK\r\n/);
  });

  const answerText = async (text: string): Promise<string> => {
    const socket = await dial(service, { environment: 'console' });
    const received = untilClosed(socket);
    socket.write(text);
    return received;
  };
});
