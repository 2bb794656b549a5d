import type { Currency } from '../kernel/currency.ts';
import type { HistoryEntry, Requester } from './payment.ts';
import {
  initialOperation,
  type Operation,
  type OperationState,
  type Payment,
  type PaymentCard,
  type PaymentState,
  type PaymentType,
  type Reconciliation,
} from './payment.ts';
import type { ProcessorDetails } from './processor.ts';
import type { FailureStatus, Reason, Status } from './transitions.ts';

/** The sealed parts of payments and operations as JSON; amounts as digits, because JSON numbers end at 2^53. */

interface PaymentRecord {
  readonly type: PaymentType;
  readonly reason?: Reason | undefined;
  readonly currency: Currency;
  readonly amounts: readonly [amount: string, authorized: string, collected: string, refunded: string];
  readonly reference?: string | undefined;
  readonly card: PaymentCard;
  readonly captures?: readonly string[] | undefined;
  readonly operation_count: number;
  readonly expires_at?: number | undefined;
  readonly expired?: true | undefined;
  readonly inquiries?: number | undefined;
  readonly inquired_at?: number | undefined;
  readonly not_found?: number | undefined;
  readonly taken_over?: true | undefined;
  readonly problem?: string | undefined;
  readonly rechecks?: readonly string[] | undefined;
  readonly contradictory?: readonly string[] | undefined;
  readonly closed?: readonly string[] | undefined;
  readonly first: { readonly state: OperationState } & ProcessorDetailsRecord;
}

/** The columns beside the record. */
export type PaymentColumns = Pick<Payment, 'id' | 'processor' | 'status' | 'operationInProgress' | 'createdAt'>;
export type ReconciliationColumns = Pick<Reconciliation, 'dueAt' | 'attempts' | 'inDoubtSince'>;

/** The content of one row: a payment, its first operation and its reconciliation. */
export interface PaymentRow {
  readonly payment: Payment;
  readonly initial: Operation;
  readonly reconciliation: Reconciliation;
}

export function formatPaymentRecord({ payment, initial, reconciliation }: PaymentRow): string {
  const { amount, authorized, collected, refunded, captureIds } = payment;
  const { inquiries, lastInquiredAt, consecutiveNotFound, isTakenOver, lastProblem } = reconciliation;
  const { recheckIds, contradictoryIds, closedIds } = reconciliation;
  const record: PaymentRecord = {
    type: payment.type,
    reason: payment.reason,
    currency: payment.currency,
    amounts: [`${amount}`, `${authorized}`, `${collected}`, `${refunded}`],
    reference: payment.referenceCode,
    card: payment.card,
    captures: captureIds.length === 0 ? undefined : captureIds,
    operation_count: payment.operationCount,
    expires_at: payment.expiresAt,
    expired: payment.isExpired ? true : undefined,
    inquiries: inquiries === 0 ? undefined : inquiries,
    inquired_at: lastInquiredAt,
    not_found: consecutiveNotFound === 0 ? undefined : consecutiveNotFound,
    taken_over: isTakenOver ? true : undefined,
    problem: lastProblem,
    rechecks: recheckIds.length === 0 ? undefined : recheckIds,
    contradictory: contradictoryIds.length === 0 ? undefined : contradictoryIds,
    closed: closedIds.length === 0 ? undefined : closedIds,
    first: { state: initial.state, ...formatDetails(initial) },
  };
  return JSON.stringify(record);
}

export function parsePaymentRecord(
  record: string,
  columns: PaymentColumns,
  schedule: ReconciliationColumns,
): PaymentRow {
  const read = JSON.parse(record) as PaymentRecord;
  const [amount, authorized, collected, refunded] = read.amounts;
  const payment: Payment = {
    ...columns,
    type: read.type,
    reason: read.reason,
    currency: read.currency,
    amount: BigInt(amount),
    authorized: BigInt(authorized),
    collected: BigInt(collected),
    refunded: BigInt(refunded),
    referenceCode: read.reference,
    card: read.card,
    captureIds: read.captures ?? [],
    operationCount: read.operation_count,
    expiresAt: read.expires_at,
    isExpired: read.expired === true,
  };
  const reconciliation: Reconciliation = {
    ...schedule,
    lastProblem: read.problem,
    inquiries: read.inquiries ?? 0,
    lastInquiredAt: read.inquired_at,
    consecutiveNotFound: read.not_found ?? 0,
    isTakenOver: read.taken_over === true,
    recheckIds: read.rechecks ?? [],
    closedIds: read.closed ?? [],
    contradictoryIds: read.contradictory ?? formerContradictions(read, columns, schedule),
  };
  const { state, ...details } = read.first;
  const parsed = parseDetails(payment.id, details);
  return { payment, initial: { ...initialOperation(payment, parsed), state, ...parsed }, reconciliation };
}

