import type { IdempotencyKeys } from '../idempotency/idempotency-keys.ts';
import type { Transaction } from '../idempotency/transaction.ts';
import type { Tenant } from '../kernel/environment.ts';
import { notPossible } from '../kernel/failure.ts';
import type { PaymentSnapshot } from './payment.ts';
import type { PaymentActivations } from './payment-activations.ts';
import type { PaymentRepository } from './payment-repository.ts';
import type { LoadedPayment } from './payment-store.ts';
import { paymentAuditEvent } from './payments.ts';

/** The outcome that an operator saw in the processor's own console. */
export type ManualOutcome = 'accepted' | 'refused';

interface Services {
  readonly activations: PaymentActivations;
  readonly repository: PaymentRepository;
  readonly idempotency: IdempotencyKeys;
}

/**
 * Completes an operation that stays in doubt, or closes the doubt about a completed one, on the responsibility of an operator.
 * Throws `not_possible`.
 */
export async function resolveManually(
  transaction: Transaction,
  { activations, repository, idempotency }: Services,
  tenant: Tenant,
  transactionId: string,
  outcome: ManualOutcome,
): Promise<PaymentSnapshot> {
  const loaded = await repository.load(tenant, transactionId);
  if (loaded?.reconciliation.inDoubtSince === undefined) throw notPossible('noUnknownOutcome');
  const configured = await activations.configuredProcessor(tenant, loaded.payment.processor);
  assertResolvable(loaded, outcome);
  const after = await repository.apply(transaction, loaded, { type: 'resolved-manually', outcome }, configured);
  if (after === undefined) throw notPossible('statusDisallowsOutcome', { status: loaded.payment.status });
  transaction.write(idempotency.releaseBinding(tenant, loaded.operation.id));
  transaction.record(paymentAuditEvent('payment.resolved-manually', loaded, outcome));
  return after;
}

function assertResolvable({ payment, operation }: LoadedPayment, outcome: ManualOutcome): void {
  const { operationInProgress } = payment;
  if (operationInProgress !== undefined && operationInProgress !== operation.id)
    throw notPossible('otherUnknownOutcome', { transaction: operationInProgress });
  if (operation.state === 'in_progress' && outcome === 'refused' && operation.type === 'expiry')
    throw notPossible('expiryNotRefusable');
}
