import type { Permission } from '../accounts/permission.ts';
import { buildAuditEntry } from '../audit/audit.ts';
import type { Claimed } from '../idempotency/effect.ts';
import type { Transaction, Transactions } from '../idempotency/transaction.ts';
import type { Clock, Random } from '../kernel/clock.ts';
import type { Tenant } from '../kernel/environment.ts';
import { Failure } from '../kernel/failure.ts';
import { MonotonicIds } from '../kernel/ids.ts';
import { LIMITS } from '../kernel/limits.ts';
import { aheadOfSteady, type TrustedTime } from '../kernel/time-guard.ts';
import type { Placeholders } from '../placeholders/placeholders.ts';
import { commitOrThrow, type Database } from '../storage/database.ts';
import type { TokenFormat } from '../vault/scheme.ts';
import type { Creator } from '../vault/token.ts';
import type { Vault } from '../vault/vault.ts';
import type { Books } from './books.ts';
import { type CardSource, type ResolvedCard, resolveCard } from './card-source.ts';
import type { Lane } from './lane.ts';
import { newPayment } from './new-payment.ts';
import { type Command, newOperation, stateOf, validateCommand } from './payment.ts';
import type { ConfiguredProcessor, PaymentActivations } from './payment-activations.ts';
import { paymentAuditEvent, paymentEvent, type Requester, SERVICE_ORIGIN } from './payment-events.ts';
import type { InquiryResult, Order, Outcome } from './processor.ts';
import type { ProcessorNotifications } from './processor-notifications.ts';
import { firstRecoveryAt, recoveryTimes } from './schedule.ts';
import { type PaymentSnapshot, settle, standing } from './settle.ts';
import { buildHistory, TimedProcessor, toOperationRef } from './timed-processor.ts';

/** A key that asks; of what is open already, a person may as well. */
export interface ApiCaller extends Requester {
  readonly permissions: readonly Permission[];
  readonly key: Creator;
}

export interface NewPayment {
  readonly card: CardSource;
  readonly order: Omit<Order, 'notificationUrl'>;
}

