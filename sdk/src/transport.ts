import { randomInt, randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import { ConnectionError, type Refusal, ResponseTooLongError, TimeoutError, toRefusedError } from './errors.ts';
import { repeatsValue } from './repeats.ts';

/** Settings of a client. */
export interface ClientOptions {
  /** Address of one environment, as `https://vault.example.com:8443`, without a path. */
  readonly baseUrl: string;
  /** The API key of that environment. */
  readonly apiKey: string;
  /** Certificates of authorities, PEM, when the vault has one of its own; absent: those that Node trusts. */
  readonly ca?: string | readonly string[] | undefined;
  /**
   * How long a call may take with all of its attempts; default 60,000. A number above 0; more than 2,147,483,647, the longest that a
   * timer takes, counts as that.
   */
  readonly timeoutMs?: number | undefined;
  /** How long one attempt may take, with the same limits; default 30,000. */
  readonly attemptTimeoutMs?: number | undefined;
  /** Attempts beyond the first: a whole number from 0; default 4. */
  readonly maxRetries?: number | undefined;
}

/** Options of one call. */
export interface CallOptions {
  /**
   * Identifies a write: the service executes it once, however often it is sent. Absent: one is made for the call, so that retries
   * within it are safe; give your own, such as the id of the order, so that a repeat after a crash of your process is safe too.
   */
  readonly idempotencyKey?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Goes before that of the client, with the same limits. */
  readonly timeoutMs?: number | undefined;
}

/** One request, without the parts that the transport adds. */
export interface Outgoing {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly keyHeader: 'x-api-key' | 'ft-access-key';
  readonly body?: string | Uint8Array | undefined;
  readonly contentType?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** Clock, randomness and waits of the retries. Attempts end by the clock of the machine. */
export interface Timing {
  /** Milliseconds from any start; never goes back. */
  readonly now: () => number;
  /** A whole number from 0 up to, and without, `below`. */
  readonly random: (below: number) => number;
  /** Rejects as soon as the signal is aborted. */
  readonly wait: (milliseconds: number, signal: AbortSignal | undefined) => Promise<void>;
}

export const SYSTEM_TIMING: Timing = {
  now: () => performance.now(),
  random: (below) => randomInt(below),
  wait: (milliseconds, signal) => delay(milliseconds, undefined, { signal }),
};

interface Response {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
}

/** Node ends a longer timer after 1 ms. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;
const DEFAULTS = { timeoutMs: 60_000, attemptTimeoutMs: 30_000, maxRetries: 4 };
const FIRST_BACK_OFF_MS = 250;
const LONGEST_BACK_OFF_MS = 8000;
/**
 * The longest response of the interface is that of a tokenization of 1,000 cards, because each of its records repeats all tags: 50
 * of 255 characters, which take up to 6 bytes each (`\u0001`), with their quotes and a comma. The other members of a record take
 * less than 2,000 bytes, most of them for the name of the API key.
 */
export const MAX_RESPONSE_BYTES = 1000 * (50 * (255 * 6 + 3) + 2000);

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Statuses after which the same request may succeed: in progress, too many, unavailable. */
const RETRYABLE: ReadonlySet<number> = new Set([409, 429, 503]);

/** Sends requests, and sends them again where that cannot have a second effect. */
export class Transport {
  readonly #apiKey: string;
  readonly #timeoutMs: number;
  readonly #attemptTimeoutMs: number;
  readonly #maxRetries: number;
  readonly #base: URL;
  readonly #agent: Agent;
  readonly #timing: Timing;

  /** Throws a `TypeError` for a bad option. */
  constructor(options: ClientOptions, timing: Timing = SYSTEM_TIMING) {
    const base = URL.canParse(options.baseUrl) ? new URL(options.baseUrl) : undefined;
    if (base === undefined || !isHttpsOrigin(base))
      throw new TypeError('baseUrl: expected https://HOST or https://HOST:PORT');
    if (!/^[\x21-\x7e]+$/.test(options.apiKey)) throw new TypeError('apiKey: expected visible ASCII characters');
    this.#apiKey = options.apiKey;
    this.#timeoutMs = toTimerMs('timeoutMs', options.timeoutMs ?? DEFAULTS.timeoutMs);
    this.#attemptTimeoutMs = toTimerMs('attemptTimeoutMs', options.attemptTimeoutMs ?? DEFAULTS.attemptTimeoutMs);
    this.#maxRetries = options.maxRetries ?? DEFAULTS.maxRetries;
    if (!Number.isSafeInteger(this.#maxRetries) || this.#maxRetries < 0)
      throw new TypeError('maxRetries: expected a whole number from 0');
    this.#timing = timing;
    this.#base = base;
    const ca = options.ca === undefined ? {} : { ca: typeof options.ca === 'string' ? options.ca : [...options.ca] };
    // The certificate is verified whatever the environment of the process says.
    const verified = { minVersion: 'TLSv1.2', rejectUnauthorized: true } as const;
    this.#agent = new Agent({ keepAlive: true, maxSockets: 64, ...verified, ...ca });
  }

  /** Closes idle connections. */
  close(): void {
    this.#agent.destroy();
  }

  /**
   * Returns the parsed body of a successful response. A write always has an `Idempotency-Key`, so that every retry of it gets the
   * result of the first. Throws the errors of `errors.ts`, and before anything is sent a `TypeError` for a bad option, such as a key
   * that the service would refuse.
   */
  async send<T>(outgoing: Outgoing, options: CallOptions = {}): Promise<T> {
    const isWrite = outgoing.method !== 'GET';
    const idempotencyKey = isWrite ? (options.idempotencyKey ?? randomUUID()) : undefined;
    if (idempotencyKey !== undefined) assertKey(idempotencyKey);
    const { now, random, wait } = this.#timing;
    const deadline = now() + toTimerMs('timeoutMs', options.timeoutMs ?? this.#timeoutMs);
    for (let attempt = 0; ; attempt++) {
      const attempted = this.#attempt(outgoing, idempotencyKey, deadline - now(), options.signal);
      const received = await attempted.catch((error: unknown) => {
        // An attempt before may have had its effect: whoever calls again needs its key.
        const message = 'the request could not be sent again';
        throw attempt === 0 ? error : new ConnectionError(message, idempotencyKey, { cause: error });
      });
      const outcome = checkBody(received, idempotencyKey);
      if (!(outcome instanceof ConnectionError) && isSuccess(outcome)) return parse(outcome.text) as T;
      const error =
        outcome instanceof ConnectionError
          ? outcome
          : toRefusedError(this.#withoutValues(toRefusal(outcome), outgoing), idempotencyKey);
      const waits = backOff(attempt, error instanceof ConnectionError ? undefined : error.retryAfter, random);
      const isTooLong = outcome instanceof ResponseTooLongError;
      const isRetryable = outcome instanceof ConnectionError ? !isTooLong : RETRYABLE.has(outcome.status);
      const isInTime = now() + waits < deadline;
      if (!isRetryable || attempt >= this.#maxRetries || !isInTime || options.signal?.aborted === true) throw error;
      await wait(waits, options.signal).catch(() => {
        throw error;
      });
    }
  }

  /** Something between client and service may respond with what it was sent. */
  #withoutValues(refusal: Refusal, { path, body, headers = {} }: Outgoing): Refusal {
    // A query has only words of the interface.
    const [place = ''] = path.split('?');
    const sent = [...place.split('/').map(decodeURIComponent), this.#apiKey, ...Object.values(headers)];
    if (body !== undefined) sent.push(Buffer.from(body as string).toString());
    const { description, code, field, requestId } = refusal;
    const isSafe = (text: string | undefined): boolean => text === undefined || !repeatsValue(text, sent);
    // A UUID has runs of digits that others have by chance.
    const isSafeId = (id: string): boolean => (UUID.test(id) ? !sent.some((part) => part.includes(id)) : isSafe(id));
    return {
      ...refusal,
      description: isSafe(description) ? description : 'the response repeats a value of the request',
      code: isSafe(code) ? code : undefined,
      field: isSafe(field) ? field : undefined,
      requestId: requestId !== undefined && isSafeId(requestId) ? requestId : undefined,
    };
  }

  /** Never rejects for what the network does, and never once its request exists. */
  async #attempt(
    { method, path, keyHeader, body, contentType, headers }: Outgoing,
    idempotencyKey: string | undefined,
    leftMs: number,
    signal: AbortSignal | undefined,
  ): Promise<Response | ConnectionError> {
    // The clock has fractions of a millisecond, and Node refuses them here.
    const timeout = AbortSignal.timeout(Math.max(1, Math.ceil(Math.min(leftMs, this.#attemptTimeoutMs))));
    const bytes = body === undefined ? undefined : Buffer.from(body as string);
    return new Promise((resolve) => {
      const outgoing = request(new URL(path, this.#base), {
        method,
        agent: this.#agent,
        signal: signal === undefined ? timeout : AbortSignal.any([timeout, signal]),
        headers: {
          accept: 'application/json',
          ...headers,
          [keyHeader]: this.#apiKey,
          ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
          ...(bytes !== undefined && {
            'content-type': contentType ?? 'application/json',
            'content-length': bytes.length,
          }),
        },
      });
      const fail = (error: Error): void => resolve(toConnectionError(error, timeout, idempotencyKey));
      outgoing.on('error', fail);
      outgoing.on('response', (response) => collect(response, idempotencyKey, resolve, fail));
      outgoing.end(bytes);
    });
  }
}

/** The path of a request replaces that of the address, so that a request would go elsewhere than an address with a path says. */
const isHttpsOrigin = ({ protocol, origin, href }: URL): boolean => protocol === 'https:' && href === `${origin}/`;

/** Something between client and service could drop an empty header: a write without a key has an effect each time. */
function assertKey(key: string): void {
  if (!/^[\x21-\x7e]{1,255}$/.test(key))
    throw new TypeError('idempotencyKey: expected 1 to 255 visible ASCII characters');
}

/** Returns whole milliseconds that a timer takes. */
function toTimerMs(name: string, value: number): number {
  if (!(typeof value === 'number' && value > 0)) throw new TypeError(`${name}: expected milliseconds above 0`);
  return Math.min(Math.ceil(value), LONGEST_TIMER_MS);
}

const isSuccess = ({ status }: Response): boolean => status >= 200 && status < 300;

/** A success without a JSON object is from something between client and service: whether the call had its effect is unknown. */
function checkBody(outcome: Response | ConnectionError, key: string | undefined): Response | ConnectionError {
  if (outcome instanceof ConnectionError || !isSuccess(outcome)) return outcome;
  const body = parse(outcome.text);
  const isObject = typeof body === 'object' && body !== null;
  return isObject ? outcome : new ConnectionError('the response is none of cardvault', key);
}

function collect(
  response: IncomingMessage,
  key: string | undefined,
  resolve: (outcome: Response | ConnectionError) => void,
  fail: (error: Error) => void,
): void {
  const chunks: Buffer[] = [];
  let size = 0;
  response.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size <= MAX_RESPONSE_BYTES) chunks.push(chunk);
    else {
      resolve(new ResponseTooLongError('the response is too long', key));
      response.destroy();
    }
  });
  response.on('error', fail);
  response.on('aborted', () => fail(new Error('the connection ended within the response')));
  response.on('end', () => {
    const { statusCode: status = 0, headers } = response;
    resolve({ status, headers, text: Buffer.concat(chunks).toString('utf8') });
  });
}

/** The code of the error alone: a message could contain an address. */
function toConnectionError(error: Error, timeout: AbortSignal, key: string | undefined): ConnectionError {
  if (timeout.aborted) return new TimeoutError('the service did not respond in time', key);
  const { code } = error as NodeJS.ErrnoException;
  return new ConnectionError(`the service cannot be reached${code === undefined ? '' : ` (${code})`}`, key);
}

/** `Retry-After` counts; without it the wait doubles. Both vary, so that clients do not come back at once. */
function backOff(attempt: number, retryAfter: number | undefined, random: Timing['random']): number {
  const regular = Math.min(LONGEST_BACK_OFF_MS, FIRST_BACK_OFF_MS * 2 ** attempt);
  const least = retryAfter === undefined ? regular / 2 : retryAfter * 1000;
  return least + random(Math.ceil(regular / 2) + 1);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The three shapes of failures of the interface have different names for the same things. */
function toRefusal({ status, headers, text }: Response): Refusal {
  const body = (parse(text) ?? {}) as {
    readonly desc?: unknown;
    readonly description?: unknown;
    readonly message?: unknown;
    readonly data?: { readonly code?: unknown; readonly path?: unknown } | string;
  };
  const data = typeof body.data === 'object' && body.data !== null ? body.data : {};
  const description = [body.desc, body.description, body.message].find((each) => typeof each === 'string');
  const retryAfter = Number(headers['retry-after']);
  const requestId = headers['x-request-id'];
  return {
    status,
    description: String(description ?? 'the response is none of cardvault'),
    code: typeof data.code === 'string' ? data.code : undefined,
    field: fieldOf(data.path, description),
    requestId: typeof requestId === 'string' ? requestId : undefined,
    retryAfter: Number.isFinite(retryAfter) && retryAfter >= 0 ? retryAfter : undefined,
  };
}

/** Texts of the vault and the proxy begin with the field: `chd[3].exp: expected MM/YY`. */
function fieldOf(path: unknown, description: unknown): string | undefined {
  if (typeof path === 'string' && path !== '') return path;
  return /^([a-zA-Z_][\w.[\]-]*): /.exec(String(description ?? ''))?.[1];
}
