import type { Failed } from '../../transitions.ts';
import { type Answer, type Asked, contradicts, isOtherAuthorized } from './answer.ts';

/** Their words and what they mean here; `docs/processors/cybersource.md` shows the same tables. Pure. */

/**
 * `undo`: something may be held, and is to be given back before the failure is told. `held`: authorized, but a sale is
 * not captured.
 */
export type Verdict =
  | { readonly kind: 'approved' | 'held' | 'pending' }
  | { readonly kind: 'refused' | 'undo'; readonly failed: Failed }
  | { readonly kind: 'unknown'; readonly why: string };

/** What is done with approvals that CyberSource marked for their AVS or card code result. */
export type SoftDecline = 'reverse' | 'accept';

export type Call = 'payment' | 'capture' | 'refund' | 'reversal' | 'void';

const declined = (reason: Extract<Failed, { status: 'Declined' }>['reason']): Failed => ({
  status: 'Declined',
  reason,
});
const broken = (reason: Extract<Failed, { status: 'ProcessorError' }>['reason']): Failed => ({
  status: 'ProcessorError',
  reason,
});

/** Statuses that mean yes, by call. */
export const ACCEPTED: Readonly<Record<Call, readonly string[]>> = {
  payment: ['AUTHORIZED'],
  capture: ['PENDING', 'TRANSMITTED'],
  refund: ['PENDING', 'TRANSMITTED'],
  reversal: ['REVERSED'],
  void: ['VOIDED', 'CANCELLED'],
};

/** Why something was refused; CyberSource adds reasons at any time, so the status decides about those not listed. */
export const REASONS: Readonly<Record<string, Failed | 'unknown'>> = {
  INSUFFICIENT_FUND: declined('InsufficientFunds'),
  EXCEEDS_CREDIT_LIMIT: declined('InsufficientFunds'),
  EXPIRED_CARD: declined('ExpiredCard'),
  STOLEN_LOST_CARD: declined('StolenCard'),
  INVALID_ACCOUNT: declined('InvalidCard'),
  CVN_NOT_MATCH: declined('InvalidCard'),
  INVALID_CVN: declined('InvalidCard'),
  CV_FAILED: declined('InvalidCard'),
  UNAUTHORIZED_CARD: declined('InvalidCard'),
  INVALID_CARD: declined('InvalidCard'),
  INVALID_CARD_TYPE: declined('InvalidCard'),
  CARD_TYPE_NOT_ACCEPTED: declined('InvalidCard'),
  CONTACT_PROCESSOR: declined('Referred'),
  AVS_FAILED: declined('Rejected'),
  PROCESSOR_DECLINED: declined('Rejected'),
  GENERAL_DECLINE: declined('Rejected'),
  PAYMENT_REFUSED: declined('Rejected'),
  SUSPENDED_ACCOUNT: declined('Rejected'),
  BLOCKED_BY_CARDHOLDER: declined('Rejected'),
  DECLINED_CHECK: declined('Rejected'),
  ALLOWABLE_PIN_RETRIES_EXCEEDED: declined('Rejected'),
  DAGGREJECTED: declined('Rejected'),
  DAGGDENIED: declined('Rejected'),
  DSYSREJECTED: declined('Rejected'),
  PENDING_AUTHENTICATION: declined('Rejected'),
  CONSUMER_AUTHENTICATION_REQUIRED: declined('Rejected'),
  CONSUMER_AUTHENTICATION_FAILED: declined('Rejected'),
  SCORE_EXCEEDS_THRESHOLD: declined('Antifraud'),
  DECISION_PROFILE_REJECT: declined('Antifraud'),
  CUSTOMER_WATCHLIST_MATCH: declined('Antifraud'),
  ADDRESS_COUNTRY_WATCHLIST_MATCH: declined('Antifraud'),
  EMAIL_COUNTRY_WATCHLIST_MATCH: declined('Antifraud'),
  IP_COUNTRY_WATCHLIST_MATCH: declined('Antifraud'),
  BLACKLISTED_CUSTOMER: declined('Antifraud'),
  MISSING_FIELD: declined('InvalidData'),
  INVALID_DATA: declined('InvalidData'),
  INVALID_AMOUNT: declined('InvalidData'),
  INVALID_PAYMENT_ID: declined('InvalidData'),
  EXCEEDS_AUTH_AMOUNT: declined('InvalidData'),
  AUTH_ALREADY_REVERSED: declined('Rejected'),
  TRANSACTION_ALREADY_SETTLED: declined('Rejected'),
  TRANSACTION_ALREADY_REVERSED_OR_SETTLED: declined('Rejected'),
  MISSING_AUTH: declined('Rejected'),
  CAPTURE_ALREADY_VOIDED: declined('Rejected'),
  NOT_VOIDABLE: declined('Rejected'),
  ISSUER_UNAVAILABLE: broken('ConnectionRejected'),
  PROCESSOR_ERROR: broken('ConnectionRejected'),
  PROCESSOR_UNAVAILABLE: broken('ConnectionRejected'),
  INVALID_MERCHANT_CONFIGURATION: broken('InvalidConfiguration'),
  NOT_SUPPORTED: broken('InvalidConfiguration'),
  ACCOUNT_NOT_ALLOWED_CREDIT: broken('InvalidConfiguration'),
  DUPLICATE_REQUEST: 'unknown',
  PROCESSOR_TIMEOUT: 'unknown',
  SYSTEM_ERROR: 'unknown',
  SERVER_TIMEOUT: 'unknown',
  SERVICE_TIMEOUT: 'unknown',
};

