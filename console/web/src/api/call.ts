import type { Explanation } from '../../../../src/kernel/reasons.ts';
import type { Definition } from '../../../wire/definition.ts';

/** Parameters of a call. */
export interface CallArgs<Body, Query> {
  /** Values of the path's parameters. */
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Query;
  readonly body?: Body;
}

/** A failure response of the service, with a code of `docs/errors.md`; `offline` when there was no response. */
export class CallError extends Error {
  readonly code: string;
  readonly status: number;
  /** The invalid field, if the failure names one. */
  readonly field: string | undefined;

  /** Why, for a sentence in the user's language. */
  readonly explanation: Explanation | undefined;

  constructor(code: string, status: number, message: string, field?: string, explanation?: Explanation) {
    super(message);
    this.name = 'CallError';
    this.code = code;
    this.status = status;
    this.field = field;
    this.explanation = explanation;
  }
}

/** Returns true when a retry may succeed: no response, a server error, or a rate limit. */
export const isTransient = ({ code, status }: CallError): boolean =>
  code === 'offline' || status >= 500 || status === 429;

/** CSRF token of the session, sent with every change. */
let csrfToken = '';

export const setCsrfToken = (token: string): void => {
  csrfToken = token;
};

/** Callbacks for what a response says about the session. */
interface SessionListener {
  /** The call extended the session. */
  readonly onActive?: () => void;
  /** The service no longer knows the session. */
  readonly onSignedOut?: () => void;
}

const listeners = new Set<SessionListener>();

export function listenToCalls(listener: SessionListener): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

export function buildPath<Query>(
  { path }: { readonly path: string },
  params: Readonly<Record<string, string>> = {},
  query?: Query,
): string {
  const filled = path.replace(/:([a-z_]+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));
  const given = Object.entries(query ?? {}).filter(([, value]) => value !== undefined && value !== '');
  const search = new URLSearchParams(given.map(([name, value]): [string, string] => [name, String(value)]));
  return given.length === 0 ? filled : `${filled}?${search}`;
}

interface CallOptions {
  /** A passive call, which is periodic and not by the user, does not extend the session. */
  readonly isPassive?: boolean;
  readonly signal?: AbortSignal;
  /** Makes a change repeatable: a repeat with the same key gets the result of the first one. */
  readonly idempotencyKey?: string;
}

/** Calls the service. Throws `CallError`. */
export async function call<Body, Query, Data>(
  definition: Definition<Body, Query, Data>,
  args: CallArgs<Body, Query> = {},
  options: boolean | CallOptions = false,
): Promise<Data> {
  const { isPassive = false, ...more } = typeof options === 'boolean' ? { isPassive: options } : options;
  const response = await request(definition, args, { isPassive, ...more });
  const answer: unknown = await response.json().catch(() => undefined);
  // The response came from an intermediary, not from the service.
  if (answer === undefined) throw new CallError('offline', response.status, '');
  if (!isPassive) for (const { onActive } of listeners) onActive?.();
  return answer as Data;
}

/** Calls the service, and returns its response as it arrives. Throws `CallError`. */
export async function openStream<Body>(
  definition: Definition<Body, undefined, string>,
  args: CallArgs<Body, undefined>,
  signal: AbortSignal,
): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
  const { body } = await request(definition, args, { signal });
  for (const { onActive } of listeners) onActive?.();
  return body ?? new ReadableStream({ start: (controller) => controller.close() });
}

/** Returns a response of success. Throws `CallError`. */
async function request<Body, Query>(
  definition: Definition<Body, Query>,
  { params, query, body }: CallArgs<Body, Query>,
  { isPassive = false, signal, idempotencyKey }: CallOptions,
): Promise<Response> {
  const { method } = definition;
  const response = await send(buildPath(definition, params, query), {
    method,
    headers: {
      accept: 'application/json',
      ...(method !== 'GET' && { 'x-csrf-token': csrfToken }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(isPassive && { 'x-passive': '1' }),
      ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(signal !== undefined && { signal }),
  });
  if (response.ok) return response;
  const failure = toCallError(response.status, await response.json().catch(() => undefined));
  if (failure.code === 'not_signed_in') for (const { onSignedOut } of listeners) onSignedOut?.();
  throw failure;
}

interface FailureBody extends Partial<Explanation> {
  readonly code?: string;
  readonly message?: string;
  readonly field?: string;
}

function toCallError(status: number, answer: unknown): CallError {
  const { code = 'internal', message = '', field, reason, values = {} } = (answer ?? {}) as FailureBody;
  return new CallError(code, status, message, field, reason === undefined ? undefined : { reason, values });
}

async function send(path: string, request: RequestInit): Promise<Response> {
  try {
    return await fetch(path, { ...request, credentials: 'same-origin', cache: 'no-store', redirect: 'error' });
  } catch {
    throw new CallError(request.signal?.aborted === true ? 'cancelled' : 'offline', 0, '');
  }
}
