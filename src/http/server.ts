import { type IncomingMessage, METHODS } from 'node:http';
import fastJson from 'fast-json-stringify';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { isAllowed } from '../accounts/allow-list.ts';
import type { Authentication } from '../accounts/authentication.ts';
import type { IdempotencyKeys } from '../idempotency/idempotency-keys.ts';
import type { Transactions } from '../idempotency/transaction.ts';
import type { Clock, Random } from '../kernel/clock.ts';
import type { Environment } from '../kernel/environment.ts';
import { Failure } from '../kernel/failure.ts';
import { LIMITS } from '../kernel/limits.ts';
import { ScanQueue } from '../storage/scan-queue.ts';
import type { Endpoint, Services } from './endpoint.ts';
import { ENVELOPES, type Family } from './envelopes.ts';
import { serializable } from './fields.ts';
import {
  type AccessGrant,
  Gate,
  RateLimitFailure,
  type RateLimits,
  type RequestSource,
  rateLimitHeaders,
} from './gate.ts';
import { assertMediaType } from './media.ts';
import { Performer } from './perform.ts';
import { chooseRequestId } from './request-id.ts';
import {
  clientAddress,
  commonHeaders,
  JSON_TYPE,
  type Reporting,
  reportRequest,
  sendFailure,
  sendUnrouted,
} from './send.ts';

declare module 'fastify' {
  interface FastifyRequest {
    admission: AccessGrant | undefined;
  }
  interface FastifyContextConfig {
    family?: Family;
    /** That of the reference. */
    operationId?: string;
  }
}

export interface ServerOptions extends Reporting {
  readonly clock: Clock;
  readonly random: Random;
  /** Networks of proxies whose forwarding headers are believed. */
  readonly trustedProxies: readonly string[];
}

export interface ApiServerOptions extends ServerOptions {
  readonly environment: Environment;
  readonly authentication: Authentication;
  readonly services: Services;
  readonly idempotency: IdempotencyKeys;
  readonly transactions: Transactions;
  readonly rates: RateLimits;
  readonly endpoints: readonly Endpoint[];
}

/** A server with what all listeners share: request ids, headers, failures in one shape, log and metrics. */
export function createBaseServer(options: ServerOptions): FastifyInstance {
  const { trustedProxies } = options;
  const app = fastify({
    logger: false,
    bodyLimit: LIMITS.bodyBytes,
    requestIdHeader: false,
    genReqId: (raw) => chooseRequestId(raw.headers['x-request-id'], options.random),
    trustProxy: trustedProxies.length === 0 ? false : (address: string) => isAllowed(trustedProxies, address),
    exposeHeadRoutes: false,
    return503OnClosing: false,
    frameworkErrors: (error, request, reply) => sendUnrouted(options, error, request, reply as FastifyReply),
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: LIMITS.pathParameterCharacters },
  });
  for (const method of METHODS)
    if (!app.supportedMethods.includes(method)) app.addHttpMethod(method, { hasBody: true });
  app.decorateRequest('admission', undefined);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  app.addHook('onRequest', (request, reply, done) => {
    reply.headers(commonHeaders(options, request));
    // Before a body is read, which could be at fault too.
    done(checkRequestLine(request, reply));
  });
  app.addHook('onResponse', (request, reply, done) => {
    reportRequest(options, request, reply);
    done();
  });
  app.setErrorHandler((error, request, reply) => sendFailure(options, error, request, reply));
  app.setNotFoundHandler((request, reply) => sendFailure(options, new Failure('unknown_path'), request, reply));
  return app;
}

function checkRequestLine({ raw, is404 }: FastifyRequest, reply: FastifyReply): Failure | undefined {
  if (!hasUnsupportedHeaders(raw)) return is404 ? new Failure('unknown_path') : undefined;
  // Nobody can tell what follows on it.
  reply.header('connection', 'close');
  return new Failure('malformed_request');
}

/** What Node would refuse itself, without our headers, log and shape: no Host, or an Expect that nobody knows. */
const hasUnsupportedHeaders = ({ httpVersion, headers: { host, expect } }: IncomingMessage): boolean =>
  httpVersion === '1.1' && (host === undefined || (expect !== undefined && !/\b100-continue\b/i.test(expect)));

/** The interface of one environment. */
export function createApiServer(options: ApiServerOptions): FastifyInstance {
  const app = createBaseServer(options);
  const { authentication, clock, endpoints, environment, rates } = options;
  const { database } = options.services;
  const gate = new Gate({ authentication, database, clock, environment, rates });
  const turns = new ScanQueue();
  for (const endpoint of endpoints) addEndpoint(app, gate, endpoint, { ...options, turns });
  rejectOtherMethods(app, endpoints);
  return app;
}

