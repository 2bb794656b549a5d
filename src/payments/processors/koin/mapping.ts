import type { Json } from '../../../kernel/json.ts';
import type { Money } from '../../../kernel/money.ts';
import type { Particulars } from '../../processor.ts';
import { type Failed, RESPONSE_CODES } from '../../transitions.ts';
import { at, idAt, readAmountBody, textAt, timeAt } from './fields.ts';

/** What KOIN's words mean here (Payments API 1.0: statuses, reasons, answers). Pure. */

/** How an order stands at KOIN. */
export type Standing =
  | { readonly kind: 'opened' | 'authorized' | 'collected' | 'refunded' | 'reversed' }
  | {
      readonly kind: 'failed';
      readonly failed: Failed;
      /** Such a failure may hide an approval further down the line: only the order's own record makes it final. */
      readonly mayHideApproval: boolean;
    };

/** A refunded order stays a collected one for us; the money given back shows in its refunds. */
export const ORDER_STATUSES = {
  Opened: 'opened',
  Unknown: 'opened',
  Pending: 'opened',
  Waiting: 'opened',
  Published: 'opened',
  Authorized: 'authorized',
  Collected: 'collected',
  Refunded: 'refunded',
  Cancelled: 'reversed',
  Voided: 'reversed',
  Failed: 'failed',
} as const satisfies Record<string, Standing['kind']>;

const declined = (reason: Extract<Failed, { status: 'Declined' }>['reason']): Failed => ({
  status: 'Declined',
  reason,
});
const broken = (reason: Extract<Failed, { status: 'ProcessorError' }>['reason']): Failed => ({
  status: 'ProcessorError',
  reason,
});

export const INVALID_DATA = declined('InvalidData');
export const INVALID_CARD = declined('InvalidCard');
export const INVALID_CONFIGURATION = broken('InvalidConfiguration');

/** Of a failed order, in every spelling that KOIN's pages have; a reason that is missing or not here is Undefined. */
export const FAILURE_REASONS: Readonly<Record<string, Failed>> = {
  Rejected: declined('Rejected'),
  ChannelRejected: declined('Rejected'),
  InsufficientFunds: declined('InsufficientFunds'),
  InvalidCard: INVALID_CARD,
  Referred: declined('Referred'),
  ExpiredCard: declined('ExpiredCard'),
  StolenCard: declined('StolenCard'),
  InvalidData: INVALID_DATA,
  Antifrad: declined('Antifraud'),
  Antifraud: declined('Antifraud'),
  InvalidConfiguration: INVALID_CONFIGURATION,
  Undefined: broken('Undefined'),
  'Connection Rejected': broken('ConnectionRejected'),
  ConnectionRejected: broken('ConnectionRejected'),
  ConnectionRefused: broken('ConnectionRejected'),
};

const REFUND_STATUSES = { InProgress: 'pending', Refunded: 'done', Failed: 'failed' } as const;

/** Words are compared without regard to case and blanks: KOIN's own pages differ in both. */
const plain = (word: string): string => word.replace(/\s/g, '').toLowerCase();
const plainly = <T>(table: Readonly<Record<string, T>>): ReadonlyMap<string, T> =>
  new Map(Object.entries(table).map(([word, meaning]) => [plain(word), meaning]));

const statusOf = plainly<Standing['kind']>(ORDER_STATUSES);
const reasonOf = plainly(FAILURE_REASONS);
const refundStatusOf = plainly(REFUND_STATUSES);

export interface KoinRefund {
  readonly id: string | undefined;
  readonly amount: Money | undefined;
  readonly state: 'pending' | 'done' | 'failed';
  readonly failed: Failed;
}

export interface KoinOrder {
  readonly id: string | undefined;
  /** Our key of the authorization. */
  readonly reference: string | undefined;
  readonly amount: Money | undefined;
  readonly standing: Standing;
  readonly particulars: Particulars;
  readonly refunds: readonly KoinRefund[];
}

/** An answer about an order (create, get, capture, cancel); undefined when it is none that can be understood. */
export function readOrder(body: Json | undefined): KoinOrder | undefined {
  const standing = standingOf(body);
  const refunds = at(body, 'refunds') ?? [];
  const read = Array.isArray(refunds) ? refunds.map((each) => readRefund(each)) : [undefined];
  if (standing === undefined || read.includes(undefined)) return undefined;
  return {
    id: idAt(body, 'order_id'),
    reference: textAt(body, 'transaction', 'reference_id'),
    amount: readAmountBody(at(body, 'transaction', 'amount')),
    standing,
    particulars: particularsOf(body, standing),
    refunds: read.filter((refund) => refund !== undefined),
  };
}

/** An answer about a refund, or an entry of an order's refunds: they name the id differently. */
export function readRefund(body: Json | undefined): KoinRefund | undefined {
  const state = refundStatusOf.get(plain(textAt(body, 'status', 'type') ?? ''));
  if (state === undefined) return undefined;
  return {
    id: idAt(body, 'refund_id') ?? idAt(body, 'id'),
    amount: readAmountBody(at(body, 'amount')),
    state,
    failed: failureOf(body),
  };
}

export function standingOf(body: Json | undefined): Standing | undefined {
  const word = plain(textAt(body, 'status', 'type') ?? '');
  // Shops have met this reason in the place of the status.
  const kind = word === 'connectionrefused' ? 'failed' : statusOf.get(word);
  if (kind !== 'failed') return kind === undefined ? undefined : { kind };
  const failed = word === 'connectionrefused' ? broken('ConnectionRejected') : failureOf(body);
  return { kind, failed, mayHideApproval: ['Undefined', 'ConnectionRejected'].includes(failed.reason) };
}

function failureOf(body: Json | undefined): Failed {
  const isDenied = plain(textAt(body, 'antifraud', 'type') ?? '') === 'denied';
  if (isDenied) return declined('Antifraud');
  return reasonOf.get(plain(textAt(body, 'status', 'reason') ?? '')) ?? broken('Undefined');
}

/** `code`, `message` and `causes` are never read into anything: they may hold card data. */
function particularsOf(body: Json | undefined, standing: Standing): Particulars {
  const given = at(body, 'transaction', 'provider_reference');
  const reference = (name: string): string | undefined => idAt(given, name);
  const mayEnd = standing.kind === 'opened' || standing.kind === 'authorized';
  return {
    processorId: idAt(body, 'order_id'),
    responseCode: responseCodeOf(standing),
    reconciliationId: reference('nsu') ?? reference('tid') ?? reference('payment_id'),
    approvalCode: idAt(body, 'transaction', 'authorization_code'),
    networkId: reference('order_id') ?? reference('tid'),
    expiresAt: mayEnd ? timeAt(body, 'status', 'expiration') : undefined,
  };
}

function responseCodeOf(standing: Standing): string | undefined {
  if (standing.kind === 'failed') return RESPONSE_CODES[standing.failed.reason];
  return standing.kind === 'opened' ? undefined : RESPONSE_CODES.approved;
}
