import type { Permission } from '../accounts/permission.ts';
import { type AuditAction, type AuditEvent, SERVICE_ORIGIN } from '../audit/audit.ts';
import type { Transaction, Transactions } from '../idempotency/transaction.ts';
import type { Random } from '../kernel/clock.ts';
import type { Tenant } from '../kernel/environment.ts';
import { Failure } from '../kernel/failure.ts';
import { MonotonicIds } from '../kernel/ids.ts';
import { truncatePan } from '../kernel/pan.ts';
import type { StepObserver } from '../kernel/steps.ts';
import type { TrustedTime } from '../kernel/time-guard.ts';
import type { Placeholders } from '../placeholders/placeholders.ts';
import type { TokenFormat } from '../vault/scheme.ts';
import type { Creator } from '../vault/token.ts';
import type { Vault } from '../vault/vault.ts';
import { type CardSource, type ResolvedCard, resolveCard } from './card-source.ts';
import { type Command, validateCommand } from './commands.ts';
import { toRequester } from './history.ts';
import { buildOperationRef } from './operation-ref.ts';
import { newOperation, type Operation, type PaymentCard, type PaymentSnapshot } from './payment.ts';
import type { ConfiguredProcessor, PaymentActivations } from './payment-activations.ts';
import type { PaymentEvent, RequestedPayment } from './payment-event.ts';
import type { PaymentRepository } from './payment-repository.ts';
import type { LoadedPayment } from './payment-store.ts';
import { type CardData, type InquiryResult, type Order, type Outcome, unknown } from './processor.ts';
import type { ProcessorNotifications } from './processor-notifications.ts';
import { firstRecoveryAt, recoveryTimes } from './reconciliation.ts';
import { buildHistory, TimedProcessor, toOperationRef } from './timed-processor.ts';

/** An API key that requests a payment; an operation on a payment may also be requested by a user. */
export interface ApiCaller {
  readonly tenant: Tenant;
  readonly permissions: readonly Permission[];
  readonly key: Creator;
}

export interface NewPayment {
  readonly card: CardSource;
  readonly order: Omit<Order, 'notificationUrl'>;
}

/** An operation whose intent is stored: only such an operation may be sent. */
export interface Intent {
  readonly loaded: LoadedPayment;
  readonly configured: ConfiguredProcessor;
  /** The content of a first operation's request; in memory only. */
  readonly authorization?: { readonly order: Order; readonly card: CardData };
}

/** The processor's response to an intent. */
export interface Sent {
  readonly outcome: Outcome;
  /** The state of the payment at the processor, inquired after a refusal. */
  readonly state?: InquiryResult | undefined;
}

/**
 * Authorizes, captures, refunds, voids and looks up payments. Each operation has three stages: `intend` stores it, `send`
 * sends it once, after the intent was committed, and `conclude` stores its result.
 */
export class Payments {
  readonly #transactions: Transactions;
  readonly #vault: Vault;
  readonly #placeholders: Placeholders;
  readonly #activations: PaymentActivations;
  readonly #repository: PaymentRepository;
  readonly #notifications: ProcessorNotifications;
  readonly #time: TrustedTime;
  readonly #ids: MonotonicIds;
  readonly #steps: StepObserver | undefined;

  constructor(options: {
    transactions: Transactions;
    vault: Vault;
    placeholders: Placeholders;
    activations: PaymentActivations;
    repository: PaymentRepository;
    notifications: ProcessorNotifications;
    time: TrustedTime;
    random: Random;
    steps?: StepObserver | undefined;
  }) {
    this.#transactions = options.transactions;
    this.#vault = options.vault;
    this.#placeholders = options.placeholders;
    this.#activations = options.activations;
    this.#repository = options.repository;
    this.#notifications = options.notifications;
    this.#time = options.time;
    this.#steps = options.steps;
    this.#ids = new MonotonicIds(() => options.time.steadyNow(), options.random);
  }

