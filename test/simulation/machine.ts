import type { KeyObject } from 'node:crypto';
import type { Authentication } from '../../src/accounts/authentication.ts';
import { Captures } from '../../src/captures/captures.ts';
import { Keyring } from '../../src/crypto/keyring.ts';
import { SadKeys } from '../../src/crypto/sad-keys.ts';
import { type AccessGrant, ApiDoor } from '../../src/http/api-door.ts';
import type { Endpoint, Services } from '../../src/http/endpoint.ts';
import { capturePayment } from '../../src/http/endpoints/capture-payment.ts';
import { createPayment } from '../../src/http/endpoints/create-payment.ts';
import { refundPayment } from '../../src/http/endpoints/refund-payment.ts';
import { showPayment } from '../../src/http/endpoints/show-payment.ts';
import { voidPayment } from '../../src/http/endpoints/void-payment.ts';
import { ENVELOPES } from '../../src/http/envelopes.ts';
import { Pipeline, type RouteResponse } from '../../src/http/pipeline.ts';
import { PROBLEMS, toFailure } from '../../src/http/problems.ts';
import { createBucketMemory } from '../../src/http/rate-limit.ts';
import type { RequestHead } from '../../src/http/route.ts';
import { paymentEvents } from '../../src/http/webhook-events.ts';
import { IdempotencyKeys } from '../../src/idempotency/idempotency-keys.ts';
import { Transactions } from '../../src/idempotency/transaction.ts';
import type { Clock, Random } from '../../src/kernel/clock.ts';
import type { Tenant } from '../../src/kernel/environment.ts';
import type { TrustedTime } from '../../src/kernel/time-guard.ts';
import { PaymentActivations, type Processors } from '../../src/payments/payment-activations.ts';
import { type PaymentChangeWriter, PaymentRepository } from '../../src/payments/payment-repository.ts';
import { Payments } from '../../src/payments/payments.ts';
import { ProcessorHosts } from '../../src/payments/processor-hosts.ts';
import { ProcessorNotifications } from '../../src/payments/processor-notifications.ts';
import { Recovery } from '../../src/payments/recovery.ts';
import { UnknownOutcomes } from '../../src/payments/unknown-outcomes.ts';
import { Placeholders } from '../../src/placeholders/placeholders.ts';
import type { Database } from '../../src/storage/database.ts';
import { ScanQueue } from '../../src/storage/pagination.ts';
import { sadKeyTable } from '../../src/storage/sad-key-table.ts';
import { wrappedKeyStore } from '../../src/storage/wrapped-key-store.ts';
import { Vault } from '../../src/vault/vault.ts';
import { Dispatcher } from '../../src/webhooks/dispatcher.ts';
import { Outbox } from '../../src/webhooks/outbox.ts';
import type { WebhookSender } from '../../src/webhooks/send.ts';

export const ENDPOINTS = {
  create: createPayment,
  capture: capturePayment,
  refund: refundPayment,
  void: voidPayment,
  show: showPayment,
} as const;
export type EndpointName = keyof typeof ENDPOINTS;

export interface SimulatedRequest {
  readonly endpoint: EndpointName;
  /** In the path. */
  readonly id: string;
  readonly body: unknown;
  readonly key: string | undefined;
}

export interface SimulatedResponse {
  readonly status: number;
  readonly replayed: boolean;
  readonly text: string;
  /** The process of a failure. */
  readonly cause: unknown;
}

/** Accounts of the simulation are not under dual control. */
const NO_CHANGE_CONTROL = { permit: () => Promise.resolve() };

/** How a machine sends events. */
export interface MachineWebhooks {
  readonly sender: Pick<WebhookSender, 'send'>;
  /** Milliseconds after each failed attempt. */
  readonly delays: readonly number[];
  /** Another writer of events, with a fault that the simulation has to find. */
  readonly spoil?: ((outbox: Outbox, transactions: Transactions) => PaymentChangeWriter) | undefined;
}

const PERMISSIONS = ['payments:write', 'payments:read', 'tokens:detokenize', 'captures:retrieve'] as const;

/** The payments of one process, put together as the service does, without its listeners. */
export class Machine {
  readonly activations: PaymentActivations;
  readonly repository: PaymentRepository;
  readonly captures: Captures;
  readonly transactions: Transactions;
  readonly recovery: Recovery;
  readonly unknownOutcomes: UnknownOutcomes;
  readonly notifications: ProcessorNotifications;
  readonly keyring: Keyring;
  readonly #dispatcher: Dispatcher | undefined;
  readonly #pipelines: Readonly<Record<EndpointName, Pipeline>>;
  readonly #tenant: Tenant;
  readonly #clock: Clock;
  readonly #time: TrustedTime;
  readonly #idempotency: IdempotencyKeys;

