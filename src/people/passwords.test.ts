import assert from 'node:assert/strict';
import { argon2Sync } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { openPeopleHouse, type PeopleHouse, refuses } from '../../test/people-house.ts';
import { LIMITS } from '../kernel/limits.ts';
import { Passwords } from './passwords.ts';
import { digestFor } from './sealing.ts';

describe('hashes of passwords', () => {
  let house: PeopleHouse;
  let passwords: Passwords;
  before(async () => {
    house = await openPeopleHouse();
    passwords = new Passwords(house.core);
  });
  after(() => house.stop());

  test('are argon2id with the parameters of OWASP, over a keyed digest of the password', async () => {
    const { tag, salt, ...parameters } = await passwords.hash('wide river 71 stones');
    assert.deepEqual(parameters, { memory: 47_104, passes: 1, parallelism: 1 });
    const message = await digestFor(house.core.keyring, 'password', 'wide river 71 stones');
    const nonce = Buffer.from(salt, 'base64');
    assert.equal(nonce.length, 16);
    const again = argon2Sync('argon2id', { message, nonce, ...parameters, tagLength: 32 });
    assert.equal(tag, again.toString('base64'));
  });

  test('differ for the same password, and are right for it alone, however it is composed', async () => {
    const composed = 'crème brûlée 71';
    const [one, other] = [await passwords.hash(composed), await passwords.hash(composed)];
    assert.notEqual(one.tag, other.tag);
    assert.equal(await passwords.isRight(composed.normalize('NFD'), one), true);
    assert.equal(await passwords.isRight('creme brulee 71', one), false);
    assert.equal(await passwords.isRight(composed, { ...one, salt: other.salt }), false);
    assert.equal(await passwords.isRight(composed, { ...one, tag: '' }), false);
    assert.equal(await passwords.isRight(composed, undefined), false);
  });

  test('are checked with the parameters they were made with, which are seen to be old', async () => {
    const today = await passwords.hash('x');
    const message = await digestFor(house.core.keyring, 'password', 'x');
    const old = { memory: 8192, passes: 2, parallelism: 1, salt: today.salt };
    const nonce = Buffer.from(old.salt, 'base64');
    const tag = argon2Sync('argon2id', { message, nonce, memory: 8192, passes: 2, parallelism: 1, tagLength: 32 });
    assert.equal(await passwords.isRight('x', { ...old, tag: tag.toString('base64') }), true);
    assert.equal(passwords.isOutdated({ ...old, tag: '' }), true);
    assert.equal(passwords.isOutdated(today), false);
  });

  test('wait for one another, and beyond the queue are not made', async () => {
    const cheap = { memory: 8, passes: 1, parallelism: 1, salt: Buffer.alloc(16).toString('base64'), tag: '' };
    const most = LIMITS.hashesAtOnce + LIMITS.waitingHashes;
    const all = await Promise.allSettled(Array.from({ length: most + 3 }, () => passwords.isRight('x', cheap)));
    const refused = all.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []));
    assert.equal(refused.length, 3);
    for (const reason of refused) await refuses('unavailable', Promise.reject(reason));
    assert.equal(await passwords.isRight('x', cheap), false, 'the places are free again');
  });
});
