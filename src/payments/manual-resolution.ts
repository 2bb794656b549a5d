import type { Origin } from '../audit/audit.ts';
import type { IdempotencyKeys } from '../idempotency/idempotency-keys.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Tenant } from '../kernel/environment.ts';
import { OperatorError } from '../kernel/operator-error.ts';
import { aheadOfSteady, type TrustedTime } from '../kernel/time-guard.ts';
import type { Books } from './books.ts';
import type { Lane } from './lane.ts';
import type { Operation, Payment } from './payment.ts';
import type { PaymentActivations } from './payment-activations.ts';
import { paymentEvent } from './payment-events.ts';
import type { Outcome } from './processor.ts';
import { recoveryTimes } from './schedule.ts';
import { NEVER_CONFIRMED, type PaymentSnapshot, settle } from './settle.ts';

/** What a person saw in the processor's own console. */
export const MANUAL_OUTCOMES = ['accepted', 'refused'] as const;
export type ManualOutcome = (typeof MANUAL_OUTCOMES)[number];

/** A request of the operator that cannot be carried out. */
class ManualResolutionError extends OperatorError {
  override readonly name = 'ByHandError';
}

/** For what no machine can find out: the operator tells how an operation in doubt went, and answers for it. */
export class ManualResolution {
  readonly #activations: PaymentActivations;
  readonly #books: Books;
  readonly #idempotency: IdempotencyKeys;
  readonly #clock: Clock;
  readonly #time: TrustedTime;

  constructor(options: {
    activations: PaymentActivations;
    books: Books;
    idempotency: IdempotencyKeys;
    clock: Clock;
    time: TrustedTime;
  }) {
    this.#activations = options.activations;
    this.#books = options.books;
    this.#idempotency = options.idempotency;
    this.#clock = options.clock;
    this.#time = options.time;
  }

  /** Ends an operation in doubt, or the doubt about one that has ended. Audited with the operator's name. */
  async resolve(tenant: Tenant, transaction: string, as: ManualOutcome, origin: Origin): Promise<PaymentSnapshot> {
    const lane = await this.#books.find(tenant, transaction);
    if (lane === undefined || lane.schedule.inDoubtSince === undefined)
      throw new ManualResolutionError('there is no such transaction in doubt; see: cardvault payments doubtful');
    const configured = await this.#activations.configuredProcessor(tenant, lane.payment.processor);
    const journal = [paymentEvent(this.#clock, 'payment.settled', lane, origin, as)];
    const along = async () => [this.#idempotency.releaseBinding(tenant, lane.operation.id)];
    const change = (current: Lane): PaymentSnapshot =>
      this.#changed(current, as, recoveryTimes(configured.settings, aheadOfSteady(this.#time)));
    return this.#books.change(lane, configured, change, along, journal);
  }

  #changed(current: Lane, as: ManualOutcome, { lifetimes }: ReturnType<typeof recoveryTimes>): PaymentSnapshot {
    const { payment, operation } = current;
    if (payment.operationInProgress !== undefined && payment.operationInProgress !== operation.id)
      throw new ManualResolutionError(`another transaction of the payment is in doubt: ${payment.operationInProgress}`);
    if (operation.state !== 'in_progress') return { operation, payment: { ...payment, recheckIds: [] } };
    if (as === 'refused' && operation.type === 'expiry')
      throw new ManualResolutionError(
        'the payment has expired and is to be given back: do that there, then settle as accepted',
      );
    const pair = settle(current, wordOf(payment, operation, as), this.#time.steadyNow(), lifetimes);
    if (pair === undefined) throw new ManualResolutionError(`a payment that is ${payment.status} cannot take that`);
    return pair;
  }
}

function wordOf({ currency }: Payment, { type, amount }: Operation, as: ManualOutcome): Outcome {
  if (as === 'refused') return { kind: 'refused', failure: NEVER_CONFIRMED, details: {} };
  const captured = type === 'payment' ? { minor: amount, currency } : undefined;
  return { kind: 'approved', captured, details: {} };
}
