import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { approve, executeApproval, listApprovals, setDualControl } from '../../console/wire/approvals.ts';
import { listAudit } from '../../console/wire/audit.ts';
import {
  createWebhook,
  deleteWebhook,
  editWebhook,
  listDeliveries,
  listWebhooks,
  replayDelivery,
  rotateWebhook,
  showEvent,
  testWebhook,
} from '../../console/wire/webhooks.ts';
import { MINUTE, SECOND } from '../../src/kernel/clock.ts';
import { readAuditRecords } from '../fixtures/audit-records.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import { untilPasses } from '../fixtures/until-passes.ts';
import { startWebhookReceiver } from '../fixtures/webhook-receiver.ts';
import { newMerchant } from '../interface/payment-requests.ts';
import {
  type AccountUser,
  assertRefused,
  assertUnknown,
  executedResult,
  newAccountUser,
  successData,
} from './account-user.ts';

const SECRET = /^whsec_[A-Za-z0-9+/]{43}=$/;

describe('webhooks in the console', { timeout: 120_000 }, () => {
  let service: TestService;
  let receiver: Awaited<ReturnType<typeof startWebhookReceiver>>;
  before(async () => {
    receiver = await startWebhookReceiver();
    service = await startTestService({
      variables: { CARDVAULT_WEBHOOK_NETWORKS: '127.0.0.0/8', CARDVAULT_WEBHOOK_SCHEDULE: '5s,5m' },
    });
  });
  after(async () => {
    await receiver.stop();
    await service.stop();
  });

  const newOwner = async (): Promise<AccountUser> => {
    const owner = await newAccountUser(service, await service.newAccount());
    await owner.person.stepUp();
    return owner;
  };
  const created = async (user: AccountUser, body: object = {}) =>
    executedResult(await user.call(createWebhook, { body: { url: receiver.url, events: ['*'], ...body } }));
  const listed = async (user: AccountUser) => successData(await user.call(listWebhooks)).webhooks;
  /** The actions that the audit log has of an endpoint; each names the user, the tenant and the endpoint. */
  const recordedActions = async (user: AccountUser, id: string): Promise<string[]> => {
    const records = await readAuditRecords(service, user.account, `webhook:${id}`);
    for (const { action, outcome, actor, address, tenant, targets } of records) {
      const { person, account } = user;
      assert.deepEqual([actor.type, actor.id, outcome], ['person', person.id, 'success'], action);
      assert.deepEqual([address, tenant], ['127.0.0.1', { account, environment: 'sandbox' }], action);
      assert.deepEqual(targets, [`webhook:${id}`], action);
    }
    return records.map(({ action }) => action);
  };

  test('are created with a secret that is shown once, and after a step-up alone', async () => {
    const owner = await newAccountUser(service, await service.newAccount());
    service.advance(6 * MINUTE);
    const body = { url: `${receiver.url}first`, events: ['payment.declined', 'payment.refunded'], description: 'Shop' };
    assertRefused(await owner.call(createWebhook, { body }), 'step_up_required');
    await owner.person.stepUp();
    const { webhook, secret } = executedResult(await owner.call(createWebhook, { body }));
    assert.match(secret, SECRET);
    assert.deepEqual(
      [webhook.url, webhook.events, webhook.description, webhook.state, webhook.last_attempt_at],
      [body.url, body.events, 'Shop', 'enabled', null],
    );
    const list = await owner.call(listWebhooks);
    assert.deepEqual(successData(list).webhooks, [webhook]);
    assert.ok(!list.text.includes(secret));
    const audit = await owner.call(listAudit, { body: {} });
    assert.ok(audit.text.includes('webhook.created'), audit.text);
    assert.ok(!audit.text.includes(secret) && !audit.text.includes('/first'));
  });

  test('are refused with the field at fault, and nothing is stored', async () => {
    const owner = await newOwner();
    const refused = async (field: string, body: object) =>
      assertRefused(
        await owner.call(createWebhook, { body: { url: receiver.url, events: ['*'], ...body } }),
        'invalid_field',
        field,
      );
    await refused('url', { url: 'ftp://shop.example/' });
    await refused('url', { url: 'http://10.0.0.1/' });
    await refused('events[0]', { events: ['payment.unheard-of'] });
    await refused('description', { description: 'card 4111111111111111' });
    assert.deepEqual(await listed(owner), []);
  });

  test('are changed by the revision that was read', async () => {
    const owner = await newOwner();
    const { webhook } = await created(owner, { description: 'Shop' });
    const body = { url: `${receiver.url}second`, events: ['token.deleted'], state: 'disabled', revision: 1 };
    const params = { id: webhook.id };
    const edited = executedResult(await owner.call(editWebhook, { params, body })).webhook;
    assert.deepEqual(
      [edited.url, edited.events, edited.description, edited.state, edited.disabled_reason, edited.revision],
      [body.url, body.events, null, 'disabled', 'request', 2],
    );
    assertRefused(await owner.call(editWebhook, { params, body }), 'changed_meanwhile');
    assert.deepEqual(await listed(owner), [edited]);
    executedResult(await owner.call(editWebhook, { params, body: { ...body, state: 'enabled', revision: 2 } }));
    const { secret } = executedResult(await owner.call(rotateWebhook, { params, body: { overlap_minutes: 60 } }));
    assert.match(secret, SECRET);
    const outside = await owner.call(rotateWebhook, { params, body: { overlap_minutes: 1441 } });
    assertRefused(outside, 'invalid_field', 'overlap_minutes');
    assert.deepEqual(successData(await owner.call(deleteWebhook, { params })), { done: true });
    assert.deepEqual(await listed(owner), []);
    assert.deepEqual(await recordedActions(owner, webhook.id), [
      'webhook.created',
      'webhook.changed',
      'webhook.changed',
      'webhook.secret-rotated',
      'webhook.deleted',
    ]);
  });

  test('say whether a test event arrives, a few times in a minute', async () => {
    const owner = await newOwner();
    const { webhook } = await created(owner, { url: `${receiver.url}trial` });
    const params = { id: webhook.id };
    const result = successData(await owner.call(testWebhook, { params }));
    assert.deepEqual([result.delivered, result.status_code, result.error], [true, 204, null]);
    assert.equal(receiver.received.filter(({ path }) => path === '/trial').length, 1);
    const more = [];
    for (let count = 0; count < 10; count++) more.push(await owner.call(testWebhook, { params }));
    assert.ok(more.some(({ json }) => json.code === 'rate_limited'));
    const sent = 1 + more.filter(({ status }) => status === 200).length;
    const tested = (await recordedActions(owner, webhook.id)).filter((action) => action === 'webhook.tested');
    assert.equal(tested.length, sent);
  });

  test('list deliveries with the body as it is sent, and send it again', async () => {
    const merchant = await newMerchant(service);
    const owner = await newAccountUser(service, merchant.account);
    await owner.person.stepUp();
    const { webhook } = await created(owner, { url: `${receiver.url}shop`, events: ['payment.authorized'] });
    service.advance(3 * SECOND);
    const payment = await merchant.opened('authorization', { amount: 100 });
    const params = { id: webhook.id };
    const deliveries = (query = {}) => owner.call(listDeliveries, { params, query });
    const delivered = await untilPasses(async () => {
      service.advance(SECOND);
      const { deliveries: all } = successData(await deliveries());
      assert.deepEqual(
        all.map(({ state }: { state: string }) => state),
        ['delivered'],
      );
      return all[0];
    });
    assert.deepEqual([delivered.type, delivered.last_status_code, delivered.attempts], ['payment.authorized', 204, 1]);
    assert.deepEqual(successData(await deliveries({ status: 'failed' })).deliveries, []);
    for (const cursor of ['x', '\0', `${delivered.event_id}\0`, `evt_${'a'.repeat(26)}`])
      assertRefused(await deliveries({ cursor }), 'invalid_field', 'cursor');
    assert.deepEqual(successData(await deliveries({ cursor: delivered.event_id })).deliveries, []);
    const ofEvent = { ...params, event: delivered.event_id };
    const { body } = successData(await owner.call(showEvent, { params: ofEvent }));
    assert.equal(JSON.parse(body).data.transaction_info.payment_id, payment);
    assert.equal(body, receiver.received.find(({ path }) => path === '/shop')?.body);
    successData(await owner.call(replayDelivery, { params: ofEvent }));
    await untilPasses(async () => {
      service.advance(SECOND);
      assert.equal(receiver.received.filter(({ path }) => path === '/shop').length, 2);
    });
    assert.deepEqual(await recordedActions(owner, webhook.id), ['webhook.created', 'webhook.replayed']);
    const none = { ...params, event: `${delivered.event_id.slice(0, -1)}0` };
    assertUnknown(await owner.call(showEvent, { params: none }));
    const other = await created(owner, { url: `${receiver.url}other`, events: ['token.deleted'] });
    const ofOther = { id: other.webhook.id, event: delivered.event_id };
    assertUnknown(await owner.call(showEvent, { params: ofOther }));
    assertUnknown(await owner.call(replayDelivery, { params: ofOther }));
  });

  test('of another account or environment do not exist, and other roles change none', async () => {
    const owner = await newOwner();
    const { webhook } = await created(owner);
    const params = { id: webhook.id };
    const edit = { url: receiver.url, events: ['*'], state: 'disabled', revision: 1 };
    const other = await newOwner();
    for (const { call } of [other, { call: inProduction(owner) }])
      assertUnknown(
        await call(editWebhook, { params, body: edit }),
        await call(rotateWebhook, { params, body: { overlap_minutes: 0 } }),
        await call(deleteWebhook, { params }),
        await call(testWebhook, { params }),
        await call(listDeliveries, { params }),
      );
    const auditor = await newAccountUser(service, owner.account, { role: 'auditor' });
    assert.deepEqual(await listed(auditor), await listed(owner));
    assertRefused(await auditor.call(testWebhook, { params }), 'not_allowed');
    const analyst = await newAccountUser(service, owner.account, { role: 'analyst' });
    assertRefused(await analyst.call(listWebhooks), 'not_allowed');
  });

  test('in production another user approves an address, and the requester alone sees the secret', async () => {
    const account = await service.newAccount();
    const environment = 'production';
    const owner = await newAccountUser(service, account, { environment });
    const second = await newAccountUser(service, account, { environment });
    await owner.person.stepUp();
    executedResult(await owner.call(setDualControl, { body: { dual_control: true } }));
    const bad = await owner.call(createWebhook, { body: { url: 'http://shop.example/', events: ['*'] } });
    assertRefused(bad, 'invalid_field', 'url');
    const body = { url: 'https://shop.example/cardvault', events: ['*'], description: 'Shop' };
    // The approver has to see the host, however the requester has written it.
    const written = `https:${'/'.repeat(600)}%73hop.example/cardvault`;
    const { approval, result } = successData(await owner.call(createWebhook, { body: { ...body, url: written } }));
    assert.equal(result, null);
    assert.deepEqual(await listed(owner), []);
    const [waiting] = successData(await second.call(listApprovals)).approvals;
    assert.deepEqual(waiting.summary, [
      { name: 'url', value: body.url },
      { name: 'events', value: '*' },
      { name: 'description', value: 'Shop' },
    ]);
    await second.person.stepUp();
    const approved = await second.call(approve, { params: { id: approval } });
    successData(approved);
    const executed = await owner.call(executeApproval, { params: { id: approval } });
    const { webhook, secret } = successData(executed).result;
    assert.match(secret, SECRET);
    assert.ok(!approved.text.includes(secret));
    assert.deepEqual(await listed(second), [webhook]);
    const params = { id: webhook.id };
    const [record] = await readAuditRecords(service, account, `webhook:${webhook.id}`);
    assert.deepEqual(record?.targets, [`webhook:${webhook.id}`, `approval:${approval}`]);
    assert.deepEqual([record?.action, record?.actor.id], ['webhook.created', owner.person.id]);
    assert.deepEqual(record?.tenant, { account, environment });
    const edited = await owner.call(editWebhook, {
      params,
      body: { ...body, url: 'https:////other.example', state: 'enabled', revision: 1 },
    });
    assert.equal(successData(edited).result, null);
    const [editing] = successData(await second.call(listApprovals)).approvals;
    assert.deepEqual(editing.summary[0], { name: 'url', value: 'https://other.example/' });
    assert.deepEqual(editing.summary[3], { name: 'state', value: 'enabled' });
    const rotated = await owner.call(rotateWebhook, { params, body: { overlap_minutes: 0 } });
    assert.equal(successData(rotated).result, null);
    assert.equal((await listed(second))[0].url, body.url);
    assert.deepEqual(successData(await owner.call(deleteWebhook, { params })), { done: true });
  });
});

const inProduction =
  ({ call }: AccountUser): AccountUser['call'] =>
  (definition, { params = {}, ...input } = {}) =>
    call(definition, { ...input, params: { ...params, environment: 'production' } });
