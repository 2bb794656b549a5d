import assert from 'node:assert/strict';
import { argon2Sync } from 'node:crypto';
import { after, before, beforeEach, describe, test } from 'node:test';
import {
  codeAt,
  openPeopleHouse,
  type PeopleHouse,
  refuses,
  type Somebody,
  VISITOR,
  wrongCodeAt,
} from '../../test/people-house.ts';
import { MINUTE } from '../kernel/clock.ts';
import { LIMITS } from '../kernel/limits.ts';
import { findPerson, updatePerson } from './person-store.ts';
import { digestFor } from './sealing.ts';
import { isSteppedUp, type Session } from './session.ts';

let house: PeopleHouse;
let account: string;
let ana: Somebody;
before(async () => {
  house = await openPeopleHouse();
});
after(() => house.stop());
beforeEach(async () => {
  account = await house.newAccount();
  ana = await house.newPerson({ account, role: 'owner' });
});

const password = (given: { email: string; password: string } = ana) => house.parts.signIn.givePassword(given, VISITOR);
const wrongPassword = () => refuses('sign_in_refused', password({ email: ana.email, password: 'not the one 12' }));
const totp = (session: Session, code: string) =>
  house.parts.signIn.giveFactor(session, { kind: 'totp', code }, VISITOR);
const wrongCode = async () => {
  const { session } = await password();
  await refuses('sign_in_refused', totp(session, wrongCodeAt(ana.totp, house.now())));
};

describe('signing in', () => {
  test('takes the password, however the e-mail address is written, and then a code', async () => {
    const { secret, session } = await password({ ...ana, email: ` ${ana.email.toUpperCase()}` });
    assert.equal(session.stage, 'password-given');
    assert.deepEqual(await house.parts.signIn.offered(session), { totp: true, passkeys: 0, recoveryCodes: 10 });
    const grant = await totp(session, house.newCode(ana));
    assert.equal(grant.session.stage, 'signed-in');
    assert.equal(grant.session.person, ana.id);
    assert.notEqual(grant.secret, secret);
    assert.notEqual(grant.session.csrf, session.csrf);
    assert.equal(await house.parts.sessions.find(secret), undefined, 'what was known before is worth nothing');
    assert.equal((await house.parts.sessions.find(grant.secret))?.id, grant.session.id);
    await refuses('not_signed_in', totp(session, house.newCode(ana)));
  });

  test('is in the log of every account of the person, and why it was refused', async () => {
    await wrongPassword();
    await wrongCode();
    await house.signIn(ana);
    assert.deepEqual(
      (await house.audited(account)).filter((line) => /sign/.test(line)),
      [
        'person.signed-in success',
        'person.sign-in-refused password_wrong',
        'person.sign-in-refused code_wrong',
        'person.signed-in success',
      ],
    );
    const records = JSON.stringify([...(await house.records(account)), ...(await house.records(''))]);
    for (const secret of [ana.email, ana.password, ana.totp, ...ana.recoveryCodes])
      assert.equal(records.includes(secret), false);
    const refused = (await house.records(account)).find(({ action }) => action === 'person.sign-in-refused');
    assert.deepEqual(refused?.actor, { type: 'unknown' });
    assert.deepEqual(refused?.targets, [`person:${ana.id}`]);
    assert.equal(refused?.address, VISITOR.address);
  });

  test('of nobody is the same answer, after as long a time, and is in the log of the service', async () => {
    const took = async (email: string): Promise<number> => {
      const times: number[] = [];
      for (let index = 0; index < 3; index++) {
        const start = performance.now();
        await refuses('sign_in_refused', password({ email, password: 'not the one 12' }));
        times.push(performance.now() - start);
      }
      return Math.min(...times);
    };
    const [known, unknown] = [await took(ana.email), await took('nobody@example.com')];
    assert.ok(unknown > known / 3, `${unknown} ms and ${known} ms`);
    assert.equal((await house.audited('')).at(-1), 'person.sign-in-refused person_unknown');
  });

  test('with no code of the person in the session of another is refused', async () => {
    const other = await house.newPerson({ account, role: 'analyst' });
    const { session } = await password();
    await refuses('sign_in_refused', totp(session, house.newCode(other)));
    const [code = ''] = other.recoveryCodes;
    await refuses('sign_in_refused', house.parts.signIn.giveFactor(session, { kind: 'recovery-code', code }, VISITOR));
  });

  test('keeps a hash with the parameters of today', async () => {
    const { database, keyring } = house.core;
    const before = await findPerson(database, keyring, ana.id);
    assert.ok(before !== undefined);
    const old = { memory: 8192, passes: 1, parallelism: 1 };
    const message = await digestFor(keyring, 'password', ana.password);
    const nonce = Buffer.from(before.password.salt, 'base64');
    const tag = argon2Sync('argon2id', { message, nonce, ...old, tagLength: 32 }).toString('base64');
    const { write } = await updatePerson(keyring, before, { password: { ...before.password, ...old, tag } });
    await database.commit({ writes: [write] });
    await house.signIn(ana);
    const after = await findPerson(database, keyring, ana.id);
    assert.equal(after?.password.memory, 47_104);
    await house.signIn(ana);
  });
});

