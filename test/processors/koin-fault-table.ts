import type { KoinFault } from './fake-koin.ts';

/** A fault, the resulting outcome, and for unknown outcomes the true one. */
export type FaultRow = readonly [fault: KoinFault, outcome: string, recorded?: string];

/** The outcome is unknown; `books` is the true one. */
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

export const name = (fault: KoinFault): string => JSON.stringify(fault);
