import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { ROLES } from '../../console/people/roles.ts';
import { createKey, listKeys } from '../../console/wire/keys.ts';
import { changeEmail, changePassword } from '../../console/wire/profile.ts';
import {
  beginPasskeyOnly,
  showSession,
  signInByCode,
  signInByPasskeyOnly,
  signIn as signInCall,
  signOut,
  stepUpByCode,
} from '../../console/wire/session.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { Authenticator } from '../fixtures/authenticator.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import { VISA } from '../interface/vault-requests.ts';
import { type ConsoleClient, newClient, newPerson, signIn, type UserClient } from './console-client.ts';

let service: TestService;
let account: string;
let ana: UserClient;

before(async () => {
  service = await startTestService();
  account = await service.newAccount('Tienda');
  ana = await newPerson(service, account, 'owner', 'Ana');
});
after(() => service.stop());

const password = (client: ConsoleClient, body: Record<string, unknown>) => client.call(signInCall, { body });

describe('signing in', () => {
  test('has stages, each with its own cookie and CSRF token', async () => {
    const client = newClient(service);
    const signedOut = await client.call(showSession);
    assert.deepEqual(
      [signedOut.json.stage, signedOut.json.methods, signedOut.json.csrf_token, signedOut.json.session],
      ['signed-out', [], null, null],
    );
    const signedIn = await password(client, { email: ana.email.toUpperCase(), password: ana.password });
    assert.deepEqual(signedIn.json.methods, ['totp', 'recovery']);
    const first = client.cookie;
    client.csrf = signedIn.json.csrf_token;
    const halfway = await client.call(showSession);
    assert.deepEqual(
      [halfway.json.stage, halfway.json.methods, halfway.json.csrf_token, halfway.json.session],
      ['password-given', ['totp', 'recovery'], client.csrf, null],
    );
    const done = await client.call(signInByCode, { body: { code: ana.code() } });
    assert.equal(done.status, 200, done.text);
    assert.notEqual(client.cookie, first);
    assert.notEqual(done.json.csrf_token, client.csrf);
    assert.equal((await client.call(showSession)).json.stage, 'signed-in');
  });

  test('is served to the pages of the console only, whether accepted or rejected', async () => {
    for (const path of ['/api/session', '/api/profile']) {
      const { headers } = await service.call('GET', path, { environment: 'console' });
      assert.equal(headers['content-security-policy'], "default-src 'none'; frame-ancestors 'none'", path);
      assert.equal(headers['x-frame-options'], 'DENY', path);
      assert.equal(headers['cross-origin-resource-policy'], 'same-origin', path);
      assert.equal(headers['cache-control'], 'no-store', path);
    }
  });

  test('returns the user, the rights in each account, and the expiry', async () => {
    const client = await signIn(ana);
    const { json } = await client.call(showSession);
    const person = { id: ana.id, name: 'Ana', email: ana.email, language: 'en', time_zone: 'browser' };
    assert.deepEqual(json.session.person, person);
    assert.deepEqual(json.session.memberships, [
      {
        account,
        name: 'Tienda',
        status: 'onboarding',
        role: 'owner',
        capabilities: [...ROLES.owner],
        dual_control: false,
      },
    ]);
    assert.equal(json.session.is_operator, false);
    assert.equal(json.session.idle_seconds, 900);
    assert.ok(Date.parse(json.session.stepped_up_until) > service.now());
    assert.ok(Date.parse(json.session.expires_at) > service.now() + 11 * 3_600_000);
    assert.deepEqual(json.environments, [
      { name: 'production', url: `https://localhost:${service.ports.production}` },
      { name: 'sandbox', url: `https://localhost:${service.ports.sandbox}` },
    ]);
    assert.equal(json.authority, service.authority);
  });

  test('the cookie is not available to scripts, other sites and other hosts', async () => {
    const client = newClient(service);
    const response = await password(client, { email: ana.email, password: ana.password });
    const [cookie = ''] = response.headers['set-cookie'] ?? [];
    assert.match(cookie, /^__Host-cardvault-session=[A-Za-z0-9_-]{43}; Path=\/; Secure; HttpOnly; SameSite=Strict$/);
  });

  test('the response is the same for every cause of failure', async () => {
    const responses = [];
    for (const body of [
      { email: ana.email, password: 'not the password at all' },
      { email: 'unknown@example.com', password: ana.password },
    ])
      responses.push(await password(newClient(service), body));
    const client = newClient(service);
    client.csrf = (await password(client, { email: ana.email, password: ana.password })).json.csrf_token;
    responses.push(await client.call(signInByCode, { body: { code: '000000' } }));
    responses.push(await client.call(signInByCode, { body: { code: 'aaaa-aaaa-aaaa-aaaa' } }));
    for (const { status, text } of responses) {
      assert.equal(status, 403);
      assert.equal(text, responses[0]?.text);
    }
    assert.equal(responses[0]?.json.code, 'sign_in_refused');
  });

  test('a code is valid once', async () => {
    const code = ana.code();
    for (const expected of [200, 403]) {
      const client = newClient(service);
      client.csrf = (await password(client, { email: ana.email, password: ana.password })).json.csrf_token;
      assert.equal((await client.call(signInByCode, { body: { code } })).status, expected);
    }
  });

  test('a recovery code replaces the app once, however it is typed', async () => {
    const [code = ''] = ana.recoveryCodes;
    for (const [typed, expected] of [
      [` ${code.toUpperCase()}`, 200],
      [code, 403],
    ] as const) {
      const client = newClient(service);
      client.csrf = (await password(client, { email: ana.email, password: ana.password })).json.csrf_token;
      assert.equal((await client.call(signInByCode, { body: { code: typed } })).status, expected);
    }
  });

  test('the user that a client claims for a passkey is not recorded, because the text may be a card number', async () => {
    const encode = (text: string): string => Buffer.from(text).toString('base64url');
    const clientDataJSON = encode(JSON.stringify({ challenge: 'none' }));
    const credential = { id: 'none', response: { userHandle: encode(VISA), clientDataJSON } };
    const read = async (): Promise<string[]> =>
      (await service.core.database.read('select record from journal')).map(({ record }) => String(record));
    const countUnknown = (records: readonly string[]): number =>
      records.filter((record) => record.includes('person_unknown')).length;
    const before = countUnknown(await read());
    const response = await newClient(service).call(signInByPasskeyOnly, { body: { credential } });
    assert.deepEqual([response.status, response.json.code], [403, 'sign_in_refused']);
    const records = await read();
    assert.equal(countUnknown(records), before + 1);
    assert.ok(records.every((record) => !record.includes(VISA)));
  });

  test('a missing field is reported, and entered values are not repeated', async () => {
    const missing = await password(newClient(service), { password: 'a password that stays here' });
    assert.deepEqual([missing.status, missing.json.code, missing.json.field], [400, 'invalid_field', 'email']);
    assert.ok(!missing.text.includes('a password that stays here'));
    const wrong = await password(newClient(service), { email: ana.email, password: 4711 });
    assert.deepEqual([wrong.status, wrong.json.field], [400, 'password']);
    assert.ok(!wrong.text.includes('4711'));
  });

  test('no password, code, cookie or token is in the log', async () => {
    const client = await signIn(ana);
    const log = service.log.join('\n');
    for (const secret of [ana.password, client.csrf, client.cookie?.split('=')[1] ?? '', ana.totpSecret])
      assert.ok(secret.length > 8 && !log.includes(secret));
  });
});

