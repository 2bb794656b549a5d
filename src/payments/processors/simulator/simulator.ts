import type { Clock, Random } from '../../../kernel/clock.ts';
import type { Tenant } from '../../../kernel/environment.ts';
import { MonotonicIds } from '../../../kernel/ids.ts';
import type { Money } from '../../../kernel/money.ts';
import type { Database, Write } from '../../../storage/database.ts';
import {
  type Capabilities,
  type CardData,
  type InquiryResult,
  type OperationRef,
  type Order,
  type Outcome,
  type PaymentHistory,
  type Processor,
  type ProcessorCall,
  type ProcessorNotification,
  type ReversalResult,
  resolvePayer,
} from '../../processor.ts';
import { COMMON_SETTINGS } from '../../settings.ts';
import { InquiryHandler } from './inquiries.ts';
import { neverResponds, orUnknown, pause } from './missing-responses.ts';
import { toInitialResponse, toRefusal, toResponse } from './responses.ts';
import { decide, type SimulatedOutcome } from './rules.ts';
import {
  firstNotificationAt,
  newSimulatedPayment,
  nextNotificationAt,
  planModification,
  type SimulatedModification,
  type SimulatedPayment,
} from './simulated-payment.ts';
import {
  findModification,
  findPayment,
  insertModification,
  insertPayment,
  listDueNotifications,
  retryOnConflict,
  updatePayment,
} from './simulator-store.ts';
import { delayMs, type Modification, parseTriggers, storedTriggers } from './triggers.ts';

const NOT_SENT: Outcome = { kind: 'not-sent' };

type ReceivedOutcome = Exclude<SimulatedOutcome, { readonly kind: 'lost' | 'refused_connection' }>;

/**
 * A processor that moves no money. It decides by the table of `rules.ts` and has its own records in the database of the
 * service, which every node shares. Each call commits a unit of its own before it responds. Records and caller are
 * separate, as at a real processor: they share only the caller's operation references, and responses can be lost. A
 * reference is executed once; one that was inquired about or reversed before its request arrived is refused when it
 * arrives.
 */
export class Simulator implements Processor {
  readonly capabilities: Capabilities = { sale: true, partialCapture: true, notFoundThreshold: 1 };
  readonly settings = {
    'timeout-ms': { ...COMMON_SETTINGS['timeout-ms'], defaultValue: '1000' },
    'recovery-delay-ms': { ...COMMON_SETTINGS['recovery-delay-ms'], defaultValue: '5000' },
  };
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #ids: MonotonicIds;
  readonly #inquiries: InquiryHandler;

  constructor({ database, clock, random }: { database: Database; clock: Clock; random: Random }) {
    this.#database = database;
    this.#clock = clock;
    this.#ids = new MonotonicIds(clock, random);
    this.#inquiries = new InquiryHandler(database, clock, this.#ids);
  }

  /** Accepts every order: the simulator declines where other processors reject. */
  check(): void {}