function addEndpoint(
  app: FastifyInstance,
  gate: Gate,
  endpoint: Endpoint,
  options: ApiServerOptions & { turns: ScanQueue },
): void {
  const { services, idempotency, transactions, clock, turns } = options;
  const performer = new Performer({
    endpoint,
    services,
    idempotency,
    transactions,
    clock,
    turns,
    serialize: createSerializer(endpoint),
  });
  app.route({
    method: endpoint.method,
    url: endpoint.path,
    config: { family: endpoint.family, operationId: endpoint.operationId },
    onRequest: async (request, reply) => {
      request.admission = await admit(gate, endpoint, request, reply);
      assertMediaType(endpoint, request.headers);
      // A body that may be of any type may also have one that Fastify would find malformed.
      if (endpoint.body === undefined) delete request.headers['content-type'];
    },
    handler: async (request, reply) => {
      if (request.admission === undefined) throw new Failure('access_denied');
      const admission = await gate.confirm(request.admission, toRequestSource(endpoint, request), endpoint.permission);
      const params = request.params as Record<string, string>;
      const [, query] = splitOnce(request.url, '?');
      const { status, body, replayed } = await performer.perform({
        admission,
        params,
        path: toCanonicalPath(endpoint, params),
        query,
        headers: pickHeaders(endpoint, request),
        idempotencyKey: header(request, 'idempotency-key'),
        body: (request.body as Buffer | undefined) ?? Buffer.alloc(0),
      });
      if (replayed) reply.header('idempotent-replayed', 'true');
      return reply.code(status).header('content-type', JSON_TYPE).send(body);
    },
  });
}

function toRequestSource(endpoint: Endpoint, request: FastifyRequest): RequestSource {
  return {
    secret: header(request, endpoint.family === 'proxy' ? 'ft-access-key' : 'x-api-key'),
    address: clientAddress(request),
    requestId: request.id,
    route: `${endpoint.method} ${endpoint.path}`,
  };
}

async function admit(
  gate: Gate,
  endpoint: Endpoint,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<AccessGrant> {
  try {
    const admission = await gate.admit(toRequestSource(endpoint, request), endpoint.permission);
    if (gate.perKey !== undefined && admission.rate !== undefined)
      reply.headers(rateLimitHeaders(gate.perKey, admission.rate));
    return admission;
  } catch (error) {
    if (error instanceof RateLimitFailure) {
      reply.header('retry-after', String(error.rate.reset));
      if (gate.perKey !== undefined && error.ofKey) reply.headers(rateLimitHeaders(gate.perKey, error.rate));
    }
    throw error;
  }
}

/** Those that the endpoint names and the request has. */
function pickHeaders({ headers = {} }: Endpoint, request: FastifyRequest): Record<string, string> {
  const present = Object.keys(headers).map((name) => [name, header(request, name)] as const);
  return Object.fromEntries(present.filter((pair): pair is [string, string] => pair[1] !== undefined));
}

/** Answers as text; only declared members are written. */
const createSerializer = ({ family, data }: Endpoint): ((envelope: unknown) => string) =>
  fastJson(serializable(ENVELOPES[family].successSchema(data.schema))) as (envelope: unknown) => string;

/** A path that exists answers other methods with 405 and says which it takes. */
export function rejectOtherMethods(
  app: FastifyInstance,
  endpoints: readonly Pick<Endpoint, 'path' | 'method' | 'family'>[],
): void {
  for (const [path, served] of Map.groupBy(endpoints, (endpoint) => endpoint.path)) {
    const allowed = served.map(({ method }) => method as string);
    const family = served[0]?.family ?? 'vault';
    app.route({
      method: app.supportedMethods.filter((method) => !allowed.includes(method)),
      url: path,
      config: { family },
      onRequest: async (_request, reply) => {
        reply.header('allow', allowed.join(', '));
        throw new Failure('method_not_allowed');
      },
      handler: () => undefined,
    });
  }
}

function header(request: FastifyRequest, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value.join(', ') : value;
}

/** The path as it is meant, however it was written: `/v1/tokens/` and `/v1/token%73` are one. */
const toCanonicalPath = ({ path }: Endpoint, params: Readonly<Record<string, string>>): string =>
  path.replace(/:([a-z]+)/gi, (_, name: string) => encodeURIComponent(params[name] ?? ''));

const splitOnce = (text: string, at: string): [string, string] => {
  const index = text.indexOf(at);
  return index < 0 ? [text, ''] : [text.slice(0, index), text.slice(index + 1)];
};
