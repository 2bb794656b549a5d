import { iso8601 } from '../../kernel/clock.ts';
import { Failure } from '../../kernel/failure.ts';
import { type Capability, can } from '../../people/roles.ts';
import { type Approval, statusAt } from '../approval.ts';
import { type Call, type Change, carriedOut, type Route, route } from '../route.ts';
import { approve, carryOut, decline, listApprovals, setProductionByTwo, withdrawApproval } from '../wire/approvals.ts';

type AnyCall = Call<unknown, unknown>;

const DECIDERS_AT_LEAST = 2;

export const approvalRoutes: readonly Route[] = [
  route(listApprovals, async (call) => ({
    approvals: (await call.services.approvals.list(call.account)).map((approval) => shown(call, approval)),
  })),

  route(approve, async (call) => {
    await call.services.approvals.decide(call, call.params['id'] ?? '', 'approved');
    return { done: true };
  }),

  route(decline, async (call) => {
    await call.services.approvals.decide(call, call.params['id'] ?? '', 'declined');
    return { done: true };
  }),

  route(withdrawApproval, async (call) => {
    await call.services.approvals.withdraw(call, call.params['id'] ?? '');
    return { done: true };
  }),

  route(carryOut, async (call) => {
    const { approvals } = call.services;
    const approval = await approvals.get(call.account, call.params['id'] ?? '');
    const change = changeOf(call, approval);
    await mustStillBeAgreed(call, approval);
    const asked = await approvals.take(approval, call);
    try {
      return { action: approval.action, result: await change.run(call, asked, approval.environment) };
    } catch (error) {
      await approvals.noteFailure(approval, error instanceof Failure ? error.code : 'failed', call.origin);
      throw error;
    }
  }),

  route(
    setProductionByTwo,
    async (call) => {
      const { production_by_two: isOn } = call.body;
      if (isOn) await mustHaveDeciders(call);
      const account = await call.services.accounts.find(call.account);
      if (account?.productionByTwo !== isOn)
        await call.services.accounts.setProductionByTwo(call.account, isOn, call.origin);
      return carriedOut({ production_by_two: isOn });
    },
    async ({ body }) => [{ name: 'production_by_two', value: String(body.production_by_two) }],
  ),
];

/** Whoever asked may have lost the right to the change itself meanwhile. Throws `not_allowed`. */
function changeOf({ services, role }: AnyCall, { action }: Approval): Change {
  const change = services.changes.get(action);
  if (change === undefined) throw new Failure('not_possible', { message: 'This change does not exist any more.' });
  if (role === undefined || !can(role, change.definition.access as Capability)) throw new Failure('not_allowed');
  return change;
}

/** Throws `not_possible` when whoever approved it could not do so any more. */
async function mustStillBeAgreed({ services, account }: AnyCall, { decidedBy }: Approval): Promise<void> {
  if (decidedBy === undefined) return;
  const role = await services.people.team.roleIn(account, decidedBy);
  if (role !== undefined && can(role, 'approvals:decide')) return;
  throw new Failure('not_possible', { message: 'Who approved this may not do so any more. Ask for it again.' });
}

/** Throws `not_possible`. */
async function mustHaveDeciders({ services, account }: AnyCall): Promise<void> {
  const members = await services.people.team.members(account);
  if (members.filter(({ role }) => can(role, 'approvals:decide')).length >= DECIDERS_AT_LEAST) return;
  throw new Failure('not_possible', {
    message: 'This takes two people who may approve changes. Invite an owner or a developer first.',
  });
}

function shown({ now, person, role }: AnyCall, approval: Approval) {
  const { id, environment, action, summary, requester, requestedBy, decider, createdAt, expiresAt } = approval;
  const status = statusAt(approval, now);
  const isYours = requestedBy === person.id;
  return {
    id,
    environment,
    action,
    summary,
    status,
    requested_by: requester,
    is_yours: isYours,
    may_decide: status === 'waiting' && !isYours && role !== undefined && can(role, 'approvals:decide'),
    decided_by: decider ?? null,
    created_at: iso8601(createdAt),
    expires_at: iso8601(expiresAt),
  };
}
