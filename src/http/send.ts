import type { FastifyReply, FastifyRequest } from 'fastify';
import { normalizeAddress } from '../accounts/allow-list.ts';
import type { Usage } from '../accounts/usage.ts';
import type { MonotonicClock } from '../kernel/clock.ts';
import { LIMITS } from '../kernel/limits.ts';
import { Cache } from '../storage/cache.ts';
import { ENVELOPES } from './envelopes.ts';
import { describeError, type Log } from './log.ts';
import type { Metrics } from './metrics.ts';
import type { RouteResponse } from './pipeline.ts';
import { PROBLEMS, toFailure } from './problems.ts';
import { countRequest } from './request-counters.ts';
import type { Grant, ResponseHeaders, Route } from './route.ts';

/** Observers of the outcomes of requests. */
export interface Reporting {
  /** Measures the durations of requests. */
  readonly stopwatch: MonotonicClock;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Counters of the requests of tenants; absent where there are none. */
  readonly usage?: Usage;
  /** A name for logs and metrics. */
  readonly listener: string;
  /** Headers of every response of the listener, in addition to those of all listeners. */
  readonly headers?: (request: FastifyRequest) => Readonly<Record<string, string>>;
}

/** The path of a request: that of its route, or one that serves other methods. */
export type Target = Pick<Route, 'path' | 'family' | 'operationId'>;

export const JSON_TYPE = 'application/json; charset=utf-8';

/**
 * Renders a failure in the shape of its family, and reports it to metrics and, when it is an error of the service, to
 * the log.
 */
export function sendFailure(
  options: Reporting,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const failure = toFailure(error);
  const { status, retryAfterSeconds: retryAfter } = PROBLEMS[failure.code];
  options.metrics.countFailure(options.listener, failure.code);
  if (status >= 500) {
    const cause = failure.cause ?? failure;
    options.log.error('request failed', {
      ...describeError(cause),
      listener: options.listener,
      request_id: request.id,
      failure: failure.code,
    });
  }
  if (retryAfter !== undefined && !reply.hasHeader('retry-after')) reply.header('retry-after', String(retryAfter));
  const { failure: render } = ENVELOPES[request.target?.family ?? 'vault'];
  return reply
    .code(status)
    .header('content-type', JSON_TYPE)
    .send(JSON.stringify(render(failure, status)));
}

/** Rejects a request to no route, and reports it when the response has left. */
export function sendUnrouted(
  options: Reporting,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  reply.raw.once('finish', () => reportRequest(options, request, reply.statusCode));
  return sendFailure(options, error, request, reply.headers(commonHeaders(options, request)));
}

/** Writes head and body at once, and reports the request. */
export function writeResponse(
  options: Reporting,
  request: FastifyRequest,
  reply: FastifyReply,
  headers: ResponseHeaders,
  { status, body, isReplay }: RouteResponse,
): void {
  if (isReplay) headers['idempotent-replayed'] = 'true';
  headers['content-type'] = JSON_TYPE;
  headers['content-length'] = Buffer.byteLength(body);
  reply.hijack();
  reply.raw.writeHead(status, headers);
  reply.raw.end(body);
  reportRequest(options, request, status);
}

const NOBODY: Partial<Grant> = {};

/** Writes one line of the log, one observation of its duration, and one count. */
export function reportRequest(options: Reporting, request: FastifyRequest, status: number): void {
  const { log, metrics, usage, listener, stopwatch } = options;
  const { method, target, grant: { key, tenant } = NOBODY, startedAt } = request;
  const path = target?.path ?? '(none)';
  const milliseconds = startedAt === undefined ? 0 : stopwatch() - startedAt;
  metrics.observeRequest(listener, method, path, status, milliseconds);
  const operationId = target?.operationId;
  if (usage !== undefined && tenant !== undefined && operationId !== undefined)
    countRequest(usage, tenant, operationId, { status, milliseconds });
  log.request({
    listener,
    request_id: request.id,
    method,
    route: path,
    status,
    duration_ms: Math.round(milliseconds * 1000) / 1000,
    address: request.head?.address ?? clientAddress(request),
    account: key && tenant?.account,
    key: key?.id,
  });
}

/** Headers of every response, also of one to a request that cannot be parsed. */
export const BASE_HEADERS = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' };

/** Headers of every response of a listener. */
export function commonHeaders({ headers }: Reporting, request: FastifyRequest): Record<string, string> {
  const common = {
    'x-request-id': request.id,
    'cache-control': BASE_HEADERS['cache-control'],
    'x-content-type-options': BASE_HEADERS['x-content-type-options'],
  };
  return headers === undefined ? common : { ...common, ...headers(request) };
}

/** Characters; any longer text is no address, and would only take memory. */
const MAX_ADDRESS_CHARACTERS = 45;

/** Parsing an address costs more than finding it in a cache, and most requests come from few addresses. */
const PARSED_ADDRESSES = new Cache<string, string>({
  clock: () => 0,
  max: LIMITS.trackedAddresses,
  ttlMs: Number.POSITIVE_INFINITY,
});

/** The address after trusted proxies. The forwarded text is untrusted, so only a valid address is accepted. */
export function clientAddress({ ip = '' }: FastifyRequest): string {
  let address = PARSED_ADDRESSES.peek(ip);
  if (address === undefined) {
    address = normalizeAddress(ip) ?? 'unknown';
    if (ip.length <= MAX_ADDRESS_CHARACTERS) PARSED_ADDRESSES.set(ip, address);
  }
  return address;
}