describe('signing out', () => {
  test('ends the session and deletes the cookie', async () => {
    const client = await signIn(ana);
    const { cookie, csrf } = client;
    const response = await client.call(signOut);
    assert.equal(response.status, 200);
    assert.equal(client.cookie, undefined);
    client.cookie = cookie;
    client.csrf = csrf;
    assert.equal((await client.call(showSession)).json.stage, 'signed-out');
  });

  test('requires the CSRF token of the session, at every stage', async () => {
    const halfway = newClient(service);
    halfway.csrf = (await password(halfway, { email: ana.email, password: ana.password })).json.csrf_token;
    for (const client of [await signIn(ana), halfway]) {
      const { stage } = (await client.call(showSession)).json;
      for (const token of ['', 'A'.repeat(43), ana.csrf]) {
        const response = await client.send('POST', '/api/sign-out', undefined, { 'x-csrf-token': token });
        assert.deepEqual([response.status, response.json.code], [403, 'cross_site'], stage);
      }
      assert.equal((await client.call(showSession)).json.stage, stage);
      assert.equal((await client.call(signOut)).status, 200, stage);
      assert.equal((await client.call(showSession)).json.stage, 'signed-out');
    }
  });

  test('without a session is not a failure', async () =>
    assert.equal((await newClient(service).call(signOut)).status, 200));
});

