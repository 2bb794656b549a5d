import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { HOUR, MINUTE } from '../../src/kernel/clock.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { commitOrThrow, type Value, write } from '../../src/storage/database.ts';
import {
  assertFails,
  codeAt,
  openPeopleFixture,
  type PeopleFixture,
  type TestUser,
  VISITOR,
} from '../../test/fixtures/people-fixture.ts';
import { OPERATOR } from './roles.ts';

/** An attacker with write access to the database and without the root key gains no identity and no access. */
describe('a database that an attacker wrote to', () => {
  let fixture: PeopleFixture;
  let account: string;
  let ana: TestUser;
  let mallory: TestUser;
  before(async () => {
    fixture = await openPeopleFixture();
  });
  after(() => fixture.stop());
  beforeEach(async () => {
    account = await fixture.newAccount();
    ana = await fixture.newPerson({ account, role: 'owner' });
    mallory = await fixture.newPerson({ account: await fixture.newAccount(), role: 'owner' });
  });

  const run = (sql: string, ...values: Value[]) =>
    commitOrThrow(fixture.core.database, { writes: [write(sql, values)] });
  const column = async (sql: string, ...values: Value[]): Promise<Value> => {
    const [row] = await fixture.core.database.read(sql, ...values);
    const [value] = Object.values(row ?? {});
    assert.ok(value !== undefined);
    return value;
  };
  const password = ({ email, password }: TestUser) => fixture.parts.signIn.submitPassword({ email, password }, VISITOR);

  test('grants no role', async () => {
    const { team } = fixture.parts;
    const bob = await fixture.newPerson({ account, role: 'auditor' });
    await run("update memberships set role = 'owner' where account = ?account and person = ?", account, bob.id);
    assert.equal(await team.findRole(account, bob.id), undefined);
    await run('update memberships set account = ?account where person = ?', account, mallory.id);
    assert.equal(await team.findRole(account, mallory.id), undefined);
    const seal = await column('select mac from memberships where person = ?', ana.id);
    const insert = 'insert into memberships (account, person, role, mac, created_at) values (?account, ?, ?, ?, 1)';
    await run(insert, '', mallory.id, 'operator', seal);
    assert.deepEqual(await team.listMembershipsOf(mallory.id), []);
    assert.deepEqual(
      (await team.members(account)).map(({ person }) => person),
      [ana.id],
    );
    assert.equal((await team.members('')).length, 0);
  });

  test('gives no user the password of another', async () => {
    const record = await column('select record from people where id = ?', mallory.id);
    await run('update people set record = ?, revision = 1 where id = ?', record, ana.id);
    await assertFails('sign_in_refused', password({ ...ana, password: mallory.password }));
    await assertFails('sign_in_refused', password(ana));
    const email = await column('select email from people where id = ?', ana.id);
    await run('update people set email = ? where id = ?', Buffer.from('unknown'), ana.id);
    await run('update people set email = ? where id = ?', email, mallory.id);
    await assertFails('sign_in_refused', password({ ...mallory, email: ana.email }));
  });

  test('gives no user the second factor of another', async () => {
    await run('delete from factors where person = ?', ana.id);
    await run('update factors set person = ? where person = ?', ana.id, mallory.id);
    const { session } = await password(ana);
    assert.deepEqual(await fixture.parts.signIn.availableFactors(session), {
      totp: false,
      passkeys: 0,
      recoveryCodes: 0,
    });
    const proof = { kind: 'totp', code: fixture.newCode(mallory) } as const;
    await assertFails('sign_in_refused', fixture.parts.signIn.submitFactor(session, proof, VISITOR));
  });

  test('advances no session, moves it to no other user, and extends none', async () => {
    const { secret } = await password(ana);
    const changes: [string, ...Value[]][] = [
      ["update sessions set stage = 'signed-in' where person = ?", ana.id],
      ['update sessions set person = ? where person = ?', mallory.id, ana.id],
      ['update sessions set expires_at = expires_at + 1 where person = ?', ana.id],
      ['update sessions set stepped_up_at = ? where person = ?', fixture.now(), ana.id],
    ];
    for (const [sql, ...values] of changes) {
      const own = await password(ana);
      assert.ok(await fixture.parts.sessions.find(own.secret));
      await run(sql, ...values);
      assert.equal(await fixture.parts.sessions.find(own.secret), undefined, sql);
      assert.equal(await fixture.parts.sessions.find(secret), undefined, sql);
      await run('delete from sessions');
    }
    const signedIn = await fixture.signIn(mallory);
    const digest = Buffer.from(signedIn.session.digest);
    await fixture.signIn(ana);
    await run('delete from sessions where digest = ?', digest);
    await run('update sessions set digest = ? where person = ?', digest, ana.id);
    assert.equal(await fixture.parts.sessions.find(signedIn.secret), undefined, 'a cookie of one’s own opens no other');
  });

  test('turns back no counter of a factor: a used code stays used', async () => {
    const code = fixture.newCode(ana);
    const [recovery = ''] = ana.recoveryCodes;
    const give = async (kind: 'totp' | 'recovery-code', text: string) => {
      const { session } = await password(ana);
      return fixture.parts.signIn.submitFactor(session, { kind, code: text }, VISITOR);
    };
    await give('totp', code);
    await give('recovery-code', recovery);
    await run('update factors set counter = counter - 1, last_used_at = null where person = ?', ana.id);
    await assertFails('sign_in_refused', give('totp', code));
    await assertFails('sign_in_refused', give('recovery-code', recovery));
    const { session } = await password(ana);
    assert.deepEqual(await fixture.parts.signIn.availableFactors(session), {
      totp: false,
      passkeys: 0,
      recoveryCodes: 0,
    });
  });

  test('ends no lock, enables no user and unblocks no password: sign-ins are refused until a credential reset', async () => {
    const { team, signIn, invitations, enrollment } = fixture.parts;
    const wrong = { email: ana.email, password: 'not the one 12' };
    for (let index = 0; index < LIMITS.signInFailures; index++)
      await assertFails('sign_in_refused', signIn.submitPassword(wrong, VISITOR));
    const read = 'select record, last_sign_in_at from sign_in_states where person = ?';
    const [own] = await fixture.core.database.read(read, ana.id);
    const [other] = await fixture.core.database.read(read, mallory.id);
    assert.ok(own !== undefined && other !== undefined);
    const restore = 'update sign_in_states set record = ?, last_sign_in_at = ?, disabled_at = null where person = ?';
    const changes: [string, ...Value[]][] = [
      ['update sign_in_states set last_sign_in_at = last_sign_in_at + 1 where person = ?', ana.id],
      ['update sign_in_states set disabled_at = 1 where person = ?', ana.id],
      [restore, other['record'] ?? null, other['last_sign_in_at'] ?? null, ana.id],
      ['delete from sign_in_states where person = ?', ana.id],
    ];
    for (const [sql, ...values] of changes) {
      await run(sql, ...values);
      assert.equal((await team.member(account, ana.id)).signIn, 'altered', sql);
      await assertFails('sign_in_refused', signIn.submitPassword(ana, { ...VISITOR, address: '203.0.113.1' }));
      await assertFails(
        'not_possible',
        fixture.run((transaction) => fixture.parts.people.unlock(transaction, ana.id)),
      );
      await run(restore, own['record'] ?? null, own['last_sign_in_at'] ?? null, ana.id);
    }
    await fixture.newAccount();
    const refused = (await fixture.records(account)).map(({ outcome }) => outcome);
    assert.ok(refused.includes('state_altered'));
    const link = await fixture.run((transaction) => invitations.reset(transaction, ana.id, { account, role: 'owner' }));
    const input = { secret: link.secret, language: 'en', password: 'another good one 55' };
    const { session } = await fixture.run((transaction) => enrollment.begin(transaction, input, VISITOR));
    const { secret } = enrollment.totp(session);
    await fixture.run((transaction) =>
      enrollment.confirmTotp(transaction, session, codeAt(secret, fixture.now()), VISITOR),
    );
    assert.equal((await team.member(account, ana.id)).signIn, 'active');
    await signIn.submitPassword({ ...ana, password: input.password }, VISITOR);
  });

  test('makes no factor older, which would let its user decide earlier requests', async () => {
    await run('update factors set created_at = created_at - 1 where person = ?', ana.id);
    const { session } = await password(ana);
    assert.equal((await fixture.parts.signIn.availableFactors(session)).totp, false);
  });

  test('makes no member older', async () => {
    await run('update memberships set created_at = created_at - 1 where person = ?', ana.id);
    assert.equal(await fixture.parts.team.findRole(account, ana.id), undefined);
    await run('update memberships set created_at = created_at + 1 where person = ?', ana.id);
    assert.equal(await fixture.parts.team.findRole(account, ana.id), 'owner');
  });

  test('continues no session after the time without activity', async () => {
    const { secret } = await fixture.signIn(ana);
    fixture.advance(16 * MINUTE);
    await run('update sessions set last_active_at = ? where person = ?', fixture.now(), ana.id);
    assert.equal(await fixture.parts.sessions.find(secret), undefined);
    assert.equal((await fixture.parts.sessions.listLastActivity(account)).get(ana.id), undefined);
  });

  test('is not authenticated again by an update: a changed row remains invalid', async () => {
    const { session } = await fixture.signIn(ana);
    await run('update people set created_at = created_at - 1 where id = ?', ana.id);
    await assertFails(
      'not_signed_in',
      fixture.run((transaction) => fixture.parts.people.edit(transaction, session, { name: 'Ana B' })),
    );
    await run('update people set created_at = created_at + 1 where id = ?', ana.id);
    await fixture.run((transaction) => fixture.parts.people.edit(transaction, session, { name: 'Ana B' }));
  });

  test('makes no link valid for another account, another user, or longer', async () => {
    const { invitations, enrollment } = fixture.parts;
    const changes: [string, ...Value[]][] = [
      ['update invitations set account = 0 where id = ?'],
      ['update invitations set account = ?account where id = ?', account],
      ['update invitations set person = ? where id = ?', ana.id],
      ['update invitations set expires_at = ? where id = ?', fixture.now() + 1000 * HOUR],
    ];
    for (const [sql, ...values] of changes) {
      const to = { account: await fixture.newAccount(), role: 'owner', email: 'x@example.com' } as const;
      const link = await fixture.run((transaction) => invitations.invite(transaction, to, OPERATOR));
      await enrollment.showInvitation(link.secret);
      await run(sql, ...values, link.id);
      await assertFails('not_possible', enrollment.showInvitation(link.secret));
      await run('delete from invitations');
    }
  });

  test('contains no secret in clear', async () => {
    const { secret } = await fixture.signIn(ana);
    const link = await fixture.run((transaction) => fixture.parts.invitations.reset(transaction, ana.id, OPERATOR));
    const stored: Buffer[] = [];
    for (const table of ['people', 'sign_in_states', 'factors', 'memberships', 'invitations', 'sessions', 'journal'])
      for (const row of await fixture.core.database.read(`select * from ${table}`))
        for (const value of Object.values(row))
          stored.push(value instanceof Uint8Array ? Buffer.from(value) : Buffer.from(`${value}\n`));
    const all = Buffer.concat(stored);
    assert.ok(all.includes(ana.id));
    const secrets = [secret, link.secret, ana.email, ana.password, ana.totp, ...ana.recoveryCodes];
    for (const text of secrets) assert.equal(all.includes(text), false);
  });
});
