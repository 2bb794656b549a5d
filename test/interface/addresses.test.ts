import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { exportJournal } from '../../src/audit/verify-journal.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import { exchange, requestText } from '../fixtures/wire.ts';

describe('allow-lists', () => {
  let service: TestService;
  let account: string;
  before(async () => {
    service = await startTestService({ variables: { CARDVAULT_HOST: '127.0.0.1,::1' } });
    account = await service.newAccount();
  });
  after(() => service.stop());

  const cases: readonly [list: string[], from: string, status: number][] = [
    [['127.0.0.1'], '127.0.0.1', 200],
    [['127.0.0.1'], '127.0.0.2', 403],
    [['127.0.0.1', '127.0.0.2'], '127.0.0.2', 200],
    [['127.0.0.1/32'], '127.0.0.1', 200],
    [['127.0.0.0/30'], '127.0.0.3', 200],
    [['127.0.0.0/30'], '127.0.0.4', 403],
    [['127.0.0.64/26'], '127.0.0.127', 200],
    [['127.0.0.64/26'], '127.0.0.128', 403],
    [['0.0.0.0/0'], '127.9.8.7', 200],
    [['::/0'], '127.0.0.1', 403],
    [['::1'], '127.0.0.1', 403],
    [['10.0.0.0/8', '127.1.0.0/16'], '127.1.255.255', 200],
    [['10.0.0.0/8', '127.1.0.0/16'], '127.2.0.0', 403],
    [[], '127.0.0.1', 403],
  ];
  for (const [list, from, status] of cases) {
    test(`[${list.join(', ')}] responds to ${from} with ${status}`, async () => {
      const { secret } = await service.newKey(account, { allow: list });
      assert.equal((await service.call('GET', '/v1/account', { key: secret, from })).status, status);
      // The decision about one address must not apply to another one.
      const other = list.includes('127.0.0.1') || list.includes('0.0.0.0/0') ? 200 : 403;
      if (list.length === 1 && !list[0]?.startsWith('127.0.0.0') && !list[0]?.startsWith('127.0.0.1/'))
        assert.equal((await service.call('GET', '/v1/account', { key: secret, from: '127.0.0.1' })).status, other);
    });
  }

  const overIpv6: readonly [list: string[], status: number][] = [
    [['::1'], 200],
    [['0:0:0:0:0:0:0:1'], 200],
    [['::/127'], 200],
    [['::2/127'], 403],
    [['127.0.0.1'], 403],
    [['0.0.0.0/0'], 403],
    [['2001:db8::/32', '::/0'], 200],
    [[], 403],
  ];
  for (const [list, status] of overIpv6) {
    test(`[${list.join(', ')}] responds to ::1 on the IPv6 listener with ${status}`, async () => {
      const { secret } = await service.newKey(account, { allow: list });
      const request = requestText('GET /v1/account', { 'x-api-key': secret });
      const [response] = await exchange(service, request, { host: '::1' });
      assert.equal(response?.status, status);
    });
  }

  test('no forwarding header is used while no proxy is trusted', async () => {
    const listed = await service.newKey(account, { allow: ['127.0.0.1'] });
    const elsewhere = await service.newKey(account, { allow: ['203.0.113.7'] });
    const headers = { 'x-forwarded-for': '203.0.113.7' };
    assert.equal((await service.call('GET', '/v1/account', { key: listed.secret, headers })).status, 200);
    assert.equal((await service.call('GET', '/v1/account', { key: elsewhere.secret, headers })).status, 403);
  });
});

describe('a listener for both families', () => {
  let service: TestService;
  before(async () => {
    service = await startTestService({ variables: { CARDVAULT_HOST: '::' } });
  });
  after(() => service.stop());

  test('treats an IPv4 peer, which the system reports as mapped IPv6, as IPv4', async () => {
    const account = await service.newAccount();
    const v4 = await service.newKey(account, { allow: ['127.0.0.1'] });
    const v6 = await service.newKey(account, { allow: ['::/0'] });
    assert.equal((await service.call('GET', '/v1/account', { key: v4.secret })).status, 200);
    const headers = { 'x-request-id': 'mapped' };
    assert.equal((await service.call('GET', '/v1/account', { key: v6.secret, headers })).status, 403);
    const lines = service.log.map((line) => JSON.parse(line)).filter(({ request_id }) => request_id === 'mapped');
    assert.deepEqual(
      lines.map(({ address }) => address),
      ['127.0.0.1'],
    );
  });
});

