import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { exportJournal } from '../../src/audit/verify-journal.ts';
import { SECOND } from '../../src/kernel/clock.ts';
import { Search } from '../fixtures/canaries.ts';
import { runInProcess } from '../fixtures/command.ts';
import { luhnPan, startTestService, type TestResponse, type TestService } from '../fixtures/test-service.ts';
import { untilPasses } from '../fixtures/until-passes.ts';
import { startWebhookReceiver } from '../fixtures/webhook-receiver.ts';
import {
  followOnRequest,
  idOf,
  type Merchant,
  newMerchant,
  order,
  PAYMENTS,
  waitForRecovery,
} from '../interface/payment-requests.ts';
import { dataOf } from '../interface/vault-requests.ts';
import { FakeKoin } from '../processors/fake-koin.ts';

/**
 * Canaries sent with payments, well-formed and not, to a simulator and to a processor that repeats them in its errors;
 * then everything the service wrote or said is searched. References come back to who gave them, so they are searched for
 * in files, logs and metrics alone.
 */
const HOLDER = 'Zebulon Quackenbush-Ñandú';
const EMAIL = 'zebulon.canary+mail@quackenbush.example';
const DOCUMENT = '52998224725';
const STREET = 'Canary Street 4711';
const PHONE = '5511987650123';
const ADDRESS = '198.51.100.231';
const FINGERPRINT = 'canary-of-a-fingerprint-81c2';
const ITEM = 'canary-of-a-line-item-81c2';
const DESCRIPTOR = 'CANARY*DESCRIPTOR';
const REFERENCE = 'canary-of-a-reference-81c2';
const PRIVATE_KEY = 'sk_canary_of_the_processor_81c2';
/** Some of the events of these payments. */
const EVENTS = ['payment.authorized', 'payment.collected', 'payment.declined', 'payment.in_doubt', 'token.deleted'];
const CVV = '7391';
/** Four digits alone are found anywhere by chance. */
const CVV_FORMS = [`"security_code":"${CVV}"`, `"cvv":"${CVV}"`, `"securityCode":"${CVV}"`, `cvv=${CVV}`];

