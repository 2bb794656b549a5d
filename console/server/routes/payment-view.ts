import { findReason, operationState } from '../../../src/http/payment-response.ts';
import { iso8601, timeOrNull } from '../../../src/kernel/clock.ts';
import { formatDecimal } from '../../../src/kernel/money.ts';
import { truncatePans } from '../../../src/kernel/pan.ts';
import { allowedOperations } from '../../../src/payments/allowed-operations.ts';
import type { Operation, Payment } from '../../../src/payments/payment.ts';
import type { PaymentDetail } from '../../../src/payments/payment-queries.ts';
import type { ListedPayment } from '../../../src/payments/payment-store.ts';
import type { Capabilities } from '../../../src/payments/processor.ts';

/** Payments as people see them. */

const decimal = ({ currency }: Payment, minor: bigint): string => formatDecimal({ minor, currency });

/** Some write a card number where a reference belongs. */
const shownReference = (text: string | undefined): string | null => (text === undefined ? null : truncatePans(text));

export const listedPayment = ({ id, status, processor, createdAt, inDoubtSince, payment }: ListedPayment) => ({
  id,
  type: payment?.type ?? null,
  status,
  reason: payment?.reason ?? null,
  amount: payment === undefined ? '' : decimal(payment, payment.amount),
  currency: payment?.currency ?? '',
  card: payment?.card.truncated ?? '',
  reference_code: shownReference(payment?.referenceCode),
  processor,
  refund: payment === undefined ? 'none' : refundOf(payment),
  is_doubtful: inDoubtSince !== undefined,
  is_damaged: payment === undefined,
  created_at: iso8601(createdAt),
});

function refundOf({ refunded, collected }: Payment): 'none' | 'part' | 'whole' {
  if (refunded === 0n) return 'none';
  return refunded < collected ? 'part' : 'whole';
}

/** `can`: what the processor can; undefined when nothing may be begun. */
export function shownPayment({ payment, inDoubtSince, operations }: PaymentDetail, can: Capabilities | undefined) {
  return {
    ...listedPayment({ ...payment, inDoubtSince, payment }),
    authorized_amount: decimal(payment, payment.authorized),
    collected_amount: decimal(payment, payment.collected),
    refunded_amount: decimal(payment, payment.refunded),
    token: payment.card.token?.token ?? null,
    expires_at: timeOrNull(payment.expiresAt),
    operations: operations.map((operation) => shownOperation(payment, operation)),
    can: shownAllowance(payment, can),
    seen: payment.operationCount,
  };
}

function shownAllowance(payment: Payment, can: Capabilities | undefined) {
  const allowed = can && allowedOperations(payment, can);
  return {
    capture: allowed?.capture !== undefined,
    capture_in_parts: allowed?.capture !== undefined && can?.partialCapture === true,
    refund: allowed?.refund !== undefined,
    void: allowed?.void !== undefined,
    capturable: decimal(payment, allowed?.capture ?? 0n),
    refundable: decimal(payment, allowed?.refund ?? 0n),
  };
}

function shownOperation(payment: Payment, operation: Operation) {
  const { details: particulars } = operation;
  return {
    id: operation.id,
    type: operation.type,
    state: operationState({ payment, operation }),
    amount: decimal(payment, operation.amount),
    reference_code: shownReference(operation.referenceCode),
    status_after: operation.stateAfter?.status ?? null,
    reason: findReason({ payment, operation }) ?? null,
    response_code: particulars.responseCode ?? null,
    approval_code: particulars.approvalCode ?? null,
    processor_id: particulars.processorId ?? null,
    reconciliation_id: particulars.reconciliationId ?? null,
    avs: particulars.avs?.code ?? null,
    created_at: iso8601(operation.createdAt),
  };
}
