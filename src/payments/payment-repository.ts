import { eraseSad } from '../captures/capture-store.ts';
import type { Keyring } from '../crypto/keyring.ts';
import { refuseIfTakenOver } from '../idempotency/effect.ts';
import type { Random } from '../kernel/clock.ts';
import type { Tenant } from '../kernel/environment.ts';
import { Failure } from '../kernel/failure.ts';
import { LIMITS } from '../kernel/limits.ts';
import { aheadOfSteady, type TrustedTime } from '../kernel/time-guard.ts';
import type { Database, JournalEntry, Write } from '../storage/database.ts';
import { applyEvent, type PaymentEvent, type PaymentRules } from './apply-event.ts';
import { findOperation, insertOperation, listOperations, updateOperation } from './operation-store.ts';
import type { Operation, PaymentSnapshot } from './payment.ts';
import type { ConfiguredProcessor } from './payment-activations.ts';
import { findPayment, insertPayment, updatePayment } from './payment-store.ts';
import { nextDueAt, recoveryTimes } from './reconciliation.ts';

/** A payment and one of its operations as they were read. */
export interface LoadedPayment extends PaymentSnapshot {
  readonly tenant: Tenant;
  /** The first operation of the payment, with which it shares a row. */
  readonly initial: Operation;
  readonly revisions: { readonly payment: number; readonly operation: number };
}

/** What is committed with an event. */
interface ExtraWrites {
  /** Called with the payment as it will be. */
  writes?(after: PaymentSnapshot, before: PaymentSnapshot): Promise<readonly Write[]>;
  readonly journal?: readonly JournalEntry[];
}

/** The writes of an event, and the payment once they are committed. */
interface AppliedEvent {
  readonly after: LoadedPayment;
  readonly writes: readonly Write[];
  readonly scrubAfterCommit: boolean;
}

/** Called with the outcome of each operation: the status of the payment, `failed` or `unknown`. */
export type OutcomeObserver = (environment: string, processor: string, operation: string, result: string) => void;

/** Statuses in which nothing needs the sensitive authentication data any more. */
const ANSWERED = ['Authorized', 'Collected', 'Declined', 'Voided', 'Cancelled'];

export const rulesOf = ({ settings, processor }: ConfiguredProcessor, time: TrustedTime): PaymentRules => {
  const { lifetimes, recoveryMax } = recoveryTimes(settings, aheadOfSteady(time));
  return { lifetimes, recoveryMax, capabilities: processor.capabilities };
};

/** Payments in the database: each change is a compare-and-set of what `applyEvent` makes of the payment. */
export class PaymentRepository {
  readonly #database: Database;
  readonly #keyring: Keyring;
  readonly #time: TrustedTime;
  readonly #random: Random;
  readonly #onOutcome: OutcomeObserver;

  constructor(options: {
    database: Database;
    keyring: Keyring;
    time: TrustedTime;
    random: Random;
    onOutcome: OutcomeObserver;
  }) {
    this.#database = options.database;
    this.#keyring = options.keyring;
    this.#time = options.time;
    this.#random = options.random;
    this.#onOutcome = options.onOutcome;
  }

