import { type Unknown, unknown } from '../../processor.ts';
import type { FailureCause, Reason } from '../../transitions.ts';
import {
  type CyberSourceResponse,
  contradicts,
  type ExpectedTransaction,
  isDifferentAmountAuthorized,
} from './response.ts';

/** The meaning of CyberSource's statuses and reasons; `docs/processors/cybersource.md` shows the same tables. Pure. */

/**
 * `reverse`: the issuer may hold an amount, which has to be reversed before the failure is reported. `authorized`:
 * authorized, but a sale is not captured.
 */
export type MappedResult =
  | { readonly kind: 'approved' | 'authorized' | 'pending' }
  | { readonly kind: 'refused' | 'reverse'; readonly reason: Reason; readonly cause?: FailureCause }
  | Unknown;

/** The treatment of approvals that CyberSource marked for their AVS or card code result. */
export type SoftDecline = 'reverse' | 'accept';

export type ApiOperation = 'payment' | 'capture' | 'refund' | 'reversal' | 'void';

/** Statuses that mean success, by API operation. */
export const ACCEPTED_STATUSES: Readonly<Record<ApiOperation, readonly string[]>> = {
  payment: ['AUTHORIZED'],
  capture: ['PENDING', 'TRANSMITTED'],
  refund: ['PENDING', 'TRANSMITTED'],
  reversal: ['REVERSED'],
  void: ['VOIDED', 'CANCELLED'],
};

/**
 * The meaning of the reason of a refusal. CyberSource may add reasons at any time, so the status decides about reasons
 * that are not listed.
 */
export const DECLINE_REASONS: Readonly<Record<string, Reason | 'unknown'>> = {
  INSUFFICIENT_FUND: 'InsufficientFunds',
  EXCEEDS_CREDIT_LIMIT: 'InsufficientFunds',
  EXPIRED_CARD: 'ExpiredCard',
  STOLEN_LOST_CARD: 'StolenCard',
  INVALID_ACCOUNT: 'InvalidCard',
  CVN_NOT_MATCH: 'InvalidCard',
  INVALID_CVN: 'InvalidCard',
  CV_FAILED: 'InvalidCard',
  UNAUTHORIZED_CARD: 'InvalidCard',
  INVALID_CARD: 'InvalidCard',
  INVALID_CARD_TYPE: 'InvalidCard',
  CARD_TYPE_NOT_ACCEPTED: 'InvalidCard',
  CONTACT_PROCESSOR: 'Referred',
  AVS_FAILED: 'Rejected',
  PROCESSOR_DECLINED: 'Rejected',
  GENERAL_DECLINE: 'Rejected',
  PAYMENT_REFUSED: 'Rejected',
  SUSPENDED_ACCOUNT: 'Rejected',
  BLOCKED_BY_CARDHOLDER: 'Rejected',
  DECLINED_CHECK: 'Rejected',
  ALLOWABLE_PIN_RETRIES_EXCEEDED: 'Rejected',
  DAGGREJECTED: 'Rejected',
  DAGGDENIED: 'Rejected',
  DSYSREJECTED: 'Rejected',
  PENDING_AUTHENTICATION: 'Rejected',
  CONSUMER_AUTHENTICATION_REQUIRED: 'Rejected',
  CONSUMER_AUTHENTICATION_FAILED: 'Rejected',
  SCORE_EXCEEDS_THRESHOLD: 'Antifraud',
  DECISION_PROFILE_REJECT: 'Antifraud',
  CUSTOMER_WATCHLIST_MATCH: 'Antifraud',
  ADDRESS_COUNTRY_WATCHLIST_MATCH: 'Antifraud',
  EMAIL_COUNTRY_WATCHLIST_MATCH: 'Antifraud',
  IP_COUNTRY_WATCHLIST_MATCH: 'Antifraud',
  BLACKLISTED_CUSTOMER: 'Antifraud',
  MISSING_FIELD: 'InvalidData',
  INVALID_DATA: 'InvalidData',
  INVALID_AMOUNT: 'InvalidData',
  INVALID_PAYMENT_ID: 'InvalidData',
  EXCEEDS_AUTH_AMOUNT: 'InvalidData',
  AUTH_ALREADY_REVERSED: 'Rejected',
  TRANSACTION_ALREADY_SETTLED: 'Rejected',
  TRANSACTION_ALREADY_REVERSED_OR_SETTLED: 'Rejected',
  MISSING_AUTH: 'Rejected',
  CAPTURE_ALREADY_VOIDED: 'Rejected',
  NOT_VOIDABLE: 'Rejected',
  ISSUER_UNAVAILABLE: 'ConnectionRejected',
  PROCESSOR_ERROR: 'ConnectionRejected',
  PROCESSOR_UNAVAILABLE: 'ConnectionRejected',
  INVALID_MERCHANT_CONFIGURATION: 'InvalidConfiguration',
  NOT_SUPPORTED: 'InvalidConfiguration',
  ACCOUNT_NOT_ALLOWED_CREDIT: 'InvalidConfiguration',
  DUPLICATE_REQUEST: 'unknown',
  PROCESSOR_TIMEOUT: 'unknown',
  SYSTEM_ERROR: 'unknown',
  SERVER_TIMEOUT: 'unknown',
  SERVICE_TIMEOUT: 'unknown',
};

/** Where a failure happened, by the reasons that mean ConnectionRejected. */
const FAILURE_CAUSES: Readonly<Record<string, FailureCause>> = {
  ISSUER_UNAVAILABLE: 'issuer-unavailable',
  PROCESSOR_ERROR: 'processor-failed',
  PROCESSOR_UNAVAILABLE: 'processor-failed',
};

