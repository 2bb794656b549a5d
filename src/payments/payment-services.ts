import type { ChangeControl } from '../accounts/change-control.ts';
import type { Keyring } from '../crypto/keyring.ts';
import type { IdempotencyKeys } from '../idempotency/idempotency-keys.ts';
import type { Transactions } from '../idempotency/transaction.ts';
import type { Random } from '../kernel/clock.ts';
import type { StepObserver } from '../kernel/steps.ts';
import type { TrustedTime } from '../kernel/time-guard.ts';
import type { Placeholders } from '../placeholders/placeholders.ts';
import type { Database } from '../storage/database.ts';
import { PeriodicTask } from '../storage/periodic-task.ts';
import type { Vault } from '../vault/vault.ts';
import type { PaymentActivations, Processors } from './payment-activations.ts';
import { type OutcomeObserver, type PaymentChangeWriter, PaymentRepository } from './payment-repository.ts';
import type { DuePayment } from './payment-store.ts';
import { Payments } from './payments.ts';
import { ProcessorNotifications } from './processor-notifications.ts';
import { POLL_INTERVAL_MS, Recovery } from './recovery.ts';
import { UnknownOutcomes } from './unknown-outcomes.ts';

interface Parts {
  readonly database: Database;
  readonly keyring: Keyring;
  readonly time: TrustedTime;
  readonly random: Random;
  readonly activations: PaymentActivations;
  readonly processors: Processors;
  readonly vault: Vault;
  readonly placeholders: Placeholders;
  readonly idempotency: IdempotencyKeys;
  readonly transactions: Transactions;
  readonly changeControl: ChangeControl;
  readonly steps?: StepObserver | undefined;
  holdsLease(): Promise<boolean>;
  readonly onOutcome: OutcomeObserver;
  readonly onChange: PaymentChangeWriter;
  failed(chore: string, error: unknown): void;
  onRecoveryError(error: unknown, due: DuePayment): void;
}

/** Wires the payment services, the processor notifications and the recovery scheduler. */
export function createPaymentServices(parts: Parts) {
  const repository = new PaymentRepository(parts);
  const notifications = new ProcessorNotifications({ ...parts, repository });
  const payments = new Payments({ ...parts, repository, notifications });
  const recovery = new Recovery({ ...parts, repository, payments, failed: parts.onRecoveryError });
  const unknownOutcomes = new UnknownOutcomes({ ...parts, repository, recovery });
  const rounds = new PeriodicTask({
    every: POLL_INTERVAL_MS,
    sweeps: [],
    work: [
      { kind: 'notifications', run: () => notifications.collect() },
      { kind: 'payments', run: () => recovery.runOnce() },
    ],
    time: parts.time,
    holdsLease: parts.holdsLease,
    onRemoved: () => undefined,
    onError: parts.failed,
  });
  const stop = async (): Promise<void> => {
    await rounds.stop();
    await recovery.stop();
  };
  return { payments, notifications, unknownOutcomes, scheduler: { start: () => rounds.start(), stop } };
}
