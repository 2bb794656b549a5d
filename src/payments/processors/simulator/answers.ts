import {
  type Approved,
  type Finding,
  type Outcome,
  type Particulars,
  type Refused,
  refused,
  type Unknown,
} from '../../processor.ts';
import { RESPONSE_CODES, type Reason } from '../../transitions.ts';
import { type Entry, firstStanding, type Movement, type Standing } from './entry.ts';

/** What the simulator's books say, in the words of the seam. Pure. */

/** Letters of a reference before those that tell two of one millisecond apart. */
const TIME_LETTERS = 10;
const LETTER_A = 97;

/** The ids that processors give, derived from the one that is kept. */
function particularsOf(reference: string): Particulars {
  const distinct = reference.slice(TIME_LETTERS).toUpperCase();
  return {
    processorId: reference,
    responseCode: RESPONSE_CODES.approved,
    approvalCode: approvalCodeOf(reference),
    reconciliationId: `REC${distinct}`,
    networkId: `NET${distinct}`,
  };
}

/** Six digits, as the issuers of cards give them. */
function approvalCodeOf(reference: string): string {
  let sum = 0;
  for (const letter of reference) sum = (sum * 31 + letter.charCodeAt(0) - LETTER_A) % 1_000_000;
  return String(sum).padStart(6, '0');
}

/** What the first request was answered, whatever happened since. */
export function firstAnswerOf(entry: Entry): Outcome {
  const finding = findingOf(entry, firstStanding(entry));
  return finding.kind === 'reversed' || finding.kind === 'absent' ? refusal('InvalidData') : finding;
}

/** How a payment stands. */
export function findingOf({ reference, amount }: Entry, standing: Standing): Exclude<Finding, Unknown> {
  switch (standing.kind) {
    case 'absent':
      return { kind: 'absent' };
    case 'opened':
      return { kind: 'pending', particulars: { processorId: reference } };
    case 'reversed':
      return { kind: 'reversed', particulars: particularsOf(reference) };
    case 'refused':
      return refusal(standing.reason, reference);
    case 'authorized': {
      const particulars = { ...particularsOf(reference), avs: { code: 'Y', codeRaw: 'Y' } };
      if (standing.captured === 0n) return { kind: 'approved', particulars };
      return { kind: 'approved', captured: { minor: standing.captured, currency: amount.currency }, particulars };
    }
  }
}

/** What a request for a capture, refund or void is answered. */
export function answerOf({ reference, verdict, reason }: Movement): Approved | Refused {
  // An undone one was approved at first.
  if (verdict === 'approved' || verdict === 'undone')
    return { kind: 'approved', particulars: particularsOf(reference) };
  return verdict === 'refused' ? refusal(reason ?? 'Undefined', reference) : refusal('InvalidData');
}

/** Without a reference for what the books do not keep. */
export const refusal = (reason: Reason, reference?: string): Refused =>
  refused(reason, { processorId: reference, responseCode: RESPONSE_CODES[reason] });
