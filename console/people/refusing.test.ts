import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { MINUTE } from '../../src/kernel/clock.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import type { Database, UnitOfWork } from '../../src/storage/database.ts';
import {
  assertFails,
  openPeopleFixture,
  overDatabase,
  type PeopleFixture,
  type TestUser,
  VISITOR,
  wrongCodeAt,
} from '../../test/fixtures/people-fixture.ts';
import { createPeopleServices, type PeopleServices } from './people-services.ts';

const WRONG = 'not the one 12';

describe('a rejected sign-in', () => {
  let fixture: PeopleFixture;
  let accounts: string[];
  /** A member of all of the accounts. */
  let ana: TestUser;
  before(async () => {
    fixture = await openPeopleFixture();
  });
  after(() => fixture.stop());
  beforeEach(async () => {
    accounts = await Promise.all(Array.from({ length: 4 }, () => fixture.newAccount()));
    const [first = '', ...others] = accounts;
    ana = await fixture.newPerson({ account: first, role: 'owner' });
    for (const account of others) {
      const to = { account, role: 'owner', email: ana.email } as const;
      const link = await fixture.run((transaction) =>
        fixture.parts.invitations.invite(transaction, to, { account: '', role: 'operator' }),
      );
      await fixture.run((transaction) => fixture.parts.enrollment.accept(transaction, ana.grant.session, link.secret));
    }
  });

  const refusals = async (account: string): Promise<string[]> =>
    (await fixture.records(account))
      .filter(({ action, targets }) => action === 'person.sign-in-refused' && targets?.includes(`person:${ana.id}`))
      .map(({ outcome, detail }) => `${outcome} ${detail?.['times'] ?? ''}`.trim());
  const inEach = () => Promise.all(accounts.map(refusals));
  const inEachAre = (lines: string[]) => accounts.map(() => lines);

  /** The same service, which writes down what it writes; behind the first unit nothing ever arrives. */
  function watched(): { parts: PeopleServices; units: UnitOfWork[] } {
    const units: UnitOfWork[] = [];
    const { database: real } = fixture.core;
    const commit = (unit: UnitOfWork) => {
      const done = real.commit(unit);
      return units.push(unit) === 1 ? done : new Promise(() => undefined);
    };
    const database = new Proxy(real, {
      get: (_, name) => (name === 'commit' ? commit : (real[name as keyof Database] as () => unknown).bind(real)),
    });
    return { parts: createPeopleServices(overDatabase(fixture.core, database)), units };
  }

  const recordsBefore = async (email: string): Promise<number[]> => {
    const { parts, units } = watched();
    await assertFails('sign_in_refused', parts.signIn.submitPassword({ email, password: WRONG }, VISITOR));
    return units.slice(0, 1).map(({ journal }) => journal?.length ?? 0);
  };

  test('with a wrong password waits for one audit record, for an unknown user and a member of many accounts, locked or not', async () => {
    const bob = await fixture.newPerson({ account: accounts[0] ?? '', role: 'analyst' });
    const emails = ['unknown@example.com', bob.email, ana.email];
    for (const email of emails) assert.deepEqual(await recordsBefore(email), [1], email);
    for (let failures = 1; failures < LIMITS.signInFailures; failures++)
      await assertFails('sign_in_refused', fixture.parts.signIn.submitPassword({ ...ana, password: WRONG }, VISITOR));
    assert.equal((await fixture.parts.team.member(accounts[0] ?? '', ana.id)).signIn, 'locked');
    assert.deepEqual(await recordsBefore(ana.email), [1]);
  });

  test('with a wrong password is in the log of every account of the user', async () => {
    await assertFails('sign_in_refused', fixture.parts.signIn.submitPassword({ ...ana, password: WRONG }, VISITOR));
    // Whatever is committed after them is there after them.
    await fixture.newAccount();
    assert.deepEqual(await inEach(), inEachAre(['password_wrong']));
  });

  test('of a locked user is in the log of each account once, and then as a count', async () => {
    const { parts } = fixture;
    const sessions = [];
    for (let index = 0; index < 2; index++) sessions.push((await parts.signIn.submitPassword(ana, VISITOR)).session);
    const [session] = sessions;
    assert.ok(session !== undefined);
    const wrong = { kind: 'totp', code: wrongCodeAt(ana.totp, fixture.now()) } as const;
    for (let index = 0; index < LIMITS.signInFailures + 50; index++)
      await assertFails('sign_in_refused', parts.signIn.submitFactor(session, wrong, VISITOR));
    const codes = new Array(LIMITS.signInFailures).fill('code_wrong');
    assert.deepEqual(await inEach(), inEachAre([...codes, 'person_locked']));
    fixture.advance(5 * MINUTE);
    await parts.repeats.flush();
    assert.deepEqual(await inEach(), inEachAre([...codes, 'person_locked', 'person_locked 49']));
  });

  test('with a password of a locked user is in the log of the service each time', async () => {
    for (let index = 0; index < LIMITS.signInFailures + 3; index++)
      await assertFails('sign_in_refused', fixture.parts.signIn.submitPassword({ ...ana, password: WRONG }, VISITOR));
    await fixture.parts.repeats.flush({ all: true });
    const wrong = new Array(LIMITS.signInFailures).fill('password_wrong');
    assert.deepEqual(await inEach(), inEachAre([...wrong, 'person_locked', 'person_locked 2']));
    assert.deepEqual(await refusals(''), new Array(3).fill('person_locked'));
  });
});
