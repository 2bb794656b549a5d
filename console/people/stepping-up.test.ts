import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { MINUTE, SECOND } from '../../src/kernel/clock.ts';
import { Failure } from '../../src/kernel/failure.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { type CommitResult, type UnitOfWork, write } from '../../src/storage/database.ts';
import { isPostgres } from '../../test/fixtures/database.ts';
import { eventually } from '../../test/fixtures/eventually.ts';
import {
  assertFails,
  BY_TEST,
  openPeopleFixture,
  overDatabase,
  type PeopleFixture,
  type TestUser,
  VISITOR,
} from '../../test/fixtures/people-fixture.ts';
import { findPerson, lockPerson } from './person-store.ts';
import { isSteppedUp } from './session.ts';
import { buildSession, buildSteppedUpSession, type IssuedSession } from './sessions.ts';

/** Over SQLite, writes are executed one after the other. */
const ONLY_POSTGRES = { skip: !isPostgres && 'SQLite has one writer' };
/** A write that changes nothing, and holds its transaction open for a second. */
const SLEEP = "update people set revision = revision where id = ? and pg_sleep(1)::text = ''";
const SLEEPING = "select pid from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'";

describe('stepping up', () => {
  let fixture: PeopleFixture;
  let account: string;
  let ana: TestUser;
  before(async () => {
    fixture = await openPeopleFixture();
    account = await fixture.newAccount();
    ana = await fixture.newPerson({ account, role: 'owner' });
  });
  after(() => fixture.stop());

  const find = (secret: string) => fixture.parts.sessions.find(secret);
  const byCode = (person = ana) => ({ kind: 'totp', code: fixture.newCode(person) }) as const;
  const stepUp = async (from: Awaited<ReturnType<PeopleFixture['signIn']>>) =>
    fixture.parts.signIn.stepUp(from.session, byCode(), BY_TEST);

  test('gives the session a new secret, and changes nothing else', async () => {
    const old = await fixture.signIn(ana);
    fixture.advance(6 * MINUTE);
    const renewed = await stepUp(old);
    assert.notEqual(renewed.secret, old.secret);
    const found = await find(renewed.secret);
    assert.ok(found !== undefined && isSteppedUp(found, fixture.now()));
    const unchanged = ['id', 'person', 'csrf', 'address', 'userAgent', 'createdAt', 'expiresAt'] as const;
    for (const name of unchanged) assert.equal(found[name], old.session[name], name);
    const listed = (await fixture.parts.sessions.list(ana.id)).filter(({ id }) => id === old.session.id);
    assert.equal(listed.length, 1);
  });

  test('keeps the old secret for some seconds without the step-up, and then invalidates it', async () => {
    const old = await fixture.signIn(ana);
    const renewed = await stepUp(old);
    const next = { kind: 'recovery-code', code: ana.recoveryCodes[1] ?? '' } as const;
    const before = await find(old.secret);
    assert.equal(before?.stage, 'replaced');
    assert.equal(isSteppedUp(before, fixture.now()), false);
    for (const session of [before, old.session])
      await assertFails('changed_meanwhile', fixture.parts.signIn.stepUp(session, next, BY_TEST));
    assert.equal((await find(old.secret))?.stage, 'replaced');
    fixture.advance(10 * SECOND);
    assert.equal(await find(old.secret), undefined);
    assert.equal((await find(renewed.secret))?.stage, 'signed-in');
  });

  test('with a wrong code is recorded as a step-up that failed, not as a sign-in', async () => {
    const { session } = await fixture.signIn(ana);
    const before = (await fixture.audited(account)).length;
    await assertFails(
      'sign_in_refused',
      fixture.parts.signIn.stepUp(session, { kind: 'totp', code: '000000' }, BY_TEST),
    );
    assert.deepEqual((await fixture.audited(account)).slice(before), ['person.step-up-refused code_wrong']);
  });

  test('happens once for two concurrent requests', async () => {
    const old = await fixture.signIn(ana);
    const recovery = { kind: 'recovery-code', code: ana.recoveryCodes[0] ?? '' } as const;
    const results = await Promise.allSettled([
      stepUp(old),
      fixture.parts.signIn.stepUp(old.session, recovery, BY_TEST),
    ]);
    const [done, refused] = ['fulfilled', 'rejected'].map((status) => results.find((each) => each.status === status));
    assert.ok(done?.status === 'fulfilled' && refused?.status === 'rejected');
    assert.ok(refused.reason instanceof Failure && refused.reason.code === 'changed_meanwhile');
    assert.equal((await find(done.value.secret))?.stage, 'signed-in');
  });

  for (const which of ['old', 'new'] as const)
    test(`ends immediately with the session, by the ${which} secret or from the list`, async () => {
      for (const end of ['sign-out', 'revoke'] as const) {
        const old = await fixture.signIn(ana);
        const renewed = await stepUp(old);
        const session = await find(which === 'old' ? old.secret : renewed.secret);
        assert.ok(session);
        if (end === 'sign-out')
          await fixture.run((transaction) => fixture.parts.signIn.signOut(transaction, session, VISITOR));
        else await fixture.run((transaction) => fixture.parts.sessions.revoke(transaction, session, session.id));
        assert.deepEqual([await find(old.secret), await find(renewed.secret)], [undefined, undefined]);
      }
    });

  test('never outlives a concurrent sign-out', async () => {
    for (let round = 0; round < 4; round++) {
      const old = await fixture.signIn(ana);
      const code = byCode();
      const [stepped] = await Promise.allSettled([
        fixture.parts.signIn.stepUp(old.session, code, BY_TEST),
        fixture.run((transaction) => fixture.parts.signIn.signOut(transaction, old.session, VISITOR)),
      ]);
      assert.equal(await find(old.secret), undefined);
      if (stepped.status === 'fulfilled') assert.equal(await find(stepped.value.secret), undefined);
      else assert.equal((stepped.reason as Failure).code, 'not_signed_in');
    }
  });

  for (const end of ['sign-out', 'revoke', 'revoke-others'] as const)
    test(`on another node never outlives a concurrent ${end}`, ONLY_POSTGRES, async () => {
      const other = await fixture.anotherNode();
      const [old, own] = [await fixture.signIn(ana), await fixture.signIn(ana)];
      const person = await findPerson(fixture.core.database, fixture.core.keyring, ana.id);
      assert.ok(person !== undefined);
      const renewed = await buildSteppedUpSession(fixture.core, old.session);
      const writes = [lockPerson(person), ...renewed.writes, write(SLEEP, [ana.id])];
      const committed = other.run(async (transaction) => {
        for (const each of writes) transaction.write(each);
      });
      await eventually(async () => (await fixture.core.database.read(SLEEPING)).length > 0);
      const { sessions, signIn } = fixture.parts;
      await fixture.run((transaction) => {
        if (end === 'sign-out') return signIn.signOut(transaction, old.session, VISITOR);
        if (end === 'revoke') return sessions.revoke(transaction, own.session, old.session.id);
        return sessions.revokeOthers(transaction, own.session);
      });
      await committed;
      assert.deepEqual([await find(old.secret), await find(renewed.secret)], [undefined, undefined]);
      assert.equal((await find(own.secret))?.id, own.session.id);
    });

  test('never outlives a sign-out that conflicts with it', async () => {
    const old = await fixture.signIn(ana);
    let renewed: IssuedSession | undefined;
    const { database } = fixture.core;
    const commit = async (unit: UnitOfWork): Promise<CommitResult> => {
      if (renewed !== undefined) return database.commit(unit);
      renewed = await stepUp(old);
      return { committed: false, write: unit.writes.findIndex(({ sql }) => sql.startsWith('delete')), row: 0 };
    };
    const { transactions } = overDatabase(fixture.core, Object.assign(Object.create(database), { commit }));
    await transactions.run({ origin: BY_TEST }, (transaction) =>
      fixture.parts.signIn.signOut(transaction, old.session, VISITOR),
    );
    assert.ok(renewed !== undefined);
    assert.deepEqual([await find(old.secret), await find(renewed.secret)], [undefined, undefined]);
    assert.equal((await fixture.audited(account)).at(-1), 'person.signed-out success');
  });

  test('is not undone by an earlier request that ends all other sessions', async () => {
    const [other, old] = [await fixture.signIn(ana), await fixture.signIn(ana)];
    const renewed = await stepUp(old);
    await fixture.run((transaction) => fixture.parts.sessions.revokeOthers(transaction, old.session));
    assert.equal(await find(other.secret), undefined);
    assert.equal(await find(old.secret), undefined);
    assert.equal((await find(renewed.secret))?.id, old.session.id);
  });
});

describe('the sessions of a user', () => {
  test('are limited, and a new one ends the oldest', async () => {
    const fixture = await openPeopleFixture();
    const account = await fixture.newAccount();
    const ana = await fixture.newPerson({ account, role: 'owner' });
    const grants = [ana.grant];
    while (grants.length < LIMITS.sessionsPerPerson) {
      fixture.advance(SECOND);
      const { write, ...grant } = await buildSession(fixture.core, {
        person: ana.id,
        stage: 'signed-in',
        client: VISITOR,
      });
      await fixture.core.database.commit({ writes: [write] });
      grants.push(grant);
    }
    grants.push(await fixture.signIn(ana));
    const alive = await Promise.all(grants.map(({ secret }) => fixture.parts.sessions.find(secret)));
    assert.deepEqual(
      alive.map((session) => session !== undefined),
      grants.map((_, index) => index > 0),
    );
    assert.equal((await fixture.parts.sessions.list(ana.id)).length, LIMITS.sessionsPerPerson);
    await fixture.stop();
  });
});
