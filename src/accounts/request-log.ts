import { type Clock, type Random, SECOND } from '../kernel/clock.ts';
import type { Environment } from '../kernel/environment.ts';
import type { Failure } from '../kernel/failure.ts';
import { LIMITS } from '../kernel/limits.ts';
import type { Database } from '../storage/database.ts';
import { insertLogRows, type LogRow } from './request-log-store.ts';
import { NO_ROUTE } from './request-log-terms.ts';

/** A caller as far as it is known, also when the request was rejected. */
export interface KnownCaller {
  readonly account: string;
  /** The id of the API key. */
  readonly key: string;
}

/**
 * A request as far as the log may know it. Route and failure are definitions of the service and not texts of the request, so
 * that no body, query, path, header or value can enter. The request id was checked by `http/request-id.ts`.
 */
export interface FinishedRequest {
  readonly environment: Environment;
  readonly method: string;
  /** Undefined for a path that is not served. */
  readonly route: { readonly path: string } | undefined;
  readonly status: number;
  readonly milliseconds: number;
  /** Absent for a success, and for a stored response that is repeated. */
  readonly failure: Failure | undefined;
  readonly requestId: string;
  readonly address: string;
  readonly caller: KnownCaller | undefined;
}

/** A recorded request. It holds the values of its row alone, so that no request or error stays in memory. */
interface LogEntry {
  readonly values: LogRow;
  /** Further requests of the same kind, the last column of the row. */
  repeats: number;
}

/** The errors of one kind in the present second. */
interface ErrorKind {
  last: LogEntry;
  count: number;
}

/** The requests of one key in the present second. */
interface CallerWindow {
  successes: number;
  readonly errors: Map<string, ErrorKind>;
}

/** First ids of processes are apart, so that two processes do not write the same id in one millisecond. */
const FIRST_IDS = 2 ** 32;
const IDS_APART = 2 ** 20;

/**
 * Records requests for the developers of the clients: every error, and of the successes some of each key and second. Entries
 * gather in memory and are written periodically, outside the commit of a request. A process that is killed loses those of
 * its last seconds, so this is no audit log.
 */
export class RequestLog {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #isOff: boolean;
  #entries: LogEntry[] = [];
  /** Number of the entries that are being written, which come back when that fails. */
  #writing = 0;
  /** Number of the entries before the present second, whose repetitions are no longer counted. */
  #closed = 0;
  #second = 0;
  readonly #callers = new Map<string, CallerWindow>();
  /** Number of the entries in memory of each account. */
  readonly #rowsByAccount = new Map<string, number>();
  #nextId: number;

  /** `rows`: 0 switches the log off. */
  constructor(options: { database: Database; clock: Clock; random: Random; rows: number }) {
    this.#database = options.database;
    this.#clock = options.clock;
    this.#isOff = options.rows === 0;
    this.#nextId = options.random.below(FIRST_IDS) * IDS_APART;
  }

