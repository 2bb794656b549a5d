import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { CaptureSessions } from '../../src/capture-sessions/capture-sessions.ts';
import { Captures } from '../../src/captures/captures.ts';
import { hashSecret } from '../../src/crypto/fingerprint.ts';
import { cardFormHeaders } from '../../src/http/card-form.ts';
import { ENDPOINTS } from '../../src/http/endpoints.ts';
import { DAY, HOUR, MINUTE, SECOND } from '../../src/kernel/clock.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { type Value, write } from '../../src/storage/database.ts';
import { Vault } from '../../src/vault/vault.ts';
import { readAuditRecords } from '../fixtures/audit-records.ts';
import { Search, withoutRandomTexts } from '../fixtures/canaries.ts';
import { luhnPan, startTestService, type TestResponse, type TestService } from '../fixtures/test-service.ts';
import { untilPasses } from '../fixtures/until-passes.ts';
import { dial, untilClosed } from '../fixtures/wire.ts';
import { type Caller, newCaller } from './vault-requests.ts';

const ORIGIN = 'https://shop.example.com';
const CAPTURE = { allowed_origins: [ORIGIN], amount: 100, currency: 'USD', ttl: 10 };
const TOKEN = { allowed_origins: [ORIGIN], result: 'token', scheme: 7 };
const CARD = { number: '4111111111111111', exp: '12/40', name: 'Ana Lopez', cvv: '123' };

interface Session {
  readonly id: string;
  readonly secret: string;
  readonly url?: string;
}

