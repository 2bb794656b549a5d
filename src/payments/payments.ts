import type { Permission } from '../accounts/permission.ts';
import { buildAuditEntry } from '../audit/audit.ts';
import { type Claimed, refuseIfTakenOver } from '../idempotency/effect.ts';
import type { Transaction, Transactions } from '../idempotency/transaction.ts';
import type { Clock, Random } from '../kernel/clock.ts';
import type { Tenant } from '../kernel/environment.ts';
import { Failure } from '../kernel/failure.ts';
import { MonotonicIds } from '../kernel/ids.ts';
import { LIMITS } from '../kernel/limits.ts';
import { truncatePan } from '../kernel/pan.ts';
import type { TrustedTime } from '../kernel/time-guard.ts';
import type { Placeholders } from '../placeholders/placeholders.ts';
import { commitOrThrow, type Database, type Write } from '../storage/database.ts';
import type { TokenFormat } from '../vault/scheme.ts';
import type { Creator } from '../vault/token.ts';
import type { Vault } from '../vault/vault.ts';
import { applyEvent, type PaymentEvent, type RequestedPayment } from './apply-event.ts';
import { type CardSource, type ResolvedCard, resolveCard } from './card-source.ts';
import { type Command, validateCommand } from './commands.ts';
import { newOperation, type PaymentSnapshot } from './payment.ts';
import type { ConfiguredProcessor, PaymentActivations } from './payment-activations.ts';
import { paymentAuditEvent, paymentEvent, type Requester, SERVICE_ORIGIN } from './payment-events.ts';
import { type LoadedPayment, type PaymentRepository, rulesOf } from './payment-repository.ts';
import { type InquiryResult, type Order, type Outcome, unknown } from './processor.ts';
import type { ProcessorNotifications } from './processor-notifications.ts';
import { firstRecoveryAt, recoveryTimes } from './reconciliation.ts';
import { buildHistory, TimedProcessor, toOperationRef } from './timed-processor.ts';

/** An API key that requests a payment; an operation on a payment may also be requested by a user. */
export interface ApiCaller extends Requester {
  readonly permissions: readonly Permission[];
  readonly key: Creator;
}

export interface NewPayment {
  readonly card: CardSource;
  readonly order: Omit<Order, 'notificationUrl'>;
}

type Claim = Claimed<PaymentSnapshot> | undefined;

/** An operation whose intent is stored: the only thing that may be sent. */
interface Intent {
  readonly loaded: LoadedPayment;
  readonly configured: ConfiguredProcessor;
}

/** What the processor responded to an intent. */
interface Sent {
  readonly outcome: Outcome;
  /** How the payment stands at the processor, asked after a refusal. */
  readonly state?: InquiryResult | undefined;
}

/** Authorizes, captures, refunds, voids and looks up payments. Nothing is sent before its intent is stored. */
export class Payments {
  readonly #database: Database;
  readonly #transactions: Transactions;
  readonly #vault: Vault;
  readonly #placeholders: Placeholders;
  readonly #activations: PaymentActivations;
  readonly #repository: PaymentRepository;
  readonly #notifications: ProcessorNotifications;
  readonly #clock: Clock;
  readonly #time: TrustedTime;
  readonly #ids: MonotonicIds;

  constructor(options: {
    database: Database;
    transactions: Transactions;
    vault: Vault;
    placeholders: Placeholders;
    activations: PaymentActivations;
    repository: PaymentRepository;
    notifications: ProcessorNotifications;
    clock: Clock;
    time: TrustedTime;
    random: Random;
  }) {
    this.#database = options.database;
    this.#transactions = options.transactions;
    this.#vault = options.vault;
    this.#placeholders = options.placeholders;
    this.#activations = options.activations;
    this.#repository = options.repository;
    this.#notifications = options.notifications;
    this.#clock = options.clock;
    this.#time = options.time;
    this.#ids = new MonotonicIds(() => options.time.steadyNow(), options.random);
  }

