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
export interface AskedCall {
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
  /** Ids of people. */
  readonly requestedBy: string;
  readonly decidedBy: string | undefined;
  /** Their names then. */
  readonly requester: string;
  readonly decider: string | undefined;
  /** A word of `byTwo`. */
  readonly action: string;
  readonly summary: readonly SummaryLine[];
  /** Gone once it is over: it may hold a private key. */
  readonly call: AskedCall | undefined;
  readonly createdAt: number;
  readonly expiresAt: number;
}

export const APPROVAL_LASTS_MS = 24 * HOUR;

const OPEN: readonly ApprovalStatus[] = ['waiting', 'approved'];

/** Something may still come of it. */
export const isOpen = ({ status, expiresAt }: Approval, now: number): boolean =>
  OPEN.includes(status) && now < expiresAt;

/** As it is now: what nobody decided or carried out in time is void. */
export const statusAt = (approval: Approval, now: number): ApprovalStatus =>
  OPEN.includes(approval.status) && !isOpen(approval, now) ? 'expired' : approval.status;

/** The same approval at another status, without the call when that is the end. */
export function atStatus(approval: Approval, status: ApprovalStatus, by?: { id: string; name: string }): Approval {
  const decided = by === undefined ? {} : { decidedBy: by.id, decider: by.name };
  return { ...approval, ...decided, status, call: OPEN.includes(status) ? approval.call : undefined };
}
