import { findReason, operationState } from '../../../src/http/payment-response.ts';
import { formatIso8601, formatIso8601OrNull } from '../../../src/kernel/clock.ts';
import { formatDecimal } from '../../../src/kernel/money.ts';
import { truncatePans } from '../../../src/kernel/pan.ts';
import { allowedOperations } from '../../../src/payments/commands.ts';
import type { Operation, Payment } from '../../../src/payments/payment.ts';
import type { ListedPayment, PaymentDetail } from '../../../src/payments/payment-queries.ts';
import type { Capabilities } from '../../../src/payments/processor.ts';

/** Views of payments. */

const formatMinor = ({ currency }: Payment, minor: bigint): string => formatDecimal({ minor, currency });

/** Some clients write a card number into a reference. */
const toReferenceView = (text: string | undefined): string | null => (text === undefined ? null : truncatePans(text));

export const toListedPayment = ({ id, status, processor, createdAt, inDoubtSince, payment }: ListedPayment) => ({
  id,
  type: payment?.type ?? null,
  status,
  reason: payment?.reason ?? null,
  amount: payment === undefined ? '' : formatMinor(payment, payment.amount),
  currency: payment?.currency ?? '',
  card: payment?.card.truncated ?? '',
  reference_code: toReferenceView(payment?.referenceCode),
  processor,
  refund: payment === undefined ? 'none' : toRefundState(payment),
  is_in_doubt: inDoubtSince !== undefined,
  is_altered: payment === undefined,
  created_at: formatIso8601(createdAt),
});

function toRefundState({ refunded, collected }: Payment): 'none' | 'part' | 'whole' {
  if (refunded === 0n) return 'none';
  return refunded < collected ? 'part' : 'whole';
}

/** `can`: the capabilities of the processor; undefined when no operation may be started. */
export function toPaymentView({ payment, inDoubtSince, operations }: PaymentDetail, can: Capabilities | undefined) {
  return {
    ...toListedPayment({ ...payment, inDoubtSince, payment }),
    authorized_amount: formatMinor(payment, payment.authorized),
    collected_amount: formatMinor(payment, payment.collected),
    refunded_amount: formatMinor(payment, payment.refunded),
    token: payment.card.token?.token ?? null,
    expires_at: formatIso8601OrNull(payment.expiresAt),
    operations: operations.map((operation) => toOperationView(payment, operation)),
    can: toAllowedView(payment, can),
    expected_operations: payment.operationCount,
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

function toOperationView(payment: Payment, operation: Operation) {
  const { details } = operation;
  return {
    id: operation.id,
    type: operation.type,
    state: operationState({ payment, operation }),
    amount: formatMinor(payment, operation.amount),
    reference_code: toReferenceView(operation.referenceCode),
    operation_ref: operation.operationRef,
    status_after: operation.stateAfter?.status ?? null,
    reason: findReason({ payment, operation }) ?? null,
    response_code: details.responseCode ?? null,
    approval_code: details.approvalCode ?? null,
    processor_id: details.processorId ?? null,
    reconciliation_id: details.reconciliationId ?? null,
    avs: details.avs?.code ?? null,
    created_at: formatIso8601(operation.createdAt),
  };
}
