import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  addPasskey,
  addTotp,
  beginPasskey,
  beginTotp,
  changeEmail,
  changePassword,
  createRecoveryCodes,
  editProfile,
  removeFactor,
  renamePasskey,
  revokeOtherSessions,
  revokeSession,
  showProfile,
} from '../../console/wire/profile.ts';
import { showSession } from '../../console/wire/session.ts';
import { Authenticator } from '../fixtures/authenticator.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import { totp } from '../fixtures/totp.ts';
import { type ConsoleClient, newPerson, signIn, type UserClient } from './console-client.ts';

let service: TestService;
let ana: UserClient;

before(async () => {
  service = await startTestService();
  ana = await newPerson(service, await service.newAccount(), 'owner', 'Ana');
});
after(() => service.stop());

const stageOf = async (client: ConsoleClient) => (await client.call(showSession)).json.stage;

describe('a profile', () => {
  test('shows factors and sessions, the current one first, without secrets', async () => {
    const second = await signIn(ana);
    const response = await second.call(showProfile);
    const { factors, sessions, recovery_codes_left: codes } = response.json;
    assert.deepEqual([factors.length, factors[0].kind, codes], [1, 'totp', 10]);
    assert.deepEqual([sessions.length, sessions[0].is_current, sessions[1].is_current], [2, true, false]);
    assert.deepEqual([sessions[0].address, sessions[0].agent], ['127.0.0.1', 'test']);
    for (const secret of [second.csrf, ana.csrf, ana.totpSecret]) assert.ok(!response.text.includes(secret));
  });

  test('rejects a card number in a name, which the audit log would store permanently', async () => {
    const response = await ana.call(editProfile, { body: { name: 'Ana 4111-1111 1111 1111' } });
    assert.deepEqual([response.status, response.json.field], [400, 'name']);
    assert.ok(!response.text.includes('4111'));
  });

  test('changes name and language, and rejects invalid ones with the name of the field', async () => {
    const edited = await ana.call(editProfile, { body: { name: 'Ana María', language: 'es' } });
    assert.deepEqual([edited.json.person.name, edited.json.person.language], ['Ana María', 'es']);
    const wrong = await ana.call(editProfile, { body: { language: 'klingon' } });
    assert.deepEqual([wrong.status, wrong.json.field, wrong.text.includes('klingon')], [400, 'language', false]);
  });

  test('has a time zone: that of the browser at first, then one of the IANA database', async () => {
    const zone = async () => (await ana.call(showSession)).json.session.person.time_zone;
    assert.equal(await zone(), 'browser');
    for (const name of ['America/Argentina/Buenos_Aires', 'UTC', 'browser', 'America/Bogota']) {
      const edited = await ana.call(editProfile, { body: { time_zone: name } });
      assert.deepEqual([edited.json.person.time_zone, await zone()], [name, name], edited.text);
    }
    for (const name of ['Mars/Olympus', '+05:00', 'x'.repeat(65), 'America/Bogota ', '../etc']) {
      const refused = await ana.call(editProfile, { body: { time_zone: name } });
      assert.deepEqual([refused.status, refused.json.field], [400, 'time_zone'], name);
      assert.ok(!refused.text.includes(name));
    }
    assert.equal(await zone(), 'America/Bogota');
    assert.equal((await ana.call(editProfile, { body: { name: 'Ana' } })).json.person.time_zone, 'America/Bogota');
  });
});

describe('a password', () => {
  test('is changed with the current one, which ends all other sessions', async () => {
    const person = await newPerson(service, await service.newAccount(), 'owner');
    const other = await signIn(person);
    await person.stepUp();
    const next = 'quite another password 9';
    const wrong = await person.call(changePassword, { body: { current: 'not this password', password: next } });
    assert.deepEqual([wrong.status, wrong.json.code], [403, 'sign_in_refused']);
    const weak = await person.call(changePassword, { body: { current: person.password, password: 'aaaaaaaaaaaaa' } });
    assert.deepEqual([weak.status, weak.json.field], [400, 'password']);
    const changed = await person.call(changePassword, { body: { current: person.password, password: next } });
    assert.equal(changed.status, 200, changed.text);
    assert.deepEqual([await stageOf(person), await stageOf(other)], ['signed-in', 'signed-out']);
    assert.ok(await signIn({ ...person, password: next }));
  });
});

