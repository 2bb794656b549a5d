import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { newKeyPair, publicPem } from '../fixtures/rsa-key-pairs.ts';
import { startTestService, type TestResponse, type TestService } from '../fixtures/test-service.ts';
import {
  assertRefused,
  configure,
  ENDPOINTS,
  type Headers,
  MERCHANT,
  newSender,
  openJose,
  openWssec,
  PROCESSOR,
  proxied,
  type Sender,
  withKey,
} from './proxy-requests.ts';

const PAN = '4111111111111111';
const REUSED = 'Idempotency-Key: used with another request before';
const DAY = 86_400_000;

let service: TestService;
let me: Sender;
let token: string;
before(async () => {
  service = await startTestService();
  me = await newSender(service);
  token = await me.token(PAN);
});
after(() => service.stop());

let keys = 0;
const keyed = (): { 'idempotency-key': string } => ({ 'idempotency-key': `key-${++keys}` });
const isReplay = ({ headers }: TestResponse): boolean => headers['idempotent-replayed'] === 'true';

for (const { name, around } of ENDPOINTS) {
  const send = (body: unknown, headers?: Headers): Promise<TestResponse> => me[name](body, headers);

  describe(`the Idempotency-Key on ${name}`, () => {
    const good = (): string => around(`{{${token}:detokenize}}`);

    test('a repeat returns the first response byte for byte, and reads nothing', async () => {
      const headers = keyed();
      const first = await send(good(), headers);
      proxied(first);
      assert.equal(isReplay(first), false);
      const reads = (await me.reads()).length;
      service.advance(1500);
      for (let repeat = 0; repeat < 3; repeat++) {
        const again = await send(good(), headers);
        assert.equal(again.text, first.text);
        assert.equal(again.status, 200);
        assert.ok(isReplay(again));
      }
      assert.equal((await me.reads()).length, reads);
      // Without the key it is another message, but for the hash.
      assert.equal((await send(good())).text === first.text, name === 'hash');
    });

    if (name !== 'hash') {
      test('a response that it is not configured is not stored', async () => {
        const own = await newSender(service, { setup: false });
        const headers = keyed();
        const body = around(`{{${await own.token(PAN)}:detokenize}}`);
        for (let repeat = 0; repeat < 2; repeat++) {
          const refused: TestResponse = await own[name](body, headers);
          assertRefused(refused, /^not configured for this account/);
          assert.equal(isReplay(refused), false);
        }
        await configure(service, own, { processor: PROCESSOR, merchant: MERCHANT });
        service.advance(5000);
        const response = await own[name](body, headers);
        proxied(response);
        assert.equal(isReplay(response), false);
        const again = await own[name](body, headers);
        assert.deepEqual([again.text, isReplay(again)], [response.text, true]);
      });
    }

    test('a 400 is stored as well', async () => {
      const headers = keyed();
      const first = await send(around('{{x'), headers);
      assertRefused(first, /placeholder 1/);
      const again = await send(around('{{x'), headers);
      assert.deepEqual([again.text, isReplay(again)], [first.text, true]);
    });

    test('another body, ft-encryption or query is 400', async () => {
      const key = publicPem(newKeyPair());
      const encryption = { 'ft-encryption': JSON.stringify({ key, is_partial: false }) };
      const headers = { ...keyed(), ...encryption };
      const first = await send(good(), headers);
      proxied(first);
      const reads = (await me.reads()).length;
      const others: Headers[] = [
        { 'idempotency-key': headers['idempotency-key'] },
        { ...headers, 'ft-encryption': '{}' },
        { ...headers, 'ft-encryption': '' },
        { ...headers, 'ft-encryption': `${encryption['ft-encryption'].replace('{', '{ ')}` },
      ];
      for (const other of others) assertRefused(await send(good(), other), REUSED);
      assertRefused(await send(around('plain'), headers), REUSED);
      assertRefused(await send(`${good()} `, headers), REUSED);
      assert.equal((await me.reads()).length, reads);
      assert.equal((await send(good(), headers)).text, first.text);
    });

    test('a missing header and an added one are distinguished', async () => {
      const headers = keyed();
      proxied(await send(good(), headers));
      assertRefused(await send(good(), { ...headers, 'ft-encryption': '{"is_partial":false}' }), REUSED);
      assertRefused(await send(good(), { ...headers, 'ft-encryption': '' }), REUSED);
    });

    test('a response is stored for 24 hours', async () => {
      const headers = keyed();
      const first = await send(good(), headers);
      service.advance(DAY - 60_000);
      assert.equal((await send(good(), headers)).text, first.text);
      service.advance(120_000);
      const fresh = await send(good(), headers);
      assert.equal(isReplay(fresh), false);
      proxied(fresh);
    });

    test('after the token is deleted the first response is still replayed, and a new key finds nothing', async () => {
      const own = await me.token(PAN);
      const headers = keyed();
      const body = around(`{{${own}:detokenize}}`);
      const first = await send(body, headers);
      const { secret } = await service.newKey(me.account);
      await service.call('DELETE', '/v1/tokens', { key: secret, body: { tokens: [own] } });
      assert.equal((await send(body, headers)).text, first.text);
      assertRefused(await send(body, keyed()), /no such token/);
    });
  });
}

