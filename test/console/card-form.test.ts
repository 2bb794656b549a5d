import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import {
  CHOICES,
  isFaulty,
  STANDARD,
  toPageCode,
  toSessionBody,
  VARIABLE_NAMES,
  VARIABLES,
} from '../../console/web/src/pages/card-form/form-values.ts';
import { listSessions, previewCardForm, tryCardForm } from '../../console/wire/card-form.ts';
import { MINUTE } from '../../src/kernel/clock.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { readAuditRecords } from '../fixtures/audit-records.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import { type AccountUser, assertRefused, newAccountUser, successData } from './account-user.ts';
import { pathOf } from './console-client.ts';

const CARD = { number: '4111111111111111', exp: '12/40', name: 'Ana Lopez', cvv: '123' };
const SESSION = { allowed_origins: ['https://shop.example.com'], amount: 100, currency: 'USD', ttl: 10 };

describe('the card form in the console', { timeout: 120_000 }, () => {
  let service: TestService;
  before(async () => {
    service = await startTestService({ variables: { CARDVAULT_RATE_LIMIT_CAPTURE: '0' } });
  });
  after(() => service.stop());

  const newUser = async (): Promise<{ user: AccountUser; key: string }> => {
    const account = await service.newAccount();
    const user = await newAccountUser(service, account);
    const { secret: key } = await service.newKey(account, {});
    return { user, key };
  };
  const open = async (key: string, body: object = SESSION): Promise<{ id: string; client_secret: string }> => {
    const { status, json, text } = await service.call('POST', '/v1/capture-sessions', { key, body });
    assert.equal(status, 200, text);
    return json.data;
  };
  const submit = (id: string, secret: string, card: object = CARD) =>
    service.call('POST', `/v1/card/${id}`, {
      environment: 'cards',
      body: { ...card, attempt: randomUUID() },
      headers: { origin: `https://localhost:${service.ports.cards}`, authorization: `Bearer ${secret}` },
    });

  test('shows each session with its end, and neither secret nor card number', async () => {
    const { user, key } = await newUser();
    const captured = await open(key, { ...SESSION, description: 'Order 1' });
    assert.equal((await submit(captured.id, captured.client_secret)).status, 200);
    service.advance(1);
    const tokenized = await open(key, { allowed_origins: SESSION.allowed_origins, result: 'token', scheme: 7 });
    assert.equal((await submit(tokenized.id, tokenized.client_secret, { ...CARD, cvv: '' })).status, 200);
    service.advance(1);
    const cancelled = await open(key);
    await service.call('DELETE', `/v1/capture-sessions/${cancelled.id}`, { key });
    service.advance(1);
    const failed = await open(key);
    for (let count = 0; count < 10; count++) await submit(failed.id, failed.client_secret, { ...CARD, number: '4111' });
    service.advance(1);
    const late = await open(key, { ...SESSION, expires_in: 1 });
    service.advance(2 * MINUTE);
    const waiting = await open(key);
    const response = await user.call(listSessions);
    const { sessions, origin, next } = successData(response);
    assert.equal(origin, `https://localhost:${service.ports.cards}`);
    assert.equal(next, null);
    type Row = Readonly<Record<string, string>>;
    assert.deepEqual(
      sessions.map(({ id, state }: Row) => [id, state]),
      [
        [waiting.id, 'open'],
        [late.id, 'expired'],
        [failed.id, 'failed'],
        [cancelled.id, 'cancelled'],
        [tokenized.id, 'completed'],
        [captured.id, 'completed'],
      ],
    );
    const [first, , third, , , last] = sessions;
    assert.deepEqual([first.goal, first.ended_at, third.attempts], ['capture', null, 10]);
    assert.deepEqual([last.description, last.card, last.token], ['Order 1', '411111******1111', null]);
    assert.match(last.capture, /^[0-9a-f-]{36}$/);
    assert.equal(sessions[4].goal, 'token');
    assert.ok(sessions[4].token.length > 0 && sessions[4].capture === null);
    for (const secret of [CARD.number, CARD.name, captured.client_secret]) assert.ok(!response.text.includes(secret));
  });

  test('shows sessions page by page, and those of the account and environment alone', async () => {
    const { user, key } = await newUser();
    const made: string[] = [];
    for (let count = 0; count < LIMITS.recordsPerPage + 2; count++) {
      made.unshift((await open(key)).id);
      if (count % 3 === 0) service.advance(1);
    }
    const first = successData(await user.call(listSessions));
    const second = successData(await user.call(listSessions, { query: { cursor: first.next } }));
    const ids = [...first.sessions, ...second.sessions].map(({ id }: { id: string }) => id);
    assert.equal(second.next, null);
    assert.ok(first.sessions.length > second.sessions.length && second.sessions.length > 0);
    assert.deepEqual(ids.toSorted(), made.toSorted());
    assertRefused(await user.call(listSessions, { query: { cursor: 'x' } }), 'invalid_field', 'cursor');
    const other = await newUser();
    assert.deepEqual(successData(await other.user.call(listSessions)).sessions, []);
    const production = await user.call(listSessions, { params: { environment: 'production' } });
    assert.deepEqual(successData(production).sessions, []);
  });

  test('shows a session that was altered in the database as such', async () => {
    const { user, key } = await newUser();
    const { id } = await open(key);
    await service.core.database.commit({
      writes: [{ sql: 'update capture_sessions set created_at = created_at - 1 where id = ?', rows: [[id]] }],
    });
    const [row] = successData(await user.call(listSessions)).sessions;
    assert.deepEqual([row.id, row.state, row.goal], [id, 'altered', null]);
  });

  test('shows code that the guide has too, and a body that the service accepts with every choice', async () => {
    const guide = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'guides', 'browser.md'), 'utf8');
    const [, page] = /```html\n([\s\S]*?)\n```/.exec(guide) ?? [];
    assert.equal(toPageCode('https://localhost:8446'), page);
    const { key } = await newUser();
    await open(key, toSessionBody(STANDARD));
    for (const [name, values] of Object.entries({ ...CHOICES, colorPrimary: ['#00aa55', '#00aa5580'] }))
      for (const value of values) await open(key, toSessionBody({ ...STANDARD, [name]: value }));
    const good = { text: '12px', color: '#1a2' };
    const all = Object.fromEntries(VARIABLE_NAMES.map((name) => [name, good[VARIABLES[name]]]));
    const variables = { ...all, fontFamily: 'Iowan Old Style, serif' };
    const body = toSessionBody({ ...STANDARD, ...variables });
    assert.deepEqual(body.appearance?.variables, variables);
    await open(key, body);
  });

  test('leaves out of the code exactly the values that the service refuses', async () => {
    const { key } = await newUser();
    const values = [
      '',
      'a;b',
      '0px',
      '11px',
      '12px',
      '24px',
      '25px',
      '1em',
      '#12',
      '#123',
      '#1234567',
      '#12345678',
      'red',
    ];
    for (const name of VARIABLE_NAMES)
      for (const value of values) {
        const chosen = { ...STANDARD, [name]: value };
        const appearance = { variables: { [name]: value } };
        const body = { ...SESSION, ...(value !== '' && { appearance }) };
        const { status } = await service.call('POST', '/v1/capture-sessions', { key, body });
        assert.equal(isFaulty(chosen, name), status === 400, `${name} ${value} ${status}`);
        const isUsed = toSessionBody(chosen).appearance !== undefined;
        assert.equal(isUsed, status === 200 && value !== '', `${name} ${value}`);
      }
  });

  test('is shown to pages of the console alone, by a session of the sandbox', async () => {
    const { user } = await newUser();
    const { preview } = successData(await user.call(previewCardForm));
    const page = await service.call('GET', `/v1/card/${preview.id}`, { environment: 'cards' });
    const policy = String(page.headers['content-security-policy']);
    assert.equal(/frame-ancestors ([^;]*)/.exec(policy)?.[1], `https://localhost:${service.ports.console}`);
    assert.equal((await submit(preview.id, preview.client_secret)).status, 200);
    const sessionsIn = async (environment: string) =>
      successData(await user.call(listSessions, { params: { environment } })).sessions.map(
        ({ id }: { id: string }) => id,
      );
    assert.deepEqual([await sessionsIn('sandbox'), await sessionsIn('production')], [[preview.id], []]);
    const html = await service.call('GET', '/', { environment: 'console' });
    assert.match(
      String(html.headers['content-security-policy']),
      new RegExp(`; frame-src https://localhost:${service.ports.cards};`),
    );
    const analyst = await newAccountUser(service, user.account, { role: 'analyst' });
    assertRefused(await analyst.call(previewCardForm), 'not_allowed');
  });

  test('leaves a record of the audit log with the user for each session that is shown or tried, and for its end', async () => {
    const { user } = await newUser();
    const { preview } = successData(await user.call(previewCardForm));
    const body = { return_url: 'https://localhost:8445/a/x/sandbox/card-form', locale: 'en', appearance: {} };
    const { url } = successData(await user.call(tryCardForm, { body }));
    const [, tried = ''] = /\/v1\/card\/(cs_[0-9a-z]{24})#/.exec(url) ?? [];
    assert.equal((await submit(preview.id, preview.client_secret)).status, 200);
    for (const [id, ends] of [
      [preview.id, ['capture-session.completed']],
      [tried, []],
    ] as const) {
      const [created, ...others] = await readAuditRecords(service, user.account, `capture-session:${id}`);
      assert.deepEqual(
        [created?.action, created?.outcome, created?.actor.type, created?.actor.id, created?.address],
        ['capture-session.created', 'success', 'person', user.person.id, '127.0.0.1'],
      );
      assert.deepEqual(created?.tenant, { account: user.account, environment: 'sandbox' });
      assert.deepEqual(
        others.map(({ action, actor }) => [action, actor.type]),
        ends.map((action) => [action, 'buyer']),
      );
    }
  });

  test('is not shown on pages at an IP address, and creates no session for them', async () => {
    const { user } = await newUser();
    const host = `127.0.0.1:${service.ports.console}`;
    const path = pathOf(previewCardForm, { params: { account: user.account } });
    const headers = { host, origin: `https://${host}` };
    assert.deepEqual(successData(await user.person.send('POST', path, undefined, headers)), { preview: null });
    assert.deepEqual(successData(await user.call(listSessions)).sessions, []);
    // No call names another origin than that of the page it comes from.
    const foreign = await user.person.send('POST', path, undefined, { origin: 'https://shop.example.com' });
    assertRefused(foreign, 'cross_site');
  });

  test('is tried in the sandbox on the hosted page, by those who may use the workbench', async () => {
    const { user } = await newUser();
    const body = {
      return_url: 'https://localhost:8445/a/x/sandbox/card-form',
      locale: 'es',
      appearance: { theme: 'dark', variables: { colorPrimary: '#00aa55' } },
    };
    const { url } = successData(await user.call(tryCardForm, { body }));
    const [, id = '', secret = ''] = /\/v1\/card\/(cs_[0-9a-z]{24})#([A-Za-z0-9_-]{43})$/.exec(url) ?? [];
    const [row] = successData(await user.call(listSessions)).sessions;
    assert.deepEqual([row.id, row.state], [id, 'open']);
    assert.equal((await submit(id, secret)).status, 200);
    const refused = async (field: string, changes: object) =>
      assertRefused(await user.call(tryCardForm, { body: { ...body, ...changes } }), 'invalid_field', field);
    await refused('return_url', { return_url: 'javascript:alert(1)' });
    await refused('appearance.theme', { appearance: { theme: 'url(x)' } });
    await refused('appearance.variables.colorPrimary', { appearance: { variables: { colorPrimary: 'red;' } } });
    const analyst = await newAccountUser(service, user.account, { role: 'analyst' });
    assertRefused(await analyst.call(tryCardForm, { body }), 'not_allowed');
  });
});