describe('places without data of a payment', { timeout: 180_000 }, () => {
  let service: TestService;
  let koin: FakeKoin;
  let receiver: Awaited<ReturnType<typeof startWebhookReceiver>>;
  const pans = Array.from({ length: 8 }, (_, index) => luhnPan(index % 2 === 0 ? '411111' : '520082'));
  const [clear = '', paid = '', vaulted = '', captured = '', wrong = '', doubtful = '', koinPan = '', failing = ''] =
    pans;
  /** A reference is free text, in which a merchant may have put a number. */
  const referenced = luhnPan('411111');
  const people = [HOLDER, EMAIL, DOCUMENT, STREET, PHONE, FINGERPRINT, ITEM, DESCRIPTOR, ADDRESS];
  const secrets = [...pans, ...people, ...CVV_FORMS, PRIVATE_KEY];
  const responses: { what: string; response: TestResponse }[] = [];

  const body = (type: 'authorization' | 'payment', card: object, amount: unknown = 125.5, triggers = '') => ({
    ...order(type, {
      card: { expiration_date: '12/2029', security_code: CVV, holder: HOLDER, ...card },
      reference: REFERENCE,
    }),
    order_info: {
      amount_details: { total_amount: amount, currency: 'BRL' },
      descriptor: DESCRIPTOR,
      line_items: [{ name: ITEM, card: wrong }],
    },
    bill_to: {
      first_name: HOLDER,
      last_name: 'Q',
      country: 'BR',
      email: `x${triggers}.${EMAIL}`,
      address_1: STREET,
      phone_number: PHONE,
    },
    cardholder_info: {
      first_name: HOLDER,
      email: triggers === '' ? EMAIL : `x${triggers}@quackenbush.example`,
      country: 'BR',
      phone_number: PHONE,
      address_1: STREET,
      document: { type: 'cpf', number: DOCUMENT, nationality: 'BR' },
    },
    device_info: { ip_address: ADDRESS, fingerprint_session_id: FINGERPRINT },
  });

  const sender =
    (me: Merchant) =>
    async (what: string, sent: unknown, path = '', headers: Record<string, string> = {}): Promise<TestResponse> => {
      const response = await me.send('POST', PAYMENTS + path, sent, headers);
      responses.push({ what, response });
      return response;
    };

  before(async () => {
    receiver = await startWebhookReceiver();
    service = await startTestService({ variables: { CARDVAULT_WEBHOOK_NETWORKS: '127.0.0.0/8' } });
    const me = await newMerchant(service, { 'timeout-ms': '400', 'erase-sad': 'false' });
    secrets.push(me.key);
    await subscribe(me);
    await toSimulator(me);
    await notWellFormed(me);
    await toKoin();
    await untilPasses(async () => {
      service.advance(SECOND);
      const types = new Set(receiver.received.map(({ event }) => event.type));
      for (const type of EVENTS) assert.ok(types.has(type), type);
      const [{ waiting } = { waiting: undefined }] = await service.core.database.read(
        'select count(*) as waiting from webhook_deliveries where next_attempt_at is not null',
      );
      assert.equal(Number(waiting), 0);
    });
    await service.core.database.backup(join(service.directory, 'copy.db'));
  });
  after(async () => {
    await service.stop();
    await koin.stop();
    await receiver.stop();
  });

  /** Every event goes to an endpoint of the merchant. */
  async function subscribe(me: Merchant): Promise<void> {
    secrets.push(dataOf(await me.send('POST', '/v1/webhooks', { url: receiver.url, events: ['*'] })).secret);
    // The endpoints of a tenant are cached for two seconds.
    service.advance(3 * SECOND);
  }

  async function toSimulator(me: Merchant): Promise<void> {
    const send = sender(me);
    const keyed = { 'idempotency-key': 'kept', 'x-request-id': wrong };
    const first = await send('authorization', body('authorization', { number: clear }), '', keyed);
    assert.equal(first.json.status, 'success', first.text);
    await send('authorization, kept', body('authorization', { number: clear }), '', keyed);
    const created = await me.tokenize({ chd: [{ card: vaulted, name: HOLDER, exp: '12/29' }], tags: [], scheme: 1 });
    const mark = `{{${created.json.data.tokens[0].token}:detokenize}}`;
    const capture = `{{${await me.capture({ chd: { card: captured, name: HOLDER, exp: '12/29', cvv: CVV } })}:transaction}}`;
    for (const type of ['authorization', 'payment'] as const) {
      for (const amount of [100, 5001, 40_001, 50_001, 60_000]) {
        await send(`${type} ${amount}`, body(type, { number: paid }, amount));
        await send(
          `${type} ${amount} by token`,
          body(type, { number: mark, expiration_date: mark, holder: mark }, amount),
        );
        await send(
          `${type} ${amount} by capture`,
          body(type, { number: capture, security_code: capture, holder: capture }, amount),
        );
      }
    }
    const id = idOf(first);
    for (const move of ['capture', 'void', 'refund'] as const) {
      const info = { type: followOnRequest(move).transaction_info.type, reference_code: REFERENCE };
      await send(move, { transaction_info: info, card: { number: wrong }, note: EMAIL }, `/${id}/${move}`);
    }
    responses.push({ what: 'lookup', response: await me.show(id) });
    const { transaction_info: info, ...rest } = body('authorization', { number: paid });
    const withNumber = { ...rest, transaction_info: { ...info, reference_code: `Order ${referenced}` } };
    assert.equal((await me.send('POST', PAYMENTS, withNumber)).json.status, 'success');
    const { token } = created.json.data.tokens[0];
    assert.equal((await me.send('DELETE', '/v1/tokens', { tokens: [token] })).status, 200);
    const unknown = await send('in doubt', body('payment', { number: doubtful }, 66_000), '', {
      'idempotency-key': 'doubt',
    });
    const shown = await runInProcess(service.directory, 'payments', 'doubtful');
    assert.ok(shown.out.includes(idOf(unknown)));
    assert.deepEqual(new Search(secrets).found(Buffer.from(shown.out)), []);
    await waitForRecovery(service, async () => (await me.standing(idOf(unknown))).status === 'Collected');
    await send('recovered', body('payment', { number: doubtful }, 66_000), '', { 'idempotency-key': 'doubt' });
    const slow = await send(
      'to be captured in doubt',
      body('authorization', { number: doubtful }, 10, '_capture_timeout'),
    );
    await send('capture in doubt', followOnRequest('capture'), `/${idOf(slow)}/capture`);
  }

  async function notWellFormed(me: Merchant): Promise<void> {
    const send = sender(me);
    const good = body('payment', { number: wrong });
    const text = JSON.stringify(good);
    for (const [what, sent] of [
      ['cut off', text.slice(0, -3)],
      ['text behind', `${text}${wrong}`],
      ['a bare number', wrong],
      ['twice', `{"${wrong}":1,"${wrong}":2}`],
      ['a list', `[${text}]`],
      ['number in every field', text.replace(/:"[^"]*"/g, `:"${wrong}"`)],
      ['holder with a line', body('payment', { number: wrong, holder: `${HOLDER}\n${wrong}` })],
      ['expiry', body('payment', { number: wrong, expiration_date: wrong })],
      ['code', body('payment', { number: wrong, security_code: wrong })],
      ['number', body('payment', { number: `${wrong}x` })],
      ['a number as a fraction', text.replace(`"${wrong}"`, `${wrong}.5`)],
      ['amount', body('payment', { number: wrong }, wrong)],
      ['currency', { ...good, order_info: { amount_details: { total_amount: 1, currency: wrong } } }],
      ['type', { ...good, transaction_info: { type: `${wrong} ${EMAIL}` } }],
      ['placeholder', body('payment', { number: `{{${wrong}}}` })],
      ['unknown token', body('payment', { number: `{{${wrong}:detokenize}}` })],
      ['unknown capture', body('payment', { number: wrong, security_code: `{{${wrong}:transaction}}` })],
      ['filter', body('payment', { number: `{{${wrong}:detokenize | extract:${wrong}}}` })],
      ['keys', { ...good, card: { [wrong]: wrong, number: '1' }, [HOLDER]: 1 }],
    ] as const) {
      assert.equal((await send(what, sent)).status, 400, what);
      assert.equal(
        (await send(`${what}, kept`, sent, '', { 'idempotency-key': `bad-${responses.length}` })).status,
        400,
      );
    }
    for (const move of ['capture', 'void', 'refund'] as const)
      await send(move, followOnRequest(move, wrong), `/${wrong}/${move}`);
    responses.push({ what: 'lookup of a number', response: await me.show(wrong) });
    await send('key', good, '', { 'x-api-key': `${wrong}${EMAIL}` });
    await send('type', good, '', { 'content-type': `text/${wrong}` });
    await send('query', good, `?card=${wrong}&mail=${EMAIL}`);
    await service.call('POST', `/notifications/koin/${wrong}`, { body: text });
  }

  /** Its errors hold the request, card and all. */
  async function toKoin(): Promise<void> {
    koin = new FakeKoin({ privateKey: PRIVATE_KEY, account: 'ACC' });
    const { url } = await koin.start();
    const me = await newMerchant(service);
    await subscribe(me);
    const settings = {
      'base-url': url,
      'private-key': PRIVATE_KEY,
      account: 'ACC',
      'store-code': 'S',
      'timeout-ms': '400',
    };
    await service.enablePayments(me.account, settings, 'koin');
    service.advance(5000);
    const send = sender(me);
    // Its items have a form of their own.
    const forKoin = (number: string) => {
      const { order_info: info, ...rest } = body('payment', { number });
      return { ...rest, order_info: { amount_details: info.amount_details, descriptor: 'CANARYSHOP' } };
    };
    const good = await send('koin', forKoin(koinPan));
    assert.equal(good.json?.status, 'success', `${good.text} ${koin.violations}`);
    for (const on of ['tokenize', 'create'] as const) {
      for (const fault of [
        { status: 400 },
        { status: 422 },
        'error-before',
        'error-after',
        'garbage',
        'drop-after',
      ] as const) {
        koin.inject({ on, do: fault });
        await send(`koin, ${on}, ${JSON.stringify(fault)}`, forKoin(failing));
      }
    }
    koin.inject({ on: 'refund', do: { status: 400 } });
    await send('koin, refund', followOnRequest('refund'), `/${idOf(good)}/refund`);
    assert.ok(koin.requests.includes('tokenize'));
  }

  test('the search finds every encoding of a canary', () => {
    const sent = JSON.stringify(body('authorization', { number: clear }));
    const found = new Search([...secrets, REFERENCE]).found(Buffer.from(sent));
    for (const canary of [clear, wrong, ...people, REFERENCE, `"security_code":"${CVV}"`])
      assert.ok(found.includes(canary));
  });

  test('files', () => {
    const search = new Search([...secrets, referenced, REFERENCE]);
    const files = readdirSync(service.directory, { recursive: true, withFileTypes: true }).filter((each) =>
      each.isFile(),
    );
    for (const name of ['cardvault.db', 'cardvault.db-wal', 'copy.db'])
      assert.ok(
        files.some((each) => each.name === name),
        name,
      );
    for (const { parentPath, name } of files)
      assert.deepEqual(search.found(readFileSync(join(parentPath, name))), [], name);
  });

  test('log lines', () => {
    const log = Buffer.from(service.log.join(''));
    for (const route of [
      '/v1/payments',
      '/v1/payments/:id/refund',
      '/v1/payments/transactions/:id',
      '/notifications/koin/:secret',
    ])
      assert.ok(log.includes(`"route":"${route}"`), route);
    assert.deepEqual(new Search([...secrets, referenced, REFERENCE]).found(log), []);
  });

  test('metrics', async () => {
    const { status, text } = await service.call('GET', '/metrics', { environment: 'console' });
    assert.equal(status, 200);
    assert.ok(text.includes('/v1/payments'));
    assert.deepEqual(new Search([...secrets, referenced, REFERENCE]).found(Buffer.from(text)), []);
  });

  test('audit log', async () => {
    const lines: string[] = [];
    for await (const link of exportJournal(service.core.database)) lines.push(JSON.stringify(link));
    const text = lines.join('\n');
    assert.ok(
      text.includes('payment.requested') && text.includes('payment.resolved') && text.includes('token.detokenized'),
    );
    assert.deepEqual(new Search([...secrets, referenced, REFERENCE]).found(Buffer.from(text)), []);
  });

  test('events as they arrived, with their headers', () => {
    const search = new Search([...secrets, referenced]);
    for (const { path, headers, body: sent, event } of receiver.received)
      assert.deepEqual(search.found(Buffer.from(`${path} ${JSON.stringify(headers)} ${sent}`)), [], event.type);
    const last = referenced.slice(-4);
    const truncated = receiver.received.filter(({ body: sent }) => sent.includes('Order ') && sent.includes(last));
    assert.ok(truncated.length > 0, 'the reference is there, with its last digits');
  });

  test('responses, successful and failed', () => {
    const search = new Search(secrets);
    const statuses = new Set(responses.map(({ response }) => response.status));
    assert.deepEqual([...statuses].sort(), [200, 400, 403, 415]);
    const words = new Set(responses.map(({ response }) => response.json.status));
    assert.deepEqual([...words].sort(), ['Error', 'Fail', 'success']);
    for (const { what, response } of responses) {
      assert.deepEqual(search.found(Buffer.from(response.text)), [], what);
      assert.deepEqual(search.found(Buffer.from(JSON.stringify(response.headers))), [], `headers of ${what}`);
      if (response.status !== 200) assert.ok(!response.text.includes(REFERENCE), what);
    }
  });

  test('readable columns of the tables', async () => {
    for (const table of ['payments', 'payment_operations', 'simulator_payments', 'processor_configurations']) {
      const rows = await service.core.database.read(`select * from ${table}`);
      assert.ok(rows.length > 0, table);
      for (const row of rows) {
        const readable = Object.values(row).filter((value) => typeof value === 'string');
        assert.deepEqual(new Search(secrets).found(Buffer.from(readable.join('\n'))), [], table);
      }
    }
  });
});
