import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { exportJournal } from '../../src/audit/verify-journal.ts';
import { MINUTE, SECOND } from '../../src/kernel/clock.ts';
import { type CallOptions, startTestService, type TestResponse, type TestService } from '../fixtures/test-service.ts';

const LIMITED = { status_code: 429, status: 'fail', data: '' };

describe('the limit of a key', () => {
  let service: TestService;
  let account: string;
  before(async () => {
    service = await startTestService({ variables: { CARDVAULT_RATE_LIMIT_PER_KEY: '5' } });
    service.stopTime();
    account = await service.newAccount();
  });
  after(() => service.stop());

  const show = (options: CallOptions): Promise<TestResponse> => service.call('GET', '/v1/account', options);
  const remaining = ({ headers }: TestResponse): number =>
    Number(/;r=([0-9]+);/.exec(String(headers['ratelimit']))?.[1]);
  /** All at one moment of the service's clock, as far as it matters: a bucket of 5 a second gains one in 200 ms. */
  const burst = async (key: string, count: number): Promise<TestResponse[]> =>
    Promise.all(Array.from({ length: count }, () => show({ key })));

  test('is stated in every response to a valid key', async () => {
    const { secret } = await service.newKey(account);
    const responses = [
      await show({ key: secret }),
      await service.call('POST', '/v1/tokenization/simple', { key: secret, body: '{' }),
      await service.call('POST', '/v1/tokenization/simple', {
        key: secret,
        body: 'x',
        headers: { 'content-type': 'a/b' },
      }),
      await service.call('GET', '/v1/tokens/unknown/inspect', { key: secret }),
    ];
    assert.deepEqual(
      responses.map(({ status }) => status),
      [200, 400, 415, 400],
    );
    for (const { headers } of responses) {
      assert.equal(headers['ratelimit-policy'], '"per-key";q=10;w=2');
      assert.match(String(headers['ratelimit']), /^"per-key";r=[0-9];t=[12]$/);
    }
    assert.equal(remaining(responses[0] as TestResponse), 9);
  });

  test('is not stated to other callers', async () => {
    const elsewhere = await service.newKey(account, { allow: ['203.0.113.7'] });
    for (const key of ['wrong', elsewhere.secret]) {
      const { status, headers } = await show({ key });
      assert.equal(status, 403);
      assert.equal(headers['ratelimit'] ?? headers['ratelimit-policy'], undefined);
    }
  });

  test('is a burst of twice the rate, then 429 until it is refilled', async () => {
    const { secret } = await service.newKey(account);
    const responses = await burst(secret, 30);
    const served = responses.filter(({ status }) => status === 200);
    const refused = responses.filter(({ status }) => status === 429);
    assert.ok(served.length >= 10 && served.length <= 12, `${served.length}`);
    assert.equal(served.length + refused.length, 30);
    for (const { headers, json } of refused) {
      assert.equal(headers['retry-after'], '1');
      assert.equal(headers['ratelimit-policy'], '"per-key";q=10;w=2');
      assert.equal(headers['ratelimit'], '"per-key";r=0;t=1');
      const { desc, ...rest } = json;
      assert.deepEqual(rest, LIMITED);
      assert.match(desc, /\S/);
    }
    service.advance(SECOND);
    const again = (await burst(secret, 20)).filter(({ status }) => status === 200).length;
    assert.ok(again >= 5 && again <= 7, `${again}`);
    service.advance(3600 * SECOND);
    const full = (await burst(secret, 30)).filter(({ status }) => status === 200).length;
    assert.ok(full >= 10 && full <= 12, 'never more than the burst');
  });

  test('is not changed by a clock that is set', async () => {
    const { secret } = await service.newKey(account);
    await burst(secret, 30);
    for (const hours of [1, -2, 1]) {
      service.jump(hours * 3600 * SECOND);
      assert.equal((await show({ key: secret })).status, 429);
    }
    service.advance(SECOND);
    assert.equal((await show({ key: secret })).status, 200);
  });

  test('applies to each key separately', async () => {
    const [busy, quiet] = [await service.newKey(account), await service.newKey(account)];
    await burst(busy.secret, 30);
    assert.equal((await show({ key: busy.secret })).status, 429);
    assert.equal(remaining(await show({ key: quiet.secret })), 9);
  });

  test('is shared by all endpoints, and not by the environments', async () => {
    const { secret } = await service.newKey(account);
    await burst(secret, 30);
    assert.equal((await service.call('DELETE', '/v1/tokens', { key: secret, body: { tokens: ['x'] } })).status, 429);
    const production = await service.newKey(account, { environment: 'production' });
    assert.equal((await show({ key: production.secret, environment: 'production' })).status, 200);
  });

  test('of a stolen key at another address does not use up that of its owner', async () => {
    const { secret } = await service.newKey(account, { allow: ['127.0.0.1'] });
    const stolen = await Promise.all(Array.from({ length: 30 }, () => show({ key: secret, from: '127.0.0.2' })));
    assert.ok(stolen.every(({ status }) => status !== 200));
    assert.equal(remaining(await show({ key: secret })), 9);
  });

  test('does not apply to endpoints without a key', async () => {
    const responses = await Promise.all(Array.from({ length: 50 }, () => service.call('GET', '/healthz')));
    assert.ok(responses.every(({ status, headers }) => status === 200 && headers['ratelimit'] === undefined));
  });

  test('is disabled by 0', async () => {
    const free = await startTestService();
    free.stopTime();
    try {
      const key = (await free.newKey(await free.newAccount())).secret;
      const responses: TestResponse[] = [];
      // One connection for each of 20 requests: the handshakes cost more than the requests.
      while (responses.length < 300)
        responses.push(
          ...(await Promise.all(Array.from({ length: 20 }, () => free.call('GET', '/v1/account', { key })))),
        );
      assert.ok(responses.every(({ status }) => status === 200));
      assert.ok(responses.every(({ headers }) => headers['ratelimit'] === undefined));
      assert.ok(responses.every(({ headers }) => headers['ratelimit-policy'] === undefined));
    } finally {
      await free.stop();
    }
  });
});

