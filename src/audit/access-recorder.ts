import { createSecretKey, type KeyObject } from 'node:crypto';
import { keyedDigest } from '../crypto/fingerprint.ts';
import { type Clock, HOUR, MINUTE, type Random } from '../kernel/clock.ts';
import { LIMITS } from '../kernel/limits.ts';
import { commitOrThrow, type Database } from '../storage/database.ts';
import { type AuditEvent, buildAuditEntry, type Origin } from './audit.ts';

/** The reader of the log. */
interface LogReader {
  readonly origin: Origin;
  /** The account whose log contains the reader's actions; '' for operators. */
  readonly account: string;
  /** True when the caller says that the call is a poll of a page, which continues the reading of the user. */
  readonly isPassive: boolean;
}

/** The part of a log that is read. */
export interface LogReading {
  readonly scope: LogScope;
  /** Values by the names of the filters; undefined where nothing is filtered. Only the names are recorded. */
  readonly filters?: Readonly<Record<string, string | undefined>>;
  /** Distinguishes the lists of one scope, such as the requests of each environment; not recorded. */
  readonly list?: string;
}

/** The part of the log that is read: an account's, with '' the service's, or all of it. */
export type LogScope = { readonly account: string } | 'everything';

/** Readings with the same reader, scope and values of the filters count as one for this time. */
const DEDUPLICATION_MS = 5 * MINUTE;

const KEY_BYTES = 32;

/** The reading of the audit log, its export, and the reading of the request log. */
type AccessAction = 'audit.read' | 'audit.exported' | 'requests.read';

/** A page that stays open and polls the log continues the reading of its user, but no longer than this time. */
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
  const by = filters.length > 0 && { filters: filters.join(' ') };
  const detail = { of: formatScope(scope), ...by };
  return listConcernedLogs(account, scope).map((log) => ({
    action,
    outcome: 'success',
    account: log,
    environment: '',
    detail,
  }));
}

/** Returns the accounts whose logs show a reading: the reader's, and the one that is read. */
export const listConcernedLogs = (account: string, scope: LogScope): readonly string[] => [
  ...new Set([account, ...(typeof scope === 'string' ? [] : [scope.account])]),
];

/** Returns the detail `of` of a reading. */
export function formatScope(scope: LogScope): string {
  if (typeof scope === 'string') return scope;
  return scope.account === '' ? 'service' : scope.account;
}

/** A reading that was recorded. */
interface RecordedReading {
  readonly recordedAt: number;
  /** True when the user made it, and not a poll: polls continue only such a reading. */
  readonly isByUser: boolean;
  /** Time of the last read or poll that belongs to it. */
  readonly lastAt: number;
}

/**
 * Records the reading of a log before the first page is returned, then once per reader, scope and filters every 5 minutes, so
 * that reading does not fill the log. Polls continue a reading that the user made for up to an hour: of the same log, with the
 * same values of the filters. A caller who claims to poll for other values is recorded as every reader. Each process keeps its
 * own cache; at worst a reading is recorded twice.
 */
export class AccessRecorder {
  readonly #database: Database;
  /** For digests of values in memory: one may be a card number by mistake. A key of this process. */
  readonly #key: KeyObject;
  /** The readings, the one with the oldest record first. */
  readonly #readings = new Map<string, RecordedReading>();

  constructor(options: { database: Database; random: Random }) {
    this.#database = options.database;
    const bytes = options.random.bytes(KEY_BYTES);
    this.#key = createSecretKey(bytes);
    bytes.fill(0);
  }

  async record(
    clock: Clock,
    reader: LogReader,
    reading: LogReading,
    action: AccessAction = 'audit.read',
  ): Promise<void> {
    const access = this.#digest(reader, reading, action);
    const now = clock();
    const before = this.#readings.get(access);
    if (before !== undefined && isSameReading(before, now, reader.isPassive)) {
      this.#readings.set(access, { ...before, lastAt: now });
      return;
    }
    const names = listFilters(reading).map(([name]) => name);
    const events = accessEvents(action, reader.account, reading.scope, names);
    const journal = events.map((event) => buildAuditEntry(() => now, reader.origin, event));
    await commitOrThrow(this.#database, { writes: [], journal });
    this.#evictOld(now);
    this.#readings.delete(access);
    this.#readings.set(access, { recordedAt: now, isByUser: !reader.isPassive, lastAt: now });
  }

  /** Returns a text that is equal for the same reader, log, and values of the filters. */
  #digest({ origin: { actor } }: LogReader, reading: LogReading, action: AccessAction): string {
    const { scope, list = '' } = reading;
    const identity = [action, actor.type, actor.id ?? '', scope, list, listFilters(reading)];
    return Buffer.from(keyedDigest(this.#key, JSON.stringify(identity))).toString('base64');
  }

  #evictOld(now: number): void {
    for (const [access, reading] of this.#readings) {
      if (isSameReading(reading, now, true) && this.#readings.size < LIMITS.cachedAuditReads) return;
      this.#readings.delete(access);
    }
  }
}

/** True when a read, or a poll that follows within 5 minutes, needs no record of its own. */
const isSameReading = ({ recordedAt, isByUser, lastAt }: RecordedReading, now: number, isPassive: boolean): boolean =>
  isWithin(recordedAt, now, DEDUPLICATION_MS) ||
  (isPassive && isByUser && isWithin(recordedAt, now, MAX_READING_MS) && isWithin(lastAt, now, DEDUPLICATION_MS));

/** Returns the filters that are set, by name. */
const listFilters = ({ filters = {} }: LogReading): (readonly [name: string, value: string])[] =>
  Object.entries(filters)
    .flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]))
    .sort(([one], [other]) => (one < other ? -1 : 1));

/** A clock that was ahead and returned must not stop the records. */
const isWithin = (at: number, now: number, ms: number): boolean => now >= at && now < at + ms;
