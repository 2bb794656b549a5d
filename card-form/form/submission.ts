import type { Entry, FieldCode, FieldName } from '../../src/kernel/card-entry.ts';
import type { Card, Result } from '../protocol.ts';

/** The calls of the form to the vault. */

export interface SessionInfo {
  readonly status: string;
  readonly environment?: string;
  readonly seconds_left?: number;
  readonly fields?: {
    readonly name: 'required' | 'optional' | 'hidden';
    readonly cvv: 'required' | 'optional' | 'hidden';
  };
  readonly accepted_brands?: readonly string[];
  readonly locale?: string;
  readonly appearance?: unknown;
  readonly account_name?: string;
  readonly description?: string;
  readonly return_url?: string;
}

export type SubmitOutcome =
  | { readonly kind: 'completed'; readonly result: Result; readonly card: Card }
  | {
      readonly kind: 'refused';
      readonly status: string;
      readonly errors: readonly { field: FieldName; code: FieldCode }[];
    }
  | { readonly kind: 'ended'; readonly status: string }
  | { readonly kind: 'failed'; readonly code: string };

const BACK_OFF_MS = [1000, 2000, 4000, 8000];
const GIVE_UP_MS = 60_000;
const CALL_MS = 20_000;

const wait = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds));

interface Answer {
  readonly status: number;
  /** Milliseconds that the service asks to wait. */
  readonly retryAfter: number | undefined;
  /** Empty where the response has no JSON. */
  readonly body: Record<string, unknown>;
}

/** The statuses whose body counts: without it nobody knows what happened. */
const WITH_BODY = [200, 400, 410];

/** Undefined: no whole response within `milliseconds`. */
async function call(
  path: string,
  secret: string,
  init: RequestInit = {},
  milliseconds = CALL_MS,
): Promise<Answer | undefined> {
  try {
    const response = await fetch(path, {
      ...init,
      cache: 'no-store',
      credentials: 'omit',
      redirect: 'error',
      referrerPolicy: 'no-referrer',
      signal: AbortSignal.timeout(milliseconds),
      headers: { ...init.headers, authorization: `Bearer ${secret}` },
    });
    const { status, headers } = response;
    const seconds = Number(headers.get('retry-after') ?? Number.NaN);
    return { status, retryAfter: seconds > 0 ? seconds * 1000 : undefined, body: await readBody(response) };
  } catch {
    return undefined;
  }
}

/** Throws when the connection breaks, or when a body that counts is no JSON, as one that a proxy has cut. */
async function readBody(response: Response): Promise<Record<string, unknown>> {
  const text = await response.text();
  try {
    return JSON.parse(text);
  } catch (error) {
    if (WITH_BODY.includes(response.status)) throw error;
    return {};
  }
}

/** Returns the session, or the code of an error. */
export async function loadSession(id: string, secret: string): Promise<SessionInfo | string> {
  for (let attempt = 0; ; attempt++) {
    const answer = await call(`/v1/card/${id}/session`, secret);
    if (answer?.status === 200) return answer.body as unknown as SessionInfo;
    if (answer?.status === 401 || answer?.status === 404) return 'session_invalid';
    if (answer?.status === 403) return 'unavailable';
    const delay = BACK_OFF_MS[attempt];
    if (delay === undefined) return codeOf(answer);
    await wait(delay);
  }
}

const codeOf = (answer: Answer | undefined): string =>
  answer === undefined ? 'network' : answer.status === 429 ? 'rate_limited' : 'unavailable';

/** True when nothing was done, or nobody knows: a proxy that lost the response answers 502 or 504. */
const isUncertain = ({ status }: Answer): boolean => status === 429 || status >= 500;

/** Sends the same attempt until it has a response, it is given up, or a minute is over. */
export async function submit(
  { id, secret, entry, attempt }: { id: string; secret: string; entry: Entry; attempt: string },
  isGivenUp: () => boolean,
): Promise<SubmitOutcome> {
  const body = JSON.stringify({ ...entry, attempt });
  const until = performance.now() + GIVE_UP_MS;
  for (let count = 0; ; count++) {
    const init = { method: 'POST', body, headers: { 'content-type': 'application/json' } };
    const answer = await call(`/v1/card/${id}`, secret, init, Math.min(CALL_MS, until - performance.now()));
    if (answer !== undefined && !isUncertain(answer)) return toOutcome(answer);
    const delay = answer?.retryAfter ?? BACK_OFF_MS[Math.min(count, 3)] ?? 8000;
    if (performance.now() + delay >= until) return { kind: 'failed', code: codeOf(answer) };
    await wait(delay);
    if (isGivenUp()) return { kind: 'failed', code: codeOf(answer) };
  }
}

function toOutcome({ status, body }: Answer): SubmitOutcome {
  if (status === 200) return { kind: 'completed', ...(body as unknown as { result: Result; card: Card }) };
  if (status === 410) return { kind: 'ended', status: String(body['status']) };
  if (status === 400 && Array.isArray(body['errors']))
    return {
      kind: 'refused',
      status: String(body['status']),
      errors: body['errors'] as { field: FieldName; code: FieldCode }[],
    };
  return { kind: 'failed', code: status === 401 || status === 404 ? 'session_invalid' : 'unavailable' };
}

/** Returns the status with which the session has ended, which may be another one; undefined without a response. */
export async function cancel(id: string, secret: string): Promise<string | undefined> {
  const answer = await call(`/v1/card/${id}/cancel`, secret, { method: 'POST' });
  return answer?.status === 200 || answer?.status === 410 ? String(answer.body['status']) : undefined;
}
