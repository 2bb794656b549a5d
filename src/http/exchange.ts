import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Failure } from '../kernel/failure.ts';
import { LIMITS } from '../kernel/limits.ts';
import { assertMediaType } from './media.ts';
import type { Pipeline } from './pipeline.ts';
import { PROBLEMS, renderFailure, toFailure } from './problems.ts';
import { readBody } from './request-body.ts';
import type { Grant, RequestHead, ResponseHeaders, StreamedFile } from './route.ts';
import {
  clientAddress,
  commonHeaders,
  hasUnsupportedHeaders,
  JSON_TYPE,
  type Reporting,
  reportFailure,
  reportRequest,
} from './send.ts';

/**
 * A request to a route of a pipeline, and its response. Fastify has found the route; from there on the request takes the
 * steps of the pipeline alone, because each hook, parser and wrapper of a framework costs more than most of the steps.
 */
export class Exchange implements RequestHead {
  readonly address: string;
  readonly #pipeline: Pipeline;
  readonly #reporting: Reporting;
  readonly #request: FastifyRequest;
  readonly #response: ServerResponse;
  #grant: Grant | undefined;
  #failure: Failure | undefined;

  constructor(pipeline: Pipeline, reporting: Reporting, request: FastifyRequest, { raw }: FastifyReply) {
    request.startedAt = reporting.stopwatch();
    request.target = pipeline.route;
    this.address = clientAddress(request);
    this.#pipeline = pipeline;
    this.#reporting = reporting;
    this.#request = request;
    this.#response = raw;
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

  /** Responds to the request, and reports it. */
  serve(): void {
    try {
      if (hasUnsupportedHeaders(this.#request.raw)) throw new Failure('malformed_request');
      const grant = this.#pipeline.admit(this);
      if (grant instanceof Promise)
        grant.then((later) => this.#receive(later)).catch((error: unknown) => this.#fail(error));
      else this.#receive(grant);
    } catch (error) {
      this.#fail(error);
    }
  }

  #receive(grant: Grant): void {
    // Before another check can fail: each response to an admitted caller has the headers of the grant.
    this.#grant = grant;
    const { route } = this.#pipeline;
    assertMediaType(route, this);
    readBody(this.#request.raw, route.bodyLimit ?? LIMITS.bodyBytes, (error, body) => {
      if (error === undefined) void this.#respond(grant, body);
      else this.#fail(error);
    });
  }

  async #respond(admitted: Grant, body: Buffer): Promise<void> {
    try {
      const confirmed = this.#pipeline.confirm(admitted, this);
      const grant = confirmed instanceof Promise ? await confirmed : confirmed;
      this.#grant = grant;
      const response = await this.#execute(grant, body);
      const headers: ResponseHeaders = commonHeaders(this.#reporting, this.#request);
      this.#pipeline.addHeaders(headers, grant);
      if ('lines' in response) await this.#sendFile(headers, response);
      else {
        if (response.isReplay) headers['idempotent-replayed'] = 'true';
        this.#send(response.status, headers, response.body);
      }
    } catch (error) {
      this.#fail(error);
    } finally {
      // It may contain card data. Texts that were read from it cannot be cleared.
      body.fill(0);
    }
  }

  #execute(grant: Grant, body: Buffer): ReturnType<Pipeline['execute']> {
    const { traces } = this.#reporting;
    if (traces === undefined) return this.#pipeline.execute(grant, this, body);
    return traces.within(this.#request, grant.key !== undefined, () => this.#pipeline.execute(grant, this, body));
  }

  /** Writes head and body at once. */
  #send(status: number, headers: ResponseHeaders, body: string): void {
    headers['content-type'] = JSON_TYPE;
    headers['content-length'] = Buffer.byteLength(body);
    this.#response.writeHead(status, headers);
    this.#response.end(body);
    this.#report(status);
  }

  async #sendFile(headers: ResponseHeaders, { type, name, lines }: StreamedFile): Promise<void> {
    const file = Readable.from(lines);
    // An error before the first line is a failure as any other, and no file.
    await once(file, 'readable');
    headers['content-type'] = type;
    headers['content-disposition'] = `attachment; filename="${name}"`;
    this.#response.writeHead(200, headers);
    file.once('error', (error) => {
      this.#response.destroy();
      this.#fail(error);
    });
    this.onFinished(() => {
      // A client that leaves ends the reading.
      file.destroy();
      this.#report(200);
    });
    file.pipe(this.#response);
  }

  /** An error after the head of the response has no response of its own, but is reported as any other. */
  #fail(error: unknown): void {
    const failure = toFailure(error);
    this.#failure = failure;
    reportFailure(this.#reporting, failure, this.id);
    if (this.#response.headersSent) return;
    const { route } = this.#pipeline;
    const headers: ResponseHeaders = commonHeaders(this.#reporting, this.#request);
    this.#pipeline.addHeaders(headers, this.#grant, error);
    const { retryAfterSeconds } = PROBLEMS[failure.code];
    if (retryAfterSeconds !== undefined) headers['retry-after'] ??= String(retryAfterSeconds);
    // The rest of the body is not awaited, or the begin of the next request is unknown.
    if (failure.code === 'body_too_large' || hasUnsupportedHeaders(this.#request.raw)) headers['connection'] = 'close';
    const { status, body } = renderFailure(failure, route.family);
    this.#send(status, headers, body);
  }

  #report(status: number): void {
    const grant = this.#grant;
    const failure = this.#failure;
    reportRequest(this.#reporting, this.#request, { status, address: this.address, grant, failure });
  }
}

/** Requests that are served together; more wait for the next round of I/O events, so that no response waits long for others. */
const MAX_PER_ROUND = 64;

/**
 * Serves the requests that have arrived in one round of I/O events one step after the other: each step of all of them, and
 * then the next. Code that has just run for another request is in the caches of the processor, and costs a part of what it
 * costs between the reading of two connections.
 */
export class ExchangeRound {
  readonly #arrived: Exchange[] = [];

  add(exchange: Exchange): void {
    if (this.#arrived.push(exchange) === 1) this.#schedule();
  }

  #schedule(): void {
    setImmediate(() => {
      // The later steps are continuations, which run when this function has returned.
      for (const exchange of this.#arrived.splice(0, MAX_PER_ROUND)) exchange.serve();
      if (this.#arrived.length > 0) this.#schedule();
    });
  }
}
