import { eraseSad } from '../captures/capture-store.ts';
import type { Keyring } from '../crypto/keyring.ts';
import type { Transaction } from '../idempotency/transaction.ts';
import type { Random } from '../kernel/clock.ts';
import type { Tenant } from '../kernel/environment.ts';
import { Failure } from '../kernel/failure.ts';
import type { TrustedTime } from '../kernel/time-guard.ts';
import type { Database } from '../storage/database.ts';
import { applyEvent, type PaymentRules } from './apply-event.ts';
import { toRequester } from './history.ts';
import { buildOperationRef } from './operation-ref.ts';
import type { Operation, PaymentSnapshot } from './payment.ts';
import type { ConfiguredProcessor } from './payment-activations.ts';
import type { PaymentEvent, RequestedPayment } from './payment-event.ts';
import {
  insertOperation,
  insertPayment,
  type LoadedPayment,
  listOperations,
  loadPayment,
  updateOperation,
  updatePayment,
} from './payment-store.ts';
import { changeTotals } from './payment-totals.ts';
import { nextDueAt, recoveryTimes } from './reconciliation.ts';
import type { Status } from './transitions.ts';

/** Called with the outcome of each operation: the status of the payment, `failed` or `unknown`. */
export type OutcomeObserver = (environment: string, processor: string, operation: string, result: string) => void;

/** A change of a payment by an event, with the operation that the event is about. */
export interface PaymentChange {
  readonly before: PaymentSnapshot;
  readonly after: PaymentSnapshot;
}

/** Adds to the transaction what a change causes outside of the payment, such as webhooks. */
export type PaymentChangeWriter = (transaction: Transaction, tenant: Tenant, change: PaymentChange) => Promise<void>;

/**
 * True for the statuses in which authorization has completed (PCI DSS 3.3.1). After a ProcessorError no issuer has decided:
 * the merchant may pay with the same captures again.
 */
const IS_AUTHORIZATION_COMPLETE: Readonly<Record<Status, boolean>> = {
  Opened: false,
  Authorized: true,
  Collected: true,
  Cancelled: true,
  Voided: true,
  Declined: true,
  ProcessorError: false,
};

/** `ahead`: by how much the deciding clock is ahead of the time of the schedules. */
export const rulesOf = ({ settings, processor }: ConfiguredProcessor, ahead: number): PaymentRules => {
  const { lifetimes, recoveryMax } = recoveryTimes(settings, ahead);
  return { lifetimes, recoveryMax, capabilities: processor.capabilities };
};

/**
 * Payments in the database. Each change is an event: a compare-and-set of the result that `applyEvent` computes from
 * the payment as it was loaded. A conflict runs the stage of the transaction again, which reloads the payment.
 */
export class PaymentRepository {
  readonly #database: Database;
  readonly #keyring: Keyring;
  readonly #time: TrustedTime;
  readonly #random: Random;
  readonly #onOutcome: OutcomeObserver;
  readonly #onChange: PaymentChangeWriter;

  constructor(options: {
    database: Database;
    keyring: Keyring;
    time: TrustedTime;
    random: Random;
    onOutcome: OutcomeObserver;
    onChange: PaymentChangeWriter;
  }) {
    this.#database = options.database;
    this.#keyring = options.keyring;
    this.#time = options.time;
    this.#random = options.random;
    this.#onOutcome = options.onOutcome;
    this.#onChange = options.onChange;
  }

