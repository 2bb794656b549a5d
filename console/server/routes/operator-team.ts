import { listKeyProgress } from '../../../src/accounts/api-key-store.ts';
import { notPossible } from '../../../src/kernel/failure.ts';
import { OPERATOR } from '../../people/roles.ts';
import {
  inviteOperator,
  inviteOwner,
  joinAccount,
  removeOperator,
  resetAccountMember,
  resetOperator,
  revokeAccountInvitation,
  revokeOperatorInvitation,
  showAccountTeam,
  showOperators,
} from '../../wire/team.ts';
import { type AnyCall, type Route, route } from '../route.ts';
import { withMembership } from './enrollment.ts';
import { getAccountOfPath } from './operator-accounts.ts';
import { toSessionView } from './session.ts';
import { createResetLink, invite, loadTeamView, toLinkView } from './team.ts';

const OPERATORS = OPERATOR.account;

export const operatorTeamRoutes: readonly Route[] = [
  route(showOperators, (call) => loadTeamView(call, OPERATORS)),

  route(inviteOperator, async (call) => {
    return toLinkView(call, await invite(call, { ...OPERATOR, email: call.body.email }));
  }),

  route(revokeOperatorInvitation, (call) => revokeInvitation(call, OPERATORS, 'id')),

  route(removeOperator, async ({ services: { people }, transaction, params }) => {
    await people.team.remove(transaction, OPERATORS, params['person'] ?? '');
    return { done: true };
  }),

  route(resetOperator, async (call) => toLinkView(call, await createResetLink(call, OPERATORS))),

  route(showAccountTeam, async (call) => loadTeamView(call, (await getAccountOfPath(call)).id)),

  route(inviteOwner, async (call) => {
    const { id: account } = await getAccountOfPath(call);
    const { email, role = 'owner' } = call.body;
    return toLinkView(call, await invite(call, { account, role, email }));
  }),

  route(joinAccount, async (call) => {
    const { services, transaction, session, person } = call;
    const { id: account } = await getAccountOfPath(call);
    const keys = await listKeyProgress(services.database, account);
    if (keys.has('production')) throw notPossible('accountInProduction');
    const { enrollment, team } = services.people;
    const before = await team.listMembershipsOf(person.id);
    const added = await enrollment.joinAsFirstOwner(transaction, session, account);
    return toSessionView(call, session, person, withMembership(before, added));
  }),

  route(revokeAccountInvitation, async (call) =>
    revokeInvitation(call, (await getAccountOfPath(call)).id, 'invitation'),
  ),

  route(resetAccountMember, async (call) =>
    toLinkView(call, await createResetLink(call, (await getAccountOfPath(call)).id)),
  ),
];

async function revokeInvitation({ services, transaction, params }: AnyCall, account: string, name: string) {
  await services.people.invitations.revoke(transaction, account, params[name] ?? '');
  return { done: true };
}
