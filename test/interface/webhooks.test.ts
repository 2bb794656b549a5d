import assert from 'node:assert/strict';
import { randomUUID, X509Certificate } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { after, before, describe, mock, test } from 'node:test';
import { Webhook, WebhookVerificationError } from 'standardwebhooks';
import { createSelfSigned } from '../../src/crypto/certificate.ts';
import { DAY, formatIso8601, HOUR, MINUTE, SECOND } from '../../src/kernel/clock.ts';
import { truncatePan } from '../../src/kernel/pan.ts';
import { VERSION } from '../../src/version.ts';
import { Shell } from '../fixtures/command.ts';
import { newKeyPair } from '../fixtures/rsa-key-pairs.ts';
import { luhnPan, startTestService, type TestResponse, type TestService } from '../fixtures/test-service.ts';
import { untilPasses } from '../fixtures/until-passes.ts';
import { type ReceivedWebhook, startWebhookReceiver } from '../fixtures/webhook-receiver.ts';
import { idOf, type Merchant, newMerchant, processed, REJECTED, TIMES_OUT } from './payment-requests.ts';
import { dataOf } from './vault-requests.ts';

type Signed = Pick<ReceivedWebhook, 'headers' | 'body'>;

/** Verifies with the library of Standard Webhooks, as merchants do. `now`: the time of the service, which tests advance. */
function verify({ headers, body }: Signed, secret: string, now: number): unknown {
  mock.timers.enable({ apis: ['Date'], now });
  try {
    return new Webhook(secret).verify(body, headers as Record<string, string>);
  } finally {
    mock.timers.reset();
  }
}

