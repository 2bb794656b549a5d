import { choice, object, omissible, plainText, reply } from '../../src/http/fields.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { ACCOUNT_ROLES, ROLE_NAMES } from '../people/roles.ts';
import { SIGN_IN_STATUSES } from '../people/sign-in-state.ts';
import { approvalOr } from './approvals.ts';
import { define, done, orNull } from './definition.ts';

/** The people of an account, of the operators, and invitations. */

const email = plainText(LIMITS.emailCharacters, 'E-mail address');

const link = object({
  url: reply.text('The link to pass on; shown this one time'),
  expires_at: reply.time('When it ends'),
});

const team = object({
  people: reply.list(
    object({
      id: reply.text('Id'),
      name: reply.text('Name'),
      email: reply.text('E-mail address'),
      role: reply.word(ROLE_NAMES, 'Role'),
      is_you: reply.truth('The caller'),
      sign_in: reply.word(SIGN_IN_STATUSES, 'Whether the person can sign in'),
      locked_until: reply.nullableTime('When the last lock after failed sign-ins ends; null without one'),
      /** Otherwise only operators may. */
      may_reset: reply.truth('The caller may make a new way in for this person'),
      last_seen_at: reply.nullableTime('When a session of the person was used last; null without a session'),
      joined_at: reply.time('When the person joined'),
    }),
    'People',
  ),
  invitations: reply.list(
    object({
      id: reply.text('Id'),
      email: reply.nullableText('Whom it is for'),
      /** Of who is here already. */
      person: reply.nullableText('Of a new way in: the name of the person whom it is for'),
      role: orNull(reply.word(ROLE_NAMES, 'Role; null for a new way in')),
      invited_by: reply.text('Who invited'),
      created_at: reply.time('When'),
      expires_at: reply.time('When the link ends'),
    }),
    'Open invitations',
  ),
});

export const showTeam = define({
  method: 'GET',
  path: '/api/accounts/:account/team',
  access: 'team:read',
  data: team,
});

/**
 * Who can let people in, raise their role or replace their second factor could be the second person themselves; so these take
 * two as well. What takes people's access away never waits.
 */
export const inviteToTeam = define({
  method: 'POST',
  path: '/api/accounts/:account/team/invitations',
  access: 'team:write',
  stepUp: true,
  byTwo: 'team.invite',
  body: object({ email, role: choice(ACCOUNT_ROLES, 'Role') }),
  data: approvalOr(link),
});

export const withdrawInvitation = define({
  method: 'DELETE',
  path: '/api/accounts/:account/team/invitations/:id',
  access: 'team:write',
  evenSuspended: true,
  data: object({ done }),
});

export const changeRole = define({
  method: 'POST',
  path: '/api/accounts/:account/team/:person',
  access: 'team:write',
  stepUp: true,
  byTwo: 'team.change-role',
  body: object({ role: choice(ACCOUNT_ROLES, 'Role') }),
  data: approvalOr(object({ done })),
});

export const removeFromTeam = define({
  method: 'DELETE',
  path: '/api/accounts/:account/team/:person',
  access: 'team:write',
  stepUp: true,
  evenSuspended: true,
  data: object({ done }),
});

/** A new password and second factor for who lost them. */
export const resetPerson = define({
  method: 'POST',
  path: '/api/accounts/:account/team/:person/reset',
  access: 'team:write',
  stepUp: true,
  byTwo: 'team.reset',
  data: approvalOr(link),
});

export const showOperators = define({ method: 'GET', path: '/api/operator/team', access: 'operate', data: team });

export const inviteOperator = define({
  method: 'POST',
  path: '/api/operator/team/invitations',
  access: 'operate',
  stepUp: true,
  body: object({ email }),
  data: link,
});

export const withdrawOperatorInvitation = define({
  method: 'DELETE',
  path: '/api/operator/team/invitations/:id',
  access: 'operate',
  data: object({ done }),
});

export const removeOperator = define({
  method: 'DELETE',
  path: '/api/operator/team/:person',
  access: 'operate',
  stepUp: true,
  data: object({ done }),
});

/** Of an operator. */
export const resetOperator = define({
  method: 'POST',
  path: '/api/operator/team/:person/reset',
  access: 'operate',
  stepUp: true,
  data: link,
});

/** The people of an account, for operators. */
export const showTeamOf = define({
  method: 'GET',
  path: '/api/operator/accounts/:id/team',
  access: 'operate',
  data: team,
});

/** The first owner of an account, or another when the present ones are gone. */
export const inviteOwner = define({
  method: 'POST',
  path: '/api/operator/accounts/:id/team/invitations',
  access: 'operate',
  stepUp: true,
  body: object({ email, role: omissible(choice(ACCOUNT_ROLES, 'Role; owner when absent')) }),
  data: link,
});

export const withdrawInvitationOf = define({
  method: 'DELETE',
  path: '/api/operator/accounts/:id/team/invitations/:invitation',
  access: 'operate',
  data: object({ done }),
});

export const resetPersonOf = define({
  method: 'POST',
  path: '/api/operator/accounts/:id/team/:person/reset',
  access: 'operate',
  stepUp: true,
  data: link,
});
