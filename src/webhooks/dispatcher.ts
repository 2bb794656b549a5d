import { SERVICE_ORIGIN } from '../audit/audit.ts';
import type { Keyring } from '../crypto/keyring.ts';
import type { Transactions } from '../idempotency/transaction.ts';
import type { Clock, Random } from '../kernel/clock.ts';
import type { Tenant } from '../kernel/environment.ts';
import { LIMITS } from '../kernel/limits.ts';
import type { Database } from '../storage/database.ts';
import { deleteDeliveries, failAllWaiting, failWaiting, failWaitingOfRevision } from './delivery-batches.ts';
import type { Outbox } from './outbox.ts';
import { nextAttemptAt, parseRetryAfter } from './schedule.ts';
import type { SendResult, WebhookSender } from './send.ts';
import type { DisabledReason, Endpoint } from './webhook.ts';
import {
  type AttemptResult,
  CLAIM_MS,
  COMMIT_MS,
  claimDelivery,
  concludeDelivery,
  concludeReplayed,
  type DueDelivery,
  findEndpoint,
  findEvent,
  findLastSuccess,
  findNextWaitingEndpoint,
  listDue,
  noteAttempt,
  updateEndpoint,
  type WaitingEndpoint,
} from './webhook-store.ts';
import { toMessage, webhookAuditEvent } from './webhooks.ts';

/** Statuses with which a receiver may postpone the next attempt. */
const POSTPONING: ReadonlySet<number> = new Set([429, 503]);
const GONE = 410;

/** Requests in progress to one endpoint. */
interface EndpointLoad {
  requests: number;
  hasFailed: boolean;
}

/**
 * Sends what the outbox holds. Every node looks for due deliveries; a claim by compare-and-set gives each to one of them. The
 * endpoints take turns, and each has a bounded number of requests in progress, so that a slow or dead one delays only itself.
 * An account starts another request only while it has fewer in progress than are free. So one whose endpoints are all slow has
 * half of them, two have a third each, and what is left is for the others.
 */
export class Dispatcher {
  readonly #database: Database;
  readonly #keyring: Keyring;
  readonly #transactions: Transactions;
  readonly #outbox: Outbox;
  readonly #sender: Pick<WebhookSender, 'send'>;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #delays: readonly number[];
  readonly #userAgent: string;
  readonly #onAttempt: (result: 'delivered' | 'failed' | 'retried') => void;
  readonly #onError: (error: unknown) => void;
  readonly #loads = new Map<string, EndpointLoad>();
  /** Requests in progress of each account. */
  readonly #requests = new Map<string, number>();
  readonly #running = new Set<Promise<void>>();
  /** The turn in which each endpoint started its last request: the longest ago is the next. */
  readonly #turns = new Map<string, number>();
  #turn = 0;
  #isStopped = false;
  #round: Promise<void> | undefined;
  #isWanted = false;

  constructor(options: {
    database: Database;
    keyring: Keyring;
    transactions: Transactions;
    outbox: Outbox;
    sender: Pick<WebhookSender, 'send'>;
    clock: Clock;
    random: Random;
    /** Milliseconds after each failed attempt. */
    delays: readonly number[];
    userAgent: string;
    onAttempt?: (result: 'delivered' | 'failed' | 'retried') => void;
    onError: (error: unknown) => void;
  }) {
    this.#database = options.database;
    this.#keyring = options.keyring;
    this.#transactions = options.transactions;
    this.#outbox = options.outbox;
    this.#sender = options.sender;
    this.#clock = options.clock;
    this.#random = options.random;
    this.#delays = options.delays;
    this.#userAgent = options.userAgent;
    this.#onAttempt = options.onAttempt ?? (() => undefined);
    this.#onError = options.onError;
  }

