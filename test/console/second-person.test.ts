import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { Role } from '../../console/people/roles.ts';
import { routes } from '../../console/server/routes.ts';
import { SessionDoor } from '../../console/server/session-door.ts';
import { approve, decline, executeApproval, listApprovals, setDualControl } from '../../console/wire/approvals.ts';
import { createKey, revokeKey, rotateKey } from '../../console/wire/keys.ts';
import { addPasskey, beginPasskey, editProfile } from '../../console/wire/profile.ts';
import { acceptInvitation, enroll, enrollByTotp, showInvitation } from '../../console/wire/session.ts';
import {
  changeRole,
  inviteOwner,
  inviteToTeam,
  removeFromTeam,
  resetAccountMember,
  resetMember,
  revokeInvitation,
  showTeam,
} from '../../console/wire/team.ts';
import { ChangeControl } from '../../src/accounts/change-control.ts';
import { issueKey } from '../../src/accounts/issue-key.ts';
import { createBucketMemory } from '../../src/http/rate-limit.ts';
import { commitOrThrow } from '../../src/storage/database.ts';
import { Authenticator } from '../fixtures/authenticator.ts';
import { startTestService, type TestResponse, type TestService } from '../fixtures/test-service.ts';
import { totp } from '../fixtures/totp.ts';
import { assertRefused, assertUnknown, executedResult, successData } from './account-user.ts';
import { type ConsoleClient, joinAccount, newClient, newPerson, PASSWORD, type UserClient } from './console-client.ts';

/** Under dual control, one user alone cannot become two. */

let service: TestService;
let account: string;
let ana: UserClient;
let ben: UserClient;
let aud: UserClient;
let operator: UserClient;

const BY_TEST = { actor: { type: 'operator' } } as const;
const TRAITS = { name: 'till', permissions: ['account:read'], allow_list: [] };

before(async () => {
  service = await startTestService();
  operator = await newPerson(service, '', 'operator');
});
beforeEach(async () => {
  account = await service.newAccount();
  ana = await newPerson(service, account, 'owner', 'Ana');
  ben = await newPerson(service, account, 'developer', 'Ben');
  aud = await newPerson(service, account, 'auditor', 'Aud');
  await service.core.transactions.run({ origin: BY_TEST }, (transaction) =>
    service.core.accounts.setDualControl(transaction, account, true),
  );
  await operator.stepUp();
});
after(() => service.stop());

const of = (id: string) => ({ params: { account, id } });
const whom = (person: UserClient) => ({ params: { account, person: person.id } });

/** The id of what waits now. */
function waits(response: TestResponse): string {
  const { approval, result } = successData(response);
  assert.deepEqual([typeof approval, result], ['string', null]);
  return approval;
}

const askForKey = async (client: ConsoleClient = ana): Promise<string> =>
  waits(await client.call(createKey, { params: { account, environment: 'production' }, body: TRAITS }));

const shown = async (client: ConsoleClient, id: string) =>
  successData(await client.call(listApprovals, { params: { account } })).approvals.find(
    (approval: { id: string }) => approval.id === id,
  );

const secretOf = ({ url }: { url: string }): string => url.split('#')[1] ?? '';

/** Opens the link as any holder of it can. */
async function follow(invitation: string, name?: string): Promise<ConsoleClient> {
  const client = newClient(service);
  // A credential reset takes another password than the present one.
  const own = name === undefined ? { password: `${PASSWORD} and more` } : { password: PASSWORD, name };
  const enrollment = successData(await client.call(enroll, { body: { invitation, ...own } }));
  client.csrf = enrollment.csrf_token;
  const joined = successData(
    await client.call(enrollByTotp, { body: { code: totp(enrollment.totp.secret, service.now()) } }),
  );
  client.csrf = joined.session.csrf_token;
  return client;
}

/** They do not count as the second person for what was asked for before. */
async function assertCameLater(client: ConsoleClient, id: string): Promise<void> {
  assert.equal((await shown(client, id)).may_decide, false);
  for (const verdict of [approve, decline]) {
    const response = await client.call(verdict, of(id));
    assertRefused(response, 'not_allowed');
    assert.match(response.json.message, /^This was requested before you became a member/);
  }
  assert.equal((await shown(client, id)).status, 'waiting');
  assertRefused(await ana.call(executeApproval, of(id)), 'changed_meanwhile');
}

