import type { IncomingMessage, ServerResponse } from 'node:http';
import { METHODS } from 'node:http';
import { Readable } from 'node:stream';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { isAllowed } from '../accounts/allow-list.ts';
import type { Random } from '../kernel/clock.ts';
import { Failure } from '../kernel/failure.ts';
import { LIMITS } from '../kernel/limits.ts';
import { ScanQueue } from '../storage/scan-queue.ts';
import type { Family } from './envelopes.ts';
import { Pipeline, type PipelineOptions } from './pipeline.ts';
import { toFailure } from './problems.ts';
import { readBody } from './request-body.ts';
import { chooseRequestId } from './request-id.ts';
import type { Grant, RequestHead, ResponseHeaders, Route, StreamedFile } from './route.ts';
import {
  clientAddress,
  commonHeaders,
  type Reporting,
  reportRequest,
  sendFailure,
  sendUnrouted,
  type Target,
  writeResponse,
} from './send.ts';
import { ServedPaths } from './served-paths.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The path of the request; undefined for one that does not exist. */
    target: Target | undefined;
    /** The caller of a request to a route of a pipeline; undefined elsewhere. */
    head: RequestHead | undefined;
    grant: Grant | undefined;
    /** Time of the stopwatch; undefined where no route was searched. */
    startedAt: number | undefined;
  }
  interface FastifyInstance {
    servedPaths: ServedPaths;
  }
}

