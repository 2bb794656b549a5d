import { SERVICE_ORIGIN } from '../audit/audit.ts';
import type { IdempotencyKeys } from '../idempotency/idempotency-keys.ts';
import type { Fill, Transactions } from '../idempotency/transaction.ts';
import { MINUTE, SECOND } from '../kernel/clock.ts';
import type { Tenant } from '../kernel/environment.ts';
import { LIMITS } from '../kernel/limits.ts';
import { aheadOfSteady, type TrustedTime } from '../kernel/time-guard.ts';
import { SETTINGS_TTL_MS } from '../storage/cache.ts';
import type { Database } from '../storage/database.ts';
import type { Operation, PaymentSnapshot } from './payment.ts';
import type { ConfiguredProcessor, PaymentActivations } from './payment-activations.ts';
import type { PaymentEvent } from './payment-event.ts';
import { type PaymentRepository, rulesOf } from './payment-repository.ts';
import {
  claimUntil,
  type DuePayment,
  deferUntil,
  findUnclaimed,
  type LoadedPayment,
  listDuePayments,
} from './payment-store.ts';
import { type Payments, paymentAuditEvent } from './payments.ts';
import { type InquiryResult, isVoidOrExpiry } from './processor.ts';
import { lacksCapture, recoveryTimes } from './reconciliation.ts';
import { recheckOutcome, resolveOutcome } from './resolve-outcome.ts';
import { TimedProcessor } from './timed-processor.ts';

/** How often to read what is due: an expiry may be as short as a second. */
export const POLL_INTERVAL_MS = SECOND;

/** Concurrent jobs of one processor, so that a slow one does not delay the others. */
const MAX_CONCURRENT_PER_PROCESSOR = 64;

/** Concurrent jobs of one account: a processor that does not respond must not delay other accounts. */
const MAX_CONCURRENT_PER_ACCOUNT = 16;

/** A claim lasts longer than all calls of a job, so that no other node claims the payment during it. */
const MAX_CALLS_PER_JOB = 5;
const MARGIN_MS = 5 * SECOND;

/**
 * For so long after a change of the settings an operation may have been sent with the former ones: from the cache of a node, or because
 * its clock is ahead.
 */
const FORMER_SETTINGS_MS = SETTINGS_TTL_MS + LIMITS.clockToleranceMs;

/** Delay of a payment whose job failed. */
const DEFER_MS = MINUTE;

/** A job that has started. */
interface RunningJob {
  readonly processor: string;
  readonly tenant: Tenant;
  readonly done: Promise<void>;
}

/** A due payment, with the data that its recovery needs. */
interface RecoveryJob {
  readonly loaded: LoadedPayment;
  readonly configured: ConfiguredProcessor;
  readonly processor: TimedProcessor;
  readonly now: number;
  readonly isTimeTrusted: boolean;
  /** When the payment is due, for a job that a user started before that. */
  readonly resumeAt: number | undefined;
}

type Unanswered = Extract<PaymentEvent, { type: 'unanswered' }>;

interface Services {
  readonly database: Database;
  readonly transactions: Transactions;
  readonly activations: PaymentActivations;
  readonly repository: PaymentRepository;
  readonly payments: Payments;
  readonly idempotency: IdempotencyKeys;
  readonly time: TrustedTime;
  readonly failed: (error: unknown, due: DuePayment) => void;
}

/**
 * Reconciles payments with the processor: resolves unknown outcomes by inquiry, then by reversal, rechecks pending payments
 * and reverses expired authorizations. Any node may run it: moving `due_at` is the lease, and every result is a
 * compare-and-set.
 */
export class Recovery {
  readonly #services: Services;
  /** Running jobs, by payment. */
  readonly #jobs = new Map<string, RunningJob>();
  #stopped = false;

  constructor(services: Services) {
    this.#services = services;
  }

