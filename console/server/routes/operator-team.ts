import { OPERATOR } from '../../people/roles.ts';
import {
  inviteOperator,
  inviteOwner,
  removeOperator,
  resetOperator,
  resetPersonOf,
  showOperators,
  showTeamOf,
  withdrawInvitationOf,
  withdrawOperatorInvitation,
} from '../../wire/team.ts';
import { type Call, type Route, route } from '../route.ts';
import { accountOfPath } from './operator-accounts.ts';
import { invite, linkView, resetMember, teamView } from './team.ts';

const OPERATORS = OPERATOR.account;

export const operatorTeamRoutes: readonly Route[] = [
  route(showOperators, (call) => teamView(call, OPERATORS)),

  route(inviteOperator, async (call) => {
    return linkView(call, await invite(call, { ...OPERATOR, email: call.body.email }));
  }),

  route(withdrawOperatorInvitation, (call) => withdraw(call, OPERATORS, 'id')),

  route(removeOperator, async ({ services: { people }, params, origin }) => {
    await people.team.remove(OPERATORS, params['person'] ?? '', origin);
    return { done: true };
  }),

  route(resetOperator, async (call) => linkView(call, await resetMember(call, OPERATORS))),

  route(showTeamOf, async (call) => teamView(call, (await accountOfPath(call)).id)),

  route(inviteOwner, async (call) => {
    const { id: account } = await accountOfPath(call);
    const { email, role = 'owner' } = call.body;
    return linkView(call, await invite(call, { account, role, email }));
  }),

  route(withdrawInvitationOf, async (call) => withdraw(call, (await accountOfPath(call)).id, 'invitation')),

  route(resetPersonOf, async (call) => linkView(call, await resetMember(call, (await accountOfPath(call)).id))),
];

async function withdraw({ services, params, origin }: Call<unknown, unknown>, account: string, name: string) {
  await services.people.invitations.revoke(account, params[name] ?? '', origin);
  return { done: true };
}
