import type { KeyObject } from 'node:crypto';
import type { Clock, Random } from '../kernel/clock.ts';
import type { Tenant } from '../kernel/environment.ts';
import { Failure } from '../kernel/failure.ts';
import { type Encryption, encryptValues, isEncrypted, readEncryption } from '../placeholders/encryption.ts';
import { markJson } from '../placeholders/in-json.ts';
import { markText } from '../placeholders/in-text.ts';
import { markXml } from '../placeholders/in-xml.ts';
import { type Mark, replaceMarks } from '../placeholders/mark.ts';
import type { Placeholders, Reader } from '../placeholders/placeholders.ts';
import { type Configuration, inUse, type MerchantKey, type ProcessorKey } from './configuration.ts';
import type { Configurations } from './configurations.ts';
import { type HashType, hashOf } from './hash.ts';
import { type JoseMessage, secureWithJose } from './jose/jose.ts';
import { settingsInForce } from './settings.ts';
import { secureWithWssec } from './wssec/wssec.ts';
import { readDocument } from './wssec/xml-document.ts';

/** A payload as it came, and who sent it. */
export interface Payload {
  readonly reader: Omit<Reader, 'use'>;
  readonly text: string;
  /** The header `ft-encryption`. */
  readonly encryption: string | undefined;
}

interface Marked {
  readonly text: string;
  readonly marks: readonly Mark[];
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

  /** `knownKeys` may be named in failures. Throws what `#substitute` throws, `malformed_json`, `proxy_not_configured`. */
  async jose(payload: Payload, knownKeys: ReadonlySet<string>): Promise<JoseMessage> {
    const encryption = readEncryption(payload.encryption);
    const marks = markJson(payload.text, knownKeys);
    const configuration = await this.#configuration(payload);
    const parties = this.#parties(configuration);
    const plaintext = await this.#substitute(payload, 'jose', { text: payload.text, marks }, encryption, configuration);
    const bytes = Buffer.from(plaintext, 'utf8');
    return secureWithJose(bytes, parties, settingsInForce(configuration.settings), this.#random);
  }

  /** A SOAP envelope. Throws what `#substitute` throws, `malformed_xml`, `proxy_not_configured`. */
  async wssec(payload: Payload): Promise<string> {
    const encryption = readEncryption(payload.encryption);
    const { text, line } = readDocument(payload.text);
    const marks = markXml(text, line);
    const configuration = await this.#configuration(payload);
    const parties = this.#parties(configuration);
    const element = await this.#substitute(payload, 'wssec', { text, marks }, encryption, configuration);
    const settings = settingsInForce(configuration.settings);
    return secureWithWssec(element, { parties, settings, now: this.#clock(), random: this.#random });
  }

  /** Throws what `#substitute` throws. */
  async hash(payload: Payload, type: HashType): Promise<string> {
    const encryption = readEncryption(payload.encryption);
    const marks = markText(payload.text);
    const configuration = await this.#configuration(payload);
    const text = await this.#substitute(payload, 'hash', { text: payload.text, marks }, encryption, configuration);
    return hashOf(type, Buffer.from(text, 'utf8'));
  }

  #configuration({ reader }: Payload): Promise<Configuration> {
    return this.#configurations.remembered(reader.tenant);
  }

  #parties({ merchant, processor }: Configuration): { merchant: MerchantKey; processor: ProcessorKey } {
    const now = this.#clock();
    if (merchant !== undefined && processor !== undefined)
      return { merchant: inUse(merchant, now), processor: inUse(processor, now) };
    const missing = [
      ...(processor === undefined ? ['processor public key'] : []),
      ...(merchant === undefined ? ['merchant private key'] : []),
    ];
    throw notConfigured(missing.join(' and '));
  }

  /**
   * The text with values for placeholders. Throws `access_denied`, `unknown_token`, `unknown_capture`,
   * `invalid_placeholder`, `proxy_not_configured`.
   */
  async #substitute(
    { reader }: Payload,
    use: string,
    { text, marks }: Marked,
    encryption: Encryption,
    { processor }: Configuration,
  ): Promise<string> {
    if (marks.length === 0) return text;
    let key: KeyObject | undefined;
    if (marks.some((mark) => isEncrypted(mark, encryption))) {
      key = encryption.key ?? (processor && inUse(processor, this.#clock()).key);
      if (key === undefined) throw notConfigured('processor public key');
    }
    const values = await this.#placeholders.resolve({ ...reader, use }, marks);
    return replaceMarks(text, marks, key === undefined ? values : encryptValues(marks, values, encryption, key));
  }
}

const notConfigured = (what: string): Failure =>
  new Failure('proxy_not_configured', { message: `not configured for this account: ${what}` });
