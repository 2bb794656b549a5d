import { type Clock, MINUTE } from '../kernel/clock.ts';
import { LIMITS } from '../kernel/limits.ts';
import { commitOrThrow, type Database } from '../storage/database.ts';
import { type AuditEvent, buildAuditEntry, type Origin } from './audit.ts';

/** The reader of the log. */
interface LogReader {
  readonly origin: Origin;
  /** The account whose log contains the reader's actions; '' for operators. */
  readonly account: string;
}

/** The part of the log that is read: an account's, with '' the service's, or all of it. */
export type LogScope = { readonly account: string } | 'everything';

/** Readings with the same reader, scope and filters count as one for this time. */
const DEDUPLICATION_MS = 5 * MINUTE;

/** The reading of the audit log, its export, and the reading of the request log. */
type AccessAction = 'audit.read' | 'audit.exported' | 'requests.read';

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

/**
 * Records the reading of a log before the first page is returned, then once per reader, scope and filter every 5 minutes, so
 * that reading does not fill the log. Each process keeps its own cache; at worst a reading is recorded twice.
 */
export class AccessRecorder {
  readonly #database: Database;
  /** Time of the last record of each reading, the oldest first. */
  readonly #recordedAt = new Map<string, number>();

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
    const before = this.#recordedAt.get(access);
    if (before !== undefined && isRecent(before, now)) return;
    const events = accessEvents(action, reader.account, scope, filters);
    const journal = events.map((event) => buildAuditEntry(() => now, reader.origin, event));
    await commitOrThrow(this.#database, { writes: [], journal });
    this.#evictOld(now);
    this.#recordedAt.delete(access);
    this.#recordedAt.set(access, now);
  }

  #evictOld(now: number): void {
    for (const [access, at] of this.#recordedAt) {
      if (isRecent(at, now) && this.#recordedAt.size < LIMITS.cachedAuditReads) return;
      this.#recordedAt.delete(access);
    }
  }
}

/** A clock that was ahead and returned must not stop the records. */
const isRecent = (at: number, now: number): boolean => now >= at && now < at + DEDUPLICATION_MS;
