import { hash, type KeyObject } from 'node:crypto';
import type { Transaction } from '../idempotency/transaction.ts';
import type { Clock, Random } from '../kernel/clock.ts';
import type { Tenant } from '../kernel/environment.ts';
import { Failure } from '../kernel/failure.ts';
import { explain } from '../kernel/reasons.ts';
import { encryptValues, isEncrypted, type ValueEncryption } from '../placeholders/encryption.ts';
import { locateInJson } from '../placeholders/in-json.ts';
import { locateInText } from '../placeholders/in-text.ts';
import { locateInXml } from '../placeholders/in-xml.ts';
import { type LocatedPlaceholder, substitute } from '../placeholders/located-placeholder.ts';
import type { CardDataContext, Placeholders } from '../placeholders/placeholders.ts';
import { type JoseMessage, secureWithJose } from './jose.ts';
import type { MessageSecurity, Parties } from './message-security.ts';
import { active, type ProxyConfiguration } from './proxy-configuration.ts';
import type { ProxyConfigurations } from './proxy-configurations.ts';
import { effectiveSettings } from './settings.ts';
import { secureWithWssec } from './wssec/wssec.ts';
import { parseDocument } from './wssec/xml-document.ts';

/** The received payload and its sender. */
export interface Payload {
  readonly reader: Omit<CardDataContext, 'usage'>;
  readonly text: string;
  readonly encryption: ValueEncryption;
}

/**
 * Payloads for processors: placeholders are replaced with card data, and the result is secured so that only the
 * processor can read it.
 */
export class PayloadProxy {
  readonly #configurations: ProxyConfigurations;
  readonly #placeholders: Placeholders;
  readonly #clock: Clock;
  readonly #random: Random;

  constructor(options: {
    configurations: ProxyConfigurations;
    placeholders: Placeholders;
    clock: Clock;
    random: Random;
  }) {
    this.#configurations = options.configurations;
    this.#placeholders = options.placeholders;
    this.#clock = options.clock;
    this.#random = options.random;
  }

  /** True when the tenant has the keys that JOSE and WS-Security need. */
  async isConfigured(tenant: Tenant): Promise<boolean> {
    const { merchant, processor } = await this.#configurations.cached(tenant);
    return merchant !== undefined && processor !== undefined;
  }

  /** Failures may name `knownKeys`. Throws what `#substitute` and `#messageSecurity` throw. */
  async jose(transaction: Transaction, payload: Payload, knownKeys: ReadonlySet<string>): Promise<JoseMessage> {
    const marks = locateInJson(payload.text, knownKeys);
    const configuration = await this.#configuration(payload);
    const security = this.#messageSecurity(configuration);
    const plaintext = await this.#substitute(transaction, payload.text, marks, {
      ...payload,
      use: 'jose',
      configuration,
    });
    return secureWithJose(Buffer.from(plaintext, 'utf8'), security);
  }

  /** Secures a SOAP envelope. Throws what `#substitute` and `#messageSecurity` throw, and `malformed_xml`. */
  async wssec(transaction: Transaction, payload: Payload): Promise<string> {
    const { text, positionAt } = parseDocument(payload.text);
    const marks = locateInXml(text, positionAt);
    const configuration = await this.#configuration(payload);
    const security = this.#messageSecurity(configuration);
    const element = await this.#substitute(transaction, text, marks, { ...payload, use: 'wssec', configuration });
    return secureWithWssec(element, security);
  }

  /** Throws what `#substitute` throws. */
  async hash(transaction: Transaction, payload: Payload, type: HashType): Promise<string> {
    const marks = locateInText(payload.text);
    const configuration = await this.#configuration(payload);
    const text = await this.#substitute(transaction, payload.text, marks, { ...payload, use: 'hash', configuration });
    return computeHash(type, Buffer.from(text, 'utf8'));
  }

  #configuration({ reader }: Payload): Promise<ProxyConfiguration> {
    return this.#configurations.cached(reader.tenant);
  }

  /** Throws `proxy_not_configured`. */
  #messageSecurity({ merchant, processor, settings }: ProxyConfiguration): MessageSecurity {
    const now = this.#clock();
    if (merchant === undefined || processor === undefined) {
      if (processor !== undefined) throw notConfigured('merchantKeyMissing');
      throw notConfigured(merchant === undefined ? 'keysMissing' : 'processorKeyMissing');
    }
    const parties: Parties = { merchant: active(merchant, now), processor: active(processor, now) };
    return { parties, settings: effectiveSettings(settings), now, random: this.#random };
  }

  /**
   * Returns the text with values in place of placeholders. Throws `access_denied`, `unknown_token`, `unknown_capture`,
   * `invalid_placeholder`, `proxy_not_configured`.
   */
  async #substitute(
    transaction: Transaction,
    text: string,
    marks: readonly LocatedPlaceholder[],
    { reader, use, encryption, configuration }: Payload & { use: string; configuration: ProxyConfiguration },
  ): Promise<string> {
    if (marks.length === 0) return text;
    const needsKey = marks.some((mark) => isEncrypted(mark, encryption));
    const key = needsKey ? this.#encryptionKey(encryption, configuration) : undefined;
    // A security code is kept in no form beside its capture, which ends with its ttl or an authorization.
    if (marks.some(({ placeholder }) => placeholder.part === 'cvv')) transaction.storeNoResponse();
    const filled = await this.#placeholders.resolve(transaction, { ...reader, usage: use }, marks);
    return substitute(text, key === undefined ? filled : await encryptValues(filled, encryption, key));
  }

  #encryptionKey({ key }: ValueEncryption, { processor }: ProxyConfiguration): KeyObject {
    const publicKey = key ?? (processor && active(processor, this.#clock()).key);
    if (publicKey === undefined) throw notConfigured('processorKeyMissing');
    return publicKey;
  }
}

const notConfigured = (reason: 'keysMissing' | 'merchantKeyMissing' | 'processorKeyMissing'): Failure =>
  new Failure('proxy_not_configured', explain(reason));

/** The values of `type` in POST /proxy/hash (interface: Limits 4). */
export const HASH_TYPES = ['SHA256', 'SHA384', 'SHA512'] as const;

export type HashType = (typeof HASH_TYPES)[number];

/** Returns the raw digest in base64. */
export const computeHash = (type: HashType, bytes: Uint8Array): string => hash(type.toLowerCase(), bytes, 'base64');
