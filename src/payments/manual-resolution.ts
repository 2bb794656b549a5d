import type { Origin } from '../audit/audit.ts';
import type { IdempotencyKeys } from '../idempotency/idempotency-keys.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Tenant } from '../kernel/environment.ts';
import { OperatorError } from '../kernel/operator-error.ts';
import type { TrustedTime } from '../kernel/time-guard.ts';
import { applyEvent, type PaymentEvent } from './apply-event.ts';
import type { PaymentSnapshot } from './payment.ts';
import type { PaymentActivations } from './payment-activations.ts';
import { paymentEvent } from './payment-events.ts';
import { type LoadedPayment, type PaymentRepository, rulesOf } from './payment-repository.ts';

/** The outcome that an operator saw in the processor's own console. */
export const MANUAL_OUTCOMES = ['accepted', 'refused'] as const;
export type ManualOutcome = (typeof MANUAL_OUTCOMES)[number];

/** A request of the operator that the state of the payment does not allow. */
class ManualResolutionError extends OperatorError {
  override readonly name = 'ManualResolutionError';
}

/** Sets the outcome of an operation that stays in doubt, on the responsibility of an operator. */
export class ManualResolution {
  readonly #activations: PaymentActivations;
  readonly #repository: PaymentRepository;
  readonly #idempotency: IdempotencyKeys;
  readonly #clock: Clock;
  readonly #time: TrustedTime;

  constructor(options: {
    activations: PaymentActivations;
    repository: PaymentRepository;
    idempotency: IdempotencyKeys;
    clock: Clock;
    time: TrustedTime;
  }) {
    this.#activations = options.activations;
    this.#repository = options.repository;
    this.#idempotency = options.idempotency;
    this.#clock = options.clock;
    this.#time = options.time;
  }

  /** Completes an operation in doubt, or closes the doubt about a completed one. Audited with the operator's name. */
  async resolve(tenant: Tenant, transaction: string, outcome: ManualOutcome, origin: Origin): Promise<PaymentSnapshot> {
    const loaded = await this.#repository.load(tenant, transaction);
    if (loaded === undefined || loaded.reconciliation.inDoubtSince === undefined)
      throw new ManualResolutionError('there is no such transaction in doubt; see: cardvault payments doubtful');
    const configured = await this.#activations.configuredProcessor(tenant, loaded.payment.processor);
    const event: PaymentEvent = { type: 'resolved-manually', outcome };
    const rules = rulesOf(configured, this.#time);
    const decide = (current: LoadedPayment): PaymentEvent => {
      assertResolvable(current, outcome);
      if (applyEvent(current, event, this.#time.steadyNow(), rules) !== undefined) return event;
      throw new ManualResolutionError(`a payment that is ${current.payment.status} does not allow that`);
    };
    const writes = async () => [this.#idempotency.releaseBinding(tenant, loaded.operation.id)];
    const journal = [paymentEvent(this.#clock, 'payment.resolved-manually', loaded, origin, outcome)];
    return this.#repository.change(loaded, configured, decide, { writes, journal });
  }
}

function assertResolvable({ payment, operation }: LoadedPayment, outcome: ManualOutcome): void {
  const { operationInProgress } = payment;
  if (operationInProgress !== undefined && operationInProgress !== operation.id)
    throw new ManualResolutionError(`another transaction of the payment is in doubt: ${operationInProgress}`);
  if (operation.state === 'in_progress' && outcome === 'refused' && operation.type === 'expiry')
    throw new ManualResolutionError(
      "the payment has expired: void it in the processor's console, then resolve it as accepted",
    );
}
