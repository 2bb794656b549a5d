import type { FailureStatus } from '../../src/payments/transitions.ts';
import type { SeededRandom } from './seeded-random.ts';

/** The records of the acquirer, and the rules that it applies. They are independent of the vault's records. */

export interface AcquirerBehavior {
  readonly sale: boolean;
  readonly partialCapture: boolean;
  /** 1: asking after an unknown key closes it, so that one answer is enough. */
  readonly absences: number;
  /** The effect of reversing a capture; with `nothing` it is refused, as that of a refund is. */
  readonly undoing: 'capture' | 'authorization' | 'nothing';
  /** Milliseconds until inquiries know what was done. */
  readonly indexDelay: number;
  readonly remembersRefusals: boolean;
}

export interface RefundEntry {
  readonly key: string;
  readonly amount: bigint;
  readonly at: number;
  state: 'done' | 'pending' | 'failed';
}

export interface PaymentEntry {
  readonly key: string;
  readonly amount: bigint;
  readonly isSale: boolean;
  readonly at: number;
  state: 'pending' | 'approved' | 'refused' | 'reversed';
  capture: { readonly key: string; readonly amount: bigint; readonly at: number } | undefined;
  readonly refunds: RefundEntry[];
  /** The payment changes later, without a request. */
  pendingChange: { readonly at: number; readonly to: 'approved' | 'refused' } | undefined;
  hasTurned: boolean;
  /** The change causes no notification. */
  readonly silent: boolean;
  /** Notifications are pending. */
  untold: boolean;
}

const REFUSED: FailureStatus = { status: 'Declined', reason: 'Rejected' };
const WRONG: FailureStatus = { status: 'Declined', reason: 'InvalidData' };

export type AcquirerResponse =
  | { readonly kind: 'approved'; readonly captured?: bigint | undefined }
  | { readonly kind: 'refused'; readonly failure: FailureStatus }
  | { readonly kind: 'pending' | 'reversed' | 'not-found' };

const YES: AcquirerResponse = { kind: 'approved' };
const NO: AcquirerResponse = { kind: 'refused', failure: REFUSED };
const CANNOT: AcquirerResponse = { kind: 'refused', failure: WRONG };
const ABSENT: AcquirerResponse = { kind: 'not-found' };

const MINUTE = 60_000;

export class AcquirerLedger {
  readonly payments = new Map<string, PaymentEntry>();
  /** Requests that must never occur. */
  readonly violations: string[] = [];
  /** No more whims: what the rules allow is done. */
  isCalm = false;
  readonly #habits: AcquirerBehavior;
  readonly #seeded: SeededRandom;
  readonly #now: () => number;
  readonly #closed = new Set<string>();
  readonly #refused = new Set<string>();
  readonly #voids = new Set<string>();

  constructor(options: { habits: AcquirerBehavior; seeded: SeededRandom; now: () => number }) {
    this.#habits = options.habits;
    this.#seeded = options.seeded;
    this.#now = options.now;
  }

