import type { Clock } from '../../../kernel/clock.ts';
import type { Tenant } from '../../../kernel/environment.ts';
import type { MonotonicIds } from '../../../kernel/ids.ts';
import type { Database, Write } from '../../../storage/database.ts';
import type {
  InquiryResult,
  NotFound,
  OperationRef,
  OperationType,
  PaymentHistory,
  ReversalResult,
} from '../../processor.ts';
import { neverResponds } from './missing-responses.ts';
import { toInquiryResult, toResponse } from './responses.ts';
import {
  awaitsInquiry,
  newSimulatedPayment,
  reversed,
  type SimulatedModification,
  type SimulatedPayment,
  simulatedStateAt,
  withoutModification,
} from './simulated-payment.ts';
import {
  findModification,
  findPayment,
  insertModification,
  insertPayment,
  markModificationReversed,
  retryOnConflict,
  updatePayment,
} from './simulator-store.ts';
import { type Inquiry, type Modification, nextFault } from './triggers.ts';

const NOT_FOUND: NotFound = { kind: 'not-found' };
const REVERSED: ReversalResult = { kind: 'reversed' };
const REVERSED_WITH_AUTHORIZATION: ReversalResult = { kind: 'reversed-with-authorization' };

const MODIFICATION_TYPES: Readonly<Partial<Record<OperationType, Modification>>> = {
  capture: 'capture',
  payment_refund: 'refund',
  authorization_void: 'void',
  expiry: 'void',
};

const isPayment = ({ type }: OperationRef): boolean => MODIFICATION_TYPES[type] === undefined;

const paymentRef = (history: PaymentHistory, subject: OperationRef): string =>
  isPayment(subject) ? subject.operationRef : (history.operations[0]?.operationRef ?? '');

/**
 * Inquiries and reversals, both by the caller's operation reference. An inquiry about an unknown reference closes it: a
 * request that is still on its way can then no longer be executed, so one not-found result is conclusive.
 */
export class InquiryHandler {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #ids: MonotonicIds;

  constructor(database: Database, clock: Clock, ids: MonotonicIds) {
    this.#database = database;
    this.#clock = clock;
    this.#ids = ids;
  }

  async inquire(tenant: Tenant, history: PaymentHistory, subject: OperationRef): Promise<InquiryResult> {
    if (await this.#meetsFault(tenant, history, subject, 'inquiry')) return neverResponds();
    return isPayment(subject)
      ? this.#inquirePayment(tenant, subject)
      : this.#inquireModification(tenant, history, subject);
  }

  async reverse(tenant: Tenant, history: PaymentHistory, subject: OperationRef): Promise<ReversalResult> {
    const meetsFault = await this.#meetsFault(tenant, history, subject, 'reversal');
    const finding = await (isPayment(subject)
      ? this.#reversePayment(tenant, subject)
      : this.#reverseModification(tenant, history, subject));
    return meetsFault ? neverResponds() : finding;
  }

  /** True when the inquiry meets a fault of its trigger, which is counted. */
  #meetsFault(tenant: Tenant, history: PaymentHistory, subject: OperationRef, inquiry: Inquiry): Promise<boolean> {
    return retryOnConflict(async () => {
      const payment = await findPayment(this.#database, tenant, paymentRef(history, subject));
      if (payment === undefined) return false;
      const { fault, triggers } = nextFault(payment.triggers, inquiry);
      if (triggers === payment.triggers) return fault !== undefined;
      return (await this.#commit(tenant, updatePayment(tenant, { ...payment, triggers }))) ? true : undefined;
    });
  }

  #inquirePayment(tenant: Tenant, subject: OperationRef): Promise<InquiryResult> {
    return retryOnConflict(async () => {
      const payment = await findPayment(this.#database, tenant, subject.operationRef);
      if (payment === undefined) return this.#commitClosed(tenant, insertPayment(tenant, this.#closedPayment(subject)));
      // The inquiry shows that the notification arrived.
      if (
        awaitsInquiry(payment) &&
        !(await this.#commit(tenant, updatePayment(tenant, { ...payment, notifyAt: undefined })))
      )
        return undefined;
      return toInquiryResult(payment, simulatedStateAt(payment, this.#clock()));
    });
  }

  #inquireModification(tenant: Tenant, history: PaymentHistory, subject: OperationRef): Promise<InquiryResult> {
    return retryOnConflict(async () => {
      const modification = await findModification(this.#database, tenant, subject.operationRef);
      if (modification === undefined)
        return this.#commitClosed(tenant, insertModification(tenant, this.#closedModification(history, subject)));
      return modification.outcome === 'closed' || modification.outcome === 'reversed'
        ? NOT_FOUND
        : toResponse(modification);
    });
  }

  #reversePayment(tenant: Tenant, subject: OperationRef): Promise<ReversalResult> {
    return retryOnConflict(async () => {
      const payment = await findPayment(this.#database, tenant, subject.operationRef);
      if (payment === undefined) return this.#commitClosed(tenant, insertPayment(tenant, this.#closedPayment(subject)));
      if (payment.outcome === 'closed') return NOT_FOUND;
      const after = reversed(payment, this.#clock());
      return after === undefined || (await this.#commit(tenant, updatePayment(tenant, after))) ? REVERSED : undefined;
    });
  }

  #reverseModification(tenant: Tenant, history: PaymentHistory, subject: OperationRef): Promise<ReversalResult> {
    return retryOnConflict(async () => {
      const modification = await findModification(this.#database, tenant, subject.operationRef);
      if (modification === undefined)
        return this.#commitClosed(tenant, insertModification(tenant, this.#closedModification(history, subject)));
      if (modification.outcome === 'closed') return NOT_FOUND;
      if (modification.outcome !== 'approved') return REVERSED;
      // A released amount is not held again.
      if (modification.type === 'void') return REVERSED_WITH_AUTHORIZATION;
      return this.#applyReversal(tenant, modification);
    });
  }

  async #applyReversal(tenant: Tenant, modification: SimulatedModification): Promise<ReversalResult | undefined> {
    const payment = await findPayment(this.#database, tenant, modification.payment);
    const after = payment && withoutModification(payment, modification);
    if (after === undefined) return { kind: 'unknown', problem: 'built-upon' };
    const isDone = await this.#commit(
      tenant,
      markModificationReversed(tenant, modification.operationRef),
      updatePayment(tenant, after),
    );
    return isDone ? REVERSED : undefined;
  }

  async #commitClosed(tenant: Tenant, insert: Write): Promise<NotFound | undefined> {
    return (await this.#commit(tenant, insert)) ? NOT_FOUND : undefined;
  }

  async #commit({ account }: Tenant, ...writes: Write[]): Promise<boolean> {
    return (await this.#database.commit({ account, writes })).committed;
  }

  #closedPayment({ operationRef, type, amount }: OperationRef): SimulatedPayment {
    const fields = {
      operationRef,
      amount,
      isSale: type === 'payment',
      reference: this.#ids.next(),
      createdAt: this.#clock(),
    };
    return newSimulatedPayment({ ...fields, outcome: 'closed' });
  }

  #closedModification(history: PaymentHistory, subject: OperationRef): SimulatedModification {
    const { operationRef, type, amount } = subject;
    const fields = {
      operationRef,
      amount,
      type: MODIFICATION_TYPES[type] ?? 'void',
      payment: paymentRef(history, subject),
    };
    return { ...fields, reference: this.#ids.next(), outcome: 'closed', reason: undefined };
  }
}
