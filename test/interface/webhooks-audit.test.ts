import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { SECOND } from '../../src/kernel/clock.ts';
import { readAuditRecords } from '../fixtures/audit-records.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import { untilPasses } from '../fixtures/until-passes.ts';
import { startWebhookReceiver } from '../fixtures/webhook-receiver.ts';
import { type Caller, dataOf, newCaller } from './vault-requests.ts';

const WEBHOOKS = '/v1/webhooks';

describe('the audit log of webhooks', { timeout: 60_000 }, () => {
  let service: TestService;
  let receiver: Awaited<ReturnType<typeof startWebhookReceiver>>;
  let me: Caller;
  before(async () => {
    receiver = await startWebhookReceiver();
    service = await startTestService({ variables: { CARDVAULT_WEBHOOK_NETWORKS: '127.0.0.0/8' } });
    me = await newCaller(service, { name: 'shop' });
  });
  after(async () => {
    await receiver.stop();
    await service.stop();
  });

  const tenant = () => ({ account: me.account, environment: 'sandbox' });
  const send = async (method: string, path: string, body?: unknown) => dataOf(await me.send(method, path, body));
  const create = async (path: string, events: string[]): Promise<string> => {
    const { id } = await send('POST', WEBHOOKS, { url: `${receiver.url}${path}`, events });
    // The endpoints of a tenant are cached for two seconds.
    service.advance(3 * SECOND);
    return id;
  };
  const deleteToken = async (): Promise<void> => {
    const [{ token }] = dataOf(
      await me.tokenize({ chd: [{ card: '4111111111111111', name: 'Ana', exp: '12/40' }], tags: [], scheme: 7 }),
    ).tokens;
    await send('DELETE', '/v1/tokens', { tokens: [token] });
  };

  test('names the key, the tenant and the endpoint of every change, and of its URL the host alone', async () => {
    const id = await create('path-of-the-shop', ['token.deleted']);
    const path = `${WEBHOOKS}/${id}`;
    await send('POST', path, { events: ['*'], description: 'Orders' });
    const { secret } = await send('POST', `${path}/rotate`, { overlap_minutes: 15 });
    await send('POST', `${path}/test`);
    await deleteToken();
    const event = await untilPasses(async () => {
      service.advance(SECOND);
      const [delivery] = (await send('GET', `${path}/deliveries`)).deliveries;
      assert.equal(delivery?.status, 'delivered');
      return delivery.event_id;
    });
    await send('POST', `${path}/replay`, { event_id: event });
    await send('DELETE', path);
    const records = await readAuditRecords(service, me.account, `webhook:${id}`);
    const { host } = new URL(receiver.url);
    const expected = [
      ['webhook.created', { host }],
      ['webhook.changed', { host, changed: ['events', 'description'] }],
      ['webhook.secret-rotated', { host, overlap_minutes: 15 }],
      ['webhook.tested', { host }],
      ['webhook.replayed', { host, count: 1 }],
      ['webhook.deleted', { host }],
    ];
    assert.deepEqual(
      records.map(({ action, detail }) => [action, detail]),
      expected,
    );
    for (const { request_id: requestId, action, detail, ...rest } of records) {
      const actor = { type: 'key', id: me.keyId, name: 'shop' };
      const targets = [`webhook:${id}`];
      assert.deepEqual(rest, { outcome: 'success', actor, address: '127.0.0.1', targets, tenant: tenant() }, action);
      assert.ok(requestId !== undefined, action);
    }
    for (const text of [secret, 'path-of-the-shop', 'Orders']) assert.ok(!JSON.stringify(records).includes(text));
  });

  test('names the service as the one that disables an endpoint whose server responds 410', async () => {
    receiver.respond = (_, response) => void response.writeHead(410).end();
    const id = await create('gone', ['token.deleted']);
    await deleteToken();
    const disabled = await untilPasses(async () => {
      service.advance(SECOND);
      const [, record] = await readAuditRecords(service, me.account, `webhook:${id}`);
      assert.ok(record !== undefined);
      return record;
    });
    assert.deepEqual(disabled, {
      action: 'webhook.disabled',
      outcome: 'success',
      actor: { type: 'service' },
      targets: [`webhook:${id}`],
      detail: { host: new URL(receiver.url).host, reason: 'gone' },
      tenant: tenant(),
    });
  });
});
