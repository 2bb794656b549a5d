import { object, oneOf, optionalNotNull, output, plainText } from '../../src/http/fields.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { ACCOUNT_ROLES, ROLE_NAMES } from '../people/roles.ts';
import { SIGN_IN_STATUSES } from '../people/sign-in-state.ts';
import { resultOrApproval } from './approvals.ts';
import { define, done, orNull } from './definition.ts';
import { session } from './session.ts';

/** Members of an account, operators, and invitations. */

const email = plainText(LIMITS.emailCharacters, 'Email address');

const link = object({
  url: output.text('The link, which is shown once'),
  expires_at: output.time('Expiry'),
});

const team = object({
  people: output.list(
    object({
      id: output.text('Id'),
      name: output.text('Name'),
      email: output.text('Email address'),
      role: output.oneOf(ROLE_NAMES, 'Role'),
      is_you: output.bool('The caller'),
      sign_in: output.oneOf(SIGN_IN_STATUSES, 'Status of the sign-in'),
      locked_until: output.nullableTime('End of the last lock after failed sign-ins; null without one'),
      /** When false, only an operator may. */
      may_reset: output.bool('The caller may create a credential reset link for this user'),
      last_active_at: output.nullableTime('Last activity of a session; null without a session'),
      joined_at: output.time('Start of the membership'),
    }),
    'People',
  ),
  invitations: output.list(
    object({
      id: output.text('Id'),
      email: output.nullableText('Email address of the recipient'),
      /** Set for a credential reset. */
      person: output.nullableText('Name of the user of a credential reset'),
      role: orNull(output.oneOf(ROLE_NAMES, 'Role; null for a credential reset')),
      invited_by: output.text('Name of the inviting user'),
      created_at: output.time('Time of creation'),
      expires_at: output.time('Expiry of the link'),
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
 * A user who can invite, raise a role or reset credentials could create the second user, so these calls need approval.
 * Removing access never does.
 */
export const inviteToTeam = define({
  method: 'POST',
  path: '/api/accounts/:account/team/invitations',
  access: 'team:write',
  stepUp: true,
  dualControl: 'team.invite',
  body: object({ email, role: oneOf(ACCOUNT_ROLES, 'Role') }),
  data: resultOrApproval(link),
});

export const revokeInvitation = define({
  method: 'DELETE',
  path: '/api/accounts/:account/team/invitations/:id',
  access: 'team:write',
  allowedWhileSuspended: true,
  data: object({ done }),
});

export const changeRole = define({
  method: 'POST',
  path: '/api/accounts/:account/team/:person',
  access: 'team:write',
  stepUp: true,
  dualControl: 'team.change-role',
  body: object({ role: oneOf(ACCOUNT_ROLES, 'Role') }),
  data: resultOrApproval(object({ done })),
});

export const removeFromTeam = define({
  method: 'DELETE',
  path: '/api/accounts/:account/team/:person',
  access: 'team:write',
  stepUp: true,
  allowedWhileSuspended: true,
  data: object({ done }),
});

/** Creates a credential reset link, for a lost password or second factor. */
export const resetMember = define({
  method: 'POST',
  path: '/api/accounts/:account/team/:person/reset',
  access: 'team:write',
  stepUp: true,
  dualControl: 'team.reset',
  data: resultOrApproval(link),
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

export const revokeOperatorInvitation = define({
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

/** Creates a credential reset link for an operator. */
export const resetOperator = define({
  method: 'POST',
  path: '/api/operator/team/:person/reset',
  access: 'operate',
  stepUp: true,
  data: link,
});

/** Lists the members of an account, for operators. */
export const showAccountTeam = define({
  method: 'GET',
  path: '/api/operator/accounts/:id/team',
  access: 'operate',
  data: team,
});

/** Invites the first owner of an account, or another one when no owner is left. */
export const inviteOwner = define({
  method: 'POST',
  path: '/api/operator/accounts/:id/team/invitations',
  access: 'operate',
  stepUp: true,
  body: object({ email, role: optionalNotNull(oneOf(ACCOUNT_ROLES, 'Role; owner when absent')) }),
  data: link,
});

/**
 * Makes the operator the owner of an account that has no user and has never had a production key, such as the demo account
 * of the first start: it can contain test data only.
 */
export const joinAccount = define({
  method: 'POST',
  path: '/api/operator/accounts/:id/join',
  access: 'operate',
  stepUp: true,
  data: session,
});

export const revokeAccountInvitation = define({
  method: 'DELETE',
  path: '/api/operator/accounts/:id/team/invitations/:invitation',
  access: 'operate',
  data: object({ done }),
});

export const resetAccountMember = define({
  method: 'POST',
  path: '/api/operator/accounts/:id/team/:person/reset',
  access: 'operate',
  stepUp: true,
  data: link,
});
