import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { commitOrThrow } from '../../src/storage/database.ts';
import { assertFails, openPeopleFixture, type PeopleFixture } from '../../test/fixtures/people-fixture.ts';
import { insertMembership } from './membership-store.ts';
import { OPERATOR } from './roles.ts';

describe('a team', () => {
  let fixture: PeopleFixture;
  before(async () => {
    fixture = await openPeopleFixture();
  });
  after(() => fixture.stop());

  test('lists its members, the oldest membership first', async () => {
    const account = await fixture.newAccount();
    const ana = await fixture.newPerson({ account, role: 'owner' });
    const bob = await fixture.newPerson({ account, role: 'auditor' });
    const members = await fixture.parts.team.members(account);
    assert.deepEqual(
      members.map(({ person, role, name, email, signIn }) => [person, role, name, email, signIn]),
      [
        [ana.id, 'owner', ana.name, ana.email, 'active'],
        [bob.id, 'auditor', bob.name, bob.email, 'active'],
      ],
    );
  });

  test('changes immediately, with an audit record', async () => {
    const account = await fixture.newAccount();
    await fixture.newPerson({ account, role: 'owner' });
    const bob = await fixture.newPerson({ account, role: 'auditor' });
    const { team } = fixture.parts;
    await fixture.run((transaction) => team.changeRole(transaction, account, bob.id, 'developer'));
    assert.equal(await team.findRole(account, bob.id), 'developer');
    await assertFails(
      'invalid_field',
      fixture.run((transaction) => team.changeRole(transaction, account, bob.id, 'operator')),
      'role',
    );
    await fixture.run((transaction) => team.remove(transaction, account, bob.id));
    assert.equal(await team.findRole(account, bob.id), undefined);
    await assertFails(
      'unknown_record',
      fixture.run((transaction) => team.remove(transaction, account, bob.id)),
    );
    await assertFails(
      'unknown_record',
      fixture.run((transaction) => team.changeRole(transaction, account, bob.id, 'owner')),
    );
    const [changed] = (await fixture.records(account)).filter(({ action }) => action === 'membership.changed');
    assert.deepEqual(changed?.detail, { from: 'auditor', to: 'developer' });
    assert.deepEqual((await fixture.audited(account)).slice(-2), [
      'membership.removed success',
      'person.removed success',
    ]);
  });

  test('keeps its last owner, also when two leave or are demoted concurrently', async () => {
    const { team } = fixture.parts;
    for (const [first, second] of [
      ['remove', 'remove'],
      ['remove', 'change'],
      ['change', 'change'],
    ] as const) {
      const account = await fixture.newAccount();
      const ana = await fixture.newPerson({ account, role: 'owner' });
      await assertFails(
        'not_possible',
        fixture.run((transaction) => team.remove(transaction, account, ana.id)),
      );
      await assertFails(
        'not_possible',
        fixture.run((transaction) => team.changeRole(transaction, account, ana.id, 'auditor')),
      );
      const bob = await fixture.newPerson({ account, role: 'owner' });
      const act = (how: 'remove' | 'change', id: string) =>
        how === 'remove'
          ? fixture.run((transaction) => team.remove(transaction, account, id))
          : fixture.run((transaction) => team.changeRole(transaction, account, id, 'analyst'));
      const done = await Promise.allSettled([act(first, ana.id), act(second, bob.id)]);
      assert.deepEqual(done.map(({ status }) => status).sort(), ['fulfilled', 'rejected'], `${first} ${second}`);
      const owners = (await team.members(account)).filter(({ role }) => role === 'owner');
      assert.equal(owners.length, 1);
    }
  });

  test('keeps its last owner when two nodes each remove one', async () => {
    const other = await fixture.anotherNode();
    const { database, keyring } = fixture.core;
    for (let round = 0; round < 20; round++) {
      const account = await fixture.newAccount();
      const people = ['person_one', 'person_two'].map((name) => `${name}_${round}`);
      const writes = [];
      for (const person of people)
        writes.push(await insertMembership(keyring, { account, person, role: 'owner', createdAt: 1 }));
      await commitOrThrow(database, { writes });
      const [one = '', two = ''] = people;
      const done = await Promise.allSettled([
        fixture.run((transaction) => fixture.parts.team.remove(transaction, account, one)),
        other.run((transaction) => other.team.changeRole(transaction, account, two, 'analyst')),
      ]);
      const lost = done.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []));
      assert.equal(lost.length, 1, `${round}`);
      await assertFails('not_possible', Promise.reject(lost[0]));
    }
  });

  test('of operators keeps its last one', async () => {
    const { team } = fixture.parts;
    const ana = await fixture.newPerson(OPERATOR);
    await assertFails(
      'not_possible',
      fixture.run((transaction) => team.remove(transaction, '', ana.id)),
    );
    const bob = await fixture.newPerson(OPERATOR);
    const done = await Promise.allSettled([
      fixture.run((transaction) => team.remove(transaction, '', ana.id)),
      fixture.run((transaction) => team.remove(transaction, '', bob.id)),
    ]);
    assert.deepEqual(done.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
    assert.equal((await team.members('')).length, 1);
  });

  test('is separate from the team of another account', async () => {
    const [one, other] = [await fixture.newAccount(), await fixture.newAccount()];
    const ana = await fixture.newPerson({ account: one, role: 'owner' });
    assert.equal(await fixture.parts.team.findRole(other, ana.id), undefined);
    assert.equal(await fixture.parts.team.findRole('', ana.id), undefined);
    await assertFails(
      'unknown_record',
      fixture.run((transaction) => fixture.parts.team.remove(transaction, other, ana.id)),
    );
  });
});
