import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { PERMISSIONS, type Permission } from '../../src/accounts/permission.ts';
import { shareService } from '../fixtures/shared-service.ts';
import type { TestResponse, TestService } from '../fixtures/test-service.ts';
import {
  assertRefused,
  ENDPOINTS,
  type Headers,
  MERCHANT,
  newSender,
  PROCESSOR,
  proxied,
  type Sender,
  withKey,
} from './proxy-requests.ts';

const shared = shareService();

const PAN = '4111111111111111';
const DENIED = JSON.stringify({ status_code: 403, status: 'fail', description: 'Access denied.', data: '' });
const MIB = 1024 * 1024;

let service: TestService;
let me: Sender;
let token: string;
let capture: string;
before(async () => {
  service = await shared.open();
  me = await newSender(service);
  token = await me.token(PAN);
  capture = await me.capture({ card: PAN, cvv: '123' });
});
after(() => shared.close());

for (const { name, path, type, around } of ENDPOINTS) {
  const post = (key: string, body: unknown, headers: Headers = {}): Promise<TestResponse> =>
    service.call('POST', path, { body, headers: withKey(key, type, headers) });
  const slashed = path.replace(/(\?|$)/, '/$1');

  describe(`403 of ${name}`, () => {
    const all = (): string => around(`{{${token}:detokenize}}{{${capture}:transaction}}`);
    const without = async (...missing: Permission[]): Promise<Sender> =>
      newSender(service, {
        account: me.account,
        permissions: PERMISSIONS.filter((each) => !missing.includes(each)),
        setup: false,
      });

    test('has one body for every cause', async () => {
      const key = async (options: object): Promise<string> => (await service.newKey(me.account, options)).secret;
      const keys = [
        'wrong',
        'cv_sandbox_0000000000000000000000000000000000000000000',
        await key({ environment: 'production' }),
        await key({ allow: ['203.0.113.0/24'] }),
        await key({ allow: [] }),
        await key({ expiresAt: service.now() - 1 }),
        (await without('proxy:use')).key,
        (await without('tokens:detokenize')).key,
        (await without('captures:retrieve')).key,
        '',
      ];
      for (const each of keys) {
        const response = await post(each, all());
        assert.equal(response.status, 403);
        assert.equal(response.text, DENIED);
      }
      proxied(await post(me.key, all()));
    });

    test('x-api-key is ignored, and so is any other header', async () => {
      for (const headers of [{ 'x-api-key': me.key }, { authorization: `Bearer ${me.key}` }, { 'ft-access': me.key }]) {
        const response = await service.call('POST', path, {
          body: around('a'),
          headers: { 'content-type': type, ...headers },
        });
        assert.equal(response.text, DENIED);
      }
      const both = { 'x-api-key': 'wrong', 'content-type': type, 'ft-access-key': me.key };
      proxied(await service.call('POST', path, { body: around('a'), headers: both }));
      const swapped = { 'x-api-key': me.key, 'content-type': type, 'ft-access-key': 'wrong' };
      assert.equal((await service.call('POST', path, { body: around('a'), headers: swapped })).text, DENIED);
      assert.equal((await service.call('GET', '/v1/account', { headers: { 'ft-access-key': me.key } })).status, 403);
    });

    test('placeholders require their permission, and no other', async () => {
      const noTokens = await without('tokens:detokenize');
      const noCaptures = await without('captures:retrieve');
      const ofToken = around(`{{${token}:detokenize | extract:token}}`);
      const ofCapture = around(`{{${capture}:transaction | extract:token}}`);
      proxied(await post(noTokens.key, ofCapture));
      proxied(await post(noCaptures.key, ofToken));
      proxied(await post((await without('tokens:detokenize', 'captures:retrieve')).key, around('plain')));
      const only = await newSender(service, {
        account: me.account,
        permissions: ['proxy:use', 'tokens:detokenize'],
        setup: false,
      });
      proxied(await post(only.key, ofToken));
      const reads = (await me.reads()).length;
      // Like an unknown record, and one that the key may not read.
      const unknownToken = '0f4e2c9a-5d1b-4b7e-9c3a-8a1d2e3f4b5c';
      for (const body of [
        ofToken,
        around(`{{${unknownToken}:detokenize}}`),
        around(`{{${capture}:transaction}}{{${unknownToken}:detokenize}}`),
      ])
        assert.equal((await post(noTokens.key, body)).text, DENIED);
      for (const body of [ofCapture, around(`{{${token}:detokenize}}{{${unknownToken}:transaction}}`)])
        assert.equal((await post(noCaptures.key, body)).text, DENIED);
      const added = (await me.reads()).slice(reads);
      assert.equal(added.length, 5);
      for (const { action, outcome } of added)
        assert.deepEqual([action, outcome], ['access.denied', 'permission_missing']);
      assert.deepEqual(added[0]?.detail, { permissions: ['tokens:detokenize'], use: name });
      assert.deepEqual(added[4]?.detail, { permissions: ['captures:retrieve'], use: name });
    });

    test('is not stored for an Idempotency-Key', async () => {
      const noTokens = await without('tokens:detokenize');
      const headers = { 'idempotency-key': `403 ${name}`.replace(' ', '-') };
      assert.equal((await post(noTokens.key, around(`{{${token}:detokenize}}`), headers)).text, DENIED);
      proxied(await post(me.key, around(`{{${token}:detokenize}}`), headers));
    });
  });

  describe(`order of checks of ${name}`, () => {
    const large = 'x'.repeat(MIB + 1);
    const bad = { 'content-encoding': 'gzip', 'idempotency-key': '', 'ft-encryption': '{' };

    test('404 and 405 before the key', async () => {
      for (const other of [`${path.split('?')[0]}/more`, path.toUpperCase(), `/v1${path}`])
        assert.equal((await service.call('POST', other, { body: large, headers: bad })).status, 404);
      for (const method of ['GET', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'HEAD']) {
        for (const where of [path, slashed]) {
          const response = await service.call(method, where, { headers: method === 'GET' ? {} : bad });
          assert.equal(response.headers.allow, 'POST');
          if (method === 'HEAD') assert.equal(response.status, 405);
          else assertRefused(response, /./, 405);
        }
      }
    });

    test('403 before 415, 415 before 413, 413 before the Idempotency-Key, that before the body', async () => {
      assert.equal((await post('wrong', large, bad)).text, DENIED);
      assertRefused(await post(me.key, large, bad), /media type/, 415);
      assertRefused(await post(me.key, large, { 'idempotency-key': '' }), 'The body is too large.', 413);
      const inHeader = { 'idempotency-key': 'a b', 'ft-encryption': '{' };
      assertRefused(await post(me.key, around('{{'), inHeader), /^Idempotency-Key: expected/);
      assertRefused(await post(me.key, around('{{'), { 'ft-encryption': '{' }), /^ft-encryption: /);
    });

    test('syntax before configuration, permissions and unknown records', async () => {
      const bare = await newSender(service, { setup: false, permissions: ['proxy:use'] });
      assertRefused(await post(bare.key, around('{{')), /placeholder 1: /);
      const unknown = around('{{x:detokenize | encrypt}}');
      assertRefused(
        await post(bare.key, unknown),
        /^not configured for this account and environment: processor public key/,
      );
      const configured = await newSender(service, { permissions: ['proxy:use'] });
      assert.equal((await post(configured.key, unknown)).text, DENIED);
      assertRefused(await post(me.key, unknown), /no such token/);
    });

    test('a byte more than 1 MiB is 413', async () => {
      const body = around('x'.repeat(MIB - around('').length));
      assert.equal(Buffer.byteLength(body), MIB);
      proxied(await post(me.key, body));
      assertRefused(await post(me.key, `${body} `), 'The body is too large.', 413);
    });

    test('any Content-Encoding is 415', async () => {
      for (const encoding of ['gzip', 'br', 'deflate', 'identity', '']) {
        const response = await post(me.key, gzipSync(around('a')), { 'content-encoding': encoding });
        assertRefused(response, /media type/, 415);
      }
    });

    test('with and without the trailing slash', async () => {
      for (const where of [path, slashed])
        proxied(await service.call('POST', where, { body: around('a'), headers: withKey(me.key, type) }));
      const routes = new Set(service.log.slice(-2).map((line) => JSON.parse(line).route));
      assert.deepEqual([...routes], [path.split('?')[0]]);
    });
  });
}

test('not configured: the missing key is reported', async () => {
  const none = await newSender(service, { setup: false });
  const halves = await Promise.all([
    newSender(service, { setup: { processor: PROCESSOR } }),
    newSender(service, { setup: { merchant: MERCHANT } }),
  ]);
  const expected = [
    [none, 'processor public key and merchant private key'],
    [halves[0], 'merchant private key'],
    [halves[1], 'processor public key'],
  ] as const;
  for (const [sender, what] of expected) {
    for (const send of [sender?.jose('{}'), sender?.wssec('<a/>')])
      assertRefused((await send) as TestResponse, `not configured for this account and environment: ${what}`);
    proxied((await sender?.hash('a')) as TestResponse);
  }
});