describe('a second user, under dual control', () => {
  const role = async (person: UserClient): Promise<Role | undefined> =>
    service.console.people.team.findRole(account, person.id);

  test('cannot be invited, promoted or reset by one user alone', async () => {
    const { people } = service.console;
    const id = await askForKey();
    waits(
      await ana.call(inviteToTeam, { params: { account }, body: { email: 'ana+2@example.com', role: 'developer' } }),
    );
    waits(await ana.call(resetMember, whom(ben)));
    waits(await ana.call(changeRole, { ...whom(aud), body: { role: 'developer' } }));
    assert.deepEqual(await people.invitations.list(account), []);
    assert.equal(await role(aud), 'auditor');
    assert.equal((await shown(ana, id)).status, 'waiting');
    assert.deepEqual(await service.core.accounts.listKeys(account), []);
  });

  test('is invited by two users: the second sees address and role, the first gets the link', async () => {
    const body = { email: 'cleo@example.com', role: 'developer' };
    const id = waits(await ana.call(inviteToTeam, { params: { account }, body }));
    const { action, environment, summary } = await shown(ben, id);
    assert.deepEqual([action, environment], ['team.invite', 'production']);
    assert.deepEqual(summary, [
      { name: 'email', value: 'cleo@example.com' },
      { name: 'role', value: 'developer' },
    ]);
    successData(await ben.call(approve, of(id)));
    const { result } = successData(await ana.call(executeApproval, of(id)));
    const view = successData(await newClient(service).call(showInvitation, { body: { invitation: secretOf(result) } }));
    assert.deepEqual([view.email, view.role], ['cleo@example.com', 'developer']);
    await follow(secretOf(result), 'Cleo');
    assert.equal((await service.console.people.team.members(account)).length, 4);
  });

  test('gets another role by two users', async () => {
    const id = waits(await ana.call(changeRole, { ...whom(aud), body: { role: 'developer' } }));
    assert.deepEqual((await shown(ben, id)).summary, [
      { name: 'person', value: 'Aud' },
      { name: 'email', value: aud.email },
      { name: 'role_now', value: 'auditor' },
      { name: 'role', value: 'developer' },
    ]);
    successData(await ben.call(approve, of(id)));
    assert.deepEqual(successData(await ana.call(executeApproval, of(id))).result, { done: true });
    assert.equal(await role(aud), 'developer');
  });

  test('gets a credential reset by two users', async () => {
    const id = waits(await ana.call(resetMember, whom(aud)));
    assert.deepEqual((await shown(ben, id)).summary, [
      { name: 'person', value: 'Aud' },
      { name: 'email', value: aud.email },
      { name: 'role', value: 'auditor' },
    ]);
    successData(await ben.call(approve, of(id)));
    const { result } = successData(await ana.call(executeApproval, of(id)));
    const view = successData(await newClient(service).call(showInvitation, { body: { invitation: secretOf(result) } }));
    assert.deepEqual([view.kind, view.email], ['reset', aud.email]);
  });

  test('does not get requests that could not be executed', async () => {
    const params = { account };
    const member = await ana.call(inviteToTeam, { params, body: { email: ben.email, role: 'owner' } });
    assertRefused(member, 'not_possible');
    const bad = await ana.call(inviteToTeam, { params, body: { email: 'no address', role: 'owner' } });
    assertRefused(bad, 'invalid_field', 'email', 'no address');
    const unknownUser = { params: { account, person: 'person_00000000000000' } };
    assertUnknown(
      await ana.call(resetMember, unknownUser),
      await ana.call(resetMember, whom(operator)),
      await ana.call(changeRole, { ...unknownUser, body: { role: 'owner' } }),
    );
    await joinAccount(aud, await service.newAccount(), 'analyst');
    assertRefused(await ana.call(resetMember, whom(aud)), 'not_allowed');
    assert.deepEqual(successData(await ana.call(listApprovals, { params })).approvals, []);
  });

  test('is not required for the removal of access', async () => {
    const invitation = await service.core.transactions.run({ origin: BY_TEST }, (transaction) =>
      service.console.people.invitations.invite(
        transaction,
        { account, role: 'auditor', email: 'dora@example.com' },
        { account, role: 'owner' },
      ),
    );
    successData(await ana.call(revokeInvitation, of(invitation.id)));
    successData(await ana.call(removeFromTeam, whom(aud)));
    assert.equal(await role(aud), undefined);
    const key = await service.newKey(account, { environment: 'production' });
    const params = { account, environment: 'production', id: key.id };
    assert.equal(successData(await ana.call(revokeKey, { params })).key.state, 'revoked');
  });
});