describe('sessions of the card form', { timeout: 120_000 }, () => {
  let service: TestService;
  let me: Caller;
  before(async () => {
    service = await startTestService({ variables: { CARDVAULT_RATE_LIMIT_CAPTURE: '0' } });
    me = await newCaller(service);
  });
  after(() => service.stop());

  const own = (): string => `https://localhost:${service.ports.cards}`;
  const open = async (body: object = CAPTURE, caller = me): Promise<Session> => {
    const { status, json, text } = await service.call('POST', '/v1/capture-sessions', { key: caller.key, body });
    assert.equal(status, 200, text);
    return { id: json.data.id, secret: json.data.client_secret, url: json.data.url };
  };
  const show = async ({ id }: Session) =>
    (await service.call('GET', `/v1/capture-sessions/${id}`, { key: me.key })).json.data;
  const form = (
    method: string,
    { id, secret }: Pick<Session, 'id' | 'secret'>,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<TestResponse> =>
    service.call(method, `/v1/card/${id}${path}`, {
      environment: 'cards',
      ...(body !== undefined && { body }),
      headers: { origin: own(), authorization: `Bearer ${secret}`, ...headers },
    });
  const rowsOf = async ({ id }: Session): Promise<number> =>
    (await service.core.database.read('select 1 as found from capture_sessions where id = ?', id)).length;
  const submit = (session: Pick<Session, 'id' | 'secret'>, card: object = {}, attempt: string = randomUUID()) =>
    form('POST', session, '', { ...CARD, ...card, attempt });

  test('make a capture of one card, with everything of the session', async () => {
    const session = await open({ ...CAPTURE, additional_info: { order: 'A-1', big: 1 } });
    assert.match(session.id, /^cs_[0-9a-z]{24}$/);
    assert.match(session.secret, /^[A-Za-z0-9_-]{43}$/);
    const { status, json, text } = await submit(session);
    assert.equal(status, 200, text);
    assert.deepEqual(json.card, { brand: 'visa', card: '411111******1111', exp: '12/2040' });
    const shown = await show(session);
    assert.deepEqual(
      [shown.status, shown.result, shown.card, shown.attempts],
      ['completed', json.result, json.card, 0],
    );
    const { id } = json.result.capture;
    const retrieved = (await service.call('GET', `/transactions/requests/${id}`, { key: me.key })).json.data;
    assert.deepEqual(
      [retrieved.pan, retrieved.exp, retrieved.name, retrieved.cvv, retrieved.amount, retrieved.additional_info.order],
      [CARD.number, '12/40', 'Ana Lopez', '123', 100, 'A-1'],
    );
  });

  test('make a capture whose ttl counts from completion', async () => {
    const session = await open({ ...CAPTURE, ttl: 10, expires_in: 60 });
    // The ttl would have ended if it counted from the creation of the session.
    service.advance(20 * MINUTE);
    const { status, json, text } = await submit(session);
    assert.equal(status, 200, text);
    const retrieve = (): Promise<TestResponse> =>
      service.call('GET', `/transactions/requests/${json.result.capture.id}`, { key: me.key });
    for (let count = 0; count < 2; count++) {
      const valid = await retrieve();
      assert.equal(valid.status, 200, valid.text);
      assert.equal(valid.json.data.pan, CARD.number);
      service.advance(5 * MINUTE);
    }
    const ended = await retrieve();
    assert.deepEqual([ended.status, ended.json.desc], [400, 'id: no such capture, or its ttl has ended']);
  });

  test('take a number with blanks and dashes of every kind, and no name of blanks', async () => {
    for (const [number, name] of [
      ['4111-1111 1111\u00a01111', 'Ana Lopez'],
      ['4111\u20111111\u20131111\u20141111', ' '],
    ] as const) {
      const { status, json, text } = await submit(await open({ ...CAPTURE, fields: { name: 'optional' } }), {
        number,
        name,
      });
      assert.equal(status, 200, text);
      const { id } = json.result.capture;
      const retrieved = (await service.call('GET', `/transactions/requests/${id}`, { key: me.key })).json.data;
      assert.deepEqual([retrieved.pan, retrieved.name], [CARD.number, name === ' ' ? undefined : name]);
    }
  });

  test('make a token, and never keep a security code with it', async () => {
    const session = await open(TOKEN);
    const { json, text } = await submit(session);
    assert.equal(json.result?.token?.scheme, 7, text);
    const inspected = await service.call('GET', `/v1/tokens/${json.result.token.token}/inspect`, { key: me.key });
    assert.equal(inspected.json.data.created_by, 'test');
  });

  test('complete once: the same attempt gets the first answer, whatever it brings, and any other 410', async () => {
    const session = await open();
    const attempt = randomUUID();
    const first = await submit(session, {}, attempt);
    const again = await submit(session, { number: luhnPan('555555') }, attempt);
    assert.deepEqual([again.status, again.json], [200, first.json]);
    const other = await submit(session);
    assert.deepEqual([other.status, other.json], [410, { status: 'completed' }]);
  });

  test('take one of many cards that come at once', async () => {
    const session = await open(TOKEN);
    const answers = await Promise.all(Array.from({ length: 20 }, () => submit(session, { number: luhnPan('411111') })));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, ...Array.from({ length: 19 }, () => 410)]);
    const rows = await service.core.database.read(
      'select count(*) as number from tokens where account = ?account',
      me.account,
    );
    assert.ok(Number(rows[0]?.['number']) <= 2);
  });

  test('name every field at fault, count refusals, and fail at the tenth', async () => {
    const session = await open({ ...CAPTURE, accepted_brands: ['amex'] });
    const refused = await submit(session, { exp: '01/20', name: '', cvv: '1' });
    assert.equal(refused.status, 400);
    assert.deepEqual(refused.json, {
      status: 'open',
      errors: [
        { field: 'number', code: 'brand_not_accepted' },
        { field: 'exp', code: 'expired' },
        { field: 'name', code: 'required' },
        { field: 'cvv', code: 'incomplete' },
      ],
    });
    for (let count = 2; count < 10; count++) assert.equal((await submit(session)).json.status, 'open');
    assert.deepEqual((await submit(session)).json.status, 'failed');
    assert.equal((await submit(session)).status, 410);
    const shown = await show(session);
    assert.deepEqual([shown.status, shown.attempts, shown.result], ['failed', 10, undefined]);
  });

  test('do not count what is no submission', async () => {
    const session = await open();
    const post = (body: unknown, headers: Record<string, string> = {}) => form('POST', session, '', body, headers);
    const attempt = randomUUID();
    for (const [response, status] of [
      [await post({ ...CARD, attempt: 'no uuid' }), 400],
      [await post({ ...CARD, number: 4111111111111111, attempt }), 400],
      [await post({ ...CARD, name: null, attempt }), 400],
      [await post({ ...CARD, cvv: ['123'], attempt }), 400],
      [await post(`{"attempt":"${attempt}","number":"4111111111111111","number":"5555555555554444"}`), 400],
      [await post('['.repeat(4000)), 400],
      [await post(Buffer.from([0x7b, 0xff, 0x7d])), 400],
      [await post({ ...CARD, attempt }, { 'content-encoding': 'gzip' }), 415],
      [await post({ ...CARD, attempt }, { 'content-type': 'application/json-seq' }), 415],
      [await post('{'), 400],
      [await post('[]'), 400],
      [await post({ ...CARD, attempt }, { 'content-type': 'text/plain' }), 415],
      [await post({ ...CARD, name: 'x'.repeat(5000), attempt }), 413],
    ] as const) {
      assert.equal(response.status, status, response.text);
      assert.equal(response.json.status, 'fail');
      assert.ok(!response.text.includes('4111'));
    }
    assert.equal((await show(session)).attempts, 0);
  });

  test('are refused from elsewhere, and with another secret', async () => {
    const [session, other] = [await open(), await open()];
    const body = { ...CARD, attempt: randomUUID() };
    for (const [headers, status] of [
      [{ origin: ORIGIN }, 403],
      [{ origin: 'null' }, 403],
      [{ origin: '' }, 403],
      [{ origin: own().replace('https:', 'http:') }, 403],
      [{ origin: own().replace('localhost', 'localhost.') }, 403],
      [{ origin: own().replace('localhost', 'shop.localhost') }, 403],
      [{ origin: own().replace('localhost', 'LOCALHOST') }, 403],
      [{ origin: `${own()}/` }, 403],
      [{ origin: `${own()}0` }, 403],
      [{ origin: 'https://localhost' }, 403],
      [{ origin: `${own()}, ${own()}` }, 403],
      [{ 'sec-fetch-site': 'cross-site' }, 403],
      [{ 'sec-fetch-site': 'same-site' }, 403],
      [{ authorization: `Bearer ${other.secret}` }, 401],
      [{ authorization: `Bearer ${'A'.repeat(43)}` }, 401],
      [{ authorization: '' }, 401],
    ] as const)
      assert.equal((await form('POST', session, '', body, headers)).status, status, JSON.stringify(headers));
    const withoutOrigin = await service.call('POST', `/v1/card/${session.id}`, {
      environment: 'cards',
      body,
      headers: { authorization: `Bearer ${session.secret}` },
    });
    assert.equal(withoutOrigin.status, 403);
    const unknown = await submit({ id: 'cs_000000000000000000000000', secret: session.secret });
    assert.equal(unknown.status, 404);
    assert.equal((await show(session)).status, 'open');
  });

  test('whose rows were altered are refused, although their settings were unsealed before', async () => {
    const other = await open({ ...CAPTURE, amount: 1 });
    const forged = Buffer.from(hashSecret('capture session', other.secret));
    const [{ record } = {}] = await service.core.database.read(
      'select record from capture_sessions where id = ?',
      other.id,
    );
    const alterations: [string, Value][] = [
      ['secret', forged],
      ['record', record ?? null],
      ['created_at', 1],
      ['account', 0],
      ['environment', 0],
      ['expires_at', Date.now() + DAY],
    ];
    for (const [column, value] of alterations) {
      const session = await open();
      assert.equal((await form('GET', session, '/session')).status, 200);
      const sql = `update capture_sessions set ${column} = ? where id = ?`;
      await service.core.database.commit({ writes: [write(sql, [value, session.id])] });
      const secret = column === 'secret' ? other.secret : session.secret;
      for (const each of [session, { ...session, secret }]) {
        assert.equal((await form('GET', each, '/session')).status, 500, column);
        assert.equal((await submit(each)).status, 500, column);
      }
    }
  });

  test('expire at their time, and are removed a day after', async () => {
    const session = await open({ ...CAPTURE, expires_in: 1 });
    service.advance(MINUTE);
    const late = await submit(session);
    assert.deepEqual([late.status, late.json], [410, { status: 'expired' }]);
    const shown = await show(session);
    assert.deepEqual([shown.status, shown.ended_at], ['expired', shown.expires_at]);
    service.advance(DAY);
    assert.equal((await service.call('GET', `/v1/capture-sessions/${session.id}`, { key: me.key })).status, 400);
    assert.equal((await form('GET', session, '/session')).status, 404);
    await untilPasses(async () => assert.equal(await rowsOf(session), 0));
  });

  const readers = [
    { what: 'has seen expired', read: async (session: Session) => (await show(session)).status },
    {
      what: 'could not cancel because they had expired',
      read: async ({ id }: Session) => {
        const { status, json } = await service.call('DELETE', `/v1/capture-sessions/${id}`, { key: me.key });
        assert.equal(status, 400);
        return /\bexpired\b/.exec(json.desc)?.[0];
      },
    },
  ];
  for (const { what, read } of readers)
    test(`that their merchant ${what} are not completed by a submission that was in time`, async () => {
      const session = await open({ ...CAPTURE, expires_in: 1 });
      const { core } = service;
      const vault = new Vault(core);
      const sessions = new CaptureSessions({ ...core, vault, captures: new Captures({ ...core, vault }) });
      const submission = { number: luhnPan('4'), exp: '12/40', name: 'Ana Lopez', cvv: '123', attempt: randomUUID() };
      const outcome = await core.transactions.run({ origin: { actor: { type: 'buyer' } } }, async (transaction) => {
        const made = await sessions.submit(transaction, session.id, session.secret, () => submission);
        if (transaction.attempt > 0) return made;
        // The commit has to wait until the time is over.
        assert.equal(made.kind, 'completed');
        service.advance(MINUTE);
        assert.equal(await read(session), 'expired');
        return made;
      });
      assert.deepEqual(outcome, { kind: 'ended', status: 'expired' });
      const shown = await show(session);
      assert.deepEqual([shown.status, shown.ended_at], ['expired', shown.expires_at]);
    });

  test('that ended before their time are unknown a day after their end, and removed a day after their time', async () => {
    const session = await open({ ...CAPTURE, expires_in: 60 });
    assert.equal((await submit(session)).status, 200);
    service.advance(DAY - 20 * SECOND);
    assert.equal((await form('GET', session, '')).status, 200, 'the settings were unsealed less than a minute ago');
    service.advance(20 * SECOND);
    assert.equal((await service.call('GET', `/v1/capture-sessions/${session.id}`, { key: me.key })).status, 400);
    assert.equal((await form('GET', session, '')).status, 404);
    assert.equal((await submit(session)).status, 404);
    service.advance(HOUR);
    await untilPasses(async () => assert.equal(await rowsOf(session), 0));
  });

  test('are cancelled by the merchant, and by the buyer again and again', async () => {
    const [one, other] = [await open(), await open({ ...CAPTURE, return_url: 'https://shop.example.com/back' })];
    const cancelled = await service.call('DELETE', `/v1/capture-sessions/${one.id}`, { key: me.key });
    assert.equal(cancelled.json.data.status, 'cancelled');
    assert.equal((await service.call('DELETE', `/v1/capture-sessions/${one.id}`, { key: me.key })).status, 400);
    assert.equal((await submit(one)).status, 410);
    assert.equal(other.url, `${own()}/v1/card/${other.id}#${other.secret}`);
    for (let count = 0; count < 2; count++)
      assert.deepEqual((await form('POST', other, '/cancel')).json, { status: 'cancelled' });
    const ended = (await form('GET', other, '/session')).json;
    assert.deepEqual(ended, { status: 'cancelled', return_url: 'https://shop.example.com/back' });
  });

  test('that end while a card arrives slowly take none of it', async () => {
    const rowsIn = async (table: string): Promise<number> =>
      (await service.core.database.read(`select 1 as found from ${table} where account = ?account`, me.account)).length;
    const before = await rowsIn('captures');
    for (const [end, status] of [
      ['cancelled', 410],
      ['open', 200],
    ] as const) {
      const session = await open();
      const body = JSON.stringify({ ...CARD, attempt: randomUUID() });
      const socket = await dial(service, { environment: 'cards' });
      const received = untilClosed(socket);
      const head = [
        `POST /v1/card/${session.id} HTTP/1.1`,
        `host: localhost:${service.ports.cards}`,
        ...[`origin: ${own()}`, `authorization: Bearer ${session.secret}`, 'connection: close'],
        ...['content-type: application/json', `content-length: ${body.length}`],
      ];
      const half = body.length >> 1;
      socket.write(`${head.join('\r\n')}\r\n\r\n${body.slice(0, half)}`);
      // The service has the head and half of the body.
      await sleep(200);
      if (end === 'cancelled')
        assert.equal((await service.call('DELETE', `/v1/capture-sessions/${session.id}`, { key: me.key })).status, 200);
      socket.write(body.slice(half));
      assert.match(await received, new RegExp(`^HTTP/1\\.1 ${status} `));
      assert.equal((await show(session)).status, end === 'open' ? 'completed' : end);
    }
    assert.equal(await rowsIn('captures'), before + 1);
  });

  test('act as expired while their account is suspended', async () => {
    const other = await newCaller(service);
    const session = await open(CAPTURE, other);
    const change = async (act: 'suspend' | 'resume'): Promise<void> => {
      const { accounts, transactions } = service.core;
      const origin = { actor: { type: 'operator' as const, name: 'ops' } };
      await transactions.run({ origin }, (transaction) => accounts[act](transaction, other.account));
      service.advance(5 * SECOND);
    };
    assert.equal((await form('GET', session, '/session')).json.status, 'open');
    await change('suspend');
    assert.deepEqual((await form('GET', session, '/session')).json, { status: 'expired' });
    const refused = await submit(session);
    assert.deepEqual([refused.status, refused.json], [410, { status: 'expired' }]);
    await change('resume');
    assert.equal((await submit(session)).json.status, 'completed');
  });

  test('outlive the key that made them, which they name', async () => {
    const { id, secret: key } = await service.newKey(me.account, {
      name: 'short-lived',
      permissions: ['captures:create', 'captures:inspect', 'tokens:create'],
    });
    const { json } = await service.call('POST', '/v1/capture-sessions', { key, body: TOKEN });
    const session = { id: json.data.id, secret: json.data.client_secret };
    const { accounts, transactions } = service.core;
    const origin = { actor: { type: 'operator' as const, name: 'ops' } };
    const inspect = async (): Promise<number> =>
      (await service.call('GET', `/v1/capture-sessions/${session.id}`, { key })).status;
    assert.equal(await inspect(), 200);
    await transactions.run({ origin }, (transaction) => accounts.revokeKey(transaction, id));
    service.advance(5 * SECOND);
    assert.equal(await inspect(), 403);
    const { status, json: done, text } = await submit(session);
    assert.equal(status, 200, text);
    const path = `/v1/tokens/${done.result.token.token}/inspect`;
    const { created_by: creator } = (await service.call('GET', path, { key: me.key })).json.data;
    assert.equal(creator, 'short-lived');
  });

  test('of production need the origin of the listener', async () => {
    const { secret: key } = await service.newKey(me.account, {
      environment: 'production',
      permissions: ['captures:create'],
    });
    const response = await service.call('POST', '/v1/capture-sessions', {
      ...{ key, environment: 'production' },
      body: CAPTURE,
    });
    assert.equal(response.status, 400);
    assert.match(response.json.desc, /production sessions need CARDVAULT_CAPTURE_ORIGIN/);
  });

  test('belong to their account and environment', async () => {
    const session = await open();
    const other = await newCaller(service);
    for (const [method, path] of [
      ['GET', `/v1/capture-sessions/${session.id}`],
      ['DELETE', `/v1/capture-sessions/${session.id}`],
    ] as const) {
      const { status, json } = await service.call(method, path, { key: other.key });
      assert.deepEqual([status, json.desc], [400, 'id: no such session']);
    }
  });

  const shops = (count: number): string[] =>
    Array.from({ length: count }, (_, index) => `https://shop-${index}.example.com`);

  test('count equal origins once', async () => {
    const { status } = await service.call('POST', '/v1/capture-sessions', {
      key: me.key,
      body: { ...CAPTURE, allowed_origins: [...shops(10), ...shops(10)] },
    });
    assert.equal(status, 200);
  });

  test('refuse bad input with the name of the field', async () => {
    for (const [change, field] of [
      [{ allowed_origins: undefined }, 'allowed_origins'],
      [{ allowed_origins: ['https://shop.example.com/'] }, 'allowed_origins[0]'],
      [{ allowed_origins: [own()] }, 'allowed_origins[0]'],
      [{ allowed_origins: shops(11) }, 'allowed_origins'],
      [{ allowed_origins: Array(101).fill('https://shop.example.com') }, 'allowed_origins'],
      [{ amount: undefined }, 'amount'],
      [{ currency: 'XXY' }, 'currency'],
      [{ ttl: undefined }, 'ttl'],
      [{ scheme: 7 }, 'scheme'],
      [{ expires_in: 61 }, 'expires_in'],
      [{ description: 'card 4111111111111111' }, 'description'],
      [{ return_url: 'http://shop.example.com' }, 'return_url'],
      [{ accepted_brands: [] }, 'accepted_brands'],
      [{ accepted_brands: ['unknown'] }, 'accepted_brands[0]'],
      [{ fields: { cvv: 'maybe' } }, 'fields.cvv'],
      [{ locale: 'fr' }, 'locale'],
      [{ appearance: { theme: 'pink' } }, 'appearance.theme'],
      [{ appearance: { css: 'x' } }, 'appearance.*'],
      [{ appearance: { variables: { colorText: 'red' } } }, 'appearance.variables.colorText'],
      [{ appearance: { variables: { fontFamily: 'url(x)' } } }, 'appearance.variables.fontFamily'],
      [{ additional_info: { pan_index: 'x' } }, 'additional_info'],
    ] as const) {
      const { status, json } = await service.call('POST', '/v1/capture-sessions', {
        key: me.key,
        body: { ...CAPTURE, ...change },
      });
      assert.equal(status, 400, JSON.stringify(change));
      assert.ok(json.desc.startsWith(`${field}: `), json.desc);
    }
    const cvv = await service.call('POST', '/v1/capture-sessions', {
      key: me.key,
      body: { ...TOKEN, fields: { cvv: 'optional' } },
    });
    assert.ok(cvv.json.desc.startsWith('fields.cvv: '));
  });

  test('need the permission for what they make', async () => {
    const { secret: key } = await service.newKey(me.account, { permissions: ['captures:create'] });
    assert.equal((await service.call('POST', '/v1/capture-sessions', { key, body: CAPTURE })).status, 200);
    assert.equal((await service.call('POST', '/v1/capture-sessions', { key, body: TOKEN })).status, 403);
  });

  test('serve the form to its origins alone, whatever its state, and nothing else', async () => {
    const session = await open();
    const page = await service.call('GET', `/v1/card/${session.id}`, { environment: 'cards' });
    assert.equal(page.status, 200);
    const inline = (tag: string): string => {
      const [, content = ''] = new RegExp(`<${tag}>(.*?)</${tag}>`, 's').exec(page.text) ?? [];
      assert.notEqual(content, '');
      return `'sha256-${createHash('sha256').update(content).digest('base64')}'`;
    };
    const policy = (ancestors: string): string =>
      `default-src 'none'; script-src ${inline('script')}; style-src ${inline('style')}; connect-src 'self'; ` +
      `base-uri 'none'; form-action 'none'; frame-ancestors ${ancestors}; ` +
      "require-trusted-types-for 'script'; trusted-types 'none'";
    assert.equal(page.headers['content-security-policy'], policy(ORIGIN));
    assert.equal(page.headers['x-frame-options'], undefined);
    assert.equal(page.headers['cache-control'], 'no-store');
    assert.ok(!page.text.includes(session.secret));
    const unknown = await service.call('GET', '/v1/card/cs_000000000000000000000000', { environment: 'cards' });
    assert.equal(unknown.status, 404);
    assert.equal(unknown.headers['content-security-policy'], policy("'none'"));
    const hosted = await open({ ...CAPTURE, allowed_origins: undefined, return_url: `${ORIGIN}/back` });
    const top = await service.call('GET', `/v1/card/${hosted.id}`, { environment: 'cards' });
    assert.equal(top.headers['content-security-policy'], policy("'none'"));
    const several = await open({ ...CAPTURE, allowed_origins: [ORIGIN, 'https://www.example.com:8443'] });
    const shared = await service.call('GET', `/v1/card/${several.id}`, { environment: 'cards' });
    assert.equal(shared.headers['content-security-policy'], policy(`${ORIGIN} https://www.example.com:8443`));
    for (const path of [
      '/v1/account',
      '/openapi.json',
      '/docs',
      '/metrics',
      '/',
      '/notifications/koin/x',
      '/api/session',
    ])
      assert.equal((await service.call('GET', path, { environment: 'cards' })).status, 404, path);
    for (const path of ['/healthz', '/readyz'])
      assert.equal((await service.call('GET', path, { environment: 'cards' })).status, 200);
    for (const { method, path } of ENDPOINTS) {
      const at = path.replace(/:[a-z]+/gi, 'x');
      const { status } = await service.call(method, at, { environment: 'cards', key: me.key });
      assert.equal(status, 404, `${method} ${at}`);
    }
  });

  test('have a script whose content names it, with its integrity', async () => {
    const { json } = await service.call('GET', '/v1/integrity.json', { environment: 'cards' });
    assert.match(json.url, /^\/v1\/cardvault-[A-Za-z0-9_-]{16}\.js$/);
    assert.match(json.integrity, /^sha384-/);
    const [pinned, present] = [
      await service.call('GET', json.url, { environment: 'cards' }),
      await service.call('GET', '/v1/cardvault.js', { environment: 'cards' }),
    ];
    assert.equal(pinned.text, present.text);
    assert.match(String(pinned.headers['cache-control']), /immutable/);
    assert.equal(present.headers['cache-control'], 'public, max-age=300');
    for (const script of [pinned, present]) {
      assert.equal(script.headers['access-control-allow-origin'], '*');
      assert.equal(script.headers['cross-origin-resource-policy'], 'cross-origin');
    }
    const compressed = await service.call('GET', json.url, {
      environment: 'cards',
      headers: { 'accept-encoding': 'br' },
    });
    assert.equal(compressed.headers['content-encoding'], 'br');
    // A response without its length fails too.
    const length = Number(compressed.headers['content-length']);
    assert.ok(length > 0 && length <= 8 * 1024, String(length));
  });

  test('refuse a large body after what comes before it, and read no more of it', async () => {
    const session = await open();
    const large = `{"number":"${'4'.repeat(LIMITS.notificationBytes)}"}`;
    const elsewhere = await form('POST', session, '', large, { origin: ORIGIN });
    assert.equal(elsewhere.status, 403);
    const wrong = await form('POST', { ...session, secret: 'wrong' }, '', large);
    assert.equal(wrong.status, 401);
    const own = await form('POST', session, '', large);
    assert.deepEqual([own.status, own.headers['connection']], [413, 'close']);
    const typeless = await form('POST', { ...session, secret: 'wrong' }, '', 'x', { 'content-type': ';;' });
    assert.equal(typeless.status, 401);
    assert.equal((await submit(session)).status, 200);
  });

  test('are read by no other origin, whatever the response', async () => {
    const session = await open();
    const unknown = { id: 'cs_000000000000000000000000', secret: session.secret };
    const responses = [
      await form('GET', session, ''),
      await form('GET', unknown, ''),
      await form('GET', session, '/session'),
      await form('GET', session, '/session', undefined, { origin: ORIGIN }),
      await form('OPTIONS', session, '', undefined, { 'access-control-request-method': 'POST' }),
      await form('HEAD', session, '/session'),
      await form('POST', session, '', '{'),
      await submit(unknown),
      await submit(session),
      await form('POST', session, '/cancel'),
      await service.call('GET', '/v1/integrity.json', { environment: 'cards' }),
      await service.call('GET', '/nothing', { environment: 'cards' }),
    ];
    for (const { status, headers } of responses) {
      for (const name of Object.keys(headers)) assert.ok(!/^(?:access-control-|set-cookie|location)/.test(name), name);
      assert.equal(headers['referrer-policy'], 'no-referrer');
      assert.equal(headers['x-content-type-options'], 'nosniff');
      assert.equal(headers['cache-control'], 'no-store');
      // The name is used by other servers of this machine too.
      assert.equal(headers['strict-transport-security'], undefined);
      const isForm = String(headers['content-type']).startsWith('text/html');
      assert.equal(headers['cross-origin-resource-policy'], isForm ? 'cross-origin' : 'same-origin', String(status));
      if (!isForm) continue;
      assert.equal(headers['cross-origin-embedder-policy'], 'require-corp');
      assert.equal(headers['cross-origin-opener-policy'], 'same-origin');
      assert.equal(headers['origin-agent-cluster'], '?1');
      assert.match(String(headers['permissions-policy']), /camera=\(\), .*payment=\(\), .*autofill=\(self\)$/);
    }
    const hsts = cardFormHeaders(() => 'https://cards.example.com')()['strict-transport-security'];
    assert.equal(hsts, 'max-age=31536000');
  });

  test('leave no card number, code, name or secret in the log, the audit log, metrics, responses and rows', async () => {
    const number = newPan();
    const name = 'Zoe Quax-Ñandú';
    const code = '7391';
    const refused = 'code-canary-of-a-refusal';
    const session = await open();
    const { secret } = session;
    const body = { ...CARD, number, name, cvv: code, attempt: randomUUID() };
    const responses = [
      await submit(session, { number, name, cvv: refused }),
      await submit({ ...session, secret: 'A'.repeat(43) }, { number, name, cvv: code }),
      await form('POST', session, '', JSON.stringify(body).slice(0, -1)),
      await form('POST', session, '', body, { origin: `${own()}/${secret}`, referer: `${own()}/?${number}&${code}` }),
      await form('GET', session, `/session?number=${number}&secret=${secret}&cvv=${code}`),
      await form('GET', session, `/${number}/${secret}/${code}`),
      await submit(session, { number, name, cvv: code }),
      await service.call('GET', '/metrics', { environment: 'console' }),
    ];
    const shown = await service.call('GET', `/v1/capture-sessions/${session.id}`, { key: me.key });
    assert.equal(shown.json.data.status, 'completed');
    const { database } = service.core;
    const records = await database.read('select record from journal');
    const journal = records.map(({ record }) =>
      typeof record === 'string' ? record : Buffer.from(record as Uint8Array).toString(),
    );
    assert.ok(journal.some((record) => record.includes('capture-session.completed') && record.includes(session.id)));
    // A code of four digits is found by chance in what is random, and so is searched for beside that alone.
    const search = new Search([number, secret, name, refused, `"cvv":"${code}"`]);
    for (const text of [...responses, shown].map((each) => each.text).concat(service.log, journal)) {
      assert.deepEqual(search.found(Buffer.from(text)), [], text);
      assert.ok(!withoutRandomTexts(text).includes(code), text);
    }
    const rows = [
      ...(await database.read('select * from capture_sessions where id = ?', session.id)),
      ...(await database.read('select * from captures where id = ?', shown.json.data.result.capture.id)),
    ];
    assert.equal(rows.length, 2);
    for (const row of rows)
      for (const [column, value] of Object.entries(row)) {
        if (value instanceof Uint8Array) assert.deepEqual(search.found(Buffer.from(value)), [], column);
        else assert.deepEqual(search.found(Buffer.from(String(value))), [], column);
        if (typeof value === 'string') assert.ok(!withoutRandomTexts(value).includes(code), column);
      }
  });

  test('are in the audit log with their creation and their end, by the key or by the buyer with the address', async () => {
    const from = '127.0.0.9';
    const asBuyer = ({ id, secret }: Session, path: string, body?: object): Promise<TestResponse> =>
      service.call('POST', `/v1/card/${id}${path}`, {
        environment: 'cards',
        from,
        ...(body !== undefined && { body }),
        headers: { origin: own(), authorization: `Bearer ${secret}` },
      });
    const [completed, failed, left, cancelled] = [await open(), await open(TOKEN), await open(), await open()];
    const submission = () => ({ ...CARD, attempt: randomUUID() });
    await asBuyer(completed, '', { ...submission(), number: '' });
    await asBuyer(completed, '', submission());
    for (let count = 0; count < 11; count++) await asBuyer(failed, '', { ...submission(), exp: '' });
    for (let count = 0; count < 2; count++) await asBuyer(left, '/cancel');
    await service.call('DELETE', `/v1/capture-sessions/${cancelled.id}`, { key: me.key });
    const buyer = { actor: { type: 'buyer' }, address: from };
    const key = { actor: { type: 'key', id: me.keyId, name: 'test' }, address: '127.0.0.1' };
    for (const [{ id }, end, by, result] of [
      [completed, 'completed', buyer, 'capture'],
      [failed, 'failed', buyer, 'token'],
      [left, 'cancelled', buyer, 'capture'],
      [cancelled, 'cancelled', key, 'capture'],
    ] as const) {
      const target = `capture-session:${id}`;
      const records = await readAuditRecords(service, me.account, target);
      const all = { outcome: 'success', targets: [target], tenant: { account: me.account, environment: 'sandbox' } };
      for (const { request_id: requestId, action } of records) assert.ok(requestId !== undefined, action);
      assert.deepEqual(
        records.map(({ request_id: _, ...record }) => record),
        [
          { ...all, ...key, action: 'capture-session.created', detail: { result } },
          { ...all, ...by, action: `capture-session.${end}` },
        ],
      );
    }
  });
});