  /** Finds by the id of an operation, ours or the processor's. */
  load(tenant: Tenant, id: string): Promise<LoadedPayment | undefined> {
    return loadPayment(this.#database, this.#keyring, tenant, id);
  }

  /** Returns all operations of the payment, in the order of time. */
  listOperations(loaded: LoadedPayment): Promise<Operation[]> {
    return listOperations(this.#database, this.#keyring, loaded);
  }

  /** Returns the payment as it was loaded; after a conflict as it is now. */
  async reload(transaction: Transaction, loaded: LoadedPayment): Promise<LoadedPayment> {
    if (transaction.attempt === 0) return loaded;
    const again = await this.load(loaded.tenant, loaded.operation.id);
    if (again === undefined) throw new Failure('internal');
    return again;
  }

  /** Adds a new payment with its first operation to the transaction, and returns it as it will be stored. */
  async insert(
    transaction: Transaction,
    tenant: Tenant,
    order: RequestedPayment,
    configured: ConfiguredProcessor,
    notificationDigest: Uint8Array | undefined,
  ): Promise<LoadedPayment> {
    const { steady, latest } = this.#time.timesNow();
    const rules = rulesOf(configured, latest - steady);
    const { operationRefFormat } = configured.processor;
    const operationRef = buildOperationRef(order.id, order.referenceCode, operationRefFormat);
    const requestedBy = toRequester(transaction.origin.actor);
    const event: PaymentEvent = { type: 'requested', order, operationRef, requestedBy };
    const snapshot = applyEvent(undefined, event, steady, rules);
    if (snapshot === undefined) throw new Failure('internal');
    const dueAt = this.#nextDueAt('requested', undefined, snapshot, configured, steady);
    const { payment, operation: initial } = snapshot;
    const reconciliation = { ...snapshot.reconciliation, dueAt };
    const seal = await this.#keyring.sealer(tenant, 'payments', 1);
    transaction.write(insertPayment(seal, tenant, { payment, initial, reconciliation }, notificationDigest));
    return { ...snapshot, reconciliation, tenant, initial, revisions: { payment: 1, operation: 1 } };
  }

  /**
   * Adds the change by an event to the transaction, and returns the payment as it will be. Undefined when the event changes
   * nothing; then nothing is written.
   */
  async apply(
    transaction: Transaction,
    loaded: LoadedPayment,
    event: PaymentEvent,
    configured: ConfiguredProcessor,
    now?: number,
  ): Promise<LoadedPayment | undefined> {
    const { steady, latest } = this.#time.timesNow();
    const changed = applyEvent(loaded, event, now ?? steady, rulesOf(configured, latest - steady));
    if (changed === undefined) return undefined;
    const { tenant, revisions } = loaded;
    const { payment, operation } = this.#eraseSad(transaction, tenant, changed, configured);
    const resumeAt = event.type === 'unanswered' ? event.resumeAt : undefined;
    const dueAt = resumeAt ?? this.#nextDueAt(event.type, loaded, changed, configured, steady);
    const reconciliation = { ...changed.reconciliation, dueAt };
    const initial = operation.id === payment.id ? operation : loaded.initial;
    const seal = await this.#keyring.sealer(tenant, 'payments', 2);
    transaction.write(updatePayment(seal, tenant, { payment, initial, reconciliation }, revisions.payment));
    const isStart = event.type === 'started';
    const isUpdate = !isStart && operation !== initial && operation !== loaded.operation;
    if (isStart) transaction.write(insertOperation(seal, tenant, operation));
    if (isUpdate) transaction.write(updateOperation(seal, tenant, operation, revisions.operation));
    for (const addition of changeTotals(tenant, loaded.payment, payment)) transaction.add(addition);
    await this.#onChange(transaction, tenant, { before: loaded, after: { payment, operation, reconciliation } });
    const revision = isStart ? 1 : revisions.operation + (isUpdate || operation === initial ? 1 : 0);
    transaction.afterCommit(async () => this.#report(loaded, { payment, operation }, event));
    return {
      payment,
      operation,
      reconciliation,
      tenant,
      initial,
      revisions: { payment: revisions.payment + 1, operation: revision },
    };
  }

  /**
   * Erases the sensitive authentication data of the captures that a payment used, in the unit that stores its result
   * (PCI DSS 3.3.1). Only the sandbox can be configured to keep it. Returns the payment without these captures.
   */
  #eraseSad(
    transaction: Transaction,
    tenant: Tenant,
    snapshot: PaymentSnapshot,
    { settings }: ConfiguredProcessor,
  ): PaymentSnapshot {
    const { payment } = snapshot;
    if (payment.captureIds.length === 0 || !IS_AUTHORIZATION_COMPLETE[payment.status]) return snapshot;
    if (settings['erase-sad'] === 'true' || tenant.environment === 'production') {
      transaction.write(eraseSad(tenant, payment.captureIds));
      transaction.scrub();
    }
    return { ...snapshot, payment: { ...payment, captureIds: [] } };
  }

  #nextDueAt(
    event: PaymentEvent['type'],
    before: PaymentSnapshot | undefined,
    after: PaymentSnapshot,
    { settings }: ConfiguredProcessor,
    now: number,
  ): number | undefined {
    const times = recoveryTimes(settings);
    return nextDueAt({ event, before, after, now, times, random: this.#random });
  }

  #report(
    before: LoadedPayment,
    { payment, operation }: Pick<PaymentSnapshot, 'payment' | 'operation'>,
    { type }: PaymentEvent,
  ): void {
    const isUnknown = type === 'responded' && operation.state === 'in_progress';
    if (before.operation.state === operation.state && !isUnknown) return;
    const isFirst = operation.id === payment.id;
    const result = isUnknown ? 'unknown' : isFirst || operation.state === 'accepted' ? payment.status : 'failed';
    this.#onOutcome(before.tenant.environment, payment.processor, operation.type, result);
  }
}
