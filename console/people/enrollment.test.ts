import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { HOUR, MINUTE } from '../../src/kernel/clock.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import {
  assertFails,
  codeAt,
  openPeopleFixture,
  PASSWORD,
  type PeopleFixture,
  VISITOR,
  wrongCodeAt,
} from '../../test/fixtures/people-fixture.ts';
import { OPERATOR } from './roles.ts';
import type { Session } from './session.ts';

let fixture: PeopleFixture;
let account: string;
before(async () => {
  fixture = await openPeopleFixture();
  account = await fixture.newAccount();
});
after(() => fixture.stop());

const invite = (email: string, role: 'owner' | 'analyst' = 'owner') =>
  fixture.run((transaction) =>
    fixture.parts.invitations.invite(transaction, { account, role, email }, role === 'owner' ? OPERATOR : owner()),
  );
const owner = () => ({ account, role: 'owner' }) as const;
const begin = (secret: string, more: object = {}) =>
  fixture.run((transaction) =>
    fixture.parts.enrollment.begin(
      transaction,
      { secret, name: 'New', language: 'es', password: PASSWORD, ...more },
      VISITOR,
    ),
  );
const finish = (session: Session) => {
  const { secret } = fixture.parts.enrollment.totp(session);
  return fixture.run((transaction) =>
    fixture.parts.enrollment.confirmTotp(transaction, session, codeAt(secret, fixture.now()), VISITOR),
  );
};

