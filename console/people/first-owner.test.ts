import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Failure } from '../../src/kernel/failure.ts';
import { commitOrThrow, write } from '../../src/storage/database.ts';
import {
  assertFails,
  openPeopleFixture,
  type PeopleFixture,
  type TestUser,
} from '../../test/fixtures/people-fixture.ts';
import { OPERATOR } from './roles.ts';

/** Resolves for all callers when this many have called. */
function newBarrier(count: number): () => Promise<void> {
  const all = Promise.withResolvers<void>();
  let missing = count;
  return async () => {
    if (--missing <= 0) all.resolve();
    await all.promise;
  };
}

for (const database of ['SQLite', 'PostgreSQL'] as const)
  describe(`the first owner of an account, over ${database}`, () => {
    let fixture: PeopleFixture;
    let other: Awaited<ReturnType<PeopleFixture['anotherNode']>>;
    let ana: TestUser;
    let bob: TestUser;
    before(async () => {
      fixture = await openPeopleFixture(database === 'PostgreSQL');
      other = await fixture.anotherNode();
      ana = await fixture.newPerson(OPERATOR);
      bob = await fixture.newPerson(OPERATOR);
    });
    after(() => fixture.stop());

    /** Joins, and commits when each of the callers of `isRead` has read that the account has no members. */
    const join = (
      { parts, run }: Pick<PeopleFixture, 'parts' | 'run'>,
      { grant }: TestUser,
      account: string,
      isRead: () => Promise<void> = () => Promise.resolve(),
    ) =>
      run(async (transaction) => {
        const membership = await parts.enrollment.joinAsFirstOwner(transaction, grant.session, account);
        await isRead();
        return membership;
      });

    const memberIds = async (account: string) =>
      (await fixture.parts.team.members(account)).map(({ person }) => person);

    /** Makes each insert of a member take a while between its condition and its end, as on a busy server. */
    const slowDown = async (): Promise<void> => {
      if (database === 'SQLite') return;
      const body = "'begin perform pg_sleep(0.1); return new; end'";
      const slow = `create function wait_before_insert() returns trigger language plpgsql as ${body}`;
      const trigger =
        'create trigger slow before insert on memberships for each row execute function wait_before_insert()';
      await commitOrThrow(fixture.core.database, { writes: [write(slow, []), write(trigger, [])] });
    };
    const speedUp = async (): Promise<void> => {
      if (database === 'SQLite') return;
      await commitOrThrow(fixture.core.database, { writes: [write('drop trigger slow on memberships', [])] });
    };

    test('is one operator, also when two join by two nodes at the same time', async () => {
      await slowDown();
      for (let round = 0; round < 3; round++) {
        const account = await fixture.newAccount();
        const isRead = newBarrier(2);
        const done = await Promise.allSettled([
          join(fixture, ana, account, isRead),
          join({ parts: other, run: other.run }, bob, account, isRead),
        ]);
        const [lost, ...more] = done.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []));
        assert.ok(lost instanceof Failure && more.length === 0, `round ${round}: ${done.map(({ status }) => status)}`);
        assert.match(lost.message, /users/);
        assert.equal((await memberIds(account)).length, 1);
      }
      await speedUp();
    });

    test('is no operator when an invited user joins meanwhile', async () => {
      const account = await fixture.newAccount();
      const user = await fixture.newPerson({ account: await fixture.newAccount(), role: 'owner' });
      const link = await fixture.run((transaction) =>
        fixture.parts.invitations.invite(transaction, { account, role: 'owner', email: user.email }, OPERATOR),
      );
      const accept = async (): Promise<void> => {
        await other.run((transaction) => other.enrollment.accept(transaction, user.grant.session, link.secret));
      };
      await assertFails('not_possible', join(fixture, ana, account, accept));
      assert.deepEqual(await memberIds(account), [user.id]);
    });

    test('is no operator when the account has a user', async () => {
      const account = await fixture.newAccount();
      await join(fixture, ana, account);
      await assertFails('not_possible', join(fixture, bob, account));
      assert.deepEqual(await memberIds(account), [ana.id]);
    });
  });
