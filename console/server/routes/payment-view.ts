import { findReason, operationState } from '../../../src/http/payment-response.ts';
import { formatIso8601, formatIso8601OrNull } from '../../../src/kernel/clock.ts';
import { formatDecimal } from '../../../src/kernel/money.ts';
import { truncatePans } from '../../../src/kernel/pan.ts';
import { allowedOperations } from '../../../src/payments/commands.ts';
import { type Operation, operationInDoubt, type Payment } from '../../../src/payments/payment.ts';
import type { ListedPayment, PaymentDetail } from '../../../src/payments/payment-queries.ts';
import type { Capabilities } from '../../../src/payments/processor.ts';
import type { FailureCause, Reason } from '../../../src/payments/transitions.ts';
import { type NameOf, toHistoryView, toRequesterView } from './payment-history.ts';

/** Views of payments. */

const formatMinor = ({ currency }: Payment, minor: bigint): string => formatDecimal({ minor, currency });

/** Some clients write a card number into a reference. */
const toReferenceView = (text: string | undefined): string | null => (text === undefined ? null : truncatePans(text));

export const toListedPayment = ({
  id,
  status,
  processor,
  createdAt,
  inDoubtSince,
  payment,
  failureCause,
}: ListedPayment) => ({
  id,
  type: payment?.type ?? null,
  status,
  reason: payment?.reason ?? null,
  failure_cause: toCauseView(payment?.reason, failureCause),
  amount: payment === undefined ? '' : formatMinor(payment, payment.amount),
  current_amount: payment === undefined ? '' : formatMinor(payment, currentAmount(payment)),
  currency: payment?.currency ?? '',
  card: payment?.card.truncated ?? '',
  reference_code: toReferenceView(payment?.referenceCode),
  processor,
  is_partly_captured: payment !== undefined && isPartlyCaptured(payment),
  refund: payment === undefined ? 'none' : toRefundState(payment),
  is_in_doubt: inDoubtSince !== undefined,
  is_altered: payment === undefined,
  created_at: formatIso8601(createdAt),
});

/** Only this reason has several causes. */
const toCauseView = (reason: Reason | undefined, cause: FailureCause | undefined): FailureCause | null =>
  reason === 'ConnectionRejected' ? (cause ?? null) : null;

function currentAmount({ status, amount, authorized, collected, refunded }: Payment): bigint {
  if (status === 'Collected') return collected - refunded;
  return status === 'Authorized' ? authorized : amount;
}

const isPartlyCaptured = ({ status, authorized, collected }: Payment): boolean =>
  status === 'Collected' && collected < authorized;

function toRefundState({ refunded, collected }: Payment): 'none' | 'part' | 'whole' {
  if (refunded === 0n) return 'none';
  return refunded < collected ? 'part' : 'whole';
}

/** Further data of a view. */
interface PaymentContext {
  readonly nameOf: NameOf;
  /** The first time at which a user may check; undefined while the outcome is known. */
  readonly checkAt: number | undefined;
}

/** `can`: the capabilities of the processor; undefined when no operation may be started. */
export function toPaymentView(
  detail: PaymentDetail,
  can: Capabilities | undefined,
  { nameOf, checkAt }: PaymentContext,
) {
  const { payment, operations } = detail;
  return {
    ...toListedPayment(listedOf(detail)),
    authorized_amount: formatMinor(payment, payment.authorized),
    collected_amount: formatMinor(payment, payment.collected),
    refunded_amount: formatMinor(payment, payment.refunded),
    token: payment.card.token?.token ?? null,
    expires_at: formatIso8601OrNull(payment.expiresAt),
    operations: operations.map((operation) => toOperationView(payment, operation, nameOf)),
    unknown_outcome: toUnknownOutcomeView(detail, checkAt),
    can: toAllowedView(payment, can),
    expected_operations: payment.operationCount,
  };
}

function toUnknownOutcomeView({ payment, reconciliation, operations }: PaymentDetail, checkAt: number | undefined) {
  const { inDoubtSince, inquiries, lastProblem, dueAt } = reconciliation;
  const id = operationInDoubt(payment, reconciliation);
  if (inDoubtSince === undefined || checkAt === undefined) return null;
  return {
    transaction_id: id,
    operation: operations.find((operation) => operation.id === id)?.type ?? payment.type,
    since: formatIso8601(inDoubtSince),
    inquiries,
    problem: lastProblem ?? null,
    next_inquiry_at: formatIso8601OrNull(dueAt),
    check_at: formatIso8601(checkAt),
  };
}

function toAllowedView(payment: Payment, can: Capabilities | undefined) {
  const allowed = can && allowedOperations(payment, can);
  return {
    capture: allowed?.capture !== undefined,
    capture_in_parts: allowed?.capture !== undefined && can?.partialCapture === true,
    refund: allowed?.refund !== undefined,
    void: allowed?.void !== undefined,
    capturable: formatMinor(payment, allowed?.capture ?? 0n),
    refundable: formatMinor(payment, allowed?.refund ?? 0n),
  };
}

/** The payment of the detail as a list shows it. */
export const listedOf = ({ payment, reconciliation, operations: [first] }: PaymentDetail): ListedPayment => ({
  ...payment,
  payment,
  inDoubtSince: reconciliation.inDoubtSince,
  failureCause: first?.details.failureCause,
});

function toOperationView(payment: Payment, operation: Operation, nameOf: NameOf) {
  const { details } = operation;
  const reason = findReason({ payment, operation });
  return {
    id: operation.id,
    type: operation.type,
    state: operationState({ payment, operation }),
    amount: formatMinor(payment, operation.amount),
    reference_code: toReferenceView(operation.referenceCode),
    operation_ref: operation.operationRef,
    status_after: operation.stateAfter?.status ?? null,
    reason: reason ?? null,
    failure_cause: toCauseView(reason, details.failureCause),
    response_code: details.responseCode ?? null,
    approval_code: details.approvalCode ?? null,
    processor_id: details.processorId ?? null,
    reconciliation_id: details.reconciliationId ?? null,
    avs: details.avs?.code ?? null,
    created_at: formatIso8601(operation.createdAt),
    requested_by: toRequesterView(operation.requestedBy, nameOf),
    history: toHistoryView(operation, nameOf),
  };
}
