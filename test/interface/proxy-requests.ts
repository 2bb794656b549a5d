import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import type { Permission } from '../../src/accounts/permission.ts';
import { exportJournal } from '../../src/audit/verify-journal.ts';
import type { Environment } from '../../src/kernel/environment.ts';
import { newKeyPair, privatePem, publicPem, type RsaKeyPair } from '../fixtures/rsa-key-pairs.ts';
import type { TestResponse, TestService } from '../fixtures/test-service.ts';
import { plaintextsOf } from '../receivers/node-decryption.ts';
import { openJose as receiveJose } from '../receivers/node-jose.ts';
import { openEnvelope } from '../receivers/node-receiver.ts';
import { CAPTURES, capture, dataOf, TOKENIZE } from './vault-requests.ts';

/** Helpers of the proxy tests: configured accounts, and receivers that decrypt what they get. */
export const JOSE = '/proxy/jose';
export const WSSEC = '/proxy/wssec';
export const HASH = '/proxy/hash';

/** The endpoints, each with a body around a text. */
export const ENDPOINTS = [
  { name: 'jose', path: JOSE, type: 'application/json', around: (text: string) => JSON.stringify({ cvv: text }) },
  { name: 'wssec', path: WSSEC, type: 'application/xml', around: (text: string) => `<a>${text}</a>` },
  { name: 'hash', path: `${HASH}?type=SHA256`, type: 'text/plain', around: (text: string) => text },
] as const;

/** Keys of every account that is made here, unless it brings its own. */
export const PROCESSOR = newKeyPair();
export const MERCHANT = newKeyPair();

const OPERATOR = { actor: { type: 'operator' as const, name: 'test' } };

export interface Tenant {
  readonly account: string;
  readonly environment: Environment;
}

interface Setup {
  readonly processor?: RsaKeyPair | undefined;
  readonly merchant?: RsaKeyPair | undefined;
  readonly certificate?: X509Certificate | undefined;
  readonly settings?: Readonly<Record<string, string>>;
  readonly overlapMinutes?: number;
}

export async function configure(service: TestService, { account, environment }: Tenant, setup: Setup): Promise<void> {
  const { processor, merchant, certificate, settings = {}, overlapMinutes = 0 } = setup;
  const changes = {
    ...(processor && { processorPublicKey: Buffer.from(publicPem(processor)) }),
    ...(merchant && { merchantPrivateKey: Buffer.from(privatePem(merchant)) }),
    ...(certificate && { merchantCertificate: certificate.raw }),
  };
  await service.core.transactions.run({ origin: OPERATOR }, (transaction) =>
    service.core.configurations.configure(
      transaction,
      { account, environment },
      { ...changes, settings, overlapMinutes },
    ),
  );
}

export const removeConfiguration = (service: TestService, { account, environment }: Tenant): Promise<void> =>
  service.core.transactions.run({ origin: OPERATOR }, (transaction) =>
    service.core.configurations.remove(transaction, { account, environment }),
  );

export type Headers = Readonly<Record<string, string>>;

/** A merchant who sends payloads: an account with keys of the proxy, tokens and captures. */
export interface Sender extends Tenant {
  readonly service: TestService;
  readonly key: string;
  readonly keyId: string;
  jose(body: unknown, headers?: Headers): Promise<TestResponse>;
  wssec(body: unknown, headers?: Headers): Promise<TestResponse>;
  hash(body: unknown, headers?: Headers, query?: string): Promise<TestResponse>;
  /** A permanent token of a card. */
  token(pan: string, more?: object): Promise<string>;
  /** A capture of card data. */
  capture(chd: object, ttl?: number): Promise<string>;
  /** The audit records of the account that say who read card data, or was not let. */
  reads(): Promise<AuditRecord[]>;
}

export interface AuditRecord {
  readonly action: string;
  readonly outcome: string;
  readonly environment: string;
  readonly targets: readonly string[];
  readonly detail: Readonly<Record<string, unknown>>;
}

interface SenderOptions {
  readonly account?: string;
  readonly environment?: Environment;
  readonly permissions?: readonly Permission[];
  /** False: without any configuration. */
  readonly setup?: Setup | false;
}

export const withKey = (key: string, type: string, headers: Headers = {}): Record<string, string> => ({
  'ft-access-key': key,
  'content-type': type,
  ...headers,
});

