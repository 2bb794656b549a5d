import { eraseSad } from '../captures/capture-store.ts';
import type { Keyring } from '../crypto/keyring.ts';
import { refuseIfTakenOver } from '../idempotency/effect.ts';
import type { Random } from '../kernel/clock.ts';
import type { Tenant } from '../kernel/environment.ts';
import { Failure } from '../kernel/failure.ts';
import { LIMITS } from '../kernel/limits.ts';
import type { TrustedTime } from '../kernel/time-guard.ts';
import type { Database, JournalEntry, Write } from '../storage/database.ts';
import { findLane, isToBeLookedAt, type Lane } from './lane.ts';
import { insertOperation, listOperations, updateOperation } from './operation-store.ts';
import type { Operation, Payment } from './payment.ts';
import type { ConfiguredProcessor } from './payment-activations.ts';
import { insertPayment, type Schedule, updatePayment } from './payment-store.ts';
import { backOff, firstRecoveryAt, nextRecoveryAt, recoveryTimes } from './schedule.ts';
import type { PaymentSnapshot } from './settle.ts';

/** What goes along in the unit that ends an operation. */
export type Along = (pair: PaymentSnapshot) => Promise<readonly Write[]>;

/** Told of each operation how it went: the status of the payment, `failed` or `unknown`. */
export type Observe = (environment: string, processor: string, operation: string, result: string) => void;

/** What an attempt to find something out came to. */
interface Attempt {
  readonly absences?: number;
  readonly problem: string | undefined;
  readonly isInDoubt?: boolean;
}

/** Statuses in which nothing needs the sensitive authentication data any more. */
const ANSWERED = ['Authorized', 'Collected', 'Declined', 'Voided', 'Cancelled'];

/** Payments on disk: intents before anything is sent, results after; every change is a compare-and-set. */
export class Books {
  readonly #database: Database;
  readonly #keyring: Keyring;
  readonly #time: TrustedTime;
  readonly #random: Random;
  readonly #observe: Observe;

  constructor(options: { database: Database; keyring: Keyring; time: TrustedTime; random: Random; observe: Observe }) {
    this.#database = options.database;
    this.#keyring = options.keyring;
    this.#time = options.time;
    this.#random = options.random;
    this.#observe = options.observe;
  }

  /** The writes of a new payment with its first operation. */
  async opening(
    tenant: Tenant,
    pair: PaymentSnapshot,
    { settings }: ConfiguredProcessor,
    notification: Uint8Array | undefined,
  ): Promise<Write[]> {
    const seal = await this.#keyring.sealer(tenant, 'payments', 1);
    const schedule = this.#underWay(pair.operation, settings);
    return [insertPayment(seal, tenant, { payment: pair.payment, first: pair.operation }, schedule, notification)];
  }

  /** A new payment as `opening` wrote it. */
  opened(tenant: Tenant, pair: PaymentSnapshot, { settings }: ConfiguredProcessor): Lane {
    return {
      ...pair,
      tenant,
      first: pair.operation,
      schedule: this.#underWay(pair.operation, settings),
      revisions: { payment: 1, operation: 1 },
    };
  }