  constructor(options: {
    database: Database;
    root: KeyObject;
    clock: Clock;
    time: TrustedTime;
    random: Random;
    processors: Processors;
    tenant: Tenant;
    failed: (error: unknown) => void;
    /** Sends what happens to payments; absent: no events are written. */
    webhooks?: MachineWebhooks | undefined;
  }) {
    const { database, root, clock, random, processors, tenant, failed, webhooks } = options;
    const keyring = new Keyring({ root, store: wrappedKeyStore(database), clock, random });
    const time = options.time;
    const parts = { database, keyring, clock, time, random };
    const sadKeys = new SadKeys({ keyring, store: sadKeyTable(database), time, random });
    const vault = new Vault(parts);
    const captures = new Captures({ ...parts, sadKeys, vault });
    const placeholders = new Placeholders({ vault, captures });
    const idempotency = new IdempotencyKeys(parts);
    const transactions = new Transactions({ database, clock, idempotency });
    const activations = new PaymentActivations({
      ...parts,
      processors,
      hosts: new ProcessorHosts(),
      changeControl: NO_CHANGE_CONTROL,
    });
    const outbox = webhooks && new Outbox(parts);
    const onChange = outbox
      ? (webhooks.spoil?.(outbox, transactions) ?? paymentEvents(outbox))
      : async (): Promise<void> => undefined;
    const repository = new PaymentRepository({ ...parts, onOutcome: () => undefined, onChange });
    this.#dispatcher =
      outbox &&
      new Dispatcher({ ...parts, ...webhooks, transactions, outbox, userAgent: 'cardvault', onError: failed });
    outbox?.onWritten(() => void this.#dispatcher?.runOnce().catch(failed));
    const notifications = new ProcessorNotifications({ ...parts, transactions, processors, activations, repository });
    const payments = new Payments({
      ...parts,
      transactions,
      vault,
      placeholders,
      activations,
      repository,
      notifications,
    });
    const services = { database, vault, captures, payments } as unknown as Services;
    const scanQueue = new ScanQueue();
    const rates = { perKey: 0, failedAuthentication: 0 };
    // Requests enter behind the authentication.
    const authentication = undefined as unknown as Authentication;
    const buckets = { memory: createBucketMemory(random), clock };
    const { environment } = tenant;
    const door = new ApiDoor({ authentication, transactions, clock, environment, rates, buckets });
    const pipelineOf = (endpoint: Endpoint): Pipeline =>
      new Pipeline(endpoint, { door, services, transactions, clock, turns: scanQueue });
    const pipelines = Object.entries(ENDPOINTS).map(([name, endpoint]) => [name, pipelineOf(endpoint)] as const);
    this.#pipelines = Object.fromEntries(pipelines) as Record<EndpointName, Pipeline>;
    this.recovery = new Recovery({
      database,
      transactions,
      activations,
      repository,
      payments,
      idempotency,
      time,
      failed,
    });
    this.unknownOutcomes = new UnknownOutcomes({
      activations,
      repository,
      idempotency,
      changeControl: NO_CHANGE_CONTROL,
      time,
      recovery: this.recovery,
    });
    this.activations = activations;
    this.repository = repository;
    this.captures = captures;
    this.transactions = transactions;
    this.notifications = notifications;
    this.keyring = keyring;
    this.#tenant = tenant;
    this.#clock = clock;
    this.#time = time;
    this.#idempotency = idempotency;
  }

  /** Runs what the scheduler of the service runs once a second. */
  async round(): Promise<void> {
    await this.notifications.collect();
    await this.recovery.runOnce();
    await this.#dispatcher?.runOnce();
  }

  /** Runs what the sweeper of the service runs every 5 seconds. */
  async sweep(): Promise<void> {
    const now = this.#time.trustedNow();
    if (now === undefined) return;
    await this.captures.sweep(now);
    await this.#idempotency.sweep(now);
  }

  /** A request of a caller who was let in. */
  async send({ endpoint, id, body, key }: SimulatedRequest): Promise<SimulatedResponse> {
    const grant = {
      key: { id: 'key_1', name: 'shop', permissions: PERMISSIONS },
      tenant: this.#tenant,
      origin: { actor: { type: 'key', id: 'key_1', name: 'shop' } },
      rate: undefined,
      at: this.#clock(),
    } as unknown as AccessGrant;
    try {
      const head: RequestHead = {
        id: '',
        address: 'unknown',
        params: { id },
        query: '',
        header: (name) => (name === 'idempotency-key' ? key : undefined),
        onFinished: () => undefined,
      };
      const bytes = body === undefined ? Buffer.alloc(0) : Buffer.from(JSON.stringify(body));
      const response = (await this.#pipelines[endpoint].execute(grant, head, bytes)) as RouteResponse;
      return { status: response.status, replayed: response.isReplay, text: response.body, cause: undefined };
    } catch (error) {
      const failure = toFailure(error);
      const { status } = PROBLEMS[failure.code];
      const text = JSON.stringify(ENVELOPES.payments.failure(failure, status));
      return { status, replayed: false, text, cause: error };
    }
  }
}
