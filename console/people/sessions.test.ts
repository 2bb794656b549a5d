import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { HOUR, MINUTE, SECOND } from '../../src/kernel/clock.ts';
import { integer } from '../../src/storage/database.ts';
import { openPeopleHouse, type PeopleHouse, refuses, type Somebody, VISITOR } from '../../test/people-house.ts';
import { isCsrf, mustBeSteppedUp } from './session.ts';

describe('sessions', () => {
  let house: PeopleHouse;
  let account: string;
  let ana: Somebody;
  before(async () => {
    house = await openPeopleHouse();
    account = await house.newAccount();
    ana = await house.newPerson({ account, role: 'owner' });
  });
  after(() => house.stop());

  const find = (secret: string, passive = false) => house.parts.sessions.find(secret, { passive });
  const rows = async (): Promise<number> =>
    integer((await house.core.database.read('select count(*) as n from sessions'))[0] ?? {}, 'n');

  test('end after 15 minutes without a sign of the person', async () => {
    const { secret } = await house.signIn(ana);
    house.advance(14 * MINUTE);
    assert.ok(await find(secret));
    house.advance(14 * MINUTE);
    assert.ok(await find(secret), 'the sign before counts');
    house.advance(15 * MINUTE);
    assert.equal(await find(secret), undefined);
  });

  test('are not kept alive by what the browser does by itself', async () => {
    const { secret } = await house.signIn(ana);
    for (let minutes = 0; minutes < 14; minutes += 2) {
      house.advance(2 * MINUTE);
      assert.ok(await find(secret, true));
    }
    house.advance(MINUTE);
    assert.equal(await find(secret, true), undefined);
  });

  test('end after 12 hours, whatever the person does', async () => {
    const { secret } = await house.signIn(ana);
    for (let minutes = 0; minutes < 12 * 60 - 10; minutes += 10) {
      house.advance(10 * MINUTE);
      assert.ok(await find(secret), `${minutes}`);
    }
    house.advance(10 * MINUTE);
    assert.equal(await find(secret), undefined);
  });

  test('between the factors end after 5 minutes', async () => {
    const { session, secret } = await house.parts.signIn.givePassword(ana, VISITOR);
    house.advance(4 * MINUTE);
    assert.equal((await find(secret))?.stage, 'password-given');
    house.advance(MINUTE);
    assert.equal(await find(secret), undefined);
    const proof = { kind: 'totp', code: house.newCode(ana) } as const;
    await refuses('not_signed_in', house.parts.signIn.giveFactor(session, proof, VISITOR));
  });

  test('are seen at most every half minute', async () => {
    const { secret, session } = await house.signIn(ana);
    house.advance(20 * SECOND);
    assert.equal((await find(secret))?.seenAt, session.seenAt);
    house.advance(20 * SECOND);
    const seen = (await find(secret))?.seenAt ?? 0;
    assert.ok(seen >= session.seenAt + 40 * SECOND);
    assert.equal((await find(secret, true))?.seenAt, seen);
  });

  test('are not found by anything but the secret', async () => {
    const { secret } = await house.signIn(ana);
    const other = secret.startsWith('A') ? 'B' : 'A';
    for (const wrong of [
      undefined,
      '',
      `${other}${secret.slice(1)}`,
      secret.slice(1),
      `${secret}A`,
      'x'.repeat(10_000),
    ])
      assert.equal(await house.parts.sessions.find(wrong), undefined);
    const [row] = await house.core.database.read('select * from sessions order by created_at desc limit 1');
    assert.equal(JSON.stringify(Object.values(row ?? {}).map(String)).includes(secret), false);
  });

  test('have a word of their own against forged requests', async () => {
    const [one, other] = [await house.signIn(ana), await house.signIn(ana)];
    assert.equal(isCsrf(one.session, one.session.csrf), true);
    for (const wrong of [undefined, '', other.session.csrf, one.secret, `${one.session.csrf} `])
      assert.equal(isCsrf(one.session, wrong), false);
    assert.equal((await find(one.secret))?.csrf, one.session.csrf);
  });

  test('count for stepping up when they are signed in, and then for 5 minutes', async () => {
    const given = await house.parts.signIn.givePassword(ana, VISITOR);
    assert.throws(() => mustBeSteppedUp(given.session, house.now()), /not signed in/);
    const { session } = await house.signIn(ana);
    mustBeSteppedUp(session, house.now());
    assert.throws(() => mustBeSteppedUp(session, house.now() + 5 * MINUTE), /Confirm/);
  });

  test('of a person are listed, newest first, with browser and address, and ended one by one or together', async () => {
    house.advance(HOUR);
    const visitor = { address: '198.51.100.4', userAgent: `Long/${'x'.repeat(300)}\u0000` };
    const first = await house.signIn(ana);
    const { session: given } = await house.parts.signIn.givePassword(ana, visitor);
    const proof = { kind: 'totp', code: house.newCode(ana) } as const;
    const second = await house.parts.signIn.giveFactor(given, proof, visitor);
    const third = await house.signIn(ana);
    const bob = await house.newPerson({ account, role: 'analyst' });
    const listed = await house.parts.sessions.list(ana.id);
    assert.deepEqual(
      listed.map(({ id }) => id),
      [third, second, first].map(({ session }) => session.id),
    );
    assert.equal(listed[1]?.address, visitor.address);
    assert.equal(listed[1]?.userAgent, `Long/${'x'.repeat(250)}`);
    await refuses('unknown_record', house.parts.sessions.revoke(bob.grant.session, first.session.id, VISITOR));
    await house.parts.sessions.revoke(third.session, first.session.id, VISITOR);
    assert.equal(await find(first.secret), undefined);
    await refuses('unknown_record', house.parts.sessions.revoke(third.session, first.session.id, VISITOR));
    await house.parts.sessions.revokeOthers(third.session, VISITOR);
    assert.equal(await find(second.secret), undefined);
    assert.ok(await find(third.secret));
    assert.ok(await find(bob.grant.secret), 'of others stay');
    assert.equal((await house.audited('')).filter((line) => line === 'session.revoked success').length, 2);
  });

  test('that have ended are swept, and open ones stay', async () => {
    house.advance(HOUR);
    while ((await house.parts.sessions.sweep(house.now())) > 0);
    assert.equal(await rows(), 0);
    const { secret } = await house.signIn(ana);
    await house.parts.signIn.givePassword(ana, VISITOR);
    house.advance(6 * MINUTE);
    assert.equal(await house.parts.sessions.sweep(house.now()), 1);
    assert.ok(await find(secret));
    house.advance(15 * MINUTE);
    assert.equal(await house.parts.sessions.sweep(house.now()), 1);
  });
});
