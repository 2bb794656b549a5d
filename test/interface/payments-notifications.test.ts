import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { MINUTE, SECOND } from '../../src/kernel/clock.ts';
import { commitOrThrow, write } from '../../src/storage/database.ts';
import { eventually } from '../fixtures/eventually.ts';
import { type CallOptions, startTestService, type TestResponse, type TestService } from '../fixtures/test-service.ts';
import { FakeKoin } from '../processors/fake-koin.ts';
import { assertRefused, idOf, infoOf, type Merchant, newMerchant, order, PAYMENTS } from './payment-requests.ts';

const PATH = '/notifications/koin';
const KIB = 1024;

describe('notifications from KOIN', () => {
  let service: TestService;
  let koin: FakeKoin;
  let me: Merchant;
  let settings: Readonly<Record<string, string>>;
  before(async () => {
    koin = new FakeKoin({ privateKey: 'sk_of_this_test', account: 'ACC' });
    const { url } = await koin.start();
    service = await startTestService();
    settings = {
      'base-url': url,
      'private-key': 'sk_of_this_test',
      account: 'ACC',
      'notification-url': 'https://vault.example/pay/',
    };
    me = await newKoinMerchant();
  });
  after(async () => {
    await service.stop();
    await koin.stop();
  });

  async function newKoinMerchant(): Promise<Merchant> {
    const merchant = await newMerchant(service);
    await service.enablePayments(merchant.account, settings, 'koin');
    // Settings are cached for some seconds.
    service.advance(5000);
    return merchant;
  }

  const notify = (secret: string, options: CallOptions = {}): Promise<TestResponse> =>
    service.call('POST', `${PATH}/${secret}`, { body: { status: 'anything' }, ...options });

  /** KOIN's records name the order by the merchant's reference, too. */
  const refOf = (id: string): string => `A-1001.${id}`;

  /** An order that KOIN still thinks about, and the secret in the address that it was given. */
  async function open(merchant = me): Promise<{ id: string; secret: string }> {
    koin.inject({ on: 'create', do: { becomes: 'Opened' } });
    const body = { ...order(), bill_to: { ...order().bill_to, country: 'BR' } };
    const response = await merchant.send('POST', PAYMENTS, body);
    assert.equal(response.json.message, 'Authorization in progress', `${response.text} ${koin.violations}`);
    const id = idOf(response);
    const [url = ''] = koin.ledger.orders.get(refOf(id))?.notificationUrls ?? assert.fail('no order');
    const [, secret = ''] = /^https:\/\/vault\.example\/pay\/notifications\/koin\/([A-Za-z0-9_-]{43})$/.exec(url) ?? [];
    assert.notEqual(secret, '', url);
    return { id, secret };
  }

  test('are answered with 204 and cause an inquiry, whose result alone counts', async () => {
    const { id, secret } = await open();
    const lying = await notify(secret, { body: { order: { status: { type: 'Authorized' } } } });
    assert.deepEqual([lying.status, lying.text], [204, '']);
    const inquiryCount = () => koin.requests.filter((kind) => kind === 'get' || kind === 'find').length;
    await eventually(async () => inquiryCount() > 0);
    assert.equal((await me.standing(id)).status, 'Opened');
    koin.setStatus(refOf(id), 'Authorized');
    assert.equal((await notify(secret)).status, 204);
    await eventually(async () => (await me.standing(id)).status === 'Authorized');
    assert.equal(infoOf(await me.show(id)).operation, 'authorization');
  });

  test('may be duplicate, concurrent and late, with any body and type', async () => {
    const { id, secret } = await open();
    koin.setStatus(refOf(id), 'Failed', 'Insufficient funds');
    const bodies = ['', '{', 'x'.repeat(64 * KIB), { a: 1 }, Buffer.from([0xff])];
    const responses = await Promise.all(bodies.map((body) => notify(secret, { body })));
    responses.push(
      await notify(secret, { headers: { 'content-type': 'text/plain' } }),
      await service.call('POST', `${PATH}/${secret}/`),
    );
    for (const { status } of responses) assert.equal(status, 204);
    await eventually(async () => (await me.standing(id)).status === 'Declined');
    assert.equal((await notify(secret)).status, 204);
    assert.equal((await me.standing(id)).status, 'Declined');
  });

  test('require no key, and an invalid one is ignored', async () => {
    const { secret } = await open();
    assert.equal((await notify(secret, { key: me.key })).status, 204);
    assert.equal((await notify(secret, { key: 'wrong' })).status, 204);
  });

  test('with an unknown secret are 404, also with that of the other environment', async () => {
    const { id, secret } = await open();
    for (const wrong of ['x', secret.slice(0, -1), `${secret}x`, secret.toUpperCase(), id, 'x'.repeat(5000), '%00'])
      assertRefused(await notify(wrong), { status: 404, code: 'unknown_path' });
    assertRefused(await notify(secret, { environment: 'production' }), { status: 404, code: 'unknown_path' });
    assert.equal((await notify(secret, { environment: 'console' })).status, 404);
    for (const path of [
      '/notifications',
      PATH,
      `${PATH}/`,
      `/notifications/simulator/${secret}`,
      `${PATH}/${secret}/x`,
    ])
      assert.equal((await service.call('POST', path, { body: {} })).status, 404, path);
  });

  test('above 64 KiB are 413', async () => {
    const { secret } = await open();
    for (const name of [secret, 'x'])
      assertRefused(await notify(name, { body: 'x'.repeat(64 * KIB + 1) }), { status: 413, code: 'body_too_large' });
  });

  test('with another method are 405', async () => {
    const { secret } = await open();
    for (const method of ['GET', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
      const response = await service.call(method, `${PATH}/${secret}`);
      assertRefused(response, { status: 405, code: 'method_not_allowed' });
      assert.equal(response.headers.allow, 'POST');
    }
  });

  test('do not block changes of the payment, whatever their number', async () => {
    const { id, secret } = await open();
    koin.setStatus(refOf(id), 'Authorized');
    await notify(secret);
    await eventually(async () => (await me.standing(id)).status === 'Authorized');
    const revision = async (): Promise<number> => {
      const [row] = await service.core.database.read('select revision from payments where id = ?', id);
      return Number(row?.['revision']);
    };
    const before = await revision();
    const notifications = Promise.all(Array.from({ length: 200 }, () => notify(secret)));
    const captured = await me.send('POST', `${PAYMENTS}/${id}/capture`, { transaction_info: { type: 'capture' } });
    assert.equal(infoOf(captured).status, 'Collected', captured.text);
    for (const { status } of await notifications) assert.equal(status, 204);
    assert.ok((await revision()) - before < 40, 'most of them had nothing to note');
  });

  test('about a capture in progress do not interfere with it', async () => {
    const { id, secret } = await open();
    koin.setStatus(refOf(id), 'Authorized');
    await notify(secret);
    await eventually(async () => (await me.standing(id)).status === 'Authorized');
    await service.enablePayments(me.account, { 'timeout-ms': '1000', 'recovery-delay-ms': '0' }, 'koin');
    service.advance(5000);
    koin.inject({ on: 'get', do: { delay: 300 } });
    koin.inject({ on: 'capture', do: 'hang-after' });
    const inquiry = koin.nextWait();
    await notify(secret);
    await eventually(async () => inquiry.aborted);
    const captured = await me.send('POST', `${PAYMENTS}/${id}/capture`, { transaction_info: { type: 'capture' } });
    assert.equal(captured.json.message, 'Outcome unknown, being resolved', captured.text);
    const body = { transaction_info: { type: 'payment_refund' } };
    await eventually(async () => (await me.send('POST', `${PAYMENTS}/${id}/refund`, body)).status === 200);
    assert.equal(
      (await me.standing(id)).amounts['refunded_amount'],
      (await me.standing(id)).amounts['collected_amount'],
    );
  });

  test('are recorded while the settings fail authentication, and the inquiry follows once they are restored', async () => {
    const own = await newKoinMerchant();
    const { id, secret } = await open(own);
    koin.setStatus(refOf(id), 'Authorized');
    const alter = async (by: number): Promise<void> => {
      const sql = 'update processor_configurations set revision = revision + ? where account = ?account';
      await commitOrThrow(service.core.database, { writes: [write(sql, [by, own.account])] });
      service.advance(5000);
    };
    const dueAt = async (): Promise<number> => {
      const [row] = await service.core.database.read('select due_at from payments where id = ?', id);
      return Number(row?.['due_at']);
    };
    await alter(7);
    const before = await dueAt();
    const requestCount = koin.requestsAbout(refOf(id));
    // A job may have deferred it before, and defers it for as long after the hint.
    service.advance(SECOND);
    assert.equal((await notify(secret)).status, 204);
    assert.ok((await dueAt()) !== before, 'the hint moved the time of the next inquiry');
    // A job that cannot open the settings leaves the payment for a minute.
    await eventually(async () => service.log.some((line) => line.includes(id) && line.includes('payment deferred')));
    assert.equal(koin.requestsAbout(refOf(id)), requestCount, 'nothing is sent with altered settings');
    await alter(-7);
    service.advance(MINUTE);
    await eventually(async () => (await own.standing(id)).status === 'Authorized');
    assert.ok(koin.requestsAbout(refOf(id)) > requestCount);
  });

  test('do not have their secret in any log line', async () => {
    const { secret } = await open();
    await notify(secret);
    await notify(`${secret}x`);
    const lines = service.log.join('');
    assert.ok(lines.includes('"route":"/notifications/koin/:secret"'));
    assert.ok(!lines.includes(secret));
  });
});
