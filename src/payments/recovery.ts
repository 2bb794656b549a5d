import type { IdempotencyKeys } from '../idempotency/idempotency-keys.ts';
import { type Clock, MINUTE, SECOND } from '../kernel/clock.ts';
import type { Tenant } from '../kernel/environment.ts';
import { aheadOfSteady, type TrustedTime } from '../kernel/time-guard.ts';
import type { Database } from '../storage/database.ts';
import type { Books } from './books.ts';
import { givenUp, inquest, passed } from './inquest.ts';
import type { Lane } from './lane.ts';
import type { Operation } from './payment.ts';
import type { ConfiguredProcessor, PaymentActivations } from './payment-activations.ts';
import { paymentEvent, SERVICE_ORIGIN } from './payment-events.ts';
import { claimUntil, type DuePayment, listDuePayments } from './payment-store.ts';
import type { Payments } from './payments.ts';
import type { InquiryResult } from './processor.ts';
import { type RecoveryTimes, recheckUntil, recoveryTimes } from './schedule.ts';
import { expectsMore, isBeyondUs, type PaymentSnapshot, resettle, unwatched } from './settle.ts';
import { buildHistory, TimedProcessor, toOperationRef } from './timed-processor.ts';

/** How often to see what is due: an expiry may be as short as a second. */
export const POLL_INTERVAL_MS = SECOND;

/** How many payments of one processor are looked at at once, so that a slow one does not keep the others waiting. */
const MAX_CONCURRENT_PER_PROCESSOR = 64;

/** Of them, how many of one account: one whose gateway does not answer must not keep the others waiting either. */
const MAX_CONCURRENT_PER_ACCOUNT = 16;

/** Beyond all calls of one look, so that nobody else takes the payment meanwhile. */
const MAX_CALLS_PER_JOB = 5;
const MARGIN_MS = 5 * SECOND;

/** How long a payment that could not be looked into waits. */
const DEFER_MS = MINUTE;

interface UnderWay {
  readonly processor: string;
  readonly tenant: Tenant;
  readonly done: Promise<void>;
}

/** One payment that is due, with all that is needed to look into it. */
interface RecoveryJob {
  readonly lane: Lane;
  readonly configured: ConfiguredProcessor;
  readonly asking: TimedProcessor;
  readonly times: RecoveryTimes;
  readonly now: number;
  readonly isTimeTrusted: boolean;
}

/**
 * Brings every payment to an end that agrees with the processor's books: unknown outcomes by inquiry, then by reversal;
 * pending ones by asking again; expired ones by giving them back. Any number of nodes may run it: whoever moves a
 * payment's time has it alone for a while, and every result is a compare-and-set.
 */
export class Recovery {
  readonly #database: Database;
  readonly #activations: PaymentActivations;
  readonly #books: Books;
  readonly #payments: Payments;
  readonly #idempotency: IdempotencyKeys;
  readonly #clock: Clock;
  readonly #time: TrustedTime;
  readonly #failed: (error: unknown, due: DuePayment) => void;
  /** Under way, by payment. */
  readonly #jobs = new Map<string, UnderWay>();
  #stopped = false;

  constructor(options: {
    database: Database;
    activations: PaymentActivations;
    books: Books;
    payments: Payments;
    idempotency: IdempotencyKeys;
    clock: Clock;
    time: TrustedTime;
    failed: (error: unknown, due: DuePayment) => void;
  }) {
    this.#database = options.database;
    this.#activations = options.activations;
    this.#books = options.books;
    this.#payments = options.payments;
    this.#idempotency = options.idempotency;
    this.#clock = options.clock;
    this.#time = options.time;
    this.#failed = options.failed;
  }