  /** Authorizes, and captures with `order.capture`. Throws `access_denied` and what resolving the card throws. */
  async authorize(caller: ApiCaller, request: NewPayment, claim: Claim): Promise<PaymentSnapshot> {
    const { tenant, permissions, origin } = caller;
    const configured = await this.#enabledProcessor(caller);
    const usage = request.order.capture ? 'payment' : 'authorization';
    const resolved = await this.#transactions.run({ origin, account: tenant.account }, (transaction) =>
      resolveCard(transaction, this.#placeholders, { tenant, permissions, usage }, request.card),
    );
    const callback = await this.#notifications.createCallbackUrl(tenant.environment, configured);
    const order: Order = { ...request.order, notificationUrl: callback?.url };
    configured.processor.check(order, resolved.card, configured.settings);
    const intent = await this.#intendPayment(caller, configured, order, resolved, callback?.digest, claim);
    const processor = this.#timedProcessor(intent);
    return this.#conclude(
      intent,
      { outcome: await processor.authorize(intent.loaded.operation, order, resolved.card) },
      claim,
    );
  }

  /**
   * Captures, refunds or voids the payment of this id; a refund may name its capture. Throws `access_denied`,
   * `unknown_payment` and what `validateCommand` throws.
   */
  async operate(
    caller: Requester,
    id: string,
    command: Command,
    referenceCode: string | undefined,
    claim: Claim,
  ): Promise<PaymentSnapshot> {
    await this.#enabledProcessor(caller);
    const intent = await this.#intendOperation(caller, id, command, referenceCode, claim);
    return this.#conclude(intent, await this.#send(intent), claim);
  }

  /** Finds an operation by its id, ours or the processor's, with its payment. Throws `unknown_payment`. */
  async lookup(tenant: Tenant, id: string): Promise<PaymentSnapshot> {
    const loaded = await this.#repository.load(tenant, id);
    if (loaded === undefined) throw new Failure('unknown_payment', { field: 'id' });
    return loaded;
  }

  /** Returns the result of an operation; undefined until it has completed. */
  async result(tenant: Tenant, operation: string): Promise<PaymentSnapshot | undefined> {
    const snapshot = await this.lookup(tenant, operation);
    return snapshot.operation.stateAfter === undefined ? undefined : asCompleted(snapshot);
  }

  /** Starts and sends an operation of the service itself: an expiry, or a capture that a payment lacks. */
  async runInternal(loaded: LoadedPayment, configured: ConfiguredProcessor, command: Command): Promise<void> {
    const { tenant, payment } = loaded;
    const amount = validateCommand(payment, command, configured.processor.capabilities);
    const operation = newOperation(this.#ids.next(), this.#time.steadyNow(), payment, {
      type: command.type,
      amount,
      referenceCode: payment.referenceCode,
    });
    const action = command.type === 'expiry' ? 'payment.expired' : 'payment.requested';
    const journal = [paymentEvent(this.#clock, action, { tenant, operation }, SERVICE_ORIGIN)];
    const started = await this.#repository.start(loaded, operation, configured, { writes: [], journal });
    if (started === undefined) return;
    const intent = { loaded: started, configured };
    await this.#conclude(intent, await this.#send(intent), undefined);
  }

  #timedProcessor({ loaded: { tenant }, configured }: Intent): TimedProcessor {
    return new TimedProcessor({ tenant, configured, clock: () => this.#time.steadyNow() });
  }

  /** The response is the same for every cause; the audit log has the cause. */
  async #enabledProcessor({ tenant, origin }: Requester): Promise<ConfiguredProcessor> {
    const configured = await this.#activations.enabledProcessor(tenant);
    if (configured !== undefined) return configured;
    const event = { action: 'access.denied', outcome: 'payments_not_enabled', ...tenant } as const;
    await commitOrThrow(this.#database, {
      account: tenant.account,
      writes: [],
      journal: [buildAuditEntry(this.#clock, origin, event)],
    });
    throw new Failure('access_denied');
  }

  /** Stores the intent of a payment, and in the same unit the token of a card that the payment brings in clear. */
  async #intendPayment(
    caller: ApiCaller,
    configured: ConfiguredProcessor,
    order: Order,
    resolved: ResolvedCard,
    notificationDigest: Uint8Array | undefined,
    claim: Claim,
  ): Promise<Intent> {
    const { tenant, origin } = caller;
    const opened = this.#open(configured, order, resolved);
    const { operation } = opened;
    const loaded = await this.#transactions.run({ origin, account: tenant.account }, async (transaction) => {
      const isTokenized = order.capture && resolved.isInClear;
      const token = isTokenized ? await this.#tokenize(transaction, caller, configured, resolved) : undefined;
      const card = token === undefined ? opened.payment.card : { ...opened.payment.card, token };
      const snapshot = { ...opened, payment: { ...opened.payment, card } };
      const { after, writes } = await this.#repository.insert(tenant, snapshot, configured, notificationDigest);
      const bound = claim === undefined ? [] : [claim.bind(operation.id)];
      for (const each of [...writes, ...bound]) transaction.write(each, new Failure('operation_in_progress'));
      transaction.record(paymentAuditEvent('payment.requested', { tenant, operation }));
      return after;
    });
    return { loaded, configured };
  }

  /** Stores the token of a card that a payment brings in clear. */
  async #tokenize(
    transaction: Transaction,
    { tenant, key: creator }: ApiCaller,
    { settings }: ConfiguredProcessor,
    { card: { pan, expiry, holder: name } }: ResolvedCard,
  ): Promise<{ token: string; scheme: TokenFormat['scheme'] }> {
    const scheme = Number(settings['payment-scheme']) as TokenFormat['scheme'];
    const format: TokenFormat = { scheme, bin: 6 };
    const tokenization = { cards: [{ pan, expiry, name }], tags: [], format, persistent: true, creator };
    const [result] = await this.#vault.tokenize(transaction, tenant, tokenization);
    return { token: result?.token?.token ?? '', scheme };
  }

  #open(configured: ConfiguredProcessor, order: Order, resolved: ResolvedCard): PaymentSnapshot {
    const event: PaymentEvent = {
      type: 'requested',
      order: toRequestedPayment(this.#ids.next(), configured.name, order, resolved),
    };
    const opened = applyEvent(undefined, event, this.#time.steadyNow(), rulesOf(configured, this.#time));
    if (opened === undefined) throw new Failure('internal');
    return opened;
  }

  /** Stores the intent of a further operation. */
  async #intendOperation(
    caller: Requester,
    id: string,
    command: Command,
    referenceCode: string | undefined,
    claim: Claim,
  ): Promise<Intent> {
    const { tenant, origin } = caller;
    for (let attempt = 0; attempt < LIMITS.commitAttempts; attempt++) {
      const found = await this.#repository.load(tenant, id);
      if (found === undefined || !isNamedBy(found, id, command)) throw new Failure('unknown_payment', { field: 'id' });
      const configured = await this.#activations.configuredProcessor(tenant, found.payment.processor);
      // Each time of the payment as it was just loaded: only so does `expectedOperations` hold against others.
      const amount = validateCommand(found.payment, command, configured.processor.capabilities);
      const operation = newOperation(this.#ids.next(), this.#time.steadyNow(), found.payment, {
        type: command.type,
        amount,
        referenceCode,
      });
      const journal = [paymentEvent(this.#clock, 'payment.requested', { tenant, operation }, origin)];
      const writes = claim === undefined ? [] : [claim.bind(operation.id)];
      const loaded = await this.#repository.start(found, operation, configured, { writes, journal });
      if (loaded !== undefined) return { loaded, configured };
    }
    throw new Failure('unavailable');
  }

  /** Sends a capture, refund, void or expiry. */
  async #send(intent: Intent): Promise<Sent> {
    const { payment, operation } = intent.loaded;
    const processor = this.#timedProcessor(intent);
    const operations = await this.#repository.listOperations(intent.loaded);
    const history = buildHistory(payment, operations, operation);
    const outcome = await processor.operate(payment, operation, history);
    // A refusal may mean that the processor's record of the payment differs from ours.
    const [first] = operations;
    const isRefused = outcome.kind === 'refused' && operation.type !== 'payment_refund' && first !== undefined;
    return { outcome, state: isRefused ? await processor.inquire(history, toOperationRef(payment, first)) : undefined };
  }

  /** Stores the result, or leaves the operation to recovery. */
  async #conclude({ loaded, configured }: Intent, { outcome, state }: Sent, claim: Claim): Promise<PaymentSnapshot> {
    // A process that was delayed leaves the result to recovery, which may have started to act already.
    const isLate = this.#time.steadyNow() >= firstRecoveryAt(loaded.operation, recoveryTimes(configured.settings));
    const event: PaymentEvent = { type: 'responded', outcome: isLate ? unknown('timeout') : outcome, state };
    const contradicted: PaymentEvent = { type: 'responded', outcome };
    const decide = (current: LoadedPayment): PaymentEvent => (isCompleted(current) ? contradicted : event);
    let isStored = false;
    const writes = async (after: PaymentSnapshot): Promise<readonly Write[]> => {
      isStored = claim !== undefined && isCompleted(after);
      return isStored ? ((await claim?.keep(asCompleted(after))) ?? []) : [];
    };
    const concluded = asCompleted(await this.#repository.change(loaded, configured, decide, { writes }));
    // Another process completed the operation: its result is the response, and stays so.
    if (claim !== undefined && !isStored && isCompleted(concluded)) await this.#keep(loaded.tenant, claim, concluded);
    return concluded;
  }

  async #keep({ account }: Tenant, claim: Claimed<PaymentSnapshot>, concluded: PaymentSnapshot): Promise<void> {
    refuseIfTakenOver(await this.#database.commit({ account, writes: await claim.keep(concluded) }), 0);
  }
}

/** Holds nothing of the card but its first six and last four digits. */
export const toRequestedPayment = (
  id: string,
  processor: string,
  { capture, amount, referenceCode }: Order,
  { card, captureIds }: ResolvedCard,
): RequestedPayment => ({
  id,
  type: capture ? 'payment' : 'authorization',
  processor,
  currency: amount.currency,
  amount: amount.minor,
  referenceCode,
  card: { truncated: truncatePan(card.pan) },
  captureIds,
});

const isCompleted = ({ operation }: PaymentSnapshot): boolean => operation.state !== 'in_progress';

/** The payment as it was when the operation completed, whatever has happened since. */
const asCompleted = (snapshot: PaymentSnapshot): PaymentSnapshot => ({
  ...snapshot,
  payment: { ...snapshot.payment, ...snapshot.operation.stateAfter },
});

/** The id of a payment is that of its first operation; a refund may also name the capture. */
const isNamedBy = ({ operation, payment }: LoadedPayment, id: string, { type }: Command): boolean =>
  operation.id === id && (operation.id === payment.id || (type === 'payment_refund' && operation.type === 'capture'));
