import { setTimeout as wait } from 'node:timers/promises';
import { type ChangeControl, type ChangeRight, toSummaryLines } from '../accounts/change-control.ts';
import type { IdempotencyKeys } from '../idempotency/idempotency-keys.ts';
import type { Transaction } from '../idempotency/transaction.ts';
import { SECOND } from '../kernel/clock.ts';
import { assertDisplayable } from '../kernel/displayable.ts';
import type { Tenant } from '../kernel/environment.ts';
import { Failure, notPossible } from '../kernel/failure.ts';
import { LIMITS } from '../kernel/limits.ts';
import { formatDecimal } from '../kernel/money.ts';
import type { TrustedTime } from '../kernel/time-guard.ts';
import { toRequester } from './history.ts';
import { operationInDoubt, type PaymentSnapshot } from './payment.ts';
import type { PaymentActivations } from './payment-activations.ts';
import type { PaymentRepository } from './payment-repository.ts';
import type { LoadedPayment } from './payment-store.ts';
import { paymentAuditEvent } from './payments.ts';
import { firstRecoveryAt, recoveryTimes } from './reconciliation.ts';
import type { Recovery } from './recovery.ts';

/** The outcome that a user saw in the processor's own console. */
export type ManualOutcome = 'accepted' | 'refused';

export interface ManualResolution {
  /** The payment that the user looks at, whose operation it must be; absent where a command names the operation alone. */
  readonly paymentId?: string;
  readonly transactionId: string;
  readonly outcome: ManualOutcome;
  /** The user's observation at the processor; empty when a command gives none. */
  readonly reason: string;
}

/** A check of a user waits this long for its result; the check continues. */
const CHECK_WAIT_MS = 20 * SECOND;

interface Services {
  readonly activations: PaymentActivations;
  readonly repository: PaymentRepository;
  readonly idempotency: IdempotencyKeys;
  readonly changeControl: Pick<ChangeControl, 'permit'>;
  readonly time: TrustedTime;
  /** Absent in a command, which resolves manually only. */
  readonly recovery?: Recovery;
}

/** Actions of users on operations whose outcome is unknown, beside recovery. */
export class UnknownOutcomes {
  readonly #services: Services;

  constructor(services: Services) {
    this.#services = services;
  }