export async function newSender(service: TestService, options: SenderOptions = {}): Promise<Sender> {
  const { environment = 'sandbox', permissions, setup = { processor: PROCESSOR, merchant: MERCHANT } } = options;
  const account = options.account ?? (await service.newAccount());
  // Records are made with a key that may do everything.
  const all = await service.newKey(account, { environment });
  const own = permissions === undefined ? all : await service.newKey(account, { environment, permissions });
  if (setup !== false) await configure(service, { account, environment }, setup);
  const post = (path: string, body: unknown, headers: Record<string, string>): Promise<TestResponse> =>
    service.call('POST', path, { environment, body, headers });
  return {
    service,
    account,
    environment,
    key: own.secret,
    keyId: own.id,
    jose: (body, headers) => post(JOSE, body, withKey(own.secret, 'application/json', headers)),
    wssec: (body, headers) => post(WSSEC, body, withKey(own.secret, 'application/xml', headers)),
    hash: (body, headers, query = 'type=SHA256') =>
      post(`${HASH}?${query}`, body, withKey(own.secret, 'application/json', headers)),
    token: async (pan, more = {}) => {
      const body = { chd: [{ card: pan, name: 'Ana Lopez', exp: '12/29', ...more }], tags: [], scheme: 7 };
      return dataOf(await service.call('POST', TOKENIZE, { key: all.secret, environment, body })).tokens[0].token;
    },
    capture: async (chd, ttl = 60) =>
      dataOf(await service.call('POST', CAPTURES, { key: all.secret, environment, body: capture({ chd, ttl }) })).id,
    reads: async () => {
      const records: AuditRecord[] = [];
      for await (const link of exportJournal(service.core.database)) {
        if (link.account !== account) continue;
        const { targets = [], detail = {}, ...record } = JSON.parse(link.record);
        if (/^(token\.detokenized|capture\.retrieved|access\.denied)$/.test(record.action))
          records.push({ ...record, environment: link.environment, targets, detail });
      }
      return records;
    },
  };
}

/** The data of an answer that must be a success in the proxy's shape. */
// biome-ignore lint/suspicious/noExplicitAny: data of every shape
export function proxied(response: TestResponse): any {
  assert.equal(response.status, 200, response.text);
  const { data, ...envelope } = response.json;
  assert.deepEqual(envelope, { status: 200 });
  assert.equal(response.headers['content-type'], 'application/json; charset=utf-8');
  return data;
}

/** A refusal in exactly the proxy's shape. */
export function assertRefused(response: TestResponse, description: string | RegExp, status = 400): void {
  assert.equal(response.status, status, response.text);
  const text = response.json.description;
  assert.equal(response.text, JSON.stringify({ status_code: status, status: 'fail', description: text, data: '' }));
  if (typeof description === 'string') assert.equal(text, description);
  else assert.match(text, description);
}

/** The payload that the processor gets, after all signatures were verified. */
export async function openJose(
  // biome-ignore lint/suspicious/noExplicitAny: of every shape before it is checked
  data: any,
  { processor = PROCESSOR, merchant = MERCHANT }: Setup = {},
): Promise<string> {
  assert.deepEqual(Object.keys(data), ['value', 'encryption', 'signed']);
  assert.equal(data.signed, true);
  const keys = { processorKey: privatePem(processor), merchant: publicPem(merchant) };
  return (await receiveJose({ value: data.value, encryption: data.encryption }, keys)).payload;
}

export const joseHeader = (compact: string): Record<string, string> =>
  JSON.parse(Buffer.from(compact.split('.')[0] ?? '', 'base64url').toString());

/** The envelope that the processor gets (encrypt, then sign), as it was written, after the signature was verified. */
export function openWssec(xml: string, { processor = PROCESSOR, merchant = MERCHANT }: Setup = {}): string {
  assert.ok(xml.startsWith('<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/">'), xml);
  const [, token = ''] = /<wsse:BinarySecurityToken [^>]*>([^<]+)</.exec(xml) ?? [];
  const [, created = ''] = /<wsu:Created>([^<]+)</.exec(xml) ?? [];
  const certificate = new X509Certificate(Buffer.from(token, 'base64'));
  assert.ok(certificate.publicKey.equals(merchant.publicKey));
  const processorKey = privatePem(processor);
  const keys = { processorKey, merchant: certificate.toString() };
  const { signed, encrypted } = openEnvelope(xml, keys, Date.parse(created));
  assert.deepEqual([...signed].sort(), ['BinarySecurityToken', 'Body', 'Timestamp']);
  assert.deepEqual(encrypted, ['Body']);
  const [content = assert.fail('no content')] = plaintextsOf(xml, processorKey);
  return content;
}
