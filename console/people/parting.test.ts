import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { SERVICE_TABLES, VAULT_TABLES } from '../../src/storage/tables.ts';
import { Authenticator } from '../../test/authenticator.ts';
import {
  BY_TEST,
  CONSOLE,
  openPeopleHouse,
  PASSWORD,
  type PeopleHouse,
  refuses,
  type Somebody,
  VISITOR,
} from '../../test/people-house.ts';
import { findMembership } from './membership-store.ts';
import { partingOf } from './parting.ts';
import { OPERATOR } from './roles.ts';
import { digestFor } from './sealing.ts';

/** Whoever belongs to nothing any more is forgotten. */
describe('the end of somebody’s last membership', () => {
  let house: PeopleHouse;
  let account: string;
  before(async () => {
    house = await openPeopleHouse();
    account = await house.newAccount();
    await house.newPerson({ account, role: 'owner' });
  });
  after(() => house.stop());

  const belongsTo = async ({ id }: Somebody): Promise<string[]> =>
    (await house.parts.team.membershipsOf(id)).map((each) => each.account);
  const isKnown = async ({ id }: Somebody): Promise<boolean> => (await house.parts.people.profile(id)) !== undefined;
  /** Tables with a row that has the id of the person or their e-mail address in it. */
  async function tablesWith({ id, email }: Somebody): Promise<string[]> {
    const { database, keyring } = house.core;
    const digest = Buffer.from(await digestFor(keyring, 'email', email)).toString('hex');
    const found: string[] = [];
    for (const table of [...VAULT_TABLES.map(({ name }) => name), ...SERVICE_TABLES]) {
      const rows = await database.read(`select * from ${table}`);
      const values = rows.flatMap((row) => Object.values(row));
      const texts = values.map((value) => (value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value));
      if (texts.some((text) => String(text).includes(id) || text === digest)) found.push(table);
    }
    return found;
  }
  async function addPasskey({ grant }: Somebody): Promise<void> {
    const { ownFactors, sessions } = house.parts;
    const session = async () => (await sessions.find(grant.secret)) ?? grant.session;
    const options = await ownFactors.passkeyOptions(await session(), CONSOLE);
    const made = { response: new Authenticator(CONSOLE.origin).create(options), label: 'Laptop' };
    await ownFactors.confirmPasskey(await session(), made, CONSOLE, VISITOR);
  }
  const inviteTo = (to: string, { email }: Somebody) =>
    house.parts.invitations.invite({ account: to, role: 'owner', email }, OPERATOR, BY_TEST);
  async function join(to: string, somebody: Somebody): Promise<void> {
    await house.parts.joining.accept(somebody.grant.session, (await inviteTo(to, somebody)).secret, VISITOR);
  }

  test('leaves nothing of them but what the audit log says', async () => {
    const { invitations, joining, signIn, team, sessions } = house.parts;
    const bob = await house.newPerson({ account, role: 'analyst' });
    await addPasskey(bob);
    await house.signIn(bob);
    await signIn.givePassword(bob, VISITOR);
    const reset = await invitations.reset(bob.id, OPERATOR, BY_TEST);
    const own = ['factors', 'invitations', 'memberships', 'people', 'sessions', 'sign_in_states'];
    assert.deepEqual((await tablesWith(bob)).filter((table) => table !== 'journal').sort(), own);
    await team.remove(account, bob.id, BY_TEST);
    assert.deepEqual(await tablesWith(bob), ['journal']);
    assert.equal(await sessions.find(bob.grant.secret), undefined);
    await refuses('sign_in_refused', signIn.givePassword(bob, VISITOR));
    await refuses('not_possible', joining.look(reset.secret));
    assert.deepEqual((await house.audited(account)).slice(-2), [
      'membership.removed success',
      'person.removed success',
    ]);
    const named = (await house.records(account)).filter(({ actor }) => actor.id === bob.id);
    assert.ok(named.length > 0 && named.every(({ actor }) => actor.name === bob.name));
  });

  test('lets them come back as somebody new, with nothing of before', async () => {
    const { joining, signIn, team } = house.parts;
    const bob = await house.newPerson({ account, role: 'analyst' });
    await team.remove(account, bob.id, BY_TEST);
    const { secret } = await inviteTo(account, bob);
    assert.equal((await joining.look(secret)).known, false);
    const { session } = await joining.begin({ secret, name: 'Bob', language: 'es', password: PASSWORD }, VISITOR);
    assert.notEqual(session.person, bob.id);
    await refuses('sign_in_refused', signIn.givePassword(bob, VISITOR));
  });

  test('is not the end of one of several', async () => {
    const { team } = house.parts;
    const other = await house.newAccount();
    const bob = await house.newPerson({ account, role: 'analyst' });
    await join(other, bob);
    await house.newPerson({ account: other, role: 'owner' });
    await team.remove(account, bob.id, BY_TEST);
    assert.equal((await house.audited(account)).at(-1), 'membership.removed success');
    await house.signIn(bob);
    await team.remove(other, bob.id, BY_TEST);
    assert.deepEqual([await isKnown(bob), await tablesWith(bob)], [false, ['journal']]);
  });

  test('never comes for a last owner or a last operator', async () => {
    const { team } = house.parts;
    for (const to of [{ account: await house.newAccount(), role: 'owner' } as const, OPERATOR]) {
      const ana = await house.newPerson(to);
      await refuses('not_possible', team.remove(to.account, ana.id, BY_TEST));
      await house.signIn(ana);
    }
  });

  test('does not take place when they joined another account since it was decided', async () => {
    const { database, keyring } = house.core;
    const bob = await house.newPerson({ account, role: 'analyst' });
    const membership = await findMembership(database, keyring, account, bob.id);
    assert.ok(membership !== undefined);
    const parting = await partingOf(house.core, membership, BY_TEST);
    const elsewhere = await house.newAccount();
    await join(elsewhere, bob);
    const outcome = await database.commit(parting.unit);
    assert.ok(!outcome.committed && parting.isAboutPerson(outcome.write));
    assert.deepEqual((await belongsTo(bob)).sort(), [account, elsewhere].sort());
    await house.signIn(bob);
  });

  test('and joining another account at the same moment: either they are there and belong, or neither', async () => {
    const other = await house.anotherNode();
    for (let round = 0; round < 8; round++) {
      const bob = await house.newPerson({ account, role: 'analyst' });
      const elsewhere = await house.newAccount();
      const { secret } = await inviteTo(elsewhere, bob);
      const removing = () => house.parts.team.remove(account, bob.id, BY_TEST);
      const joining = () => other.joining.accept(bob.grant.session, secret, VISITOR);
      const acts = round % 2 === 0 ? [removing, joining] : [joining, removing];
      const done = await Promise.allSettled(acts.map((act) => act()));
      const hasJoined = done[acts.indexOf(joining)]?.status === 'fulfilled';
      assert.equal(done[acts.indexOf(removing)]?.status, 'fulfilled');
      assert.deepEqual([await isKnown(bob), await belongsTo(bob)], [hasJoined, hasJoined ? [elsewhere] : []]);
      if (hasJoined) await house.signIn(bob);
      else assert.deepEqual(await tablesWith(bob), ['journal']);
    }
  });

  test('of two at the same moment is the later one', async () => {
    const other = await house.anotherNode();
    for (let round = 0; round < 5; round++) {
      const elsewhere = await house.newAccount();
      await house.newPerson({ account: elsewhere, role: 'owner' });
      const bob = await house.newPerson({ account, role: 'analyst' });
      await join(elsewhere, bob);
      await Promise.all([
        house.parts.team.remove(account, bob.id, BY_TEST),
        other.team.remove(elsewhere, bob.id, BY_TEST),
      ]);
      assert.deepEqual([await isKnown(bob), await tablesWith(bob)], [false, ['journal']]);
    }
  });
});
