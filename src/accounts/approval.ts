import { HOUR } from '../kernel/clock.ts';
import type { Environment } from '../kernel/environment.ts';

/** A change in production that one person asked for, and another one decides about. */

/** `done`: it was begun to be carried out, which happens once. */
export const APPROVAL_STATUSES = ['waiting', 'approved', 'declined', 'done', 'expired'] as const;

export type ApprovalStatus = (typeof APPROVAL_STATUSES)[number];

/** What somebody is told that a change would do; never a secret. */
export interface SummaryLine {
  readonly name: string;
  readonly value: string;
}

/** The call as it was made. */
export interface RequestedCall {
  /** Of its path. */
  readonly params: Readonly<Record<string, string>>;
  /** Its body as JSON, with what was read of it alone; empty without one. */
  readonly body: string;
}

/** An operator as the audit log names them: a person in the console, or who runs commands. */
export interface RequestingOperator {
  readonly type: 'person' | 'operator';
  readonly id?: string;
  readonly name?: string;
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
  since === undefined || createdAt < since;

/** The same approval at another status. */
export function withStatus(approval: Approval, status: ApprovalStatus, by?: { id: string; name: string }): Approval {
  const decided = by === undefined ? {} : { decidedBy: by.id, decider: by.name };
  return { ...approval, ...decided, status };
}
