import { type KeyObject, X509Certificate } from 'node:crypto';
import { encryptGcm, GCM_IV_BYTES } from '../../../crypto/aes.ts';
import { encryptRsa } from '../../../crypto/rsa.ts';
import { parsePublicKey } from '../../../crypto/rsa-keys.ts';
import type { Clock, Random } from '../../../kernel/clock.ts';
import type { Environment } from '../../../kernel/environment.ts';
import { explain } from '../../../kernel/reasons.ts';
import type { ProcessorCall } from '../../processor.ts';
import { oneOf, type SettingTable, text, url } from '../../settings.ts';
import type { Destination, HttpResult, OutboundHttp } from '../outbound-http.ts';
import { buildJwtHeaders, buildSignatureHeaders, toSecretKey } from './signature.ts';

/** The hosts that `docs/processors/cybersource.md` names; the first is the default. */
export const CYBERSOURCE_HOSTS = {
  production: ['https://api.cybersource.com', 'https://api.in.cybersource.com'],
  sandbox: ['https://apitest.cybersource.com'],
} as const satisfies Record<Environment, readonly string[]>;

const DESTINATION: Destination = { processor: 'cybersource', documentedOrigins: CYBERSOURCE_HOSTS.production };

export const CYBERSOURCE_SETTINGS = {
  'base-url': url(
    {
      en: 'Address of CyberSource. Default: the address of the environment',
      es: 'Dirección de CyberSource. Predeterminada: la del entorno',
    },
    { destination: true, namesAccount: true },
  ),
  'merchant-id': text(
    { en: 'Merchant id of the transactions', es: 'Id de comercio de las transacciones' },
    /^[A-Za-z0-9_.-]{1,64}$/,
    explain('valueOfCharacters', { min: 1, max: 64, signs: '_ . -' }),
    { required: true, namesAccount: true },
  ),
  'key-id': text(
    { en: 'Id of the REST key', es: 'Id de la clave REST' },
    /^[A-Za-z0-9_-]{1,64}$/,
    explain('valueOfCharacters', { min: 1, max: 64, signs: '_ -' }),
    { required: true },
  ),
  'shared-secret': text(
    { en: 'Shared secret of the REST key', es: 'Secreto compartido de la clave REST' },
    /^(?:[A-Za-z0-9+/]{4}){4,128}(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/,
    explain('valueBase64', { min: 12 }),
    { required: true, secret: true },
  ),
  auth: oneOf({ en: 'How requests are signed', es: 'Cómo se firman las solicitudes' }, ['jwt', 'http-signature'], {
    defaultValue: 'jwt',
  }),
  'mle-certificate': {
    description: {
      en: 'Certificate for message-level encryption; needs auth=jwt',
      es: 'Certificado para el cifrado de mensajes; necesita auth=jwt',
    },
    expected: explain('valueCertificate'),
    accepts: (value) => parseRecipient(value) !== undefined,
  },
  'soft-decline': oneOf(
    {
      en: 'Action for an authorization that the issuer approved and CyberSource declined because of its address or card code check',
      es: 'Acción para una autorización que el emisor aprobó y CyberSource rechazó por la verificación de dirección o del código de la tarjeta',
    },
    ['reverse', 'accept'],
    { defaultValue: 'reverse' },
  ),
} satisfies SettingTable;

/** Without a trailing slash. */
export const buildBaseUrl = (setting: string | undefined, environment: Environment): string =>
  (setting ?? CYBERSOURCE_HOSTS[environment][0]).replace(/\/+$/, '');

export interface ClientOptions {
  readonly outboundHttp: OutboundHttp;
  readonly clock: Clock;
  readonly random: Random;
}

const MEDIA_TYPE = 'application/json;charset=utf-8';

/** Signs a request and sends it once. */
export class CyberSourceClient {
  readonly #options: ClientOptions;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  post(call: ProcessorCall, path: string, body: object): Promise<HttpResult> {
    return this.#send(call, 'POST', path, JSON.stringify(body));
  }

  /** Sends a request encrypted when `mle-certificate` is set. A failed encryption is no reason to send it in clear. */
  postEncrypted(call: ProcessorCall, path: string, body: object): Promise<HttpResult> {
    const { 'mle-certificate': certificate, auth } = call.settings;
    if (certificate === undefined) return this.post(call, path, body);
    const recipient = parseRecipient(certificate);
    if (recipient === undefined || auth === 'http-signature')
      return Promise.resolve({ kind: 'not-sent', why: 'mle-certificate' });
    const { clock, random } = this.#options;
    return this.#send(call, 'POST', path, encryptBody(JSON.stringify(body), recipient, clock, random));
  }

  get(call: ProcessorCall, path: string): Promise<HttpResult> {
    return this.#send(call, 'GET', path, undefined);
  }

  #send(call: ProcessorCall, method: 'GET' | 'POST', path: string, body: string | undefined): Promise<HttpResult> {
    const { outboundHttp, clock, random } = this.#options;
    const { settings, tenant, signal } = call;
    const url = new URL(`${buildBaseUrl(settings['base-url'], tenant.environment)}${path}`);
    const credentials = {
      merchantId: settings['merchant-id'] ?? '',
      keyId: settings['key-id'] ?? '',
      secret: toSecretKey(settings['shared-secret'] ?? ''),
    };
    const signedRequest = { method, url, body };
    const authentication =
      settings['auth'] === 'http-signature'
        ? buildSignatureHeaders(credentials, signedRequest, clock)
        : buildJwtHeaders(credentials, signedRequest, clock, random);
    const headers = {
      ...authentication,
      accept: 'application/hal+json;charset=utf-8',
      ...(body === undefined ? {} : { 'content-type': MEDIA_TYPE }),
    };
    return outboundHttp.send({
      tenant,
      to: DESTINATION,
      method,
      url,
      headers,
      signal,
      ...(body === undefined ? {} : { body }),
    });
  }
}