describe('an address with too many attempts', () => {
  test('cannot try more passwords, signed in or not, and can still sign out', async () => {
    const strict = await startTestService({ variables: { CARDVAULT_RATE_LIMIT_FAILED_AUTHENTICATION: '5' } });
    try {
      const eve = await newPerson(strict, await strict.newAccount(), 'analyst');
      const change = { current: eve.password, password: 'aaaaaaaaaaaa' };
      const responses = [];
      for (let index = 0; index < 6; index++) responses.push((await eve.call(changePassword, { body: change })).status);
      assert.deepEqual(responses, [400, 400, 400, 400, 400, 429]);
      assert.equal((await eve.call(changeEmail, { body: { email: 'taken@example.com' } })).status, 429);
      assert.equal((await password(newClient(strict), { email: eve.email, password: eve.password })).status, 429);
      assert.equal((await eve.call(signOut)).status, 200);
      assert.equal(eve.cookie, undefined);
    } finally {
      await strict.stop();
    }
  });
});

describe('stepping up', () => {
  test('is valid for some minutes, and is rejected with an invalid code', async () => {
    const client = await signIn(ana);
    service.advance(5 * 60_000);
    assert.equal((await client.call(showSession)).json.session.stepped_up_until, null);
    assert.equal((await client.call(stepUpByCode, { body: { code: '123456' } })).status, 403);
    const response = await client.call(stepUpByCode, { body: { code: ana.code() } });
    assert.equal(response.status, 200);
    assert.ok(Date.parse(response.json.stepped_up_until) > service.now());
  });
});

describe('an attacker with wrong passwords', () => {
  test('does not block the step-up of a signed-in user, the browser they signed in with, or a passkey', async () => {
    const eva = await newPerson(service, account, 'developer', 'Eva');
    const { signIn: by, factorManagement, sessions } = service.console.people;
    const visitor = { address: '127.0.0.1', userAgent: 'test' };
    const origin = `https://localhost:${service.ports.console}`;
    const relyingParty = { id: 'localhost', name: 'cardvault', origin };
    const found = async () => {
      const session = await sessions.find(eva.cookie?.split('=')[1]);
      assert.ok(session);
      return session;
    };
    const key = new Authenticator(origin);
    const options = await service.core.transactions.run(
      { origin: { actor: { type: 'operator', name: 'test' } } },
      async (transaction) => factorManagement.passkeyOptions(transaction, await found(), relyingParty),
    );
    const created = { response: key.create(options), label: 'Laptop' };
    await service.core.transactions.run(
      { origin: { actor: { type: 'operator', name: 'test' } } },
      async (transaction) => factorManagement.confirmPasskey(transaction, await found(), created, relyingParty),
    );
    const client = await signIn(eva);
    const [name, secret] = client.browser?.split('=') ?? [];
    assert.equal(name, '__Host-cardvault-browser');
    const wrong = { email: eva.email, password: 'not the password at all' };
    for (let index = 0; index < LIMITS.signInFailures; index++)
      await assert.rejects(by.submitPassword(wrong, visitor), { code: 'sign_in_refused' });

    const locked = await password(newClient(service), { email: eva.email, password: eva.password });
    assert.deepEqual([locked.status, locked.json.code], [403, 'sign_in_refused']);
    service.advance(5 * 60_000);
    assert.equal((await client.call(stepUpByCode, { body: { code: eva.code() } })).status, 200);
    const known = Object.assign(newClient(service), { browser: client.browser });
    assert.equal((await password(known, { email: eva.email, password: eva.password })).status, 200);
    const other = newClient(service);
    const challenge = await other.call(beginPasskeyOnly);
    assert.equal(other.cookie, undefined, 'nothing is kept for a visitor who has shown nothing');
    const credential = key.get(challenge.json.options);
    const entered = await other.call(signInByPasskeyOnly, { body: { credential } });
    assert.equal(entered.status, 200, entered.text);
    assert.equal(entered.json.person.email, eva.email);
    assert.equal((await newClient(service).call(signInByPasskeyOnly, { body: { credential } })).status, 403);
    const [, own = ''] = other.browser?.split('=') ?? [];
    assert.ok(own.length === 43 && own !== secret);
    for (const secretText of [secret ?? '', own]) assert.ok(!service.log.join('\n').includes(secretText));
  });

  test('the cookie of a known browser is not available to scripts and other sites, and persists', async () => {
    const client = newClient(service);
    client.csrf = (await password(client, { email: ana.email, password: ana.password })).json.csrf_token;
    const { headers, json } = await client.call(signInByCode, { body: { code: ana.code() } });
    client.csrf = json.csrf_token;
    const traits = 'Max-Age=15552000; Path=/; Secure; HttpOnly; SameSite=Strict';
    const [, line = ''] = headers['set-cookie'] ?? [];
    assert.match(line, /^__Host-cardvault-browser=[A-Za-z0-9_-]{43}; /);
    assert.equal(line.slice(line.indexOf(';') + 2), traits);
    const { browser } = client;
    assert.equal((await client.call(signOut)).status, 200);
    assert.equal(client.browser, browser, 'signing out leaves it');
  });
});

