import { type IncomingMessage, METHODS } from 'node:http';
import fastJson from 'fast-json-stringify';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { isAllowed } from '../accounts/allow-list.ts';
import type { Authentication } from '../accounts/authentication.ts';
import type { Transactions } from '../idempotency/transaction.ts';
import type { Clock, Random } from '../kernel/clock.ts';
import type { Environment } from '../kernel/environment.ts';
import { Failure } from '../kernel/failure.ts';
import { LIMITS } from '../kernel/limits.ts';
import { ScanQueue } from '../storage/scan-queue.ts';
import {
  type AccessGrant,
  ApiDoor,
  RateLimitFailure,
  RateLimitHeaders,
  type RateLimits,
  type RequestSource,
} from './api-door.ts';
import type { Endpoint, Services } from './endpoint.ts';
import { type Family, textAroundData } from './envelopes.ts';
import { serializable } from './fields.ts';
import { assertMediaType } from './media.ts';
import { Performer } from './perform.ts';
import { chooseRequestId } from './request-id.ts';
import {
  clientAddress,
  commonHeaders,
  type Reporting,
  reportRequest,
  sendFailure,
  sendUnrouted,
  writeResponse,
} from './send.ts';

declare module 'fastify' {
  interface FastifyRequest {
    grant: AccessGrant | undefined;
    /** Who sent a request to the API; undefined elsewhere. */
    source: RequestSource | undefined;
    /** Reading of the stopwatch; undefined where no route was looked for. */
    startedAt: number | undefined;
  }
  interface FastifyContextConfig {
    family?: Family;
    /** That of the reference. Its route reports each request when it has written the response. */
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
  app.decorateRequest('grant', undefined);
  app.decorateRequest('source', undefined);
  app.decorateRequest('startedAt', undefined);
  app.removeAllContentTypeParsers();
  for (const type of ['application/json', '*'])
    app.addContentTypeParser(type, { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  app.addHook('onRequest', (request, reply, done) => {
    request.startedAt = options.stopwatch();
    if (request.routeOptions?.config?.operationId === undefined) {
      reply.headers(commonHeaders(options, request));
      reply.raw.once('finish', () => reportRequest(options, request, reply.statusCode));
    }
    // Before a body is read, which could be at fault too.
    done(checkRequestLine(request, reply));
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
  const door = new ApiDoor({ authentication, database, clock, environment, rates });
  const turns = new ScanQueue();
  for (const endpoint of endpoints) addEndpoint(app, door, endpoint, { ...options, turns });
  rejectOtherMethods(app, endpoints);
  return app;
}

function addEndpoint(
  app: FastifyInstance,
  door: ApiDoor,
  endpoint: Endpoint,
  options: ApiServerOptions & { turns: ScanQueue },
): void {
  const { services, transactions, turns } = options;
  const { permission } = endpoint;
  const performer = new Performer({
    endpoint,
    services,
    transactions,
    turns,
    serialize: createSerializer(endpoint),
  });
  const limits = door.perKey && new RateLimitHeaders(door.perKey);
  const headerNames = Object.keys(endpoint.headers ?? {});
  const checkHead = (request: FastifyRequest, grant: AccessGrant): void => {
    request.grant = grant;
    assertMediaType(endpoint, request.headers);
    // A body that may be of any type may also have one that Fastify would find malformed.
    if (endpoint.body === undefined) delete request.headers['content-type'];
  };
  app.route({
    method: endpoint.method,
    url: endpoint.path,
    config: { family: endpoint.family, operationId: endpoint.operationId },
    onRequest: (request, _reply, done) => {
      const source = toRequestSource(endpoint, request);
      request.source = source;
      let grant: AccessGrant | Promise<AccessGrant>;
      try {
        grant = door.admit(source, permission);
        if (!(grant instanceof Promise)) checkHead(request, grant);
      } catch (error) {
        done(error as Error);
        return;
      }
      if (grant instanceof Promise) grant.then((later) => checkHead(request, later)).then(() => done(), done);
      else done();
    },
    handler: async (request, reply) => {
      const { grant: admitted, source } = request;
      if (admitted === undefined || source === undefined) throw new Failure('access_denied');
      const confirmed = door.confirm(admitted, source, permission);
      const grant = confirmed instanceof Promise ? await confirmed : confirmed;
      const { url } = request;
      const question = url.indexOf('?');
      const { status, body, isReplay } = await performer.perform({
        grant,
        params: request.params as Record<string, string>,
        query: question < 0 ? '' : url.slice(question + 1),
        headers: headerNames.length === 0 ? NO_HEADERS : pickHeaders(headerNames, request),
        idempotencyKey: header(request, 'idempotency-key'),
        body: (request.body as Buffer | undefined) ?? NO_BODY,
      });
      const headers: Record<string, string | number> = commonHeaders(options, request);
      if (grant.rate !== undefined) limits?.add(headers, grant.rate);
      if (isReplay) headers['idempotent-replayed'] = 'true';
      writeResponse(options, request, reply, { status, headers, body });
    },
    errorHandler: (error, request, reply) => {
      const headers: Record<string, string | number> = commonHeaders(options, request);
      if (request.grant?.rate !== undefined) limits?.add(headers, request.grant.rate);
      if ((error as unknown) instanceof RateLimitFailure) {
        const { rate, ofKey } = error as unknown as RateLimitFailure;
        headers['retry-after'] = String(rate.reset);
        if (ofKey) limits?.add(headers, rate);
      }
      sendFailure(options, error, request, reply.headers(headers));
      reportRequest(options, request, reply.statusCode);
    },
  });
}

const NO_HEADERS: Readonly<Record<string, string>> = Object.freeze({});
const NO_BODY = Buffer.alloc(0);

function toRequestSource(endpoint: Endpoint, request: FastifyRequest): RequestSource {
  return {
    secret: header(request, endpoint.family === 'proxy' ? 'ft-access-key' : 'x-api-key'),
    address: clientAddress(request),
    requestId: request.id,
    route: `${endpoint.method} ${endpoint.path}`,
  };
}

/** Returns the headers with these names that the request has. */
function pickHeaders(names: readonly string[], request: FastifyRequest): Record<string, string> {
  const picked: Record<string, string> = {};
  for (const name of names) {
    const value = header(request, name);
    if (value !== undefined) picked[name] = value;
  }
  return picked;
}

/** Returns a writer of successful responses: the constant text of the family around the data, of which only declared members are written. */
function createSerializer({ family, data }: Endpoint): (data: unknown) => string {
  const [before, after] = textAroundData(family);
  const write = fastJson(serializable(data.schema)) as (data: unknown) => string;
  return (value) => before + write(value) + after;
}

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