describe('a code', () => {
  test('is good once, also for two requests at the same moment', async () => {
    const sessions = await Promise.all([password(), password()]);
    const code = house.newCode(ana);
    const done = await Promise.allSettled(sessions.map(({ session }) => totp(session, code)));
    assert.deepEqual(done.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
    assert.ok((await house.audited(account)).includes('person.sign-in-refused code_used'));
    const { session } = await password();
    await refuses('sign_in_refused', totp(session, code));
  });

  test('that is older than the last one used is not taken', async () => {
    house.advance(MINUTE);
    const older = codeAt(ana.totp, house.now() - 30_000);
    const { session } = await password();
    const newest = codeAt(ana.totp, house.now());
    await totp(session, newest);
    const { session: next } = await password();
    await refuses('sign_in_refused', totp(next, older));
  });

  test('of recovery is good once, however it is typed, also for two requests at the same moment', async () => {
    const [code = '', second = ''] = ana.recoveryCodes;
    assert.match(code, /^[a-z1-9]{4}(-[a-z1-9]{4}){3}$/);
    assert.equal(new Set(ana.recoveryCodes).size, 10);
    const give = async (text: string) => {
      const { session } = await password();
      return house.parts.signIn.giveFactor(session, { kind: 'recovery-code', code: text }, VISITOR);
    };
    const done = await Promise.allSettled([give(code), give(code.toUpperCase().replaceAll('-', ' '))]);
    assert.deepEqual(done.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
    await refuses('sign_in_refused', give(code));
    const { session } = await give(second);
    assert.equal((await house.parts.signIn.offered(session)).recoveryCodes, 8);
  });
});

describe('ten wrong ones in a row', () => {
  test('lock the person for half an hour, in which the right ones are wrong too', async () => {
    for (let index = 0; index < 5; index++) await wrongPassword();
    for (let index = 0; index < 4; index++) await wrongCode();
    const { session } = await password();
    await wrongPassword();
    assert.ok((await house.audited(account)).includes('person.locked success'));
    assert.equal((await house.parts.people.profile(ana.id))?.locked, true);
    await refuses('sign_in_refused', password());
    await refuses('sign_in_refused', totp(session, house.newCode(ana)));
    assert.equal((await house.audited(account)).at(-1), 'person.sign-in-refused person_locked');
    house.advance(30 * MINUTE);
    await wrongPassword();
    await house.signIn(ana);
  });

  test('are counted across right passwords, and forgotten after a whole sign-in only', async () => {
    for (let index = 0; index < 9; index++) await wrongCode();
    await house.signIn(ana);
    for (let index = 0; index < 9; index++) await wrongPassword();
    await password();
    await wrongPassword();
    await refuses('sign_in_refused', password());
  });

  test('are as many when they come at once', async () => {
    const { session } = await password();
    const wrong = wrongCodeAt(ana.totp, house.now());
    await Promise.allSettled(Array.from({ length: 30 }, () => totp(session, wrong)));
    const outcomes = (await house.records(account)).filter(({ action }) => action === 'person.sign-in-refused');
    const count = (word: string): number => outcomes.filter(({ outcome }) => outcome === word).length;
    assert.equal(count('code_wrong'), LIMITS.signInFailures);
    assert.equal(count('person_locked'), 1, 'the others are counted');
    await house.parts.repeats.flush({ all: true });
    const last = (await house.records(account)).at(-1);
    assert.deepEqual([last?.outcome, last?.detail], ['person_locked', { times: 30 - LIMITS.signInFailures - 1 }]);
    await refuses('sign_in_refused', totp(session, house.newCode(ana)));
  });

  test('are forgotten when an operator unlocks the person', async () => {
    for (let index = 0; index < 10; index++) await wrongCode().catch(() => undefined);
    assert.equal((await house.parts.people.profile(ana.id))?.locked, true);
    await house.parts.people.unlock(ana.id, { actor: { type: 'operator', name: 'test' } });
    await house.signIn(ana);
    assert.ok((await house.audited(account)).includes('person.unlocked success'));
  });
});

describe('stepping up', () => {
  test('takes a second factor of the person, and counts wrong ones', async () => {
    const { session } = await house.signIn(ana);
    house.advance(6 * MINUTE);
    const { parts } = house;
    assert.equal(isSteppedUp(session, house.now()), false);
    const wrong = { kind: 'totp', code: wrongCodeAt(ana.totp, house.now()) } as const;
    await refuses('sign_in_refused', parts.signIn.stepUp(session, wrong, VISITOR));
    const stepped = await parts.signIn.stepUp(session, { kind: 'totp', code: house.newCode(ana) }, VISITOR);
    assert.equal(isSteppedUp(stepped.session, house.now()), true);
    const found = await parts.sessions.find(stepped.secret);
    assert.ok(found !== undefined && isSteppedUp(found, house.now()));
    house.advance(5 * MINUTE);
    assert.equal(isSteppedUp(found, house.now()), false);
    assert.ok((await house.audited(account)).includes('person.stepped-up success'));
  });

  test('needs somebody who is signed in', async () => {
    const { session } = await password();
    const proof = { kind: 'totp', code: house.newCode(ana) } as const;
    await assert.rejects(house.parts.signIn.stepUp(session, proof, VISITOR), /not signed in/);
  });
});

describe('signing out', () => {
  test('ends the session at once', async () => {
    const { session, secret } = await house.signIn(ana);
    await house.parts.signIn.signOut(session, VISITOR);
    assert.equal(await house.parts.sessions.find(secret), undefined);
    assert.equal((await house.audited(account)).at(-1), 'person.signed-out success');
    await house.parts.signIn.signOut(session, VISITOR);
  });
});