/** HTTP statuses with which nothing was processed, whatever the body says. */
export const HTTP_STATUSES: Readonly<Record<number, Failed>> = {
  401: broken('InvalidConfiguration'),
  403: broken('InvalidConfiguration'),
  404: broken('InvalidConfiguration'),
  405: broken('InvalidConfiguration'),
  415: broken('InvalidConfiguration'),
  429: broken('ConnectionRejected'),
};

/** What an answer to an order that moves money means. */
export function verdictOf(
  call: Call,
  http: number,
  answer: Answer | undefined,
  asked: Asked,
  softDecline: SoftDecline,
): Verdict {
  const failed = HTTP_STATUSES[http];
  if (failed !== undefined) return { kind: 'refused', failed };
  if (![200, 201, 202, 400].includes(http)) return { kind: 'unknown', why: `http-${http}` };
  if (answer?.status === undefined) return { kind: 'unknown', why: 'unreadable' };
  if (contradicts(answer.body, asked)) return { kind: 'unknown', why: 'contradiction' };
  const verdict = http === 400 ? refusal(answer, 'InvalidData') : judged(call, answer, asked, softDecline);
  // Only an authorization holds something when it fails.
  return verdict.kind === 'undo' && call !== 'payment' ? { kind: 'refused', failed: verdict.failed } : verdict;
}

function judged(call: Call, answer: Answer, asked: Asked, softDecline: SoftDecline): Verdict {
  const { status = '', body, particulars } = answer;
  if (ACCEPTED[call].includes(status)) {
    const isWhole = call !== 'payment' || !isOtherAuthorized(body, asked.amount);
    return isWhole && particulars.processorId !== undefined
      ? { kind: 'approved' }
      : { kind: 'unknown', why: 'contradiction' };
  }
  return (
    (call === 'payment' ? paymentStatus(answer, softDecline) : undefined) ??
    refusalStatus(answer) ?? { kind: 'unknown', why: 'unknown-status' }
  );
}

/** Statuses that only authorizations and sales have. */
function paymentStatus(answer: Answer, softDecline: SoftDecline): Verdict | undefined {
  switch (answer.status) {
    case 'PARTIAL_AUTHORIZED':
      return { kind: 'undo', failed: declined('InsufficientFunds') };
    case 'AUTHORIZED_PENDING_REVIEW':
      return reviewed(answer, softDecline);
    case 'PENDING_REVIEW':
      return { kind: 'pending' };
    case 'AUTHORIZED_RISK_DECLINED':
      return refusedOrUndone(declined('Antifraud'), answer);
    case 'PENDING_AUTHENTICATION':
      return { kind: 'refused', failed: declined('Rejected') };
    default:
      return undefined;
  }
}

function reviewed(answer: Answer, softDecline: SoftDecline): Verdict {
  switch (answer.reason) {
    case 'AVS_FAILED':
    case 'CV_FAILED':
      return softVerdict(answer.reason, softDecline);
    case 'CONTACT_PROCESSOR':
      return refusedOrUndone(declined('Referred'), answer);
    default:
      return { kind: 'pending' };
  }
}

/** The issuer holds the amount, and CyberSource took offence at the address or the card code. */
export function softVerdict(reason: 'AVS_FAILED' | 'CV_FAILED', softDecline: SoftDecline): Verdict {
  if (softDecline === 'accept') return { kind: 'held' };
  return { kind: 'undo', failed: declined(reason === 'AVS_FAILED' ? 'Rejected' : 'InvalidCard') };
}

function refusalStatus(answer: Answer): Verdict | undefined {
  if (answer.status === 'DECLINED' || answer.status === 'FAILED') return refusal(answer, 'Rejected');
  if (answer.status === 'INVALID_REQUEST') return refusal(answer, 'InvalidData');
  return undefined;
}

function refusal(answer: Answer, otherwise: 'Rejected' | 'InvalidData'): Verdict {
  const { reason = '' } = answer;
  // A key that was sent before: what it did then is not told here.
  if (reason === 'INVALID_DATA' && namesKey(answer)) return { kind: 'unknown', why: 'duplicate' };
  const failed = failedBy(reason) ?? declined(otherwise);
  return failed === 'unknown' ? { kind: 'unknown', why: reason.toLowerCase() } : refusedOrUndone(failed, answer);
}

export const failedBy = (reason: string): Failed | 'unknown' | undefined =>
  Object.hasOwn(REASONS, reason) ? REASONS[reason] : undefined;

export const namesKey = ({ fields }: Answer): boolean => fields.some((field) => /transactionId$/i.test(field));

/** With an approval code the issuer holds the amount although CyberSource refused. */
export const refusedOrUndone = (failed: Failed, { particulars }: Pick<Answer, 'particulars'>): Verdict => ({
  kind: particulars.approvalCode === undefined ? 'refused' : 'undo',
  failed,
});
