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

/** Undefined: no response within `milliseconds`. */
async function call(
  path: string,
  secret: string,
  init: RequestInit = {},
  milliseconds = CALL_MS,
): Promise<Response | undefined> {
  try {
    return await fetch(path, {
      ...init,
      cache: 'no-store',
      credentials: 'omit',
      redirect: 'error',
      referrerPolicy: 'no-referrer',
      signal: AbortSignal.timeout(milliseconds),
      headers: { ...init.headers, authorization: `Bearer ${secret}` },
    });
  } catch {
    return undefined;
  }
}

async function json(response: Response): Promise<Record<string, unknown>> {
  try {
    return (await response.json()) as Record<string, unknown>;
  } catch {
    return {};
  }
}

/** Returns the session, or the code of an error. */
export async function loadSession(id: string, secret: string): Promise<SessionInfo | string> {
  for (let attempt = 0; ; attempt++) {
    const response = await call(`/v1/card/${id}/session`, secret);
    if (response?.ok === true) return (await json(response)) as unknown as SessionInfo;
    if (response?.status === 401 || response?.status === 404) return 'session_invalid';
    if (response?.status === 403) return 'unavailable';
    const delay = BACK_OFF_MS[attempt];
    if (delay === undefined) return codeOf(response);
    await wait(delay);
  }
}

const codeOf = (response: Response | undefined): string =>
  response === undefined ? 'network' : response.status === 429 ? 'rate_limited' : 'unavailable';

/** Sends the same attempt until it has a response, it is given up, or a minute is over. */
export async function submit(
  { id, secret, entry, attempt }: { id: string; secret: string; entry: Entry; attempt: string },
  isGivenUp: () => boolean,
): Promise<SubmitOutcome> {
  const body = JSON.stringify({ ...entry, attempt });
  const until = performance.now() + GIVE_UP_MS;
  for (let count = 0; ; count++) {
    const init = { method: 'POST', body, headers: { 'content-type': 'application/json' } };
    const response = await call(`/v1/card/${id}`, secret, init, Math.min(CALL_MS, until - performance.now()));
    if (response !== undefined && response.status !== 429 && response.status !== 503) return toOutcome(response);
    const after = Number(response?.headers.get('retry-after') ?? Number.NaN);
    const delay = Number.isFinite(after) && after > 0 ? after * 1000 : (BACK_OFF_MS[Math.min(count, 3)] ?? 8000);
    if (performance.now() + delay >= until) return { kind: 'failed', code: codeOf(response) };
    await wait(delay);
    if (isGivenUp()) return { kind: 'failed', code: codeOf(response) };
  }
}

async function toOutcome(response: Response): Promise<SubmitOutcome> {
  const { status } = response;
  const answer = await json(response);
  if (status === 200) return { kind: 'completed', ...(answer as unknown as { result: Result; card: Card }) };
  if (status === 410) return { kind: 'ended', status: String(answer['status']) };
  if (status === 400 && Array.isArray(answer['errors']))
    return {
      kind: 'refused',
      status: String(answer['status']),
      errors: answer['errors'] as { field: FieldName; code: FieldCode }[],
    };
  return { kind: 'failed', code: status === 401 || status === 404 ? 'session_invalid' : 'unavailable' };
}

/** Returns the status with which the session has ended, which may be another one; undefined without a response. */
export async function cancel(id: string, secret: string): Promise<string | undefined> {
  const response = await call(`/v1/card/${id}/cancel`, secret, { method: 'POST' });
  if (response?.status !== 200 && response?.status !== 410) return undefined;
  return String((await json(response))['status']);
}
