import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Accounts } from '../../src/accounts/accounts.ts';
import { PERMISSIONS } from '../../src/accounts/permission.ts';
import { exportJournal } from '../../src/audit/verify-journal.ts';
import { ENDPOINTS } from '../../src/http/endpoints.ts';
import { SECOND } from '../../src/kernel/clock.ts';
import { storedBytes } from '../fixtures/database.ts';
import { shareService } from '../fixtures/shared-service.ts';
import { type CallOptions, startTestService, type TestResponse, type TestService } from '../fixtures/test-service.ts';
import { BROWSER_LINES, LINES, patternOf } from './request-lines.ts';

const ALL_LINES = [...LINES, ...BROWSER_LINES];

const shared = shareService();

const OPERATOR = { actor: { type: 'operator' as const } };
const DENIED = '{"status_code":403,"status":"fail","desc":"Access denied.","data":""}';

describe('authentication', () => {
  let service: TestService;
  let account: string;
  let good: { id: string; secret: string };
  before(async () => {
    service = await shared.open();
    account = await service.newAccount();
    good = await service.newKey(account);
  });
  after(() => shared.close());

  const show = (options: CallOptions): Promise<TestResponse> => service.call('GET', '/v1/account', options);

  describe('the header', () => {
    test('x-api-key is accepted, alone or with an invalid ft-access-key', async () => {
      assert.equal((await show({ key: good.secret })).status, 200);
      assert.equal((await show({ key: good.secret, headers: { 'ft-access-key': 'wrong' } })).status, 200);
    });

    test('the key is not accepted anywhere else', async () => {
      const requests: CallOptions[] = [
        { headers: { 'ft-access-key': good.secret } },
        { headers: { authorization: `Bearer ${good.secret}` } },
        { headers: { authorization: `Basic ${Buffer.from(`${good.secret}:`).toString('base64')}` } },
        { headers: { cookie: `x-api-key=${good.secret}` } },
        { key: 'wrong', headers: { 'ft-access-key': good.secret } },
      ];
      for (const request of requests)
        assert.equal((await show(request)).status, 403, JSON.stringify(Object.keys(request)));
      assert.equal((await service.call('GET', `/v1/account?x-api-key=${good.secret}`)).status, 403);
      assert.equal((await service.call('POST', '/v1/account', { body: { 'x-api-key': good.secret } })).status, 403);
    });

    test('an almost correct key is not accepted', async () => {
      const { secret } = good;
      const last = secret.at(-2) === 'A' ? 'B' : 'A';
      const wrong = [
        `${secret.slice(0, -2)}${last}${secret.at(-1)}`,
        secret.slice(0, -1),
        `${secret}A`,
        secret.toUpperCase(),
        secret.replace('sandbox', 'production'),
        secret.replace('cv_sandbox_', ''),
        `${secret}, ${secret}`,
        `${secret},`,
        `"${secret}"`,
        '',
        'x'.repeat(10_000),
      ];
      for (const key of wrong) assert.equal((await show({ key })).status, 403, `${key.slice(0, 20)} ${key.length}`);
      assert.equal((await show({ key: ` ${secret} ` })).status, 200, 'blanks around a header value are none of it');
    });
  });

  describe('403', () => {
    test('has one body and one set of headers for every cause, and the audit log has the cause', async () => {
      const suspended = await service.newAccount('Suspended');
      const suspendedKey = (await service.newKey(suspended)).secret;
      await service.core.transactions.run({ origin: OPERATOR }, (transaction) =>
        service.core.accounts.suspend(transaction, suspended),
      );
      const revoked = await service.newKey(account);
      await service.core.transactions.run({ origin: OPERATOR }, (transaction) =>
        service.core.accounts.revokeKey(transaction, revoked.id),
      );
      const expired = await service.newKey(account, { expiresAt: service.now() - 1 });
      const elsewhere = await service.newKey(account, { allow: ['203.0.113.0/24', '2001:db8::/32'] });
      const nowhere = await service.newKey(account, { allow: [] });
      const other = await service.newKey(account, { permissions: ['tokens:create', 'captures:retrieve'] });
      const production = await service.newKey(account, { environment: 'production' });

      const causes: Record<string, [outcome: string, options: CallOptions]> = {
        missing: ['key_missing', {}],
        empty: ['key_missing', { key: '' }],
        unknown: ['key_unknown', { key: 'cv_sandbox_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA' }],
        noise: ['key_unknown', { key: 'x' }],
        'production-on-sandbox': ['key_unknown', { key: production.secret }],
        'sandbox-on-production': ['key_unknown', { key: good.secret, environment: 'production' }],
        revoked: ['key_revoked', { key: revoked.secret }],
        expired: ['key_expired', { key: expired.secret }],
        elsewhere: ['address_not_listed', { key: elsewhere.secret }],
        'empty-list': ['address_not_listed', { key: nowhere.secret }],
        permission: ['permission_missing', { key: other.secret }],
        suspended: ['account_suspended', { key: suspendedKey }],
      };
      const shapes = new Set<string>();
      for (const [name, [, options]] of Object.entries(causes)) {
        const response = await show({ ...options, headers: { 'x-request-id': name } });
        assert.equal(response.status, 403, name);
        assert.equal(response.text, DENIED, name);
        assert.equal(response.headers['x-request-id'], name);
        const { date: _date, 'x-request-id': _id, ...headers } = response.headers;
        shapes.add(JSON.stringify(Object.entries(headers)));
      }
      assert.equal(shapes.size, 1, [...shapes].join('\n'));

      const denials = new Map<string, { outcome: string; record: string; account: string; environment: string }>();
      for await (const { record, account, environment } of exportJournal(service.core.database)) {
        const { action, request_id, outcome } = JSON.parse(record);
        if (action === 'access.denied') denials.set(request_id, { outcome, record, account, environment });
      }
      for (const [name, [outcome, options]] of Object.entries(causes)) {
        const denial = denials.get(name);
        assert.equal(denial?.outcome, outcome, name);
        assert.equal(denial.environment, options.environment ?? 'sandbox');
        const { address, detail, actor } = JSON.parse(denial.record);
        assert.equal(address, '127.0.0.1');
        assert.deepEqual(detail, { route: 'GET /v1/account' });
        const isKnown = !/^key_(missing|unknown)$/.test(outcome);
        assert.equal(actor.type, isKnown ? 'key' : 'unknown', name);
        assert.equal(denial.account !== '', isKnown, name);
        if (options.key) assert.ok(!denial.record.includes(options.key.slice(-20)) || options.key === 'x', name);
      }
    });

    test('is the same on every endpoint, whatever else is sent', async () => {
      for (const { method, path, body } of ALL_LINES) {
        for (const options of [{ body }, { body: 'no json' }, { headers: { 'idempotency-key': 'once' } }]) {
          const response = await service.call(method, path, { key: 'wrong', ...options });
          assert.equal(response.status, 403, `${method} ${path}`);
          assert.equal(response.text, DENIED);
        }
      }
    });

    test('an expiry is exact to the millisecond', async () => {
      const own = await startTestService();
      try {
        const expiresAt = own.now() + 60 * SECOND;
        const { secret } = await own.newKey(await own.newAccount(), { expiresAt });
        const status = async (): Promise<number> => (await own.call('GET', '/v1/account', { key: secret })).status;
        assert.equal(await status(), 200);
        own.advance(expiresAt - own.now());
        assert.equal(await status(), 403);
      } finally {
        await own.stop();
      }
    });

    test('a key that was revoked by a machine whose clock is ahead is rejected immediately', async () => {
      const { id, secret } = await service.newKey(account);
      assert.equal((await show({ key: secret })).status, 200);
      const ahead = new Accounts({ ...service.core, clock: () => service.now() + 3600 * SECOND });
      await service.core.transactions.run({ origin: OPERATOR }, (transaction) => ahead.revokeKey(transaction, id));
      service.advance(5 * SECOND);
      assert.equal((await show({ key: secret })).status, 403);
    });
  });

  describe('permissions', () => {
    test('every endpoint is in the list of this test, with the permission of the decisions', () => {
      const served = ENDPOINTS.map(({ method, path, permission }) => `${method} ${path} ${permission}`);
      const expected = ALL_LINES.map((line) => `${line.method} ${patternOf(line)} ${line.permission}`);
      assert.deepEqual(
        served
          .filter((line) => /^\S+ \/(v1\/(token|account|capture-sessions|webhooks)|transactions)/.test(line))
          .sort(),
        expected.sort(),
      );
    });

    for (const { method, path, permission, body } of ALL_LINES) {
      test(`${method} ${path} requires ${permission} only`, async () => {
        const only = await service.newKey(account, { permissions: PERMISSIONS.filter((each) => each === permission) });
        const others = await service.newKey(account, {
          permissions: PERMISSIONS.filter((each) => each !== permission),
        });
        const withIt = await service.call(method, path, { key: only.secret, body });
        assert.ok([200, 400].includes(withIt.status), `${withIt.status}`);
        assert.equal((await service.call(method, path, { key: others.secret, body })).status, 403);
      });
    }

    test('a key that is created without permissions has all of them', async () => {
      const { json } = await show({ key: (await service.newKey(account, { permissions: [] })).secret });
      assert.deepEqual(json.data.key.permissions, [...PERMISSIONS]);
    });
  });

  describe('environments', () => {
    test('a key of each environment works on its listener and nowhere else', async () => {
      const production = (await service.newKey(account, { environment: 'production' })).secret;
      assert.match(production, /^cv_production_/);
      assert.match(good.secret, /^cv_sandbox_/);
      const status = async (key: string, environment: 'production' | 'sandbox'): Promise<number> =>
        (await show({ key, environment })).status;
      assert.equal(await status(production, 'production'), 200);
      assert.equal(await status(production, 'sandbox'), 403);
      assert.equal(await status(good.secret, 'sandbox'), 200);
      assert.equal(await status(good.secret, 'production'), 403);
    });

    test('the console listener serves no endpoint of the interface', async () => {
      for (const { method, path, body } of LINES) {
        const { status } = await service.call(method, path, { key: good.secret, environment: 'console', body });
        assert.equal(status, 404, `${method} ${path}`);
      }
    });
  });

  test('a key is 256 random bits, and is never stored or logged in clear', async () => {
    const secrets = await Promise.all(Array.from({ length: 20 }, () => service.newKey(account)));
    const bits = secrets.map(({ secret }) => Buffer.from(secret.replace('cv_sandbox_', ''), 'base64url'));
    for (const bytes of bits) assert.equal(bytes.length, 32);
    assert.equal(new Set(bits.map((bytes) => bytes.toString('hex'))).size, secrets.length);
    assert.equal((await show({ key: good.secret })).status, 200);
    const stored = await storedBytes(service.directory, service.core.database);
    const all = Buffer.concat([stored, Buffer.from(service.log.join('\n'))]);
    assert.ok(all.includes(good.secret.slice(0, 'cv_sandbox_xxxx'.length)), 'the prefix of a key is there');
    for (const [index, { secret }] of secrets.entries()) {
      const random = secret.replace('cv_sandbox_', '');
      assert.ok(!all.includes(random), 'the key');
      assert.ok(!all.includes(random.slice(8, 24)), 'a part of the key');
      assert.ok(!all.includes(bits[index]?.subarray(6, 22) ?? ''), 'the bytes of the key');
    }
  });
});
