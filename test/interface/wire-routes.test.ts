import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { LIMITS } from '../../src/kernel/limits.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import { dial, exchange, requestText, untilClosed } from '../fixtures/wire.ts';
import { LINES, PAYMENT_LINES, patternOf } from './request-lines.ts';

const MIB = 1024 * 1024;
const PATH = '/v1/tokenization/simple';
const CARDS = JSON.stringify({ chd: [{ card: '4111111111111111', name: 'A', exp: '12/29' }], tags: [], scheme: 7 });

/** Every letter and digit of the path written as a percent-encoded octet; slashes stay. */
const encoded = (path: string): string =>
  path.replace(/[^/]/g, (character) => `%${character.charCodeAt(0).toString(16).padStart(2, '0')}`);

describe('routes as clients write them', () => {
  let service: TestService;
  let account: string;
  let key: string;
  before(async () => {
    service = await startTestService();
    account = await service.newAccount();
    key = (await service.newKey(account)).secret;
    await service.enablePayments(account);
  });
  after(async () => {
    const errors = service.log.filter((line) => ['error', 'fatal'].includes(JSON.parse(line).level));
    await service.stop();
    assert.deepEqual(errors, []);
  });

  const own = (more: Record<string, string> = {}): Record<string, string> => ({
    'x-api-key': key,
    'content-type': 'application/json',
    ...more,
  });
  const countTokens = async (): Promise<number> =>
    Number((await service.core.database.read('select count(*) as n from tokens'))[0]?.['n']);

  describe('percent-encoding and a trailing slash', () => {
    for (const line of [...LINES, ...PAYMENT_LINES]) {
      test(`${line.method} ${line.path} is the same route however its path is written`, async () => {
        const written = [line.path, `${line.path}/`, encoded(line.path), `${encoded(line.path)}/`];
        const seen: unknown[] = [];
        for (const path of written) {
          const { status, json } = await service.call(line.method, path, { key, body: line.body });
          seen.push([status, json.desc ?? json.message, JSON.parse(service.log.at(-1) ?? '').route]);
        }
        assert.notEqual((seen[0] as number[])[0], 404);
        assert.equal((seen[0] as string[])[2], patternOf(line));
        assert.deepEqual(seen, Array(written.length).fill(seen[0]));
      });

      test(`${line.method} ${line.path} requires a key however its path is written`, async () => {
        for (const path of [encoded(line.path), `${line.path}/`, `${line.path}?x=/`])
          assert.equal((await service.call(line.method, path, { body: line.body })).status, 403, path);
      });
    }

    test('an encoded slash is not a separator, and two slashes do not equal one', async () => {
      for (const path of [
        '/v1%2Faccount',
        '/v1/tokenization%2fsimple',
        '//v1/account',
        '/v1//account',
        '/v1/account//',
      ])
        assert.equal((await service.call('POST', path, { key, body: CARDS })).status, 404, path);
    });

    test('an Idempotency-Key is the same for every spelling of a path', async () => {
      const headers = { 'idempotency-key': 'writings' };
      const first = await service.call('POST', PATH, { key, body: CARDS, headers });
      for (const path of [`${PATH}/`, encoded(PATH)]) {
        const again = await service.call('POST', path, { key, body: CARDS, headers });
        assert.equal(again.headers['idempotent-replayed'], 'true', path);
        assert.equal(again.text, first.text);
      }
    });
  });

  describe('a method that a path does not serve is 405, with Allow and the pattern of the path in the log', () => {
    const cases: readonly [string, string, 'sandbox' | 'console', string, string][] = [
      ['PUT', '/v1/tokens/x/inspect', 'sandbox', '/v1/tokens/:token/inspect', 'GET'],
      ['PUT', `${encoded('/v1/tokens/x/inspect')}/?a=%zz/b`, 'sandbox', '/v1/tokens/:token/inspect', 'GET'],
      ['SEARCH', 'http://localhost/v1/tokens/x%2Fy/inspect', 'sandbox', '/v1/tokens/:token/inspect', 'GET'],
      ['POST', '//', 'console', '/', 'GET'],
      ['PATCH', '/a/x/y.js', 'console', '/a/*', 'GET'],
      // A path that is also a value of the parameter of another one.
      [
        'GET',
        '/api/accounts/a/sandbox/tokens/search',
        'console',
        '/api/accounts/:account/:environment/tokens/search',
        'POST',
      ],
      [
        'PUT',
        '/api/accounts/a/sandbox/tokens/search',
        'console',
        '/api/accounts/:account/:environment/tokens/search',
        'POST',
      ],
      ['PUT', '/api/accounts/a/team/invitations', 'console', '/api/accounts/:account/team/invitations', 'POST'],
      ['DELETE', '/api/operator/team/invitations', 'console', '/api/operator/team/invitations', 'POST'],
    ];
    for (const [method, path, environment, route, allow] of cases) {
      test(`${method} ${path}`, async () => {
        const from = service.log.length;
        const { status, headers } = await service.call(method, path, { environment });
        assert.deepEqual([status, headers.allow], [405, allow]);
        const line = JSON.parse(service.log.slice(from).find((text) => text.includes(`"method":"${method}"`)) ?? '{}');
        assert.deepEqual([line.route, line.status], [route, 405]);
      });
    }

    test('but a path that cannot be decoded is 400, and a parameter that is too long names no path', async () => {
      for (const method of ['PUT', 'GET', 'SEARCH']) {
        assert.equal((await service.call(method, '/v1/tokens/%zz/inspect')).status, 400);
        const { status, headers } = await service.call(
          method,
          `/v1/tokens/${'x'.repeat(LIMITS.pathParameterCharacters + 1)}/inspect`,
        );
        assert.deepEqual([status, headers.allow], [404, undefined]);
      }
    });
  });

  describe('HEAD', () => {
    for (const [path, environment] of [
      [PATH, 'sandbox'],
      ['/v1/account', 'production'],
      ['/healthz', 'sandbox'],
      ['/api/session', 'console'],
      ['/sign-in', 'console'],
    ] as const) {
      test(`of ${path} is 405 with Allow and without a body, and the connection remains usable`, async () => {
        const [head, next] = await exchangeWithoutBody(
          service,
          requestText(`HEAD ${path}`, { connection: 'keep-alive' }) + requestText('GET /healthz'),
          environment,
        );
        assert.match(head ?? '', /^HTTP\/1\.1 405 /);
        assert.match(head ?? '', /\r\nallow: (GET|POST)/i);
        assert.match(next ?? '', /^HTTP\/1\.1 200 /);
      });
    }

    test('of an unknown path is 404 without a body', async () => {
      const { status, text } = await service.call('HEAD', '/nothing');
      assert.deepEqual([status, text], [404, '']);
    });
  });

  describe('Expect', () => {
    test('a request that is rejected by its head gets the response before it sends a body', async () => {
      const expecting = { expect: '100-continue', 'content-length': '100' };
      const refused: readonly [number, string][] = [
        [403, requestText(`POST ${PATH}`, { ...own(expecting), 'x-api-key': 'wrong' })],
        [404, requestText('POST /nothing', own(expecting))],
        [405, requestText(`PUT ${PATH}`, own(expecting))],
        [413, requestText(`POST ${PATH}`, own({ ...expecting, 'content-length': String(MIB + 1) }))],
        [415, requestText(`POST ${PATH}`, own({ ...expecting, 'content-type': 'text/plain' }))],
      ];
      for (const [status, text] of refused) {
        const socket = await dial(service);
        const first = new Promise<string>((resolve) => socket.once('data', (chunk: Buffer) => resolve(String(chunk))));
        socket.on('error', () => undefined);
        socket.write(text);
        // Node sends 100 Continue before any check of ours; the refusal follows it, together or apart.
        const received = await first;
        const rest = received.endsWith('100 Continue\r\n\r\n')
          ? String(await new Promise<Buffer>((resolve) => socket.once('data', resolve)))
          : received.replace(/^HTTP\/1\.1 100 Continue\r\n\r\n/, '');
        assert.match(rest, new RegExp(`^HTTP/1\\.1 ${status} `));
        socket.destroy();
      }
    });

    test('any other expectation fails, and the connection is closed', async () => {
      for (const environment of ['sandbox', 'console'] as const) {
        const responses = await exchange(service, requestText('GET /healthz', { expect: '200-ok' }), { environment });
        assert.deepEqual(
          responses.map(({ status }) => status),
          [400],
        );
        assert.equal(responses[0]?.headers['connection'], 'close');
        assert.ok(responses[0]?.headers['x-request-id']);
      }
    });
  });

  describe('pipelining after a rejected body', () => {
    const refusals: readonly [string, number, () => string][] = [
      ['of a wrong media type', 415, () => withBody('x'.repeat(100), own({ 'content-type': 'text/plain' }))],
      ['of a wrong key', 403, () => withBody(CARDS, { ...own(), 'x-api-key': 'wrong' })],
      ['of a wrong syntax', 400, () => withBody('{"chd":', own())],
      ['of an unknown path', 404, () => withBody(CARDS, own(), '/nothing')],
    ];
    const withBody = (body: string, headers: Record<string, string>, path = PATH): string =>
      requestText(
        `POST ${path}`,
        { ...headers, connection: 'keep-alive', 'content-length': String(body.length) },
        body,
      );
    for (const [what, status, text] of refusals) {
      test(`a request after a body ${what} is parsed as a request, or the connection is closed`, async () => {
        const before = await countTokens();
        const next = withBody(CARDS, own({ 'x-request-id': 'behind' }));
        const last = requestText('GET /healthz', { 'x-request-id': 'last' });
        const responses = await exchange(service, text() + next + last);
        assert.equal(responses[0]?.status, status);
        const rest = responses.slice(1).map(({ status, headers }) => [status, headers['x-request-id']]);
        assert.deepEqual(
          rest,
          [
            [200, 'behind'],
            [200, 'last'],
          ].slice(0, rest.length),
        );
        assert.equal((await countTokens()) - before, rest.length > 0 ? 1 : 0);
      });
    }

    test('no part of a body that is too large is parsed as a request', async () => {
      const before = await countTokens();
      const inner = withBody(CARDS, own({ 'x-request-id': 'inner' }));
      const body = inner.repeat(Math.ceil((MIB + 1) / inner.length));
      const responses = await exchange(service, withBody(body, own())).catch(() => []);
      assert.ok(responses.every(({ status }) => status === 413 || status === 400));
      assert.ok(responses.every(({ headers }) => headers['x-request-id'] !== 'inner'));
      assert.equal(await countTokens(), before);
    });
  });

  describe('a client that disconnects in the middle', () => {
    test('of the response has caused the effect once, and gets the response with its Idempotency-Key', async () => {
      const before = await countTokens();
      const headers = own({ 'idempotency-key': 'left', 'content-length': String(CARDS.length) });
      const socket = await dial(service);
      socket.on('error', () => undefined);
      socket.write(requestText(`POST ${PATH}`, headers, CARDS));
      await new Promise((resolve) => socket.once('data', resolve));
      socket.destroy();
      const again = await service.call('POST', PATH, { key, body: CARDS, headers: { 'idempotency-key': 'left' } });
      assert.equal(again.status, 200);
      assert.equal(again.headers['idempotent-replayed'], 'true');
      assert.equal((await countTokens()) - before, 1);
    });

    test('of the execution gets the response, or executes the request once', async () => {
      const before = await countTokens();
      for (let index = 0; index < 10; index++) {
        const name = { 'idempotency-key': `gone-${index}` };
        const socket = await dial(service);
        socket.on('error', () => undefined);
        socket.write(requestText(`POST ${PATH}`, own({ ...name, 'content-length': String(CARDS.length) }), CARDS));
        await sleep(index % 4);
        socket.destroy();
        let again = await service.call('POST', PATH, { key, body: CARDS, headers: name });
        for (let tries = 0; again.status === 409 && tries < 100; tries++) {
          await sleep(50);
          again = await service.call('POST', PATH, { key, body: CARDS, headers: name });
        }
        assert.equal(again.status, 200);
      }
      assert.equal((await countTokens()) - before, 10);
    });

    test('of its body causes no effect, in the API and the console', async () => {
      const before = await countTokens();
      for (const environment of ['sandbox', 'console'] as const) {
        const socket = await dial(service, { environment });
        const received = untilClosed(socket);
        socket.write(requestText(`POST ${PATH}`, own({ 'content-length': '1000' }), CARDS));
        await sleep(20);
        socket.end();
        await received;
      }
      assert.equal(await countTokens(), before);
    });
  });
});

/** Responses of which the first has no body whatever its length says. */
async function exchangeWithoutBody(
  service: TestService,
  text: string,
  environment: 'sandbox' | 'production' | 'console',
): Promise<string[]> {
  const socket = await dial(service, { environment });
  const received = untilClosed(socket);
  socket.write(text);
  const all = await received;
  return all.split(/(?=HTTP\/1\.1 [0-9]{3} )/);
}