describe('enrollment by an invitation', () => {
  test('creates a user, a role, a second factor, recovery codes and a session', async () => {
    const link = await invite('new@example.com');
    assert.deepEqual(await fixture.parts.enrollment.showInvitation(link.secret), {
      kind: 'invitation',
      account,
      role: 'owner',
      email: 'new@example.com',
      isKnown: false,
      expiresAt: link.expiresAt,
    });
    const { session, secret } = await begin(link.secret);
    assert.equal(session.stage, 'enrolling');
    assert.equal(
      await fixture.parts.people.findByEmail('new@example.com'),
      undefined,
      'nothing is kept before the end',
    );
    const joined = await finish(session);
    assert.equal(joined.recoveryCodes.length, 10);
    assert.equal(joined.session.stage, 'signed-in');
    assert.notEqual(joined.secret, secret);
    assert.equal(await fixture.parts.sessions.find(secret), undefined);
    const profile = await fixture.parts.people.findProfile(joined.session.person);
    assert.deepEqual([profile?.email, profile?.name, profile?.language], ['new@example.com', 'New', 'es']);
    assert.equal(await fixture.parts.team.findRole(account, joined.session.person), 'owner');
    assert.deepEqual(await fixture.parts.invitations.list(account), []);
    assert.deepEqual((await fixture.audited(account)).slice(-3), [
      'person.invited success',
      'person.joined success',
      'person.signed-in success',
    ]);
    const records = JSON.stringify(await fixture.records(account));
    for (const text of ['new@example.com', link.secret]) assert.equal(records.includes(text), false);
  });

  test('accepts the code of the app once, and no invalid one', async () => {
    const { session } = await begin((await invite('codes@example.com')).secret);
    const { secret: totp } = fixture.parts.enrollment.totp(session);
    const wrong = wrongCodeAt(totp, fixture.now());
    await assertFails(
      'invalid_field',
      fixture.run((transaction) => fixture.parts.enrollment.confirmTotp(transaction, session, wrong, VISITOR)),
      'code',
    );
    const code = codeAt(totp, fixture.now());
    await fixture.run((transaction) => fixture.parts.enrollment.confirmTotp(transaction, session, code, VISITOR));
    const signedIn = await fixture.parts.signIn.submitPassword(
      { email: 'codes@example.com', password: PASSWORD },
      VISITOR,
    );
    await assertFails(
      'sign_in_refused',
      fixture.parts.signIn.submitFactor(signedIn.session, { kind: 'totp', code }, VISITOR),
    );
  });

  test('happens once for a link, also when two requests are concurrent', async () => {
    const link = await invite('race@example.com');
    const [one, other] = await Promise.all([begin(link.secret), begin(link.secret)]);
    const done = await Promise.allSettled([finish(one.session), finish(other.session)]);
    assert.deepEqual(done.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
    await assertFails('not_possible', begin(link.secret));
    const members = await fixture.parts.team.members(account);
    assert.equal(members.filter(({ email }) => email === 'race@example.com').length, 1);
  });

  test('uses the newest link of an email address, also when an older one was opened first', async () => {
    const older = await invite('twice@example.com');
    const elsewhere = await fixture.newAccount();
    const record = await fixture.run((transaction) =>
      fixture.parts.invitations.invite(
        transaction,
        { account: elsewhere, role: 'owner', email: 'twice@example.com' },
        OPERATOR,
      ),
    );
    const { session: startedSession } = await begin(older.secret);
    const newer = await invite('Twice@Example.com', 'analyst');
    await assertFails('not_possible', fixture.parts.enrollment.showInvitation(older.secret));
    await assertFails('not_possible', finish(startedSession));
    const open = (await fixture.parts.invitations.list(account)).filter(({ email }) => /twice@/i.test(email ?? ''));
    assert.deepEqual(
      open.map(({ id }) => id),
      [newer.id],
    );
    const records = (await fixture.records(account)).slice(-2).map(({ action, targets }) => [action, targets]);
    assert.deepEqual(records, [
      ['invitation.revoked', [`invitation:${older.id}`]],
      ['person.invited', [`invitation:${newer.id}`]],
    ]);
    const { session } = await finish((await begin(newer.secret)).session);
    assert.equal(await fixture.parts.team.findRole(account, session.person), 'analyst');
    assert.equal(
      (await fixture.parts.enrollment.showInvitation(record.secret)).account,
      elsewhere,
      'another account has its own',
    );
  });

  test('requires a pending link: not expired, not revoked, not forged', async () => {
    const link = await invite('old@example.com');
    const revoked = await invite('revoked@example.com');
    const { session: startedSession } = await begin(revoked.secret);
    await fixture.run((transaction) => fixture.parts.invitations.revoke(transaction, account, revoked.id));
    await assertFails(
      'unknown_record',
      fixture.run((transaction) => fixture.parts.invitations.revoke(transaction, account, revoked.id)),
    );
    await assertFails('not_possible', begin(revoked.secret));
    await assertFails('not_possible', finish(startedSession));
    for (const wrong of ['', 'x'.repeat(43), `${link.secret}A`, link.secret.toLowerCase()])
      await assertFails('not_possible', fixture.parts.enrollment.showInvitation(wrong));
    fixture.advance(31 * MINUTE);
    assert.equal((await fixture.parts.enrollment.showInvitation(link.secret)).isKnown, false);
    fixture.advance(72 * HOUR);
    await assertFails('not_possible', fixture.parts.enrollment.showInvitation(link.secret));
  });

  test('accepts valid fields only, and the address of the invitation', async () => {
    const { secret } = await invite('fields@example.com');
    await assertFails('invalid_field', begin(secret, { name: '' }), 'name');
    await assertFails('invalid_field', begin(secret, { name: 'a\nb' }), 'name');
    await assertFails('invalid_field', begin(secret, { language: 'de' }), 'language');
    await assertFails('invalid_field', begin(secret, { password: 'fields@example.com' }), 'password');
    const { session } = await begin(secret, { email: 'other@example.com' });
    const { session: joined } = await finish(session);
    assert.equal((await fixture.parts.people.findProfile(joined.person))?.email, 'fields@example.com');
  });
});

describe('invitations', () => {
  test('are for the email address of a user who is not a member', async () => {
    const ana = await fixture.newPerson({ account, role: 'developer' });
    await assertFails('not_possible', invite(ana.email.toUpperCase(), 'analyst'));
    for (const wrong of [
      '',
      'ana',
      'ana@',
      '@example.com',
      'a b@example.com',
      'ana@example',
      `${'a'.repeat(250)}@b.cd`,
    ])
      await assertFails('invalid_field', invite(wrong), 'email');
    const { invitations } = fixture.parts;
    await assertFails(
      'invalid_field',
      fixture.run((transaction) => invitations.invite(transaction, { account, role: 'owner' }, OPERATOR)),
      'email',
    );
  });

  test('are for the account of the inviter; operators invite owners and operators', async () => {
    const { invitations } = fixture.parts;
    const other = await fixture.newAccount();
    const email = 'somebody@example.com';
    const roles = { elsewhere: { account: other, role: 'owner' }, operator: OPERATOR } as const;
    for (const to of Object.values(roles))
      await assertFails(
        'not_allowed',
        fixture.run((transaction) => invitations.invite(transaction, { ...to, email }, owner())),
      );
    const developer = { account, role: 'developer' } as const;
    await assertFails(
      'not_allowed',
      fixture.run((transaction) => invitations.invite(transaction, { account, role: 'analyst', email }, developer)),
    );
    await assertFails(
      'not_allowed',
      fixture.run((transaction) => invitations.invite(transaction, { account, role: 'auditor', email }, OPERATOR)),
    );
    await assertFails(
      'invalid_field',
      fixture.run((transaction) => invitations.invite(transaction, { account, role: 'operator', email }, OPERATOR)),
      'role',
    );
  });

  test('are listed while they are pending, with their creator and without the secret', async () => {
    const own = await fixture.newAccount();
    const to = { account: own, role: 'owner', email: 'listed@example.com' } as const;
    const link = await fixture.run((transaction) => fixture.parts.invitations.invite(transaction, to, OPERATOR));
    const [listed, ...others] = await fixture.parts.invitations.list(own);
    assert.equal(others.length, 0);
    assert.deepEqual(listed, {
      ...to,
      id: link.id,
      kind: 'invitation',
      inviterName: 'test',
      createdAt: link.expiresAt - 72 * HOUR,
      expiresAt: link.expiresAt,
    });
    await assertFails(
      'unknown_record',
      fixture.run((transaction) => fixture.parts.invitations.revoke(transaction, account, link.id)),
    );
    fixture.advance(72 * HOUR);
    assert.deepEqual(await fixture.parts.invitations.list(own), []);
    while ((await fixture.parts.sessions.sweep(fixture.now())) > 0);
    const rows = await fixture.core.database.read('select id from invitations where id = ?', link.id);
    assert.deepEqual(rows, []);
  });

  test('that are pending have a limit for each account', async () => {
    const own = await fixture.newAccount();
    const more = (index: number) =>
      fixture.run((transaction) =>
        fixture.parts.invitations.invite(
          transaction,
          { account: own, role: 'owner', email: `n${index}@example.com` },
          OPERATOR,
        ),
      );
    await Promise.all(Array.from({ length: LIMITS.invitationsPerAccount }, (_, index) => more(index)));
    await assertFails('not_possible', more(-1));
    fixture.advance(72 * HOUR);
    await more(-1);
  });

  test('count toward the limit of users of an account', async () => {
    const { invitations, enrollment, team } = fixture.parts;
    const own = await fixture.newAccount();
    const head = await fixture.newPerson({ account: own, role: 'owner' });
    const to = (index: number) => ({ account: own, role: 'owner' as const, email: `p${index}@example.com` });
    const open = [];
    for (let index = 0; index < 3; index++)
      open.push(await fixture.run((transaction) => invitations.invite(transaction, to(index), OPERATOR)));
    const known = await fixture.newPerson({ account, role: 'analyst' });
    const late = await fixture.run((transaction) =>
      invitations.invite(transaction, { account: own, role: 'owner', email: known.email }, OPERATOR),
    );
    const fill = async (members: number): Promise<void> => {
      const rows = Array.from({ length: members }, (_, index) => [own, `person_made_up_${index}`]);
      const sql =
        "insert into memberships (account, person, role, mac, created_at) values (?account, ?, 'auditor', 'x', 1)";
      await fixture.core.database.commit({ writes: [{ sql, rows }] });
    };
    const [{ secret } = { secret: '' }] = open;
    const { session } = await begin(secret);
    await fill(LIMITS.peoplePerAccount - 1 - open.length - 1);
    await assertFails(
      'not_possible',
      fixture.run((transaction) => invitations.invite(transaction, to(-1), OPERATOR)),
    );
    await fixture.run((transaction) => invitations.reset(transaction, head.id, { account: own, role: 'owner' }));
    await finish(session);
    await fixture.core.database.commit({ writes: [{ sql: 'delete from memberships where mac = ?', rows: [['x']] }] });
    await fill(LIMITS.peoplePerAccount - (await team.listMemberships(own)).length);
    const { session: last } = await begin(open[1]?.secret ?? '');
    await assert.rejects(finish(last), /An account has at most 200 users/);
    await assert.rejects(
      fixture.run((transaction) => enrollment.accept(transaction, known.grant.session, late.secret)),
      /An account has at most 200 users/,
    );
    assert.equal(await team.findRole(own, known.id), undefined);
  });

  test('are valid only while their creator may invite, up to the end of the enrollment', async () => {
    const { invitations, enrollment, team } = fixture.parts;
    const own = await fixture.newAccount();
    const boss = await fixture.newPerson({ account: own, role: 'owner' });
    await fixture.newPerson({ account: own, role: 'owner' });
    const known = await fixture.newPerson({ account, role: 'analyst' });
    const by = { account: own, role: 'owner' } as const;
    const origin = { actor: { type: 'person', id: boss.id, name: boss.name } } as const;
    const created = (email: string) =>
      fixture.run((transaction) => invitations.invite(transaction, { ...by, email }, by), origin);
    const link = await created('late@example.com');
    const { session } = await begin((await created('begun@example.com')).secret);
    const toKnown = await created(known.email);
    const reset = await fixture.run((transaction) => invitations.reset(transaction, boss.id, by), origin);
    await fixture.run((transaction) => team.changeRole(transaction, own, boss.id, 'developer'));
    for (const { secret } of [link, toKnown, reset])
      await assertFails('not_possible', enrollment.showInvitation(secret));
    await assertFails('not_possible', begin(link.secret));
    await assertFails('not_possible', finish(session));
    await assertFails(
      'not_possible',
      fixture.run((transaction) => enrollment.accept(transaction, known.grant.session, toKnown.secret)),
    );
    assert.equal((await team.members(own)).length, 2);
    await fixture.run((transaction) => team.changeRole(transaction, own, boss.id, 'owner'));
    assert.equal((await enrollment.showInvitation(link.secret)).kind, 'invitation');
  });

  test('for the first operator are created once, by one of many nodes', async () => {
    const { invitations, team } = fixture.parts;
    assert.equal(await team.hasOperator(), false);
    const created = await Promise.all(
      Array.from({ length: 5 }, () => fixture.run((transaction) => invitations.inviteFirstOperator(transaction))),
    );
    const links = created.flatMap((link) => link ?? []);
    assert.equal(links.length, 1);
    assert.equal(await fixture.run((transaction) => invitations.inviteFirstOperator(transaction)), undefined);
    fixture.advance(25 * HOUR);
    const [again] = [await fixture.run((transaction) => invitations.inviteFirstOperator(transaction))];
    assert.ok(again !== undefined, 'the old one has expired');
    await assertFails('not_possible', fixture.parts.enrollment.showInvitation(links[0]?.secret ?? ''));
    assert.deepEqual(await fixture.parts.enrollment.showInvitation(again.secret), {
      kind: 'invitation',
      account: '',
      role: 'operator',
      isKnown: false,
      expiresAt: again.expiresAt,
    });
    await assertFails('invalid_field', begin(again.secret), 'email');
    const { session } = await begin(again.secret, { email: 'boss@example.com' });
    await finish(session);
    assert.equal(await team.hasOperator(), true);
    fixture.advance(25 * HOUR);
    assert.equal(await fixture.run((transaction) => invitations.inviteFirstOperator(transaction)), undefined);
  });

  test('by an operator are valid while the creator is one', async () => {
    const { invitations, enrollment, team } = fixture.parts;
    const [boss] = [await fixture.newPerson(OPERATOR), await fixture.newPerson(OPERATOR)];
    const origin = { actor: { type: 'person', id: boss.id, name: boss.name } } as const;
    const ana = await fixture.newPerson({ account, role: 'analyst' });
    const links = [
      await fixture.run(
        (transaction) =>
          invitations.invite(transaction, { account, role: 'owner', email: 'head@example.com' }, OPERATOR),
        origin,
      ),
      await fixture.run(
        (transaction) => invitations.invite(transaction, { ...OPERATOR, email: 'friend@example.com' }, OPERATOR),
        origin,
      ),
      await fixture.run((transaction) => invitations.reset(transaction, ana.id, OPERATOR), origin),
    ];
    for (const { secret } of links) await enrollment.showInvitation(secret);
    await fixture.run((transaction) => team.remove(transaction, OPERATOR.account, boss.id));
    for (const { secret } of links) await assertFails('not_possible', enrollment.showInvitation(secret));
  });
});

describe('an existing user', () => {
  test('accepts an invitation to another account after sign-in, and no other user does', async () => {
    const other = await fixture.newAccount();
    const ana = await fixture.newPerson({ account, role: 'developer' });
    const bob = await fixture.newPerson({ account, role: 'developer' });
    const to = { account: other, role: 'owner', email: ana.email } as const;
    const link = await fixture.run((transaction) => fixture.parts.invitations.invite(transaction, to, OPERATOR));
    assert.equal((await fixture.parts.enrollment.showInvitation(link.secret)).isKnown, true);
    await assertFails('not_possible', begin(link.secret));
    await assertFails(
      'not_possible',
      fixture.run((transaction) => fixture.parts.enrollment.accept(transaction, bob.grant.session, link.secret)),
    );
    const { session } = await fixture.parts.signIn.submitPassword(ana, VISITOR);
    await assert.rejects(
      fixture.run((transaction) => fixture.parts.enrollment.accept(transaction, session, link.secret)),
      /not signed in/,
    );
    const { enrollment } = fixture.parts;
    const accept = () => fixture.run((transaction) => enrollment.accept(transaction, ana.grant.session, link.secret));
    const done = await Promise.allSettled([accept(), accept()]);
    assert.deepEqual(done.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
    await assertFails('not_possible', accept());
    const memberships = await fixture.parts.team.listMembershipsOf(ana.id);
    assert.deepEqual(memberships.map(({ role }) => role).sort(), ['developer', 'owner']);
    assert.equal((await fixture.audited(other)).at(-1), 'person.joined success');
  });
});

describe('a credential reset link', () => {
  test('replaces password and second factors, ends all sessions, and unlocks', async () => {
    const ana = await fixture.newPerson({ account, role: 'analyst' });
    for (let index = 0; index < 10; index++)
      await fixture.parts.signIn.submitPassword({ ...ana, password: 'not the one 12' }, VISITOR).catch(() => undefined);
    const link = await fixture.run((transaction) => fixture.parts.invitations.reset(transaction, ana.id, owner()));
    const shown = await fixture.parts.enrollment.showInvitation(link.secret);
    assert.deepEqual([shown.kind, shown.email, shown.name], ['reset', ana.email, ana.name]);
    const { session } = await begin(link.secret, { password: 'another good one 55', name: 'Mallory' });
    assert.ok(await fixture.parts.sessions.find(ana.grant.secret), 'nothing has happened before the end');
    const joined = await finish(session);
    assert.equal(joined.session.person, ana.id);
    assert.equal(await fixture.parts.sessions.find(ana.grant.secret), undefined);
    assert.equal((await fixture.parts.people.findProfile(ana.id))?.name, ana.name);
    await assertFails('sign_in_refused', fixture.parts.signIn.submitPassword(ana, VISITOR));
    const again = { email: ana.email, password: 'another good one 55' };
    const { session: signedIn } = await fixture.parts.signIn.submitPassword(again, VISITOR);
    const old = { kind: 'totp', code: fixture.newCode(ana) } as const;
    await assertFails('sign_in_refused', fixture.parts.signIn.submitFactor(signedIn, old, VISITOR));
    const [code = ''] = ana.recoveryCodes;
    await assertFails(
      'sign_in_refused',
      fixture.parts.signIn.submitFactor(signedIn, { kind: 'recovery-code', code }, VISITOR),
    );
    await assertFails('not_possible', begin(link.secret));
    assert.ok((await fixture.audited(account)).includes('person.reset success'));
  });

  test('is created by an owner for users without another account, and by an operator for every user', async () => {
    const { invitations } = fixture.parts;
    const other = await fixture.newAccount();
    const ana = await fixture.newPerson({ account, role: 'analyst' });
    await assertFails(
      'unknown_record',
      fixture.run((transaction) => invitations.reset(transaction, ana.id, { account: other, role: 'owner' })),
    );
    await assertFails(
      'not_allowed',
      fixture.run((transaction) => invitations.reset(transaction, ana.id, { account, role: 'developer' })),
    );
    await assertFails(
      'unknown_record',
      fixture.run((transaction) => invitations.reset(transaction, 'person_nobody', OPERATOR)),
    );
    const to = { account: other, role: 'owner', email: ana.email } as const;
    const link = await fixture.run((transaction) => invitations.invite(transaction, to, OPERATOR));
    const before = await fixture.run((transaction) => invitations.reset(transaction, ana.id, owner()));
    const { session } = await begin(before.secret, { password: 'another good one 55' });
    await fixture.run((transaction) => fixture.parts.enrollment.accept(transaction, ana.grant.session, link.secret));
    await assertFails(
      'not_allowed',
      fixture.run((transaction) => invitations.reset(transaction, ana.id, owner())),
    );
    await assertFails('not_possible', fixture.parts.enrollment.showInvitation(before.secret));
    await assertFails('not_possible', finish(session));
    await fixture.signIn(ana);
    const byOperator = await fixture.run((transaction) => invitations.reset(transaction, ana.id, OPERATOR));
    assert.equal((await fixture.parts.enrollment.showInvitation(byOperator.secret)).kind, 'reset');
    fixture.advance(24 * HOUR);
    await assertFails('not_possible', fixture.parts.enrollment.showInvitation(byOperator.secret));
  });

  test('revokes earlier ones of the user, by any creator', async () => {
    const { invitations, enrollment } = fixture.parts;
    const [ana, bob] = [
      await fixture.newPerson({ account, role: 'analyst' }),
      await fixture.newPerson({ account, role: 'analyst' }),
    ];
    const others = await fixture.run((transaction) => invitations.reset(transaction, bob.id, owner()));
    const first = await fixture.run((transaction) => invitations.reset(transaction, ana.id, OPERATOR));
    const { session: startedSession } = await begin(first.secret, { password: 'another good one 55' });
    const second = await fixture.run((transaction) => invitations.reset(transaction, ana.id, owner()));
    await assertFails('not_possible', enrollment.showInvitation(first.secret));
    await assertFails('not_possible', finish(startedSession));
    const openFor = async (name: string, person: string) =>
      (await invitations.list(name)).filter((each) => each.person === person).map(({ id }) => id);
    assert.deepEqual([await openFor('', ana.id), await openFor(account, ana.id)], [[], [second.id]]);
    const revoked = (await fixture.records('')).filter(({ action }) => action === 'invitation.revoked');
    assert.deepEqual(revoked.at(-1)?.targets, [`invitation:${first.id}`]);
    const both = await Promise.allSettled([
      fixture.run((transaction) => invitations.reset(transaction, ana.id, owner())),
      fixture.run((transaction) => invitations.reset(transaction, ana.id, owner())),
    ]);
    assert.ok(both.some(({ status }) => status === 'fulfilled'));
    assert.equal((await openFor(account, ana.id)).length, 1, 'also of two at the same moment');
    assert.equal((await enrollment.showInvitation(others.secret)).name, bob.name);
  });

  test('revokes all links of the user when it is used', async () => {
    const { invitations, enrollment } = fixture.parts;
    const ana = await fixture.newPerson({ account, role: 'analyst' });
    const beside = await fixture.run((transaction) => invitations.reset(transaction, ana.id, owner()));
    const columns = ['account', 'id', 'digest', 'person', 'record', 'created_at', 'expires_at'] as const;
    const [row] = await fixture.core.database.read('select * from invitations where id = ?', beside.id);
    const used = await fixture.run((transaction) => invitations.reset(transaction, ana.id, owner()));
    // Two that are open beside each other, as two nodes could make them at the same moment.
    const sql = `insert into invitations (${columns.join(', ')}) values (?account, ?, ?, ?, ?, ?, ?)`;
    await fixture.core.database.commit({ writes: [{ sql, rows: [columns.map((name) => row?.[name] ?? null)] }] });
    assert.equal((await enrollment.showInvitation(beside.secret)).kind, 'reset');
    await finish((await begin(used.secret, { password: 'another good one 55' })).session);
    await assertFails('not_possible', enrollment.showInvitation(beside.secret));
  });

  test('cannot be accepted by a signed-in user', async () => {
    const ana = await fixture.newPerson({ account, role: 'analyst' });
    const link = await fixture.run((transaction) => fixture.parts.invitations.reset(transaction, ana.id, OPERATOR));
    await assertFails(
      'not_possible',
      fixture.run((transaction) => fixture.parts.enrollment.accept(transaction, ana.grant.session, link.secret)),
    );
  });
});
