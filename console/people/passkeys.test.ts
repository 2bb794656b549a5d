import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { MINUTE } from '../../src/kernel/clock.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { Authenticator, type Wrongs } from '../../test/fixtures/authenticator.ts';
import {
  assertFails,
  CONSOLE,
  openPeopleFixture,
  PASSWORD,
  type PeopleFixture,
  type TestUser,
  VISITOR,
} from '../../test/fixtures/people-fixture.ts';
import { OPERATOR } from './roles.ts';
import type { Session } from './session.ts';

let fixture: PeopleFixture;
let ana: TestUser;
let key: Authenticator;
before(async () => {
  fixture = await openPeopleFixture();
});
after(() => fixture.stop());
beforeEach(async () => {
  ana = await fixture.newPerson({ account: await fixture.newAccount(), role: 'owner' });
  key = new Authenticator(CONSOLE.origin);
});

/** The session as the next request finds it. */
const found = async (secret: string): Promise<Session> => {
  const session = await fixture.parts.sessions.find(secret);
  assert.ok(session !== undefined);
  return session;
};
const add = async (wrongs: Wrongs = {}, label = 'Laptop', secret = ana.grant.secret): Promise<void> => {
  const { factorManagement } = fixture.parts;
  const options = await fixture.run(async (transaction) =>
    factorManagement.passkeyOptions(transaction, await found(secret), CONSOLE),
  );
  const response = key.create(options, wrongs);
  await fixture.run(async (transaction) =>
    factorManagement.confirmPasskey(transaction, await found(secret), { response, label }, CONSOLE),
  );
};
const password = async (): Promise<string> => (await fixture.parts.signIn.submitPassword(ana, VISITOR)).secret;
const give = async (secret: string, response: unknown) =>
  fixture.parts.signIn.submitFactor(await found(secret), { kind: 'passkey', response, relyingParty: CONSOLE }, VISITOR);
const signIn = async (wrongs: Wrongs = {}) => {
  const secret = await password();
  const options = await fixture.run(async (transaction) =>
    fixture.parts.signIn.createChallenge(transaction, await found(secret), CONSOLE),
  );
  return give(secret, key.get(options, wrongs));
};

const WRONGS: Readonly<Record<string, Wrongs>> = {
  'of another origin': { origin: 'https://localhost:8446' },
  'of another host': { rpId: 'evil.example' },
  'over another challenge': { challenge: Buffer.from('x'.repeat(32)).toString('base64url') },
  'without verification of the user': { verified: false },
};

