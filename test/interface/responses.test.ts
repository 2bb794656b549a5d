import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Authentication } from '../../src/accounts/authentication.ts';
import { PERMISSIONS } from '../../src/accounts/permission.ts';
import { SECOND } from '../../src/kernel/clock.ts';
import { shareService } from '../fixtures/shared-service.ts';
import type { TestResponse, TestService } from '../fixtures/test-service.ts';
import { LINES } from './request-lines.ts';

const shared = shareService();

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe('responses', () => {
  let service: TestService;
  let account: string;
  let key: string;
  before(async () => {
    service = await shared.open();
    account = await service.newAccount('Käse & Co');
    key = (await service.newKey(account)).secret;
  });
  after(() => shared.close());

  const every = async (options: { key?: string }): Promise<[string, TestResponse][]> => {
    const responses: [string, TestResponse][] = [];
    for (const { method, path, body } of LINES) {
      const what = `${method} ${path}`;
      responses.push([what, await service.call(method, path, { ...options, body })]);
      responses.push([`${what}, broken`, await service.call(method, path, { ...options, body: '{' })]);
    }
    responses.push(['nothing', await service.call('GET', '/nothing', options)]);
    responses.push(['wrong method', await service.call('PATCH', '/v1/account', options)]);
    responses.push(['malformed path', await service.call('GET', '/v1/tokens/%zz/inspect', options)]);
    responses.push(['health', await service.call('GET', '/healthz')]);
    responses.push(['reference', await service.call('GET', '/docs')]);
    responses.push(['metrics', await service.call('GET', '/metrics', { environment: 'console' })]);
    return responses;
  };

  test('carry a request id, and are neither stored nor sniffed', async () => {
    for (const options of [{ key }, {}]) {
      const responses = await every(options);
      for (const [what, { headers }] of responses) {
        assert.match(String(headers['x-request-id']), UUID, what);
        assert.equal(headers['cache-control'], 'no-store', what);
        assert.equal(headers['x-content-type-options'], 'nosniff', what);
        assert.equal(headers['server'], undefined, what);
        assert.equal(headers['x-powered-by'], undefined, what);
      }
      assert.equal(new Set(responses.map(([, { headers }]) => headers['x-request-id'])).size, responses.length);
    }
  });

  test('have the envelope of the interface', async () => {
    const met = new Set<number>();
    for (const options of [{ key }, {}]) {
      for (const [what, { status, headers, json }] of await every(options)) {
        if (/health|reference|metrics/.test(what)) continue;
        met.add(status);
        assert.equal(headers['content-type'], 'application/json; charset=utf-8', what);
        assert.deepEqual(Object.keys(json), ['status_code', 'status', 'desc', 'data'], what);
        assert.equal(json.status_code, status, what);
        assert.equal(json.status, status === 200 ? 'success' : 'fail', what);
        assert.ok(typeof json.desc === 'string' && json.desc !== '', what);
        if (status === 200) assert.ok(typeof json.data === 'object' && json.data !== null, what);
        else assert.equal(json.data, '', what);
      }
    }
    assert.deepEqual([...met].sort(), [200, 400, 403, 404, 405]);
  });

  describe('x-request-id', () => {
    const sent = async (id: string): Promise<string> =>
      String((await service.call('GET', '/healthz', { headers: { 'x-request-id': id } })).headers['x-request-id']);

    for (const id of [
      'a',
      'A.b_c-9',
      'x'.repeat(128),
      '12345678901',
      '4111111111111112',
      '6b0f3a52-8f4e-4c11-9b8e-2f43a1c0de55',
      '4111-1111-1111-1112',
    ]) {
      test(`"${id.slice(0, 40)}" is accepted`, async () => assert.equal(await sent(id), id));
    }

    for (const id of [
      '',
      'x'.repeat(129),
      'a b',
      'a/b',
      'a:b',
      'a,b',
      '{a}',
      'é',
      '4111111111111111',
      'order-4111111111111111-1',
      'x378282246310005',
      '000000000000',
      '6304000000000000000',
      '4111-1111-1111-1111',
      '12345678901234567890121',
    ]) {
      test(`"${id.slice(0, 40)}" is replaced`, async () => {
        const got = await sent(id);
        assert.match(got, UUID);
        assert.notEqual(got, id);
      });
    }

    test('is in the log line, and a replaced one is in no line', async () => {
      await sent('kept-in-the-log');
      await sent('order-4012888888881881');
      assert.ok(service.log.some((line) => JSON.parse(line).request_id === 'kept-in-the-log'));
      assert.ok(!service.log.some((line) => line.includes('4012888888881881')));
    });
  });

  describe('/v1/account', () => {
    for (const method of ['POST', 'GET']) {
      test(`${method} responds exactly as documented`, async () => {
        const created = await service.newKey(account, { name: 'checkout', allow: ['127.0.0.1', '10.0.0.0/8'] });
        const prefix = created.secret.slice(0, 'cv_sandbox_'.length + 4);
        const first = (await service.call(method, '/v1/account', { key: created.secret })).json;
        const expected = {
          id: account,
          name: 'Käse & Co',
          environment: 'sandbox',
          status: 'sandbox',
          enabled: { payments: false, jose: false, wssec: false },
          processor: null,
          key: {
            id: created.id,
            name: 'checkout',
            prefix,
            permissions: [...PERMISSIONS],
            allow_list: [
              { cidr: '127.0.0.1', note: '' },
              { cidr: '10.0.0.0/8', note: '' },
            ],
            expires_at: null,
            last_used_at: null,
          },
        };
        assert.deepEqual(first, { status_code: 200, status: 'success', desc: 'Success', data: expected });
        assert.equal(JSON.stringify(first.data), JSON.stringify(expected), 'the order of the members');
      });
    }

    test('contains the end of the key and its previous use', async () => {
      const expiresAt = service.now() + 3600 * SECOND;
      const { secret } = await service.newKey(account, { expiresAt });
      const shown = async () => (await service.call('POST', '/v1/account', { key: secret })).json.data.key;
      const before = service.now();
      assert.equal((await shown()).last_used_at, null);
      const after = service.now();
      const second = await shown();
      assert.equal(second.expires_at, new Date(expiresAt).toISOString());
      const usedAt = Date.parse(second.last_used_at);
      assert.ok(before <= usedAt && usedAt <= after, second.last_used_at);
    });

    test('has the last use also after it is written to the database', async () => {
      const { secret } = await service.newKey(account);
      let now = service.now();
      const { database, keyring, random } = service.core;
      const authentication = new Authentication({
        database,
        keyring,
        random,
        clock: () => now,
        environment: 'sandbox',
      });
      const lastUsedAt = async (): Promise<number | undefined> => {
        const verdict = await authentication.authenticate(secret, '127.0.0.1', 'account:read');
        assert.equal(verdict.denial, undefined);
        return verdict.previousUseAt;
      };
      assert.equal(await lastUsedAt(), undefined);
      await authentication.flushLastUses();
      now += 1;
      assert.equal(await lastUsedAt(), now - 1);
      await authentication.flushLastUses();
      now += 5 * SECOND;
      assert.equal(await lastUsedAt(), now - 5 * SECOND);
    });

    test('is "live" once there is a production key', async () => {
      const own = await service.newAccount('Own');
      const sandbox = await service.newKey(own);
      const production = await service.newKey(own, { environment: 'production' });
      const data = async (key: string, environment: 'sandbox' | 'production') =>
        (await service.call('GET', '/v1/account', { key, environment })).json.data;
      assert.equal((await data(sandbox.secret, 'sandbox')).status, 'live');
      assert.equal((await data(production.secret, 'production')).environment, 'production');
    });
  });
});
