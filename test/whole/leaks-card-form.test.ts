import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { listAudit } from '../../console/wire/audit.ts';
import { listSessions } from '../../console/wire/card-form.ts';
import { listCaptures, listTokens, showCapture, showToken } from '../../console/wire/records.ts';
import { listRequests } from '../../console/wire/request-log.ts';
import { listDeliveries, showEvent } from '../../console/wire/webhooks.ts';
import { exportJournal } from '../../src/audit/verify-journal.ts';
import { SECOND } from '../../src/kernel/clock.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { newAccountUser, successData } from '../console/account-user.ts';
import { Search, withoutRandomTexts } from '../fixtures/canaries.ts';
import { luhnPan, startTestService, type TestResponse, type TestService } from '../fixtures/test-service.ts';
import { untilPasses } from '../fixtures/until-passes.ts';
import { startWebhookReceiver } from '../fixtures/webhook-receiver.ts';
import { type Caller, dataOf, newCaller } from '../interface/vault-requests.ts';

/**
 * Canaries are typed into the card form, accepted and refused, well-formed and not, while a webhook endpoint wants every event.
 * Then the files, the log, metrics, the audit log, the events as they arrived, and the responses are searched.
 */
const HOLDER = 'Zebulon Quackenbush-Ñandú';
/** Names and codes of submissions that are refused, and of fields that are hidden, are kept nowhere. */
const DROPPED = [
  'Žofie Kvapilová of a refusal',
  'Name in a hidden field 81c2',
  'code-canary-of-a-refusal-81c2',
  'code-canary-in-a-hidden-field-81c2',
];
const [REFUSED_NAME = '', HIDDEN_NAME = '', REFUSED_CODE = '', HIDDEN_CODE = ''] = DROPPED;
/** An accepted code has four digits at most, which binary files and encoded texts contain by chance. */
const CODE = '7391';
const CODE_FORMS = [`"cvv":"${CODE}"`, `"cvv":${CODE}`, `cvv=${CODE}`, `code ${CODE}`];
const SHOP = 'https://shop.example.com';
const CAPTURE = { allowed_origins: [SHOP], amount: 100, currency: 'USD', ttl: 10 };
const TOKEN = { allowed_origins: [SHOP], result: 'token', scheme: 7 };

interface Session {
  readonly id: string;
  readonly secret: string;
}

