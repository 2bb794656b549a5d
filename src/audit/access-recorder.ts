import { type Clock, HOUR, MINUTE } from '../kernel/clock.ts';
import { LIMITS } from '../kernel/limits.ts';
import { commitOrThrow, type Database } from '../storage/database.ts';
import { type AuditEvent, buildAuditEntry, type Origin } from './audit.ts';

/** The reader of the log. */
interface LogReader {
  readonly origin: Origin;
  /** The account whose log contains the reader's actions; '' for operators. */
  readonly account: string;
  /** True for a poll of the browser, which continues the reading of its page. */
  readonly isPassive: boolean;
}

/** The part of the log that is read: an account's, with '' the service's, or all of it. */
export type LogScope = { readonly account: string } | 'everything';

/** Readings with the same reader, scope and filters count as one for this time. */
const DEDUPLICATION_MS = 5 * MINUTE;

/** The reading of the audit log, its export, and the reading of the request log. */
type AccessAction = 'audit.read' | 'audit.exported' | 'requests.read';

/** A page that stays open and polls the log is one reading, but no longer than this time. */
const MAX_READING_MS = HOUR;

/**
 * Returns the events of reading a log (PCI DSS 10.2.1.3): for the reader's log, which is that of `account`, and for the log
 * that is read.
 */
export function accessEvents(
  action: AccessAction,
  account: string,
  scope: LogScope,
  filters: readonly string[] = [],
): AuditEvent[] {
  const chains = new Set([account, ...(typeof scope === 'string' ? [] : [scope.account])]);
  const by = filters.length > 0 && { filters: filters.join(' ') };
  const detail = { of: formatScope(scope), ...by };
  return [...chains].map((chain) => ({ action, outcome: 'success', account: chain, environment: '', detail }));
}

function formatScope(scope: LogScope): string {
  if (typeof scope === 'string') return scope;
  return scope.account === '' ? 'service' : scope.account;
}

/** A reading that was recorded. */
interface RecordedReading {
  readonly recordedAt: number;
  /** Time of the last read or poll that belongs to it. */
  readonly lastAt: number;
}

/**
 * Records the reading of a log before the first page is returned, then once per reader, scope and filter every 5 minutes, so
 * that reading does not fill the log. The polls of a page that stays open continue its reading for up to an hour. Each
 * process keeps its own cache; at worst a reading is recorded twice.
 */
export class AccessRecorder {
  readonly #database: Database;
  /** The readings, the one with the oldest record first. */
  readonly #readings = new Map<string, RecordedReading>();

  constructor(options: { database: Database }) {
    this.#database = options.database;
  }

  /**
   * `filters` are the names of the filters. Their values are not recorded, because one may be a card number by mistake.
   */
  async record(
    clock: Clock,
    reader: LogReader,
    scope: LogScope,
    filters: readonly string[],
    action: AccessAction = 'audit.read',
  ): Promise<void> {
    const { type, id = '' } = reader.origin.actor;
    const access = JSON.stringify([action, type, id, scope, filters]);
    const now = clock();
    const before = this.#readings.get(access);
    if (before !== undefined && isSameReading(before, now, reader.isPassive)) {
      this.#readings.set(access, { ...before, lastAt: now });
      return;
    }
    const events = accessEvents(action, reader.account, scope, filters);
    const journal = events.map((event) => buildAuditEntry(() => now, reader.origin, event));
    await commitOrThrow(this.#database, { writes: [], journal });
    this.#evictOld(now);
    this.#readings.delete(access);
    this.#readings.set(access, { recordedAt: now, lastAt: now });
  }

  #evictOld(now: number): void {
    for (const [access, reading] of this.#readings) {
      if (isSameReading(reading, now, true) && this.#readings.size < LIMITS.cachedAuditReads) return;
      this.#readings.delete(access);
    }
  }
}

/** True when a read, or a poll that follows within 5 minutes, needs no record of its own. */
const isSameReading = ({ recordedAt, lastAt }: RecordedReading, now: number, isPassive: boolean): boolean =>
  isWithin(recordedAt, now, DEDUPLICATION_MS) ||
  (isPassive && isWithin(recordedAt, now, MAX_READING_MS) && isWithin(lastAt, now, DEDUPLICATION_MS));

/** A clock that was ahead and returned must not stop the records. */
const isWithin = (at: number, now: number, ms: number): boolean => now >= at && now < at + ms;
