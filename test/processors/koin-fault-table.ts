import type { KoinFault } from './fake-koin.ts';

/** A fault, what the operation then is, and for unknown ones what really became of it. */
export type FaultRow = readonly [deed: KoinFault, outcome: string, books?: string];

/** Nobody can say what became of a request; `books` is what really did. */
export const UNKNOWN_OUTCOME_FAULTS: readonly FaultRow[] = [
  ['drop-before', 'unknown', 'not done'],
  ['drop-after', 'unknown', 'done'],
  ['hang-before', 'unknown', 'not done'],
  ['hang-after', 'unknown', 'done'],
  ['error-before', 'unknown', 'not done'],
  ['error-after', 'unknown', 'done'],
  ['garbage', 'unknown', 'done'],
  [{ delay: 20 }, 'approved', 'done'],
  ...[302, 418, 429, 503].map((status): FaultRow => [{ status }, 'unknown', 'not done']),
];

export const name = (deed: KoinFault): string => JSON.stringify(deed);
