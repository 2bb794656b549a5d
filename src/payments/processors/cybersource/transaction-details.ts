import type { Json } from '../../../kernel/json.ts';
import type { Money } from '../../../kernel/money.ts';
import { type ProcessorDetails, unknown } from '../../processor.ts';
import {
  declineOrReverse,
  findCause,
  findReason,
  type MappedResult,
  mapSoftDecline,
  type SoftDecline,
} from './mapping.ts';
import {
  contradicts,
  type ExpectedTransaction,
  listAt,
  parseBody,
  parseDetails,
  parseTotalAmount,
  textAt,
} from './response.ts';

/**
 * Parses CyberSource's records (transaction details and search). A transaction is one request; its effect is in its
 * applications, with the older numeric reasons. Pure.
 */
export interface TransactionDetails {
  readonly id: string;
  readonly code: string | undefined;
  readonly merchantId: string | undefined;
  readonly status: string;
  /** Result of the entire request, numeric. */
  readonly reasonCode: string;
  readonly applications: readonly Application[];
  /** Ids of other transactions of the same payment. */
  readonly related: readonly string[];
  readonly details: ProcessorDetails;
  readonly body: Json;
}

interface Application {
  readonly name: string;
  /** `1` done, `0` declined, `-1` an error. */
  readonly rCode: string;
  readonly reasonCode: string;
}

export const APPLICATIONS = { authorization: 'ics_auth', capture: 'ics_bill', refund: 'ics_credit' } as const;
const REVERSAL_APPLICATIONS = [
  'ics_void',
  'ics_auth_reversal',
  'ics_auto_auth_reversal',
  'ics_auto_full_auth_reversal',
];
const REVERSED_STATUSES = ['REVERSED', 'VOIDED', 'CANCELLED'];

/** Numeric reasons and their names in the newer interface. */
export const NUMERIC_REASONS: Readonly<Record<string, string>> = {
  101: 'MISSING_FIELD',
  102: 'INVALID_DATA',
  104: 'DUPLICATE_REQUEST',
  150: 'SYSTEM_ERROR',
  151: 'SERVER_TIMEOUT',
  152: 'SERVICE_TIMEOUT',
  200: 'AVS_FAILED',
  201: 'CONTACT_PROCESSOR',
  202: 'EXPIRED_CARD',
  203: 'PROCESSOR_DECLINED',
  204: 'INSUFFICIENT_FUND',
  205: 'STOLEN_LOST_CARD',
  207: 'ISSUER_UNAVAILABLE',
  208: 'UNAUTHORIZED_CARD',
  209: 'CVN_NOT_MATCH',
  210: 'EXCEEDS_CREDIT_LIMIT',
  211: 'INVALID_CVN',
  221: 'BLACKLISTED_CUSTOMER',
  222: 'SUSPENDED_ACCOUNT',
  230: 'CV_FAILED',
  231: 'INVALID_ACCOUNT',
  232: 'CARD_TYPE_NOT_ACCEPTED',
  233: 'GENERAL_DECLINE',
  234: 'INVALID_MERCHANT_CONFIGURATION',
  235: 'EXCEEDS_AUTH_AMOUNT',
  236: 'PROCESSOR_ERROR',
  237: 'AUTH_ALREADY_REVERSED',
  238: 'TRANSACTION_ALREADY_SETTLED',
  239: 'INVALID_AMOUNT',
  240: 'INVALID_CARD_TYPE',
  241: 'INVALID_PAYMENT_ID',
  242: 'MISSING_AUTH',
  243: 'TRANSACTION_ALREADY_REVERSED_OR_SETTLED',
  246: 'NOT_VOIDABLE',
  247: 'CAPTURE_ALREADY_VOIDED',
  250: 'PROCESSOR_TIMEOUT',
  481: 'DECISION_PROFILE_REJECT',
};

/** Undefined when the text is no such record. */
export function parseTransactionDetails(text: string): TransactionDetails | undefined {
  const body = parseBody(text);
  return body === undefined ? undefined : toTransactionDetails(body);
}

/** Undefined when the text is unreadable, or contains only a part of the hits. */
export function parseSearchResult(text: string): readonly TransactionDetails[] | undefined {
  const body = parseBody(text);
  const total = body === undefined ? undefined : textAt(body, 'totalCount', /^[0-9]{1,9}$/);
  if (body === undefined || total === undefined) return undefined;
  const hits = listAt(body, '_embedded.transactionSummaries').map(toTransactionDetails);
  const readable = hits.filter((hit) => hit !== undefined);
  return readable.length === hits.length && hits.length === Number(total) ? readable : undefined;
}

