import type { Fill } from '../../../src/idempotency/transaction.ts';
import { formatIso8601 } from '../../../src/kernel/clock.ts';
import { Failure, notPossible } from '../../../src/kernel/failure.ts';
import type { Json } from '../../../src/kernel/json.ts';
import { type Approval, type ApprovalView, statusAt, wasMemberBefore } from '../../approvals/approval.ts';
import { type Capability, can } from '../../people/roles.ts';
import {
  answerDualControlQuestion,
  approve,
  decline,
  executeApproval,
  listApprovals,
  setDualControl,
  showApproval,
  showDualControlQuestion,
  withdrawApproval,
} from '../../wire/approvals.ts';
import { translate } from '../error-translation.ts';
import { executeOperatorChange } from '../operator-changes.ts';
import { type AnyCall, type ApprovableChange, executed, type Route, route } from '../route.ts';

export const approvalRoutes: readonly Route[] = [
  route(listApprovals, async (call) => {
    const approvals = await call.services.approvals.list(call.account);
    const view = await buildView(call, approvals);
    return { approvals: approvals.map(view) };
  }),

  route(showApproval, async (call) => {
    const { summary, ...rest } = await call.services.approvals.get(call.account, call.params['id'] ?? '');
    const approval = { ...rest, firstLines: summary, moreLines: 0 };
    const view = await buildView(call, [approval]);
    return { approval: view(approval) };
  }),

  route(approve, async (call) => {
    const { services, transaction, params } = call;
    const execution = await services.approvals.decide(transaction, call, params['id'] ?? '', 'approved');
    if (execution !== undefined) await executeOperatorChange(services, transaction, execution);
    return { executed: execution !== undefined };
  }),

  route(decline, async (call) => {
    await call.services.approvals.decide(call.transaction, call, call.params['id'] ?? '', 'declined');
    return { done: true };
  }),

  route(withdrawApproval, async (call) => {
    await call.services.approvals.withdraw(call.transaction, call, call.params['id'] ?? '');
    return { done: true };
  }),

  route(executeApproval, async (call) => {
    const approval = await call.services.approvals.get(call.account, call.params['id'] ?? '');
    const change = findApprovableChange(call, approval);
    await assertApproverStillAllowed(call, approval);
    call.services.approvals.assertExecutable(approval, call.person);
    return { action: approval.action, result: await executeOnce(call, approval, change) };
  }),

  route(showDualControlQuestion, async ({ services, account }) => {
    const { isAsked, isRecommended } = await services.dualControlQuestion.find(account);
    return { is_asked: isAsked, is_recommended: isRecommended };
  }),

  route(answerDualControlQuestion, async (call) => {
    const { services, transaction, account, body } = call;
    await services.dualControlQuestion.answer(transaction, account, body.dual_control);
    if (body.dual_control) await revokeInvitations(call);
    return { done: true };
  }),

  route(
    setDualControl,
    async (call) => {
      const { services, transaction, account, body } = call;
      const { dual_control: isOn } = body;
      if ((await services.accounts.find(account))?.dualControl !== isOn) {
        await services.approvals.setRequired(transaction, account, isOn);
        if (isOn) await revokeInvitations(call);
      }
      return executed({ dual_control: isOn });
    },
    async ({ body }) => [{ name: 'dual_control', value: String(body.dual_control) }],
  ),
];

/**
 * Makes an approved change in the transaction that ends its approval: for a change with an effect outside the database,
 * in the transaction that stores its intent. A change that fails ends the approval as well.
 */
async function executeOnce(call: AnyCall, approval: Approval, change: ApprovableChange): Promise<Json> {
  const { services, origin } = call;
  const { approvals, transactions } = services;
  const { stages } = change;
  const run = <Result>(fill: Fill<Result>): Promise<Result> => transactions.run({ origin }, fill);
  let isRedeemed = false;
  try {
    const { approved, intent } = await run(async (transaction) => {
      const { call: requestedCall, consent } = await approvals.redeemApproval(transaction, approval);
      const approved = change.toCall({ ...call, consent }, requestedCall, approval.environment);
      return { approved, intent: await stages.intend({ ...approved, transaction }) };
    });
    isRedeemed = true;
    const sent = await stages.send(services, intent);
    return await run((transaction) => stages.conclude({ ...approved, transaction }, intent, sent));
  } catch (thrown) {
    const error = translate(thrown);
    const outcome = error instanceof Failure ? error.code : 'failed';
    await run(async (transaction) =>
      isRedeemed
        ? approvals.recordFailure(transaction, approval, outcome)
        : approvals.endFailed(transaction, approval, outcome),
    );
    throw error;
  }
}

/** A single person created the pending links, and could redeem them as the second person. */
const revokeInvitations = ({ services, transaction, account }: AnyCall): Promise<void> =>
  services.people.invitations.revokeAll(transaction, account);

/** Finds the change of an approval. Throws `not_allowed` when the requester has lost the capability for it. */
function findApprovableChange({ services, role }: AnyCall, { action }: Approval): ApprovableChange {
  const change = services.changes.get(action);
  if (change === undefined) throw notPossible('changeUnknown');
  if (role === undefined || !can(role, change.definition.access as Capability)) throw new Failure('not_allowed');
  return change;
}

/** Throws `not_possible` when the approver has lost the capability since. */
async function assertApproverStillAllowed({ services, account }: AnyCall, { decidedBy }: Approval): Promise<void> {
  if (decidedBy === undefined) return;
  const role = await services.people.team.findRole(account, decidedBy);
  if (role !== undefined && can(role, 'approvals:decide')) return;
  throw notPossible('approverRightLost');
}

type Emails = ReadonlyMap<string, string | undefined>;

/** Returns the emails of requesters and approvers who are still members. */
async function loadEmails({ services, account }: AnyCall, approvals: readonly ApprovalView[]): Promise<Emails> {
  const { people, team } = services.people;
  const ids = new Set(
    approvals.flatMap(({ requestedBy, decidedBy }) => [requestedBy, ...(decidedBy === undefined ? [] : [decidedBy])]),
  );
  const found = [...ids].map(async (id): Promise<[string, string | undefined]> => {
    const isMember = (await team.findRole(account, id)) !== undefined;
    return [id, isMember ? (await people.findProfile(id))?.email : undefined];
  });
  return new Map(await Promise.all(found));
}

/** The form in which the caller sees them. */
async function buildView(call: AnyCall, approvals: readonly ApprovalView[]) {
  const since = await call.services.people.team.memberWithFactorsSince(call.account, call.person.id);
  const emails = await loadEmails(call, approvals);
  return (approval: ApprovalView) => toApprovalView(call, approval, since, emails);
}

function toApprovalView(
  { now, person, role }: AnyCall,
  approval: ApprovalView,
  since: number | undefined,
  emails: Emails,
) {
  const { id, environment, action, firstLines, moreLines, requester, requestedBy, decider, decidedBy = '' } = approval;
  const { createdAt, expiresAt } = approval;
  const status = statusAt(approval, now);
  const isOwn = requestedBy === person.id;
  const isByAnother = !isOwn && wasMemberBefore(approval, since);
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
    is_yours: isOwn,
    may_decide: status === 'waiting' && isByAnother && role !== undefined && can(role, 'approvals:decide'),
    decided_by: decider ?? null,
    decided_by_email: emails.get(decidedBy) ?? null,
    created_at: formatIso8601(createdAt),
    expires_at: formatIso8601(expiresAt),
  };
}