  /**
   * Records that a user has the processor inquired about a payment, found by the id of any of its operations, and returns its
   * id. Throws `not_possible` when its outcome is known, and before the time of the next check.
   */
  async requestCheck(transaction: Transaction, tenant: Tenant, id: string): Promise<string> {
    const named = await this.#loadInDoubt(tenant, id);
    const { operationInProgress } = named.payment;
    const loaded = operationInProgress === undefined ? named : await this.#loadInDoubt(tenant, operationInProgress);
    const seconds = Math.ceil((this.nextCheckAt(loaded, await this.#settingsOf(loaded)) - this.#now()) / SECOND);
    if (seconds > 0) throw notPossible('checkTooEarly', { seconds });
    transaction.record(paymentAuditEvent('payment.checked', loaded));
    return loaded.payment.id;
  }

  /** Runs recovery's job for the payment, and waits some seconds for its end. */
  async check(tenant: Tenant, paymentId: string): Promise<void> {
    const controller = new AbortController();
    const late = wait(CHECK_WAIT_MS, undefined, { signal: controller.signal, ref: false }).catch(() => undefined);
    await Promise.race([this.#services.recovery?.runNow(tenant, paymentId), late]);
    controller.abort();
  }

  /**
   * Returns the first time at which a user may check: the processor must have had the time to respond and to record what
   * it did, and checks of users have an interval.
   */
  nextCheckAt(
    { operation, reconciliation }: Pick<PaymentSnapshot, 'operation' | 'reconciliation'>,
    settings: Parameters<typeof recoveryTimes>[0],
  ): number {
    const { lastInquiredAt = 0 } = reconciliation;
    const first = operation.state === 'in_progress' ? firstRecoveryAt(operation, recoveryTimes(settings)) : 0;
    return Math.max(first, lastInquiredAt + LIMITS.checkIntervalSeconds * SECOND);
  }

  /**
   * Completes an operation that stays in doubt, or closes the doubt about a completed one, on the responsibility of a user. The
   * other operations of the payment are still rechecked.
   * Throws `invalid_field`, `not_possible`, `changed_meanwhile`, and what `ChangeControl.permit` throws.
   */
  async resolve(
    transaction: Transaction,
    tenant: Tenant,
    resolution: ManualResolution,
    right: ChangeRight = {},
  ): Promise<PaymentSnapshot> {
    const { outcome, reason } = resolution;
    const { changeControl, activations, repository, idempotency } = this.#services;
    assertDisplayable(reason, 'reason');
    // Recovery has changed the payment since the user decided.
    if (transaction.attempt > 0) throw new Failure('changed_meanwhile');
    const loaded = await this.#loadNamed(tenant, resolution);
    assertResolvable(loaded, outcome);
    const summary = summarizeResolution(loaded, resolution);
    const change = { action: 'payment.resolve', summary, body: JSON.stringify(resolution) } as const;
    await changeControl.permit(transaction, tenant, change, right);
    const origin = right.consent?.requester ?? transaction.origin;
    const configured = await activations.configuredProcessor(tenant, loaded.payment.processor);
    const event = { type: 'resolved-manually', outcome, by: toRequester(origin.actor), reason } as const;
    const after = await repository.apply(transaction, loaded, event, configured);
    if (after === undefined) throw notPossible('statusDisallowsOutcome', { status: loaded.payment.status });
    transaction.write(idempotency.releaseBinding(tenant, loaded.operation.id));
    const { detail, ...audited } = paymentAuditEvent('payment.resolved-manually', loaded, outcome);
    transaction.record({ ...audited, detail: { ...detail, ...(reason !== '' && { reason }) } }, origin);
    return after;
  }

  /** Describes the resolution for an approver. Throws what its execution would throw now. */
  async summarize(tenant: Tenant, resolution: ManualResolution) {
    assertDisplayable(resolution.reason, 'reason');
    const loaded = await this.#loadNamed(tenant, resolution);
    assertResolvable(loaded, resolution.outcome);
    return summarizeResolution(loaded, resolution);
  }

  /** Throws `not_possible` as for an unknown operation when it is one of another payment. */
  async #loadNamed(tenant: Tenant, { paymentId, transactionId }: ManualResolution): Promise<LoadedPayment> {
    const loaded = await this.#loadInDoubt(tenant, transactionId);
    if (paymentId !== undefined && loaded.payment.id !== paymentId) throw notPossible('noUnknownOutcome');
    return loaded;
  }

  async #loadInDoubt(tenant: Tenant, id: string): Promise<LoadedPayment> {
    const loaded = await this.#services.repository.load(tenant, id);
    if (loaded?.reconciliation.inDoubtSince === undefined) throw notPossible('noUnknownOutcome');
    return loaded;
  }

  async #settingsOf({ tenant, payment }: LoadedPayment) {
    return (await this.#services.activations.configuredProcessor(tenant, payment.processor)).settings;
  }

  #now(): number {
    return this.#services.time.steadyNow();
  }
}

const summarizeResolution = ({ payment, operation }: LoadedPayment, { outcome, reason }: ManualResolution) =>
  toSummaryLines([
    ['payment', payment.id],
    ['card', payment.card.truncated],
    ['operation', operation.type],
    ['amount', `${formatDecimal({ minor: operation.amount, currency: payment.currency })} ${payment.currency}`],
    ['outcome', outcome],
    ['reason', reason === '' ? undefined : reason],
  ]);

function assertResolvable({ payment, operation, reconciliation }: LoadedPayment, outcome: ManualOutcome): void {
  const { operationInProgress } = payment;
  const isInDoubt =
    operationInProgress === undefined
      ? reconciliation.contradictoryIds.includes(operation.id)
      : operationInProgress === operation.id;
  if (!isInDoubt) throw notPossible('otherUnknownOutcome', { transaction: operationInDoubt(payment, reconciliation) });
  if (operation.state === 'in_progress' && outcome === 'refused' && operation.type === 'expiry')
    throw notPossible('expiryNotRefusable');
}
