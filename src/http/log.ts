import { pino } from 'pino';
import { type Clock, formatIso8601 } from '../kernel/clock.ts';
import { StorageError } from '../storage/database.ts';

/**
 * The log: one JSON object a line, made of these fields and no others, so that nothing reaches it by accident. Route
 * patterns stand for paths; messages of errors from outside stay out, because they can quote data.
 */
export interface LogFields {
  readonly request_id?: string;
  readonly method?: string;
  readonly route?: string;
  readonly status?: number;
  readonly duration_ms?: number;
  readonly address?: string;
  readonly account?: string;
  readonly key?: string;
  readonly failure?: string;
  readonly error?: string;
  readonly frames?: readonly string[];
  readonly listener?: string;
  readonly reason?: string;
  readonly task?: string;
  readonly payment?: string;
  readonly count?: number;
  /** Over the heads of the audit log. */
  readonly digest?: string;
  readonly difference_ms?: number;
}

/** The fields of a request, each of a closed list or of a form that needs no escaping but that of JSON. */
export interface RequestFields {
  readonly listener: string;
  readonly request_id: string;
  readonly method: string;
  readonly route: string;
  readonly status: number;
  readonly duration_ms: number;
  readonly address: string;
  readonly account: string | undefined;
  readonly key: string | undefined;
}

/** The fields by name, so that nothing else passes. */
const pickAllowed = (fields: LogFields): LogFields => {
  const { request_id, method, route, status, duration_ms, address, account, key } = fields;
  const { failure, error, frames, listener, reason, task, payment, difference_ms, count, digest } = fields;
  const request = { listener, request_id, method, route, status, duration_ms, address, account, key };
  // What is undefined is left out of the line.
  return { ...request, failure, error, frames, reason, task, payment, difference_ms, count, digest } as LogFields;
};

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export interface Log {
  /** The line of a finished request. */
  request(fields: RequestFields): void;
  info(event: string, fields?: LogFields): void;
  warn(event: string, fields?: LogFields): void;
  error(event: string, fields?: LogFields): void;
  flush(): void;
}

/** Where lines go: standard error, or a writer of a test. */
export type LogTarget = { write(line: string): void };

/** Characters that are worth a write, and milliseconds after which fewer are written too. */
const FLUSH_CHARACTERS = 64 * 1024;
const FLUSH_DELAY_MS = 250;

/**
 * Gathers lines, because a write for each request costs more than the request's own bookkeeping. (The buffer that pino
 * brings measures all it holds again for every line.)
 */
class LineBuffer {
  #text = '';
  #timer: NodeJS.Timeout | undefined;

  write(line: string): void {
    this.#text += line;
    if (this.#text.length >= FLUSH_CHARACTERS) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), FLUSH_DELAY_MS).unref();
  }

  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#text === '') return;
    // Whoever reads the log may be gone, or its disk full: cards matter more than lines.
    if (process.stderr.listenerCount('error') === 0) process.stderr.on('error', () => undefined);
    process.stderr.write(this.#text, () => undefined);
    this.#text = '';
  }
}

export function openLog(level: LogLevel, clock: Clock, target?: LogTarget): Log {
  const buffer = new LineBuffer();
  const timeMember = createTimeMember(clock);
  const logger = pino(
    {
      level,
      base: null,
      timestamp: timeMember,
      formatters: { level: (label) => ({ level: label }) },
    },
    target ?? buffer,
  );
  const destination = target ?? buffer;
  return {
    request: logger.isLevelEnabled('info')
      ? (fields) => destination.write(formatRequest(timeMember(), fields))
      : () => undefined,
    info: (event, fields = {}) => logger.info(pickAllowed(fields), event),
    warn: (event, fields = {}) => logger.warn(pickAllowed(fields), event),
    error: (event, fields = {}) => logger.error(pickAllowed(fields), event),
    flush: () => buffer.flush(),
  };
}

/** Returns a writer of the member `time` of a line. Lines of one millisecond share its text. */
function createTimeMember(clock: Clock): () => string {
  let writtenAt = Number.NaN;
  let member = '';
  return () => {
    const now = clock();
    if (now !== writtenAt) {
      member = `,"time":"${formatIso8601(now)}"`;
      writtenAt = now;
    }
    return member;
  };
}

/** Returns the line of a request as the logger would write it, without the price of a general serializer. */
function formatRequest(timeMember: string, fields: RequestFields): string {
  const { listener, request_id, method, route, status, duration_ms, address, account, key } = fields;
  const caller = account === undefined ? '' : `,"account":"${account}","key":"${key}"`;
  return `{"level":"info"${timeMember},"listener":"${listener}","request_id":"${request_id}","method":"${method}","route":"${route}","status":${status},"duration_ms":${duration_ms},"address":"${address}"${caller},"msg":"request"}\n`;
}

/** What may be said of an unexpected error: its kind and where it came from, not its message. */
export function describeError(error: unknown): LogFields {
  if (!(error instanceof Error)) return { error: typeof error };
  // Written for operators, and free of data.
  if (error instanceof StorageError) return { error: error.name, reason: error.message };
  const code = (error as { code?: unknown }).code;
  const frames = (error.stack ?? '').split('\n').filter((text) => /^\s+at /.test(text));
  return {
    error: typeof code === 'string' ? `${error.name} ${code}` : error.name,
    frames: frames.slice(0, 8).map((frame) => frame.trim()),
  };
}