  /**
   * Stores the intent of an authorization, or of a payment with `order.capture`, and the token of a card that the
   * request contains in clear. Throws `access_denied`, and what resolving the card and the check of the processor
   * throw.
   */
  async intend(transaction: Transaction, caller: ApiCaller, { card, order: ordered }: NewPayment): Promise<Intent> {
    const { tenant, permissions } = caller;
    const configured = await this.#enabledProcessor(transaction, tenant);
    const usage = ordered.capture ? 'payment' : 'authorization';
    const resolved = await resolveCard(transaction, this.#placeholders, { tenant, permissions, usage }, card);
    const callback = await this.#notifications.createCallbackUrl(tenant.environment, configured);
    const order: Order = { ...ordered, notificationUrl: callback?.url };
    configured.processor.check(order, resolved.card, configured.settings);
    const isTokenized = order.capture && resolved.isInClear;
    const token = isTokenized ? await this.#tokenize(transaction, caller, configured, resolved.card) : undefined;
    const requested = toRequestedPayment(this.#ids.next(), configured.name, order, resolved, token);
    const loaded = await this.#repository.insert(transaction, tenant, requested, configured, callback?.digest);
    this.#recordIntent(transaction, loaded, 'payment.requested');
    return { loaded, configured, authorization: { order, card: resolved.card } };
  }

  /**
   * Stores the intent to capture, refund or void the payment of this id; a refund may name its capture. Throws
   * `access_denied`, `unknown_payment` and what `validateCommand` throws.
   */
  async intendOperation(
    transaction: Transaction,
    tenant: Tenant,
    id: string,
    command: Command,
    referenceCode: string | undefined,
  ): Promise<Intent> {
    await this.#enabledProcessor(transaction, tenant);
    const found = await this.#repository.load(tenant, id);
    if (found === undefined || !isNamedBy(found, id, command)) throw new Failure('unknown_payment', { field: 'id' });
    const configured = await this.#activations.configuredProcessor(tenant, found.payment.processor);
    const loaded = await this.#start(transaction, found, configured, command, referenceCode);
    this.#recordIntent(transaction, loaded, 'payment.requested');
    return { loaded, configured };
  }

  /** Sends an operation whose intent is committed. It is never sent again: an unknown outcome is left to recovery. */
  async send(intent: Intent): Promise<Sent> {
    const { loaded, configured, authorization } = intent;
    const { tenant, payment, operation } = loaded;
    const processor = new TimedProcessor({
      tenant,
      configured,
      clock: () => this.#time.steadyNow(),
      steps: this.#steps,
    });
    if (authorization !== undefined)
      return { outcome: await processor.authorize(operation, authorization.order, authorization.card) };
    // While it is in progress no other operation starts, so there is nothing to read when only the first one precedes it.
    const isSecond = payment.operationCount === 2;
    const operations = isSecond ? [loaded.initial, operation] : await this.#repository.listOperations(loaded);
    const history = buildHistory(payment, operations, operation);
    const outcome = await processor.operate(payment, operation, history);
    // A refusal may mean that the processor's record of the payment differs from ours.
    const [first] = operations;
    const isRefused = outcome.kind === 'refused' && operation.type !== 'payment_refund' && first !== undefined;
    return { outcome, state: isRefused ? await processor.inquire(history, toOperationRef(payment, first)) : undefined };
  }

  /**
   * Stores the result of an operation and returns it. An operation without a result is left to recovery, and its response is
   * not stored. When another process has completed the operation, its result is the response.
   */
  async conclude(transaction: Transaction, intent: Intent, { outcome, state }: Sent): Promise<PaymentSnapshot> {
    const { configured } = intent;
    const loaded = await this.#repository.reload(transaction, intent.loaded);
    // A process that was delayed leaves the result to recovery, which may have started to act already.
    const isLate = this.#time.steadyNow() >= firstRecoveryAt(loaded.operation, recoveryTimes(configured.settings));
    const isLeft = isLate && !isCompleted(loaded);
    const event: PaymentEvent = { type: 'responded', outcome: isLeft ? unknown('timeout') : outcome, state };
    const after = (await this.#repository.apply(transaction, loaded, event, configured)) ?? loaded;
    if (!isCompleted(after)) transaction.deferResponse();
    return asCompleted(after);
  }

  /** Returns the result of the operation that an Idempotency-Key is bound to; undefined until it has completed. */
  async replay(tenant: Tenant, operationId: string): Promise<PaymentSnapshot | undefined> {
    const snapshot = await this.lookup(tenant, operationId);
    return isCompleted(snapshot) ? asCompleted(snapshot) : undefined;
  }

  /** Finds an operation by its id, ours or the processor's, with its payment. Throws `unknown_payment`. */
  async lookup(tenant: Tenant, id: string): Promise<PaymentSnapshot> {
    const loaded = await this.#repository.load(tenant, id);
    if (loaded === undefined) throw new Failure('unknown_payment', { field: 'id' });
    return loaded;
  }

  /** Runs the stages of an operation of the service itself; nothing when the payment has changed since it was loaded. */
  async runInternal(loaded: LoadedPayment, configured: ConfiguredProcessor, command: Command): Promise<void> {
    const context = { origin: SERVICE_ORIGIN, account: loaded.tenant.account };
    const intent = await this.#transactions.run(context, async (transaction): Promise<Intent | undefined> => {
      if (transaction.attempt > 0) return undefined;
      const started = await this.#start(transaction, loaded, configured, command, loaded.payment.referenceCode);
      this.#recordIntent(transaction, started, command.type === 'expiry' ? 'payment.expired' : 'payment.requested');
      return { loaded: started, configured };
    });
    if (intent === undefined) return;
    const sent = await this.send(intent);
    await this.#transactions.run(context, (transaction) => this.conclude(transaction, intent, sent));
  }

  /**
   * Starts an operation on a payment that was just loaded: only then does `expectedOperations` prevent concurrent
   * operations.
   */
  async #start(
    transaction: Transaction,
    found: LoadedPayment,
    configured: ConfiguredProcessor,
    command: Command,
    referenceCode: string | undefined,
  ): Promise<LoadedPayment> {
    const { payment } = found;
    const amount = validateCommand(payment, command, configured.processor.capabilities);
    const id = this.#ids.next();
    const reference = referenceCode ?? payment.referenceCode;
    const operationRef = buildOperationRef(id, reference, configured.processor.operationRefFormat);
    const requestedBy = toRequester(transaction.origin.actor);
    const requested = { type: command.type, amount, referenceCode, operationRef, requestedBy };
    const operation = newOperation(id, this.#time.steadyNow(), payment, requested);
    const started = await this.#repository.apply(transaction, found, { type: 'started', operation }, configured);
    if (started === undefined) throw new Failure('internal');
    return started;
  }

  /** From the commit on, a repeat with the same Idempotency-Key gets the result of this operation. */
  #recordIntent(
    transaction: Transaction,
    loaded: LoadedPayment,
    action: Extract<AuditAction, 'payment.requested' | 'payment.expired'>,
  ): void {
    transaction.record(paymentAuditEvent(action, loaded));
    transaction.bind(loaded.operation.id);
  }

