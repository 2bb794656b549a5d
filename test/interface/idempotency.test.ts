import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { TestResponse, TestService } from '../fixtures/test-service.ts';
import { luhnPan, startTestService } from '../fixtures/test-service.ts';
import { inScope } from '../scope.ts';
import {
  assertRefused,
  CAPTURES,
  type Caller,
  capture,
  cards,
  dataOf,
  newCaller,
  TOKENIZE,
  TOKENS,
  tokensIn,
  VISA,
} from './vault-requests.ts';

/** Concurrent requests with one key. */
const AT_ONCE = inScope({ usual: 10, long: 30 });

const DAY = 86_400_000;
const REUSED = 'Idempotency-Key: used with another request before';

let service: TestService;
let me: Caller;
before(async () => {
  service = await startTestService();
  me = await newCaller(service);
});
after(() => service.stop());

const keyed = (key: string) => ({ 'idempotency-key': key });
let keys = 0;
const newKey = () => `key-${++keys}`;
const isReplay = (response: TestResponse): boolean => {
  const mark = response.headers['idempotent-replayed'];
  assert.ok(mark === undefined || mark === 'true');
  return mark === 'true';
};

function assertReplay(response: TestResponse, first: TestResponse): void {
  assert.equal(response.text, first.text);
  assert.equal(response.status, first.status);
  assert.ok(isReplay(response));
  assert.equal(response.headers['content-type'], first.headers['content-type']);
  assert.notEqual(response.headers['x-request-id'], first.headers['x-request-id']);
}

/** Every POST and DELETE, and a request that would answer differently if it were carried out twice. */
const ENDPOINTS: Record<
  string,
  (caller: Caller) => Promise<{ method: string; path: string; body?: unknown; others: unknown[] }>
> = {
  'POST /v1/tokenization/simple': async () => ({
    method: 'POST',
    path: TOKENIZE,
    body: cards([VISA]),
    others: [cards([VISA], { tags: ['x'] }), `${JSON.stringify(cards([VISA]))} `, cards(['1'])],
  }),
  'DELETE /v1/tokens': async (caller) => {
    const tokens = tokensIn(await caller.tokenize(cards([VISA])));
    return { method: 'DELETE', path: TOKENS, body: { tokens }, others: [{ tokens: [...tokens, ...tokens] }, '{'] };
  },
  'POST /transactions/requests': async () => ({
    method: 'POST',
    path: CAPTURES,
    body: capture(),
    others: [capture({ amount: 12501 }), capture({ amount: '12500' }), ''],
  }),
  'POST /transactions/requests/{id}/tokenize': async (caller) => ({
    method: 'POST',
    path: `${CAPTURES}/${await caller.capture()}/tokenize`,
    body: { tags: [], scheme: 1 },
    others: [
      { tags: [], scheme: '1' },
      { scheme: 1, tags: [] },
    ],
  }),
  'DELETE /transactions/requests/{id}': async (caller) => ({
    method: 'DELETE',
    path: `${CAPTURES}/${await caller.capture()}`,
    others: [{ a: 1 }],
  }),
  'POST /v1/account': async () => ({ method: 'POST', path: '/v1/account', others: [{}, 'x'] }),
};

for (const [name, requestOf] of Object.entries(ENDPOINTS)) {
  describe(name, () => {
    let request: Awaited<ReturnType<typeof requestOf>>;
    let first: TestResponse;
    const key = newKey();
    const send = (body: unknown, headers = {}, path = request.path, caller = me) =>
      caller.send(request.method, path, body, { ...keyed(key), ...headers });
    before(async () => {
      request = await requestOf(me);
      first = await send(request.body);
    });

    test('200: a repeat returns the first response, marked as a replay', async () => {
      dataOf(first);
      assert.equal(isReplay(first), false);
      const rows = [await me.count('tokens'), await me.count('captures')];
      for (const path of [request.path, `${request.path}/`, request.path])
        assertReplay(await send(request.body, {}, path), first);
      assert.deepEqual([await me.count('tokens'), await me.count('captures')], rows);
    });

    test('200: whichever key of the account sends it', async () => {
      const colleague = await newCaller(service, { account: me.account });
      assertReplay(await send(request.body, {}, request.path, colleague), first);
    });

    test('400: another body or query, without an effect', async () => {
      const rows = [await me.count('tokens'), await me.count('captures')];
      for (const other of request.others) assertRefused(await send(other), REUSED, other);
      assertRefused(await send(request.body, {}, `${request.path}?secretquery=1`), REUSED, 'secretquery');
      assert.deepEqual([await me.count('tokens'), await me.count('captures')], rows);
      assertReplay(await send(request.body), first);
    });

    test('the query is part of the request', async () => {
      const headers = keyed(newKey());
      const fresh = await requestOf(me);
      const queried = await me.send(fresh.method, `${fresh.path}?a=1`, fresh.body, headers);
      assertReplay(await me.send(fresh.method, `${fresh.path}/?a=1`, fresh.body, headers), queried);
      assertRefused(await me.send(fresh.method, `${fresh.path}?a=2`, fresh.body, headers), REUSED);
      assertRefused(await me.send(fresh.method, fresh.path, fresh.body, headers), REUSED);
    });

    test('200: accounts and environments are separate', async () => {
      for (const options of [{}, { account: me.account, environment: 'production' as const }]) {
        const other = await newCaller(service, options);
        const theirs = await requestOf(other);
        const response = await other.send(theirs.method, theirs.path, theirs.body, keyed(key));
        dataOf(response);
        assert.equal(isReplay(response), false);
        assert.notEqual(response.text, first.text);
      }
    });

    test('403: a key without the permission gets no replay', async () => {
      const stranger = await newCaller(service, { account: me.account, permissions: ['captures:inspect'] });
      assertRefused(await send(request.body, {}, request.path, stranger), 'Access denied.', undefined, 403);
    });

    test('400: a malformed Idempotency-Key, whatever the body', async () => {
      const desc = 'Idempotency-Key: expected 1 to 255 visible ASCII characters';
      for (const malformed of ['', 'a b', 'a\tb', 'clé', 'x'.repeat(256)])
        for (const body of [request.body, '{"scheme":'])
          assertRefused(await send(body, keyed(malformed)), desc, malformed);
    });

    test('200: an Idempotency-Key of 255 characters of every kind', async () => {
      const visible = Array.from({ length: 94 }, (_, index) => String.fromCharCode(33 + index)).join('');
      const headers = keyed(visible.repeat(3).slice(0, 255));
      const fresh = await requestOf(me);
      const response = await me.send(fresh.method, fresh.path, fresh.body, headers);
      dataOf(response);
      assertReplay(await me.send(fresh.method, fresh.path, fresh.body, headers), response);
    });

    test(`${AT_ONCE} concurrent requests have one effect`, async () => {
      const headers = keyed(newKey());
      const fresh = await requestOf(me);
      const rows = [await me.count('tokens'), await me.count('captures')];
      const once = () => me.send(fresh.method, fresh.path, fresh.body, headers);
      const responses = await Promise.all(Array.from({ length: AT_ONCE }, once));
      const good = responses.filter(({ status }) => status === 200);
      assert.equal(good.filter((response) => !isReplay(response)).length, 1);
      assert.equal(new Set(good.map(({ text }) => text)).size, 1);
      for (const response of responses.filter(({ status }) => status !== 200)) {
        assertRefused(response, 'The same request is still being processed.', undefined, 409);
        assert.match(response.headers['retry-after'] ?? '', /^[1-9][0-9]*$/);
      }
      const [tokens = 0, captures = 0] = rows;
      const changes = Math.abs((await me.count('tokens')) - tokens) + Math.abs((await me.count('captures')) - captures);
      assert.equal(changes, request.path === '/v1/account' ? 0 : 1);
      assertReplay(await once(), good[0] as TestResponse);
    });
  });
}

