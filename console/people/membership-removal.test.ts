import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Authenticator } from '../../test/fixtures/authenticator.ts';
import {
  assertFails,
  CONSOLE,
  openPeopleFixture,
  PASSWORD,
  type PeopleFixture,
  type TestUser,
  VISITOR,
} from '../../test/fixtures/people-fixture.ts';
import { ALL_TABLES } from '../../test/fixtures/tables.ts';
import { OPERATOR } from './roles.ts';
import { computeDigest } from './sealing.ts';

/** Removing the last membership deletes the user. */
describe('the removal of a user’s last membership', () => {
  let fixture: PeopleFixture;
  let account: string;
  before(async () => {
    fixture = await openPeopleFixture();
    account = await fixture.newAccount();
    await fixture.newPerson({ account, role: 'owner' });
  });
  after(() => fixture.stop());

  const belongsTo = async ({ id }: TestUser): Promise<string[]> =>
    (await fixture.parts.team.listMembershipsOf(id)).map((each) => each.account);
  const isKnown = async ({ id }: TestUser): Promise<boolean> =>
    (await fixture.parts.people.findProfile(id)) !== undefined;
  /** Tables with a row that has the id of the person or their email address in it. */
  async function tablesWith({ id, email }: TestUser): Promise<string[]> {
    const { database, keyring } = fixture.core;
    const digest = Buffer.from(await computeDigest(keyring, 'email', email)).toString('hex');
    const found: string[] = [];
    for (const table of ALL_TABLES.map(({ name }) => name)) {
      const rows = await database.read(`select * from ${table}`);
      const values = rows.flatMap((row) => Object.values(row));
      const texts = values.map((value) => (value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value));
      if (texts.some((text) => String(text).includes(id) || text === digest)) found.push(table);
    }
    return found;
  }
  async function addPasskey({ grant }: TestUser): Promise<void> {
    const { factorManagement, sessions } = fixture.parts;
    const session = async () => (await sessions.find(grant.secret)) ?? grant.session;
    const options = await fixture.run(async (transaction) =>
      factorManagement.passkeyOptions(transaction, await session(), CONSOLE),
    );
    const created = { response: new Authenticator(CONSOLE.origin).create(options), label: 'Laptop' };
    await fixture.run(async (transaction) =>
      factorManagement.confirmPasskey(transaction, await session(), created, CONSOLE),
    );
  }
  const inviteTo = (to: string, { email }: TestUser) =>
    fixture.run((transaction) =>
      fixture.parts.invitations.invite(transaction, { account: to, role: 'owner', email }, OPERATOR),
    );
  async function join(to: string, user: TestUser): Promise<void> {
    await fixture.run(async (transaction) =>
      fixture.parts.enrollment.accept(transaction, user.grant.session, (await inviteTo(to, user)).secret),
    );
  }

  test('deletes all their data except audit records', async () => {
    const { invitations, enrollment, signIn, team, sessions } = fixture.parts;
    const bob = await fixture.newPerson({ account, role: 'analyst' });
    await addPasskey(bob);
    await fixture.signIn(bob);
    await signIn.submitPassword(bob, VISITOR);
    const reset = await fixture.run((transaction) => invitations.reset(transaction, bob.id, OPERATOR));
    const own = ['factors', 'invitations', 'memberships', 'people', 'sessions', 'sign_in_states'];
    assert.deepEqual((await tablesWith(bob)).filter((table) => table !== 'journal').sort(), own);
    await fixture.run((transaction) => team.remove(transaction, account, bob.id));
    assert.deepEqual(await tablesWith(bob), ['journal']);
    assert.equal(await sessions.find(bob.grant.secret), undefined);
    await assertFails('sign_in_refused', signIn.submitPassword(bob, VISITOR));
    await assertFails('not_possible', enrollment.showInvitation(reset.secret));
    assert.deepEqual((await fixture.audited(account)).slice(-2), [
      'membership.removed success',
      'person.removed success',
    ]);
    const named = (await fixture.records(account)).filter(({ actor }) => actor.id === bob.id);
    assert.ok(named.length > 0 && named.every(({ actor }) => actor.name === bob.name));
  });

  test('allows them to return as a new user, without earlier data', async () => {
    const { enrollment, signIn, team } = fixture.parts;
    const bob = await fixture.newPerson({ account, role: 'analyst' });
    await fixture.run((transaction) => team.remove(transaction, account, bob.id));
    const { secret } = await inviteTo(account, bob);
    assert.equal((await enrollment.showInvitation(secret)).isKnown, false);
    const { session } = await fixture.run((transaction) =>
      enrollment.begin(transaction, { secret, name: 'Bob', language: 'es', password: PASSWORD }, VISITOR),
    );
    assert.notEqual(session.person, bob.id);
    await assertFails('sign_in_refused', signIn.submitPassword(bob, VISITOR));
  });

  test('is not the removal of one of several', async () => {
    const { team } = fixture.parts;
    const other = await fixture.newAccount();
    const bob = await fixture.newPerson({ account, role: 'analyst' });
    await join(other, bob);
    await fixture.newPerson({ account: other, role: 'owner' });
    await fixture.run((transaction) => team.remove(transaction, account, bob.id));
    assert.equal((await fixture.audited(account)).at(-1), 'membership.removed success');
    await fixture.signIn(bob);
    await fixture.run((transaction) => team.remove(transaction, other, bob.id));
    assert.deepEqual([await isKnown(bob), await tablesWith(bob)], [false, ['journal']]);
  });

  test('is rejected for a last owner or a last operator', async () => {
    const { team } = fixture.parts;
    for (const to of [{ account: await fixture.newAccount(), role: 'owner' } as const, OPERATOR]) {
      const ana = await fixture.newPerson(to);
      await assertFails(
        'not_possible',
        fixture.run((transaction) => team.remove(transaction, to.account, ana.id)),
      );
      await fixture.signIn(ana);
    }
  });

  test('does not delete a user who joins another account before the commit', async () => {
    const bob = await fixture.newPerson({ account, role: 'analyst' });
    const elsewhere = await fixture.newAccount();
    await fixture.run(async (transaction) => {
      await fixture.parts.team.remove(transaction, account, bob.id);
      if (transaction.attempt === 0) await join(elsewhere, bob);
    });
    assert.deepEqual(await belongsTo(bob), [elsewhere]);
    await fixture.signIn(bob);
  });

  test('and a concurrent join of another account: the user exists with a membership, or does not exist', async () => {
    const other = await fixture.anotherNode();
    for (let round = 0; round < 8; round++) {
      const bob = await fixture.newPerson({ account, role: 'analyst' });
      const elsewhere = await fixture.newAccount();
      const { secret } = await inviteTo(elsewhere, bob);
      const removing = () => fixture.run((transaction) => fixture.parts.team.remove(transaction, account, bob.id));
      const joining = () => other.run((transaction) => other.enrollment.accept(transaction, bob.grant.session, secret));
      const acts = round % 2 === 0 ? [removing, joining] : [joining, removing];
      const done = await Promise.allSettled(acts.map((act) => act()));
      const hasJoined = done[acts.indexOf(joining)]?.status === 'fulfilled';
      assert.equal(done[acts.indexOf(removing)]?.status, 'fulfilled');
      assert.deepEqual([await isKnown(bob), await belongsTo(bob)], [hasJoined, hasJoined ? [elsewhere] : []]);
      if (hasJoined) await fixture.signIn(bob);
      else assert.deepEqual(await tablesWith(bob), ['journal']);
    }
  });

  test('of two concurrent removals is the later one', async () => {
    const other = await fixture.anotherNode();
    for (let round = 0; round < 5; round++) {
      const elsewhere = await fixture.newAccount();
      await fixture.newPerson({ account: elsewhere, role: 'owner' });
      const bob = await fixture.newPerson({ account, role: 'analyst' });
      await join(elsewhere, bob);
      await Promise.all([
        fixture.run((transaction) => fixture.parts.team.remove(transaction, account, bob.id)),
        other.run((transaction) => other.team.remove(transaction, elsewhere, bob.id)),
      ]);
      assert.deepEqual([await isKnown(bob), await tablesWith(bob)], [false, ['journal']]);
    }
  });
});
