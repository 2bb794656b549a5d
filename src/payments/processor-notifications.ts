import { keyedDigest } from '../crypto/fingerprint.ts';
import type { Keyring } from '../crypto/keyring.ts';
import type { Random } from '../kernel/clock.ts';
import type { Environment } from '../kernel/environment.ts';
import type { Database } from '../storage/database.ts';
import type { Books } from './books.ts';
import type { ConfiguredProcessor, Processors } from './payment-activations.ts';
import { findByNotificationSecret } from './payment-store.ts';
import type { ProcessorNotification } from './processor.ts';

/** Random bytes of the secret in the address that news about a payment are sent to. */
const SECRET_BYTES = 32;

/**
 * News from processors. They are hints: noted on disk, then the processor is asked, and only its answer is believed. An
 * address holds a secret of its payment, of which only a keyed digest is kept.
 */
export class ProcessorNotifications {
  readonly #database: Database;
  readonly #keyring: Keyring;
  readonly #random: Random;
  readonly #processors: Processors;
  readonly #books: Books;

  constructor(options: {
    database: Database;
    keyring: Keyring;
    random: Random;
    processors: Processors;
    books: Books;
  }) {
    this.#database = options.database;
    this.#keyring = options.keyring;
    this.#random = options.random;
    this.#processors = options.processors;
    this.#books = options.books;
  }

  /** A new address for one payment, where the setting `notification-url` says how this service is reached. */
  async createCallbackUrl(
    environment: Environment,
    { name, settings }: ConfiguredProcessor,
  ): Promise<{ url: string; digest: Uint8Array } | undefined> {
    const base = settings['notification-url'];
    if (base === undefined) return undefined;
    const secret = Buffer.from(this.#random.bytes(SECRET_BYTES)).toString('base64url');
    const url = `${base.replace(/\/+$/, '')}/notifications/${name}/${secret}`;
    return { url, digest: await this.#digest(environment, secret) };
  }

  /** On disk when it returns; false when the secret names no payment. */
  async accept(environment: Environment, secret: string): Promise<boolean> {
    const found = await findByNotificationSecret(this.#database, environment, await this.#digest(environment, secret));
    if (found !== undefined) await this.#look({ tenant: found.tenant, operationRef: found.id });
    return found !== undefined;
  }

  /** Takes what processors of this process have to tell. */
  async collect(): Promise<void> {
    const all = await Promise.allSettled(
      Object.values(this.#processors).map((processor) => processor.pollNotifications?.()),
    );
    const news = all.flatMap((each) => (each.status === 'fulfilled' ? (each.value ?? []) : []));
    const looks = await Promise.allSettled(news.map((each) => this.#look(each)));
    // One that fails keeps none of the others from being heard.
    const failed = [...all, ...looks].find(({ status }) => status === 'rejected');
    if (failed?.status === 'rejected') throw failed.reason;
  }

  async #look({ tenant, operationRef }: ProcessorNotification): Promise<void> {
    const lane = await this.#books.find(tenant, operationRef);
    if (lane !== undefined && lane.operation.id === lane.payment.id) await this.#books.watch(lane);
  }

  async #digest(environment: Environment, secret: string): Promise<Uint8Array> {
    const key = await this.#keyring.digestKey({ account: '', environment, purpose: 'payments' });
    return new Uint8Array(keyedDigest(key, secret));
  }
}
