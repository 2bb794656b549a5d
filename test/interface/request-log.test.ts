import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type LoggedRequest, RequestLogQuery } from '../../src/accounts/request-log-query.ts';
import { SECOND } from '../../src/kernel/clock.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { eventually } from '../fixtures/eventually.ts';
import { type CallOptions, luhnPan, startTestService, type TestService } from '../fixtures/test-service.ts';
import { LINES, patternOf } from './request-lines.ts';

type Expected = { readonly [Name in keyof LoggedRequest]?: LoggedRequest[Name] | undefined };

describe('the request log', { timeout: 60_000 }, () => {
  let service: TestService;
  let account: string;
  let key: { id: string; secret: string };
  before(async () => {
    service = await startTestService({
      variables: { CARDVAULT_RATE_LIMIT_PER_KEY: '1', CARDVAULT_RATE_LIMIT_FAILED_AUTHENTICATION: '2' },
    });
    service.stopTime();
    account = await service.newAccount();
    key = await service.newKey(account);
  });
  after(() => service.stop());

  const list = async (filter: Parameters<RequestLogQuery['list']>[1]): Promise<readonly LoggedRequest[]> =>
    (await new RequestLogQuery(service.core).list({ account: undefined, environment: undefined }, filter)).items;

  /** Returns the entries with these request ids, once the service has written them. */
  async function written(requestIds: readonly string[]): Promise<LoggedRequest[]> {
    let found: LoggedRequest[] = [];
    await eventually(async () => {
      service.advance(6 * SECOND);
      found = (await Promise.all(requestIds.map((requestId) => list({ requestId })))).flat();
      return found.length >= requestIds.length;
    });
    return found;
  }

  let calls = 0;
  /** Sends a request alone in its seconds, and returns its entry. */
  async function entryOf(method: string, path: string, options: CallOptions = {}): Promise<LoggedRequest> {
    // Limits of rates are full again.
    service.advance(60 * SECOND);
    const requestId = `entry-${++calls}`;
    await service.call(method, path, { ...options, headers: { 'x-request-id': requestId, ...options.headers } });
    const [entry, ...others] = await written([requestId]);
    assert.deepEqual(others, []);
    return entry ?? assert.fail('no entry');
  }

  const assertEntry = (entry: LoggedRequest, expected: Expected): void => {
    const found = Object.fromEntries(Object.keys(expected).map((name) => [name, entry[name as keyof LoggedRequest]]));
    assert.deepEqual(found, expected);
  };

  for (const line of LINES)
    test(`has ${line.method} ${line.path} with the pattern of its route`, async () => {
      const sentAt = service.now() + 60 * SECOND;
      const entry = await entryOf(line.method, `${line.path}?query=secret`, { key: key.secret, body: line.body });
      assertEntry(entry, {
        at: sentAt,
        account,
        environment: 'sandbox',
        method: line.method,
        route: patternOf(line),
        key: key.id,
        address: '127.0.0.1',
        repeats: 0,
      });
      assert.equal(entry.failure === undefined, entry.status === 200);
    });

  test('has a rejected field by its name', async () => {
    const body = { chd: [{ card: 'nothing', exp: '12/29' }], tags: [], scheme: 1 };
    const entry = await entryOf('POST', '/v1/tokenization/simple', { key: key.secret, body });
    assertEntry(entry, { status: 400, failure: 'invalid_field', field: 'chd[0].card' });
    assert.ok(entry.reason !== undefined);
  });

  test('has a denial with the key and account, where they are known', async () => {
    const limited = await service.newKey(account, { permissions: ['tokens:create'] });
    const elsewhere = await service.newKey(account, { allow: ['203.0.113.7'] });
    for (const { id, secret } of [limited, elsewhere])
      assertEntry(await entryOf('GET', '/v1/account', { key: secret }), {
        status: 403,
        failure: 'access_denied',
        key: id,
        account,
      });
    for (const secret of ['wrong', undefined])
      assertEntry(await entryOf('GET', '/v1/account', { ...(secret && { key: secret }) }), {
        status: 403,
        failure: 'access_denied',
        key: undefined,
        account: '',
      });
  });

  test('has requests beyond a limit, with the key where it is known', async () => {
    const send = async (secret: string, requestId: string): Promise<number> =>
      (await service.call('GET', '/v1/account', { key: secret, headers: { 'x-request-id': requestId } })).status;
    const cases = [
      { secret: key.secret, of: key.id },
      { secret: 'wrong', of: undefined },
    ];
    for (const { secret, of } of cases) {
      service.advance(60 * SECOND);
      const statuses: number[] = [];
      for (let sent = 0; sent < 3; sent++) statuses.push(await send(secret, `limited-${of}-${sent}`));
      assert.equal(statuses[2], 429);
      const [entry] = await written([`limited-${of}-2`]);
      assertEntry(entry ?? assert.fail(), { status: 429, failure: 'rate_limited', key: of });
    }
  });

  test('has requests that reach no endpoint', async () => {
    const cases = [
      { method: 'GET', path: '/v1/nothing/here', status: 404, failure: 'unknown_path', route: '(none)' },
      { method: 'PUT', path: '/v1/account', status: 405, failure: 'method_not_allowed', route: '/v1/account' },
    ];
    for (const { method, path, ...expected } of cases)
      assertEntry(await entryOf(method, path, { key: key.secret }), { ...expected, account: '', key: undefined });
    const entry = await entryOf('POST', '/v1/tokenization/simple', {
      key: key.secret,
      body: 'x',
      headers: { 'content-type': 'text/plain' },
    });
    assertEntry(entry, { status: 415, failure: 'unsupported_media_type', account, key: key.id });
  });

  test('has no successes of health checks, and no calls of the console', async () => {
    await service.call('GET', '/healthz', { headers: { 'x-request-id': 'health' } });
    await service.call('GET', '/api/session', { environment: 'console', headers: { 'x-request-id': 'console' } });
    await entryOf('GET', '/v1/account', { key: key.secret });
    assert.deepEqual([...(await list({ requestId: 'health' })), ...(await list({ requestId: 'console' }))], []);
  });

  test('counts what a flood of denials leaves out', async () => {
    service.advance(60 * SECOND);
    const flood = 40;
    const limited = await service.newKey(account, { permissions: ['tokens:create'] });
    await Promise.all(
      Array.from({ length: flood }, () =>
        service.call('GET', '/v1/account', { key: limited.secret, headers: { 'x-request-id': 'flood' } }),
      ),
    );
    const entries = await written(['flood']);
    const recorded = entries.reduce((sum, { repeats }) => sum + 1 + repeats, 0);
    assert.equal(recorded, flood);
    const kinds = new Set(entries.map(({ failure }) => failure)).size;
    assert.ok(entries.length <= kinds * LIMITS.requestLogErrorsPerSecond);
  });

  test('contains no value of a request, wherever it was sent', async () => {
    const pan = luhnPan('455667');
    const cvv = '9173';
    const canaries = [pan, 'canary-name', 'canary-tag', 'canary-query', 'canary-header', 'canary-path'];
    const headers = {
      'x-request-id': pan,
      'user-agent': `canary-header ${pan}`,
      'idempotency-key': `canary-header-${pan}`,
      'x-forwarded-for': pan,
      cookie: `a=${pan}`,
      referer: `https://canary-header/${pan}`,
    };
    const body = {
      chd: { card: pan, name: 'canary-name', exp: '12/29', cvv },
      amount: 1,
      currency: 'USD',
      additional_info: { 'canary-tag': pan, [pan]: 'canary-tag' },
      ttl: 5,
    };
    const paths = [
      '/transactions/requests',
      `/v1/tokens/${pan}/inspect`,
      `/canary-path/${pan}`,
      '/v1/tokenization/simple',
    ];
    for (const path of paths)
      for (const method of ['POST', 'GET', 'DELETE']) {
        service.advance(60 * SECOND);
        await service.call(method, `${path}?canary-query=${pan}`, {
          key: key.secret,
          headers,
          ...(method !== 'GET' && { body }),
        });
        await service.call(method, path, { key: pan, headers: { ...headers, 'ft-access-key': pan } });
      }
    await entryOf('GET', '/v1/account', { key: key.secret });
    const rows = await service.core.database.read('select * from request_log');
    assert.ok(rows.length > paths.length);
    const containing = (canary: string, entries: readonly object[]): string[] =>
      entries.map((entry) => JSON.stringify(entry)).filter((entry) => entry.includes(canary));
    for (const canary of canaries) assert.deepEqual(containing(canary, rows), []);
    // The four digits can be a part of a random identifier, or of a time.
    const stated = rows.map(({ id, at, duration_us, request_id, api_key, ...stated }) => stated);
    assert.deepEqual(containing(cvv, stated), []);
  });
});