describe('a user who joined after a request', () => {
  const invite = (roleThere: Role, email: string) =>
    service.core.transactions.run({ origin: BY_TEST }, (transaction) =>
      service.console.people.invitations.invite(
        transaction,
        { account, role: roleThere, email },
        { account, role: 'owner' },
      ),
    );

  test('cannot decide it, by whatever link, but can decide later requests', async () => {
    const link = await invite('developer', 'late@example.com');
    const id = await askForKey();
    const late = await follow(link.secret, 'Late');
    await assertCameLater(late, id);
    const next = await askForKey();
    assert.equal((await shown(late, next)).may_decide, true);
    successData(await late.call(approve, of(next)));
    successData(await ana.call(executeApproval, of(next)));
  });

  test('cannot decide it even after an earlier membership elsewhere', async () => {
    const other = await newPerson(service, await service.newAccount(), 'owner');
    const { secret: invitation } = await invite('developer', other.email);
    const id = await askForKey();
    successData(await other.call(acceptInvitation, { body: { invitation } }));
    await assertCameLater(other, id);
  });

  test('cannot decide it after a credential reset either, also by an operator', async () => {
    const id = await askForKey();
    const { url } = successData(await operator.call(resetAccountMember, { params: { id: account, person: ben.id } }));
    const taken = await follow(secretOf({ url }));
    await assertCameLater(taken, id);
    assert.equal((await shown(taken, await askForKey())).may_decide, true);
  });

  test('a user who only adds a second factor can decide it', async () => {
    const id = await askForKey();
    const { options } = successData(await ben.call(beginPasskey));
    const credential = new Authenticator(`https://localhost:${service.ports.console}`).create(options);
    successData(await ben.call(addPasskey, { body: { credential, label: 'Laptop' } }));
    assert.equal((await shown(ben, id)).may_decide, true);
    successData(await ben.call(approve, of(id)));
    successData(await ana.call(executeApproval, of(id)));
  });
});

describe('links that one user created', () => {
  test('are revoked when dual control is enabled, also for a user who has opened them', async () => {
    await service.core.transactions.run({ origin: BY_TEST }, (transaction) =>
      service.core.accounts.setDualControl(transaction, account, false),
    );
    const body = { email: 'ana+2@example.com', role: 'developer' };
    const link = secretOf(executedResult(await ana.call(inviteToTeam, { params: { account }, body })));
    const reset = secretOf(executedResult(await ana.call(resetMember, whom(ben))));
    const newUser = newClient(service);
    const joining = { invitation: link, password: PASSWORD, name: 'Ana too' };
    const { csrf_token: csrfToken, totp: app } = successData(await newUser.call(enroll, { body: joining }));
    newUser.csrf = csrfToken;
    executedResult(await ana.call(setDualControl, { params: { account }, body: { dual_control: true } }));
    assert.deepEqual(successData(await ana.call(showTeam, { params: { account } })).invitations, []);
    for (const invitation of [link, reset])
      assertRefused(await newClient(service).call(showInvitation, { body: { invitation } }), 'not_possible');
    const code = totp(app.secret, service.now());
    assertRefused(await newUser.call(enrollByTotp, { body: { code } }), 'not_possible');
    const rows = await service.core.database.read('select record from journal where account = ?account', account);
    const actions = rows.map((row) => JSON.parse(String(row['record'])).action);
    assert.equal(actions.filter((action) => action === 'invitation.revoked').length, 2);
  });
});

