import type { LookupAddress } from 'node:dns';
import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { LIMITS } from '../kernel/limits.ts';
import { resolveName } from './resolve-name.ts';
import type { TargetAddresses } from './target-address.ts';
import type { DeliveryError } from './webhook.ts';

// An import of the module would load the WebSocket client and `fetch` of Node as well.
const { Agent: HttpAgent, request: httpRequest } = process.getBuiltinModule('node:http');

/** One attempt. Header names in lower case. */
export interface OutgoingMessage {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/** The result of an attempt. Of the response only its status and `Retry-After` are kept. */
export interface SendResult {
  readonly statusCode: number | undefined;
  readonly error: DeliveryError | undefined;
  readonly retryAfter: string | undefined;
}

/** Resolves a name to all of its addresses, until the signal. */
type Resolve = (name: string, signal: AbortSignal) => Promise<LookupAddress[]>;

class AddressError extends Error {}

/**
 * Sends messages to endpoints. Each connection goes to an address that was checked for it: the name is resolved once for an
 * attempt, all of its addresses are checked, and the connection is made to one of these, so that a name that changes between
 * check and connection cannot get around the check. No connection is used twice, for the same reason. There is no proxy, no
 * redirect, and no retry within an attempt.
 */
export class WebhookSender {
  readonly #addresses: TargetAddresses;
  readonly #resolve: Resolve;
  /** The certificate is verified whatever the environment of the process says. */
  readonly #https = new HttpsAgent({ keepAlive: false, minVersion: 'TLSv1.2', rejectUnauthorized: true });
  readonly #http = new HttpAgent({ keepAlive: false });

  constructor(addresses: TargetAddresses, resolve: Resolve = resolveName) {
    this.#addresses = addresses;
    this.#resolve = resolve;
  }

  /** Never rejects. `signal` ends the attempt early, as a timeout. */
  async send(message: OutgoingMessage, signal?: AbortSignal): Promise<SendResult> {
    const url = new URL(message.url);
    const deadline = AbortSignal.timeout(LIMITS.webhookAttemptMs);
    const ends = signal === undefined ? deadline : AbortSignal.any([deadline, signal]);
    try {
      const addresses = await withSignal(this.#addressesOf(url.hostname.replace(/^\[|\]$/g, ''), ends), ends);
      return await this.#exchange(url, addresses, message, ends);
    } catch (error) {
      return failed(ends.aborted ? 'timeout' : error instanceof AddressError ? 'address' : 'connect');
    }
  }

  close(): void {
    this.#https.destroy();
    this.#http.destroy();
  }

  /** One forbidden address among a name's forbids all. */
  async #addressesOf(host: string, signal: AbortSignal): Promise<LookupAddress[]> {
    const family = isIP(host);
    const found = family === 0 ? await this.#resolve(host, signal).catch(() => []) : [{ address: host, family }];
    const isUsable = found.length > 0 && found.length <= LIMITS.webhookAddresses;
    if (!isUsable || !this.#addresses.areAllowed(found.map(({ address }) => address))) throw new AddressError();
    return found;
  }

  #exchange(
    url: URL,
    addresses: readonly LookupAddress[],
    { headers, body }: OutgoingMessage,
    signal: AbortSignal,
  ): Promise<SendResult> {
    return new Promise((resolve) => {
      const isTls = url.protocol === 'https:';
      const options: RequestOptions = {
        method: 'POST',
        headers: { ...headers, 'content-length': String(body.byteLength) },
        signal,
        lookup: pinned(addresses),
      };
      const request: ClientRequest = isTls
        ? httpsRequest(url, { ...options, agent: this.#https })
        : httpRequest(url, { ...options, agent: this.#http });
      let phase: DeliveryError = 'connect';
      let result: SendResult | undefined;
      request.on('socket', (socket) => {
        socket.once('connect', () => {
          phase = isTls ? 'tls' : 'status';
        });
        socket.once('secureConnect', () => {
          phase = 'status';
        });
      });
      request.on('response', (response) => {
        // Its headers are the result. The attempt lasts as long as its connection, which counts against the limits of requests.
        const received = toResult(response);
        result = received;
        response.once('close', () => resolve(received));
        drain(response);
      });
      // A response 101 was not requested: without a listener no further event would arrive.
      request.on('upgrade', (response, socket) => {
        socket.destroy();
        resolve(toResult(response));
      });
      // A connection that ends before the headers of a response says as little as one that was never made.
      request.on('error', () =>
        resolve(result ?? failed(signal.aborted ? 'timeout' : phase === 'status' ? 'connect' : phase)),
      );
      request.end(body);
    });
  }
}

const failed = (error: DeliveryError): SendResult => ({ statusCode: undefined, error, retryAfter: undefined });

function toResult({ statusCode = 0, headers }: IncomingMessage): SendResult {
  const isSuccess = statusCode >= 200 && statusCode < 300;
  return { statusCode, error: isSuccess ? undefined : 'status', retryAfter: headers['retry-after'] };
}

/** Reads what is left of a response up to a bound, so that the receiver sees no broken connection. */
function drain(response: IncomingMessage): void {
  let left = LIMITS.webhookResponseBytes;
  response.on('data', (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) response.destroy();
  });
  response.on('error', () => undefined);
}

/** Returns the checked addresses instead of resolving the name again. */
function pinned(addresses: readonly LookupAddress[]): LookupFunction {
  return (_name, options, callback) => {
    const [first] = addresses;
    if (options.all === true) callback(null, [...addresses]);
    else callback(null, first?.address ?? '', first?.family);
  };
}

function withSignal<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) reject(new Error('aborted'));
    signal.addEventListener('abort', () => reject(new Error('aborted')), { once: true });
    promise.then(resolve, reject);
  });
}
