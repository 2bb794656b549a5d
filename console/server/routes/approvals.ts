import { type Approval, isOlderThan, type ListedApproval, statusAt } from '../../../src/accounts/approval.ts';
import { iso8601 } from '../../../src/kernel/clock.ts';
import { Failure } from '../../../src/kernel/failure.ts';
import { type Capability, can } from '../../people/roles.ts';
import {
  answerDualControlQuestion,
  approve,
  carryOut,
  decline,
  listApprovals,
  setProductionByTwo,
  showApproval,
  showDualControlQuestion,
  withdrawApproval,
} from '../../wire/approvals.ts';
import { executeOperatorChange } from '../operator-changes.ts';
import { type Call, type Change, carriedOut, type Route, route } from '../route.ts';

type AnyCall = Call<unknown, unknown>;

export const approvalRoutes: readonly Route[] = [
  route(listApprovals, async (call) => {
    const approvals = await call.services.approvals.list(call.account);
    const view = await viewFor(call, approvals);
    return { approvals: approvals.map(view) };
  }),

  route(showApproval, async (call) => {
    const { summary, ...rest } = await call.services.approvals.get(call.account, call.params['id'] ?? '');
    const approval = { ...rest, firstLines: summary, moreLines: 0 };
    const view = await viewFor(call, [approval]);
    return { approval: view(approval) };
  }),

  route(approve, async (call) => {
    const execution = await call.services.approvals.decide(call, call.params['id'] ?? '', 'approved');
    if (execution !== undefined) await executeOperatorChange(call.services, execution);
    return { executed: execution !== undefined };
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
    const { call: asked, consent } = await approvals.claimForExecution(approval, call);
    try {
      return { action: approval.action, result: await change.run(call, asked, approval.environment, consent) };
    } catch (error) {
      await approvals.recordFailure(approval, error instanceof Failure ? error.code : 'failed', call.origin);
      throw error;
    }
  }),

  route(showDualControlQuestion, async ({ services, account }) => {
    const { isAsked, isRecommended } = await services.dualControlQuestion.find(account);
    return { is_asked: isAsked, is_recommended: isRecommended };
  }),

  route(answerDualControlQuestion, async ({ services, account, origin, body: { dual_control: isOn } }) => {
    // The settings do the same when the rule is switched on.
    const links = isOn ? await services.people.invitations.endOfAll(account, origin) : undefined;
    await services.dualControlQuestion.answer(account, isOn, origin, links);
    return { done: true };
  }),

  route(
    setProductionByTwo,
    async ({ services, account, origin, body }) => {
      const { production_by_two: isOn } = body;
      // One person alone made the links that are open, and could be who follows them.
      const links = isOn ? await services.people.invitations.endOfAll(account, origin) : undefined;
      if ((await services.accounts.find(account))?.dualControl !== isOn)
        await services.approvals.setRequired(account, isOn, origin, links);
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

type Emails = ReadonlyMap<string, string | undefined>;

/** Of those who are members still: of others no address is kept, or it is nobody's business here. */
async function emailsOf({ services, account }: AnyCall, approvals: readonly ListedApproval[]): Promise<Emails> {
  const { people, team } = services.people;
  const ids = new Set(
    approvals.flatMap(({ requestedBy, decidedBy }) => [requestedBy, ...(decidedBy === undefined ? [] : [decidedBy])]),
  );
  const found = [...ids].map(async (id): Promise<[string, string | undefined]> => {
    const isMember = (await team.roleIn(account, id)) !== undefined;
    return [id, isMember ? (await people.profile(id))?.email : undefined];
  });
  return new Map(await Promise.all(found));
}

/** How the caller sees these. */
async function viewFor(call: AnyCall, approvals: readonly ListedApproval[]) {
  const since = await call.services.people.team.settledSince(call.account, call.person.id);
  const emails = await emailsOf(call, approvals);
  return (approval: ListedApproval) => shown(call, approval, since, emails);
}

function shown({ now, person, role }: AnyCall, approval: ListedApproval, since: number | undefined, emails: Emails) {
  const { id, environment, action, firstLines, moreLines, requester, requestedBy, decider, decidedBy = '' } = approval;
  const { createdAt, expiresAt } = approval;
  const status = statusAt(approval, now);
  const isYours = requestedBy === person.id;
  const isOthers = !isYours && !isOlderThan(approval, since);
  return {
    id,
    environment,
    action,
    summary: firstLines,
    more_lines: moreLines,
    status,
    requested_by: requester,
    requested_by_email: emails.get(requestedBy) ?? null,
    by_operator: approval.operator !== undefined,
    is_yours: isYours,
    may_decide: status === 'waiting' && isOthers && role !== undefined && can(role, 'approvals:decide'),
    decided_by: decider ?? null,
    decided_by_email: emails.get(decidedBy) ?? null,
    created_at: iso8601(createdAt),
    expires_at: iso8601(expiresAt),
  };
}