describe('webhooks', { timeout: 120_000 }, () => {
  let service: TestService;
  let receiver: Awaited<ReturnType<typeof startWebhookReceiver>>;
  before(async () => {
    receiver = await startWebhookReceiver();
    service = await startTestService({
      variables: {
        CARDVAULT_WEBHOOK_NETWORKS: '127.0.0.0/8',
        CARDVAULT_WEBHOOK_SCHEDULE: '5s,5m',
        CARDVAULT_RATE_LIMIT_CAPTURE: '0',
      },
    });
  });
  after(async () => {
    // Requests that the receiver never answered end with it.
    await receiver.stop();
    await service.stop();
  });

  const create = async (
    { key }: Pick<Merchant, 'key'>,
    events: string[],
    path = '',
  ): Promise<{ id: string; secret: string }> => {
    const { status, json, text } = await service.call('POST', '/v1/webhooks', {
      key,
      body: { url: `${receiver.url}${path}`, events },
    });
    assert.equal(status, 200, text);
    // The endpoints of a tenant are cached for two seconds.
    service.advance(3 * SECOND);
    return json.data;
  };

  /** Waits for a number of requests to one path. */
  const requestsTo = (path: string, number: number, isOnce = false): Promise<ReceivedWebhook[]> =>
    untilPasses(async () => {
      service.advance(SECOND);
      // At least once: a test that lets more time pass than a claim lasts sees an attempt twice.
      const all = receiver.received.filter((each) => each.path === `/${path}`);
      const attempts = new Set<string>();
      const found = all.filter(({ id, headers }) => {
        const name = `${id} ${headers['webhook-timestamp']}`;
        const isNew = !attempts.has(isOnce ? id : name);
        attempts.add(isOnce ? id : name);
        return isNew;
      });
      assert.equal(found.length, number, found.map(({ id, event }) => `${event.type} ${id}`).join(', '));
      return found;
    });

  const assertVerified = (received: ReceivedWebhook, secret: string): void =>
    assert.deepEqual(verify(received, secret, service.now()), received.event);
  const assertUnverified = (received: Signed, secret: string, message: string): void =>
    assert.throws(
      () => verify(received, secret, service.now()),
      (error) => error instanceof WebhookVerificationError && error.message === message,
    );
  const NO_MATCH = 'No matching signature found';

  test('tell what happens to payments, signed, with the data of the lookup', async () => {
    const me = await newMerchant(service);
    const { secret } = await create(me, ['*'], 'all');
    /** The data of the lookup of each operation right after it, by the type of its event. */
    const lookups = new Map<string, unknown>();
    const lookUp = async (type: string, response: TestResponse): Promise<void> => {
      lookups.set(type, processed(await me.show(idOf(response))));
    };
    const authorized = await me.order('authorization', { amount: 100 });
    await lookUp('payment.authorized', authorized);
    const id = idOf(authorized);
    await lookUp('payment.collected', await me.move('capture', id, 80));
    await lookUp('payment.refunded', await me.move('refund', id, 30));
    await lookUp('payment.declined', await me.order('authorization', { amount: REJECTED }));
    const received = await requestsTo('all', 4);
    assert.deepEqual(received.map(({ event }) => event.type).sort(), [
      'payment.authorized',
      'payment.collected',
      'payment.declined',
      'payment.refunded',
    ]);
    for (const each of received) {
      assertVerified(each, secret);
      assert.match(each.id, /^evt_[a-z]{25}$/);
      assert.equal(each.headers['content-type'], 'application/json');
      assert.equal(each.headers['user-agent'], `cardvault/${VERSION}`);
      assert.equal(each.event.environment, 'sandbox');
      assert.deepEqual(Object.keys(each.event), ['type', 'timestamp', 'environment', 'data']);
      assert.deepEqual(each.event.data, lookups.get(each.event.type), each.event.type);
    }
    const refunded = received.find(({ event }) => event.type === 'payment.refunded');
    assert.equal(refunded?.event.data.transaction_info.payment_id, id);
    assert.notEqual(refunded?.event.data.transaction_info.transaction_id, id);
  });

  test('have a reference that is a UUID as it was sent, and a card number in a reference truncated', async () => {
    const me = await newMerchant(service);
    await create(me, ['payment.authorized'], 'references');
    // Its digits pass the Luhn check.
    const uuid = '41111111-1117-4abc-8abc-abcdefabcdef';
    const pan = luhnPan('411111');
    const id = await me.opened('authorization', { reference: uuid });
    await me.opened('authorization', { reference: `order ${pan}` });
    const received = await requestsTo('references', 2, true);
    const references = received.map(({ event }) => event.data.transaction_info.reference_code);
    assert.deepEqual(references.sort(), [uuid, `order ${truncatePan(pan)}`].sort());
    assert.equal((await me.show(id)).json.data.transaction_info.reference_code, uuid);
    assert.ok(!received.some(({ body }) => body.includes(pan)));
  });

  test('tell of an unknown outcome, and of its resolution, with the data of the lookup', async () => {
    const me = await newMerchant(service);
    await create(me, ['*'], 'doubt');
    const id = await me.opened('authorization', { amount: TIMES_OUT });
    const doubtful = processed(await me.show(id));
    assert.equal(doubtful.transaction_info.status, 'Opened');
    service.advance(MINUTE);
    const received = await requestsTo('doubt', 3, true);
    assert.deepEqual(received.map(({ event }) => event.type).sort(), [
      'payment.authorized',
      'payment.in_doubt',
      'payment.resolved',
    ]);
    const resolved = processed(await me.show(id));
    for (const { event } of received)
      assert.deepEqual(event.data, event.type === 'payment.in_doubt' ? doubtful : resolved, event.type);
  });

  test('tell each deleted token, and nothing that was not selected', async () => {
    const me = await newMerchant(service);
    await create(me, ['token.deleted'], 'tokens');
    const pan = luhnPan('411111');
    const created = await service.call('POST', '/v1/tokenization/simple', {
      key: me.key,
      body: { chd: [{ card: pan, name: 'A Holder', exp: '12/40' }], tags: [], scheme: 7 },
    });
    assert.equal(created.status, 200, created.text);
    const [{ token }] = created.json.data.tokens;
    const deleted = await service.call('DELETE', '/v1/tokens', { key: me.key, body: { tokens: [token, 'unknown'] } });
    assert.equal(deleted.status, 200, deleted.text);
    const [received] = await requestsTo('tokens', 1);
    assert.deepEqual(received?.event.data, { token });
    assert.ok(!received?.body.includes(pan));
  });

  /** Opens a session of the card form, and returns what submits a card to it and what its GET responds. */
  async function openSession({ key }: Pick<Merchant, 'key'>, settings: object) {
    const body = { allowed_origins: ['https://shop.example.com'], ...settings };
    const { status, json, text } = await service.call('POST', '/v1/capture-sessions', { key, body });
    assert.equal(status, 200, text);
    const { id, client_secret: secret } = json.data;
    const origin = `https://localhost:${service.ports.cards}`;
    const headers = { origin, authorization: `Bearer ${secret}` };
    return {
      id: id as string,
      secret: secret as string,
      submit: (number: string, attempt: string = randomUUID()) =>
        service.call('POST', `/v1/card/${id}`, {
          environment: 'cards',
          headers,
          body: { number, exp: '12/40', name: 'Ana Lopez', cvv: '123', attempt },
        }),
      show: async () => (await service.call('GET', `/v1/capture-sessions/${id}`, { key })).json.data,
    };
  }
  const OF_CAPTURE = { amount: 100, currency: 'USD', ttl: 10 };
  /** Returns what was written for a submission, by table. */
  async function rowsOf(account: string, session: string) {
    const { database } = service.core;
    const count = async (table: string): Promise<number> =>
      (await database.read(`select 1 as found from ${table} where account = ?account`, account)).length;
    const audited = await database.read('select record from journal where account = ?account', account);
    const [row] = await database.read('select status from capture_sessions where id = ?', session);
    return {
      session: row?.['status'],
      captures: await count('captures'),
      events: await count('webhook_events'),
      deliveries: await count('webhook_deliveries'),
      records: audited.filter(({ record }) => `${record}`.includes('"capture-session.completed"')).length,
    };
  }

  test('tell once of a card session that was completed or has failed, with the data of its GET', async () => {
    const me = await newMerchant(service);
    await create(me, ['capture_session.completed', 'capture_session.failed'], 'cards');
    const pan = luhnPan('411111');
    const captured = await openSession(me, OF_CAPTURE);
    const attempt = randomUUID();
    for (let count = 0; count < 2; count++) assert.equal((await captured.submit(pan, attempt)).status, 200);
    const tokenized = await openSession(me, { result: 'token', scheme: 7 });
    const answers = await Promise.all(Array.from({ length: 10 }, () => tokenized.submit(luhnPan('411111'))));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, ...Array.from({ length: 9 }, () => 410)]);
    const failed = await openSession(me, { ...OF_CAPTURE, accepted_brands: ['amex'] });
    for (let count = 0; count < 12; count++) assert.notEqual((await failed.submit(pan)).status, 200);
    const received = await requestsTo('cards', 3, true);
    for (const [{ id, secret, show }, type] of [
      [captured, 'capture_session.completed'],
      [tokenized, 'capture_session.completed'],
      [failed, 'capture_session.failed'],
    ] as const) {
      const matching = received.filter(({ event }) => event.data.id === id);
      const [{ event, body }, ...more] = matching as [ReceivedWebhook, ...ReceivedWebhook[]];
      const shown = await show();
      assert.deepEqual([event.type, event.environment, event.data, more], [type, 'sandbox', shown, []]);
      assert.ok(event.timestamp >= shown.created_at && event.timestamp <= shown.expires_at);
      for (const text of [pan, 'Ana Lopez', secret]) assert.ok(!body.includes(text), body);
    }
    assert.equal((await rowsOf(me.account, captured.id)).events, 3);
  });

  const renameTable = (from: string, to: string) =>
    service.core.database.commit({ writes: [{ sql: `alter table ${from} rename to ${to}`, rows: [[]] }] });

  test('of a card session are written in the commit of its capture and audit record, or not at all', async () => {
    const me = await newMerchant(service);
    await create(me, ['capture_session.completed'], 'atomic');
    const { id, submit } = await openSession(me, OF_CAPTURE);
    const nothing = { session: 'open', captures: 0, events: 0, deliveries: 0, records: 0 };
    const pan = luhnPan('411111');
    for (const table of ['webhook_events', 'webhook_deliveries', 'captures', 'journal']) {
      await renameTable(table, 'unavailable');
      const { status } = await submit(pan).finally(() => renameTable('unavailable', table));
      assert.ok(status >= 500, `${table}: ${status}`);
      assert.deepEqual(await rowsOf(me.account, id), nothing, table);
    }
    assert.equal((await submit(pan)).status, 200);
    const once = { session: 'completed', captures: 1, events: 1, deliveries: 1, records: 1 };
    assert.deepEqual(await rowsOf(me.account, id), once);
    await requestsTo('atomic', 1, true);
  });

  test('of deleted tokens are written in the commit of the deletion and its audit record, or not at all', async () => {
    const me = await newMerchant(service);
    await create(me, ['token.deleted'], 'deleted');
    const created = await service.call('POST', '/v1/tokenization/simple', {
      key: me.key,
      body: { chd: [{ card: luhnPan('411111'), name: 'A Holder', exp: '12/40' }], tags: [], scheme: 7 },
    });
    const [{ token }] = created.json.data.tokens;
    const remove = () => service.call('DELETE', '/v1/tokens', { key: me.key, body: { tokens: [token] } });
    const rows = async () => {
      const count = async (table: string, more = ''): Promise<number> =>
        (
          await service.core.database.read(
            `select 1 as found from ${table} where account = ?account${more}`,
            me.account,
          )
        ).length;
      const sql = 'select record from journal where account = ?account';
      const records = await service.core.database.read(sql, me.account);
      return {
        tokens: await count('tokens', ' and deleted_at is null'),
        events: await count('webhook_events'),
        deliveries: await count('webhook_deliveries'),
        records: records.filter(({ record }) => `${record}`.includes('"token.deleted"')).length,
      };
    };
    for (const table of ['webhook_events', 'webhook_deliveries', 'tokens', 'journal']) {
      await renameTable(table, 'unavailable');
      const { status } = await remove().finally(() => renameTable('unavailable', table));
      assert.ok(status >= 500, `${table}: ${status}`);
      assert.deepEqual(await rows(), { tokens: 1, events: 0, deliveries: 0, records: 0 }, table);
    }
    assert.equal((await remove()).status, 200);
    assert.deepEqual(await rows(), { tokens: 0, events: 1, deliveries: 1, records: 1 });
    const [received] = await requestsTo('deleted', 1, true);
    assert.deepEqual(received?.event.data, { token });
  });

  test('of a disabled endpoint are written in the commit that disables it, or not at all', async () => {
    const me = await newMerchant(service);
    const { id } = await create(me, ['payment.declined'], 'broken');
    await create(me, ['webhook.disabled'], 'observer');
    const { respond } = receiver;
    const held: ServerResponse[] = [];
    let isHolding = true;
    receiver.respond = ({ path }, response) => {
      if (path !== '/broken') response.writeHead(204).end();
      else if (isHolding) held.push(response);
      else response.writeHead(410).end();
    };
    await me.order('authorization', { amount: REJECTED });
    await untilPasses(async () => {
      service.advance(SECOND);
      assert.equal(held.length, 1);
    });
    const show = async () => (await service.call('GET', `/v1/webhooks/${id}`, { key: me.key })).json.data;
    const countEvents = async (): Promise<number> => {
      const sql = "select 1 as found from webhook_events where account = ?account and type = 'webhook.disabled'";
      return (await service.core.database.read(sql, me.account)).length;
    };
    isHolding = false;
    const lines = service.log.length;
    // The delivery has been concluded by then: what fails is the commit with the audit record.
    await renameTable('journal', 'unavailable');
    try {
      held[0]?.writeHead(410).end();
      await untilPasses(async () => {
        const failed = service.log.slice(lines).some((line) => /journal/.test(line));
        assert.ok(failed, service.log.slice(lines).join(''));
      });
    } finally {
      await renameTable('unavailable', 'journal');
    }
    assert.deepEqual([(await show()).status, await countEvents()], ['enabled', 0]);
    await me.order('authorization', { amount: REJECTED });
    const [received] = await requestsTo('observer', 1, true);
    assert.deepEqual(received?.event.data, { id, reason: 'gone' });
    assert.deepEqual([(await show()).status, await countEvents()], ['disabled', 1]);
    receiver.respond = respond;
  });

  test('of a suspended account are sent, also those of what happens while it is suspended', async () => {
    const me = await newMerchant(service);
    await create(me, ['*'], 'suspended');
    const { respond } = receiver;
    let isDown = true;
    receiver.respond = (_, response) => void response.writeHead(isDown ? 500 : 204).end();
    await me.order('authorization', { amount: TIMES_OUT });
    await requestsTo('suspended', 1);
    await service.core.transactions.run({ origin: { actor: { type: 'operator', name: 'test' } } }, (transaction) =>
      service.core.accounts.suspend(transaction, me.account),
    );
    isDown = false;
    service.advance(MINUTE);
    const types = await untilPasses(async () => {
      service.advance(SECOND);
      const received = receiver.received.filter(({ path }) => path === '/suspended');
      const found = new Set(received.map(({ event }) => event.type));
      assert.equal(found.size, 3, [...found].join());
      return found;
    });
    assert.deepEqual([...types].sort(), ['payment.authorized', 'payment.in_doubt', 'payment.resolved']);
    const { status } = await service.call('POST', '/v1/account', { key: me.key });
    assert.equal(status, 403);
    receiver.respond = respond;
  });

  test('are sent again by the schedule, with the same id and body, and fail at its end', async () => {
    const me = await newMerchant(service);
    const { id } = await create(me, ['payment.declined'], 'again');
    const { respond } = receiver;
    receiver.respond = ({ path }, response) => void response.writeHead(path === '/again' ? 500 : 204).end();
    await me.order('authorization', { amount: REJECTED });
    await requestsTo('again', 1);
    service.advance(6 * SECOND);
    await requestsTo('again', 2);
    service.advance(6 * MINUTE);
    const received = await requestsTo('again', 3);
    assert.equal(new Set(received.map((each) => each.id + each.body)).size, 1);
    assert.equal(new Set(received.map(({ headers }) => headers['webhook-timestamp'])).size > 1, true);
    await untilPasses(async () => {
      const { json } = await service.call('GET', `/v1/webhooks/${id}`, { key: me.key });
      // None has succeeded since its first attempt.
      assert.equal(json.data.disabled_reason, 'failing');
      assert.equal(json.data.last_delivery.status_code, 500);
    });
    const list = await service.call('GET', `/v1/webhooks/${id}/deliveries?status=failed`, { key: me.key });
    assert.equal(list.json.data.deliveries[0].attempts, 3);
    receiver.respond = respond;
    const disabled = await service.call('POST', `/v1/webhooks/${id}/replay`, {
      key: me.key,
      body: { event_id: received[0]?.id },
    });
    assert.equal(disabled.status, 400);
    await service.call('POST', `/v1/webhooks/${id}`, { key: me.key, body: { status: 'enabled' } });
    service.advance(3 * SECOND);
    const since = new Date(service.now() - HOUR).toISOString();
    const replayed = await service.call('POST', `/v1/webhooks/${id}/replay`, { key: me.key, body: { since } });
    assert.equal(replayed.json.data.count, 1);
    const again = await requestsTo('again', 4);
    assert.equal(again[3]?.id, received[0]?.id);
  });

  test('end at an endpoint that responds 410', async () => {
    const me = await newMerchant(service);
    const { id } = await create(me, ['payment.declined'], 'gone');
    await create(me, ['webhook.disabled'], 'other');
    receiver.respond = ({ path }, response) => void response.writeHead(path === '/gone' ? 410 : 204).end();
    await me.order('authorization', { amount: REJECTED });
    const [disabled] = await requestsTo('other', 1);
    assert.deepEqual(disabled?.event.data, { id, reason: 'gone' });
    const { json } = await service.call('GET', `/v1/webhooks/${id}`, { key: me.key });
    assert.equal(json.data.status, 'disabled');
    receiver.respond = (_, response) => void response.writeHead(204).end();
  });

  test('are verified by the library of Standard Webhooks, unless anything of them was altered', async () => {
    const me = await newMerchant(service);
    const { secret } = await create(me, ['payment.declined'], 'verified');
    await me.order('authorization', { amount: REJECTED });
    const [received] = await requestsTo('verified', 1, true);
    assert.ok(received);
    assertVerified(received, secret);
    const { headers, body } = received;
    const at = Number(headers['webhook-timestamp']);
    const tampered = [
      { headers, body: body.replace('payment.declined', 'payment.collected') },
      { headers, body: `${body} ` },
      { headers: { ...headers, 'webhook-id': `evt_${'a'.repeat(25)}` }, body },
      { headers: { ...headers, 'webhook-timestamp': `${at + 1}` }, body },
    ];
    for (const each of tampered) assertUnverified(each, secret, NO_MATCH);
    assertUnverified(
      { headers: { ...headers, 'webhook-timestamp': `${at - 600}` }, body },
      secret,
      'Message timestamp too old',
    );
  });

  test('are signed with the old secret too during an overlap, and with two secrets at most', async () => {
    const me = await newMerchant(service);
    const { id, secret } = await create(me, ['payment.declined'], 'rotated');
    const rotate = async (): Promise<string> => {
      const body = { overlap_minutes: 5 };
      const { json } = await service.call('POST', `/v1/webhooks/${id}/rotate`, { key: me.key, body });
      service.advance(3 * SECOND);
      return json.data.secret;
    };
    const receive = async (number: number): Promise<ReceivedWebhook> => {
      await me.order('authorization', { amount: REJECTED });
      return (await requestsTo('rotated', number, true))[number - 1] ?? assert.fail();
    };
    const second = await rotate();
    const overlapping = await receive(1);
    for (const each of [secret, second]) assertVerified(overlapping, each);
    const third = await rotate();
    const again = await receive(2);
    for (const each of [second, third]) assertVerified(again, each);
    assertUnverified(again, secret, NO_MATCH);
    service.advance(6 * MINUTE);
    const last = await receive(3);
    assertVerified(last, third);
    for (const each of [secret, second]) assertUnverified(last, each, NO_MATCH);
  });

  test('are tried once on request, also while disabled, ten times a minute', async () => {
    const me = await newMerchant(service);
    const { id } = await create(me, ['payment.declined'], 'tried');
    await service.call('POST', `/v1/webhooks/${id}`, { key: me.key, body: { status: 'disabled' } });
    const tried = await service.call('POST', `/v1/webhooks/${id}/test`, { key: me.key });
    assert.equal(tried.json.data.delivered, true, tried.text);
    assert.equal(tried.json.data.status_code, 204);
    const [received] = await requestsTo('tried', 1);
    assert.deepEqual([received?.event.type, received?.event.data], ['webhook.test', {}]);
    for (let count = 0; count < 9; count++) await service.call('POST', `/v1/webhooks/${id}/test`, { key: me.key });
    assert.equal((await service.call('POST', `/v1/webhooks/${id}/test`, { key: me.key })).status, 429);
    const list = await service.call('GET', `/v1/webhooks/${id}/deliveries`, { key: me.key });
    assert.deepEqual(list.json.data.deliveries, []);
  });

  test('are tried, enabled again and replayed by commands', async () => {
    const me = await newMerchant(service);
    const { id } = await create(me, ['payment.declined'], 'commands');
    const shell = new Shell(service.directory, service.core);
    const run = (command: string, ...options: string[]) =>
      shell.run('webhook', command, id, '--account', me.account, '--environment', 'sandbox', '--json', ...options);
    const { respond } = receiver;
    receiver.respond = ({ path }, response) => void response.writeHead(path === '/commands' ? 410 : 204).end();
    await me.order('authorization', { amount: REJECTED });
    const [first] = await requestsTo('commands', 1);
    assert.ok(first);
    await untilPasses(async () => {
      const { json } = await service.call('GET', `/v1/webhooks/${id}`, { key: me.key });
      assert.equal(json.data.disabled_reason, 'gone');
    });
    const refused = (await run('test')).json;
    assert.deepEqual([refused.delivered, refused.status_code, refused.error], [false, 410, 'status']);
    receiver.respond = respond;
    const tried = (await run('test')).json;
    assert.deepEqual([tried.delivered, tried.status_code, tried.error], [true, 204, null]);
    const types = (await requestsTo('commands', 3)).map(({ event }) => event.type);
    assert.deepEqual(types, ['payment.declined', 'webhook.test', 'webhook.test']);

    const disabled = await run('replay', '--event-id', first.id);
    assert.deepEqual([disabled.code, disabled.out], [1, '']);
    assert.equal((await run('update', '--enable')).json.status, 'enabled');
    service.advance(3 * SECOND);
    const since = ['--since', new Date(service.now() - HOUR).toISOString()];
    assert.deepEqual((await run('replay', ...since)).json, { count: 1 });
    await requestsTo('commands', 4);
    assert.deepEqual((await run('replay', ...since)).json, { count: 0 });
    // Attempts differ by their second.
    service.advance(SECOND);
    assert.deepEqual((await run('replay', '--event-id', first.id)).json, { count: 1 });
    const received = await requestsTo('commands', 5);
    for (const { id, body } of received.slice(3)) assert.deepEqual([id, body], [first.id, first.body]);
    for (const [options, code] of [
      [['--event-id', `evt_${'a'.repeat(25)}`], 1],
      [[], 2],
      [['--event-id', first.id, ...since], 2],
      [['--since', 'yesterday'], 2],
    ] as const)
      assert.equal((await run('replay', ...options)).code, code, options.join(' '));
    const counts = (await service.core.database.read('select record from journal where account = ?account', me.account))
      .map(({ record }) => JSON.parse(`${record}`))
      .filter(({ action }) => action === 'webhook.replayed');
    assert.equal(counts.length, 3);
  });

  test('refuse bad input, and know nothing of other accounts', async () => {
    const me = await newMerchant(service);
    const { id } = await create(me, ['payment.declined'], 'mine');
    const other = await newMerchant(service);
    for (const [method, path, body] of [
      ['GET', `/v1/webhooks/${id}`, undefined],
      ['POST', `/v1/webhooks/${id}`, { status: 'disabled' }],
      ['DELETE', `/v1/webhooks/${id}`, undefined],
      ['POST', `/v1/webhooks/${id}/rotate`, {}],
      ['POST', `/v1/webhooks/${id}/test`, undefined],
      ['GET', `/v1/webhooks/${id}/deliveries`, undefined],
      ['POST', `/v1/webhooks/${id}/replay`, { since: '2026-01-01' }],
    ] as const) {
      const { status, json } = await service.call(method, path, {
        key: other.key,
        ...(body !== undefined && { body }),
      });
      assert.deepEqual([status, json.desc], [400, 'id: no such webhook'], `${method} ${path}`);
    }
    for (const path of [`/v1/webhooks/${id}%00`, `/v1/webhooks/${id}/deliveries?before=%00`]) {
      const { status, text } = await service.call('GET', path, { key: me.key });
      assert.ok(status < 500, `${path}: ${text}`);
    }
    for (const [body, field] of [
      [{ events: ['*'] }, 'url'],
      [{ url: receiver.url, events: [] }, 'events'],
      [{ url: receiver.url, events: ['payment.unknown'] }, 'events'],
      [{ url: receiver.url, events: ['*', 'token.deleted'] }, 'events'],
      [{ url: receiver.url, events: ['webhook.test'] }, 'events'],
      [{ url: 'https://10.0.0.1/', events: ['*'] }, 'url'],
      [{ url: receiver.url, events: ['*'], description: `card ${luhnPan('411111')}` }, 'description'],
    ] as const) {
      const { status, json } = await service.call('POST', '/v1/webhooks', { key: me.key, body });
      assert.equal(status, 400);
      assert.ok(json.desc.startsWith(field), json.desc);
    }
  });

  test('are ten at most', async () => {
    const me = await newMerchant(service);
    for (let count = 0; count < 10; count++) await create(me, ['*'], `many-${count}`);
    const { status } = await service.call('POST', '/v1/webhooks', {
      key: me.key,
      body: { url: receiver.url, events: ['*'] },
    });
    assert.equal(status, 400);
  });

  test('of endpoints that respond late or never delay no other endpoint', async () => {
    const [slow, quick] = [await newMerchant(service), await newMerchant(service)];
    await create(slow, ['*'], 'mute');
    const { id } = await create(slow, ['*'], 'late');
    await create(quick, ['*'], 'quick');
    let isLate = true;
    const late: ServerResponse[] = [];
    receiver.respond = ({ path }, response) => {
      if (path === '/late' && isLate) late.push(response);
      else if (path !== '/mute') response.writeHead(204).end();
    };
    for (let count = 0; count < 30; count++) await slow.order('authorization', { amount: REJECTED });
    await quick.order('authorization', { amount: REJECTED });
    await requestsTo('quick', 1);
    for (const slowOne of ['/mute', '/late'])
      assert.ok(receiver.received.filter(({ path }) => path === slowOne).length <= 10, slowOne);
    isLate = false;
    for (const response of late) response.writeHead(204).end();
    await requestsTo('late', 30, true);
    await untilPasses(async () => {
      service.advance(SECOND);
      const list = `/v1/webhooks/${id}/deliveries?status=delivered`;
      assert.equal((await service.call('GET', list, { key: slow.key })).json.data.deliveries.length, 30);
    });
    receiver.respond = (_, response) => void response.writeHead(204).end();
  });
});