describe('X-Forwarded-For', () => {
  let service: TestService;
  let key: string;
  before(async () => {
    service = await startTestService({
      variables: { CARDVAULT_TRUSTED_PROXIES: '127.0.0.9, 127.0.1.0/24', CARDVAULT_METRICS_ALLOW: '203.0.113.7' },
    });
    const account = await service.newAccount();
    key = (await service.newKey(account, { allow: ['203.0.113.7', '2001:db8::/32'] })).secret;
  });
  after(() => service.stop());

  const PROXY = '127.0.0.9';
  const cases: readonly [what: string, from: string, forwarded: string, status: number][] = [
    ['is believed from a trusted proxy', PROXY, '203.0.113.7', 200],
    ['is believed from a trusted network', '127.0.1.77', '203.0.113.7', 200],
    ['is not believed from elsewhere', '127.0.0.1', '203.0.113.7', 403],
    ['is not believed from a neighbor of the proxy', '127.0.0.10', '203.0.113.7', 403],
    ['is read from the right: what the client wrote first is no matter', PROXY, '198.51.100.1, 203.0.113.7', 200],
    ['is read from the right: a listed address put first by the client', PROXY, '203.0.113.7, 198.51.100.1', 403],
    ['passes through several trusted hops', PROXY, '203.0.113.7, 127.0.1.5, 127.0.1.6', 200],
    ['stops at the first hop that is not trusted', PROXY, '203.0.113.7, 127.0.0.1, 127.0.1.6', 403],
    ['may be IPv6', PROXY, '2001:db8::7', 200],
    ['may be IPv6 that is not listed', PROXY, '2001:db9::7', 403],
    ['may be mapped IPv6', PROXY, '::ffff:203.0.113.7', 200],
    ['may be mapped IPv6 in hexadecimal', PROXY, '::ffff:cb00:7107', 200],
    ['is garbage before the listed address', PROXY, 'garbage, 203.0.113.7', 200],
    ['is garbage after the listed address', PROXY, '203.0.113.7, garbage', 403],
    ['is garbage alone', PROXY, 'garbage', 403],
    ['is empty', PROXY, '', 403],
    ['is a list of nothing', PROXY, ',,,', 403],
    ['has a port', PROXY, '203.0.113.7:443', 403],
    ['has brackets', PROXY, '[2001:db8::7]', 403],
    ['has a zone', PROXY, '2001:db8::7%eth0', 403],
    ['has leading zeros', PROXY, '203.0.113.007', 403],
    ['is one number', PROXY, '3405803783', 403],
    ['is hexadecimal', PROXY, '0xcb.0.0x71.7', 403],
    ['is short', PROXY, '203.113.7', 403],
    ['is a network', PROXY, '203.0.113.7/32', 403],
    ['names only trusted proxies', PROXY, '127.0.1.5', 403],
  ];
  for (const [what, from, forwarded, status] of cases) {
    test(`${what}: "${forwarded}" from ${from} is ${status}`, async () => {
      const headers = { 'x-forwarded-for': forwarded };
      assert.equal((await service.call('GET', '/v1/account', { key, from, headers })).status, status);
    });
  }

  test('sent twice is one list', async () => {
    const twice = (first: string, second: string): string =>
      `GET /v1/account HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nx-api-key: ${key}\r\n` +
      `x-forwarded-for: ${first}\r\nx-forwarded-for: ${second}\r\n\r\n`;
    const status = async (first: string, second: string): Promise<number | undefined> =>
      (await exchange(service, twice(first, second), { localAddress: PROXY }))[0]?.status;
    assert.equal(await status('198.51.100.1', '203.0.113.7'), 200);
    assert.equal(await status('203.0.113.7', '198.51.100.1'), 403);
  });

  test('no other header sets the address, not even from a trusted proxy', async () => {
    const names = ['x-real-ip', 'x-client-ip', 'true-client-ip', 'cf-connecting-ip', 'x-forwarded', 'x-originating-ip'];
    for (const name of names) {
      const { status } = await service.call('GET', '/v1/account', {
        key,
        from: PROXY,
        headers: { [name]: '203.0.113.7' },
      });
      assert.equal(status, 403, name);
    }
    const headers = { forwarded: 'for=203.0.113.7' };
    assert.equal((await service.call('GET', '/v1/account', { key, from: PROXY, headers })).status, 403);
  });

  test('applies to /metrics too', async () => {
    const status = async (from: string, forwarded: string): Promise<number> =>
      (
        await service.call('GET', '/metrics', {
          environment: 'console',
          from,
          headers: { 'x-forwarded-for': forwarded },
        })
      ).status;
    assert.equal(await status(PROXY, '203.0.113.7'), 200);
    assert.equal(await status('127.0.0.1', '203.0.113.7'), 403);
    assert.equal(await status(PROXY, '203.0.113.7, 198.51.100.1'), 403);
  });

  test('a malformed address appears in neither log nor audit log', async () => {
    const headers = { 'x-forwarded-for': '4111111111111111', 'x-request-id': 'garbage' };
    assert.equal((await service.call('GET', '/v1/account', { key, from: PROXY, headers })).status, 403);
    const lines = service.log.filter((line) => line.includes('"request_id":"garbage"'));
    assert.deepEqual(
      lines.map((line) => JSON.parse(line).address),
      ['unknown'],
    );
    let journal = '';
    for await (const { record } of exportJournal(service.core.database)) journal += record;
    assert.match(journal, /"request_id":"garbage"/);
    assert.doesNotMatch(journal + service.log.join(''), /4111111111111111/);
  });
});
