import type { Tenant } from '../../src/kernel/environment.ts';
import { Failure } from '../../src/kernel/failure.ts';
import type { Operation, Payment } from '../../src/payments/payment.ts';
import type { LoadedPayment } from '../../src/payments/payment-store.ts';
import type { ManualOutcome } from '../../src/payments/unknown-outcomes.ts';
import { type Database, text } from '../../src/storage/database.ts';
import { type Backend, type BackendState, LATE_MOST } from './backend.ts';
import type { Machine } from './machine.ts';
import { SeededRandom } from './seeded-random.ts';

/** Per thousand steps. */
const CHECKS = 40;
const RESOLUTIONS = 15;

const ORIGIN = { actor: { type: 'person' as const, id: 'person_1', name: 'Ana' } };

interface Scene {
  readonly seed: number;
  readonly tenant: Tenant;
  readonly database: Database;
  readonly backend: Backend;
  readonly now: () => number;
  readonly log: (line: string) => void;
}

/**
 * Users of the console, beside recovery: they have processors inquired about unknown outcomes at any moment, and resolve some
 * by what they see in the records of the processor. They have a random number generator of their own, so that a seed does
 * the same without them.
 */
export class Users {
  readonly #scene: Scene;
  readonly #seeded: SeededRandom;
  checks = 0;
  resolutions = 0;

  constructor(scene: Scene) {
    this.#scene = scene;
    this.#seeded = new SeededRandom(scene.seed + 1_000_003);
  }

  /** Starts what users do now on one of these machines, and does not wait for it. */
  async act(machines: readonly Machine[]): Promise<void> {
    const dice = this.#seeded.below(1000);
    if (machines.length === 0 || dice >= CHECKS + RESOLUTIONS) return;
    const rows = await this.#scene.database.read(
      'select id from payments where in_doubt_since is not null order by id',
    );
    if (rows.length === 0) return;
    const id = text(this.#seeded.pick(rows), 'id');
    const machine = this.#seeded.pick(machines);
    if (dice < CHECKS) this.#check(machine, id);
    else await this.#resolve(machine, id);
  }

  #check({ transactions, unknownOutcomes }: Machine, id: string): void {
    const { tenant, log } = this.#scene;
    const check = async (): Promise<void> => {
      const payment = await transactions.run({ origin: ORIGIN, account: tenant.account }, (transaction) =>
        unknownOutcomes.requestCheck(transaction, tenant, id),
      );
      this.checks++;
      log(`user: checks ${id}`);
      await unknownOutcomes.check(tenant, payment);
    };
    check().catch((error: unknown) => this.#onError(error, id));
  }

  /** Only while nothing is on its way, and no reversal was sent: otherwise what the processor shows may change. */
  async #resolve({ transactions, repository, unknownOutcomes }: Machine, id: string): Promise<void> {
    const { tenant, database, backend, now, log } = this.#scene;
    const loaded = await repository.load(tenant, id).catch(() => undefined);
    const operationId = loaded?.payment.operationInProgress;
    if (loaded === undefined || operationId === undefined || backend.isBusy()) return;
    const focused = (await repository.load(tenant, operationId).catch(() => undefined)) ?? loaded;
    const outcome = outcomeThere(focused, (await backend.states(database)).get(id));
    if (outcome === undefined || focused.reconciliation.isTakenOver) return;
    // A request may arrive late: what is not there yet is no refusal.
    const isYoung = now() - focused.operation.createdAt <= 2 * LATE_MOST;
    if (outcome === 'refused' && isYoung) return;
    log(`user: resolves ${operationId} as ${outcome}`);
    const resolution = { transactionId: operationId, outcome, reason: 'seen in the records of the processor' };
    transactions
      .run({ origin: ORIGIN, account: tenant.account }, (transaction) =>
        unknownOutcomes.resolve(transaction, tenant, resolution),
      )
      .then(
        () => this.resolutions++,
        (error: unknown) => this.#onError(error, id),
      );
  }

  /** A refusal is normal: recovery was faster, or it is too early. Processes that have crashed fail anyhow. */
  #onError(error: unknown, id: string): void {
    if (error instanceof Failure) this.#scene.log(`user: ${id}: ${error.code}`);
  }
}

/** The statement of an operator who has seen the records of the processor; undefined where they say nothing certain. */
function outcomeThere(
  { payment, operation }: LoadedPayment,
  there: BackendState | undefined,
): ManualOutcome | undefined {
  if (there?.isSecret === true || there?.state === 'pending') return undefined;
  switch (operation.type) {
    case 'authorization':
    case 'payment':
      return firstOutcome(operation, there);
    case 'capture':
      if (there?.state !== 'approved') return undefined;
      return there.captured === 0n ? 'refused' : there.captured === operation.amount ? 'accepted' : undefined;
    case 'payment_refund':
      return refundOutcome(payment, operation, there);
    default:
      return there?.state === 'reversed' ? 'accepted' : undefined;
  }
}

function firstOutcome({ type }: Operation, there: BackendState | undefined): ManualOutcome | undefined {
  if (there === undefined) return undefined;
  if (there.state !== 'approved') return 'refused';
  return (type === 'payment') === (there.captured === there.amount) ? 'accepted' : undefined;
}

function refundOutcome(
  { refunded }: Payment,
  { amount }: Operation,
  there: BackendState | undefined,
): ManualOutcome | undefined {
  if (there?.state !== 'approved') return undefined;
  if (there.refunded === refunded + amount) return 'accepted';
  return there.refunded === refunded ? 'refused' : undefined;
}