/** HTTP statuses with which nothing was processed, whatever the body contains. */
export const UNPROCESSED_HTTP_STATUSES: Readonly<Record<number, Reason>> = {
  401: 'InvalidConfiguration',
  403: 'InvalidConfiguration',
  404: 'InvalidConfiguration',
  405: 'InvalidConfiguration',
  415: 'InvalidConfiguration',
  429: 'ConnectionRejected',
};

/** Maps the response to a request that moves money. */
export function mapResponse(
  operation: ApiOperation,
  http: number,
  answer: CyberSourceResponse | undefined,
  asked: ExpectedTransaction,
  softDecline: SoftDecline,
): MappedResult {
  const reason = UNPROCESSED_HTTP_STATUSES[http];
  if (reason !== undefined)
    return reason === 'ConnectionRejected'
      ? { kind: 'refused', reason, cause: 'processor-failed' }
      : { kind: 'refused', reason };
  if (![200, 201, 202, 400].includes(http)) return unknown(`http-${http}`);
  if (answer?.status === undefined) return unknown('unreadable');
  if (contradicts(answer.body, asked)) return unknown('contradiction');
  const result = http === 400 ? mapDecline(answer, 'InvalidData') : mapStatus(operation, answer, asked, softDecline);
  // Only a failed authorization may hold an amount.
  return result.kind === 'reverse' && operation !== 'payment' ? { ...result, kind: 'refused' } : result;
}

function mapStatus(
  operation: ApiOperation,
  answer: CyberSourceResponse,
  asked: ExpectedTransaction,
  softDecline: SoftDecline,
): MappedResult {
  const { status = '', body, details } = answer;
  if (ACCEPTED_STATUSES[operation].includes(status)) {
    const isWhole = operation !== 'payment' || !isDifferentAmountAuthorized(body, asked.amount);
    return isWhole && details.processorId !== undefined ? { kind: 'approved' } : unknown('contradiction');
  }
  return (
    (operation === 'payment' ? mapPaymentStatus(answer, softDecline) : undefined) ??
    mapDeclineStatus(answer) ??
    unknown('unknown-status')
  );
}

/** Statuses of authorizations and sales only. */
function mapPaymentStatus(answer: CyberSourceResponse, softDecline: SoftDecline): MappedResult | undefined {
  switch (answer.status) {
    case 'PARTIAL_AUTHORIZED':
      return { kind: 'reverse', reason: 'InsufficientFunds' };
    case 'AUTHORIZED_PENDING_REVIEW':
      return mapReview(answer, softDecline);
    case 'PENDING_REVIEW':
      return { kind: 'pending' };
    case 'AUTHORIZED_RISK_DECLINED':
      return declineOrReverse('Antifraud', answer);
    case 'PENDING_AUTHENTICATION':
      return { kind: 'refused', reason: 'Rejected' };
    default:
      return undefined;
  }
}

function mapReview(answer: CyberSourceResponse, softDecline: SoftDecline): MappedResult {
  switch (answer.reason) {
    case 'AVS_FAILED':
    case 'CV_FAILED':
      return mapSoftDecline(answer.reason, softDecline);
    case 'CONTACT_PROCESSOR':
      return declineOrReverse('Referred', answer);
    default:
      return { kind: 'pending' };
  }
}

/** The issuer holds the amount, and CyberSource declined because of the address or the card code. */
export function mapSoftDecline(reason: 'AVS_FAILED' | 'CV_FAILED', softDecline: SoftDecline): MappedResult {
  if (softDecline === 'accept') return { kind: 'authorized' };
  return { kind: 'reverse', reason: reason === 'AVS_FAILED' ? 'Rejected' : 'InvalidCard' };
}

function mapDeclineStatus(answer: CyberSourceResponse): MappedResult | undefined {
  if (answer.status === 'DECLINED' || answer.status === 'FAILED') return mapDecline(answer, 'Rejected');
  if (answer.status === 'INVALID_REQUEST') return mapDecline(answer, 'InvalidData');
  return undefined;
}

function mapDecline(answer: CyberSourceResponse, otherwise: 'Rejected' | 'InvalidData'): MappedResult {
  const { reason = '' } = answer;
  // A reference that was sent before: this response does not contain the earlier result.
  if (reason === 'INVALID_DATA' && rejectsTransactionId(answer)) return unknown('duplicate');
  const mapped = findReason(reason) ?? otherwise;
  return mapped === 'unknown' ? unknown(reason.toLowerCase()) : declineOrReverse(mapped, answer, findCause(reason));
}

export const findReason = (reason: string): Reason | 'unknown' | undefined =>
  Object.hasOwn(DECLINE_REASONS, reason) ? DECLINE_REASONS[reason] : undefined;

export const findCause = (reason: string): FailureCause | undefined =>
  Object.hasOwn(FAILURE_CAUSES, reason) ? FAILURE_CAUSES[reason] : undefined;

export const rejectsTransactionId = ({ fields }: CyberSourceResponse): boolean =>
  fields.some((field) => /transactionId$/i.test(field));

/** With an approval code the issuer holds the amount although CyberSource declined. */
export const declineOrReverse = (
  reason: Reason,
  { details }: Pick<CyberSourceResponse, 'details'>,
  cause?: FailureCause,
): MappedResult => ({
  kind: details.approvalCode === undefined ? 'refused' : 'reverse',
  reason,
  ...(cause !== undefined && { cause }),
});
