import type { KeyObject } from 'node:crypto';
import type { Clock, Random } from '../kernel/clock.ts';
import type { Tenant } from '../kernel/environment.ts';
import { Failure } from '../kernel/failure.ts';
import { encryptValues, isEncrypted, type ValueEncryption } from '../placeholders/encryption.ts';
import { locateInJson } from '../placeholders/in-json.ts';
import { locateInText } from '../placeholders/in-text.ts';
import { locateInXml } from '../placeholders/in-xml.ts';
import { type LocatedPlaceholder, substitute } from '../placeholders/located-placeholder.ts';
import type { CardDataContext, Placeholders } from '../placeholders/placeholders.ts';
import { type Configuration, inUse } from './configuration.ts';
import type { Configurations } from './configurations.ts';
import { type HashType, hashOf } from './hash.ts';
import { type JoseMessage, secureWithJose } from './jose/jose.ts';
import type { Parties, Securing } from './securing.ts';
import { settingsInForce } from './settings.ts';
import { secureWithWssec } from './wssec/wssec.ts';
import { readDocument } from './wssec/xml-document.ts';

/** A payload as it came, and who sent it. */
export interface Payload {
  readonly reader: Omit<CardDataContext, 'usage'>;
  readonly text: string;
  readonly encryption: ValueEncryption;
}

/** Payloads for processors: card data in the place of placeholders, then secured so that only the processor reads it. */
export class PayloadProxy {
  readonly #configurations: Configurations;
  readonly #placeholders: Placeholders;
  readonly #clock: Clock;
  readonly #random: Random;

  constructor(options: { configurations: Configurations; placeholders: Placeholders; clock: Clock; random: Random }) {
    this.#configurations = options.configurations;
    this.#placeholders = options.placeholders;
    this.#clock = options.clock;
    this.#random = options.random;
  }

  /** Has the tenant the keys that JOSE and WS-Security need? */
  async isConfigured(tenant: Tenant): Promise<boolean> {
    const { merchant, processor } = await this.#configurations.remembered(tenant);
    return merchant !== undefined && processor !== undefined;
  }

  /** `knownKeys` may be named in failures. Throws what `#substitute` and `#securing` throw. */
  async jose(payload: Payload, knownKeys: ReadonlySet<string>): Promise<JoseMessage> {
    const marks = locateInJson(payload.text, knownKeys);
    const configuration = await this.#configuration(payload);
    const securing = this.#securing(configuration);
    const plaintext = await this.#substitute(payload.text, marks, { ...payload, use: 'jose', configuration });
    return secureWithJose(Buffer.from(plaintext, 'utf8'), securing);
  }

  /** A SOAP envelope. Throws what `#substitute` and `#securing` throw, `malformed_xml`. */
  async wssec(payload: Payload): Promise<string> {
    const { text, line } = readDocument(payload.text);
    const marks = locateInXml(text, line);
    const configuration = await this.#configuration(payload);
    const securing = this.#securing(configuration);
    const element = await this.#substitute(text, marks, { ...payload, use: 'wssec', configuration });
    return secureWithWssec(element, securing);
  }

  /** Throws what `#substitute` throws. */
  async hash(payload: Payload, type: HashType): Promise<string> {
    const marks = locateInText(payload.text);
    const configuration = await this.#configuration(payload);
    const text = await this.#substitute(payload.text, marks, { ...payload, use: 'hash', configuration });
    return hashOf(type, Buffer.from(text, 'utf8'));
  }

  #configuration({ reader }: Payload): Promise<Configuration> {
    return this.#configurations.remembered(reader.tenant);
  }

  /** Throws `proxy_not_configured`. */
  #securing({ merchant, processor, settings }: Configuration): Securing {
    const now = this.#clock();
    if (merchant === undefined || processor === undefined) {
      const missing = [
        ...(processor === undefined ? ['processor public key'] : []),
        ...(merchant === undefined ? ['merchant private key'] : []),
      ];
      throw notConfigured(missing.join(' and '));
    }
    const parties: Parties = { merchant: inUse(merchant, now), processor: inUse(processor, now) };
    return { parties, settings: settingsInForce(settings), now, random: this.#random };
  }

  /**
   * The text with values for placeholders. Throws `access_denied`, `unknown_token`, `unknown_capture`,
   * `invalid_placeholder`, `proxy_not_configured`.
   */
  async #substitute(
    text: string,
    marks: readonly LocatedPlaceholder[],
    { reader, use, encryption, configuration }: Payload & { use: string; configuration: Configuration },
  ): Promise<string> {
    if (marks.length === 0) return text;
    const isWanted = marks.some((mark) => isEncrypted(mark, encryption));
    const key = isWanted ? this.#encryptionKey(encryption, configuration) : undefined;
    const filled = await this.#placeholders.resolve({ ...reader, usage: use }, marks);
    return substitute(text, key === undefined ? filled : encryptValues(filled, encryption, key));
  }

  #encryptionKey({ key }: ValueEncryption, { processor }: Configuration): KeyObject {
    const found = key ?? (processor && inUse(processor, this.#clock()).key);
    if (found === undefined) throw notConfigured('processor public key');
    return found;
  }
}

const notConfigured = (what: string): Failure =>
  new Failure('proxy_not_configured', { message: `not configured for this account and environment: ${what}` });