  /** One round over the endpoints with waiting deliveries; starts what is due and resolves without waiting for responses. */
  async runOnce(): Promise<void> {
    this.#isWanted = true;
    // One round at a time: two would start twice as many requests as they may.
    this.#round ??= this.#runRounds().finally(() => {
      this.#round = undefined;
    });
    return this.#round;
  }

  async #runRounds(): Promise<void> {
    while (this.#isWanted && !this.#isStopped) {
      this.#isWanted = false;
      await this.#runRound();
    }
  }

  async #runRound(): Promise<void> {
    for (const waiting of await this.#listDueEndpoints()) {
      if (this.#isStopped || this.#running.size >= LIMITS.webhookRequests) return;
      await this.#startDue(waiting);
    }
  }

  /** The endpoints with due deliveries in the order of their turns. */
  async #listDueEndpoints(): Promise<WaitingEndpoint[]> {
    const now = this.#clock();
    const found: WaitingEndpoint[] = [];
    const waiting = new Set<string>();
    for (let next = await findNextWaitingEndpoint(this.#database, undefined); next !== undefined; ) {
      waiting.add(nameOf(next));
      if (next.dueAt <= now) found.push(next);
      next = await findNextWaitingEndpoint(this.#database, next);
    }
    this.#forgetOthers(waiting, new Set(found.map(nameOf)));
    const turnOf = (endpoint: WaitingEndpoint): number => this.#turns.get(nameOf(endpoint)) ?? 0;
    return found.sort((one, other) => turnOf(one) - turnOf(other));
  }

  /** An endpoint whose last attempt failed may never get another one: it is kept only while it has waiting deliveries. */
  #forgetOthers(waiting: ReadonlySet<string>, due: ReadonlySet<string>): void {
    for (const [name, { requests }] of this.#loads) if (requests === 0 && !waiting.has(name)) this.#loads.delete(name);
    for (const name of this.#turns.keys()) if (!due.has(name) && !this.#loads.has(name)) this.#turns.delete(name);
  }

  /** Starts no further request, and resolves when those in progress have ended. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    // A round that is reading could still start a request.
    await this.#round;
    await Promise.all(this.#running);
  }

  async #startDue(waiting: WaitingEndpoint): Promise<void> {
    const name = nameOf(waiting);
    const load = this.#loads.get(name) ?? { requests: 0, hasFailed: false };
    const most = load.hasFailed ? LIMITS.webhookRequestsAfterFailure : LIMITS.webhookRequestsPerEndpoint;
    const free = Math.min(most - load.requests, this.#freeFor(waiting.account));
    if (free <= 0) return;
    const due = await listDue(this.#database, waiting, this.#clock(), free);
    if (due.length === 0) return;
    const endpoint = await this.#findEndpoint(waiting);
    if (this.#isStopped) return;
    if (endpoint === undefined || endpoint.disabledReason !== undefined) return this.#discard(waiting, endpoint);
    this.#loads.set(name, load);
    this.#turns.set(name, ++this.#turn);
    for (const delivery of due) this.#start(name, load, endpoint, delivery);
  }

  /** How many requests an account may start: with each of them it has one more, and one less is free. */
  #freeFor(account: string): number {
    const free = LIMITS.webhookRequests - this.#running.size;
    return Math.ceil((free - (this.#requests.get(account) ?? 0)) / 2);
  }

  /** Reads it again where another node may just have created or enabled it. */
  async #findEndpoint({ endpoint: id, account, environment }: WaitingEndpoint): Promise<Endpoint | undefined> {
    const tenant = { account, environment };
    const cached = (await this.#outbox.getEndpoints(tenant)).find((each) => each.id === id);
    if (cached !== undefined && cached.disabledReason === undefined) return cached;
    return (await findEndpoint(this.#database, this.#keyring, tenant, id))?.endpoint;
  }

  #start(name: string, load: EndpointLoad, endpoint: Endpoint, due: DueDelivery): void {
    const { account } = due.tenant;
    load.requests++;
    this.#count(account, 1);
    const running = this.#deliver(endpoint, due, load)
      .catch(this.#onError)
      .finally(() => {
        load.requests--;
        this.#count(account, -1);
        this.#running.delete(running);
        if (load.requests === 0 && !load.hasFailed) this.#loads.delete(name);
      });
    this.#running.add(running);
  }

  #count(account: string, change: 1 | -1): void {
    const requests = (this.#requests.get(account) ?? 0) + change;
    if (requests > 0) this.#requests.set(account, requests);
    else this.#requests.delete(account);
  }

  async #deliver(endpoint: Endpoint, due: DueDelivery, load: EndpointLoad): Promise<void> {
    const { tenant } = due;
    const now = this.#clock();
    const until = now + CLAIM_MS;
    const { committed } = await this.#database.commit({
      account: tenant.account,
      writes: [claimDelivery(due, now, until)],
    });
    if (!committed) return;
    const event = await findEvent(this.#database, this.#keyring, tenant, due.event);
    if (event === undefined) return this.#abandon(due, until);
    // The node was held up, and the claim may end before the attempt does: then another node continues.
    if (this.#clock() > now + COMMIT_MS) return;
    const message = toMessage(endpoint, { id: event.id, body: event.body }, this.#clock(), this.#userAgent);
    const result = await this.#sender.send(message);
    event.body.fill(0);
    load.hasFailed = result.error !== undefined;
    await this.#conclude(endpoint, { ...due, firstAttemptAt: due.firstAttemptAt ?? now }, until, result);
  }

  /** Ends a delivery whose event was altered in the database, or has just been removed. */
  async #abandon(due: DueDelivery, claimedUntil: number): Promise<void> {
    const result = { status: 'failed', step: due.step, nextAttemptAt: undefined } as const;
    const write = concludeDelivery(due, claimedUntil, { ...result, statusCode: undefined, error: undefined });
    await this.#database.commit({ account: due.tenant.account, writes: [write] });
  }

  async #conclude(endpoint: Endpoint, due: DueDelivery, claimedUntil: number, result: SendResult): Promise<void> {
    const { tenant } = due;
    const now = this.#clock();
    const attempt = toAttemptResult(this.#delays, due, result, now, this.#random);
    const last = { at: now, statusCode: result.statusCode, error: result.error };
    const noted = noteAttempt(tenant, endpoint.id, last);
    const { account } = tenant;
    const writes = [concludeDelivery(due, claimedUntil, attempt), noted];
    const { committed: isConcluded } = await this.#database.commit({ account, writes });
    if (!isConcluded) {
      const replayed = concludeReplayed(due, claimedUntil, attempt, now);
      await this.#database.commit({ account, writes: [replayed, noted] });
    }
    this.#onAttempt(attempt.status === 'waiting' ? 'retried' : attempt.status);
    if (result.statusCode === GONE) return this.#disable(tenant, endpoint, 'gone');
    if (!isConcluded || attempt.status !== 'failed') return;
    const lastSuccess = await findLastSuccess(this.#database, tenant, endpoint.id);
    const hasSucceeded = lastSuccess !== undefined && lastSuccess >= (due.firstAttemptAt ?? 0);
    if (!hasSucceeded) await this.#disable(tenant, endpoint, 'failing');
  }

  /** Disables an endpoint, unless it was changed since the attempt began. */
  async #disable(tenant: Tenant, endpoint: Endpoint, reason: DisabledReason): Promise<void> {
    const context = { origin: SERVICE_ORIGIN, account: tenant.account };
    const isDisabled = await this.#transactions.run(context, async (transaction) => {
      // A conflict: it was changed, or another delivery has disabled it.
      if (transaction.attempt > 0) return false;
      transaction.write(await updateEndpoint(this.#keyring, tenant, { ...endpoint, disabledReason: reason }));
      transaction.write(failWaiting(tenant, endpoint.id));
      transaction.record(webhookAuditEvent('webhook.disabled', tenant, endpoint, { reason }));
      const data = { id: endpoint.id, reason };
      await this.#outbox.emit(transaction, tenant, { type: 'webhook.disabled', data }, endpoint.id);
      return true;
    });
    if (!isDisabled) return;
    const disabled = { id: endpoint.id, revision: endpoint.revision + 1 };
    await failAllWaiting(this.#database, tenant, disabled, () => this.#isStopped);
  }

  /**
   * Ends some of the deliveries that a node wrote before it read that the endpoint was disabled or deleted; the next round ends
   * others.
   */
  async #discard(waiting: WaitingEndpoint, endpoint: Endpoint | undefined): Promise<void> {
    const { endpoint: id, account, environment } = waiting;
    const tenant = { account, environment };
    if (this.#loads.get(nameOf(waiting))?.requests === 0) this.#loads.delete(nameOf(waiting));
    const write = endpoint === undefined ? deleteDeliveries(tenant, id) : failWaitingOfRevision(tenant, endpoint);
    await this.#database.commit({ account, writes: [write] });
  }
}

/** Returns what an attempt means for its delivery. Pure. */
export function toAttemptResult(
  delays: readonly number[],
  { step }: Pick<DueDelivery, 'step'>,
  { statusCode, error, retryAfter }: SendResult,
  now: number,
  random: Random,
): AttemptResult {
  if (error === undefined) return { status: 'delivered', step, statusCode, error, nextAttemptAt: undefined };
  const isPostponable = statusCode !== undefined && POSTPONING.has(statusCode);
  const failed = {
    step: step + 1,
    endedAt: now,
    retryAfter: isPostponable ? parseRetryAfter(retryAfter, now) : undefined,
  };
  const next = statusCode === GONE ? undefined : nextAttemptAt(delays, failed, random);
  return { status: next === undefined ? 'failed' : 'waiting', step: step + 1, statusCode, error, nextAttemptAt: next };
}

const nameOf = ({ account, environment, endpoint }: WaitingEndpoint): string => `${environment}/${account}/${endpoint}`;