/**
 * Release 0.1.0 did not store which operations are contradictory. Without an operation in progress a payment was in doubt because of
 * one of those that were rechecked, so each of them has to be resolved.
 */
const formerContradictions = (
  { rechecks = [] }: PaymentRecord,
  { operationInProgress }: PaymentColumns,
  { inDoubtSince }: ReconciliationColumns,
): readonly string[] => (inDoubtSince !== undefined && operationInProgress === undefined ? rechecks : []);

type StoredRequester = readonly [type: Requester['type'], id: string, name?: string];

/** The common part of the records of first and further operations. */
interface ProcessorDetailsRecord {
  /** Absent when it is the id. */
  readonly operation_ref?: string | undefined;
  /** The requester. */
  readonly by?: StoredRequester | undefined;
  readonly history?: readonly HistoryEntry[] | undefined;
  readonly details?: ProcessorDetails | undefined;
  readonly failure?: FailureStatus | undefined;
  readonly state_after?: {
    readonly status: Status;
    readonly reason?: Reason | undefined;
    readonly amounts: readonly string[];
  };
}

const formatRequester = ({ type, id = '', name }: Requester): StoredRequester =>
  name === undefined ? [type, id] : [type, id, name];

const parseRequester = ([type, id, name]: StoredRequester): Requester => ({
  type,
  ...(id !== '' && { id }),
  ...(name !== undefined && { name }),
});

const formatDetails = ({
  id,
  operationRef,
  requestedBy,
  history,
  details,
  failure,
  stateAfter,
}: Operation): ProcessorDetailsRecord => ({
  operation_ref: operationRef === id ? undefined : operationRef,
  by: requestedBy && formatRequester(requestedBy),
  history: history.length === 0 ? undefined : history,
  details,
  failure,
  ...(stateAfter && {
    state_after: {
      status: stateAfter.status,
      reason: stateAfter.reason,
      amounts: [`${stateAfter.authorized}`, `${stateAfter.collected}`, `${stateAfter.refunded}`],
    },
  }),
});

const parseDetails = (
  id: string,
  {
    operation_ref: operationRef = id,
    by,
    history = [],
    details = {},
    failure,
    state_after: state,
  }: ProcessorDetailsRecord,
): Pick<Operation, 'operationRef' | 'requestedBy' | 'history' | 'details' | 'failure' | 'stateAfter'> => ({
  operationRef,
  requestedBy: by && parseRequester(by),
  history,
  details,
  failure,
  stateAfter: state && parseState(state),
});

interface OperationRecord extends ProcessorDetailsRecord {
  readonly amount: string;
  readonly reference?: string | undefined;
}

export type OperationColumns = Pick<Operation, 'id' | 'paymentId' | 'type' | 'state' | 'createdAt'>;

export function formatOperationRecord(operation: Operation): string {
  const { amount, referenceCode } = operation;
  const record: OperationRecord = { amount: `${amount}`, reference: referenceCode, ...formatDetails(operation) };
  return JSON.stringify(record);
}

export function parseOperationRecord(record: string, columns: OperationColumns): Operation {
  const { amount, reference, ...details } = JSON.parse(record) as OperationRecord;
  return { ...columns, amount: BigInt(amount), referenceCode: reference, ...parseDetails(columns.id, details) };
}

function parseState({ status, reason, amounts }: NonNullable<ProcessorDetailsRecord['state_after']>): PaymentState {
  const [authorized = '0', collected = '0', refunded = '0'] = amounts;
  return {
    status,
    reason,
    authorized: BigInt(authorized),
    collected: BigInt(collected),
    refunded: BigInt(refunded),
  };
}