describe('a passkey', () => {
  test('is registered by a signed-in user, and then replaces a code', async () => {
    await add();
    const { factors } = await fixture.parts.factorManagement.list(ana.id);
    assert.deepEqual(
      factors.map(({ kind, label }) => [kind, label]),
      [
        ['totp', ''],
        ['passkey', 'Laptop'],
      ],
    );
    const { session } = await signIn();
    assert.equal(session.stage, 'signed-in');
    assert.equal(session.person, ana.id);
    const used = (await fixture.parts.factorManagement.list(ana.id)).factors.find(({ kind }) => kind === 'passkey');
    assert.ok(used?.lastUsedAt !== undefined);
  });

  for (const [name, wrongs] of Object.entries(WRONGS)) {
    test(`${name} is neither accepted nor registered`, async () => {
      await assert.rejects(add(wrongs), { code: 'not_possible' });
      await add();
      await assertFails('sign_in_refused', signIn(wrongs));
      await signIn();
    });
  }

  test('whose signature is not encoded in DER is rejected', async () => {
    await add();
    await assertFails('sign_in_refused', signIn({ encodesAsBer: true }));
    await signIn();
  });

  test('is accepted once for each challenge', async () => {
    await add();
    const secret = await password();
    const options = await fixture.run(async (transaction) =>
      fixture.parts.signIn.createChallenge(transaction, await found(secret), CONSOLE),
    );
    await assertFails('sign_in_refused', give(secret, key.get(options, { verified: false })));
    await assertFails('sign_in_refused', give(secret, key.get(options)));
    const again = await fixture.run(async (transaction) =>
      fixture.parts.signIn.createChallenge(transaction, await found(secret), CONSOLE),
    );
    assert.notEqual(again.challenge, options.challenge);
    const response = key.get(again);
    const done = await Promise.allSettled([give(secret, response), give(secret, response)]);
    assert.deepEqual(done.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
  });

  test('is not accepted for a challenge of another session', async () => {
    await add();
    const [one, other] = [await password(), await password()];
    const options = await fixture.run(async (transaction) =>
      fixture.parts.signIn.createChallenge(transaction, await found(one), CONSOLE),
    );
    await fixture.run(async (transaction) =>
      fixture.parts.signIn.createChallenge(transaction, await found(other), CONSOLE),
    );
    await assertFails('sign_in_refused', give(other, key.get(options)));
  });

  test('whose counter decreases is treated as a copy and rejected', async () => {
    key.counter = 7;
    await add();
    await assertFails('sign_in_refused', signIn({ counter: 7 }));
    await signIn({ counter: 8 });
    await assertFails('sign_in_refused', signIn({ counter: 8 }));
    await assertFails('sign_in_refused', signIn({ counter: 0 }));
    await signIn({ counter: 100 });
  });

  test('of another user is not accepted', async () => {
    await add();
    const bob = await fixture.newPerson(OPERATOR);
    const own = key;
    key = new Authenticator(CONSOLE.origin);
    await add({}, 'Bob', bob.grant.secret);
    await assertFails('sign_in_refused', signIn());
    key = own;
    await signIn();
  });

  test('that is malformed is rejected as invalid, without a lockout, because it cannot be guessed', async () => {
    await add();
    const secret = await password();
    for (const response of [undefined, null, 'x', 7, {}, { id: 7 }, { id: 'x', rawId: 'x', response: {} }, []])
      await assertFails('sign_in_refused', give(secret, response));
    const options = await fixture.run(async (transaction) =>
      fixture.parts.signIn.createChallenge(transaction, await found(secret), CONSOLE),
    );
    const real = key.get(options) as { response: object };
    await assertFails('sign_in_refused', give(secret, { ...real, response: { ...real.response, signature: 'AAAA' } }));
    await assertFails('sign_in_refused', give(secret, { ...real, response: null }));
    await signIn();
  });

  test('signs in without a password, once for each challenge, from any network', async () => {
    await add();
    const { signIn: by } = fixture.parts;
    const options = await by.createPasskeyChallenge(CONSOLE);
    assert.deepEqual([options.allowCredentials, options.userVerification], [[], 'required']);
    const response = key.get(options);
    const abroad = { ...VISITOR, address: '198.51.100.4' };
    const done = await Promise.allSettled([
      by.submitPasskey(response, CONSOLE, abroad),
      by.submitPasskey(response, CONSOLE, abroad),
    ]);
    assert.deepEqual(done.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
    await assertFails('sign_in_refused', by.submitPasskey(response, CONSOLE, abroad));
    const late = key.get(await by.createPasskeyChallenge(CONSOLE));
    fixture.advance(5 * MINUTE);
    await assertFails('sign_in_refused', by.submitPasskey(late, CONSOLE, abroad));
    await by.submitPasskey(key.get(await by.createPasskeyChallenge(CONSOLE)), CONSOLE, abroad);
  });

  for (const [name, wrongs] of Object.entries({
    ...WRONGS,
    'of an unknown user': { user: Buffer.from('person_unknown').toString('base64url') },
    'of a user that is none': { user: Buffer.from("'; \0").toString('base64url') },
  }))
    test(`without a password ${name} is not accepted`, async () => {
      await add();
      const options = await fixture.parts.signIn.createPasskeyChallenge(CONSOLE);
      await assertFails(
        'sign_in_refused',
        fixture.parts.signIn.submitPasskey(key.get(options, wrongs), CONSOLE, VISITOR),
      );
      await fixture.parts.signIn.submitPasskey(key.get(options), CONSOLE, VISITOR);
    });

  test('without a password of another user, or of an unknown one, is not accepted', async () => {
    const { signIn: by } = fixture.parts;
    const bob = await fixture.newPerson(OPERATOR);
    await add();
    const options = await by.createPasskeyChallenge(CONSOLE);
    const asBob = { user: Buffer.from(bob.id).toString('base64url') };
    await assertFails('sign_in_refused', by.submitPasskey(key.get(options, asBob), CONSOLE, VISITOR));
    for (const response of [undefined, null, 'x', 7, {}, { response: {} }, { response: { userHandle: 'eA' } }])
      await assertFails('sign_in_refused', by.submitPasskey(response, CONSOLE, VISITOR));
  });

  test('can be the first second factor of a new user', async () => {
    const link = await fixture.run((transaction) =>
      fixture.parts.invitations.invite(transaction, { ...OPERATOR, email: 'k@example.com' }, OPERATOR),
    );
    const input = { secret: link.secret, name: 'Key', language: 'en', password: PASSWORD };
    const { secret } = await fixture.run((transaction) => fixture.parts.enrollment.begin(transaction, input, VISITOR));
    const { enrollment } = fixture.parts;
    const confirm = async (wrongs: Wrongs) => {
      const options = await fixture.run(async (transaction) =>
        enrollment.passkeyOptions(transaction, await found(secret), CONSOLE),
      );
      const created = { response: key.create(options, wrongs), label: 'Phone' };
      return fixture.run(async (transaction) =>
        enrollment.confirmPasskey(transaction, await found(secret), created, CONSOLE, VISITOR),
      );
    };
    for (const wrongs of Object.values(WRONGS)) await assertFails('not_possible', confirm(wrongs));
    const { session, recoveryCodes } = await confirm({});
    assert.equal(recoveryCodes.length, 10);
    ana = { ...ana, id: session.person, email: 'k@example.com' };
    assert.deepEqual(await fixture.parts.signIn.availableFactors(session), {
      totp: false,
      passkeys: 1,
      recoveryCodes: 10,
    });
    await signIn();
  });

  test('has a name, and counts toward a limit', async () => {
    await assert.rejects(add({}, ' '), { code: 'invalid_field', field: 'label' });
    for (let index = 0; index < LIMITS.passkeysPerPerson; index++) {
      key = new Authenticator(CONSOLE.origin);
      await add();
    }
    await assertFails('not_possible', add());
  });
});
