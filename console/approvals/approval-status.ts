/** The browser imports this file too, so that it must not need Node. */

/** `done`: its execution was started, which is possible once. */
export const APPROVAL_STATUSES = ['waiting', 'approved', 'declined', 'done', 'expired'] as const;

export type ApprovalStatus = (typeof APPROVAL_STATUSES)[number];
