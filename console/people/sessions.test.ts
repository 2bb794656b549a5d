import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { HOUR, MINUTE, SECOND } from '../../src/kernel/clock.ts';
import { integer } from '../../src/storage/database.ts';
import {
  assertFails,
  openPeopleFixture,
  type PeopleFixture,
  type TestUser,
  VISITOR,
} from '../../test/fixtures/people-fixture.ts';
import { assertSteppedUp, isCsrfToken } from './session.ts';

describe('sessions', () => {
  let fixture: PeopleFixture;
  let account: string;
  let ana: TestUser;
  before(async () => {
    fixture = await openPeopleFixture();
    account = await fixture.newAccount();
    ana = await fixture.newPerson({ account, role: 'owner' });
  });
  after(() => fixture.stop());

  const find = (secret: string, isPassive = false) => fixture.parts.sessions.find(secret, { isPassive });
  const rows = async (): Promise<number> =>
    integer((await fixture.core.database.read('select count(*) as n from sessions'))[0] ?? {}, 'n');

  test('end after 15 minutes without activity of the user', async () => {
    const { secret } = await fixture.signIn(ana);
    fixture.advance(14 * MINUTE);
    assert.ok(await find(secret));
    fixture.advance(14 * MINUTE);
    assert.ok(await find(secret), 'the sign before counts');
    fixture.advance(15 * MINUTE);
    assert.equal(await find(secret), undefined);
  });

  test('are not extended by automatic calls of the browser', async () => {
    const { secret } = await fixture.signIn(ana);
    for (let minutes = 0; minutes < 14; minutes += 2) {
      fixture.advance(2 * MINUTE);
      assert.ok(await find(secret, true));
    }
    fixture.advance(MINUTE);
    assert.equal(await find(secret, true), undefined);
  });

  test('end after 12 hours, even with activity', async () => {
    const { secret } = await fixture.signIn(ana);
    for (let minutes = 0; minutes < 12 * 60 - 10; minutes += 10) {
      fixture.advance(10 * MINUTE);
      assert.ok(await find(secret), `${minutes}`);
    }
    fixture.advance(10 * MINUTE);
    assert.equal(await find(secret), undefined);
  });

  test('end after 5 minutes between the factors', async () => {
    const { session, secret } = await fixture.parts.signIn.submitPassword(ana, VISITOR);
    fixture.advance(4 * MINUTE);
    assert.equal((await find(secret))?.stage, 'password-given');
    fixture.advance(MINUTE);
    assert.equal(await find(secret), undefined);
    const proof = { kind: 'totp', code: fixture.newCode(ana) } as const;
    await assertFails('not_signed_in', fixture.parts.signIn.submitFactor(session, proof, VISITOR));
  });

  test('record activity at most every 30 seconds', async () => {
    const { secret, session } = await fixture.signIn(ana);
    fixture.advance(20 * SECOND);
    assert.equal((await find(secret))?.lastActiveAt, session.lastActiveAt);
    fixture.advance(20 * SECOND);
    const seen = (await find(secret))?.lastActiveAt ?? 0;
    assert.ok(seen >= session.lastActiveAt + 40 * SECOND);
    assert.equal((await find(secret, true))?.lastActiveAt, seen);
  });

  test('are found by their secret only', async () => {
    const { secret } = await fixture.signIn(ana);
    const other = secret.startsWith('A') ? 'B' : 'A';
    for (const wrong of [
      undefined,
      '',
      `${other}${secret.slice(1)}`,
      secret.slice(1),
      `${secret}A`,
      'x'.repeat(10_000),
    ])
      assert.equal(await fixture.parts.sessions.find(wrong), undefined);
    const [row] = await fixture.core.database.read('select * from sessions order by created_at desc limit 1');
    assert.equal(JSON.stringify(Object.values(row ?? {}).map(String)).includes(secret), false);
  });

  test('have a CSRF token', async () => {
    const [one, other] = [await fixture.signIn(ana), await fixture.signIn(ana)];
    assert.equal(isCsrfToken(one.session, one.session.csrf), true);
    for (const wrong of [undefined, '', other.session.csrf, one.secret, `${one.session.csrf} `])
      assert.equal(isCsrfToken(one.session, wrong), false);
    assert.equal((await find(one.secret))?.csrf, one.session.csrf);
  });

  test('count as stepped up at sign-in, for 5 minutes', async () => {
    const issued = await fixture.parts.signIn.submitPassword(ana, VISITOR);
    assert.throws(() => assertSteppedUp(issued.session, fixture.now()), /not signed in/);
    const { session } = await fixture.signIn(ana);
    assertSteppedUp(session, fixture.now());
    assert.throws(() => assertSteppedUp(session, fixture.now() + 5 * MINUTE), /Confirm/);
  });

  test('of a user are listed, newest first, with browser and address, and ended one by one or together', async () => {
    fixture.advance(HOUR);
    const client = { address: '198.51.100.4', userAgent: `Long/${'x'.repeat(300)}\u0000` };
    const first = await fixture.signIn(ana);
    const { session: issued } = await fixture.parts.signIn.submitPassword(ana, client);
    const proof = { kind: 'totp', code: fixture.newCode(ana) } as const;
    const second = await fixture.parts.signIn.submitFactor(issued, proof, client);
    const third = await fixture.signIn(ana);
    const bob = await fixture.newPerson({ account, role: 'analyst' });
    const listed = await fixture.parts.sessions.list(ana.id);
    assert.deepEqual(
      listed.map(({ id }) => id),
      [third, second, first].map(({ session }) => session.id),
    );
    assert.equal(listed[1]?.address, client.address);
    assert.equal(listed[1]?.userAgent, `Long/${'x'.repeat(250)}`);
    await assertFails(
      'unknown_record',
      fixture.run((transaction) => fixture.parts.sessions.revoke(transaction, bob.grant.session, first.session.id)),
    );
    await fixture.run((transaction) => fixture.parts.sessions.revoke(transaction, third.session, first.session.id));
    assert.equal(await find(first.secret), undefined);
    await assertFails(
      'unknown_record',
      fixture.run((transaction) => fixture.parts.sessions.revoke(transaction, third.session, first.session.id)),
    );
    await fixture.run((transaction) => fixture.parts.sessions.revokeOthers(transaction, third.session));
    assert.equal(await find(second.secret), undefined);
    assert.ok(await find(third.secret));
    assert.ok(await find(bob.grant.secret), 'of others stay');
    assert.equal((await fixture.audited('')).filter((line) => line === 'session.revoked success').length, 2);
  });

  test('that have expired are swept, and active ones remain', async () => {
    fixture.advance(HOUR);
    while ((await fixture.parts.sessions.sweep(fixture.now())) > 0);
    assert.equal(await rows(), 0);
    const { secret } = await fixture.signIn(ana);
    await fixture.parts.signIn.submitPassword(ana, VISITOR);
    fixture.advance(6 * MINUTE);
    assert.equal(await fixture.parts.sessions.sweep(fixture.now()), 1);
    assert.ok(await find(secret));
    fixture.advance(15 * MINUTE);
    assert.equal(await fixture.parts.sessions.sweep(fixture.now()), 1);
  });
});