/** Message-level encryption: the body of a request as a JWE for CyberSource's key, in addition to TLS. */

interface Recipient {
  readonly key: KeyObject;
  readonly kid: string;
}

const CONTENT_KEY_BYTES = 32;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})+(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/**
 * Returns the key id of a certificate that is base64 of its DER. CyberSource names its keys by an attribute of the
 * subject, not by the serial number. Undefined when the text is no such certificate.
 */
export function parseRecipient(base64: string): Recipient | undefined {
  if (!BASE64.test(base64)) return undefined;
  try {
    const { subject, raw } = new X509Certificate(Buffer.from(base64, 'base64'));
    const kid = /^serialNumber=([A-Za-z0-9]{1,64})$/m.exec(subject)?.[1];
    return kid === undefined ? undefined : { key: parsePublicKey(raw), kid };
  } catch {
    return undefined;
  }
}

export function encryptBody(body: string, { key, kid }: Recipient, clock: Clock, random: Random): string {
  const header = { alg: 'RSA-OAEP-256', enc: 'A256GCM', cty: 'JWT', kid, iat: Math.floor(clock() / 1000) };
  const protectedHeader = Buffer.from(JSON.stringify(header), 'utf8').toString('base64url');
  const contentKey = random.bytes(CONTENT_KEY_BYTES);
  try {
    const iv = random.bytes(GCM_IV_BYTES);
    const wrapped = encryptRsa('oaep-sha256', key, contentKey);
    const additional = Buffer.from(protectedHeader, 'ascii');
    const { ciphertext, tag } = encryptGcm(contentKey, iv, Buffer.from(body, 'utf8'), additional);
    const parts = [wrapped, iv, ciphertext, tag].map((part) => Buffer.from(part).toString('base64url'));
    return JSON.stringify({ encryptedRequest: [protectedHeader, ...parts].join('.') });
  } finally {
    contentKey.fill(0);
  }
}
