import type { RequestingOperator, SummaryLine } from '../../src/accounts/change-control.ts';
import { HOUR } from '../../src/kernel/clock.ts';
import type { Environment } from '../../src/kernel/environment.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import type { ApprovalStatus } from './approval-status.ts';

/** A change in production that one user requests, and another one approves or declines. */

/** The call as it was made. */
export interface RequestedCall {
  /** Parameters of its path. */
  readonly params: Readonly<Record<string, string>>;
  /** Its body as JSON, with the parsed members alone; empty without a body. */
  readonly body: string;
}

export interface Approval {
  readonly account: string;
  readonly environment: Environment;
  readonly id: string;
  readonly status: ApprovalStatus;
  /** Ids of users; for an operator at the command line the name. */
  readonly requestedBy: string;
  readonly decidedBy: string | undefined;
  /** Their names at that time. */
  readonly requester: string;
  /** The operator who requested it; such a change is executed when it is approved. */
  readonly operator?: RequestingOperator | undefined;
  readonly decider: string | undefined;
  /** A value of `dualControl`. */
  readonly action: string;
  readonly summary: readonly SummaryLine[];
  readonly createdAt: number;
  readonly expiresAt: number;
}

/** An approval in a list. It lacks the complete summary, so its type prevents that it is stored. */
export interface ApprovalView extends Omit<Approval, 'summary'> {
  readonly firstLines: readonly SummaryLine[];
  /** Number of further lines of the summary. */
  readonly moreLines: number;
}

export const APPROVAL_TTL_MS = 24 * HOUR;

const UNFINISHED: readonly ApprovalStatus[] = ['waiting', 'approved'];

/** True while it can be approved or executed, unless it has expired. */
export const isUnfinished = ({ status }: Pick<Approval, 'status'>): boolean => UNFINISHED.includes(status);

/** True while it can be approved or executed. */
export const isPending = (approval: Pick<Approval, 'status' | 'expiresAt'>, now: number): boolean =>
  isUnfinished(approval) && now < approval.expiresAt;

/** Returns its present status: an approval that was not decided or executed in time has lapsed. */
export const statusAt = (approval: Pick<Approval, 'status' | 'expiresAt'>, now: number): ApprovalStatus =>
  isUnfinished(approval) && !isPending(approval, now) ? 'expired' : approval.status;

/**
 * True for a member who may decide it: they were a member before the request, and used no link that was created later.
 * Otherwise the requester could invite the approver. `since`: as in `Team.memberWithFactorsSince`.
 */
export const wasMemberBefore = ({ createdAt }: Pick<Approval, 'createdAt'>, since: number | undefined): boolean =>
  since !== undefined && since <= createdAt;

/** Returns the approval with another status. */
export function withStatus(approval: Approval, status: ApprovalStatus, by?: { id: string; name: string }): Approval {
  const decided = by === undefined ? {} : { decidedBy: by.id, decider: by.name };
  return { ...approval, ...decided, status };
}

/** Returns the first lines of a summary, each complete, up to the limit of lists. */
export function truncateSummary(lines: readonly SummaryLine[]): readonly SummaryLine[] {
  let characters = 0;
  const end = lines.findIndex(({ name, value }) => {
    characters += name.length + value.length;
    return characters > LIMITS.summaryCharactersListed;
  });
  return end < 0 ? lines : lines.slice(0, end);
}