  /** True when a success of this key of an account is one of those that are recorded. */
  takesSuccess(account: string | undefined, key: string | undefined): boolean {
    if (account === undefined || key === undefined || this.#isOff) return false;
    this.#enterSecond(this.#clock());
    const caller = this.#callerOf(key);
    if (caller.successes >= LIMITS.requestLogSuccessesPerSecond) return false;
    if (!this.#hasRoom(account, LIMITS.requestLogRowsInMemory / 2)) return false;
    caller.successes++;
    return true;
  }

  addSuccess(request: FinishedRequest): void {
    this.#add(this.#clock(), request);
  }

  /** Returns false when neither an entry nor the count of one contains the error. */
  addError(request: FinishedRequest): boolean {
    if (this.#isOff) return true;
    const now = this.#clock();
    this.#enterSecond(now);
    const { errors } = this.#callerOf(request.caller?.key ?? request.environment);
    const kindName = nameKind(request);
    const kind = errors.get(kindName);
    const isFull = !this.#hasRoom(request.caller?.account ?? '', LIMITS.requestLogRowsInMemory);
    if (kind !== undefined && (isFull || kind.count >= LIMITS.requestLogErrorsPerSecond)) {
      kind.last.repeats++;
      return true;
    }
    if (isFull) return false;
    const last = this.#add(now, request);
    if (kind === undefined) errors.set(kindName, { last, count: 1 });
    else {
      kind.last = last;
      kind.count++;
    }
    return true;
  }

  /** Writes the entries of the past seconds, or all of them. Those that could not be written remain for the next call. */
  async flush({ all = false } = {}): Promise<void> {
    this.#enterSecond(this.#clock());
    if (all) this.#closeEntries();
    const entries = this.#entries.splice(0, this.#closed);
    this.#closed = 0;
    this.#writing += entries.length;
    let written = 0;
    try {
      for (; written < entries.length; written += LIMITS.rowsPerCommit)
        await insertLogRows(this.#database, entries.slice(written, written + LIMITS.rowsPerCommit).map(toRow));
    } finally {
      const unwritten = entries.slice(written);
      this.#entries.unshift(...unwritten);
      this.#closed += unwritten.length;
      this.#writing -= entries.length;
      for (const { values } of entries.slice(0, written)) this.#countRows(values, -1);
    }
  }

  /**
   * An account takes at most as many rows as it leaves free: one alone half of them, and a flood of one leaves room for the
   * others.
   */
  #hasRoom(account: string, rows: number): boolean {
    return (this.#rowsByAccount.get(account) ?? 0) < rows - this.#entries.length - this.#writing;
  }

  #countRows([account]: LogRow, change: 1 | -1): void {
    const name = String(account);
    const rows = (this.#rowsByAccount.get(name) ?? 0) + change;
    if (rows > 0) this.#rowsByAccount.set(name, rows);
    else this.#rowsByAccount.delete(name);
  }

  #add(at: number, request: FinishedRequest): LogEntry {
    const entry = { values: toValues(at, this.#nextId++, request), repeats: 0 };
    this.#entries.push(entry);
    this.#countRows(entry.values, 1);
    return entry;
  }

  #enterSecond(now: number): void {
    const second = Math.floor(now / SECOND);
    if (second === this.#second) return;
    this.#second = second;
    this.#closeEntries();
  }

  #closeEntries(): void {
    this.#closed = this.#entries.length;
    this.#callers.clear();
  }

  #callerOf(name: string): CallerWindow {
    let caller = this.#callers.get(name);
    if (caller === undefined) {
      caller = { successes: 0, errors: new Map() };
      this.#callers.set(name, caller);
    }
    return caller;
  }
}

/** Returns a text that is equal for repetitions of an error. */
const nameKind = ({ method, route, status, failure }: FinishedRequest): string =>
  [method, route?.path, status, failure?.code, failure?.reason].join(' ');

/** A path of declared names, such as `chd[3].exp`. Other places, such as a pointer into a payload, may have names of the client. */
const FIELD = /^[a-z_-]{1,60}\d{0,2}(\[\d{1,4}\])?(\.[a-z_-]{1,60}\d{0,2}(\[\d{1,4}\])?){0,5}$/i;

const fieldOf = (failure: Failure | undefined): string | null =>
  failure?.field !== undefined && FIELD.test(failure.field) ? failure.field : null;

const MICROSECONDS_PER_MS = 1000;

/** Returns the columns of the row but the last. */
const toValues = (at: number, id: number, request: FinishedRequest): LogRow => [
  request.caller?.account ?? '',
  request.environment,
  at,
  id,
  request.method,
  request.route?.path ?? NO_ROUTE,
  request.status,
  Math.round(request.milliseconds * MICROSECONDS_PER_MS),
  request.failure?.code ?? null,
  request.failure?.reason ?? null,
  fieldOf(request.failure),
  request.requestId,
  request.caller?.key ?? null,
  request.address,
];

const toRow = ({ values, repeats }: LogEntry): LogRow => [...values, repeats];