  /** Starts jobs for what is due, and does not wait for slow processors; see `idle`. */
  async runOnce(): Promise<void> {
    await Promise.all(this.#services.activations.processors.map((processor) => this.#fill(processor)));
  }

  /** Starts no further job, and waits for the running ones. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.idle();
  }

  /** Resolves when no job is running. */
  async idle(): Promise<void> {
    while (this.#jobs.size > 0) await Promise.all([...this.#jobs.values()].map(({ done }) => done));
  }

  /** Starts as many jobs of one processor as the limit allows; each one that ends makes way for the next. */
  async #fill(processor: string): Promise<void> {
    const busy = (): RunningJob[] => [...this.#jobs.values()].filter((job) => job.processor === processor);
    const isFull = (tenant: Tenant): boolean =>
      busy().filter((job) => isSame(job.tenant, tenant)).length >= MAX_CONCURRENT_PER_ACCOUNT;
    const full = busy().flatMap(({ tenant }, index, all) =>
      isFull(tenant) && all.findIndex((job) => isSame(job.tenant, tenant)) === index ? [tenant] : [],
    );
    const due = await listDuePayments(
      this.#services.database,
      processor,
      this.#services.time.steadyNow(),
      2 * MAX_CONCURRENT_PER_PROCESSOR,
      full,
    );
    for (const each of due) {
      const name = nameOf(each);
      if (this.#stopped) return;
      if (this.#jobs.has(name) || busy().length >= MAX_CONCURRENT_PER_PROCESSOR || isFull(each.tenant)) continue;
      const done = this.#runJob(each).then(() => {
        this.#jobs.delete(name);
        return due.length > MAX_CONCURRENT_PER_ACCOUNT
          ? this.#fill(processor).catch((error) => this.#services.failed(error, each))
          : undefined;
      });
      this.#jobs.set(name, { processor, tenant: each.tenant, done });
    }
  }

  /**
   * Runs the job of a payment now, on behalf of a user, also before the payment is due; joins the job that runs in this
   * process. Returns false when another process has claimed the payment: its job has the result.
   */
  async runNow(tenant: Tenant, id: string): Promise<boolean> {
    const name = nameOf({ tenant, id });
    const running = this.#jobs.get(name);
    if (running !== undefined) return running.done.then(() => true);
    const now = this.#services.time.steadyNow();
    const due = this.#stopped ? undefined : await findUnclaimed(this.#services.database, tenant, id, now);
    if (due === undefined || this.#jobs.has(name)) return false;
    let hasClaim = false;
    const done = this.#recover(due, due.dueAt > now ? due.dueAt : undefined)
      .then((isClaimed) => {
        hasClaim = isClaimed;
      })
      .finally(() => this.#jobs.delete(name));
    this.#jobs.set(name, { processor: '', tenant, done: done.catch(() => undefined) });
    await done;
    return hasClaim;
  }

  #runJob(due: DuePayment): Promise<unknown> {
    return this.#recover(due)
      .catch((error: unknown) => this.#defer(due, error))
      .catch((error: unknown) => this.#services.failed(error, due));
  }

  /** A payment that cannot be read must not delay the others each time. */
  async #defer(due: DuePayment, error: unknown): Promise<void> {
    this.#services.failed(error, due);
    // When it conflicts, the job had claimed the payment.
    await this.#services.database.commit({
      account: due.tenant.account,
      writes: [deferUntil(due, this.#services.time.steadyNow() + DEFER_MS)],
    });
  }

  /** Returns false when another process was faster. */
  async #recover(due: DuePayment, resumeAt?: number): Promise<boolean> {
    const { tenant } = due;
    const known = await this.#services.repository.load(tenant, due.id);
    if (known === undefined) return false;
    const configured = await this.#services.activations.configuredProcessor(tenant, known.payment.processor);
    const { timeout } = recoveryTimes(configured.settings);
    const until = this.#services.time.steadyNow() + MAX_CALLS_PER_JOB * timeout + MARGIN_MS;
    const claim = await this.#services.database.commit({ account: tenant.account, writes: [claimUntil(due, until)] });
    if (!claim.committed) return false;
    // Loaded after the claim: earlier changes are seen, later ones conflict.
    const loaded = await this.#services.repository.load(tenant, due.id);
    if (loaded === undefined) return false;
    const processor = new TimedProcessor({ tenant, configured, clock: () => this.#services.time.steadyNow() });
    const trusted = this.#services.time.trustedNow();
    const now = trusted ?? this.#services.time.steadyNow();
    const job = { loaded, configured, processor, now, isTimeTrusted: trusted !== undefined, resumeAt };
    const { operationInProgress, expiresAt } = loaded.payment;
    if (operationInProgress !== undefined) await this.#resolve(job, operationInProgress);
    else if (expiresAt === undefined || expiresAt > now) await this.#recheck(job);
    // Without a trusted time the expiry waits for the next job, which is due at `until`.
    else if (trusted !== undefined) await this.#services.payments.runInternal(loaded, configured, { type: 'expiry' });
    return true;
  }

  /** Resolves an operation that has been in progress for too long. */
  async #resolve(job: RecoveryJob, id: string): Promise<void> {
    let loaded = await this.#services.repository.load(job.loaded.tenant, id);
    if (loaded === undefined || !isInProgress(loaded)) return;
    const operations = await this.#services.repository.listOperations(loaded);
    // A void may be repeated now: the process that started it must no longer find that nothing was sent.
    if (isVoidOrExpiry(loaded.operation)) loaded = await this.#apply(job, loaded, { type: 'taken-over' });
    if (!isInProgress(loaded)) return;
    let event = await this.#inquire(job, loaded, operations);
    if (event.type === 'taken-over') {
      loaded = await this.#apply(job, loaded, event);
      if (!isInProgress(loaded)) return;
      event = await this.#inquire(job, loaded, operations);
    }
    if (event.type === 'unanswered') return this.#countAttempt(job, loaded, event);
    const after = await this.#conclude(job, loaded, event);
    const problem = job.processor.lastProblem;
    if (isInProgress(after)) await this.#countAttempt(job, after, { type: 'unanswered', problem, notFound: false });
  }

  #inquire(job: RecoveryJob, snapshot: LoadedPayment, operations: readonly Operation[]): Promise<PaymentEvent> {
    const { configured, processor, now, isTimeTrusted, resumeAt } = job;
    const isEarly = resumeAt !== undefined;
    const { capabilities } = configured.processor;
    const rules = rulesOf(configured, aheadOfSteady(this.#services.time));
    const isOtherAccount = mayBeOfOtherAccount(configured, snapshot);
    const times = { now, isEarly, isTimeTrusted };
    return resolveOutcome({ snapshot, operations, processor, capabilities, rules, ...times, isOtherAccount });
  }

  /** Completes the operation, unless another process has, or has taken it over, since it was loaded. */
  #conclude(job: RecoveryJob, loaded: LoadedPayment, event: PaymentEvent): Promise<LoadedPayment> {
    const { tenant, operation, reconciliation } = loaded;
    return this.#run(tenant, async (transaction) => {
      const current = await this.#services.repository.reload(transaction, loaded);
      if (!isInProgress(current) || current.reconciliation.isTakenOver !== reconciliation.isTakenOver) return current;
      const after = await this.#services.repository.apply(transaction, current, event, job.configured, job.now);
      if (after === undefined) return current;
      transaction.write(this.#services.idempotency.releaseBinding(tenant, operation.id));
      transaction.record(paymentAuditEvent('payment.resolved', loaded, resolutionOf(event)));
      return after;
    });
  }

  /** Rechecks completed operations about which the processor may report more. */
  async #recheck(job: RecoveryJob): Promise<void> {
    const { loaded, configured, processor } = job;
    const { tenant, payment, reconciliation } = loaded;
    let problem: string | undefined;
    // The others are first in the next job, because each one that is still open becomes the last.
    for (const id of reconciliation.recheckIds.slice(0, MAX_CALLS_PER_JOB)) {
      const checked = await this.#services.repository.load(tenant, id);
      // The result may include the effect of an operation in progress, so the inquiry waits for its end.
      if (checked === undefined || checked.payment.operationInProgress !== undefined) continue;
      // Read again for each operation: the processor may have reported the effect of the previous one.
      const operations = await this.#services.repository.listOperations(checked);
      const isOtherAccount = mayBeOfOtherAccount(configured, checked);
      const result = await recheckOutcome({ processor, snapshot: checked, operations, isOtherAccount });
      problem = result.kind === 'unknown' ? result.problem : processor.lastProblem;
      // After any other change of the payment, the result may be about another operation, and the inquiry is repeated.
      const hasOtherCapture = operations.some(({ type, state }) => type === 'capture' && state === 'accepted');
      const latestAt = Math.max(...operations.map(({ createdAt }) => createdAt));
      const event: PaymentEvent = { type: 'inquired', result, hasOtherCapture, latestAt };
      const isCurrent = ({ revisions }: LoadedPayment) => revisions.payment === checked.revisions.payment;
      const after = await this.#apply(job, checked, event, isCurrent);
      await this.#captureLate(after, configured, result);
    }
    const left = await this.#services.repository.load(tenant, payment.id);
    if (left === undefined || left.payment.operationInProgress !== undefined) return;
    if (left.reconciliation.recheckIds.length === 0) return;
    // A contradiction remains the question, whatever kept the last inquiry from its answer.
    if (left.reconciliation.contradictoryIds.length > 0) problem = 'contradiction';
    await this.#countAttempt(job, left, { type: 'unanswered', problem, notFound: false });
  }

  /** A payment that was pending, and is authorized now, still lacks its capture where that is a call of its own. */
  async #captureLate(loaded: LoadedPayment, configured: ConfiguredProcessor, result: InquiryResult): Promise<void> {
    const { payment } = loaded;
    if (result.kind !== 'approved' || payment.operationInProgress !== undefined) return;
    if (!lacksCapture(loaded, configured.processor.capabilities)) return;
    await this.#services.payments.runInternal(loaded, configured, { type: 'capture', amount: undefined });
  }

  /** Counts an attempt, unless the payment was changed, and scheduled, since it was loaded. */
  async #countAttempt(job: RecoveryJob, loaded: LoadedPayment, event: Unanswered): Promise<void> {
    const attempt = job.resumeAt === undefined ? event : { ...event, resumeAt: job.resumeAt };
    await this.#apply(job, loaded, attempt, ({ revisions }) => revisions.payment === loaded.revisions.payment);
  }

