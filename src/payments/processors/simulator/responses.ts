import {
  type Approved,
  type InquiryResult,
  type Outcome,
  type ProcessorDetails,
  type Refused,
  refused,
  type Unknown,
} from '../../processor.ts';
import { RESPONSE_CODES, type Reason } from '../../transitions.ts';
import {
  initialState,
  type SimulatedModification,
  type SimulatedPayment,
  type SimulatedState,
} from './simulated-payment.ts';

/** Maps the simulator's records to results of the processor interface. Pure. */

/** Letters of a reference before those that distinguish two of one millisecond. */
const TIMESTAMP_LETTERS = 10;
const LETTER_A = 97;

/** The ids that processors issue, derived from the one that is stored. */
function buildDetails(reference: string): ProcessorDetails {
  const distinct = reference.slice(TIMESTAMP_LETTERS).toUpperCase();
  return {
    processorId: reference,
    responseCode: RESPONSE_CODES.approved,
    approvalCode: approvalCodeOf(reference),
    reconciliationId: `REC${distinct}`,
    networkId: `NET${distinct}`,
  };
}

/** Six digits, as issuers assign them. */
function approvalCodeOf(reference: string): string {
  let sum = 0;
  for (const letter of reference) sum = (sum * 31 + letter.charCodeAt(0) - LETTER_A) % 1_000_000;
  return String(sum).padStart(6, '0');
}

/** Returns the first response, regardless of later changes. */
export function toInitialResponse(payment: SimulatedPayment): Outcome {
  const result = toInquiryResult(payment, initialState(payment));
  return result.kind === 'reversed' || result.kind === 'not-found' ? toRefusal('InvalidData') : result;
}

/** Returns the present state of a payment. */
export function toInquiryResult(
  { reference, amount }: SimulatedPayment,
  state: SimulatedState,
): Exclude<InquiryResult, Unknown> {
  switch (state.kind) {
    case 'not-found':
      return { kind: 'not-found' };
    case 'opened':
      return { kind: 'pending', details: { processorId: reference } };
    case 'reversed':
      return { kind: 'reversed', details: buildDetails(reference) };
    case 'refused':
      return toRefusal(state.reason, reference);
    case 'authorized': {
      const details = { ...buildDetails(reference), avs: { code: 'Y', codeRaw: 'Y' } };
      if (state.captured === 0n) return { kind: 'approved', details };
      return { kind: 'approved', captured: { minor: state.captured, currency: amount.currency }, details };
    }
  }
}

/** Returns the response to a capture, refund or void. */
export function toResponse({ reference, outcome, reason }: SimulatedModification): Approved | Refused {
  // A reversed one was approved at first.
  if (outcome === 'approved' || outcome === 'reversed') return { kind: 'approved', details: buildDetails(reference) };
  return outcome === 'refused' ? toRefusal(reason ?? 'Undefined', reference) : toRefusal('InvalidData');
}

/** Without a reference for records that do not contain one. */
export const toRefusal = (reason: Reason, reference?: string): Refused => {
  const details = { processorId: reference, responseCode: RESPONSE_CODES[reason] };
  // Its response code is 91: the issuer does not respond.
  return refused(reason, details, reason === 'ConnectionRejected' ? 'issuer-unavailable' : undefined);
};
