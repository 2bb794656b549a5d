import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  changeRole,
  inviteOperator,
  inviteOwner,
  inviteToTeam,
  removeFromTeam,
  removeOperator,
  resetAccountMember,
  resetMember,
  resetOperator,
  revokeAccountInvitation,
  revokeInvitation,
  revokeOperatorInvitation,
  showAccountTeam,
  showOperators,
  showTeam,
} from '../../console/wire/team.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import { assertRefused, executedResult } from './account-user.ts';
import { joinAccount, newPerson, signIn, type UserClient } from './console-client.ts';

let service: TestService;
let account: string;
let other: string;
let owner: UserClient;
let developer: UserClient;
let stranger: UserClient;
let operator: UserClient;

before(async () => {
  service = await startTestService();
  account = await service.newAccount('Tienda');
  other = await service.newAccount('Other');
  owner = await newPerson(service, account, 'owner', 'Ana');
  developer = await newPerson(service, account, 'developer', 'Ben');
  stranger = await newPerson(service, other, 'owner');
  operator = await newPerson(service, '', 'operator', 'Olga');
});
after(() => service.stop());

const team = async (client = owner) => (await client.call(showTeam, { params: { account } })).json;
const codeOf = ({ status, json }: { status: number; json: { code?: string } }) => [status, json.code];

describe('a team', () => {
  test('shows its members, since when, and whose credentials the caller may reset', async () => {
    const { people } = await team();
    const [first, second] = people;
    assert.deepEqual(
      [first.id, first.name, first.email, first.role, first.is_you, first.sign_in, first.may_reset],
      [owner.id, 'Ana', owner.email, 'owner', true, 'active', true],
    );
    assert.deepEqual([second.id, second.is_you, second.may_reset], [developer.id, false, true]);
    assert.ok(Math.abs(Date.parse(second.last_active_at) - service.now()) < 600_000);
    const away = await newPerson(service, account, 'auditor');
    await service.core.database.commit({
      writes: [{ sql: 'delete from sessions where person = ?', rows: [[away.id]] }],
    });
    const seen = (await team()).people.find(({ id }: { id: string }) => id === away.id);
    assert.equal(seen.last_active_at, null);
    await service.core.transactions.run({ origin: { actor: { type: 'operator' } } }, (transaction) =>
      service.console.people.team.remove(transaction, account, away.id),
    );
    const theirs = await team(developer);
    assert.deepEqual(
      theirs.people.map((person: { may_reset: boolean }) => person.may_reset),
      [false, false],
    );
  });

  test('can change a role, and keeps a last owner', async () => {
    const person = await newPerson(service, account, 'auditor');
    const params = { account, person: person.id };
    assert.deepEqual(executedResult(await owner.call(changeRole, { params, body: { role: 'analyst' } })), {
      done: true,
    });
    assert.equal(await service.console.people.team.findRole(account, person.id), 'analyst');
    const last = await owner.call(changeRole, { params: { account, person: owner.id }, body: { role: 'auditor' } });
    assert.deepEqual(codeOf(last), [400, 'not_possible']);
    const none = await owner.call(changeRole, { params, body: { role: 'operator' } });
    assert.deepEqual([none.status, none.json.field], [400, 'role']);
    assert.equal((await owner.call(removeFromTeam, { params })).status, 200);
    assert.equal(await service.console.people.team.findRole(account, person.id), undefined);
    await assert.rejects(signIn(person), /sign_in_refused/);
  });

  test('does not affect users of another account', async () => {
    const params = { account, person: stranger.id };
    const none = { account, person: 'person_00000000000000' };
    for (const definition of [changeRole, removeFromTeam, resetMember]) {
      const body = definition.body === undefined ? {} : { body: { role: 'auditor' } };
      const response = await owner.call(definition, { params, ...body });
      assert.deepEqual(codeOf(response), [404, 'unknown_record']);
      assert.equal(response.text, (await owner.call(definition, { params: none, ...body })).text);
    }
    assert.equal(await service.console.people.team.findRole(other, stranger.id), 'owner');
  });

  test('cannot reset the credentials of a user who also belongs to another account', async () => {
    const both = await newPerson(service, account, 'analyst');
    await joinAccount(both, other, 'auditor');
    const { people } = await team();
    assert.equal(people.find(({ id }: { id: string }) => id === both.id).may_reset, false);
    const response = await owner.call(resetMember, { params: { account, person: both.id } });
    assert.deepEqual(codeOf(response), [403, 'not_allowed']);
    const helped = await operator.call(resetAccountMember, { params: { id: account, person: both.id } });
    assert.equal(helped.status, 200, helped.text);
  });
});

