import type { RequestingOperator } from '../../src/accounts/change-control.ts';
import type { SummaryLine } from '../../src/accounts/change-summary.ts';
import { HOUR } from '../../src/kernel/clock.ts';
import type { Environment } from '../../src/kernel/environment.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import type { ApprovalStatus } from './approval-status.ts';

/** A change in production that one person asked for, and another one decides about. */

/** The call as it was made. */
export interface RequestedCall {
  /** Of its path. */
  readonly params: Readonly<Record<string, string>>;
  /** Its body as JSON, with what was read of it alone; empty without one. */
  readonly body: string;
}

export interface Approval {
  readonly account: string;
  readonly environment: Environment;
  readonly id: string;
  readonly status: ApprovalStatus;
  /** Ids of people; of an operator at the command line their name. */
  readonly requestedBy: string;
  readonly decidedBy: string | undefined;
  /** Their names then. */
  readonly requester: string;
  /** The operator who requested it; such a change is executed when it is approved. */
  readonly operator?: RequestingOperator | undefined;
  readonly decider: string | undefined;
  /** A word of `byTwo`. */
  readonly action: string;
  readonly summary: readonly SummaryLine[];
  readonly createdAt: number;
  readonly expiresAt: number;
}

/** As lists show it. Without the whole summary it is no `Approval`, so that it is never stored. */
export interface ApprovalView extends Omit<Approval, 'summary'> {
  readonly firstLines: readonly SummaryLine[];
  /** How many lines of the summary come behind them. */
  readonly moreLines: number;
}

export const APPROVAL_TTL_MS = 24 * HOUR;

const UNFINISHED: readonly ApprovalStatus[] = ['waiting', 'approved'];

/** Something may still come of it, in time. */
export const isUnfinished = ({ status }: Pick<Approval, 'status'>): boolean => UNFINISHED.includes(status);

/** Something may still come of it. */
export const isPending = (approval: Pick<Approval, 'status' | 'expiresAt'>, now: number): boolean =>
  isUnfinished(approval) && now < approval.expiresAt;

/** As it is now: what nobody decided or carried out in time is void. */
export const statusAt = (approval: Pick<Approval, 'status' | 'expiresAt'>, now: number): ApprovalStatus =>
  isUnfinished(approval) && !isPending(approval, now) ? 'expired' : approval.status;

/**
 * Who has been there since before it was asked for, and came in by no link that was made later, may decide it: else whoever
 * asks could let in the second person. `since`: as `Team.settledSince`.
 */
export const wasMemberBefore = ({ createdAt }: Pick<Approval, 'createdAt'>, since: number | undefined): boolean =>
  since !== undefined && since <= createdAt;

/** The same approval at another status. */
export function withStatus(approval: Approval, status: ApprovalStatus, by?: { id: string; name: string }): Approval {
  const decided = by === undefined ? {} : { decidedBy: by.id, decider: by.name };
  return { ...approval, ...decided, status };
}

/** The first lines of a summary, each whole, as many as lists show. */
export function truncateSummary(lines: readonly SummaryLine[]): readonly SummaryLine[] {
  let characters = 0;
  const end = lines.findIndex(({ name, value }) => {
    characters += name.length + value.length;
    return characters > LIMITS.summaryCharactersListed;
  });
  return end < 0 ? lines : lines.slice(0, end);
}