  /** Finds by the id of an operation, ours or the processor's. */
  async load(tenant: Tenant, id: string): Promise<LoadedPayment | undefined> {
    return loadPayment(this.#database, this.#keyring, tenant, id);
  }

  /** Returns all operations of the payment, in the order of time. */
  async listOperations({ tenant, payment, initial }: LoadedPayment): Promise<Operation[]> {
    return [initial, ...(await listOperations(this.#database, this.#keyring, tenant, payment.id))];
  }

  /** Returns a new payment as it will be stored, and its write. */
  async insert(
    tenant: Tenant,
    snapshot: PaymentSnapshot,
    configured: ConfiguredProcessor,
    notificationDigest: Uint8Array | undefined,
  ): Promise<{ after: LoadedPayment; writes: Write[] }> {
    const dueAt = this.#nextDueAt('requested', undefined, snapshot, configured);
    const { payment, operation: initial } = snapshot;
    const reconciliation = { ...snapshot.reconciliation, dueAt };
    const seal = await this.#keyring.sealer(tenant, 'payments', 1);
    const writes = [insertPayment(seal, tenant, { payment, initial, reconciliation }, notificationDigest)];
    return { after: { ...snapshot, reconciliation, tenant, initial, revisions: { payment: 1, operation: 1 } }, writes };
  }

  /**
   * Commits the event that `decide` returns for the payment as it is now; a conflict loads it again. Returns the payment as
   * it is then. Undefined of `decide`, or an event that changes nothing, writes nothing.
   */
  async change(
    loaded: LoadedPayment,
    configured: ConfiguredProcessor,
    decide: (current: LoadedPayment) => PaymentEvent | undefined,
    extra: ExtraWrites = {},
    now = this.#time.steadyNow(),
  ): Promise<LoadedPayment> {
    let current = loaded;
    for (let attempt = 0; attempt < LIMITS.commitAttempts; attempt++) {
      const event = decide(current);
      const applied = event && (await this.#apply(current, event, configured, now));
      if (event === undefined || applied === undefined) return current;
      const { after, writes: own, scrubAfterCommit } = applied;
      const writes = [...own, ...((await extra.writes?.(after, current)) ?? [])];
      const { account } = current.tenant;
      const outcome = await this.#database.commit({ account, writes, journal: extra.journal ?? [], scrubAfterCommit });
      refuseIfTakenOver(outcome, own.length);
      if (outcome.committed) {
        this.#report(current, after, event);
        return after;
      }
      const again = await this.load(current.tenant, current.operation.id);
      if (again === undefined) throw new Failure('internal');
      current = again;
    }
    throw new Failure('unavailable');
  }

  /** Commits the start of an operation; undefined when the payment was changed since it was loaded. */
  async start(
    loaded: LoadedPayment,
    operation: Operation,
    configured: ConfiguredProcessor,
    extra: { readonly writes: readonly Write[]; readonly journal: readonly JournalEntry[] },
  ): Promise<LoadedPayment | undefined> {
    const applied = await this.#apply(loaded, { type: 'started', operation }, configured, this.#time.steadyNow());
    if (applied === undefined) return undefined;
    const { after, writes: own } = applied;
    const writes = [...own, ...extra.writes];
    const outcome = await this.#database.commit({ account: loaded.tenant.account, writes, journal: extra.journal });
    refuseIfTakenOver(outcome, own.length);
    return outcome.committed ? after : undefined;
  }

  async #apply(
    loaded: LoadedPayment,
    event: PaymentEvent,
    configured: ConfiguredProcessor,
    now: number,
  ): Promise<AppliedEvent | undefined> {
    const changed = applyEvent(loaded, event, now, rulesOf(configured, this.#time));
    if (changed === undefined) return undefined;
    const { tenant, revisions } = loaded;
    const { snapshot, erased } = withoutSad(tenant, changed, configured.settings['erase-sad'] === 'true');
    const { payment, operation } = snapshot;
    const dueAt = this.#nextDueAt(event.type, loaded, snapshot, configured);
    const reconciliation = { ...snapshot.reconciliation, dueAt };
    const initial = operation.id === payment.id ? operation : loaded.initial;
    const seal = await this.#keyring.sealer(tenant, 'payments', 2);
    const writes = [updatePayment(seal, tenant, { payment, initial, reconciliation }, revisions.payment)];
    const isStart = event.type === 'started';
    const isUpdate = !isStart && operation !== initial && operation !== loaded.operation;
    if (isStart) writes.push(insertOperation(seal, tenant, operation));
    if (isUpdate) writes.push(updateOperation(seal, tenant, operation, revisions.operation));
    const revision = isStart ? 1 : revisions.operation + (isUpdate || operation === initial ? 1 : 0);
    return {
      after: {
        payment,
        operation,
        reconciliation,
        tenant,
        initial,
        revisions: { payment: revisions.payment + 1, operation: revision },
      },
      writes: [...writes, ...erased],
      scrubAfterCommit: erased.length > 0,
    };
  }

  #nextDueAt(
    event: PaymentEvent['type'],
    before: PaymentSnapshot | undefined,
    after: PaymentSnapshot,
    { settings }: ConfiguredProcessor,
  ): number | undefined {
    const times = recoveryTimes(settings);
    return nextDueAt({ event, before, after, now: this.#time.steadyNow(), times, random: this.#random });
  }

  #report(before: LoadedPayment, { payment, operation }: LoadedPayment, { type }: PaymentEvent): void {
    const isUnknown = type === 'responded' && operation.state === 'in_progress';
    if (before.operation.state === operation.state && !isUnknown) return;
    const isFirst = operation.id === payment.id;
    const result = isUnknown ? 'unknown' : isFirst || operation.state === 'accepted' ? payment.status : 'failed';
    this.#onOutcome(before.tenant.environment, payment.processor, operation.type, result);
  }
}

/** Finds by the id of an operation, ours or the processor's. */
export async function loadPayment(
  database: Database,
  keyring: Keyring,
  tenant: Tenant,
  id: string,
): Promise<LoadedPayment | undefined> {
  for (const column of ['id', 'processor_id'] as const) {
    const stored = await findPayment(database, keyring, tenant, column, id);
    if (stored !== undefined) {
      const { revision, ...row } = stored;
      return { ...row, tenant, operation: row.initial, revisions: { payment: revision, operation: revision } };
    }
    const found = await findOperation(database, keyring, tenant, column, id);
    if (found === undefined) continue;
    const { operation } = found;
    const owner = await findPayment(database, keyring, tenant, 'id', operation.paymentId);
    if (owner === undefined) continue;
    const { revision, ...row } = owner;
    return { ...row, tenant, operation, revisions: { payment: revision, operation: found.revision } };
  }
  return undefined;
}

/**
 * Erases the sensitive authentication data of the captures that a payment used, in the unit that answers it (PCI DSS
 * 3.3.1). Only the sandbox can be set to leave it there.
 */
function withoutSad(
  tenant: Tenant,
  snapshot: PaymentSnapshot,
  isSetToErase: boolean,
): { snapshot: PaymentSnapshot; erased: Write[] } {
  const { payment } = snapshot;
  if (payment.captureIds.length === 0 || !ANSWERED.includes(payment.status)) return { snapshot, erased: [] };
  return {
    snapshot: { ...snapshot, payment: { ...payment, captureIds: [] } },
    erased: isSetToErase || tenant.environment === 'production' ? [eraseSad(tenant, payment.captureIds)] : [],
  };
}
