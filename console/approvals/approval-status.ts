/** The browser imports this file too, so that it needs nothing of Node. */

/** `done`: it was begun to be carried out, which happens once. */
export const APPROVAL_STATUSES = ['waiting', 'approved', 'declined', 'done', 'expired'] as const;

export type ApprovalStatus = (typeof APPROVAL_STATUSES)[number];