describe('the limit of failed authentications', () => {
  let service: TestService;
  let account: string;
  before(async () => {
    service = await startTestService({
      variables: { CARDVAULT_RATE_LIMIT_FAILED_AUTHENTICATION: '6', CARDVAULT_RATE_LIMIT_PER_KEY: '1000' },
    });
    account = await service.newAccount();
  });
  after(() => service.stop());

  let lastHost = 1;
  /** Every test calls from an address of its own. */
  const newAddress = (): string => `127.0.2.${++lastHost}`;
  const show = (from: string, key?: string): Promise<TestResponse> =>
    service.call('GET', '/v1/account', { from, ...(key !== undefined && { key }) });
  const statuses = async (from: string, keys: readonly (string | undefined)[]): Promise<number[]> => {
    const all: number[] = [];
    for (const key of keys) all.push((await show(from, key)).status);
    return all;
  };

  test('allows that many 403 a minute, then 429 with Retry-After, without information about keys', async () => {
    const from = newAddress();
    assert.deepEqual(await statuses(from, Array(6).fill('wrong')), Array(6).fill(403));
    const { status, headers, json } = await show(from, 'wrong');
    assert.equal(status, 429);
    assert.equal(headers['retry-after'], '10');
    assert.equal(headers['ratelimit'] ?? headers['ratelimit-policy'], undefined);
    const { desc: _desc, ...rest } = json;
    assert.deepEqual(rest, LIMITED);
  });

  test('does not affect a valid key from the same address', async () => {
    const from = newAddress();
    const { secret } = await service.newKey(account);
    const keys = Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? 'wrong' : secret));
    const responses = await statuses(from, keys);
    assert.deepEqual([...new Set(responses.filter((_, index) => index % 2 === 1))], [200]);
    assert.equal(responses.at(-2), 429);
  });

  test('counts missing, unknown, revoked and expired keys together', async () => {
    const from = newAddress();
    const revoked = await service.newKey(account);
    await service.core.transactions.run({ origin: { actor: { type: 'operator' } } }, (transaction) =>
      service.core.accounts.revokeKey(transaction, revoked.id),
    );
    const expired = await service.newKey(account, { expiresAt: service.now() - 1 });
    const keys = [undefined, 'wrong', revoked.secret, expired.secret, undefined, '', undefined];
    assert.deepEqual(await statuses(from, keys), [403, 403, 403, 403, 403, 403, 429]);
  });

  test('counts neither an address that is not listed nor a permission that is missing', async () => {
    const from = newAddress();
    const elsewhere = await service.newKey(account, { allow: ['203.0.113.7'] });
    const narrow = await service.newKey(account, { permissions: ['tokens:create'] });
    const keys = Array.from({ length: 16 }, (_, index) => (index % 2 === 0 ? elsewhere.secret : narrow.secret));
    assert.deepEqual(await statuses(from, keys), Array(16).fill(403));
    assert.equal((await show(from, 'wrong')).status, 403);
  });

  test('applies to each address separately', async () => {
    const [busy, quiet] = [newAddress(), newAddress()];
    await statuses(busy, Array(8).fill('wrong'));
    assert.deepEqual(await statuses(quiet, ['wrong']), [403]);
  });

  test('ends after a minute', async () => {
    const from = newAddress();
    await statuses(from, Array(8).fill('wrong'));
    service.advance(10 * SECOND);
    assert.deepEqual(await statuses(from, ['wrong', 'wrong']), [403, 429]);
    service.advance(MINUTE);
    assert.deepEqual(await statuses(from, Array(7).fill('wrong')), [...Array(6).fill(403), 429]);
  });

  test('keeps failures beyond it out of the audit log', async () => {
    const from = newAddress();
    await statuses(from, Array(20).fill('wrong'));
    let count = 0;
    for await (const { record } of exportJournal(service.core.database)) {
      const { action, address } = JSON.parse(record);
      if (action === 'access.denied' && address === from) count++;
    }
    assert.equal(count, 6);
  });
});
