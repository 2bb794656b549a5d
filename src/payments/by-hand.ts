import type { Origin } from '../audit/audit.ts';
import type { Idempotency } from '../idempotency/idempotency.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Tenant } from '../kernel/environment.ts';
import { OperatorError } from '../kernel/operator-error.ts';
import { aheadOfSteady, type TrustedTime } from '../kernel/time-guard.ts';
import type { Activations } from './activations.ts';
import type { Books } from './books.ts';
import type { Lane } from './lane.ts';
import type { Operation, Payment } from './payment.ts';
import { paymentEvent } from './payment-events.ts';
import type { Outcome } from './processor.ts';
import { timesOf } from './schedule.ts';
import { NEVER_CONFIRMED, type Pair, settle } from './settle.ts';

/** What a person saw in the processor's own console. */
export const SETTLED_AS = ['accepted', 'refused'] as const;
export type SettledAs = (typeof SETTLED_AS)[number];

/** A request of the operator that cannot be carried out. */
class ByHandError extends OperatorError {
  override readonly name = 'ByHandError';
}

/** For what no machine can find out: the operator tells how an operation in doubt went, and answers for it. */
export class ByHand {
  readonly #activations: Activations;
  readonly #books: Books;
  readonly #idempotency: Idempotency;
  readonly #clock: Clock;
  readonly #time: TrustedTime;

  constructor(options: {
    activations: Activations;
    books: Books;
    idempotency: Idempotency;
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
  async settle(tenant: Tenant, transaction: string, as: SettledAs, origin: Origin): Promise<Pair> {
    const lane = await this.#books.find(tenant, transaction);
    if (lane === undefined || lane.schedule.doubtfulAt === undefined)
      throw new ByHandError('there is no such transaction in doubt; see: cardvault payments doubtful');
    const configured = await this.#activations.of(tenant, lane.payment.processor);
    const journal = [paymentEvent(this.#clock, 'payment.settled', lane, origin, as)];
    const along = async () => [this.#idempotency.ended(tenant, lane.operation.id)];
    const change = (current: Lane): Pair =>
      this.#changed(current, as, timesOf(configured.settings, aheadOfSteady(this.#time)));
    return this.#books.change(lane, configured, change, along, journal);
  }

  #changed(current: Lane, as: SettledAs, { lifetimes }: ReturnType<typeof timesOf>): Pair {
    const { payment, operation } = current;
    if (payment.operation !== undefined && payment.operation !== operation.id)
      throw new ByHandError(`another transaction of the payment is in doubt: ${payment.operation}`);
    if (operation.state !== 'in_progress') return { operation, payment: { ...payment, watched: [] } };
    if (as === 'refused' && operation.type === 'expiry')
      throw new ByHandError('the payment has expired and is to be given back: do that there, then settle as accepted');
    const pair = settle(current, wordOf(payment, operation, as), this.#time.steadyNow(), lifetimes);
    if (pair === undefined) throw new ByHandError(`a payment that is ${payment.status} cannot take that`);
    return pair;
  }
}

function wordOf({ currency }: Payment, { type, amount }: Operation, as: SettledAs): Outcome {
  if (as === 'refused') return { kind: 'refused', failed: NEVER_CONFIRMED, particulars: {} };
  const captured = type === 'payment' ? { minor: amount, currency } : undefined;
  return { kind: 'approved', captured, particulars: {} };
}
