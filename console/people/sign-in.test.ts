import assert from 'node:assert/strict';
import { argon2Sync } from 'node:crypto';
import { after, before, beforeEach, describe, test } from 'node:test';
import { DAY, HOUR, MINUTE, SECOND } from '../../src/kernel/clock.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { Authenticator } from '../../test/fixtures/authenticator.ts';
import {
  assertFails,
  BY_TEST,
  CONSOLE,
  codeAt,
  openPeopleFixture,
  type PeopleFixture,
  type TestUser,
  VISITOR,
  wrongCodeAt,
} from '../../test/fixtures/people-fixture.ts';
import type { ClientContext } from './client-context.ts';
import { findPerson, updatePerson } from './person-store.ts';
import { isSteppedUp, type Session } from './session.ts';
import { findSignInState, updateSignInState } from './sign-in-state-store.ts';

let fixture: PeopleFixture;
let account: string;
let ana: TestUser;
before(async () => {
  fixture = await openPeopleFixture();
});
after(() => fixture.stop());
beforeEach(async () => {
  account = await fixture.newAccount();
  ana = await fixture.newPerson({ account, role: 'owner' });
});

const password = (credentials: { email: string; password: string } = ana) =>
  fixture.parts.signIn.submitPassword(credentials, VISITOR);
const wrongPassword = () => assertFails('sign_in_refused', password({ email: ana.email, password: 'not the one 12' }));
const totp = (session: Session, code: string) =>
  fixture.parts.signIn.submitFactor(session, { kind: 'totp', code }, VISITOR);
const wrongCode = async () => {
  const { session } = await password();
  await assertFails('sign_in_refused', totp(session, wrongCodeAt(ana.totp, fixture.now())));
};

describe('signing in', () => {
  test('accepts the password, in any spelling of the email address, and then a code', async () => {
    const { secret, session } = await password({ ...ana, email: ` ${ana.email.toUpperCase()}` });
    assert.equal(session.stage, 'password-given');
    assert.deepEqual(await fixture.parts.signIn.availableFactors(session), {
      totp: true,
      passkeys: 0,
      recoveryCodes: 10,
    });
    const grant = await totp(session, fixture.newCode(ana));
    assert.equal(grant.session.stage, 'signed-in');
    assert.equal(grant.session.person, ana.id);
    assert.notEqual(grant.secret, secret);
    assert.notEqual(grant.session.csrf, session.csrf);
    assert.equal(await fixture.parts.sessions.find(secret), undefined, 'what was known before is worth nothing');
    assert.equal((await fixture.parts.sessions.find(grant.secret))?.id, grant.session.id);
    await assertFails('not_signed_in', totp(session, fixture.newCode(ana)));
  });

  test('is in the log of every account of the user, with the reason of a rejection', async () => {
    await wrongPassword();
    await wrongCode();
    await fixture.signIn(ana);
    assert.deepEqual(
      (await fixture.audited(account)).filter((line) => /sign/.test(line)),
      [
        'person.signed-in success',
        'person.sign-in-refused password_wrong',
        'person.sign-in-refused code_wrong',
        'person.signed-in success',
      ],
    );
    const records = JSON.stringify([...(await fixture.records(account)), ...(await fixture.records(''))]);
    for (const secret of [ana.email, ana.password, ana.totp, ...ana.recoveryCodes])
      assert.equal(records.includes(secret), false);
    const refused = (await fixture.records(account)).find(({ action }) => action === 'person.sign-in-refused');
    assert.deepEqual(refused?.actor, { type: 'unknown' });
    assert.deepEqual(refused?.targets, [`person:${ana.id}`]);
    assert.equal(refused?.address, VISITOR.address);
  });

  test('of an unknown user gets the same response after a hash of the same cost, and is in the log of the service', async () => {
    const derivationsFor = async (email: string): Promise<number[]> => {
      const before = fixture.derivations.length;
      await assertFails('sign_in_refused', password({ email, password: 'not the one 12' }));
      return fixture.derivations.slice(before);
    };
    const known = await derivationsFor(ana.email);
    assert.equal(known.length, 1);
    assert.deepEqual(await derivationsFor('unknown@example.com'), known);
    assert.equal((await fixture.audited('')).at(-1), 'person.sign-in-refused person_unknown');
  });

  test('with a code of another user is rejected', async () => {
    const other = await fixture.newPerson({ account, role: 'analyst' });
    const { session } = await password();
    await assertFails('sign_in_refused', totp(session, fixture.newCode(other)));
    const [code = ''] = other.recoveryCodes;
    await assertFails(
      'sign_in_refused',
      fixture.parts.signIn.submitFactor(session, { kind: 'recovery-code', code }, VISITOR),
    );
  });

  test('stores a hash with the current parameters', async () => {
    const { database, keyring } = fixture.core;
    const before = await findPerson(database, keyring, ana.id);
    assert.ok(before !== undefined);
    const old = { memory: 32, passes: 1, parallelism: 1 };
    const message = Buffer.from(ana.password);
    const nonce = Buffer.from(before.password.salt, 'base64');
    const tag = argon2Sync('argon2id', { message, nonce, ...old, tagLength: 32 }).toString('base64');
    const { write } = await updatePerson(keyring, before, { password: { ...before.password, ...old, tag } });
    await database.commit({ writes: [write] });
    await fixture.signIn(ana);
    const after = await findPerson(database, keyring, ana.id);
    assert.equal(after?.password.memory, 47_104);
    await fixture.signIn(ana);
  });
});