/** Returns a number of a brand whose code has four digits. The digits that may be shown are not those of the code. */
const newPan = (): string => {
  const pan = luhnPan('378282', 15);
  return pan.endsWith('7391') ? newPan() : pan;
};

describe('a card form whose default port is taken', () => {
  test('is left out with a warning, and sessions are 503', async () => {
    const other = createServer().listen(8446, '127.0.0.1');
    // Another process may have it, which serves the test as well.
    await Promise.race([once(other, 'listening'), once(other, 'error')]).catch(() => undefined);
    try {
      const service = await startTestService({ variables: { CARDVAULT_CAPTURE_PORT: '' } });
      try {
        const warning = service.log.find((line) => line.includes('8446') && JSON.parse(line).level === 'warn');
        assert.ok(warning !== undefined, service.log.join(''));
        const { key } = await newCaller(service);
        const { status } = await service.call('POST', '/v1/capture-sessions', { key, body: CAPTURE });
        assert.equal(status, 503);
        assert.equal((await service.call('GET', '/readyz')).status, 200);
      } finally {
        await service.stop();
      }
    } finally {
      other.close();
    }
  });
});

describe('the limit of an address', () => {
  test('is for submissions, wrong secrets and unknown ids; the form is still served', async () => {
    const service = await startTestService({ variables: { CARDVAULT_RATE_LIMIT_CAPTURE: '3' } });
    try {
      const { key } = await newCaller(service);
      const { json } = await service.call('POST', '/v1/capture-sessions', { key, body: CAPTURE });
      const { id, client_secret: secret } = json.data;
      const headers = { origin: `https://localhost:${service.ports.cards}`, authorization: `Bearer ${secret}` };
      const post = () =>
        service.call('POST', `/v1/card/${id}`, {
          environment: 'cards',
          headers,
          body: { ...CARD, exp: '', attempt: randomUUID() },
        });
      const statuses = [];
      for (let count = 0; count < 4; count++) statuses.push((await post()).status);
      assert.deepEqual(statuses, [400, 400, 400, 429]);
      const wrong = await service.call('GET', `/v1/card/${id}/session`, {
        environment: 'cards',
        headers: { authorization: 'Bearer x' },
      });
      assert.equal(wrong.status, 429);
      const none = await service.call('GET', '/v1/card/cs_000000000000000000000000', { environment: 'cards' });
      assert.equal(none.status, 429);
      assert.equal((await service.call('GET', `/v1/card/${id}`, { environment: 'cards' })).status, 200);
      assert.equal(
        (await service.call('GET', `/v1/card/${id}/session`, { environment: 'cards', headers })).status,
        200,
      );
    } finally {
      await service.stop();
    }
  });
});
