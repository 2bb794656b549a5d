import { Readable } from 'node:stream';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { buildNetworkCheck } from '../accounts/allow-list.ts';
import type { Random } from '../kernel/clock.ts';
import { Failure } from '../kernel/failure.ts';
import { LIMITS } from '../kernel/limits.ts';
import { ScanQueue } from '../storage/pagination.ts';
import type { Family } from './envelopes.ts';
import { Exchange, ExchangeRound } from './exchange.ts';
import { Pipeline, type PipelineOptions } from './pipeline.ts';
import { chooseRequestId } from './request-id.ts';
import type { Route } from './route.ts';
import {
  commonHeaders,
  hasUnsupportedHeaders,
  type Reporting,
  reportWhenClosed,
  sendFailure,
  sendUnrouted,
  type Target,
} from './send.ts';
import { ServedPaths } from './served-paths.ts';
import type { RequestSpan } from './traces.ts';

// An import of the module would load the WebSocket client and `fetch` of Node as well: 5 MB, and 80 ms of each start.
const { METHODS } = process.getBuiltinModule('node:http');

declare module 'fastify' {
  interface FastifyRequest {
    /** The path of the request; undefined for one that does not exist. */
    target: Target | undefined;
    /** The failure of the response; undefined for a success, and for requests to a pipeline. */
    failure: Failure | undefined;
    /** Time of the stopwatch; undefined where no route was searched. */
    startedAt: number | undefined;
    /** The span of an admitted request; undefined while there are no traces. */
    span: RequestSpan | undefined;
  }
  interface FastifyInstance {
    servedPaths: ServedPaths;
  }
}

export interface ServerOptions extends Reporting {
  readonly random: Random;
  /** Networks of proxies whose forwarding headers are trusted. */
  readonly trustedProxies: readonly string[];
  /** True while the vault is sealed: whatever has no route gets 503, in the shape of the path. */
  readonly isSealed?: boolean;
}

/** The server of a listener. */
export type HttpServer = FastifyInstance;

const refuseSchema = (): never => {
  throw new TypeError('a route reads and writes by its own fields');
};

/** No route has a schema of the framework, which would load its compilers of schemas at each start: 40 ms of CPU. */
const WITHOUT_SCHEMAS = { buildValidator: refuseSchema, buildSerializer: refuseSchema };

