import type { Origin } from '../audit/audit.ts';
import type { IdempotencyKeys } from '../idempotency/idempotency-keys.ts';
import type { Transactions } from '../idempotency/transaction.ts';
import type { Tenant } from '../kernel/environment.ts';
import { notPossible } from '../kernel/failure.ts';
import type { PaymentSnapshot } from './payment.ts';
import type { PaymentActivations } from './payment-activations.ts';
import type { PaymentRepository } from './payment-repository.ts';
import type { LoadedPayment } from './payment-store.ts';
import { paymentAuditEvent } from './payments.ts';

/** The outcome that an operator saw in the processor's own console. */
export const MANUAL_OUTCOMES = ['accepted', 'refused'] as const;
export type ManualOutcome = (typeof MANUAL_OUTCOMES)[number];

/** Sets the outcome of an operation that stays in doubt, on the responsibility of an operator. */
export class ManualResolution {
  readonly #transactions: Transactions;
  readonly #activations: PaymentActivations;
  readonly #repository: PaymentRepository;
  readonly #idempotency: IdempotencyKeys;

  constructor(options: {
    transactions: Transactions;
    activations: PaymentActivations;
    repository: PaymentRepository;
    idempotency: IdempotencyKeys;
  }) {
    this.#transactions = options.transactions;
    this.#activations = options.activations;
    this.#repository = options.repository;
    this.#idempotency = options.idempotency;
  }

  /** Completes an operation in doubt, or closes the doubt about a completed one. Audited with the operator's name. */
  resolve(tenant: Tenant, transactionId: string, outcome: ManualOutcome, origin: Origin): Promise<PaymentSnapshot> {
    return this.#transactions.run({ origin, account: tenant.account }, async (transaction) => {
      const loaded = await this.#repository.load(tenant, transactionId);
      if (loaded === undefined || loaded.reconciliation.inDoubtSince === undefined)
        throw notPossible('noUnknownOutcome');
      const configured = await this.#activations.configuredProcessor(tenant, loaded.payment.processor);
      assertResolvable(loaded, outcome);
      const event = { type: 'resolved-manually', outcome } as const;
      const after = await this.#repository.apply(transaction, loaded, event, configured);
      if (after === undefined) throw notPossible('statusDisallowsOutcome', { status: loaded.payment.status });
      transaction.write(this.#idempotency.releaseBinding(tenant, loaded.operation.id));
      transaction.record(paymentAuditEvent('payment.resolved-manually', loaded, outcome));
      return after;
    });
  }
}

function assertResolvable({ payment, operation }: LoadedPayment, outcome: ManualOutcome): void {
  const { operationInProgress } = payment;
  if (operationInProgress !== undefined && operationInProgress !== operation.id)
    throw notPossible('otherUnknownOutcome', { transaction: operationInProgress });
  if (operation.state === 'in_progress' && outcome === 'refused' && operation.type === 'expiry')
    throw notPossible('expiryNotRefusable');
}
