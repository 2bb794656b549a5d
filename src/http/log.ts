import { pino } from 'pino';
import { type Clock, formatIso8601 } from '../kernel/clock.ts';
import { StorageError } from '../storage/database.ts';

/**
 * The log: one JSON object a line, with these fields and no others, so that nothing gets into it by accident. Route
 * patterns replace paths; messages of foreign errors are left out, because they can quote data.
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
  /** Digest of the heads of the audit log. */
  readonly digest?: string;
  readonly difference_ms?: number;
}

/** The fields of a request, each of a closed list or in a format that needs no escaping but that of JSON. */
interface RequestFields {
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

/** Picks the fields by name, so that no other is written. */
const pickAllowed = (fields: LogFields): LogFields => {
  const { request_id, method, route, status, duration_ms, address, account, key } = fields;
  const { failure, error, frames, listener, reason, task, payment, difference_ms, count, digest } = fields;
  const request = { listener, request_id, method, route, status, duration_ms, address, account, key };
  // Undefined members are left out of the line.
  return { ...request, failure, error, frames, reason, task, payment, difference_ms, count, digest } as LogFields;
};

/** From all lines to none. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

export interface Log {
  /** The line of a finished request. */
  request(fields: RequestFields): void;
  info(event: string, fields?: LogFields): void;
  warn(event: string, fields?: LogFields): void;
  error(event: string, fields?: LogFields): void;
  /** Adds lines that the log of another thread has written. */
  append(lines: string): void;
  flush(): void;
}

/** The receiver of the lines. */
interface LogTarget {
  write(lines: string): void;
  /** True to write many lines at a time. */
  readonly isBuffered?: boolean;
}

/** The reader of the log may have closed it, or its disk may be full: serving requests has priority over lines. */
const STANDARD_ERROR: LogTarget = {
  write: (lines) => {
    if (process.stderr.listenerCount('error') === 0) process.stderr.on('error', () => undefined);
    process.stderr.write(lines, () => undefined);
  },
  isBuffered: true,
};

/** Number of lines that are written immediately, and milliseconds after which fewer are written. */
const FLUSH_LINES = 256;
const FLUSH_DELAY_MS = 250;

/** A reported request with its time in milliseconds, and its fields. */
interface RequestLine {
  readonly time: number;
  readonly fields: RequestFields;
}

/**
 * Buffers lines, because a write for each request costs more than the request's own bookkeeping. Lines of requests are
 * formatted together when they are written: one after the other they cost a fifth of what each costs in the middle of a
 * request.
 */
class LineBuffer {
  readonly #target: LogTarget;
  #lines: (string | RequestLine)[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(target: LogTarget) {
    this.#target = target;
  }

  write(line: string | RequestLine): void {
    this.#lines.push(line);
    if (this.#target.isBuffered !== true || this.#lines.length >= FLUSH_LINES) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), FLUSH_DELAY_MS).unref();
  }

  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const lines = this.#lines;
    if (lines.length === 0) return;
    this.#lines = [];
    let text = '';
    for (const line of lines) text += typeof line === 'string' ? line : formatRequest(line);
    this.#target.write(text);
  }
}

export function openLog(level: LogLevel, clock: Clock, target = STANDARD_ERROR): Log {
  const buffer = new LineBuffer(target);
  const logger = pino(
    {
      level,
      base: null,
      timestamp: () => formatTime(clock()),
      formatters: { level: (label) => ({ level: label }) },
    },
    buffer,
  );
  return {
    request: logger.isLevelEnabled('info') ? (fields) => buffer.write({ time: clock(), fields }) : () => undefined,
    info: (event, fields = {}) => logger.info(pickAllowed(fields), event),
    warn: (event, fields = {}) => logger.warn(pickAllowed(fields), event),
    error: (event, fields = {}) => logger.error(pickAllowed(fields), event),
    append: (lines) => buffer.write(lines),
    flush: () => buffer.flush(),
  };
}

const formatTime = (time: number): string => `,"time":"${formatIso8601(time)}"`;

/** Formats the line of a request as the logger would, without the cost of a general serializer. */
function formatRequest({ time, fields }: RequestLine): string {
  const { listener, request_id, method, route, status, duration_ms, address, account, key } = fields;
  const caller = account === undefined ? '' : `,"account":"${account}","key":"${key}"`;
  return `{"level":"info"${formatTime(time)},"listener":"${listener}","request_id":"${request_id}","method":"${method}","route":"${route}","status":${status},"duration_ms":${duration_ms},"address":"${address}"${caller},"msg":"request"}\n`;
}

/** Describes an unexpected error by its type and source position, not by its message. */
export function describeError(error: unknown): LogFields {
  if (!(error instanceof Error)) return { error: typeof error };
  // Written for operators, and free of data.
  if (error instanceof StorageError) return { error: error.name, reason: error.message };
  const code = (error as { code?: unknown }).code;
  return { error: typeof code === 'string' ? `${error.name} ${code}` : error.name, frames: listFrames(error) };
}

const MAX_FRAMES = 8;

/** The stack begins with the message, whose lines may look like frames. */
function listFrames({ message, stack = '' }: Error): string[] {
  const start = stack.indexOf(message);
  const lines = stack.slice(start < 0 ? 0 : start + message.length).split('\n');
  return lines
    .filter((line) => /^\s+at /.test(line))
    .slice(0, MAX_FRAMES)
    .map((line) => line.trim());
}