  authorize(key: string, amount: bigint, capture: boolean): AcquirerResponse {
    if (this.payments.has(key)) this.violations.push(`${key} was authorized twice`);
    if (this.#closed.has(key)) return CANNOT;
    const fate = this.#seeded.weighed({ approved: 68, refused: 12, pending: 14, failing: 6 });
    const at = this.#now();
    const isSale = capture && this.#habits.sale;
    const payment: PaymentEntry = {
      key,
      amount,
      isSale,
      at,
      state: fate === 'failing' ? 'approved' : fate,
      capture: undefined,
      refunds: [],
      pendingChange: undefined,
      hasTurned: false,
      silent: this.#seeded.percent(25),
      untold: false,
    };
    const when = at + this.#seeded.between(1000, 8 * MINUTE);
    if (fate === 'pending' && this.#seeded.percent(80))
      payment.pendingChange = { at: when, to: this.#seeded.pick(['approved', 'approved', 'refused']) };
    if (fate === 'failing' && !isSale) payment.pendingChange = { at: when, to: 'refused' };
    this.payments.set(key, payment);
    if (payment.state === 'approved' && isSale) payment.capture = { key, amount, at };
    return this.#standing(payment);
  }

  capture(key: string, of: string, amount: bigint): AcquirerResponse {
    const payment = this.#of(of);
    if (this.#closed.has(key) || payment?.state !== 'approved') return this.#no(key, CANNOT);
    if (payment.capture !== undefined || amount > payment.amount) return this.#no(key, CANNOT);
    if (!this.#habits.partialCapture && amount !== payment.amount)
      this.violations.push(`${key} captures a part of ${of}`);
    if (this.#whim()) return this.#no(key, NO);
    payment.capture = { key, amount, at: this.#now() };
    payment.pendingChange = undefined;
    return this.#seeded.percent(5) ? { kind: 'pending' } : YES;
  }

  refund(key: string, of: string, amount: bigint): AcquirerResponse {
    const payment = this.#of(of);
    if (this.#closed.has(key) || payment?.capture === undefined) return this.#no(key, CANNOT);
    if (payment.refunds.some((each) => each.key === key)) this.violations.push(`${key} was refunded twice`);
    if (amount > payment.capture.amount - refundedOf(payment)) return this.#no(key, CANNOT);
    if (this.#whim()) return this.#no(key, NO);
    const state = !this.isCalm && this.#seeded.percent(10) ? 'pending' : 'done';
    payment.refunds.push({ key, amount, at: this.#now(), state });
    return state === 'pending' ? { kind: 'pending' } : YES;
  }

  void(key: string, of: string): AcquirerResponse {
    const payment = this.#of(of);
    if (payment === undefined) return this.#no(key, CANNOT);
    if (payment.state === 'reversed') return YES;
    if (payment.state === 'refused' || payment.capture !== undefined) return this.#no(key, CANNOT);
    if (this.#whim()) return this.#no(key, NO);
    payment.state = 'reversed';
    this.#voids.add(key);
    return YES;
  }

  /** How the payment stands. */
  standing(key: string): AcquirerResponse {
    const payment = this.#of(key);
    if (payment === undefined || this.#isHidden(payment.at)) return this.#absent(key);
    if (payment.state === 'refused' && !payment.hasTurned && !this.#habits.remembersRefusals) return ABSENT;
    if (payment.capture !== undefined && !payment.isSale && this.#isHidden(payment.capture.at))
      return { kind: 'approved' };
    return this.#standing(payment);
  }

  movement(key: string, of: string): AcquirerResponse {
    const payment = this.#of(of);
    const refund = payment?.refunds.find((each) => each.key === key);
    const isCapture = payment?.capture?.key === key;
    const at = isCapture ? payment.capture?.at : refund?.at;
    if (at !== undefined && this.#isHidden(at)) return ABSENT;
    if (refund?.state === 'pending') return { kind: 'pending' };
    if (refund?.state === 'failed') return NO;
    if (isCapture || refund !== undefined || this.#voids.has(key)) return YES;
    return this.#refused.has(key) && this.#habits.remembersRefusals ? NO : this.#absent(key);
  }

  giveUpPayment(key: string): AcquirerResponse {
    const payment = this.#of(key);
    if (payment === undefined) return this.#absent(key);
    if (payment.state === 'refused') return YES;
    payment.state = 'reversed';
    payment.capture = undefined;
    return YES;
  }

  giveUpMovement(key: string, of: string): AcquirerResponse {
    const payment = this.#of(of);
    const refund = payment?.refunds.findIndex((each) => each.key === key && each.state !== 'failed') ?? -1;
    const isBooked = refund >= 0 || (payment !== undefined && payment.capture?.key === key);
    if (isBooked && this.#habits.undoing === 'nothing') return CANNOT;
    if (refund >= 0) payment?.refunds.splice(refund, 1);
    if (refund >= 0) return YES;
    if (payment === undefined || payment.capture?.key !== key) return this.#absent(key);
    if (payment.refunds.length > 0) this.violations.push(`${key} has refunds and was reversed`);
    payment.capture = undefined;
    if (this.#habits.undoing === 'capture') return YES;
    payment.state = 'reversed';
    return { kind: 'reversed' };
  }

  /** The delayed change has happened. */
  applyChanges(): void {
    for (const payment of this.payments.values()) this.#turn(payment);
  }

  /** Returns the payments with a pending notification. */
  takeNotifications(): string[] {
    this.applyChanges();
    const notified = [...this.payments.values()].filter(({ untold, silent }) => untold && !silent);
    for (const payment of notified) payment.untold = !this.isCalm && this.#seeded.percent(50);
    return notified.map(({ key }) => key);
  }

  /** The time of the next delayed change. */
  nextTurn(): number | undefined {
    const times = [...this.payments.values()].flatMap(({ pendingChange }) =>
      pendingChange === undefined ? [] : [pendingChange.at],
    );
    return times.length === 0 ? undefined : Math.min(...times);
  }

  #of(key: string): PaymentEntry | undefined {
    const payment = this.payments.get(key);
    if (payment !== undefined) this.#turn(payment);
    return payment;
  }

  #turn(payment: PaymentEntry): void {
    for (const refund of payment.refunds)
      if (refund.state === 'pending' && this.#now() > refund.at + MINUTE)
        refund.state = this.#seeded.percent(40) ? 'failed' : 'done';
    const { pendingChange, isSale, key, amount } = payment;
    if (pendingChange === undefined || pendingChange.at > this.#now()) return;
    payment.pendingChange = undefined;
    if (payment.state === 'reversed') return;
    payment.state = pendingChange.to;
    payment.untold = true;
    payment.hasTurned = true;
    if (pendingChange.to === 'approved' && isSale) payment.capture = { key, amount, at: pendingChange.at };
  }

  #standing({ state, capture }: PaymentEntry): AcquirerResponse {
    if (state === 'pending' || state === 'reversed') return { kind: state };
    return state === 'refused' ? NO : { kind: 'approved', captured: capture?.amount };
  }

  #isHidden(at: number): boolean {
    return this.#now() < at + this.#habits.indexDelay;
  }

  #absent(key: string): AcquirerResponse {
    if (this.#habits.absences === 1) this.#closed.add(key);
    return ABSENT;
  }

  #no(key: string, response: AcquirerResponse): AcquirerResponse {
    this.#refused.add(key);
    return response;
  }

  #whim(): boolean {
    return !this.isCalm && this.#seeded.percent(6);
  }
}

export const refundedOf = ({ refunds }: PaymentEntry): bigint =>
  refunds.reduce((sum, { amount, state }) => sum + (state === 'failed' ? 0n : amount), 0n);
