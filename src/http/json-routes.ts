import { Readable } from 'node:stream';
import fastJson from 'fast-json-stringify';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Failure } from '../kernel/failure.ts';
import { type JsonSchema, serializable } from './fields.ts';
import { addressOf, JSON_TYPE } from './send.ts';
import { refuseOtherMethods } from './server.ts';

/** What comes before the body, without a word of the framework. */
export interface PlainHead {
  readonly params: Readonly<Record<string, string>>;
  /** Without the question mark. */
  readonly query: string;
  readonly address: string;
  readonly requestId: string;
  header(name: string): string | undefined;
}

/** What a route sees of a request. */
export interface PlainRequest extends PlainHead {
  /** Empty when there is none. */
  readonly body: Buffer;
  /** Calls back when the answer has been sent, or never will be because the caller is gone. */
  onceAnswered(then: () => void): void;
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

/** A route that says whose bodies are read at all: until then nobody has been asked who they are. */
export interface GuardedRoute extends JsonRoute {
  /** Bytes. */
  readonly bodyLimit: number;
  /** Before the body is read. What it throws is answered instead, and what is left of the body is not kept. */
  guard(head: PlainHead): Promise<void>;
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
        refuseOtherMedia(request);
        delete request.headers['content-type'];
        await guard(headOf(request));
      },
      handler: async (request, reply) => {
        const { headers = {}, body, type = JSON_TYPE } = await handle(plain(request, reply));
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

/** A form of another site can send text, and no JSON, without asking first. Throws `unsupported_media_type`. */
function refuseOtherMedia({ headers }: FastifyRequest): void {
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
  const media = (headers['content-type']?.split(';', 1)[0] ?? '').trim().toLowerCase();
  const isOther = headers['content-encoding'] !== undefined || (hasBody && media !== 'application/json');
  if (isOther) throw new Failure('unsupported_media_type');
}

function headOf(request: FastifyRequest): PlainHead {
  const question = request.url.indexOf('?');
  return {
    params: request.params as Record<string, string>,
    query: question < 0 ? '' : request.url.slice(question + 1),
    address: addressOf(request),
    requestId: request.id,
    header: (name) => {
      const value = request.headers[name];
      return Array.isArray(value) ? undefined : value;
    },
  };
}

const plain = (request: FastifyRequest, { raw }: FastifyReply): PlainRequest => ({
  ...headOf(request),
  body: (request.body as Buffer | undefined) ?? Buffer.alloc(0),
  onceAnswered: (then) => {
    // Whoever is gone already closes nothing any more.
    if (raw.closed) then();
    else raw.once('close', then);
  },
});

/** Writes what the schema declares, and nothing else. */
export const jsonWriter = (schema: JsonSchema): ((data: unknown) => string) =>
  fastJson(serializable(schema)) as (data: unknown) => string;
