import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  acceptInvitation,
  beginPasskeyEnrollment,
  enroll,
  enrollByPasskey,
  enrollByTotp,
  showInvitation,
  showSession,
} from '../../console/wire/session.ts';
import { inviteToTeam, resetMember } from '../../console/wire/team.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import { totp } from '../fixtures/totp.ts';
import { executedResult } from './account-user.ts';
import { newClient, newPerson, PASSWORD, signIn, type UserClient } from './console-client.ts';

let service: TestService;
let account: string;
let owner: UserClient;

before(async () => {
  service = await startTestService();
  account = await service.newAccount('Tienda');
  owner = await newPerson(service, account, 'owner');
});
after(() => service.stop());

/** The secret of a new link, and where it leads. */
async function invited(email: string, role = 'developer'): Promise<string> {
  await owner.stepUp();
  const response = await owner.call(inviteToTeam, { params: { account }, body: { email, role } });
  const [origin = '', secret = ''] = executedResult(response).url.split('/join#');
  assert.equal(origin, `https://localhost:${service.ports.console}`);
  return secret;
}

describe('an invitation', () => {
  test('shows its account and role, and enrolls a new user', async () => {
    const invitation = await invited('eva@example.com');
    const client = newClient(service);
    const shown = await client.call(showInvitation, { body: { invitation } });
    assert.deepEqual(
      { ...shown.json, expires_at: undefined },
      {
        kind: 'invite',
        account_name: 'Tienda',
        role: 'developer',
        email: 'eva@example.com',
        is_known: false,
        expires_at: undefined,
      },
    );
    const enrollment = await client.call(enroll, {
      body: { invitation, name: 'Eva', password: PASSWORD, language: 'es' },
    });
    assert.equal(enrollment.status, 200, enrollment.text);
    assert.match(enrollment.json.totp.uri, /^otpauth:\/\/totp\//);
    client.csrf = enrollment.json.csrf_token;
    assert.equal((await client.call(showSession)).json.stage, 'enrolling');
    const wrong = await client.call(enrollByTotp, { body: { code: '000000' } });
    assert.deepEqual([wrong.status, wrong.json.field], [400, 'code']);
    const joined = await client.call(enrollByTotp, {
      body: { code: totp(enrollment.json.totp.secret, service.now()) },
    });
    assert.equal(joined.status, 200, joined.text);
    assert.equal(joined.json.recovery_codes.length, 10);
    assert.equal(joined.json.session.person.language, 'es');
    assert.deepEqual(
      joined.json.session.memberships.map((each: { account: string; role: string }) => [each.account, each.role]),
      [[account, 'developer']],
    );
    const again = await newClient(service).call(showInvitation, { body: { invitation } });
    assert.deepEqual([again.status, again.json.code], [400, 'not_possible']);
  });

  test('requires a password that is hard to guess, and never repeats it', async () => {
    const invitation = await invited('leo@example.com');
    const body = { invitation, name: 'Leo', password: 'password1234' };
    const response = await newClient(service).call(enroll, { body });
    assert.deepEqual([response.status, response.json.field], [400, 'password']);
    assert.ok(!response.text.includes('password1234'));
  });

  test('offers passkeys, and accepts none that was created for another one', async () => {
    const invitation = await invited('pia@example.com');
    const client = newClient(service);
    const enrollment = await client.call(enroll, { body: { invitation, name: 'Pia', password: PASSWORD } });
    client.csrf = enrollment.json.csrf_token;
    const { json } = await client.call(beginPasskeyEnrollment);
    assert.equal(json.options.rp.id, 'localhost');
    const response = await client.call(enrollByPasskey, { body: { credential: { id: 'made-up', response: {} } } });
    assert.deepEqual([response.status, response.json.code], [400, 'not_possible']);
    assert.equal((await client.call(showSession)).json.stage, 'enrolling');
  });

  test('is accepted by the existing user with its address, and by no other', async () => {
    const other = await newPerson(service, await service.newAccount('Other'), 'analyst');
    const invitation = await invited(other.email, 'auditor');
    assert.equal((await newClient(service).call(showInvitation, { body: { invitation } })).json.is_known, true);
    const stranger = await newPerson(service, await service.newAccount('Third'), 'owner');
    const refused = await stranger.call(acceptInvitation, { body: { invitation } });
    assert.deepEqual([refused.status, refused.json.code], [400, 'not_possible']);
    const accepted = await other.call(acceptInvitation, { body: { invitation } });
    assert.equal(accepted.status, 200, accepted.text);
    assert.ok(accepted.json.memberships.some((each: { account: string }) => each.account === account));
  });

  test('that is invalid is rejected like one that has expired', async () => {
    const body = { invitation: 'A'.repeat(43) };
    const response = await newClient(service).call(showInvitation, { body });
    assert.deepEqual([response.status, response.json.code], [400, 'not_possible']);
    const invitation = await invited('ida@example.com');
    service.advance(3 * 86_400_000);
    const old = await newClient(service).call(showInvitation, { body: { invitation } });
    assert.equal(old.text, response.text);
  });
});

describe('a credential reset link', () => {
  test('replaces password and second factor, and ends all sessions', async () => {
    const head = await newPerson(service, account, 'owner');
    const lost = await newPerson(service, account, 'analyst', 'Lost');
    const link = await head.call(resetMember, { params: { account, person: lost.id } });
    const [, invitation = ''] = executedResult(link).url.split('#');
    const client = newClient(service);
    const shown = await client.call(showInvitation, { body: { invitation } });
    assert.deepEqual([shown.json.kind, shown.json.email, shown.json.role], ['reset', lost.email, null]);
    const next = 'a whole new password 4 me';
    const enrollment = await client.call(enroll, { body: { invitation, password: next } });
    client.csrf = enrollment.json.csrf_token;
    const { secret } = enrollment.json.totp;
    assert.equal((await client.call(enrollByTotp, { body: { code: totp(secret, service.now()) } })).status, 200);
    assert.equal((await lost.call(showSession)).json.stage, 'signed-out');
    await assert.rejects(signIn(lost));
    assert.ok(await signIn({ ...lost, password: next, code: () => nextCode(secret) }));
  });
});

const nextCode = (secret: string): string => {
  service.advance(30_000);
  return totp(secret, service.now());
};
