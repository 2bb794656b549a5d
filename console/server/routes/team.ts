import { toSummaryLines } from '../../../src/accounts/change-control.ts';
import { formatIso8601, formatIso8601OrNull } from '../../../src/kernel/clock.ts';
import { Failure } from '../../../src/kernel/failure.ts';
import type { Invitation } from '../../people/invitation-store.ts';
import type { InvitationLink } from '../../people/invitations.ts';
import { type Authority, mayReset } from '../../people/roles.ts';
import type { Member } from '../../people/team.ts';
import { changeRole, inviteToTeam, removeFromTeam, resetMember, revokeInvitation, showTeam } from '../../wire/team.ts';
import { type AnyCall, executed, type Route, route } from '../route.ts';

export const teamRoutes: readonly Route[] = [
  route(showTeam, (call) => loadTeamView(call, call.account)),

  route(
    inviteToTeam,
    async (call) => executed(toLinkView(call, await invite(call, { account: call.account, ...call.body }))),
    async (call) => {
      const { services, account, body } = call;
      const to = { account, ...body };
      const email = await services.people.invitations.validateInvitation(to, getAuthority(call));
      return toSummaryLines(Object.entries({ email, role: to.role }));
    },
  ),

  route(revokeInvitation, async ({ services: { people }, transaction, account, params }) => {
    await people.invitations.revoke(transaction, account, params['id'] ?? '');
    return { done: true };
  }),

  route(
    changeRole,
    async ({ services: { people }, transaction, account, params, body }) => {
      await people.team.changeRole(transaction, account, params['person'] ?? '', body.role);
      return executed({ done: true });
    },
    async (call) => {
      const { name, email, role } = await getMemberOfPath(call);
      return toSummaryLines(Object.entries({ person: name, email, role_now: role, role: call.body.role }));
    },
  ),

  route(removeFromTeam, async ({ services, transaction, account, params }) => {
    const person = params['person'] ?? '';
    await services.people.team.remove(transaction, account, person);
    await services.approvals.withdrawAll(transaction, account, person);
    return { done: true };
  }),

  route(
    resetMember,
    async (call) => executed(toLinkView(call, await createResetLink(call, call.account))),
    async (call) => {
      const { person, name, email, role } = await getMemberOfPath(call);
      await call.services.people.invitations.assertResettable(person, getAuthority(call));
      return toSummaryLines(Object.entries({ person: name, email, role }));
    },
  ),
];

/** Returns the user of the path. Throws `unknown_record`. */
const getMemberOfPath = ({ services, account, params }: AnyCall): Promise<Member> =>
  services.people.team.member(account, params['person'] ?? '');

/** The caller as the author of invitations. */
const getAuthority = ({ account, role }: AnyCall): Authority => {
  if (role === undefined) throw new Failure('not_allowed');
  return { account, role };
};

export const invite = (
  call: AnyCall,
  to: { readonly account: string; readonly role: Authority['role']; readonly email: string },
): Promise<InvitationLink> => {
  const { account, role, email } = to;
  return call.services.people.invitations.invite(call.transaction, { account, role, email }, getAuthority(call));
};

/**
 * Creates a credential reset link for the user of the path, who has to be a member. Throws `unknown_record`,
 * `not_allowed`.
 */
export async function createResetLink(call: AnyCall, account: string): Promise<InvitationLink> {
  const { services, transaction, params } = call;
  const { team, invitations } = services.people;
  const person = params['person'] ?? '';
  if ((await team.findRole(account, person)) === undefined) throw new Failure('unknown_record');
  return invitations.reset(transaction, person, getAuthority(call));
}

/** The address at which the caller uses the console; the recipient of the link uses the same. */
export const toLinkView = ({ relyingParty }: AnyCall, { secret, expiresAt }: InvitationLink) => ({
  url: `${relyingParty.origin}/join#${secret}`,
  expires_at: formatIso8601(expiresAt),
});

/** Returns the users of an account, and the pending invitations. */
export async function loadTeamView(call: AnyCall, account: string) {
  const { team, invitations } = call.services.people;
  const members = await team.members(account);
  const lastActivity = await call.services.people.sessions.listLastActivity(account);
  return {
    people: await Promise.all(members.map((member) => loadMemberView(call, member, lastActivity.get(member.person)))),
    invitations: await Promise.all((await invitations.list(account)).map((each) => loadInvitationView(call, each))),
  };
}

async function loadMemberView(call: AnyCall, member: Member, lastActiveAt: number | undefined) {
  const { person, name, email, role, signIn, lockedUntil, createdAt } = member;
  const { team } = call.services.people;
  return {
    id: person,
    name,
    email,
    role,
    is_you: person === call.person.id,
    sign_in: signIn,
    locked_until: formatIso8601OrNull(lockedUntil),
    may_reset: mayReset(getAuthority(call), await team.listMembershipsOf(person)),
    last_active_at: formatIso8601OrNull(lastActiveAt),
    joined_at: formatIso8601(createdAt),
  };
}

async function loadInvitationView(
  call: AnyCall,
  { id, email, person, role, inviterName, createdAt, expiresAt }: Invitation,
) {
  const whose = person === undefined ? undefined : await call.services.people.people.findProfile(person);
  return {
    id,
    email: whose?.email ?? email ?? null,
    person: whose?.name ?? null,
    role: role ?? null,
    invited_by: inviterName ?? '',
    created_at: formatIso8601(createdAt),
    expires_at: formatIso8601(expiresAt),
  };
}
