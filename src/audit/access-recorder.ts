import { type Clock, MINUTE } from '../kernel/clock.ts';
import { LIMITS } from '../kernel/limits.ts';
import { commitOrThrow, type Database, type JournalEntry } from '../storage/database.ts';
import { buildAuditEntry, type Origin } from './audit.ts';

/** Who looks at the log. */
export interface LogReader {
  readonly origin: Origin;
  /** In whose log their own doings stand; '' for operators. */
  readonly account: string;
}

/** Which part of the log somebody gets to see: an account's, with '' the service's own, or all of it. */
export type LogScope = { readonly account: string } | 'everything';

/** Reading on, or reading again, is the same reading for so long. */
const DEDUPLICATION_MS = 5 * MINUTE;

/** That the log was seen (PCI DSS 10.2.1.3), in the log of who saw it, and in the one that was seen. */
export function buildAccessEntries(
  clock: Clock,
  action: 'audit.read' | 'audit.exported',
  { origin, account }: LogReader,
  scope: LogScope,
  filters: readonly string[] = [],
): JournalEntry[] {
  const chains = new Set([account, ...(typeof scope === 'string' ? [] : [scope.account])]);
  const by = filters.length > 0 && { filters: filters.join(' ') };
  const detail = { of: formatScope(scope), ...by };
  return [...chains].map((chain) =>
    buildAuditEntry(clock, origin, { action, outcome: 'success', account: chain, environment: '', detail }),
  );
}

function formatScope(scope: LogScope): string {
  if (typeof scope === 'string') return scope;
  return scope.account === '' ? 'service' : scope.account;
}

/**
 * Puts readers on record, before they see anything: the first page of a look, and not every further one of the minutes after
 * it, so that a log that is looked at does not grow by itself. Each process does so for itself; at worst one look is on
 * record twice.
 */
export class AccessRecorder {
  readonly #database: Database;
  /** When each look was last recorded, the oldest first. */
  readonly #recordedAt = new Map<string, number>();

  constructor(options: { database: Database }) {
    this.#database = options.database;
  }

  /** `filters`: by what they look, by name alone; what they look for may be a card number by mistake. */
  async record(clock: Clock, reader: LogReader, scope: LogScope, filters: readonly string[]): Promise<void> {
    const { type, id = '' } = reader.origin.actor;
    const access = JSON.stringify([type, id, scope, filters]);
    const now = clock();
    const before = this.#recordedAt.get(access);
    if (before !== undefined && isRecent(before, now)) return;
    await commitOrThrow(this.#database, {
      writes: [],
      journal: buildAccessEntries(clock, 'audit.read', reader, scope, filters),
    });
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

/** A clock that was ahead and returned must not end the records. */
const isRecent = (at: number, now: number): boolean => now >= at && now < at + DEDUPLICATION_MS;