describe('invitations', () => {
  test('are listed without their secret, and withdrawn', async () => {
    const email = 'new.person@example.com';
    const created = await owner.call(inviteToTeam, { params: { account }, body: { email, role: 'analyst' } });
    const [, secret = ''] = executedResult(created).url.split('#');
    const shown = await owner.call(showTeam, { params: { account } });
    assert.ok(secret.length > 40 && !shown.text.includes(secret));
    const [invitation] = shown.json.invitations;
    assert.deepEqual([invitation.email, invitation.role, invitation.invited_by], [email, 'analyst', 'Ana']);
    const stolen = await stranger.call(revokeInvitation, { params: { account: other, id: invitation.id } });
    assert.deepEqual(codeOf(stolen), [404, 'unknown_record']);
    const params = { account, id: invitation.id };
    assert.equal((await owner.call(revokeInvitation, { params })).status, 200);
    assert.equal((await owner.call(revokeInvitation, { params })).status, 404);
  });

  test('for a credential reset are listed with their user, one for each user', async () => {
    const person = await newPerson(service, account, 'auditor', 'Lola');
    const params = { account, person: person.id };
    executedResult(await owner.call(resetMember, { params }));
    const { url } = executedResult(await owner.call(resetMember, { params }));
    const own = (await team()).invitations;
    assert.deepEqual(
      own.map((each: Record<string, unknown>) => [each['person'], each['email'], each['role']]),
      [['Lola', person.email, null]],
    );
    const helped = await operator.call(resetAccountMember, { params: { id: account, person: person.id } });
    assert.notEqual(helped.json.url, url);
    assert.deepEqual((await team()).invitations, [], 'the newer one, of an operator, has taken its place');
    const { invitations } = (await operator.call(showOperators)).json;
    assert.deepEqual([invitations.at(-1).person, invitations.at(-1).email], ['Lola', person.email]);
    assert.equal((await owner.call(removeFromTeam, { params })).status, 200);
  });

  test('with an invalid field are rejected with its name, without its value', async () => {
    const params = { account };
    const response = await owner.call(inviteToTeam, { params, body: { email: 'no-address-at-all', role: 'analyst' } });
    assert.deepEqual([response.status, response.json.field], [400, 'email']);
    assert.ok(!response.text.includes('no-address-at-all'));
    const member = await owner.call(inviteToTeam, { params, body: { email: developer.email, role: 'owner' } });
    assert.deepEqual(codeOf(member), [400, 'not_possible']);
  });

  test('are for unambiguous addresses only', async () => {
    const params = { account };
    for (const local of ['ana\u200b', 'a\u202ena', '4111111111111111', '4111-1111-1111-1111', '\u0430na', 'an\u03b1']) {
      const email = `${local}@example.com`;
      const response = await owner.call(inviteToTeam, { params, body: { email, role: 'analyst' } });
      assertRefused(response, 'invalid_field', 'email', local);
    }
    for (const email of ['ana@ex\u0430mple.com', 'ana@example.\u0441om'])
      assertRefused(
        await owner.call(inviteToTeam, { params, body: { email, role: 'analyst' } }),
        'invalid_field',
        'email',
      );
    for (const email of ['\u0430\u043d\u043d\u0430@example.com', 'jos\u00e9@b\u00fccher.example'])
      executedResult(await owner.call(inviteToTeam, { params, body: { email, role: 'analyst' } }));
    const { invitations } = await team();
    for (const { id } of invitations) await owner.call(revokeInvitation, { params: { account, id } });
  });
});

describe('operators', () => {
  test('manage each other, and the last one remains', async () => {
    const created = await operator.call(inviteOperator, { body: { email: 'second@example.com' } });
    assert.equal(created.status, 200, created.text);
    const { json } = await operator.call(showOperators);
    assert.deepEqual(
      json.people.map(({ id, role }: { id: string; role: string }) => [id, role]),
      [[operator.id, 'operator']],
    );
    const id = json.invitations.find(({ email }: { email: string }) => email === 'second@example.com').id;
    assert.equal((await operator.call(revokeOperatorInvitation, { params: { id } })).status, 200);
    const last = await operator.call(removeOperator, { params: { person: operator.id } });
    assert.deepEqual(codeOf(last), [400, 'not_possible']);
    const second = await newPerson(service, '', 'operator');
    assert.equal((await operator.call(resetOperator, { params: { person: second.id } })).status, 200);
    assert.equal((await operator.call(resetOperator, { params: { person: owner.id } })).status, 404);
    assert.equal((await operator.call(removeOperator, { params: { person: second.id } })).status, 200);
    assert.deepEqual(codeOf(await second.call(showOperators)), [401, 'not_signed_in']);
  });

  test('list the users of an account, invite its owner, and reset its users', async () => {
    const { json } = await operator.call(showAccountTeam, { params: { id: account } });
    assert.ok(json.people.some(({ id }: { id: string }) => id === owner.id));
    const body = { email: 'owner.two@example.com' };
    for (const role of [null, '']) {
      const forgotten = await operator.call(inviteOwner, { params: { id: account }, body: { ...body, role } });
      assert.deepEqual([forgotten.status, forgotten.json.field], [400, 'role']);
    }
    const invited = await operator.call(inviteOwner, { params: { id: account }, body });
    assert.equal(invited.status, 200, invited.text);
    const [invitation] = (await operator.call(showAccountTeam, { params: { id: account } })).json.invitations.slice(-1);
    assert.deepEqual([invitation.email, invitation.role, invitation.invited_by], [body.email, 'owner', 'Olga']);
    const params = { id: account, invitation: invitation.id };
    assert.equal((await operator.call(revokeAccountInvitation, { params: { ...params, id: other } })).status, 404);
    assert.equal((await operator.call(revokeAccountInvitation, { params })).status, 200);
    const elsewhere = await operator.call(resetAccountMember, { params: { id: other, person: developer.id } });
    assert.deepEqual(codeOf(elsewhere), [404, 'unknown_record']);
    for (const definition of [showAccountTeam, inviteOwner])
      assert.equal(
        (await operator.call(definition, { params: { id: 'acct_0000000000' }, ...(definition.body && { body }) }))
          .status,
        404,
      );
  });
});