  /** The response is the same for every cause; the audit log has the cause. */
  async #enabledProcessor(transaction: Transaction, tenant: Tenant): Promise<ConfiguredProcessor> {
    const configured = await this.#activations.enabledProcessor(tenant);
    if (configured !== undefined) return configured;
    transaction.recordAlways({ action: 'access.denied', outcome: 'payments_not_enabled', ...tenant });
    throw new Failure('access_denied');
  }

  /** Stores the token of a card that the request contains in clear. */
  async #tokenize(
    transaction: Transaction,
    { tenant, key: creator }: ApiCaller,
    { settings }: ConfiguredProcessor,
    { pan, expiry, holder: name }: CardData,
  ): Promise<PaymentCard['token']> {
    const scheme = Number(settings['payment-scheme']) as TokenFormat['scheme'];
    const format: TokenFormat = { scheme, bin: 6 };
    const tokenization = { cards: [{ pan, expiry, name }], tags: [], format, persistent: true, creator };
    const [result] = await this.#vault.tokenize(transaction, tenant, tokenization);
    return { token: result?.token?.token ?? '', scheme };
  }
}

/** The audit record of an operation contains ids and codes, no amounts. */
export function paymentAuditEvent(
  action: Extract<AuditAction, `payment.${string}`>,
  { tenant, operation }: { readonly tenant: Tenant; readonly operation: Operation },
  outcome = 'success',
): AuditEvent {
  const targets = [`payment:${operation.paymentId}`];
  const detail = { operation: operation.type, transaction: operation.id };
  return { action, outcome, ...tenant, targets, detail };
}

/** Contains nothing of the card but its first six and last four digits. */
export const toRequestedPayment = (
  id: string,
  processor: string,
  { capture, amount, referenceCode }: Order,
  { card, captureIds }: ResolvedCard,
  token?: PaymentCard['token'],
): RequestedPayment => ({
  id,
  type: capture ? 'payment' : 'authorization',
  processor,
  currency: amount.currency,
  amount: amount.minor,
  referenceCode,
  card: { truncated: truncatePan(card.pan), ...(token !== undefined && { token }) },
  captureIds,
});

const isCompleted = ({ operation }: PaymentSnapshot): boolean => operation.state !== 'in_progress';

/** Returns the payment as it was when the operation completed, whatever has happened since. */
const asCompleted = (snapshot: PaymentSnapshot): PaymentSnapshot => ({
  ...snapshot,
  payment: { ...snapshot.payment, ...snapshot.operation.stateAfter },
});

/** The id of a payment is that of its first operation; a refund may also name the capture. */
const isNamedBy = ({ operation, payment }: LoadedPayment, id: string, { type }: Command): boolean =>
  operation.id === id && (operation.id === payment.id || (type === 'payment_refund' && operation.type === 'capture'));
