import { type Clock, MINUTE } from '../kernel/clock.ts';
import { LIMITS } from '../kernel/limits.ts';
import { commitOrThrow, type Database, type JournalEntry } from '../storage/database.ts';
import { auditEntry, type Origin } from './audit.ts';

/** Who looks at the log. */
export interface Reader {
  readonly origin: Origin;
  /** In whose log their own doings stand; '' for operators. */
  readonly account: string;
}

/** Which part of the log somebody gets to see: an account's, with '' the service's own, or all of it. */
export type Seen = { readonly account: string } | 'everything';

/** Reading on, or reading again, is the same reading for so long. */
const SAME_READING_MS = 5 * MINUTE;

/** That the log was seen (PCI DSS 10.2.1.3), in the log of who saw it, and in the one that was seen. */
export function seenEntries(
  clock: Clock,
  action: 'audit.read' | 'audit.exported',
  { origin, account }: Reader,
  seen: Seen,
  filters: readonly string[] = [],
): JournalEntry[] {
  const chains = new Set([account, ...(typeof seen === 'string' ? [] : [seen.account])]);
  const by = filters.length > 0 && { filters: filters.join(' ') };
  const detail = { of: wordOf(seen), ...by };
  return [...chains].map((chain) =>
    auditEntry(clock, origin, { action, outcome: 'success', account: chain, environment: '', detail }),
  );
}

function wordOf(seen: Seen): string {
  if (typeof seen === 'string') return seen;
  return seen.account === '' ? 'service' : seen.account;
}

/**
 * Puts readers on record, before they see anything: the first page of a look, and not every further one of the minutes after
 * it, so that a log that is looked at does not grow by itself. Each process does so for itself; at worst one look is on
 * record twice.
 */
export class Readers {
  readonly #database: Database;
  /** When each look was last recorded, the oldest first. */
  readonly #recorded = new Map<string, number>();

  constructor(options: { database: Database }) {
    this.#database = options.database;
  }

  /** `filters`: by what they look, by name alone; what they look for may be a card number by mistake. */
  async note(clock: Clock, reader: Reader, seen: Seen, filters: readonly string[]): Promise<void> {
    const { type, id = '' } = reader.origin.actor;
    const look = JSON.stringify([type, id, seen, filters]);
    const now = clock();
    const before = this.#recorded.get(look);
    if (before !== undefined && isRecent(before, now)) return;
    await commitOrThrow(this.#database, {
      writes: [],
      journal: seenEntries(clock, 'audit.read', reader, seen, filters),
    });
    this.#forgetOld(now);
    this.#recorded.delete(look);
    this.#recorded.set(look, now);
  }

  #forgetOld(now: number): void {
    for (const [look, at] of this.#recorded) {
      if (isRecent(at, now) && this.#recorded.size < LIMITS.cachedAuditReads) return;
      this.#recorded.delete(look);
    }
  }
}

/** A clock that was ahead and returned must not end the records. */
const isRecent = (at: number, now: number): boolean => now >= at && now < at + SAME_READING_MS;