  /** Begins to look at what is due, and does not wait for slow processors; see `idle`. */
  async runOnce(): Promise<void> {
    await Promise.all(this.#activations.processors.map((processor) => this.#fill(processor)));
  }

  /** Begins no further look, and waits for those under way. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.idle();
  }

  /** Resolves when nothing is looked at any more. */
  async idle(): Promise<void> {
    while (this.#jobs.size > 0) await Promise.all([...this.#jobs.values()].map(({ done }) => done));
  }

  /** Looks at what is due with one processor, as many as there is room for; each look that ends makes room for the next. */
  async #fill(processor: string): Promise<void> {
    const busy = (): UnderWay[] => [...this.#jobs.values()].filter((look) => look.processor === processor);
    const isFull = (tenant: Tenant): boolean =>
      busy().filter((look) => isSame(look.tenant, tenant)).length >= MAX_CONCURRENT_PER_ACCOUNT;
    const full = busy().flatMap(({ tenant }, index, all) =>
      isFull(tenant) && all.findIndex((look) => isSame(look.tenant, tenant)) === index ? [tenant] : [],
    );
    const due = await listDuePayments(
      this.#database,
      processor,
      this.#time.steadyNow(),
      2 * MAX_CONCURRENT_PER_PROCESSOR,
      full,
    );
    for (const each of due) {
      const name = `${each.tenant.environment}/${each.tenant.account}/${each.id}`;
      if (this.#stopped) return;
      if (this.#jobs.has(name) || busy().length >= MAX_CONCURRENT_PER_PROCESSOR || isFull(each.tenant)) continue;
      const done = this.#run(each)
        .catch((error: unknown) => this.#defer(each, error))
        .catch((error: unknown) => this.#failed(error, each))
        .then(() => {
          this.#jobs.delete(name);
          return due.length > MAX_CONCURRENT_PER_ACCOUNT
            ? this.#fill(processor).catch((error) => this.#failed(error, each))
            : undefined;
        });
      this.#jobs.set(name, { processor, tenant: each.tenant, done });
    }
  }

  /** What cannot be read must not stand in the way of the others, round after round. */
  async #defer(due: DuePayment, error: unknown): Promise<void> {
    this.#failed(error, due);
    // When it conflicts, the look had begun and has its time.
    await this.#database.commit({
      account: due.tenant.account,
      writes: [claimUntil(due, this.#time.steadyNow() + DEFER_MS)],
    });
  }

  async #run(due: DuePayment): Promise<void> {
    const { tenant } = due;
    const known = await this.#books.find(tenant, due.id);
    if (known === undefined) return;
    const configured = await this.#activations.configuredProcessor(tenant, known.payment.processor);
    const times = recoveryTimes(configured.settings, aheadOfSteady(this.#time));
    const until = this.#time.steadyNow() + MAX_CALLS_PER_JOB * times.timeout + MARGIN_MS;
    if (!(await this.#database.commit({ account: due.tenant.account, writes: [claimUntil(due, until)] })).committed)
      return;
    // Read behind the move: what happened before is seen, what happens later conflicts.
    const lane = await this.#books.find(tenant, due.id);
    if (lane === undefined) return;
    const asking = new TimedProcessor({ tenant, configured, clock: () => this.#time.steadyNow() });
    const trusted = this.#time.trustedNow();
    const now = trusted ?? this.#time.steadyNow();
    const look: RecoveryJob = { lane, configured, asking, times, now, isTimeTrusted: trusted !== undefined };
    const { operationInProgress: operation, expiresAt } = lane.payment;
    if (operation !== undefined) return this.#recover(look, operation);
    if (expiresAt === undefined || expiresAt > now) return this.#watch(look);
    // Without a trusted time the expiry waits for the next look, which is due at `until`.
    if (trusted !== undefined) await this.#payments.runInternal(lane, configured, { type: 'expiry' });
  }

  /** An operation under way whose time is over. */
  async #recover({ configured, asking, times, now, isTimeTrusted, ...look }: RecoveryJob, id: string): Promise<void> {
    const { tenant } = look.lane;
    let lane = await this.#books.find(tenant, id);
    if (lane === undefined || !isUnderWay(lane)) return;
    const { capabilities } = configured.processor;
    const operations = await this.#books.operations(lane);
    const evidence = { operations, asking, capabilities, times, now, isTimeTrusted };
    // A void may be repeated now: the process that began it must no longer find that nothing was sent.
    if (isEnding(lane)) lane = await this.#noteGivenUp(lane, configured, lane.payment.consecutiveNotFound);
    if (!isUnderWay(lane)) return;
    let verdict = await inquest({ ...evidence, pair: lane });
    if (verdict.kind === 'hopeless') {
      lane = await this.#noteGivenUp(lane, configured, verdict.absences);
      if (!isUnderWay(lane)) return;
      verdict = await inquest({ ...evidence, pair: lane });
    }
    if (verdict.kind === 'open')
      return this.#books.postpone(lane, configured, now, { absences: verdict.absences, problem: asking.lastProblem });
    const { reversalStarted: isGivenUp } = lane.payment;
    const change = (current: Lane): PaymentSnapshot | undefined =>
      isUnderWay(current) && current.payment.reversalStarted === isGivenUp
        ? passed(current, verdict, times, now)
        : undefined;
    const along = async () => [this.#idempotency.releaseBinding(tenant, id)];
    const after = await this.#books.change(lane, configured, change, along, [
      paymentEvent(this.#clock, 'payment.resolved', lane, SERVICE_ORIGIN, verdict.kind),
    ]);
    if (after.operation.state === 'in_progress')
      await this.#books.postpone(after, configured, now, { problem: asking.lastProblem });
  }

  /** On disk before anything is undone, or repeated. */
  async #noteGivenUp(lane: Lane, configured: ConfiguredProcessor, absences: number): Promise<Lane> {
    if (lane.payment.reversalStarted === true) return lane;
    return this.#books.change(lane, configured, (current) => givenUp(current, absences));
  }

  /** Operations that have ended here, and about which the processor may have more to say. */
  async #watch({ lane, configured, asking, times, now }: RecoveryJob): Promise<void> {
    const operations = await this.#books.operations(lane);
    let isInDoubt = false;
    for (const id of lane.payment.recheckIds) {
      const watched = await this.#books.find(lane.tenant, id);
      if (watched === undefined) continue;
      const word = await wordAbout(asking, watched, operations);
      const change = (current: Lane): PaymentSnapshot | undefined => {
        // Another operation has begun since: the word may speak of what that one did, and is asked for again after it.
        if (current.payment.operationCount !== lane.payment.operationCount) return undefined;
        const pair = resettle(current, word, now, times.lifetimes);
        const isBeyond = isBeyondUs(current, pair, word);
        isInDoubt ||= isBeyond;
        const isOver =
          !isBeyond &&
          !lacksCapture(pair, configured) &&
          !expectsMore(pair, word, now, recheckUntil(pair.operation, times));
        return isOver ? { ...pair, payment: unwatched(pair.payment, id) } : pair;
      };
      const after = await this.#books.change(watched, configured, change);
      await this.#captureLate(after, configured, word);
    }
    const left = await this.#books.find(lane.tenant, lane.payment.id);
    if (left !== undefined && left.payment.operationInProgress === undefined && left.payment.recheckIds.length > 0)
      await this.#books.postpone({ ...left, schedule: lane.schedule }, configured, now, {
        isInDoubt,
        problem: isInDoubt ? 'contradiction' : asking.lastProblem,
      });
  }

  /** A payment that was pending, and is authorized now, still lacks its capture where that is a call of its own. */
  async #captureLate(lane: Lane, configured: ConfiguredProcessor, word: InquiryResult): Promise<void> {
    const { payment } = lane;
    if (word.kind !== 'approved' || payment.operationInProgress !== undefined || !lacksCapture(lane, configured))
      return;
    await this.#payments.runInternal(lane, configured, { type: 'capture', amount: undefined });
  }
}

/** It is watched until the capture has begun, so that a crash in between does not forget it. */
const lacksCapture = ({ payment }: PaymentSnapshot, { processor }: ConfiguredProcessor): boolean =>
  payment.type === 'payment' &&
  payment.status === 'Authorized' &&
  payment.operationCount === 1 &&
  !processor.capabilities.sale;

const isSame = (one: Tenant, other: Tenant): boolean =>
  one.account === other.account && one.environment === other.environment;

const isUnderWay = ({ operation }: PaymentSnapshot): boolean => operation.state === 'in_progress';

const isEnding = ({ operation: { type } }: PaymentSnapshot): boolean =>
  type === 'authorization_void' || type === 'expiry';

/**
 * A first operation that was given up must not live on at the processor: it is given up again. Whether a void arrived late
 * shows in how the payment stands.
 */
function wordAbout(
  asking: TimedProcessor,
  { payment, operation }: PaymentSnapshot,
  operations: readonly Operation[],
): Promise<InquiryResult> {
  const history = buildHistory(payment, operations, operation);
  const [first = operation] = operations;
  const subject = toOperationRef(payment, operation.type === 'authorization_void' ? first : operation);
  const wasGivenUp = operation.id === payment.id && operation.state === 'refused';
  return wasGivenUp ? asking.reverse(history, subject) : asking.inquire(history, subject);
}