  /** By the id of an operation, ours or the processor's. */
  find(tenant: Tenant, id: string): Promise<Lane | undefined> {
    return findLane(this.#database, this.#keyring, tenant, id);
  }

  /** All of the payment, in the order of time. */
  async operations({ tenant, payment, first }: Lane): Promise<Operation[]> {
    return [first, ...(await listOperations(this.#database, this.#keyring, tenant, payment.id))];
  }

  /** The intent of a further operation; undefined when the payment was changed since it was read. */
  async begin(
    lane: Lane,
    operation: Operation,
    { settings }: ConfiguredProcessor,
    along: { readonly writes: readonly Write[]; readonly journal: readonly JournalEntry[] },
  ): Promise<Lane | undefined> {
    const { tenant, revisions } = lane;
    const payment = {
      ...lane.payment,
      operationInProgress: operation.id,
      operationCount: lane.payment.operationCount + 1,
    };
    const schedule = this.#underWay(operation, settings);
    const seal = await this.#keyring.sealer(tenant, 'payments', 2);
    const own = [
      updatePayment(seal, tenant, { payment, first: lane.first }, schedule, revisions.payment),
      insertOperation(seal, tenant, operation),
    ];
    const writes = [...own, ...along.writes];
    const outcome = await this.#database.commit({ account: tenant.account, writes, journal: along.journal });
    refuseIfTakenOver(outcome, own.length);
    if (!outcome.committed) return undefined;
    return { ...lane, payment, operation, schedule, revisions: { payment: revisions.payment + 1, operation: 1 } };
  }

  /**
   * Writes what `change` makes of the lane, as it is now. When `change` finds nothing to do, nothing is written. Returns
   * the lane as it is then, whoever made it so.
   */
  async change(
    lane: Lane,
    { settings }: ConfiguredProcessor,
    change: (lane: Lane) => PaymentSnapshot | undefined,
    along: Along = async () => [],
    journal: readonly JournalEntry[] = [],
  ): Promise<Lane> {
    let current = lane;
    for (let attempt = 0; attempt < LIMITS.commitAttempts; attempt++) {
      const changed = change(current);
      if (changed === undefined) return current;
      const { pair, erased } = withoutSad(current.tenant, changed, settings['erase-sad'] === 'true');
      const schedule = this.#free(pair.payment, current.schedule, settings);
      const { tenant, revisions } = current;
      const seal = await this.#keyring.sealer(tenant, 'payments', 2);
      const isFirst = pair.operation.id === pair.payment.id;
      const first = isFirst ? pair.operation : current.first;
      const own = [
        updatePayment(seal, tenant, { payment: pair.payment, first }, schedule, revisions.payment),
        ...(isFirst ? [] : [updateOperation(seal, tenant, pair.operation, revisions.operation)]),
      ];
      const writes = [...own, ...erased, ...(await along(pair))];
      const unit = { account: tenant.account, writes, journal, erases: erased.length > 0 };
      const outcome = await this.#database.commit(unit);
      refuseIfTakenOver(outcome, own.length);
      if (outcome.committed) {
        this.#tell(current, pair);
        return {
          ...pair,
          tenant,
          first,
          schedule,
          revisions: { payment: revisions.payment + 1, operation: revisions.operation + 1 },
        };
      }
      current = await this.#again(current);
    }
    throw new Failure('unavailable');
  }

  /** Notes another attempt at what is under way, or watched, and when the next one is due. */
  async postpone(
    lane: Lane,
    { settings }: ConfiguredProcessor,
    now: number,
    { absences = 0, problem, isInDoubt = lane.payment.operationInProgress !== undefined }: Attempt,
  ): Promise<void> {
    const { tenant, schedule, revisions } = lane;
    const payment = { ...lane.payment, consecutiveNotFound: absences, lastProblem: problem };
    const attempts = schedule.attempts + 1;
    const again = now + backOff(attempts, recoveryTimes(settings), this.#random);
    const isUnderWay = payment.operationInProgress !== undefined;
    const next: Schedule = {
      attempts,
      dueAt: isUnderWay ? again : nextRecoveryAt(payment, again),
      inDoubtSince: isInDoubt ? (schedule.inDoubtSince ?? now) : undefined,
    };
    const seal = await this.#keyring.sealer(tenant, 'payments', 1);
    // When it conflicts somebody else has dealt with the payment, and scheduled it.
    await this.#database.commit({
      account: tenant.account,
      writes: [updatePayment(seal, tenant, { payment, first: lane.first }, next, revisions.payment)],
    });
  }

  /** Has an operation that has ended looked into at once. */
  async watch(lane: Lane): Promise<void> {
    let current = lane;
    for (let attempt = 0; attempt < LIMITS.commitAttempts; attempt++) {
      const now = this.#time.steadyNow();
      if (isToBeLookedAt(current, now)) return;
      const { tenant, payment, first, schedule, operation, revisions } = current;
      const others = payment.recheckIds.filter((id) => id !== operation.id);
      const watching = { ...payment, recheckIds: [...others, operation.id] };
      const seal = await this.#keyring.sealer(tenant, 'payments', 1);
      const next = { ...schedule, dueAt: payment.operationInProgress === undefined ? now : schedule.dueAt };
      const outcome = await this.#database.commit({
        account: tenant.account,
        writes: [updatePayment(seal, tenant, { payment: watching, first }, next, revisions.payment)],
      });
      if (outcome.committed) return;
      current = await this.#again(current);
    }
  }

  /** Makes an unknown outcome visible; recovery comes by itself. */
  async doubt(lane: Lane, problem: string | undefined): Promise<void> {
    const { tenant, first, operation, schedule, revisions } = lane;
    const payment = { ...lane.payment, lastProblem: problem };
    this.#observe(tenant.environment, payment.processor, operation.type, 'unknown');
    const doubtful = { ...schedule, inDoubtSince: schedule.inDoubtSince ?? this.#time.steadyNow() };
    const seal = await this.#keyring.sealer(tenant, 'payments', 1);
    await this.#database.commit({
      account: tenant.account,
      writes: [updatePayment(seal, tenant, { payment, first }, doubtful, revisions.payment)],
    });
  }

  #tell({ tenant, operation: before }: Lane, { payment, operation }: PaymentSnapshot): void {
    if (before.state === operation.state) return;
    const isFirst = operation.id === payment.id;
    const result = isFirst || operation.state === 'accepted' ? payment.status : 'failed';
    this.#observe(tenant.environment, payment.processor, operation.type, result);
  }

  async #again({ tenant, operation }: Lane): Promise<Lane> {
    const lane = await this.find(tenant, operation.id);
    if (lane === undefined) throw new Failure('internal');
    return lane;
  }

  #underWay(operation: Operation, settings: ConfiguredProcessor['settings']): Schedule {
    return { dueAt: firstRecoveryAt(operation, recoveryTimes(settings)), attempts: 0, inDoubtSince: undefined };
  }

  #free(payment: Payment, schedule: Schedule, settings: ConfiguredProcessor['settings']): Schedule {
    if (payment.operationInProgress !== undefined) return schedule;
    const again = this.#time.steadyNow() + backOff(0, recoveryTimes(settings), this.#random);
    return { dueAt: nextRecoveryAt(payment, again), attempts: 0, inDoubtSince: undefined };
  }
}

/**
 * Erases the sensitive authentication data of the captures that a payment used, in the unit that answers it (PCI DSS
 * 3.3.1). Only the sandbox can be set to leave it there.
 */
function withoutSad(
  tenant: Tenant,
  pair: PaymentSnapshot,
  isSetToErase: boolean,
): { pair: PaymentSnapshot; erased: Write[] } {
  const { payment } = pair;
  if (payment.captureIds.length === 0 || !ANSWERED.includes(payment.status)) return { pair, erased: [] };
  return {
    pair: { ...pair, payment: { ...payment, captureIds: [] } },
    erased: isSetToErase || tenant.environment === 'production' ? [eraseSad(tenant, payment.captureIds)] : [],
  };
}
