import type { Json } from '../../../kernel/json.ts';
import type { Money } from '../../../kernel/money.ts';
import {
  type Finding,
  type History,
  type Outcome,
  type Particulars,
  refused,
  type Subject,
  unknown,
} from '../../processor.ts';
import { RESPONSE_CODES, type Reason } from '../../transitions.ts';
import { at, idAt, readAmountBody, textAt, timeAt } from './fields.ts';

/**
 * What KOIN's words mean here (Payments API 1.0: statuses, reasons, answers), and what an order in its books says about one
 * of our operations. Pure.
 */

/** How an order stands at KOIN. */
export type Standing =
  | { readonly kind: 'opened' | 'authorized' | 'collected' | 'refunded' | 'reversed' }
  | {
      readonly kind: 'failed';
      readonly reason: Reason;
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

/** Of a failed order, in every spelling that KOIN's pages have; a reason that is missing or not here is Undefined. */
export const FAILURE_REASONS: Readonly<Record<string, Reason>> = {
  Rejected: 'Rejected',
  ChannelRejected: 'Rejected',
  InsufficientFunds: 'InsufficientFunds',
  InvalidCard: 'InvalidCard',
  Referred: 'Referred',
  ExpiredCard: 'ExpiredCard',
  StolenCard: 'StolenCard',
  InvalidData: 'InvalidData',
  Antifrad: 'Antifraud',
  Antifraud: 'Antifraud',
  InvalidConfiguration: 'InvalidConfiguration',
  Undefined: 'Undefined',
  'Connection Rejected': 'ConnectionRejected',
  ConnectionRejected: 'ConnectionRejected',
  ConnectionRefused: 'ConnectionRejected',
};

const REFUND_STATUSES = { InProgress: 'pending', Refunded: 'done', Failed: 'failed' } as const;

/** Words are compared without regard to case and blanks: KOIN's own pages differ in both. */
const plain = (word: string): string => word.replace(/\s/g, '').toLowerCase();
const plainly = <T>(table: Readonly<Record<string, T>>): ReadonlyMap<string, T> =>
  new Map(Object.entries(table).map(([word, meaning]) => [plain(word), meaning]));

const statusOf = plainly<Standing['kind']>(ORDER_STATUSES);
const reasonOf = plainly<Reason>(FAILURE_REASONS);
const refundStatusOf = plainly(REFUND_STATUSES);

export interface KoinRefund {
  readonly id: string | undefined;
  readonly amount: Money | undefined;
  readonly state: 'pending' | 'done' | 'failed';
  readonly reason: Reason;
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
    reason: reasonIn(body),
  };
}

export function standingOf(body: Json | undefined): Standing | undefined {
  const word = plain(textAt(body, 'status', 'type') ?? '');
  // Shops have met this reason in the place of the status.
  const kind = word === 'connectionrefused' ? 'failed' : statusOf.get(word);
  if (kind !== 'failed') return kind === undefined ? undefined : { kind };
  const reason = word === 'connectionrefused' ? 'ConnectionRejected' : reasonIn(body);
  return { kind, reason, mayHideApproval: ['Undefined', 'ConnectionRejected'].includes(reason) };
}

function reasonIn(body: Json | undefined): Reason {
  const isDenied = plain(textAt(body, 'antifraud', 'type') ?? '') === 'denied';
  if (isDenied) return 'Antifraud';
  return reasonOf.get(plain(textAt(body, 'status', 'reason') ?? '')) ?? 'Undefined';
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
  if (standing.kind === 'failed') return RESPONSE_CODES[standing.reason];
  return standing.kind === 'opened' ? undefined : RESPONSE_CODES.approved;
}

/** Of an authorization or payment: how it stands now. */
export function paymentFinding(order: KoinOrder, asked: Money): Finding {
  const { standing, particulars, amount, id } = order;
  if (differs(amount, asked)) return unknown('contradiction');
  if (standing.kind === 'opened') return { kind: 'pending', particulars };
  if (standing.kind === 'reversed') return { kind: 'reversed', particulars };
  if (standing.kind === 'failed') return refused(standing.reason, particulars);
  if (amount === undefined || id === undefined) return unknown('incomplete');
  return { kind: 'approved', captured: standing.kind === 'authorized' ? undefined : amount, particulars };
}

export function captureFinding(order: KoinOrder, asked: Money): Finding {
  const { standing, amount } = order;
  if (differs(amount, asked)) return unknown('contradiction');
  if (standing.kind === 'failed') return refused(standing.reason);
  if (standing.kind === 'reversed') return { kind: 'reversed', particulars: followUp(order) };
  if (standing.kind === 'opened' || standing.kind === 'authorized') return { kind: 'absent' };
  return amount === undefined ? unknown('incomplete') : { kind: 'approved', particulars: followUp(order) };
}

export function voidFinding(order: KoinOrder): Finding {
  const { standing } = order;
  if (standing.kind === 'reversed') return { kind: 'approved', particulars: followUp(order) };
  if (standing.kind === 'failed') return refused(standing.reason);
  return standing.kind === 'collected' || standing.kind === 'refunded' ? refused('InvalidData') : { kind: 'absent' };
}

/** The answer about one refund. */
export function refundOutcome(refund: KoinRefund | undefined, asked: Money): Exclude<Outcome, { kind: 'not-sent' }> {
  if (refund === undefined) return unknown('unreadable');
  if (differs(refund.amount, asked)) return unknown('contradiction');
  const particulars = { processorId: refund.id, responseCode: RESPONSE_CODES.approved };
  if (refund.state === 'failed') return refused(refund.reason);
  if (refund.state === 'pending') return { kind: 'pending', particulars: { processorId: refund.id } };
  return refund.amount === undefined ? unknown('incomplete') : { kind: 'approved', particulars };
}

/**
 * Entries of an order's refunds do not tell our key. Ours is the one of its amount that no refund before accounts for; a
 * failed one is never taken for ours, because it may be an earlier try, and has moved nothing either way.
 */
export function refundFinding({ refunds }: KoinOrder, { operations }: History, subject: Subject): Finding {
  const named = refunds.find(({ id }) => id !== undefined && id === subject.processorId);
  if (named !== undefined) return refundOutcome(named, subject.amount);
  const others = operations.filter(({ type, key }) => type === 'payment_refund' && key !== subject.key);
  const ids = new Set(others.map(({ processorId }) => processorId));
  const left = refunds.filter(({ id, state }) => state !== 'failed' && (id === undefined || !ids.has(id)));
  if (left.some(({ amount }) => amount === undefined)) return unknown('unreadable');
  const like = left.filter(({ amount }) => !differs(amount, subject.amount));
  const unnamed = others.filter(
    ({ processorId, amount }) => processorId === undefined && !differs(amount, subject.amount),
  );
  const [first] = like;
  if (first === undefined || like.length <= unnamed.length) return { kind: 'absent' };
  return like.length === 1 ? refundOutcome(first, subject.amount) : unknown('ambiguous');
}

const differs = (found: Money | undefined, asked: Money): boolean =>
  found !== undefined && (found.minor !== asked.minor || found.currency !== asked.currency);

/** Captures and voids have no id of their own at KOIN: that of the order would be taken for the authorization's. */
function followUp({ particulars: { responseCode, reconciliationId, networkId } }: KoinOrder): Particulars {
  return { responseCode, reconciliationId, networkId };
}