describe('places without data of the card form', { timeout: 120_000 }, () => {
  let service: TestService;
  let receiver: Awaited<ReturnType<typeof startWebhookReceiver>>;
  let me: Caller;
  const secrets: string[] = [...CODE_FORMS, ...DROPPED];
  /** Every response but those that create a session. */
  const responses: { what: string; response: TestResponse }[] = [];
  /** Responses of inspections: the name belongs there, a number or code does not. */
  const inspections: { what: string; response: TestResponse }[] = [];
  const newPan = (prefix: string, length = 16): string => {
    const pan = luhnPan(prefix, length);
    // The search for the code must not find it in the last four digits, which are shown.
    if (pan.includes(CODE)) return newPan(prefix, length);
    secrets.push(pan);
    return pan;
  };

  const open = async (body: object, headers: Record<string, string> = {}): Promise<Session> => {
    const { id, client_secret: secret } = dataOf(await me.send('POST', '/v1/capture-sessions', body, headers));
    secrets.push(secret);
    return { id, secret };
  };
  const form = async (
    what: string,
    { id, secret }: Session,
    body: unknown,
    headers: Record<string, string> = {},
    [method, path]: readonly [string, string] = ['POST', ''],
  ): Promise<TestResponse> => {
    const response = await service.call(method, `/v1/card/${id}${path}`, {
      environment: 'cards',
      ...(body !== undefined && { body }),
      headers: {
        origin: `https://localhost:${service.ports.cards}`,
        authorization: `Bearer ${secret}`,
        ...headers,
      },
    });
    responses.push({ what, response });
    return response;
  };
  const cardOf = (number: string, more: object = {}) => ({
    ...{ number, exp: '12/40', name: HOLDER, cvv: CODE, attempt: randomUUID() },
    ...more,
  });
  const refusedCardOf = (number: string, more: object = {}) =>
    cardOf(number, { name: REFUSED_NAME, cvv: REFUSED_CODE, ...more });

  before(async () => {
    receiver = await startWebhookReceiver();
    const variables = { CARDVAULT_RATE_LIMIT_CAPTURE: '0', CARDVAULT_WEBHOOK_NETWORKS: '127.0.0.0/8' };
    service = await startTestService({ variables });
    me = await newCaller(service);
    secrets.push(me.key);
    const webhook = dataOf(await me.send('POST', '/v1/webhooks', { url: receiver.url, events: ['*'] }));
    secrets.push(webhook.secret);
    // The endpoints of a tenant are cached for two seconds.
    service.advance(3 * SECOND);
    const made = await sendAccepted();
    await sendRefused();
    await sendStrange();
    await untilPasses(async () => {
      service.advance(SECOND);
      assert.deepEqual(new Set(receiver.received.map(({ event }) => event.type)).size, 2);
      assert.equal(receiver.of('capture_session.completed').length, made.length);
    });
    await readLists(webhook.id, made);
    await service.core.database.backup(join(service.directory, 'copy.db'));
  });
  after(async () => {
    await receiver.stop();
    await service.stop();
  });

  async function sendAccepted(): Promise<TestResponse[]> {
    // With the key a repeat gets the secret again, so the response is kept, sealed.
    const session = await open(CAPTURE, { 'idempotency-key': 'kept' });
    assert.equal((await open(CAPTURE, { 'idempotency-key': 'kept' })).secret, session.secret);
    const card = cardOf(newPan('378282', 15));
    const first = await form('a capture', session, card);
    await form('the same attempt', session, { ...card, number: newPan('555555') });
    await form('another attempt', session, cardOf(newPan('411111')));
    const token = await form('a token', await open(TOKEN), cardOf(newPan('411111'), { cvv: HIDDEN_CODE }));
    const hidden = await open({ ...CAPTURE, fields: { name: 'hidden', cvv: 'hidden' } });
    const fewer = cardOf(newPan('520082'), { name: HIDDEN_NAME, cvv: HIDDEN_CODE });
    const without = await form('hidden fields', hidden, fewer);
    for (const { status, text } of [first, token, without]) assert.equal(status, 200, text);
    const captureId = first.json.result.capture.id;
    const { data } = (await me.send('GET', `/transactions/requests/${captureId}`)).json;
    // The canaries that are searched for below really are in there.
    assert.deepEqual([data.pan, data.name, data.cvv], [card.number, HOLDER, CODE]);
    const read = async (what: string, path: string) => ({ what, response: await me.send('GET', path) });
    inspections.push(await read('capture', `/transactions/requests/${captureId}/inspect`));
    inspections.push(await read('token', `/v1/tokens/${token.json.result.token.token}/inspect`));
    responses.push(await read('completed session', `/v1/capture-sessions/${session.id}`));
    return [first, token, without];
  }

  async function sendRefused(): Promise<void> {
    const session = await open({ ...CAPTURE, accepted_brands: ['visa'] });
    const pan = newPan('411111');
    const changes: object[] = [
      { number: newPan('555555') },
      { number: `${pan}x` },
      { number: (pan.match(/.{1,4}/g) ?? []).join(' '), exp: pan },
      { exp: '01/20' },
      { name: `${REFUSED_NAME} ${pan}` },
      { name: `${REFUSED_NAME}\u0000` },
      { name: `${REFUSED_NAME} `.repeat(20) },
      { cvv: pan },
    ];
    for (const [index, change] of changes.entries())
      assert.equal((await form(`refused ${index}`, session, refusedCardOf(pan, change))).status, 400);
    for (let count = changes.length; count < LIMITS.sessionAttempts; count++)
      await form('refused', session, refusedCardOf(pan));
    assert.equal(responses.at(-1)?.response.json.status, 'failed');
    assert.equal((await form('after the last attempt', session, cardOf(pan))).status, 410);
    const shown = await me.send('GET', `/v1/capture-sessions/${session.id}`);
    responses.push({ what: 'failed session', response: shown });
  }

  async function sendStrange(): Promise<void> {
    const session = await open(CAPTURE);
    const pan = newPan('411111');
    const body = refusedCardOf(pan, { cvv: CODE });
    const text = JSON.stringify(body);
    for (const [what, sent] of [
      ['cut off', text.slice(0, -1)],
      ['text behind', `${text}${pan}`],
      ['a bare number', pan],
      ['a list', `[${text}]`],
      ['a member twice', `{"${pan}":1,"${pan}":2,"attempt":"${body.attempt}"}`],
      ['a number as a number', text.replace(`"${pan}"`, pan)],
      ['invalid UTF-8', Buffer.concat([Buffer.from(text), Buffer.from([0xff])])],
      ['too large', JSON.stringify({ ...body, filler: `${pan} ${REFUSED_NAME} `.repeat(200) })],
      ['no attempt', { ...body, attempt: pan }],
      ['too deep', `${'['.repeat(2000)}"${pan}"`],
    ] as const)
      assert.ok((await form(`malformed: ${what}`, session, sent)).status >= 400, what);
    const { secret } = session;
    const other = `${secret.slice(0, -1)}${secret.endsWith('A') ? 'B' : 'A'}`;
    secrets.push(secret.slice(0, -1));
    assert.equal((await form('wrong secret', { ...session, secret: other }, cardOf(pan))).status, 401);
    assert.equal((await form('unknown session', { id: `cs_${'0'.repeat(24)}`, secret }, cardOf(pan))).status, 404);
    const carriers = {
      origin: `${SHOP}/${secret}`,
      referer: `${SHOP}/?card=${pan}`,
      cookie: `card=${pan}; secret=${secret}`,
      'user-agent': `${pan} ${secret} ${REFUSED_CODE}`,
      'idempotency-key': secret,
      'x-request-id': pan,
      'content-type': `text/${pan}`,
      'content-encoding': pan,
      'sec-fetch-site': secret,
      authorization: `Basic ${pan}`,
      'x-api-key': secret,
      'x-forwarded-for': pan,
    };
    for (const [name, value] of Object.entries(carriers))
      await form(`header ${name}`, session, name === 'x-request-id' ? '{' : body, { [name]: value });
    for (const path of [`/session?number=${pan}&secret=${secret}`, `/${pan}/${secret}`, `?${secret}=${pan}`, ''])
      await form('path', session, undefined, {}, ['GET', path]);
    for (const id of [pan, secret, `${session.id}${pan}`]) await form('path', { id, secret }, body);
    for (const method of ['PUT', 'DELETE', 'OPTIONS']) await form('method', session, body, {}, [method, '']);
    await form('cancel with a body', session, body, {}, ['POST', '/cancel']);
    const paths = [`/v1/capture-sessions/${pan}`, `/v1/capture-sessions/${secret}`];
    for (const path of paths) responses.push({ what: 'unknown session', response: await me.send('GET', path) });
    const bodies = [
      { ...CAPTURE, description: `for ${pan}` },
      { ...CAPTURE, [pan]: secret, scheme: pan },
      { ...CAPTURE, return_url: `${SHOP}/?status=${pan}` },
      { ...CAPTURE, additional_info: { pan_index: pan } },
      { ...CAPTURE, appearance: { theme: pan } },
    ];
    for (const each of bodies) {
      const response = await me.send('POST', '/v1/capture-sessions', each);
      assert.equal(response.status, 400, response.text);
      responses.push({ what: 'bad session', response });
    }
  }

  /** Reads what users of the console see of it. */
  async function readLists(webhook: string, made: readonly TestResponse[]): Promise<void> {
    const user = await newAccountUser(service, me.account);
    const params = { id: webhook };
    const { deliveries } = successData(await user.call(listDeliveries, { params }));
    const [{ event_id: event }] = deliveries;
    const token = made.map(({ json }) => json.result.token?.token).find((each) => each !== undefined);
    const capture = made.map(({ json }) => json.result.capture?.id).find((each) => each !== undefined);
    for (const [what, response] of [
      ['sessions', await user.call(listSessions)],
      ['captures', await user.call(listCaptures, { body: {} })],
      ['capture', await user.call(showCapture, { params: { id: capture } })],
      ['tokens', await user.call(listTokens, { body: {} })],
      ['token', await user.call(showToken, { params: { token } })],
      ['requests', await user.call(listRequests, { body: {} })],
      ['audit', await user.call(listAudit, { body: {} })],
      ['deliveries', await user.call(listDeliveries, { params })],
      ['event', await user.call(showEvent, { params: { ...params, event } })],
    ] as const) {
      assert.equal(response.status, 200, `${what}: ${response.text}`);
      (/^(?:capture|token)/.test(what) ? inspections : responses).push({ what: `console: ${what}`, response });
    }
    const list = await me.send('GET', `/v1/webhooks/${webhook}/deliveries`);
    responses.push({ what: 'deliveries', response: list });
  }

  const assertAbsent = (text: string, what: string): void => {
    assert.deepEqual(new Search([...secrets, HOLDER]).found(Buffer.from(text)), [], what);
    assert.ok(!withoutRandomTexts(text).includes(CODE), `${what}: the code`);
  };

  test('the search finds every encoding of a canary, and the code', () => {
    const card = cardOf(newPan('378282', 15));
    const sent = JSON.stringify(card);
    const canaries = [card.number, HOLDER, `"cvv":"${CODE}"`];
    for (const text of [sent, Buffer.from(sent).toString('base64'), Buffer.from(sent).toString('hex')])
      assert.deepEqual(new Search(canaries).found(Buffer.from(text)), canaries);
    for (const text of [sent, `"reason":"${CODE}"`, `/v1/card/${CODE}`, `{code="${CODE}"} 1`])
      assert.ok(withoutRandomTexts(text).includes(CODE), text);
  });

  test('database, write-ahead log, backup and every other file', () => {
    const search = new Search([...secrets, HOLDER]);
    const entries = readdirSync(service.directory, { recursive: true, withFileTypes: true });
    const files = entries.filter((each) => each.isFile());
    for (const name of ['cardvault.db', 'cardvault.db-wal', 'copy.db'])
      assert.ok(
        files.some((each) => each.name === name),
        name,
      );
    const [{ event } = { event: undefined }] = receiver.of('capture_session.completed');
    for (const { parentPath, name } of files) {
      const bytes = readFileSync(join(parentPath, name));
      assert.deepEqual(search.found(bytes), [], name);
      // The search does look at where records are: what is not secret is found.
      if (name === 'copy.db') assert.ok(bytes.includes(event.data.id));
    }
  });

  test('readable columns of the sessions, captures, tokens, events and deliveries', async () => {
    for (const table of ['capture_sessions', 'captures', 'tokens', 'webhook_events', 'webhook_deliveries']) {
      const rows = await service.core.database.read(`select * from ${table}`);
      assert.ok(rows.length > 0, table);
      for (const row of rows)
        for (const [column, value] of Object.entries(row))
          if (typeof value === 'string') assertAbsent(value, `${table}.${column}`);
    }
  });

  test('events as they arrived, with their headers', () => {
    const types = receiver.received.map(({ event }) => event.type).toSorted();
    const completed = Array.from({ length: 3 }, () => 'capture_session.completed');
    assert.deepEqual([...new Set(types)], ['capture_session.completed', 'capture_session.failed']);
    assert.deepEqual(
      types.filter((type) => type !== 'capture_session.failed'),
      completed,
    );
    for (const { path, headers, body, event } of receiver.received)
      assertAbsent(`${path} ${JSON.stringify(headers)} ${body}`, event.type);
  });

  test('log lines', () => {
    const log = service.log.join('');
    for (const route of ['/v1/card/:id', '/v1/card/:id/session', '/v1/card/:id/cancel', '/v1/capture-sessions/:id'])
      assert.ok(log.includes(`"route":"${route}"`), route);
    assertAbsent(log, 'log');
  });

  test('metrics', async () => {
    const { status, text } = await service.call('GET', '/metrics', { environment: 'console' });
    assert.equal(status, 200);
    assert.ok(text.includes('/v1/card/:id'));
    assertAbsent(text, 'metrics');
  });

  test('audit log', async () => {
    const lines: string[] = [];
    for await (const link of exportJournal(service.core.database)) lines.push(JSON.stringify(link));
    const text = lines.join('\n');
    for (const end of ['completed', 'failed', 'cancelled']) assert.ok(text.includes(`capture-session.${end}`), end);
    assertAbsent(text, 'audit log');
  });

  test('responses, to the form, to the merchant and to users of the console', () => {
    const statuses = new Set(responses.map(({ response }) => response.status));
    for (const status of [200, 400, 401, 403, 404, 410, 413, 415]) assert.ok(statuses.has(status), String(status));
    for (const { what, response } of responses) {
      assertAbsent(JSON.stringify(response.headers), `headers of ${what}`);
      // The document of the form is the same for every session; its code, which is not searched, has numbers.
      if (!String(response.headers['content-type']).startsWith('text/html')) assertAbsent(response.text, what);
      else assert.deepEqual(new Search([...secrets, HOLDER]).found(Buffer.from(response.text)), [], what);
    }
    const search = new Search(secrets);
    for (const { what, response } of inspections) {
      assert.equal(response.status, 200, response.text);
      assert.deepEqual(search.found(Buffer.from(response.text)), [], what);
      assert.ok(!withoutRandomTexts(response.text).includes(CODE), what);
    }
  });
});