/** A server with what all listeners share: request ids, headers, failures in one shape, log and metrics. */
export function createBaseServer(options: ServerOptions): HttpServer {
  const { trustedProxies } = options;
  const app = fastify({
    logger: false,
    bodyLimit: LIMITS.bodyBytes,
    requestIdHeader: false,
    genReqId: (raw) => chooseRequestId(raw.headers['x-request-id'], options.random),
    trustProxy: trustedProxies.length === 0 ? false : buildNetworkCheck(trustedProxies),
    exposeHeadRoutes: false,
    return503OnClosing: false,
    frameworkErrors: (error, request, reply) => sendUnrouted(options, error, request, reply as FastifyReply),
    schemaController: { compilersFactory: WITHOUT_SCHEMAS },
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: LIMITS.pathParameterCharacters },
  });
  for (const method of METHODS)
    if (!app.supportedMethods.includes(method)) app.addHttpMethod(method, { hasBody: true });
  app.decorateRequest('target', undefined);
  app.decorateRequest('startedAt', undefined);
  app.decorateRequest('failure', undefined);
  app.decorateRequest('span', undefined);
  app.removeAllContentTypeParsers();
  // For routes without a pipeline, which read no body.
  for (const type of ['application/json', '*'])
    app.addContentTypeParser(type, { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  app.decorate('servedPaths', new ServedPaths());
  app.addHook('onRequest', (request, reply, done) => {
    // Before the body is read, which could also be at fault.
    if (request.is404) (options.isSealed === true ? rejectSealed : rejectUnserved)(options, request, reply);
    else done();
  });
  app.setErrorHandler((error, request, reply) => sendFailure(options, error, request, reply));
  return app;
}

/** A served path responds to other methods with 405 and lists its own; any other path does not exist. */
function rejectUnserved(options: Reporting, request: FastifyRequest, reply: FastifyReply): void {
  request.startedAt = options.stopwatch();
  const served = request.server.servedPaths.find(request.url);
  request.target = served;
  if (hasUnsupportedHeaders(request.raw)) sendUnrouted(options, new Failure('malformed_request'), request, reply);
  else if (served === undefined) sendUnrouted(options, new Failure('unknown_path'), request, reply);
  else {
    reply.header('allow', served.methods.join(', '));
    sendUnrouted(options, new Failure('method_not_allowed'), request, reply);
  }
}

/** The paths of the endpoints are known, although none of them has a route. */
function rejectSealed(options: Reporting, request: FastifyRequest, reply: FastifyReply): void {
  request.startedAt = options.stopwatch();
  request.target = request.server.servedPaths.find(request.url);
  const isMalformed = hasUnsupportedHeaders(request.raw);
  sendUnrouted(options, new Failure(isMalformed ? 'malformed_request' : 'unavailable'), request, reply);
}

/** Serves routes on a listener, each through its pipeline. */
export function addRoutes(
  app: FastifyInstance,
  routes: readonly Route[],
  options: Reporting & Omit<PipelineOptions, 'turns'>,
): void {
  const turns = new ScanQueue();
  const round = new ExchangeRound();
  for (const route of routes) {
    const pipeline = new Pipeline(route, { ...options, turns });
    app.servedPaths.add(route);
    app.route({
      method: route.method,
      url: route.path,
      // Calls nothing back: the exchange writes the response.
      onRequest: (request, reply) => round.add(new Exchange(pipeline, options, request, reply)),
      handler: () => undefined,
    });
  }
  for (const { path, method } of app.servedPaths.hiddenMethods())
    app.route({
      method,
      url: path,
      onRequest: (request, reply) => rejectUnserved(options, request, reply),
      handler: () => undefined,
    });
}

/** A route without a door: health, reference, files, notifications of processors. */
export interface PublicRoute {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  /** Shape of its failures. */
  readonly family: Family;
  /** Bytes; absent: `LIMITS.bodyBytes`. */
  readonly bodyLimit?: number;
  /** True when the handler reads the body itself, after what it refuses before, and clears all of it. */
  readonly readsBody?: boolean;
  handle(request: FastifyRequest, reply: FastifyReply): FastifyReply | Promise<FastifyReply>;
}

export function addPublicRoutes(app: FastifyInstance, routes: readonly PublicRoute[], reporting: Reporting): void {
  for (const route of routes) {
    const { method, path, bodyLimit = LIMITS.bodyBytes, readsBody = false } = route;
    const handle = withSpan(route.handle, reporting);
    const respond = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
      try {
        await handle(request, reply);
      } catch (error) {
        // A client that left before the end of its response is no failure.
        if (!reply.sent) sendFailure(reporting, error, request, reply);
      }
    };
    app.servedPaths.add(route);
    app.route({
      method,
      url: path,
      bodyLimit,
      onRequest: (request, reply, done) => {
        request.startedAt = reporting.stopwatch();
        request.target = route;
        reply.headers(commonHeaders(reporting, request));
        reportWhenClosed(reporting, request, reply);
        if (hasUnsupportedHeaders(request.raw)) done(new Failure('malformed_request'));
        else if (!readsBody) done();
        else void respond(request, reply);
      },
      handler: handle,
    });
  }
}

/** The commits of a submission of a card, or of a notification, become children of the span of its request. */
function withSpan(handle: PublicRoute['handle'], { traces }: Reporting): PublicRoute['handle'] {
  if (traces === undefined) return handle;
  return (request, reply) => traces.within(request, false, () => handle(request, reply));
}

/** TLS buffers every write until the client reads it: at most this much for a client that never reads. */
const CHUNK_BYTES = 64 * 1024;

/** Sends a body that many clients may request at the same time: the next chunk when the previous one has left. */
export function sendInChunks(reply: FastifyReply, body: Buffer): FastifyReply {
  if (body.length <= CHUNK_BYTES) return reply.send(body);
  return reply.header('content-length', String(body.length)).send(createChunkStream(body));
}

function createChunkStream(body: Buffer): Readable {
  let start = 0;
  return new Readable({
    highWaterMark: CHUNK_BYTES,
    read() {
      const end = Math.min(start + CHUNK_BYTES, body.length);
      this.push(start < end ? body.subarray(start, end) : null);
      start = end;
    },
  });
}