export interface ServerOptions extends Reporting {
  readonly random: Random;
  /** Networks of proxies whose forwarding headers are trusted. */
  readonly trustedProxies: readonly string[];
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
  app.decorateRequest('target', undefined);
  app.decorateRequest('grant', undefined);
  app.decorateRequest('head', undefined);
  app.decorateRequest('startedAt', undefined);
  app.removeAllContentTypeParsers();
  // For routes without a pipeline, which read no body.
  for (const type of ['application/json', '*'])
    app.addContentTypeParser(type, { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  app.decorate('servedPaths', new ServedPaths());
  app.addHook('onRequest', (request, reply, done) => {
    // Before the body is read, which could also be at fault.
    if (request.is404) rejectUnserved(options, request, reply);
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
  const failure = checkRequestLine(request, reply) ?? new Failure(served ? 'method_not_allowed' : 'unknown_path');
  if (failure.code === 'method_not_allowed') reply.header('allow', served?.methods.join(', '));
  sendUnrouted(options, failure, request, reply);
}

function checkRequestLine({ raw }: FastifyRequest, reply: FastifyReply): Failure | undefined {
  if (!hasUnsupportedHeaders(raw)) return undefined;
  // The boundary of the next request on the connection is unknown.
  reply.header('connection', 'close');
  return new Failure('malformed_request');
}

/**
 * Rejects the requests that Node would reject itself, without our headers, log and shape: no Host, or an unknown
 * Expect.
 */
const hasUnsupportedHeaders = ({ httpVersion, headers: { host, expect } }: IncomingMessage): boolean =>
  httpVersion === '1.1' && (host === undefined || (expect !== undefined && !/\b100-continue\b/i.test(expect)));

/** Serves routes on a listener, each through its pipeline. */
export function addRoutes(
  app: FastifyInstance,
  routes: readonly Route[],
  options: Reporting & Omit<PipelineOptions, 'turns'>,
): void {
  const turns = new ScanQueue();
  for (const route of routes) {
    app.servedPaths.add(route);
    addRoute(app, new Pipeline(route, { ...options, turns }), options);
  }
  for (const { path, method } of app.servedPaths.hiddenMethods())
    app.route({
      method,
      url: path,
      onRequest: (request, reply) => rejectUnserved(options, request, reply),
      handler: () => undefined,
    });
}

/**
 * Serves one route. Fastify finds it; from there on the request takes the steps of the pipeline alone, because each hook, parser and
 * wrapper of a framework costs more than most of the steps.
 */
function addRoute(app: FastifyInstance, pipeline: Pipeline, reporting: Reporting): void {
  const { route } = pipeline;
  const limit = route.bodyLimit ?? LIMITS.bodyBytes;
  const fail = (request: FastifyRequest, reply: FastifyReply, error: unknown): void => {
    // A failure after the response was sent does not concern the client.
    if (reply.sent) return;
    const headers: ResponseHeaders = commonHeaders(reporting, request);
    pipeline.addHeaders(headers, request.grant, error);
    // The rest of the body is not awaited.
    if (toFailure(error).code === 'body_too_large') headers['connection'] = 'close';
    // A download reports itself when its response closes.
    const isDownload = reply.hasHeader(DISPOSITION);
    if (isDownload) {
      reply.removeHeader(DISPOSITION);
      reply.raw.removeHeader(DISPOSITION);
    }
    sendFailure(reporting, error, request, reply.headers(headers));
    if (!isDownload) reportRequest(reporting, request, reply.statusCode);
  };
  const respond = async (
    request: FastifyRequest,
    reply: FastifyReply,
    head: RequestHead,
    admitted: Grant,
    body: Buffer,
  ): Promise<void> => {
    const confirmed = pipeline.confirm(admitted, head);
    const grant = confirmed instanceof Promise ? await confirmed : confirmed;
    request.grant = grant;
    const response = await pipeline.execute(grant, head, body);
    const headers: ResponseHeaders = commonHeaders(reporting, request);
    pipeline.addHeaders(headers, grant);
    if ('lines' in response) sendFile(reporting, request, reply.headers(headers), response);
    else writeResponse(reporting, request, reply, headers, response);
  };
  const receive = (request: FastifyRequest, reply: FastifyReply, head: RequestHead, grant: Grant): void => {
    // Before another check can fail: each response to an admitted caller has the headers of the grant.
    request.grant = grant;
    pipeline.checkMedia(head);
    readBody(request.raw, limit, (error, body) => {
      if (error !== undefined) fail(request, reply, error);
      else respond(request, reply, head, grant, body).catch((thrown) => fail(request, reply, thrown));
    });
  };
  app.route({
    method: route.method,
    url: route.path,
    // Calls nothing back: the response is written from here.
    onRequest: (request, reply) => {
      request.startedAt = reporting.stopwatch();
      request.target = route;
      const head = new FastifyHead(request, reply.raw);
      request.head = head;
      try {
        const unreadable = checkRequestLine(request, reply);
        if (unreadable !== undefined) throw unreadable;
        const grant = pipeline.admit(head);
        if (grant instanceof Promise)
          grant.then((later) => receive(request, reply, head, later)).catch((error) => fail(request, reply, error));
        else receive(request, reply, head, grant);
      } catch (error) {
        fail(request, reply, error);
      }
    },
    handler: () => undefined,
    // For downloads that fail before their first line.
    errorHandler: (error, request, reply) => fail(request, reply, error),
  });
}

/** The head of a request in Fastify. */
class FastifyHead implements RequestHead {
  readonly address: string;
  readonly #request: FastifyRequest;
  readonly #response: ServerResponse;

  constructor(request: FastifyRequest, response: ServerResponse) {
    this.#request = request;
    this.#response = response;
    this.address = clientAddress(request);
  }

  get id(): string {
    return this.#request.id;
  }

  get params(): Readonly<Record<string, string>> {
    return this.#request.params as Record<string, string>;
  }

  get query(): string {
    const { url } = this.#request;
    const question = url.indexOf('?');
    return question < 0 ? '' : url.slice(question + 1);
  }

  header(name: string): string | undefined {
    const value = this.#request.headers[name];
    return Array.isArray(value) ? value.join(', ') : value;
  }

  onFinished(callback: () => void): void {
    // The response of a disconnected client no longer closes.
    if (this.#response.closed) callback();
    else this.#response.once('close', callback);
  }
}

const DISPOSITION = 'content-disposition';

function sendFile(
  reporting: Reporting,
  request: FastifyRequest,
  reply: FastifyReply,
  { type, name, lines }: StreamedFile,
): FastifyReply {
  // A download that the client or an error ends early never finishes, but its response closes.
  reply.raw.once('close', () => reportRequest(reporting, request, reply.statusCode));
  const headers = { 'content-type': type, [DISPOSITION]: `attachment; filename="${name}"` };
  return reply.headers(headers).send(Readable.from(lines));
}

/** A route without a door: health, reference, files, notifications of processors. */
export interface PublicRoute {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  /** Shape of its failures. */
  readonly family: Family;
  /** Bytes; absent: `LIMITS.bodyBytes`. */
  readonly bodyLimit?: number;
  handle(request: FastifyRequest, reply: FastifyReply): FastifyReply | Promise<FastifyReply>;
}

export function addPublicRoutes(app: FastifyInstance, routes: readonly PublicRoute[], reporting: Reporting): void {
  for (const route of routes) {
    const { method, path, bodyLimit = LIMITS.bodyBytes, handle } = route;
    app.servedPaths.add(route);
    app.route({
      method,
      url: path,
      bodyLimit,
      onRequest: (request, reply, done) => {
        request.startedAt = reporting.stopwatch();
        request.target = route;
        reply.headers(commonHeaders(reporting, request));
        reply.raw.once('finish', () => reportRequest(reporting, request, reply.statusCode));
        done(checkRequestLine(request, reply));
      },
      handler: handle,
    });
  }
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
