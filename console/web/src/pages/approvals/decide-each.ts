import { CallError } from '../../api/call.ts';
import type { Approval } from './approval.ts';

/** Decisions that can be made for several requests with one confirmation. */
export const GROUP_DECISIONS = ['approve', 'decline', 'execute'] as const;
export type GroupDecision = (typeof GROUP_DECISIONS)[number];

/** Operations on payments, which a batch requests many of. Other changes are read and decided one by one. */
const GROUPED_ACTIONS: readonly string[] = ['payment.capture', 'payment.refund', 'payment.void'];

/** Requests of one user for the same operation in one environment, which wait for the same step of the reader. */
export interface ApprovalGroup {
  readonly key: string;
  readonly decisions: readonly GroupDecision[];
  readonly approvals: readonly [Approval, Approval, ...Approval[]];
}

/** Returns what the reader may do with a request: decide it, or execute their own. */
function decisionsFor({ status, may_decide, is_yours }: Approval): readonly GroupDecision[] {
  if (status === 'waiting' && may_decide) return ['approve', 'decline'];
  return status === 'approved' && is_yours ? ['execute'] : [];
}

/** Groups pending requests of which there are several. One whose list does not have all lines is left out. */
export function groupApprovals(pending: readonly Approval[]): readonly ApprovalGroup[] {
  const candidates = pending.filter(
    (approval) =>
      GROUPED_ACTIONS.includes(approval.action) && approval.more_lines === 0 && decisionsFor(approval).length > 0,
  );
  const groups = Map.groupBy(candidates, (approval) =>
    JSON.stringify([
      ...[approval.action, approval.environment, approval.status],
      ...[approval.requested_by, approval.requested_by_email, approval.decided_by, approval.decided_by_email],
    ]),
  );
  return [...groups].flatMap(([key, [first, second, ...more]]) =>
    first === undefined || second === undefined
      ? []
      : [{ key, decisions: decisionsFor(first), approvals: [first, second, ...more] as const }],
  );
}

export type DecisionOutcome =
  | { readonly state: 'waiting' | 'running' | 'done' | 'stopped' }
  | { readonly state: 'failed'; readonly error: CallError };

/**
 * Sends the same decision for each request, one after the other: each is a decision of its own, which fails alone. Canceling
 * the second factor stops the others. Never rejects.
 */
export async function decideEach(
  ids: readonly string[],
  send: (id: string) => Promise<unknown>,
  onOutcome: (id: string, outcome: DecisionOutcome) => void,
): Promise<void> {
  let isCanceled = false;
  for (const id of ids) {
    if (isCanceled) {
      onOutcome(id, { state: 'stopped' });
      continue;
    }
    onOutcome(id, { state: 'running' });
    try {
      await send(id);
      onOutcome(id, { state: 'done' });
    } catch (error) {
      if (!(error instanceof CallError)) throw error;
      isCanceled = error.code === 'cancelled' || error.code === 'not_signed_in';
      onOutcome(id, isCanceled ? { state: 'stopped' } : { state: 'failed', error });
    }
  }
}
