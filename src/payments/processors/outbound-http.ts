import type { IncomingMessage, RequestOptions } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { Tenant } from '../../kernel/environment.ts';
import { LIMITS } from '../../kernel/limits.ts';
import type { NotSent } from '../processor.ts';
import type { ProcessorHosts } from '../processor-hosts.ts';
import { toFailureStatus } from '../transitions.ts';

// An import of the module would load the WebSocket client and `fetch` of Node as well.
const { Agent: HttpAgent, request: httpRequest } = process.getBuiltinModule('node:http');

/** The name of a processor, with the `https:` origins that its documentation names for production. */
export interface Destination {
  readonly processor: string;
  readonly documentedOrigins: readonly string[];
}

/** One HTTP request to a processor. */
export interface ProcessorRequest {
  readonly tenant: Tenant;
  readonly to: Destination;
  readonly method: 'GET' | 'POST' | 'PUT';
  readonly url: URL;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal: AbortSignal;
}

/** `not-sent`: the processor has certainly not received the request. `why` is a code for operators. */
export type HttpResult =
  | { readonly kind: 'answered'; readonly status: number; readonly body: string }
  | { readonly kind: 'not-sent'; readonly why: string }
  | { readonly kind: 'unknown'; readonly why: string };

/** The code of a request that was not sent because its host is not allowed. */
export const HOST_REFUSED = 'host-refused';

/**
 * Returns the failure of a request that the processor has certainly not received. A host that is not allowed is an
 * error in the configuration, with its own reason.
 */
export const notSent = ({ why }: Extract<HttpResult, { kind: 'not-sent' }>): NotSent =>
  why === HOST_REFUSED ? { kind: 'not-sent', failure: toFailureStatus('InvalidConfiguration') } : { kind: 'not-sent' };

/** Reports a request that was not sent because its host is not allowed. */
export type OnHostRefused = (tenant: Tenant, processor: string) => void;

/**
 * Shorter than the usual limit of servers and balancers for idle connections, so that few requests use a closed one.
 */
const IDLE_MS = 4000;

/**
 * Connections to processors. A request is sent once, on one connection: without retries and redirects. A failure before
 * the connection was established means that nothing was sent; after any later failure it may have been. In production
 * the host of each request is checked: settings may be older than the list of allowed hosts, or come from a process
 * with another list.
 */
export class OutboundHttp {
  readonly #hosts: ProcessorHosts;
  #onHostRefused: OnHostRefused = () => undefined;
  /** The certificate is verified whatever the environment of the process says. */
  readonly #https = new HttpsAgent({
    keepAlive: true,
    timeout: IDLE_MS,
    minVersion: 'TLSv1.2',
    rejectUnauthorized: true,
  });
  readonly #http = new HttpAgent({ keepAlive: true, timeout: IDLE_MS });

  constructor(hosts: ProcessorHosts) {
    this.#hosts = hosts;
  }

  onHostRefused(report: OnHostRefused): void {
    this.#onHostRefused = report;
  }

  send(request: ProcessorRequest): Promise<HttpResult> {
    const { tenant, to, url } = request;
    if (!this.#hosts.isAllowed(tenant.environment, to.documentedOrigins, url)) {
      this.#onHostRefused(tenant, to.processor);
      return Promise.resolve({ kind: 'not-sent', why: HOST_REFUSED });
    }
    if (request.signal.aborted) return Promise.resolve({ kind: 'not-sent', why: 'timeout' });
    return new Promise((resolve) => this.#exchange(request, resolve));
  }

  close(): void {
    this.#https.destroy();
    this.#http.destroy();
  }

  #exchange({ method, url, headers, body, signal }: ProcessorRequest, resolve: (reply: HttpResult) => void): void {
    const isSecure = url.protocol === 'https:';
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    const options: RequestOptions = { method, headers: { ...headers, ...length }, signal };
    const request = isSecure
      ? httpsRequest(url, { ...options, agent: this.#https })
      : httpRequest(url, { ...options, agent: this.#http });
    let mayHaveBeenSent = false;
    request.on('socket', (socket) => {
      // A reused connection is written to immediately.
      if (request.reusedSocket) mayHaveBeenSent = true;
      else
        socket.once(isSecure ? 'secureConnect' : 'connect', () => {
          mayHaveBeenSent = true;
        });
    });
    request.on('response', (response) => collectResponse(response, resolve));
    // Status 101 was not requested: without a listener, no further event would arrive.
    request.on('upgrade', (_incoming, socket) => {
      socket.destroy();
      resolve({ kind: 'unknown', why: 'upgrade' });
    });
    request.on('error', (error) => resolve({ kind: mayHaveBeenSent ? 'unknown' : 'not-sent', why: errorCode(error) }));
    request.end(body);
  }
}

function collectResponse(response: IncomingMessage, resolve: (reply: HttpResult) => void): void {
  const chunks: Buffer[] = [];
  let size = 0;
  response.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size > LIMITS.processorResponseBytes) response.destroy(new Error('too long'));
    else chunks.push(chunk);
  });
  response.on('end', () => {
    resolve({ kind: 'answered', status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString('utf8') });
  });
  response.on('error', (error) => resolve({ kind: 'unknown', why: errorCode(error) }));
  response.on('aborted', () => resolve({ kind: 'unknown', why: 'cut-off' }));
}

/** Returns the code of an error, never its message, which may contain addresses and other data. */
function errorCode(error: Error): string {
  if (error.name === 'AbortError') return 'timeout';
  const { code } = error as NodeJS.ErrnoException;
  return typeof code === 'string' && /^[A-Z_0-9]{1,64}$/.test(code) ? code : 'failed';
}
