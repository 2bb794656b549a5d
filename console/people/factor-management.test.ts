import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { MINUTE } from '../../src/kernel/clock.ts';
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
import { personOrigin } from './client-context.ts';
import { OPERATOR } from './roles.ts';
import type { Session } from './session.ts';

let fixture: PeopleFixture;
let ana: TestUser;
before(async () => {
  fixture = await openPeopleFixture();
});
after(() => fixture.stop());
beforeEach(async () => {
  ana = await fixture.newPerson({ account: await fixture.newAccount(), role: 'owner' });
});

const session = async (secret = ana.grant.secret): Promise<Session> => {
  const found = await fixture.parts.sessions.find(secret);
  assert.ok(found !== undefined);
  return found;
};
const addPasskey = async (): Promise<void> => {
  const options = await fixture.run(async (transaction) =>
    fixture.parts.factorManagement.passkeyOptions(transaction, await session(), CONSOLE),
  );
  const created = { response: new Authenticator(CONSOLE.origin).create(options), label: 'Laptop' };
  await fixture.run(async (transaction) =>
    fixture.parts.factorManagement.confirmPasskey(transaction, await session(), created, CONSOLE),
  );
};
const factors = async () => (await fixture.parts.factorManagement.list(ana.id)).factors;

describe('the second factors of a user', () => {
  test('are changed after a recent proof of identity', async () => {
    const { factorManagement, people } = fixture.parts;
    fixture.advance(5 * MINUTE);
    const old = await session();
    const passwords = { current: ana.password, next: 'another good one 55' };
    for (const change of [
      fixture.run((transaction) => factorManagement.beginTotp(transaction, old)),
      fixture.run((transaction) => factorManagement.confirmTotp(transaction, old, '000000')),
      fixture.run((transaction) => factorManagement.passkeyOptions(transaction, old, CONSOLE)),
      fixture.run((transaction) =>
        factorManagement.confirmPasskey(transaction, old, { response: {}, label: 'x' }, CONSOLE),
      ),
      fixture.run((transaction) => factorManagement.rename(transaction, old, 'factor_x', 'Laptop')),
      fixture.run((transaction) => factorManagement.remove(transaction, old, 'factor_x')),
      fixture.run((transaction) => factorManagement.newRecoveryCodes(transaction, old)),
      people.changePassword(old, passwords, BY_TEST),
      fixture.run((transaction) => people.changeEmail(transaction, old, 'other@example.com')),
    ])
      await assertFails('step_up_required', change);
  });

  test('of an app are replaced by those of another app, after a valid code', async () => {
    const { factorManagement } = fixture.parts;
    const other = await fixture.signIn(ana);
    await assertFails(
      'invalid_field',
      fixture.run(async (transaction) => factorManagement.confirmTotp(transaction, await session(), '123456')),
      'code',
    );
    const { secret: totp } = await fixture.run(async (transaction) =>
      factorManagement.beginTotp(transaction, await session()),
    );
    const wrong = wrongCodeAt(totp, fixture.now());
    await assertFails(
      'invalid_field',
      fixture.run(async (transaction) => factorManagement.confirmTotp(transaction, await session(), wrong)),
      'code',
    );
    await fixture.run(async (transaction) =>
      factorManagement.confirmTotp(transaction, await session(), codeAt(totp, fixture.now())),
    );
    assert.equal((await factors()).length, 1);
    assert.equal(await fixture.parts.sessions.find(other.secret), undefined, 'other sessions have ended');
    const { session: signedIn } = await fixture.parts.signIn.submitPassword(ana, VISITOR);
    const old = { kind: 'totp', code: fixture.newCode(ana) } as const;
    await assertFails('sign_in_refused', fixture.parts.signIn.submitFactor(signedIn, old, VISITOR));
    await fixture.signIn({ ...ana, totp });
  });

  test('are removed except the last, also by two concurrent requests', async () => {
    const { factorManagement } = fixture.parts;
    const [only] = await factors();
    await assertFails(
      'not_possible',
      fixture.run(async (transaction) => factorManagement.remove(transaction, await session(), only?.id ?? '')),
    );
    await assertFails(
      'unknown_record',
      fixture.run(async (transaction) => factorManagement.remove(transaction, await session(), 'factor_x')),
    );
    await addPasskey();
    const other = await fixture.signIn(ana);
    const now = await session();
    const done = await Promise.allSettled(
      (await factors()).map(({ id }) => fixture.run((transaction) => factorManagement.remove(transaction, now, id))),
    );
    assert.deepEqual(done.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
    assert.equal((await factors()).length, 1);
    assert.equal(await fixture.parts.sessions.find(other.secret), undefined);
    assert.ok(await fixture.parts.sessions.find(ana.grant.secret));
    assert.ok((await fixture.audited('')).includes('factor.removed success'));
  });

  test('include recovery codes, of which new ones replace the old', async () => {
    const [old = ''] = ana.recoveryCodes;
    const codes = await fixture.run(async (transaction) =>
      fixture.parts.factorManagement.newRecoveryCodes(transaction, await session()),
    );
    assert.equal((await fixture.parts.factorManagement.list(ana.id)).recoveryCodes, 10);
    const give = async (code: string) => {
      const { session } = await fixture.parts.signIn.submitPassword(ana, VISITOR);
      return fixture.parts.signIn.submitFactor(session, { kind: 'recovery-code', code }, VISITOR);
    };
    await assertFails('sign_in_refused', give(old));
    await give(codes[9] ?? '');
  });
});

describe('passkeys', () => {
  test('are limited, also when many registrations were started before', async () => {
    const { factorManagement } = fixture.parts;
    const newest = await fixture.signIn(ana);
    const waiting = await fixture.run((transaction) =>
      factorManagement.passkeyOptions(transaction, newest.session, CONSOLE),
    );
    for (let count = 0; count < LIMITS.passkeysPerPerson; count++) await addPasskey();
    await assertFails(
      'not_possible',
      fixture.run(async (transaction) => factorManagement.passkeyOptions(transaction, await session(), CONSOLE)),
    );
    const late = { response: new Authenticator(CONSOLE.origin).create(waiting), label: 'One more' };
    await assertFails(
      'not_possible',
      fixture.run(async (transaction) =>
        factorManagement.confirmPasskey(transaction, await session(newest.secret), late, CONSOLE),
      ),
    );
    assert.equal((await factors()).length, LIMITS.passkeysPerPerson + 1);
  });

  test('remain valid when they are renamed, which is audited without the name', async () => {
    const { factorManagement, signIn } = fixture.parts;
    const device = new Authenticator(CONSOLE.origin);
    const options = await fixture.run(async (transaction) =>
      factorManagement.passkeyOptions(transaction, await session(), CONSOLE),
    );
    const created = { response: device.create(options), label: 'Laptop' };
    await fixture.run(async (transaction) =>
      factorManagement.confirmPasskey(transaction, await session(), created, CONSOLE),
    );
    const passkey = (await factors()).find(({ kind }) => kind === 'passkey');
    await fixture.run(async (transaction) =>
      factorManagement.rename(transaction, await session(), passkey?.id ?? '', 'Old laptop'),
    );
    assert.equal((await factors()).find(({ kind }) => kind === 'passkey')?.label, 'Old laptop');
    const { session: signedIn } = await signIn.submitPassword(ana, VISITOR);
    const challenge = await fixture.run((transaction) => signIn.createChallenge(transaction, signedIn, CONSOLE));
    const response = device.get(challenge);
    await signIn.submitFactor(signedIn, { kind: 'passkey', response, relyingParty: CONSOLE }, VISITOR);
    const renamed = (await fixture.records('')).filter(({ action }) => action === 'factor.renamed');
    assert.deepEqual(renamed.at(-1)?.targets, [`person:${ana.id}`, `factor:${passkey?.id}`]);
    assert.ok(!JSON.stringify(renamed).includes('laptop'));
  });
});

describe('the email address of a user', () => {
  const change = async (email: string) =>
    fixture.run(
      async (transaction) => fixture.parts.people.changeEmail(transaction, await session(), email),
      personOrigin(ana, VISITOR),
    );

  test('is changed for all their accounts, whose logs record it without the address', async () => {
    const [own = '', other] = [
      (await fixture.parts.team.listMembershipsOf(ana.id))[0]?.account,
      await fixture.newAccount(),
    ];
    const to = { account: other, role: 'owner', email: ana.email } as const;
    const link = await fixture.run((transaction) => fixture.parts.invitations.invite(transaction, to, OPERATOR));
    await fixture.run((transaction) => fixture.parts.enrollment.accept(transaction, ana.grant.session, link.secret));
    await change('ana.new@example.com');
    assert.equal((await fixture.parts.people.findProfile(ana.id))?.email, 'ana.new@example.com');
    await assertFails('sign_in_refused', fixture.parts.signIn.submitPassword(ana, VISITOR));
    await fixture.signIn({ ...ana, email: 'Ana.New@example.com' });
    for (const account of [own, other]) {
      const records = await fixture.records(account);
      const [record] = records.filter(({ action }) => action === 'email.changed');
      assert.deepEqual([record?.outcome, record?.actor.id, record?.targets], ['success', ana.id, [`person:${ana.id}`]]);
      assert.ok(!JSON.stringify(records).includes('@'));
    }
  });

  test('belongs to one user, also when two request it concurrently; a rejected attempt is recorded', async () => {
    const bob = await fixture.newPerson({ account: await fixture.newAccount(), role: 'owner' });
    const other = await fixture.anotherNode();
    for (let round = 0; round < 5; round++) {
      const email = `wanted-${round}-${ana.id}@example.com`;
      const done = await Promise.allSettled([
        change(email),
        other.run((transaction) => other.people.changeEmail(transaction, bob.grant.session, email)),
      ]);
      assert.deepEqual(done.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
      const emails = [ana, bob].map(async ({ id }) => (await fixture.parts.people.findProfile(id))?.email);
      assert.equal((await Promise.all(emails)).filter((each) => each === email).length, 1);
    }
    await change('ana.settled@example.com');
    await assertFails(
      'not_possible',
      fixture.run((transaction) =>
        fixture.parts.people.changeEmail(transaction, bob.grant.session, 'ANA.settled@example.com'),
      ),
    );
    const [account = ''] = (await fixture.parts.team.listMembershipsOf(bob.id)).map((each) => each.account);
    assert.equal((await fixture.audited(account)).at(-1), 'email.changed taken');
  });

  test('can be changed in its spelling only, and is unchanged when it is equal', async () => {
    await change(ana.email.toUpperCase());
    assert.equal((await fixture.parts.people.findProfile(ana.id))?.email, ana.email.toUpperCase());
    await change(ana.email.toUpperCase());
    await fixture.signIn(ana);
    await assertFails('invalid_field', change('nonsense'), 'email');
  });
});

describe('the password of a user', () => {
  const change = async (current: string, next: string) =>
    fixture.parts.people.changePassword(await session(), { current, next }, BY_TEST);

  test('is changed with the current one, and all other sessions end', async () => {
    const other = await fixture.signIn(ana);
    const between = await fixture.parts.signIn.submitPassword(ana, VISITOR);
    await change(ana.password, 'another good one 55');
    assert.equal(await fixture.parts.sessions.find(other.secret), undefined);
    assert.equal(await fixture.parts.sessions.find(between.secret), undefined);
    assert.ok(await fixture.parts.sessions.find(ana.grant.secret));
    await assertFails('sign_in_refused', fixture.parts.signIn.submitPassword(ana, VISITOR));
    await fixture.signIn({ ...ana, password: 'another good one 55' });
    assert.ok((await fixture.audited('')).includes('password.changed success'));
  });

  test('can be guessed ten times at most', async () => {
    await assertFails('invalid_field', change(ana.password, 'short'), 'password');
    const present = await session();
    for (let index = 0; index < 10; index++)
      await assertFails('sign_in_refused', change('not the one 12', 'another good one 55'));
    const next = { current: ana.password, next: 'another good one 55' };
    await assertFails('not_signed_in', fixture.parts.people.changePassword(present, next, BY_TEST));
    assert.equal(await fixture.parts.sessions.find(ana.grant.secret), undefined, 'the session has ended');
    await fixture.signIn(ana);
  });

  test('differs from the current one, in every Unicode form', async () => {
    const composed = 'crème brûlée 71 stones';
    await change(ana.password, composed);
    for (const same of [composed, composed.normalize('NFD')])
      await assertFails('invalid_field', change(composed, same), 'password');
    await fixture.signIn({ ...ana, password: composed });
  });

  test('differs from the last four', async () => {
    const used = [ana.password, ...Array.from({ length: 4 }, (_, index) => `a good long one ${index} of mine`)];
    for (const [index, next] of used.slice(1).entries()) await change(used[index] ?? '', next);
    const present = used.at(-1) ?? '';
    for (const recent of used.slice(1)) await assertFails('invalid_field', change(present, recent), 'password');
    await change(present, ana.password);
    await fixture.signIn(ana);
  });
});

describe('the name and language of a user', () => {
  test('can be changed to valid values', async () => {
    const { people } = fixture.parts;
    const edited = await fixture.run(async (transaction) =>
      people.edit(transaction, await session(), { name: ' Ana ', language: 'es' }),
    );
    assert.deepEqual([edited.name, edited.language, edited.email], ['Ana', 'es', ana.email]);
    assert.deepEqual(await people.findProfile(ana.id), edited);
    await assertFails(
      'invalid_field',
      fixture.run(async (transaction) => people.edit(transaction, await session(), { name: 'x'.repeat(101) })),
      'name',
    );
    await assertFails(
      'invalid_field',
      fixture.run(async (transaction) => people.edit(transaction, await session(), { language: 'fr' })),
      'language',
    );
  });
});
