import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { DAY, HOUR } from '../../src/kernel/clock.ts';
import type { Database, UnitOfWork } from '../../src/storage/database.ts';
import {
  assertFails,
  codeAt,
  openPeopleFixture,
  overDatabase,
  type PeopleFixture,
  type TestUser,
  VISITOR,
} from '../../test/fixtures/people-fixture.ts';
import { InactiveUsers } from './inactive-users.ts';
import { OPERATOR } from './roles.ts';
import { buildSession } from './sessions.ts';
import { countInactive, findSignInState, updateSignInState } from './sign-in-state-store.ts';

describe('users who did not sign in for 90 days', () => {
  let fixture: PeopleFixture;
  let account: string;
  let ana: TestUser;
  let bob: TestUser;
  let reports: number[];
  let inactivity: InactiveUsers;
  before(async () => {
    fixture = await openPeopleFixture();
  });
  after(() => fixture.stop());
  beforeEach(async () => {
    await fixture.core.database.commit({ writes: [{ sql: 'delete from sign_in_states', rows: [[]] }] });
    account = await fixture.newAccount();
    ana = await fixture.newPerson({ account, role: 'owner' });
    bob = await fixture.newPerson({ account, role: 'developer' });
    reports = [];
    inactivity = new InactiveUsers(fixture.core, (count) => reports.push(count));
  });

  const statusOf = async ({ id }: TestUser, of = account) => (await fixture.parts.team.member(of, id)).signIn;
  const run = () => inactivity.run(fixture.now());
  /** Puts the last sign-in so many days back. */
  const lastSignIn = async ({ id }: TestUser, days: number): Promise<void> => {
    const { database, keyring } = fixture.core;
    const state = await findSignInState(database, keyring, id);
    assert.ok(state !== undefined);
    const older = { ...state, lastSignInAt: fixture.now() - days * DAY };
    await database.commit({ writes: [await updateSignInState(keyring, state, older)] });
  };

  test('are disabled with their sessions, and enabled by a credential reset', async () => {
    const { write, secret } = await buildSession(fixture.core, { person: bob.id, stage: 'signed-in', client: VISITOR });
    await fixture.core.database.commit({ writes: [write] });
    await lastSignIn(bob, 89);
    assert.deepEqual([await inactivity.isDue(fixture.now()), await run()], [false, 0]);
    await lastSignIn(bob, 90);
    assert.equal(await run(), 0, 'it was checked just now');
    fixture.advance(HOUR);
    await fixture.signIn(ana);
    assert.deepEqual([await inactivity.isDue(fixture.now()), await run()], [true, 1]);
    assert.equal(await statusOf(bob), 'disabled');
    assert.deepEqual(await fixture.parts.team.listApprovers(account), [ana.id], 'approves nothing');
    assert.equal(await fixture.parts.sessions.find(secret), undefined);
    const disabled = (await fixture.records(account)).filter(({ action }) => action === 'person.disabled');
    assert.deepEqual(
      disabled.map(({ targets, detail, actor }) => [targets, detail, actor.type]),
      [[[`person:${bob.id}`], { days: 90 }, 'service']],
    );
    await assertFails('sign_in_refused', fixture.parts.signIn.submitPassword(bob, VISITOR));
    // Whatever is committed after the record is there after it.
    await fixture.newAccount();
    assert.equal((await fixture.audited(account)).at(-1), 'person.sign-in-refused person_disabled');
    await fixture.run((transaction) => fixture.parts.people.unlock(transaction, bob.id));
    assert.equal(await statusOf(bob), 'disabled', 'an end of locks does not enable');
    fixture.advance(HOUR);
    assert.deepEqual([await inactivity.isDue(fixture.now()), await run()], [false, 0]);

    const link = await fixture.run((transaction) =>
      fixture.parts.invitations.reset(transaction, bob.id, { account, role: 'owner' }),
    );
    const enrollment = { secret: link.secret, language: 'en', password: 'another good one 55' };
    const { session } = await fixture.run((transaction) =>
      fixture.parts.enrollment.begin(transaction, enrollment, VISITOR),
    );
    const { secret: totp } = fixture.parts.enrollment.totp(session);
    await fixture.run((transaction) =>
      fixture.parts.enrollment.confirmTotp(transaction, session, codeAt(totp, fixture.now()), VISITOR),
    );
    assert.equal(await statusOf(bob), 'active');
    await fixture.parts.signIn.submitPassword({ ...bob, password: enrollment.password }, VISITOR);
  });

  test('remain enabled as the last owner who can sign in, and are reported once a day', async () => {
    const carl = await fixture.newPerson({ account, role: 'owner' });
    await lastSignIn(ana, 100);
    await lastSignIn(carl, 200);
    assert.equal(await run(), 1);
    assert.deepEqual([await statusOf(carl), await statusOf(ana)], ['disabled', 'active']);
    assert.equal(await countInactive(fixture.core.database, fixture.now() - 90 * DAY), 1);
    assert.deepEqual(reports, [1]);
    fixture.advance(2 * HOUR);
    assert.deepEqual([await inactivity.isDue(fixture.now()), await run(), reports], [false, 0, [1]]);
    fixture.advance(DAY);
    await run();
    assert.deepEqual(reports, [1, 1]);
    await fixture.signIn(ana);
    assert.equal(await countInactive(fixture.core.database, fixture.now() - 90 * DAY), 0);
  });

  test('remain enabled for one account where they are the last owner, also when they have others', async () => {
    const other = await fixture.newAccount();
    const link = await fixture.run((transaction) =>
      fixture.parts.invitations.invite(transaction, { account: other, role: 'owner', email: bob.email }, OPERATOR),
    );
    await fixture.run((transaction) => fixture.parts.enrollment.accept(transaction, bob.grant.session, link.secret));
    await lastSignIn(bob, 400);
    assert.equal(await run(), 0);
    assert.deepEqual(reports, [1]);
  });

  test('remain enabled as the last operator, and as one whose only successor was changed in the database', async () => {
    const [olga, otto] = [await fixture.newPerson(OPERATOR), await fixture.newPerson(OPERATOR)];
    await lastSignIn(olga, 120);
    await lastSignIn(otto, 91);
    await fixture.core.database.commit({
      writes: [{ sql: 'update sign_in_states set disabled_at = 1 where person = ?', rows: [[otto.id]] }],
    });
    assert.equal(await run(), 0);
    assert.deepEqual([await statusOf(olga, ''), await statusOf(otto, '')], ['active', 'altered']);
    await assertFails('sign_in_refused', fixture.parts.signIn.submitPassword(otto, VISITOR));
  });

  test('remain enabled when the password of the only other owner is blocked', async () => {
    const carl = await fixture.newPerson({ account, role: 'owner' });
    await lastSignIn(ana, 100);
    const { database, keyring } = fixture.core;
    const state = await findSignInState(database, keyring, carl.id);
    assert.ok(state !== undefined);
    const blocked = { ...state, passwordBlockedAt: fixture.now() };
    await database.commit({ writes: [await updateSignInState(keyring, state, blocked)] });
    assert.equal(await run(), 0);
    assert.equal(await statusOf(ana), 'active');
  });

  test('are not disabled when the remaining owner loses the role concurrently', async () => {
    const carl = await fixture.newPerson({ account, role: 'owner' });
    await lastSignIn(ana, 100);
    const real = fixture.core.database;
    const commit = async (unit: UnitOfWork) => {
      await fixture.run((transaction) => fixture.parts.team.changeRole(transaction, account, carl.id, 'auditor'));
      return real.commit(unit);
    };
    const database = new Proxy(real, {
      get: (_, name) => (name === 'commit' ? commit : (real[name as keyof Database] as () => unknown).bind(real)),
    });
    assert.equal(await new InactiveUsers(overDatabase(fixture.core, database), () => undefined).run(fixture.now()), 0);
    assert.equal(await statusOf(ana), 'active');
  });

  test('do not count as remaining owners', async () => {
    const carl = await fixture.newPerson({ account, role: 'owner' });
    await lastSignIn(carl, 100);
    assert.equal(await run(), 1);
    const { team } = fixture.parts;
    await assertFails(
      'not_possible',
      fixture.run((transaction) => team.changeRole(transaction, account, ana.id, 'auditor')),
    );
    await assertFails(
      'not_possible',
      fixture.run((transaction) => team.remove(transaction, account, ana.id)),
    );
    await fixture.run((transaction) => team.remove(transaction, account, carl.id));
  });
});
