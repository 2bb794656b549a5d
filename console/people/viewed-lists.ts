/** The lists that have saved views. */
export const VIEWED_LISTS = ['payments', 'tokens', 'captures', 'keys', 'audit', 'requests'] as const;

export type ViewedList = (typeof VIEWED_LISTS)[number];
