import type { Definition } from '../../../wire/definition.ts';

/** What goes along with a call. */
export interface CallArgs<Body, Query> {
  /** Of the path. */
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Query;
  readonly body?: Body;
}

/** An answer that tells of a failure, as `docs/errors.md` lists them; `offline` when there was none. */
export class CallError extends Error {
  readonly code: string;
  readonly status: number;
  /** The field that is at fault, when it is one. */
  readonly field: string | undefined;

  constructor(code: string, status: number, message: string, field?: string) {
    super(message);
    this.name = 'CallError';
    this.code = code;
    this.status = status;
    this.field = field;
  }
}

/** The same again may go well: nobody answered, the service could not, or it was too much at once. */
export const isTransient = ({ code, status }: CallError): boolean =>
  code === 'offline' || status >= 500 || status === 429;

/** Of the session; goes along with every change. */
let csrfToken = '';

export const setCsrfToken = (token: string): void => {
  csrfToken = token;
};

/** What a call can tell of the session, beside its answer. */
interface SessionListener {
  /** The session was kept alive just now. */
  readonly onActive?: () => void;
  /** The service does not know the session any more. */
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
  const search = new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
  return given.length === 0 ? filled : `${filled}?${search}`;
}

/** `isPassive`: nobody asked for it just now, so it does not keep the session alive. Throws `CallError`. */
export async function call<Body, Query, Data>(
  definition: Definition<Body, Query, Data>,
  { params, query, body }: CallArgs<Body, Query> = {},
  isPassive = false,
): Promise<Data> {
  const { method } = definition;
  const response = await send(buildPath(definition, params, query), {
    method,
    headers: {
      accept: 'application/json',
      ...(method !== 'GET' && { 'x-csrf-token': csrfToken }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(isPassive && { 'x-passive': '1' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const answer: unknown = await response.json().catch(() => undefined);
  if (!response.ok) {
    const failure = toCallError(response.status, answer);
    if (failure.code === 'not_signed_in') for (const { onSignedOut } of listeners) onSignedOut?.();
    throw failure;
  }
  // Not an answer of the service, but of something in between.
  if (answer === undefined) throw new CallError('offline', response.status, '');
  if (!isPassive) for (const { onActive } of listeners) onActive?.();
  return answer as Data;
}

function toCallError(status: number, answer: unknown): CallError {
  const { code = 'internal', message = '', field } = (answer ?? {}) as Record<string, string | undefined>;
  return new CallError(code, status, message, field);
}

async function send(path: string, request: RequestInit): Promise<Response> {
  try {
    return await fetch(path, { ...request, credentials: 'same-origin', cache: 'no-store', redirect: 'error' });
  } catch {
    throw new CallError('offline', 0, '');
  }
}