describe('the cookie', () => {
  const keys = () => ({ account, environment: 'sandbox' });
  const newKey = { name: 'till', permissions: ['account:read'], allow_list: [] };
  /** Another client with a copy of the browser's cookie. */
  const copyOf = (client: ConsoleClient): ConsoleClient =>
    Object.assign(newClient(service), { cookie: client.cookie, csrf: client.csrf });

  test('is replaced by a step-up; the old one may read for some seconds, and makes no sensitive call', async () => {
    const client = await signIn(ana);
    const thief = copyOf(client);
    service.advance(5 * 60_000);
    assert.equal((await client.call(stepUpByCode, { body: { code: ana.code() } })).status, 200);
    assert.notEqual(client.cookie, thief.cookie);
    const { stage, session, csrf_token } = (await thief.call(showSession)).json;
    assert.deepEqual([stage, session.stepped_up_until, csrf_token], ['signed-in', null, client.csrf]);
    const refused = await thief.call(createKey, { params: keys(), body: newKey });
    assert.deepEqual([refused.status, refused.json.code], [403, 'step_up_required']);
    const again = await thief.call(stepUpByCode, { body: { code: '123456' } });
    assert.deepEqual([again.status, again.json.code], [409, 'changed_meanwhile']);
    assert.equal((await client.call(createKey, { params: keys(), body: newKey })).status, 200);
    service.advance(10_000);
    assert.equal((await thief.call(showSession)).json.stage, 'signed-out');
    assert.equal((await thief.call(listKeys, { params: keys() })).status, 401);
    assert.equal((await client.call(listKeys, { params: keys() })).status, 200);
  });

  test('that is replaced does not reject requests in progress', async () => {
    const client = await signIn(ana);
    const tab = copyOf(client);
    service.advance(5 * 60_000);
    const body = { code: ana.code() };
    let isOver = false;
    const stepping = client.call(stepUpByCode, { body }).finally(() => {
      isOver = true;
    });
    const statuses = new Set<number>();
    do statuses.add((await tab.call(listKeys, { params: keys() })).status);
    while (!isOver);
    assert.equal((await stepping).status, 200);
    // Sent before the browser had the answer, read after.
    statuses.add((await tab.call(listKeys, { params: keys() })).status);
    assert.deepEqual([...statuses], [200]);
    tab.cookie = client.cookie;
    assert.equal((await tab.call(createKey, { params: keys(), body: newKey })).status, 200);
  });

  test('that was replaced ends the session too, when it is used to sign out', async () => {
    const client = await signIn(ana);
    const tab = copyOf(client);
    assert.equal((await client.call(stepUpByCode, { body: { code: ana.code() } })).status, 200);
    assert.equal((await tab.call(signOut)).status, 200);
    assert.equal((await client.call(showSession)).json.stage, 'signed-out');
  });
});

describe('a user with too many calls', () => {
  test('is rejected until later, without effect on other users', async () => {
    const [client, other] = [
      await newPerson(service, account, 'analyst'),
      await newPerson(service, account, 'analyst'),
    ];
    const statuses: number[] = [];
    for (let sent = 0; sent < LIMITS.callsPerMinute; sent += 10) {
      const responses = await Promise.all(Array.from({ length: 10 }, () => client.call(showSession)));
      statuses.push(...responses.map(({ status }) => status));
    }
    // Some more calls become available in between.
    while (statuses.at(-1) === 200 && statuses.length < 2 * LIMITS.callsPerMinute)
      statuses.push((await client.call(showSession)).status);
    assert.equal(statuses.at(-1), 429);
    assert.ok(statuses.indexOf(429) >= LIMITS.callsPerMinute, `${statuses.indexOf(429)}`);
    assert.equal((await other.call(showSession)).status, 200);
    service.advance(1000);
    assert.equal((await client.call(showSession)).status, 200);
  });
});

describe('a session', () => {
  test('expires without activity, and automatic calls of the browser do not count', async () => {
    const client = await signIn(ana);
    const readSession = async (headers: Record<string, string> = {}) =>
      (await client.send('GET', '/api/session', undefined, headers)).json.stage;
    service.advance(14 * 60_000);
    assert.equal(await readSession(), 'signed-in');
    service.advance(14 * 60_000);
    assert.equal(await readSession({ 'x-passive': '1' }), 'signed-in');
    service.advance(2 * 60_000);
    assert.equal(await readSession({ 'x-passive': '1' }), 'signed-out');
  });
});
