import { Readable } from 'node:stream';
import fastJson from 'fast-json-stringify';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Failure } from '../kernel/failure.ts';
import { type JsonSchema, serializable } from './fields.ts';
import { addressOf, JSON_TYPE } from './send.ts';
import { refuseOtherMethods } from './server.ts';

/** What a route sees of a request, without a word of the framework. */
export interface PlainRequest {
  readonly params: Readonly<Record<string, string>>;
  /** Without the question mark. */
  readonly query: string;
  readonly address: string;
  readonly requestId: string;
  /** Empty when there is none. */
  readonly body: Buffer;
  header(name: string): string | undefined;
}

export interface PlainAnswer {
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  /** JSON text, or lines of it that are sent as they come. */
  readonly body: string | AsyncIterable<string>;
  readonly type?: string;
}

/** A route that brings its own authentication. What it throws is answered in the shape of its family. */
export interface JsonRoute {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  handle(request: PlainRequest): Promise<PlainAnswer>;
}

/** Answers are for the console's own pages: not to be framed, embedded or run. */
const HEADERS = {
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
};

/** Serves routes of the console on a listener. */
export function addJsonRoutes(app: FastifyInstance, routes: readonly JsonRoute[], bodyLimit: number): void {
  for (const { method, path, handle } of routes) {
    app.route({
      method,
      url: path,
      bodyLimit,
      config: { family: 'console' },
      onRequest: (request, reply, done) => {
        reply.headers(HEADERS);
        const refusal = mediaRefusal(request);
        delete request.headers['content-type'];
        done(refusal);
      },
      handler: async (request, reply) => {
        const { headers = {}, body, type = JSON_TYPE } = await handle(plain(request));
        for (const [name, value] of Object.entries(headers)) reply.header(name, value);
        return reply.header('content-type', type).send(typeof body === 'string' ? body : Readable.from(body));
      },
    });
  }
  refuseOtherMethods(
    app,
    routes.map(({ method, path }) => ({ method, path, family: 'console' }) as const),
  );
}

/** A form of another site can send text, and no JSON, without asking first. */
function mediaRefusal({ headers }: FastifyRequest): Failure | undefined {
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
  const media = (headers['content-type']?.split(';', 1)[0] ?? '').trim().toLowerCase();
  const isOther = headers['content-encoding'] !== undefined || (hasBody && media !== 'application/json');
  return isOther ? new Failure('unsupported_media_type') : undefined;
}

function plain(request: FastifyRequest): PlainRequest {
  const question = request.url.indexOf('?');
  return {
    params: request.params as Record<string, string>,
    query: question < 0 ? '' : request.url.slice(question + 1),
    address: addressOf(request),
    requestId: request.id,
    body: (request.body as Buffer | undefined) ?? Buffer.alloc(0),
    header: (name) => {
      const value = request.headers[name];
      return Array.isArray(value) ? undefined : value;
    },
  };
}

/** Writes what the schema declares, and nothing else. */
export const jsonWriter = (schema: JsonSchema): ((data: unknown) => string) =>
  fastJson(serializable(schema)) as (data: unknown) => string;