describe('webhooks of what expires', { timeout: 60_000 }, () => {
  let service: TestService;
  let receiver: Awaited<ReturnType<typeof startWebhookReceiver>>;
  before(async () => {
    receiver = await startWebhookReceiver();
    service = await startTestService({ variables: { CARDVAULT_WEBHOOK_NETWORKS: '127.0.0.0/8' } });
  });
  after(async () => {
    await receiver.stop();
    await service.stop();
  });

  test('tell each mark of a key and of a certificate, and are removed 30 days after', async () => {
    const { database, transactions, configurations } = service.core;
    const account = await service.newAccount();
    const start = service.now();
    const { secret: key } = await service.newKey(account);
    const body = { url: receiver.url, events: ['*'] };
    const created = await service.call('POST', '/v1/webhooks', { key, body });
    assert.equal(created.status, 200, created.text);
    service.advance(3 * SECOND);

    const keyEnd = start + 15 * DAY;
    const { id } = await service.newKey(account, { name: 'till', expiresAt: keyEnd });
    const { privateKey } = newKeyPair();
    const validity = 1095 * DAY;
    const merchantCertificate = new X509Certificate(
      await createSelfSigned(privateKey, 'shop.example', start + 33 * DAY - validity),
    );
    const changes = {
      merchantPrivateKey: Buffer.from(privateKey.export({ type: 'pkcs8', format: 'pem' })),
      merchantCertificate: Buffer.from(merchantCertificate.toString()),
      settings: {},
      overlapMinutes: 0,
    };
    const certificateEnd = merchantCertificate.validToDate.getTime();
    await transactions.run({ origin: { actor: { type: 'operator', name: 'test' } } }, (transaction) =>
      configurations.configure(transaction, { account, environment: 'sandbox' }, changes, { isMember: true }),
    );
    const count = async (table: string): Promise<number> =>
      (await database.read(`select 1 as found from ${table} where account = ?account`, account)).length;
    await untilPasses(async () => {
      service.advance(MINUTE);
      assert.equal(await count('webhook_expiries'), 2);
    });

    /** Waits for a number of events, and returns the data of each in their order. */
    const receive = (number: number): Promise<unknown[]> =>
      untilPasses(async () => {
        service.advance(MINUTE);
        const data = new Map(receiver.received.map((each) => [each.id, each.event.data]));
        assert.deepEqual([data.size, await count('webhook_events')], [number, number]);
        return [...data.keys()].sort().map((each) => data.get(each));
      });
    const ofKey = { id, name: 'till', expires_at: formatIso8601(keyEnd) };
    const ofCertificate = { use: 'merchant', expires_at: formatIso8601(certificateEnd) };
    for (const [at, expected] of [
      [keyEnd - 14 * DAY, [ofKey]],
      [certificateEnd - 30 * DAY, [ofKey, ofCertificate]],
      [keyEnd - DAY, [ofKey, ofCertificate, ofKey]],
      [certificateEnd - 7 * DAY, [ofKey, ofCertificate, ofKey, ofCertificate]],
    ] as const) {
      service.advance(Math.max(at - service.now(), 0));
      assert.deepEqual(await receive(expected.length), expected);
    }

    assert.deepEqual([await count('webhook_events'), await count('webhook_deliveries')], [4, 4]);
    // The last mark of the certificate, at which the first of the key is older than 30 days.
    service.advance(certificateEnd - DAY - service.now());
    await untilPasses(async () => {
      service.advance(MINUTE);
      const sql = 'select type from webhook_events where account = ?account order by id';
      const types = (await database.read(sql, account)).map(({ type }) => type);
      const [ofKeys, ofCertificates] = ['key.expiring', 'certificate.expiring'];
      assert.deepEqual(types, [ofCertificates, ofKeys, ofCertificates, ofCertificates]);
      assert.equal(await count('webhook_deliveries'), 4);
    });
  });
});