describe('second factors', () => {
  test('an authenticator app is replaced by another one', async () => {
    const person = await newPerson(service, await service.newAccount(), 'owner');
    const enrollment = await person.call(beginTotp);
    assert.equal(enrollment.status, 200, enrollment.text);
    const { secret } = enrollment.json.totp;
    assert.equal((await person.call(addTotp, { body: { code: '000000' } })).json.field, 'code');
    const added = await person.call(addTotp, { body: { code: totp(secret, service.now()) } });
    assert.equal(added.status, 200, added.text);
    await assert.rejects(signIn(person));
    const code = (): string => {
      service.advance(30_000);
      return totp(secret, service.now());
    };
    assert.ok(await signIn({ ...person, code }));
  });

  test('the last one remains', async () => {
    const { factors } = (await ana.call(showProfile)).json;
    await ana.stepUp();
    const response = await ana.call(removeFactor, { params: { id: factors[0].id } });
    assert.deepEqual([response.status, response.json.code], [400, 'not_possible']);
    assert.equal((await ana.call(removeFactor, { params: { id: 'factor_of_somebody_else' } })).status, 404);
  });

  test('a passkey is offered for this host, and a forged one is rejected', async () => {
    const { json } = await ana.call(beginPasskey);
    assert.equal(json.options.rp.id, 'localhost');
    const body = { credential: { id: 'x', response: {} }, label: 'Key' };
    assert.deepEqual((await ana.call(addPasskey, { body })).json.code, 'not_possible');
  });

  test('a passkey can be renamed; an app, and a factor of another user, cannot', async () => {
    const [first, second] = [await newPerson(service, await service.newAccount(), 'owner'), ana];
    const origin = `https://localhost:${service.ports.console}`;
    const { options } = (await first.call(beginPasskey)).json;
    const credential = new Authenticator(origin).create(options);
    const added = await first.call(addPasskey, { body: { credential, label: 'Laptop' } });
    assert.equal(added.status, 200, added.text);
    const named = async () => (await first.call(showProfile)).json.factors.map((each: { label: string }) => each.label);
    const { factors } = (await first.call(showProfile)).json;
    const { id } = factors.find(({ kind }: { kind: string }) => kind === 'passkey');
    const rename = (client: ConsoleClient, of: string, label: string) =>
      client.call(renamePasskey, { params: { id: of }, body: { label } });
    assert.equal((await rename(first, id, ' Work laptop ')).status, 200);
    assert.deepEqual(await named(), ['', 'Work laptop']);
    for (const label of ['', ' ', 'x'.repeat(65), 'a\nb', '4111 1111 1111 1111']) {
      const response = await rename(first, id, label);
      assert.deepEqual([response.status, response.json.field, response.text.includes('4111')], [400, 'label', false]);
    }
    const app = factors.find(({ kind }: { kind: string }) => kind === 'totp').id;
    await second.stepUp();
    for (const [client, of] of [
      [first, app],
      [second, id],
    ] as const)
      assert.equal((await rename(client, of, 'Mine')).status, 404);
    assert.deepEqual(await named(), ['', 'Work laptop']);
  });

  test('new recovery codes replace the old ones', async () => {
    const { json } = await ana.call(createRecoveryCodes);
    assert.equal(json.recovery_codes.length, 10);
    assert.equal((await ana.call(showProfile)).json.recovery_codes_left, 10);
    assert.ok(!json.recovery_codes.includes(ana.recoveryCodes[0]));
  });
});

describe('an email address', () => {
  test('is changed; from then on only it signs in, and all other sessions have ended', async () => {
    const account = await service.newAccount();
    const person = await newPerson(service, account, 'owner');
    const other = await signIn(person);
    await person.stepUp();
    const email = 'Another.Address@example.com';
    const changed = await person.call(changeEmail, { body: { email } });
    assert.deepEqual([changed.status, changed.json.person.email], [200, email], changed.text);
    assert.deepEqual([await stageOf(person), await stageOf(other)], ['signed-in', 'signed-out']);
    await assert.rejects(signIn(person));
    assert.ok(await signIn({ ...person, email: email.toLowerCase() }));
  });

  test('lists the factors of the user, and of no other user', async () => {
    const person = await newPerson(service, await service.newAccount(), 'owner');
    const wrong = await person.call(changeEmail, { body: { email: 'no-address-at-all' } });
    assert.deepEqual([wrong.status, wrong.json.field, wrong.text.includes('no-address')], [400, 'email', false]);
    const taken = await person.call(changeEmail, { body: { email: ana.email.toUpperCase() } });
    assert.deepEqual([taken.status, taken.json.code, taken.text.includes('@')], [400, 'not_possible', false]);
    assert.ok(await signIn(person));
  });
});

describe('sessions', () => {
  test('a user ends one or all of their other sessions; those of other users do not exist', async () => {
    const person = await newPerson(service, await service.newAccount(), 'owner');
    const [first, second] = [await signIn(person), await signIn(person)];
    const own = (await second.call(showProfile)).json.sessions[0].id;
    assert.equal((await ana.call(revokeSession, { params: { id: own } })).status, 404);
    assert.equal((await first.call(revokeSession, { params: { id: own } })).status, 200);
    assert.deepEqual([await stageOf(first), await stageOf(second)], ['signed-in', 'signed-out']);
    assert.equal((await first.call(revokeOtherSessions)).status, 200);
    assert.deepEqual([await stageOf(first), await stageOf(person)], ['signed-in', 'signed-out']);
  });
});
