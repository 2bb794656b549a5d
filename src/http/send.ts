import type { IncomingMessage } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { normalizeAddress } from '../accounts/allow-list.ts';
import type { KnownCaller, RequestLog } from '../accounts/request-log.ts';
import { isError, NO_ROUTE } from '../accounts/request-log-terms.ts';
import type { Usage } from '../accounts/usage.ts';
import type { MonotonicClock } from '../kernel/clock.ts';
import type { Environment } from '../kernel/environment.ts';
import type { Failure } from '../kernel/failure.ts';
import { LIMITS } from '../kernel/limits.ts';
import { toOwnMemory } from '../kernel/own-memory.ts';
import { Cache } from '../storage/cache.ts';
import { describeError, type Log } from './log.ts';
import type { Metrics } from './metrics.ts';
import { PROBLEMS, renderFailure, toFailure } from './problems.ts';
import { countRequest } from './request-counters.ts';
import { CallerFailure, type Grant, type Route } from './route.ts';
import type { Traces } from './traces.ts';

/** Observers of the outcomes of requests. */
export interface Reporting {
  /** Measures the durations of requests. */
  readonly stopwatch: MonotonicClock;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Counters of the requests of tenants; absent where there are none. */
  readonly usage?: Usage;
  /** Records the requests of an environment; absent for the console. */
  readonly requestLog?: { readonly log: RequestLog; readonly environment: Environment };
  /** Traces of requests; absent while there are none. */
  readonly traces?: Traces | undefined;
  /** A name for logs and metrics. */
  readonly listener: string;
  /** Headers of every response of the listener, in addition to those of all listeners. */
  readonly headers?: (request: FastifyRequest) => Readonly<Record<string, string>>;
}

/** The path of a request: that of its route, or one that serves other methods. */
export type Target = Pick<Route, 'path' | 'family' | 'operationId'>;

export const JSON_TYPE = 'application/json; charset=utf-8';

/** Counts a failure, and logs an error of the service. */
export function reportFailure({ metrics, listener, log }: Reporting, failure: Failure, requestId: string): void {
  metrics.countFailure(listener, failure.code);
  if (PROBLEMS[failure.code].status < 500) return;
  const cause = describeError(failure.cause ?? failure);
  log.error('request failed', { ...cause, listener, request_id: requestId, failure: failure.code });
}

/** Responds with a failure through Fastify, and reports the failure. */
export function sendFailure(
  options: Reporting,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const failure = toFailure(error);
  request.failure = failure;
  reportFailure(options, failure, request.id);
  // The begin of the next request is unknown, or far away.
  if (failure.code === 'body_too_large' || hasUnsupportedHeaders(request.raw)) reply.header('connection', 'close');
  const { retryAfterSeconds } = PROBLEMS[failure.code];
  if (retryAfterSeconds !== undefined) reply.header('retry-after', String(retryAfterSeconds));
  const { status, body } = renderFailure(failure, request.target?.family ?? 'vault');
  return reply.code(status).header('content-type', JSON_TYPE).send(body);
}

/** Rejects a request to no route, and reports it. */
export function sendUnrouted(
  options: Reporting,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  sendFailure(options, error, request, reply.headers(commonHeaders(options, request)));
  const { failure } = request;
  reportRequest(options, request, { status: reply.statusCode, address: clientAddress(request), failure });
  return reply;
}

/** Reports a request of a route without a door once its response has left, or its client. */
export function reportWhenClosed(options: Reporting, request: FastifyRequest, { raw }: FastifyReply): void {
  // A connection that has ended has no address.
  const address = clientAddress(request);
  raw.once('close', () => {
    // A client that leaves before the head of the response has not sent all of the request, or did not wait.
    const status = raw.headersSent ? raw.statusCode : PROBLEMS.malformed_request.status;
    reportRequest(options, request, { status, address, failure: request.failure });
  });
}

interface RequestResult {
  readonly status: number;
  readonly address: string;
  /** Absent without a door, and for a caller that it rejected. */
  readonly grant?: Grant | undefined;
  /** Absent for a success, and for a stored response that is repeated. */
  readonly failure?: Failure | undefined;
}

/** Writes one line of the log, one observation of its duration, and one count, and records the request. */
export function reportRequest(reporting: Reporting, request: FastifyRequest, result: RequestResult): void {
  const { log, metrics, usage, listener, stopwatch } = reporting;
  const { id, method, target, startedAt } = request;
  const { status, address, grant } = result;
  const path = target?.path ?? NO_ROUTE;
  const key = grant?.key;
  const tenant = grant?.tenant;
  const milliseconds = startedAt === undefined ? 0 : stopwatch() - startedAt;
  metrics.observeRequest(listener, method, path, status, milliseconds);
  const operationId = target?.operationId;
  if (usage !== undefined && tenant !== undefined && operationId !== undefined)
    countRequest(usage, tenant, operationId, { status, milliseconds });
  log.request({
    listener,
    request_id: id,
    method,
    route: path,
    status,
    duration_ms: Math.round(milliseconds * 1000) / 1000,
    address,
    account: key && tenant?.account,
    key: key?.id,
  });
  if (reporting.traces !== undefined) {
    const account = key && tenant?.account;
    const failure = result.failure?.code;
    const traced = { listener, method, route: path, status, requestId: id, account, failure };
    reporting.traces.end(request, milliseconds, traced);
  }
  recordRequest(reporting, request, result, milliseconds);
}

function recordRequest(
  { requestLog, metrics, listener }: Reporting,
  { id: requestId, method, target: route }: FastifyRequest,
  { status, address, grant, failure }: RequestResult,
  milliseconds: number,
): void {
  if (requestLog === undefined) return;
  const { log, environment } = requestLog;
  const hasFailed = isError(status);
  if (!hasFailed && !log.takesSuccess(grant?.tenant?.account, grant?.key?.id)) return;
  const caller = grant === undefined ? refusedCaller(failure) : callerOf(grant);
  const request = { environment, method, route, status, milliseconds, failure, requestId, address, caller };
  if (!hasFailed) log.addSuccess(request);
  else if (!log.addError(request)) metrics.countUnrecordedRequest(listener);
}

const callerOf = ({ key, tenant }: Grant): KnownCaller | undefined =>
  key && tenant && { account: tenant.account, key: key.id };

const refusedCaller = (failure: Failure | undefined): KnownCaller | undefined =>
  failure instanceof CallerFailure ? failure.caller : undefined;

/** Headers of every response, also of one to a request that cannot be parsed. */
export const BASE_HEADERS = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' };

/** Headers of every response of a listener. */
export function commonHeaders({ headers }: Reporting, request: FastifyRequest): Record<string, string> {
  const common: Record<string, string> = {
    'x-request-id': request.id,
    'cache-control': BASE_HEADERS['cache-control'],
    'x-content-type-options': BASE_HEADERS['x-content-type-options'],
  };
  if (request.span !== undefined) common['traceresponse'] = request.span.responseHeader;
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
    if (ip.length <= MAX_ADDRESS_CHARACTERS) PARSED_ADDRESSES.set(toOwnMemory(ip), address);
  }
  return address;
}

/**
 * Finds the requests that Node would reject itself, without our headers, log and shape: no Host, or an unknown
 * Expect.
 */
export const hasUnsupportedHeaders = ({ httpVersion, headers: { host, expect } }: IncomingMessage): boolean =>
  httpVersion === '1.1' && (host === undefined || (expect !== undefined && !/\b100-continue\b/i.test(expect)));
