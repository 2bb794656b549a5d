import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { ENDPOINTS } from '../../src/http/endpoints.ts';
import { luhnPan, startTestService, type TestService } from '../fixtures/test-service.ts';
import { LINES, patternOf } from './request-lines.ts';

const OF_REQUESTS = ['level', 'time', 'listener', 'request_id', 'method', 'route', 'status', 'duration_ms', 'address'];

describe('the log', () => {
  let service: TestService;
  let account: string;
  let key: { id: string; secret: string };
  before(async () => {
    service = await startTestService();
    account = await service.newAccount('Name Of Store');
    key = await service.newKey(account, { name: 'name-of-key' });
  });
  after(() => service.stop());

  // biome-ignore lint/suspicious/noExplicitAny: lines of the log
  const lineOf = async (requestId: string): Promise<any> => {
    for (let tries = 0; tries < 100; tries++) {
      const found = service.log.map((line) => JSON.parse(line)).filter(({ request_id }) => request_id === requestId);
      assert.ok(found.length <= 1, 'one line for each request');
      if (found.length === 1) return found[0];
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    return assert.fail(`no line of ${requestId}`);
  };

  for (const line of LINES) {
    test(`${line.method} ${line.path} is one line with the pattern of its route`, async () => {
      const requestId = `log-${LINES.indexOf(line)}`;
      const headers = { 'x-request-id': requestId };
      const { status } = await service.call(line.method, `${line.path}?query=secret`, {
        key: key.secret,
        body: line.body,
        headers,
      });
      const { time, duration_ms, ...fields } = await lineOf(requestId);
      assert.match(time, /^[0-9-]{10}T[0-9:.]{12}Z$/);
      assert.ok(duration_ms >= 0);
      assert.deepEqual(fields, {
        level: 'info',
        msg: 'request',
        listener: 'sandbox',
        request_id: requestId,
        method: line.method,
        route: patternOf(line),
        status,
        address: '127.0.0.1',
        account,
        key: key.id,
      });
    });
  }

  test('has no account and no key for a rejected caller', async () => {
    const cases = [
      { path: '/v1/account', key: 'wrong', status: 403, route: '/v1/account' },
      { path: '/nothing/at/all', key: key.secret, status: 404, route: '(none)' },
      { path: '/healthz', key: key.secret, status: 200, route: '/healthz' },
    ];
    for (const [index, { path, key, status, route }] of cases.entries()) {
      const headers = { 'x-request-id': `out-${index}` };
      await service.call('GET', path, { key, headers });
      const line = await lineOf(`out-${index}`);
      assert.deepEqual(Object.keys(line).sort(), [...OF_REQUESTS, 'msg'].sort());
      assert.deepEqual([line.status, line.route], [status, route]);
    }
  });

  test('is JSON, one object a line, with the allowed fields only, and contains no value of a request', async () => {
    const pan = luhnPan('455667');
    const canaries = [pan, 'CanaryName', 'canary-tag', '9173', 'canary-query', 'canary-header', 'canary-path'];
    const body = {
      chd: { card: pan, name: 'CanaryName', exp: '12/29', cvv: '9173' },
      amount: 1,
      currency: 'USD',
      additional_info: { 'canary-tag': 'canary-tag' },
      ttl: 1,
    };
    const headers = { 'x-canary': 'canary-header', 'idempotency-key': 'canary-header', 'user-agent': 'canary-header' };
    const { json } = await service.call('POST', '/transactions/requests?canary-query', {
      key: key.secret,
      body,
      headers,
    });
    for (const path of [`/transactions/requests/${json.data.id}`, `/canary-path/${pan}`, `/v1/tokens/${pan}/inspect`])
      for (const method of ['GET', 'POST', 'DELETE']) await service.call(method, path, { key: key.secret, body });
    await service.call('POST', '/v1/tokenization/simple', {
      key: key.secret,
      body: { chd: [body.chd], tags: ['canary-tag'], scheme: 9 },
    });
    await service.call('POST', '/v1/tokenization/simple', { key: key.secret, body: `{"chd":[{"card":${pan}` });
    await service.call('GET', '/healthz', { headers: { 'x-request-id': 'after-the-canaries' } });
    await lineOf('after-the-canaries');

    const allowed = new Set([
      ...OF_REQUESTS,
      'msg',
      'account',
      'key',
      'failure',
      'error',
      'frames',
      'reason',
      'removed',
    ]);
    const routes = new Set([...ENDPOINTS.map(({ path }) => path), '(none)', '/healthz']);
    assert.ok(service.log.length > 20);
    for (const line of service.log) {
      assert.ok(line.endsWith('\n') && line.indexOf('\n') === line.length - 1);
      const fields = JSON.parse(line);
      for (const name of Object.keys(fields)) assert.ok(allowed.has(name), name);
      if (fields.route !== undefined) assert.ok(routes.has(fields.route), fields.route);
      // The random parts of these could hold four digits by chance.
      const {
        request_id: _request,
        time: _time,
        duration_ms: _duration,
        account: _account,
        key: _key,
        ...rest
      } = fields;
      for (const canary of [...canaries, key.secret, json.data.id, 'name-of-key', 'Name Of Store'])
        assert.ok(!JSON.stringify(rest).includes(canary), canary);
    }
  });
});
