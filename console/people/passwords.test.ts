import assert from 'node:assert/strict';
import { argon2Sync } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { LIMITS } from '../../src/kernel/limits.ts';
import { assertFails, openPeopleFixture, type PeopleFixture } from '../../test/fixtures/people-fixture.ts';
import { type HashSource, Passwords } from './passwords.ts';

describe('hashes of passwords', () => {
  let fixture: PeopleFixture;
  let passwords: Passwords;
  before(async () => {
    fixture = await openPeopleFixture();
    passwords = new Passwords(fixture.core);
  });
  after(() => fixture.stop());

  test('are argon2id with the parameters of OWASP', async () => {
    const { tag, salt, ...parameters } = await passwords.hash('wide river 71 stones', 'network test');
    assert.deepEqual(parameters, { memory: 47_104, passes: 1, parallelism: 1 });
    const message = Buffer.from('wide river 71 stones');
    const nonce = Buffer.from(salt, 'base64');
    assert.equal(nonce.length, 16);
    const again = argon2Sync('argon2id', { message, nonce, ...parameters, tagLength: 32 });
    assert.equal(tag, again.toString('base64'));
  });

  test('differ for the same password, and match it only, in every Unicode form', async () => {
    const composed = 'crème brûlée 71';
    const [one, other] = [
      await passwords.hash(composed, 'network test'),
      await passwords.hash(composed, 'network test'),
    ];
    assert.notEqual(one.tag, other.tag);
    assert.equal(await passwords.verify(composed.normalize('NFD'), one, 'network test'), true);
    assert.equal(await passwords.verify('creme brulee 71', one, 'network test'), false);
    assert.equal(await passwords.verify(composed, { ...one, salt: other.salt }, 'network test'), false);
    assert.equal(await passwords.verify(composed, { ...one, tag: '' }, 'network test'), false);
    assert.equal(await passwords.verify(composed, undefined, 'network test'), false);
  });

  test('are checked with their stored parameters, which are recognized as outdated', async () => {
    const today = await passwords.hash('x', 'network test');
    const message = Buffer.from('x');
    const old = { memory: 8192, passes: 2, parallelism: 1, salt: today.salt };
    const nonce = Buffer.from(old.salt, 'base64');
    const tag = argon2Sync('argon2id', { message, nonce, memory: 8192, passes: 2, parallelism: 1, tagLength: 32 });
    assert.equal(await passwords.verify('x', { ...old, tag: tag.toString('base64') }, 'network test'), true);
    assert.equal(passwords.isOutdated({ ...old, tag: '' }), true);
    assert.equal(passwords.isOutdated(today), false);
  });

  test('are queued, and rejected beyond the limit of a source', async () => {
    const cheap = { memory: 8, passes: 1, parallelism: 1, salt: Buffer.alloc(16).toString('base64'), tag: '' };
    const most = LIMITS.concurrentPasswordHashes + LIMITS.queuedPasswordHashesPerSource;
    const all = await Promise.allSettled(
      Array.from({ length: most + 3 }, () => passwords.verify('x', cheap, 'network one')),
    );
    const refused = all.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []));
    assert.equal(refused.length, 3);
    for (const reason of refused) await assertFails('unavailable', Promise.reject(reason));
    assert.equal(await passwords.verify('x', cheap, 'network one'), false, 'the places are free again');
  });

  test('of one network do not delay later ones of another', async () => {
    const order: string[] = [];
    const started: (() => void)[] = [];
    const derive = (): Promise<Buffer<ArrayBuffer>> =>
      new Promise((resolve) => started.push(() => resolve(Buffer.alloc(32))));
    const fair = new Passwords({ ...fixture.core, derive });
    const verify = (source: HashSource) => fair.verify('x', undefined, source).then(() => order.push(source));
    const all = [
      ...Array.from({ length: 45 }, () => verify('network flood')),
      verify('network ana'),
      verify('network bob'),
    ];
    for (let index = 0; index < all.length; index++) {
      while (started.length === 0) await new Promise((resolve) => setImmediate(resolve));
      started.shift()?.();
    }
    await Promise.all(all);
    assert.ok(order.indexOf('network ana') <= LIMITS.concurrentPasswordHashes + 2, `${order.indexOf('network ana')}`);
    assert.ok(order.indexOf('network bob') <= LIMITS.concurrentPasswordHashes + 2, `${order.indexOf('network bob')}`);
  });

  test('of known browsers and of users do not wait for networks, however many there are', async () => {
    const started: (() => void)[] = [];
    const derive = (): Promise<Buffer<ArrayBuffer>> =>
      new Promise((resolve) => started.push(() => resolve(Buffer.alloc(32))));
    const busy = new Passwords({ ...fixture.core, derive });
    const count = LIMITS.concurrentPasswordHashes + LIMITS.queuedPasswordHashes;
    const flood = Promise.all(
      Array.from({ length: count }, (_, index) => busy.verify('x', undefined, `network ${index}`)),
    );
    await assertFails('unavailable', busy.verify('x', undefined, 'network late'));
    const known = Promise.all([busy.verify('x', undefined, 'browser ana'), busy.verify('x', undefined, 'user bob')]);
    let isKnownDone = false;
    known.then(() => (isKnownDone = true));
    for (let created = 0; created < count + 2; created++) {
      while (started.length === 0) await new Promise((resolve) => setImmediate(resolve));
      started.shift()?.();
      await new Promise((resolve) => setImmediate(resolve));
      if (created === 8) assert.equal(isKnownDone, true);
    }
    await Promise.all([flood, known]);
  });
});