for (const { name, around } of ENDPOINTS)
  test(`${name}: a response with a security code is not stored, and a repeat reads the capture again`, async () => {
    const id = await me.capture({ card: PAN, exp: '12/29', cvv: '957' }, 1);
    const headers = keyed();
    const body = around(`{{${id}:transaction|extract:cvv}}`);
    // Chores may delete expired responses of the tests before this one meanwhile, so identifiers are compared, not counts.
    const identifiersStored = async (): Promise<string[]> => {
      const sql = 'select id from idempotency where response is not null';
      return (await service.core.database.read(sql)).map((row) => String(row['id']));
    };
    const first = await me[name](body, headers);
    proxied(first);
    const earlier = new Set(await identifiersStored());
    const again = await me[name](body, headers);
    assert.deepEqual([again.status, isReplay(again)], [200, false]);
    assert.equal(again.text === first.text, name === 'hash');
    assert.deepEqual(
      (await identifiersStored()).filter((stored) => !earlier.has(stored)),
      [],
    );
    service.advance(120_000);
    assertRefused(await me[name](body, headers), /no such capture/);
  });

test('a replayed envelope has the original Timestamp', async () => {
  const headers = keyed();
  const createdIn = (response: TestResponse): string => /<wsu:Created>([^<]+)</.exec(proxied(response).xml)?.[1] ?? '';
  const first = createdIn(await me.wssec('<a/>', headers));
  service.advance(600_000);
  assert.equal(createdIn(await me.wssec('<a/>', headers)), first);
  assert.notEqual(createdIn(await me.wssec('<a/>')), first);
});

test('the same key is another request on another endpoint, not with another query, and the same with a slash', async () => {
  const headers = keyed();
  assert.equal(await openJose(proxied(await me.jose('{}', headers))), '{}');
  assert.equal(openWssec(proxied(await me.wssec('<a/>', headers)).xml), '<a/>');
  assert.equal(proxied(await me.hash('{}', headers)).hashType, 'SHA256');
  assertRefused(await me.hash('{}', headers, 'type=SHA512'), REUSED);
  const slashed = await service.call('POST', '/proxy/jose/', {
    headers: withKey(me.key, 'application/json', headers),
    body: '{}',
  });
  assert.ok(isReplay(slashed));
});

test('a body cannot be confused with a header', async () => {
  const headers = keyed();
  // Query, header and body are compared; these would be equal if they were concatenated.
  proxied(await me.hash('{}\na', headers));
  assertRefused(await me.hash('a', { ...headers, 'ft-encryption': '{}' }), REUSED);
});

test('another key of the account gets the response; another account gets a separate one', async () => {
  const headers = keyed();
  const first = await me.jose('{}', headers);
  const colleague = await newSender(service, { account: me.account, setup: false });
  assert.equal((await colleague.jose('{}', headers)).text, first.text);
  const stranger = await newSender(service);
  const response = await stranger.jose('{}', headers);
  assert.ok(!isReplay(response) && response.text !== first.text);
});

test('a stored response survives a restart', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'cardvault-test-'));
  try {
    let own = await startTestService({ directory });
    const sender = await newSender(own);
    const text = `<a>{{${await sender.token(PAN)}:detokenize}}</a>`;
    const headers = withKey(sender.key, 'application/xml', keyed());
    const first = await own.call('POST', '/proxy/wssec', { body: text, headers });
    assert.equal(openWssec(proxied(first).xml), `<a>${PAN}</a>`);
    await own.stop();
    own = await startTestService({ directory });
    const again = await own.call('POST', '/proxy/wssec', { body: text, headers });
    assert.equal(again.text, first.text);
    assert.ok(isReplay(again));
    await own.stop();
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});