function toTransactionDetails(body: Json): TransactionDetails | undefined {
  const details = parseDetails(body);
  const { processorId: id } = details;
  const applications = listAt(body, 'applicationInformation.applications').map((each) => ({
    name: textAt(each, 'name') ?? '',
    rCode: textAt(each, 'rCode') ?? '',
    reasonCode: textAt(each, 'reasonCode') ?? '',
  }));
  if (id === undefined || applications.length === 0) return undefined;
  return {
    id,
    code: textAt(body, 'clientReferenceInformation.code'),
    merchantId: textAt(body, 'merchantId'),
    status: textAt(body, 'applicationInformation.status')?.toUpperCase() ?? '',
    reasonCode: textAt(body, 'applicationInformation.reasonCode') ?? '',
    applications,
    related: listAt(body, '_links.relatedTransactions').flatMap((link) => parseRelatedId(link) ?? []),
    details,
    body,
  };
}

/** Only the id of a link is used: our code alone decides where requests go. */
const parseRelatedId = (link: Json): string | undefined =>
  /\/tss\/v2\/transactions\/([A-Za-z0-9-]{1,60})$/.exec(textAt(link, 'href') ?? '')?.[1];

export const hasApplication = (entry: TransactionDetails, name: string): boolean =>
  entry.applications.some((each) => each.name === name);

export const hasApplied = ({ applications }: TransactionDetails, name: string): boolean =>
  applications.some((each) => each.name === name && each.rCode === '1' && each.reasonCode === '100');

export const isReversed = ({ status }: TransactionDetails): boolean => REVERSED_STATUSES.includes(status);

/** True when the transaction has reversed an authorization, or voided another transaction. */
export const isReversal = (entry: TransactionDetails): boolean =>
  REVERSAL_APPLICATIONS.some((name) => hasApplied(entry, name));

/** True when the transaction belongs to another merchant, another operation or another amount. */
export const isOtherTransaction = (
  entry: TransactionDetails,
  asked: ExpectedTransaction,
  merchantId: string | undefined,
): boolean => (entry.merchantId !== undefined && entry.merchantId !== merchantId) || contradicts(entry.body, asked);

/** Returns the result of a capture or refund. */
export function mapModification(entry: TransactionDetails, name: string): MappedResult {
  if (hasApplied(entry, name)) return { kind: 'approved' };
  const verdict = mapFailedApplication(entry, name);
  return verdict.kind === 'reverse' ? { ...verdict, kind: 'refused' } : verdict;
}

/** Returns the result of an authorization or sale, regardless of later modifications. */
export function mapPayment(entry: TransactionDetails, softDecline: SoftDecline): MappedResult {
  const { reasonCode, applications } = entry;
  const authorization = applications.find(({ name }) => name === APPLICATIONS.authorization);
  if (authorization === undefined) return unknown('contradiction');
  const overall = [reasonCode, authorization.reasonCode];
  if (overall.includes('480')) return { kind: 'pending' };
  if (overall.includes('481')) return declineOrReverse('Antifraud', entry);
  if (overall.includes('110')) return { kind: 'reverse', reason: 'InsufficientFunds' };
  if (hasApplied(entry, APPLICATIONS.authorization))
    return { kind: hasApplied(entry, APPLICATIONS.capture) ? 'approved' : 'authorized' };
  const soft = NUMERIC_REASONS[authorization.reasonCode];
  const isHeld = authorization.rCode === '0' && entry.details.approvalCode !== undefined;
  if (isHeld && (soft === 'AVS_FAILED' || soft === 'CV_FAILED')) return mapSoftDecline(soft, softDecline);
  return mapFailedApplication(entry, APPLICATIONS.authorization);
}

/** An error (-1) counts as a refusal only with a reason that states one. */
function mapFailedApplication(entry: TransactionDetails, applicationName: string): MappedResult {
  const application = entry.applications.find((each) => each.name === applicationName);
  const name = NUMERIC_REASONS[application?.reasonCode ?? ''] ?? '';
  const reason = findReason(name);
  if (reason === 'unknown' || application?.rCode === '1') return unknown('unclear');
  if (reason !== undefined) return declineOrReverse(reason, entry, findCause(name));
  return application?.rCode === '0' ? declineOrReverse('Rejected', entry) : unknown('unclear');
}

/** Returns the captured amount; undefined without a capture. */
export function findCapturedAmount(entries: readonly TransactionDetails[], like: Money): Money | undefined {
  const capture = entries.find((entry) => hasApplied(entry, APPLICATIONS.capture) && !isReversed(entry));
  return capture === undefined ? undefined : parseTotalAmount(capture.body, like);
}