  /** Applies the event to the payment as it is now, where the table allows it, and returns the payment. */
  #apply(
    { configured, now }: RecoveryJob,
    loaded: LoadedPayment,
    event: PaymentEvent,
    isAllowed: (current: LoadedPayment) => boolean = () => true,
  ): Promise<LoadedPayment> {
    return this.#run(loaded.tenant, async (transaction) => {
      const current = await this.#services.repository.reload(transaction, loaded);
      if (!isAllowed(current)) return current;
      return (await this.#services.repository.apply(transaction, current, event, configured, now)) ?? current;
    });
  }

  #run<Result>({ account }: Tenant, fill: Fill<Result>): Promise<Result> {
    return this.#services.transactions.run({ origin: SERVICE_ORIGIN, account }, fill);
  }
}

const nameOf = ({ tenant, id }: Pick<DuePayment, 'tenant' | 'id'>): string =>
  `${tenant.environment}/${tenant.account}/${id}`;

const isSame = (one: Tenant, other: Tenant): boolean =>
  one.account === other.account && one.environment === other.environment;

/** True when the operation may have been sent to another account than that of the settings; that of a void is where the payment is. */
const mayBeOfOtherAccount = ({ accountSince }: ConfiguredProcessor, { payment, operation }: PaymentSnapshot): boolean =>
  accountSince > 0 && (isVoidOrExpiry(operation) ? payment : operation).createdAt < accountSince + FORMER_SETTINGS_MS;

const isInProgress = ({ operation }: PaymentSnapshot): boolean => operation.state === 'in_progress';

/** The outcome of a resolution in the audit log. */
const resolutionOf = ({ type }: PaymentEvent): string => (type === 'inquired' ? 'confirmed' : type);
