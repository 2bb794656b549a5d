import type { Clock, Random } from '../../../kernel/clock.ts';
import type { ProcessorCall } from '../../processor.ts';
import type { Connections, Reply } from '../connection.ts';
import { encryptedBody, readRecipient } from './encryption.ts';
import { baseUrl } from './settings.ts';
import { jwtHeaders, secretOf, signatureHeaders } from './signature.ts';

export interface WireOptions {
  readonly connections: Connections;
  readonly clock: Clock;
  readonly random: Random;
}

const MEDIA_TYPE = 'application/json;charset=utf-8';

/** Signs a request and sends it, once. */
export class Wire {
  readonly #options: WireOptions;

  constructor(options: WireOptions) {
    this.#options = options;
  }

  post(call: ProcessorCall, path: string, body: object): Promise<Reply> {
    return this.#send(call, 'POST', path, JSON.stringify(body));
  }

  /** With `mle-certificate` encrypted; that it cannot be encrypted is no reason to send it in clear. */
  postEncrypted(call: ProcessorCall, path: string, body: object): Promise<Reply> {
    const { 'mle-certificate': certificate, auth } = call.settings;
    if (certificate === undefined) return this.post(call, path, body);
    const recipient = readRecipient(certificate);
    if (recipient === undefined || auth === 'http-signature')
      return Promise.resolve({ kind: 'not-sent', why: 'mle-certificate' });
    const { clock, random } = this.#options;
    return this.#send(call, 'POST', path, encryptedBody(JSON.stringify(body), recipient, clock, random));
  }

  get(call: ProcessorCall, path: string): Promise<Reply> {
    return this.#send(call, 'GET', path, undefined);
  }

  #send(call: ProcessorCall, method: 'GET' | 'POST', path: string, body: string | undefined): Promise<Reply> {
    const { connections, clock, random } = this.#options;
    const { settings, tenant, signal } = call;
    const url = new URL(`${baseUrl(settings['base-url'], tenant.environment)}${path}`);
    const credentials = {
      merchantId: settings['merchant-id'] ?? '',
      keyId: settings['key-id'] ?? '',
      secret: secretOf(settings['shared-secret'] ?? ''),
    };
    const signed = { method, url, body };
    const proof =
      settings['auth'] === 'http-signature'
        ? signatureHeaders(credentials, signed, clock)
        : jwtHeaders(credentials, signed, clock, random);
    const headers = {
      ...proof,
      accept: 'application/hal+json;charset=utf-8',
      ...(body === undefined ? {} : { 'content-type': MEDIA_TYPE }),
    };
    return connections.send({ method, url, headers, signal, ...(body === undefined ? {} : { body }) });
  }
}