describe('dual control that is enabled while a call is in progress', () => {
  test('prevents an invitation, and that a single user disables it again', async (t) => {
    // The calls read the account before dual control was enabled.
    t.mock.method(service.core.changeControl, 'isRequired', () => Promise.resolve(false));
    const params = { account };
    const body = { email: 'ana+2@example.com', role: 'developer' };
    assertRefused(await ana.call(inviteToTeam, { params, body }), 'changed_meanwhile');
    assert.deepEqual(await service.console.people.invitations.list(account), []);
    assertRefused(await ana.call(setDualControl, { params, body: { dual_control: false } }), 'changed_meanwhile');
    assert.equal((await service.core.accounts.get(account)).dualControl, true);
  });

  test('prevents every change that needs approval', async () => {
    const unread = new ChangeControl({ find: () => Promise.resolve({ dualControl: false } as never) });
    const door = new SessionDoor({
      services: { changeControl: unread } as never,
      consoleUrl: undefined,
      attemptsPerMinute: 0,
      buckets: { memory: createBucketMemory(service.core.random), clock: () => 0 },
    });
    const restricted = routes.filter(({ dualControl }) => dualControl !== undefined);
    assert.ok(restricted.length > 10);
    for (const route of restricted)
      await assert.rejects(
        service.core.transactions.run({ origin: BY_TEST }, (transaction) =>
          door.intercept(route, { params: { account, environment: 'production' }, account, transaction } as never),
        ),
        { code: 'changed_meanwhile' },
        route.path,
      );
  });
});

describe('operators', () => {
  test('are possible when no approver is left: an operator invites an owner immediately, which is recorded', async () => {
    const id = await askForKey();
    successData(await ana.call(removeFromTeam, whom(ben)));
    const alone = await ana.call(createKey, { params: { account, environment: 'production' }, body: TRAITS });
    assertRefused(alone, 'not_possible');
    assert.match(alone.json.message, /^No other user of this account can approve this/);
    const body = { email: 'new.owner@example.com' };
    const { url } = successData(await operator.call(inviteOwner, { params: { id: account }, body }));
    const owner = await follow(secretOf({ url }), 'Olga');
    await assertCameLater(owner, id);
    successData(await owner.call(approve, of(await askForKey())));
    const rows = await service.core.database.read('select record from journal where account = ?account', account);
    const invited = rows
      .map((row) => JSON.parse(String(row['record'])))
      .filter(({ action }) => action === 'person.invited');
    assert.equal(invited.at(-1).actor.id, operator.id);
  });
});

describe('the list of pending requests', () => {
  test('contains the addresses of users too, because a user may choose any name', async () => {
    successData(await ben.call(editProfile, { body: { name: 'Ana' } }));
    const id = await askForKey(ben);
    const waiting = await shown(ana, id);
    assert.deepEqual([waiting.requested_by, waiting.requested_by_email], ['Ana', ben.email]);
    assert.deepEqual([waiting.decided_by, waiting.decided_by_email], [null, null]);
    successData(await ana.call(decline, of(id)));
    const declined = await shown(ben, id);
    assert.deepEqual([declined.decided_by, declined.decided_by_email], ['Ana', ana.email]);
  });

  test('contains no address of former members', async () => {
    const id = await askForKey(ben);
    await joinAccount(ben, await service.newAccount(), 'owner');
    await service.core.transactions.run({ origin: BY_TEST }, (transaction) =>
      service.console.people.team.remove(transaction, account, ben.id),
    );
    const waiting = await shown(ana, id);
    assert.deepEqual([waiting.requested_by, waiting.requested_by_email], ['Ben', null]);
  });

  test('shows the invisible characters in names that were stored earlier', async () => {
    const tenant = { account, environment: 'production' as const };
    const { key, insert } = await issueKey(service.core, tenant, { ...OLD, name: 'till \u202egnp' });
    await commitOrThrow(service.core.database, { writes: [insert] });
    const params = { account, environment: 'production', id: key.id };
    const id = waits(await ana.call(rotateKey, { params, body: { overlap_minutes: 5 } }));
    assert.equal((await shown(ben, id)).summary[0].value, 'till \\u{202e}gnp');
  });
});

const OLD = { description: '', permissions: [], allowList: [], expiresAt: undefined };

describe('without dual control', () => {
  test('one owner invites, changes roles and resets credentials immediately', async () => {
    await service.core.transactions.run({ origin: BY_TEST }, (transaction) =>
      service.core.accounts.setDualControl(transaction, account, false),
    );
    const body = { email: 'eva@example.com', role: 'analyst' };
    assert.ok(secretOf(executedResult(await ana.call(inviteToTeam, { params: { account }, body }))).length > 40);
    assert.deepEqual(executedResult(await ana.call(changeRole, { ...whom(aud), body: { role: 'analyst' } })), {
      done: true,
    });
    assert.ok(secretOf(executedResult(await ana.call(resetMember, whom(aud)))).length > 40);
    assert.equal(successData(await ana.call(showTeam, { params: { account } })).invitations.length, 2);
  });
});
