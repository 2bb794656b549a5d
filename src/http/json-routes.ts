import { Readable } from 'node:stream';
import fastJson from 'fast-json-stringify';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Failure } from '../kernel/failure.ts';
import { type JsonSchema, serializable } from './fields.ts';
import { clientAddress, JSON_TYPE } from './send.ts';
import { rejectOtherMethods } from './server.ts';

/** What comes before the body, without a word of the framework. */
export interface RequestHead {
  readonly params: Readonly<Record<string, string>>;
  /** Without the question mark. */
  readonly query: string;
  readonly address: string;
  readonly requestId: string;
  header(name: string): string | undefined;
}

/** What a route sees of a request. */
export interface RawRequest extends RequestHead {
  /** Empty when there is none. */
  readonly body: Buffer;
  /** Calls back when the answer has been sent, or never will be because the caller is gone. */
  onFinished(then: () => void): void;
}

export interface RawResponse {
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  /** JSON text, or lines of it that are sent as they come. */
  readonly body: string | AsyncIterable<string>;
  readonly type?: string;
}

/** A route that brings its own authentication. What it throws is answered in the shape of its family. */
export interface JsonRoute {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  handle(request: RawRequest): Promise<RawResponse>;
}

/** A route that says whose bodies are read at all: until then nobody has been asked who they are. */
export interface GuardedRoute extends JsonRoute {
  /** Bytes. */
  readonly bodyLimit: number;
  /** Before the body is read. What it throws is answered instead, and what is left of the body is not kept. */
  guard(head: RequestHead): Promise<void>;
}

/** Serves routes of the console on a listener. */
export function addJsonRoutes(app: FastifyInstance, routes: readonly GuardedRoute[]): void {
  for (const { method, path, bodyLimit, guard, handle } of routes) {
    app.route({
      method,
      url: path,
      bodyLimit,
      config: { family: 'console' },
      onRequest: async (request) => {
        assertJsonMediaType(request);
        delete request.headers['content-type'];
        await guard(toRequestHead(request));
      },
      handler: async (request, reply) => {
        const { headers = {}, body, type = JSON_TYPE } = await handle(toRawRequest(request, reply));
        for (const [name, value] of Object.entries(headers)) reply.header(name, value);
        return reply.header('content-type', type).send(typeof body === 'string' ? body : Readable.from(body));
      },
    });
  }
  rejectOtherMethods(
    app,
    routes.map(({ method, path }) => ({ method, path, family: 'console' }) as const),
  );
}

/** A form of another site can send text, and no JSON, without asking first. Throws `unsupported_media_type`. */
function assertJsonMediaType({ headers }: FastifyRequest): void {
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
  const media = (headers['content-type']?.split(';', 1)[0] ?? '').trim().toLowerCase();
  const isOther = headers['content-encoding'] !== undefined || (hasBody && media !== 'application/json');
  if (isOther) throw new Failure('unsupported_media_type');
}

function toRequestHead(request: FastifyRequest): RequestHead {
  const question = request.url.indexOf('?');
  return {
    params: request.params as Record<string, string>,
    query: question < 0 ? '' : request.url.slice(question + 1),
    address: clientAddress(request),
    requestId: request.id,
    header: (name) => {
      const value = request.headers[name];
      return Array.isArray(value) ? undefined : value;
    },
  };
}

const toRawRequest = (request: FastifyRequest, { raw }: FastifyReply): RawRequest => ({
  ...toRequestHead(request),
  body: (request.body as Buffer | undefined) ?? Buffer.alloc(0),
  onFinished: (then) => {
    // Whoever is gone already closes nothing any more.
    if (raw.closed) then();
    else raw.once('close', then);
  },
});

/** Writes what the schema declares, and nothing else. */
export const createJsonWriter = (schema: JsonSchema): ((data: unknown) => string) =>
  fastJson(serializable(schema)) as (data: unknown) => string;