describe('a code', () => {
  test('is valid once, also for two concurrent requests', async () => {
    const sessions = await Promise.all([password(), password()]);
    const code = fixture.newCode(ana);
    const done = await Promise.allSettled(sessions.map(({ session }) => totp(session, code)));
    assert.deepEqual(done.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
    assert.ok((await fixture.audited(account)).includes('person.sign-in-refused code_used'));
    const { session } = await password();
    await assertFails('sign_in_refused', totp(session, code));
  });

  test('that is older than the last used one is not accepted', async () => {
    fixture.advance(MINUTE);
    const older = codeAt(ana.totp, fixture.now() - 30_000);
    const { session } = await password();
    const newest = codeAt(ana.totp, fixture.now());
    await totp(session, newest);
    const { session: next } = await password();
    await assertFails('sign_in_refused', totp(next, older));
  });

  test('of recovery is valid once, however it is typed, also for two concurrent requests', async () => {
    const [code = '', second = ''] = ana.recoveryCodes;
    assert.match(code, /^[a-z1-9]{4}(-[a-z1-9]{4}){3}$/);
    assert.equal(new Set(ana.recoveryCodes).size, 10);
    const give = async (text: string) => {
      const { session } = await password();
      return fixture.parts.signIn.submitFactor(session, { kind: 'recovery-code', code: text }, VISITOR);
    };
    const done = await Promise.allSettled([give(code), give(code.toUpperCase().replaceAll('-', ' '))]);
    assert.deepEqual(done.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
    await assertFails('sign_in_refused', give(code));
    const { session } = await give(second);
    assert.equal((await fixture.parts.signIn.availableFactors(session)).recoveryCodes, 8);
  });
});

const status = async () => (await fixture.parts.team.member(account, ana.id)).signIn;
/** Another user, at another address. */
const stranger = (address: string): ClientContext => ({ ...VISITOR, address });
const wrongFrom = (client: ClientContext) =>
  assertFails('sign_in_refused', fixture.parts.signIn.submitPassword({ ...ana, password: 'not the one 12' }, client));
/** All of a sign-in; returns the secret by which the browser is known. */
const signInFrom = async (client: ClientContext): Promise<ClientContext> => {
  const { session } = await fixture.parts.signIn.submitPassword(ana, client);
  const proof = { kind: 'totp', code: fixture.newCode(ana) } as const;
  const { browser } = await fixture.parts.signIn.submitFactor(session, proof, client);
  assert.ok(browser !== undefined);
  return { ...client, browser };
};
const lock = async (client: ClientContext): Promise<void> => {
  for (let index = 0; index < LIMITS.signInFailures; index++) await wrongFrom(client);
};

describe('ten wrong passwords and codes in a row', () => {
  test('lock the network for half an hour, in which correct ones are rejected too', async () => {
    for (let index = 0; index < 5; index++) await wrongPassword();
    for (let index = 0; index < 4; index++) await wrongCode();
    const { session } = await password();
    await wrongPassword();
    const locked = (await fixture.records(account)).find(({ action }) => action === 'person.locked');
    assert.deepEqual([locked?.outcome, locked?.detail], ['success', { scope: 'network' }]);
    assert.equal(await status(), 'locked');
    await assertFails('sign_in_refused', password());
    await assertFails('sign_in_refused', totp(session, fixture.newCode(ana)));
    assert.equal((await fixture.audited(account)).at(-1), 'person.sign-in-refused person_locked');
    fixture.advance(30 * MINUTE);
    assert.equal(await status(), 'active');
    await wrongPassword();
    await fixture.signIn(ana);
  });

  test('are counted despite correct passwords, and reset only by a complete sign-in', async () => {
    for (let index = 0; index < 9; index++) await wrongCode();
    await fixture.signIn(ana);
    for (let index = 0; index < 9; index++) await wrongPassword();
    await password();
    await wrongPassword();
    await assertFails('sign_in_refused', password());
  });

  test('are counted correctly when they are concurrent', async () => {
    const { session } = await password();
    const wrong = wrongCodeAt(ana.totp, fixture.now());
    await Promise.allSettled(Array.from({ length: 30 }, () => totp(session, wrong)));
    const outcomes = (await fixture.records(account)).filter(({ action }) => action === 'person.sign-in-refused');
    const count = (expected: string): number => outcomes.filter(({ outcome }) => outcome === expected).length;
    assert.equal(count('code_wrong'), LIMITS.signInFailures);
    assert.equal(count('person_locked'), 1, 'the others are counted');
    await fixture.parts.repeats.flush({ all: true });
    const last = (await fixture.records(account)).at(-1);
    assert.deepEqual([last?.outcome, last?.detail], ['person_locked', { times: 30 - LIMITS.signInFailures - 1 }]);
    await assertFails('sign_in_refused', totp(session, fixture.newCode(ana)));
  });

  test('are reset when an operator unlocks the user', async () => {
    await lock(VISITOR);
    assert.equal(await status(), 'locked');
    await fixture.run((transaction) => fixture.parts.people.unlock(transaction, ana.id), {
      actor: { type: 'operator', name: 'test' },
    });
    assert.equal(await status(), 'active');
    await fixture.signIn(ana);
    assert.ok((await fixture.audited(account)).includes('person.unlocked success'));
  });
});

describe('an attacker with wrong passwords', () => {
  test('does not block the step-up or the password change of a signed-in user', async () => {
    const { session } = await fixture.signIn(ana);
    await lock(stranger('203.0.113.5'));
    await lock(VISITOR);
    const { signIn, people } = fixture.parts;
    const stepped = await signIn.stepUp(session, { kind: 'totp', code: fixture.newCode(ana) }, BY_TEST);
    await people.changePassword(stepped.session, { current: ana.password, next: 'another good one 55' }, BY_TEST);
  });

  test('locks neither the networks nor the browsers of earlier sign-ins', async () => {
    const known = await signInFrom(VISITOR);
    for (let index = 0; index < 30; index++) await wrongFrom(stranger(`203.0.113.${index}`));
    await signInFrom(VISITOR);
    await lock(VISITOR);
    await assertFails('sign_in_refused', fixture.parts.signIn.submitPassword(ana, VISITOR));
    await signInFrom(known);
    await signInFrom({ ...known, address: '198.51.100.77' });
  });

  test('does not make the browser of one user known for another', async () => {
    const known = await signInFrom(VISITOR);
    const bob = await fixture.newPerson({ account, role: 'analyst' });
    for (let index = 0; index < LIMITS.signInFailures; index++)
      await assertFails(
        'sign_in_refused',
        fixture.parts.signIn.submitPassword({ ...bob, password: 'not the one 12' }, known),
      );
    await assertFails('sign_in_refused', fixture.parts.signIn.submitPassword(bob, known));
    await signInFrom(known);
  });

  test('is delayed in new networks, however many there are, and so is the user there', async () => {
    for (let index = 0; index < LIMITS.signInFailures; index++) await wrongFrom(stranger(`203.0.113.${index}`));
    const locked = (await fixture.records(account)).find(({ action }) => action === 'person.locked');
    assert.deepEqual(locked?.detail, { scope: 'new-networks' });
    const abroad = stranger('198.51.100.1');
    await assertFails('sign_in_refused', fixture.parts.signIn.submitPassword(ana, abroad));
    fixture.advance(30 * SECOND);
    await wrongFrom(stranger('203.0.113.200'));
    fixture.advance(30 * SECOND);
    await assertFails('sign_in_refused', fixture.parts.signIn.submitPassword(ana, abroad));
    fixture.advance(30 * SECOND);
    await signInFrom(abroad);
    await signInFrom(stranger('198.51.100.2'));
  });

  test('does not block a user with a passkey', async () => {
    const key = new Authenticator(CONSOLE.origin);
    const options = await fixture.run((transaction) =>
      fixture.parts.factorManagement.passkeyOptions(transaction, ana.grant.session, CONSOLE),
    );
    const found = await fixture.parts.sessions.find(ana.grant.secret);
    assert.ok(found !== undefined);
    await fixture.run((transaction) =>
      fixture.parts.factorManagement.confirmPasskey(
        transaction,
        found,
        { response: key.create(options), label: 'Laptop' },
        CONSOLE,
      ),
    );
    const { session } = await password();
    await lock(VISITOR);
    const challenge = await fixture.run((transaction) =>
      fixture.parts.signIn.createChallenge(transaction, session, CONSOLE),
    );
    const halfway = { ...session, notes: { ...session.notes, challenge: challenge.challenge } };
    const response = key.get(challenge);
    const second = { kind: 'passkey', response, relyingParty: CONSOLE } as const;
    assert.equal((await fixture.parts.signIn.submitFactor(halfway, second, VISITOR)).session.stage, 'signed-in');
    await lock(VISITOR);
    await assertFails('sign_in_refused', password());
    const alone = key.get(await fixture.parts.signIn.createPasskeyChallenge(CONSOLE));
    const { session: signedIn } = await fixture.parts.signIn.submitPasskey(alone, CONSOLE, VISITOR);
    assert.deepEqual([signedIn.stage, signedIn.person], ['signed-in', ana.id]);
    await password();
  });
});

describe('wrong second factors with the correct password', () => {
  /** The last three that are allowed, after those of some years. */
  const block = async () => {
    const { database, keyring } = fixture.core;
    const state = await findSignInState(database, keyring, ana.id);
    assert.ok(state !== undefined);
    const many = { ...state, factorFailures: LIMITS.secondFactorFailures - 3 };
    await database.commit({ writes: [await updateSignInState(keyring, state, many)] });
    await fixture.signIn(ana);
    const { session } = await password();
    const wrong = wrongCodeAt(ana.totp, fixture.now());
    for (let index = 0; index < 3; index++) await assertFails('sign_in_refused', totp(session, wrong));
    await assertFails('sign_in_refused', totp(session, fixture.newCode(ana)));
  };

  test('are limited for each password, until a credential reset', async () => {
    await block();
    assert.equal(await status(), 'password-blocked');
    const actions = await fixture.audited(account);
    assert.equal(actions.filter((line) => line === 'password.blocked success').length, 1);
    await assertFails('sign_in_refused', password());
    assert.equal((await fixture.audited(account)).at(-1), 'person.sign-in-refused password_blocked');
    const by = { account, role: 'owner' } as const;
    const link = await fixture.run((transaction) => fixture.parts.invitations.reset(transaction, ana.id, by));
    const begin = (expected: string) =>
      fixture.run((transaction) =>
        fixture.parts.enrollment.begin(
          transaction,
          { secret: link.secret, language: 'en', password: expected },
          VISITOR,
        ),
      );
    await assertFails('invalid_field', begin(ana.password), 'password');
    const { session } = await begin('another good one 55');
    const { secret } = fixture.parts.enrollment.totp(session);
    await fixture.run((transaction) =>
      fixture.parts.enrollment.confirmTotp(transaction, session, codeAt(secret, fixture.now()), VISITOR),
    );
    assert.equal(await status(), 'active');
    await password({ ...ana, password: 'another good one 55' });
  });

  test('are reset by a new password that a signed-in user sets', async () => {
    const { session } = await fixture.signIn(ana);
    await block();
    assert.equal(await status(), 'password-blocked');
    const stepped = await fixture.parts.signIn.stepUp(session, { kind: 'totp', code: fixture.newCode(ana) }, BY_TEST);
    const passwords = { current: ana.password, next: 'another good one 55' };
    await fixture.parts.people.changePassword(stepped.session, passwords, BY_TEST);
    assert.equal(await status(), 'active');
  });
});

describe('stepping up', () => {
  test('accepts a second factor of the user, and counts wrong ones', async () => {
    const { session, secret } = await fixture.signIn(ana);
    fixture.advance(6 * MINUTE);
    const { parts } = fixture;
    assert.equal(isSteppedUp(session, fixture.now()), false);
    const wrong = { kind: 'totp', code: wrongCodeAt(ana.totp, fixture.now()) } as const;
    await assertFails('sign_in_refused', parts.signIn.stepUp(session, wrong, BY_TEST));
    const counted = await parts.sessions.find(secret);
    assert.equal(counted?.notes.failures, 1);
    const stepped = await parts.signIn.stepUp(session, { kind: 'totp', code: fixture.newCode(ana) }, BY_TEST);
    assert.equal(stepped.session.notes.failures, undefined);
    assert.equal(isSteppedUp(stepped.session, fixture.now()), true);
    const found = await parts.sessions.find(stepped.secret);
    assert.ok(found !== undefined && isSteppedUp(found, fixture.now()));
    fixture.advance(5 * MINUTE);
    assert.equal(isSteppedUp(found, fixture.now()), false);
    assert.ok((await fixture.audited(account)).includes('person.stepped-up success'));
  });

  test('ends the session at the tenth wrong one, also of concurrent ones, and nothing else', async () => {
    const { session, secret } = await fixture.signIn(ana);
    const wrong = { kind: 'totp', code: wrongCodeAt(ana.totp, fixture.now()) } as const;
    await Promise.allSettled(Array.from({ length: 25 }, () => fixture.parts.signIn.stepUp(session, wrong, BY_TEST)));
    const refused = (await fixture.records(account)).filter(({ action }) => action === 'person.step-up-refused');
    assert.equal(refused.length, LIMITS.signInFailures);
    assert.equal(await fixture.parts.sessions.find(secret), undefined);
    const locked = (await fixture.records(account)).find(({ action }) => action === 'person.locked');
    assert.deepEqual(locked?.detail, { scope: 'session' });
    assert.equal(await status(), 'active');
    await fixture.signIn(ana);
  });

  test('requires a signed-in user', async () => {
    const { session } = await password();
    const proof = { kind: 'totp', code: fixture.newCode(ana) } as const;
    await assert.rejects(fixture.parts.signIn.stepUp(session, proof, BY_TEST), /not signed in/);
  });
});

describe('signing out', () => {
  test('ends the session immediately', async () => {
    const { session, secret } = await fixture.signIn(ana);
    await fixture.run((transaction) => fixture.parts.signIn.signOut(transaction, session, VISITOR));
    assert.equal(await fixture.parts.sessions.find(secret), undefined);
    assert.equal((await fixture.audited(account)).at(-1), 'person.signed-out success');
    await fixture.run((transaction) => fixture.parts.signIn.signOut(transaction, session, VISITOR));
  });
});

describe('a clock that jumps', () => {
  const byRecovery = async (from: ClientContext) => {
    const { session } = await fixture.parts.signIn.submitPassword(ana, from);
    const [code = ''] = ana.recoveryCodes;
    return fixture.parts.signIn.submitFactor(session, { kind: 'recovery-code', code }, from);
  };
  const elsewhere: ClientContext = { ...VISITOR, address: '198.51.100.9' };

  test('ahead does not extend a lock', async () => {
    fixture.jump(200 * HOUR);
    for (let index = 0; index < LIMITS.signInFailures; index++) await wrongPassword();
    await assertFails('sign_in_refused', password());
    fixture.jump(-200 * HOUR);
    await assertFails('sign_in_refused', password());
    fixture.advance(30 * MINUTE);
    await password();
  });

  test('ahead ends no lock, and deletes neither failures nor networks', async () => {
    const stranger = { ...VISITOR, address: '203.0.113.200' };
    const guess = () =>
      assertFails(
        'sign_in_refused',
        fixture.parts.signIn.submitPassword({ ...ana, password: 'not the one 12' }, stranger),
      );
    for (let index = 0; index < LIMITS.signInFailures; index++) await guess();
    fixture.jump(200 * DAY);
    await assertFails('sign_in_refused', fixture.parts.signIn.submitPassword(ana, stranger));
    await assertFails('sign_in_refused', fixture.parts.signIn.submitPassword(ana, elsewhere));
    await password();
    fixture.jump(-200 * DAY);
    await password();
  });

  test('behind does not disable users who sign in or enroll meanwhile', async () => {
    fixture.jump(-200 * DAY);
    const late = await fixture.newPerson({ account, role: 'developer' });
    await byRecovery(elsewhere);
    fixture.jump(200 * DAY);
    const { database, keyring } = fixture.core;
    for (const { id } of [ana, late]) {
      const state = await findSignInState(database, keyring, id);
      assert.ok(state !== undefined && state.lastSignInAt > fixture.now() - HOUR);
    }
  });
});