  authorize(call: ProcessorCall, order: Order, { pan, expiry }: CardData): Promise<Outcome> {
    const triggers = parseTriggers(resolvePayer(order).email);
    const received = decide({ now: this.#clock(), triggers, pan, expiry, amount: order.amount });
    if (received.kind === 'refused_connection') return Promise.resolve(NOT_SENT);
    return orUnknown(async () => {
      if (received.kind === 'lost') return neverResponds();
      await pause(delayMs(triggers, 'arrival'));
      const response = await this.#store(call, this.#newPayment(call.operationRef, order, received, triggers));
      if (received.kind === 'approved' && !received.isAnswered) return neverResponds();
      await pause(delayMs(triggers, 'delay'));
      return response;
    });
  }

  capture(call: ProcessorCall, history: PaymentHistory, amount: Money): Promise<Outcome> {
    return this.#modify(call, history, 'capture', amount);
  }

  refund(call: ProcessorCall, history: PaymentHistory, amount: Money): Promise<Outcome> {
    return this.#modify(call, history, 'refund', amount);
  }

  void(call: ProcessorCall, history: PaymentHistory): Promise<Outcome> {
    return this.#modify(call, history, 'void');
  }

  inquire({ tenant }: ProcessorCall, history: PaymentHistory, subject: OperationRef): Promise<InquiryResult> {
    return orUnknown(() => this.#inquiries.inquire(tenant, history, subject));
  }

  reverse({ tenant }: ProcessorCall, history: PaymentHistory, subject: OperationRef): Promise<ReversalResult> {
    return orUnknown(() => this.#inquiries.reverse(tenant, history, subject));
  }

  /** Each notification is returned to one caller only, on whichever node it runs. */
  async pollNotifications(): Promise<readonly ProcessorNotification[]> {
    const now = this.#clock();
    const dueNotifications = await listDueNotifications(this.#database, now);
    return (
      await Promise.all(dueNotifications.map(({ tenant, payment }) => this.#claimNotification(tenant, payment, now)))
    ).flat();
  }

  async #claimNotification(
    tenant: Tenant,
    payment: SimulatedPayment,
    now: number,
  ): Promise<readonly ProcessorNotification[]> {
    const claimed = { ...payment, notifyAt: nextNotificationAt(payment, now) };
    const { committed } = await this.#database.commit({
      account: tenant.account,
      writes: [updatePayment(tenant, claimed)],
    });
    // Without an `operationRefFormat`, the reference is the id.
    const notification: ProcessorNotification = { tenant, operationId: payment.operationRef };
    if (!committed) return [];
    return payment.triggers.includes('duplicate_notification') ? [notification, notification] : [notification];
  }

  #newPayment(
    operationRef: string,
    { amount, capture }: Order,
    received: ReceivedOutcome,
    triggers: readonly string[],
  ): SimulatedPayment {
    const payment = newSimulatedPayment({
      operationRef,
      reference: this.#ids.next(),
      outcome: received.kind,
      reason: received.kind === 'refused' ? received.reason : undefined,
      amount,
      isSale: capture,
      triggers: storedTriggers(triggers),
      createdAt: this.#clock(),
    });
    return { ...payment, notifyAt: firstNotificationAt(payment) };
  }

  /** The usual case is one new row and nothing else. */
  async #store({ tenant }: ProcessorCall, payment: SimulatedPayment): Promise<Outcome> {
    const { committed } = await this.#database.commit({
      account: tenant.account,
      writes: [insertPayment(tenant, payment)],
    });
    const stored = committed ? payment : await findPayment(this.#database, tenant, payment.operationRef);
    return toInitialResponse(stored ?? payment);
  }

  #modify(call: ProcessorCall, history: PaymentHistory, type: Modification, amount?: Money): Promise<Outcome> {
    const paymentRef = history.operations[0]?.operationRef ?? '';
    return orUnknown(() =>
      retryOnConflict(async () => {
        const payment = await findPayment(this.#database, call.tenant, paymentRef);
        return payment === undefined
          ? toRefusal('InvalidData')
          : this.#execute(call, payment, type, amount ?? payment.amount);
      }),
    );
  }

  /**
   * Commits the row of a capture, refund or void and the payment's new state, or neither. Undefined when the payment
   * was changed in the meantime.
   */
  async #execute(
    { tenant, operationRef }: ProcessorCall,
    payment: SimulatedPayment,
    type: Modification,
    amount: Money,
  ): Promise<Outcome | undefined> {
    const { stored, after, response } = planModification(payment, type, amount, this.#clock());
    const modification: SimulatedModification | undefined = stored && {
      ...stored,
      operationRef,
      reference: this.#ids.next(),
      payment: payment.operationRef,
      type,
      amount,
    };
    const writes: Write[] = modification === undefined ? [] : [insertModification(tenant, modification)];
    if (after !== payment) writes.push(updatePayment(tenant, after));
    const outcome = await this.#database.commit({ account: tenant.account, writes });
    if (!outcome.committed) {
      if (modification === undefined || outcome.write > 0) return undefined;
      const first = await findModification(this.#database, tenant, operationRef);
      return first && toResponse(first);
    }
    if (response === 'not-sent') return NOT_SENT;
    return response === 'none' || modification === undefined ? neverResponds() : toResponse(modification);
  }
}
