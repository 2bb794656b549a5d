import type { Json } from '../../../kernel/json.ts';
import type { Money } from '../../../kernel/money.ts';
import { type Particulars, unknown } from '../../processor.ts';
import { type Asked, contradicts, listAt, particularsOf, readBody, textAt, totalIn } from './answer.ts';
import { meaningOf, refusedOrUndone, type SoftDecline, softVerdict, type Verdict } from './mapping.ts';

/**
 * What CyberSource's books say (transaction details and search). A transaction is one request; what it did stands in its
 * applications, with the older numeric reasons. Pure.
 */
export interface Entry {
  readonly id: string;
  readonly code: string | undefined;
  readonly merchantId: string | undefined;
  readonly status: string;
  /** Of the whole request, numeric. */
  readonly reasonCode: string;
  readonly applications: readonly Application[];
  /** Ids of other transactions of the same payment. */
  readonly related: readonly string[];
  readonly particulars: Particulars;
  readonly body: Json;
}

interface Application {
  readonly name: string;
  /** `1` done, `0` declined, `-1` an error. */
  readonly rCode: string;
  readonly reasonCode: string;
}

export const NAMES = { authorization: 'ics_auth', capture: 'ics_bill', refund: 'ics_credit' } as const;
const UNDOING = ['ics_void', 'ics_auth_reversal', 'ics_auto_auth_reversal', 'ics_auto_full_auth_reversal'];
const UNDONE_STATUSES = ['REVERSED', 'VOIDED', 'CANCELLED'];

/** Numeric reasons and what the newer interface calls them. */
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

/** Undefined when the text is no such entry. */
export function readEntry(text: string): Entry | undefined {
  const body = readBody(text);
  return body === undefined ? undefined : entryOf(body);
}

/** Undefined when it is unreadable, or is not all that was found. */
export function readHits(text: string): readonly Entry[] | undefined {
  const body = readBody(text);
  const total = body === undefined ? undefined : textAt(body, 'totalCount', /^[0-9]{1,9}$/);
  if (body === undefined || total === undefined) return undefined;
  const hits = listAt(body, '_embedded.transactionSummaries').map(entryOf);
  const readable = hits.filter((hit) => hit !== undefined);
  return readable.length === hits.length && hits.length === Number(total) ? readable : undefined;
}

function entryOf(body: Json): Entry | undefined {
  const particulars = particularsOf(body);
  const { processorId: id } = particulars;
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
    related: listAt(body, '_links.relatedTransactions').flatMap((link) => relatedId(link) ?? []),
    particulars,
    body,
  };
}

/** Of a link only the id is taken: where requests go is decided here alone. */
const relatedId = (link: Json): string | undefined =>
  /\/tss\/v2\/transactions\/([A-Za-z0-9-]{1,60})$/.exec(textAt(link, 'href') ?? '')?.[1];

export const has = (entry: Entry, name: string): boolean => entry.applications.some((each) => each.name === name);

export const did = ({ applications }: Entry, name: string): boolean =>
  applications.some((each) => each.name === name && each.rCode === '1' && each.reasonCode === '100');

export const isUndone = ({ status }: Entry): boolean => UNDONE_STATUSES.includes(status);

/** Has it reversed an authorization, or voided something? */
export const undoes = (entry: Entry): boolean => UNDOING.some((name) => did(entry, name));

/** Is it of another merchant, another operation or another amount? */
export const isOther = (entry: Entry, asked: Asked, merchantId: string | undefined): boolean =>
  (entry.merchantId !== undefined && entry.merchantId !== merchantId) || contradicts(entry.body, asked);

/** What a capture or refund came to. */
export function movementVerdict(entry: Entry, name: string): Verdict {
  if (did(entry, name)) return { kind: 'approved' };
  const verdict = refusalOf(entry, name);
  return verdict.kind === 'undo' ? { kind: 'refused', reason: verdict.reason } : verdict;
}

/** What an authorization or sale came to, whatever was done with it later. */
export function paymentVerdict(entry: Entry, softDecline: SoftDecline): Verdict {
  const { reasonCode, applications } = entry;
  const authorization = applications.find(({ name }) => name === NAMES.authorization);
  if (authorization === undefined) return unknown('contradiction');
  const overall = [reasonCode, authorization.reasonCode];
  if (overall.includes('480')) return { kind: 'pending' };
  if (overall.includes('481')) return refusedOrUndone('Antifraud', entry);
  if (overall.includes('110')) return { kind: 'undo', reason: 'InsufficientFunds' };
  if (did(entry, NAMES.authorization)) return { kind: did(entry, NAMES.capture) ? 'approved' : 'held' };
  const soft = NUMERIC_REASONS[authorization.reasonCode];
  const isHeld = authorization.rCode === '0' && entry.particulars.approvalCode !== undefined;
  if (isHeld && (soft === 'AVS_FAILED' || soft === 'CV_FAILED')) return softVerdict(soft, softDecline);
  return refusalOf(entry, NAMES.authorization);
}

/** An error (-1) counts as a refusal only with a reason that says so. */
function refusalOf(entry: Entry, name: string): Verdict {
  const application = entry.applications.find((each) => each.name === name);
  const reason = meaningOf(NUMERIC_REASONS[application?.reasonCode ?? ''] ?? '');
  if (reason === 'unknown' || application?.rCode === '1') return unknown('unclear');
  if (reason !== undefined) return refusedOrUndone(reason, entry);
  return application?.rCode === '0' ? refusedOrUndone('Rejected', entry) : unknown('unclear');
}

/** What the capture among these captured; undefined when there is none. */
export function capturedIn(entries: readonly Entry[], like: Money): Money | undefined {
  const capture = entries.find((entry) => did(entry, NAMES.capture) && !isUndone(entry));
  return capture === undefined ? undefined : totalIn(capture.body, like);
}
