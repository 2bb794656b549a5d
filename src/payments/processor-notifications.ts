import { SERVICE_ORIGIN } from '../audit/audit.ts';
import { hashSecret } from '../crypto/fingerprint.ts';
import type { Keyring } from '../crypto/keyring.ts';
import type { Transactions } from '../idempotency/transaction.ts';
import type { Random } from '../kernel/clock.ts';
import type { Environment } from '../kernel/environment.ts';
import type { Database } from '../storage/database.ts';
import type { ConfiguredProcessor, PaymentActivations, Processors } from './payment-activations.ts';
import type { PaymentRepository } from './payment-repository.ts';
import { findByNotificationSecret } from './payment-store.ts';
import type { ProcessorNotification } from './processor.ts';

/** The setting of processors that send notifications: the public address of this service. */
const URL_SETTING = 'notification-url';

/** Random bytes of the secret in the address for notifications about a payment. */
const SECRET_BYTES = 32;

interface Services {
  readonly database: Database;
  readonly transactions: Transactions;
  readonly keyring: Keyring;
  readonly random: Random;
  readonly processors: Processors;
  readonly activations: PaymentActivations;
  readonly repository: PaymentRepository;
}

/**
 * Notifications of processors. They are hints: stored, then the processor is inquired, and only its response is
 * trusted. An address contains a secret of its payment, of which only a digest is stored.
 */
export class ProcessorNotifications {
  readonly #services: Services;

  constructor(services: Services) {
    this.#services = services;
  }

  /** Names of the processors that send notifications over the network. */
  get senders(): readonly string[] {
    return Object.entries(this.#services.processors).flatMap(([name, { settings }]) =>
      Object.hasOwn(settings, URL_SETTING) ? [name] : [],
    );
  }

  /** Returns a new address for one payment, where the setting `notification-url` says how this service is reached. */
  async createCallbackUrl(
    environment: Environment,
    { name, settings }: ConfiguredProcessor,
  ): Promise<{ url: string; digest: Uint8Array } | undefined> {
    const base = settings[URL_SETTING];
    if (base === undefined) return undefined;
    const secret = Buffer.from(this.#services.random.bytes(SECRET_BYTES)).toString('base64url');
    const url = `${base.replace(/\/+$/, '')}/notifications/${name}/${secret}`;
    return { url, digest: digestOf(environment, secret) };
  }

  /** Stores the hint before it returns; false when the secret names no payment. */
  async accept(environment: Environment, secret: string): Promise<boolean> {
    const found = await findByNotificationSecret(this.#services.database, environment, digestOf(environment, secret));
    if (found !== undefined) await this.#scheduleRecheck({ tenant: found.tenant, operationId: found.id });
    return found !== undefined;
  }

  /** Collects the notifications of processors that run in this process. */
  async collect(): Promise<void> {
    const all = await Promise.allSettled(
      Object.values(this.#services.processors).map((processor) => processor.pollNotifications?.()),
    );
    const news = all.flatMap((each) => (each.status === 'fulfilled' ? (each.value ?? []) : []));
    const rechecks = await Promise.allSettled(news.map((each) => this.#scheduleRecheck(each)));
    // A failed one does not prevent the others from being recorded.
    const failed = [...all, ...rechecks].find(({ status }) => status === 'rejected');
    if (failed?.status === 'rejected') throw failed.reason;
  }

  #scheduleRecheck({ tenant, operationId }: ProcessorNotification): Promise<void> {
    return this.#services.transactions.run({ origin: SERVICE_ORIGIN, account: tenant.account }, async (transaction) => {
      const loaded = await this.#services.repository.load(tenant, operationId);
      if (loaded === undefined || loaded.operation.id !== loaded.payment.id) return;
      // A hint is stored also when the settings were altered: it only moves the time of the next inquiry.
      const configured = this.#services.activations.processorWithDefaults(loaded.payment.processor);
      await this.#services.repository.apply(transaction, loaded, { type: 'notified' }, configured);
    });
  }
}

/** The environment is a part of the digest: an address of one finds no payment of the other. */
const digestOf = (environment: Environment, secret: string): Uint8Array =>
  hashSecret('payment notification', environment, secret);