test('paths, methods and keys are distinguished, including the case of keys', async () => {
  const headers = keyed(newKey());
  const token = dataOf(await me.tokenize(cards([VISA]), headers)).tokens[0].token;
  const [one, two] = [await me.capture(), await me.capture()];
  for (const response of [
    await me.send('POST', CAPTURES, capture(), headers),
    await me.send('POST', `${CAPTURES}/${one}/tokenize`, { tags: [], scheme: 1 }, headers),
    await me.send('POST', `${CAPTURES}/${two}/tokenize`, { tags: [], scheme: 1 }, headers),
    await me.send('DELETE', `${CAPTURES}/${one}`, undefined, headers),
    await me.send('DELETE', TOKENS, { tokens: [token] }, headers),
    await me.tokenize(cards([VISA]), keyed(headers['idempotency-key'].toUpperCase())),
  ]) {
    dataOf(response);
    assert.equal(isReplay(response), false);
  }
});

test('GET ignores the header', async () => {
  const id = await me.capture();
  for (const key of ['a key that is none', 'good', 'good'])
    assert.equal(isReplay(await me.send('GET', `${CAPTURES}/${id}`, undefined, keyed(key))), false);
});

test('responses are stored for 24 hours, then the request is executed again', async () => {
  const headers = keyed(newKey());
  const request = () => me.tokenize(cards([VISA]), headers);
  const first = await request();
  service.advance(DAY - 5000);
  assertReplay(await request(), first);
  service.advance(5001);
  const next = await request();
  assert.equal(isReplay(next), false);
  assert.notDeepEqual(tokensIn(next), tokensIn(first));
  service.advance(DAY - 5000);
  assertReplay(await request(), next);
  service.advance(5001);
  dataOf(await me.tokenize(cards([luhnPan('455667')]), headers));
});

test('the stored response is encrypted, and the key is not stored', async () => {
  const owner = await newCaller(service);
  const [token = ''] = tokensIn(await owner.tokenize(cards([VISA]), keyed('recognisable-key')));
  const rows = await service.core.database.read('select * from idempotency where account = ?account', owner.account);
  assert.equal(rows.length, 1);
  const values = Object.values(rows[0] ?? {}).map((value) =>
    value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : String(value),
  );
  assert.doesNotMatch(values.join(' '), new RegExp(`${token}|recognisable|411111\\*|success`));
});

test('after a restart, and on another node, the first responses are replayed', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'cardvault-test-'));
  const start = () => startTestService({ directory });
  let [home, node] = [await start(), await start()];
  try {
    const caller = await newCaller(home);
    const { key } = caller;
    const requests = Object.values(ENDPOINTS).map(async (requestOf) => {
      const request = await requestOf(caller);
      return { ...request, first: await caller.send(request.method, request.path, request.body, keyed('again')) };
    });
    const created = await Promise.all(requests);
    const repeat = async (where: TestService) => {
      for (const { method, path, body, first } of created) {
        const response = await where.call(method, path, { key, body, headers: keyed('again') });
        assertReplay(response, first);
        assertRefused(await where.call(method, path, { key, body: '[]', headers: keyed('again') }), REUSED);
      }
    };
    await repeat(node);
    await home.stop();
    await node.stop();
    [home, node] = [await start(), await start()];
    await repeat(home);
    await repeat(node);
  } finally {
    await home.stop();
    await node.stop();
    rmSync(directory, { recursive: true, force: true });
  }
});