test('a webhook whose name resolves to this machine goes nowhere, unless the operator allows its network', {
  timeout: 60_000,
}, async () => {
  const receiver = await startWebhookReceiver();
  const service = await startTestService();
  try {
    const me = await newMerchant(service);
    const url = `http://localhost:${new URL(receiver.url).port}/`;
    const { id } = dataOf(await me.send('POST', '/v1/webhooks', { url, events: ['*'] }));
    service.advance(3 * SECOND);
    const tried = dataOf(await me.send('POST', `/v1/webhooks/${id}/test`, {}));
    assert.deepEqual([tried.delivered, tried.error], [false, 'address']);
    await me.opened();
    await untilPasses(async () => {
      service.advance(SECOND);
      const { deliveries } = dataOf(await me.send('GET', `/v1/webhooks/${id}/deliveries`));
      assert.deepEqual(
        deliveries.map(({ type, last_error }: { type: string; last_error?: string }) => [type, last_error]),
        [['payment.authorized', 'address']],
      );
    });
    assert.equal(receiver.received.length, 0);
  } finally {
    await service.stop();
    await receiver.stop();
  }
});

test('the metrics of webhooks count those that wait and the attempts by result, with the age of the oldest', {
  timeout: 60_000,
}, async () => {
  const receiver = await startWebhookReceiver();
  const service = await startTestService({
    variables: { CARDVAULT_WEBHOOK_NETWORKS: '127.0.0.0/8', CARDVAULT_WEBHOOK_SCHEDULE: '1h' },
  });
  try {
    // The age of an event is exact while only the test lets time pass.
    service.stopTime();
    const statuses = new Map([
      ['/delivered', 204],
      ['/failed', 410],
      ['/retried', 500],
    ]);
    receiver.respond = ({ path }, response) => {
      const status = statuses.get(path);
      // A request to any other path has no response.
      if (status !== undefined) response.writeHead(status).end();
    };
    /** Has an event delivered to an endpoint of a new merchant. */
    const deliver = async (path: string): Promise<void> => {
      const me = await newMerchant(service);
      const body = { url: `${receiver.url}${path}`, events: ['payment.declined'] };
      dataOf(await me.send('POST', '/v1/webhooks', body));
      // The endpoints of a tenant are cached for two seconds.
      service.advance(3 * SECOND);
      await me.order('authorization', { amount: REJECTED });
    };
    /** Waits for these metrics. `results`: those of the attempts, each of which occurred once. */
    const assertMetrics = (results: readonly string[], waiting: number, ageMs: number): Promise<void> =>
      untilPasses(async () => {
        const { text } = await service.call('GET', '/metrics', { environment: 'console' });
        const expected = [
          ...results.map((result) => `cardvault_webhook_attempts_total{result="${result}"} 1`),
          `cardvault_webhooks_waiting ${waiting}`,
          `cardvault_webhooks_oldest_waiting_seconds ${ageMs / SECOND}`,
        ];
        assert.deepEqual(text.match(/^cardvault_webhook.*$/gm)?.sort(), expected.sort());
      });

    await assertMetrics([], 0, 0);
    await deliver('delivered');
    await assertMetrics(['delivered'], 0, 0);
    await deliver('failed');
    await assertMetrics(['delivered', 'failed'], 0, 0);
    await deliver('retried');
    const results = ['delivered', 'failed', 'retried'];
    await assertMetrics(results, 1, 0);
    service.advance(MINUTE);
    await assertMetrics(results, 1, MINUTE);
    await deliver('waiting');
    await untilPasses(async () => assert.equal(receiver.received.at(-1)?.path, '/waiting'));
    service.advance(10 * SECOND);
    // Three more seconds have passed before the last event.
    await assertMetrics(results, 2, MINUTE + 13 * SECOND);
  } finally {
    // The request that has no response ends with its receiver.
    await receiver.stop();
    await service.stop();
  }
});