/** Payments: authorized, captured, refunded, voided, looked up. Nothing is sent before its intent is on disk. */
export class Payments {
  readonly #database: Database;
  readonly #transactions: Transactions;
  readonly #vault: Vault;
  readonly #placeholders: Placeholders;
  readonly #activations: PaymentActivations;
  readonly #books: Books;
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
    books: Books;
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
    this.#books = options.books;
    this.#notifications = options.notifications;
    this.#clock = options.clock;
    this.#time = options.time;
    this.#ids = new MonotonicIds(() => options.time.steadyNow(), options.random);
  }

  /** Authorizes, with `order.capture` captures as well. Throws `access_denied` and what reading the card throws. */
  async authorize(
    caller: ApiCaller,
    request: NewPayment,
    claimed: Claimed<PaymentSnapshot> | undefined,
  ): Promise<PaymentSnapshot> {
    const { tenant, permissions, origin } = caller;
    const configured = await this.#enabled(caller);
    const use = request.order.capture ? 'payment' : 'authorization';
    const read = await this.#transactions.run({ origin, account: tenant.account }, (transaction) =>
      resolveCard(transaction, this.#placeholders, { tenant, permissions, usage: use }, request.card),
    );
    const news = await this.#notifications.createCallbackUrl(tenant.environment, configured);
    const order: Order = { ...request.order, notificationUrl: news?.url };
    configured.processor.check(order, read.card, configured.settings);
    const lane = await this.#open(caller, configured, order, read, news?.digest, claimed);
    const asking = this.#asking(tenant, configured);
    return this.#end(lane, configured, await asking.authorize(lane.operation, order, read.card), undefined, claimed);
  }

  /**
   * Captures, refunds or voids the payment of this id; a refund may name its capture. Throws `access_denied`,
   * `unknown_payment` and what `admit` throws.
   */
  async operate(
    caller: Requester,
    id: string,
    command: Command,
    referenceCode: string | undefined,
    claimed: Claimed<PaymentSnapshot> | undefined,
  ): Promise<PaymentSnapshot> {
    await this.#enabled(caller);
    const begun = await this.#begin(caller, id, command, referenceCode, claimed);
    return this.#carryOut(begun.lane, begun.configured, claimed);
  }

  /** An operation by its id, ours or the processor's, with its payment. Throws `unknown_payment`. */
  async lookup(tenant: Tenant, id: string): Promise<PaymentSnapshot> {
    const lane = await this.#books.find(tenant, id);
    if (lane === undefined) throw new Failure('unknown_payment', { field: 'id' });
    return lane;
  }

  /** The result of an operation once it has ended; undefined until then. */
  async result(tenant: Tenant, operation: string): Promise<PaymentSnapshot | undefined> {
    const { payment, operation: found } = await this.lookup(tenant, operation);
    const { stateAfter: after } = found;
    return after === undefined ? undefined : { payment: { ...payment, ...after }, operation: found };
  }

  /** Begins an operation and carries it out, for the service itself: an expiry, or a capture that a payment waits for. */
  async runInternal(lane: Lane, configured: ConfiguredProcessor, command: Command): Promise<void> {
    const { tenant, payment } = lane;
    const amount = validateCommand(payment, command, configured.processor.capabilities);
    const operation = newOperation(this.#ids.next(), this.#time.steadyNow(), payment, {
      type: command.type,
      amount,
      referenceCode: payment.referenceCode,
    });
    const action = command.type === 'expiry' ? 'payment.expired' : 'payment.requested';
    const journal = [paymentEvent(this.#clock, action, { tenant, operation }, SERVICE_ORIGIN)];
    const begun = await this.#books.begin(lane, operation, configured, { writes: [], journal });
    if (begun !== undefined) await this.#carryOut(begun, configured, undefined);
  }

  #asking(tenant: Tenant, configured: ConfiguredProcessor): TimedProcessor {
    return new TimedProcessor({ tenant, configured, clock: () => this.#time.steadyNow() });
  }

  /** One body for every cause; the audit log has it. */
  async #enabled({ tenant, origin }: Requester): Promise<ConfiguredProcessor> {
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

  /** The intent, and in the same unit the token of a card that a payment brings in clear. */
  async #open(
    caller: ApiCaller,
    configured: ConfiguredProcessor,
    order: Order,
    read: ResolvedCard,
    notification: Uint8Array | undefined,
    claimed: Claimed<PaymentSnapshot> | undefined,
  ): Promise<Lane> {
    const { tenant, origin } = caller;
    const times = recoveryTimes(configured.settings, aheadOfSteady(this.#time));
    let pair = newPayment(this.#ids.next(), this.#time.steadyNow(), configured, order, read, times);
    const event = paymentAuditEvent('payment.requested', { tenant, operation: pair.operation });
    await this.#transactions.run({ origin, account: tenant.account }, async (transaction) => {
      if (order.capture && read.isInClear) {
        const token = await this.#tokenize(transaction, caller, configured, read);
        pair = { ...pair, payment: { ...pair.payment, card: { ...pair.payment.card, token } } };
      }
      const writes = await this.#books.opening(tenant, pair, configured, notification);
      if (claimed !== undefined) writes.push(claimed.bind(pair.operation.id));
      for (const each of writes) transaction.write(each, new Failure('operation_in_progress'));
      transaction.record(event);
    });
    return this.#books.opened(tenant, pair, configured);
  }

  /** Stores the token of a card that a payment brings in clear. */
  async #tokenize(
    transaction: Transaction,
    { tenant, key: creator }: ApiCaller,
    { settings }: ConfiguredProcessor,
    { card: { pan, expiry, holder: name } }: ResolvedCard,
  ): Promise<{ token: string; scheme: TokenFormat['scheme'] }> {
    const scheme = Number(settings['payment-scheme']) as TokenFormat['scheme'];
    const cards = [{ pan, expiry, name }];
    const format: TokenFormat = { scheme, bin: 6 };
    const tokenization = { cards, tags: [], format, persistent: true, creator };
    const [result] = await this.#vault.tokenize(transaction, tenant, tokenization);
    return { token: result?.token?.token ?? '', scheme };
  }

  async #begin(
    caller: Requester,
    id: string,
    command: Command,
    referenceCode: string | undefined,
    claimed: Claimed<PaymentSnapshot> | undefined,
  ): Promise<{ lane: Lane; configured: ConfiguredProcessor }> {
    const { tenant, origin } = caller;
    for (let attempt = 0; attempt < LIMITS.commitAttempts; attempt++) {
      const found = await this.#books.find(tenant, id);
      if (found === undefined || !names(found, id, command)) throw new Failure('unknown_payment', { field: 'id' });
      const configured = await this.#activations.configuredProcessor(tenant, found.payment.processor);
      // Each time round, of the payment as it was just read: only so does `seen` hold against others.
      const amount = validateCommand(found.payment, command, configured.processor.capabilities);
      const operation = newOperation(this.#ids.next(), this.#time.steadyNow(), found.payment, {
        type: command.type,
        amount,
        referenceCode,
      });
      const journal = [paymentEvent(this.#clock, 'payment.requested', { tenant, operation }, origin)];
      const writes = claimed === undefined ? [] : [claimed.bind(operation.id)];
      const lane = await this.#books.begin(found, operation, configured, { writes, journal });
      if (lane !== undefined) return { lane, configured };
    }
    throw new Failure('unavailable');
  }

  async #carryOut(
    lane: Lane,
    configured: ConfiguredProcessor,
    claimed: Claimed<PaymentSnapshot> | undefined,
  ): Promise<PaymentSnapshot> {
    const { tenant, payment, operation } = lane;
    const asking = this.#asking(tenant, configured);
    const operations = await this.#books.operations(lane);
    const history = buildHistory(payment, operations, operation);
    const word = await asking.operate(payment, operation, history);
    // A refusal may mean that the payment stands otherwise there than here.
    const [first] = operations;
    const isRefused = word.kind === 'refused' && operation.type !== 'payment_refund' && first !== undefined;
    const stands = isRefused ? await asking.inquire(history, toOperationRef(payment, first)) : undefined;
    return this.#end(lane, configured, word, stands, claimed);
  }

  /** Writes the result, or leaves the operation to recovery. */
  async #end(
    lane: Lane,
    configured: ConfiguredProcessor,
    word: Outcome,
    stands: InquiryResult | undefined,
    claimed: Claimed<PaymentSnapshot> | undefined,
  ): Promise<PaymentSnapshot> {
    const times = recoveryTimes(configured.settings, aheadOfSteady(this.#time));
    const { lifetimes } = times;
    const now = this.#time.steadyNow();
    // A process that was held up leaves the result to recovery, which may have begun to act already.
    const isLate = now >= firstRecoveryAt(lane.operation, times);
    const change = (current: Lane): PaymentSnapshot | undefined => {
      if (current.operation.state !== 'in_progress' || current.payment.reversalStarted === true || isLate)
        return undefined;
      const ended = settle(current, word, now, lifetimes);
      const stood = ended && stands && standing(ended.payment, stands, now, lifetimes);
      if (ended === undefined || stood === undefined) return ended;
      return { payment: stood, operation: { ...ended.operation, stateAfter: stateOf(stood) } };
    };
    const ended = await this.#books.change(lane, configured, change, async (pair) => (await claimed?.keep(pair)) ?? []);
    if (ended.operation.state === 'in_progress')
      await this.#books.doubt(ended, word.kind === 'unknown' ? word.problem : undefined);
    // Recovery gave it up while this process was held up.
    else if (word.kind === 'approved' && ended.operation.state === 'refused') await this.#books.watch(ended);
    return ended;
  }
}

/** The id of a payment is that of its first operation; a refund also takes that of the capture. */
const names = ({ operation, payment }: Lane, id: string, { type }: Command): boolean =>
  operation.id === id && (operation.id === payment.id || (type === 'payment_refund' && operation.type === 'capture'));
