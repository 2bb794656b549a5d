import { type Clock, DAY, MINUTE } from '../kernel/clock.ts';
import { type DatabaseReads, integer, integerOrNull } from '../storage/database.ts';
import type { RotatedColumns } from '../storage/digest-columns.ts';
import { findRotation } from '../storage/key-rotation-store.ts';
import type { SealedColumns } from '../storage/sealed-columns.ts';
import { API_KEY_PURPOSE, FINGERPRINT_PURPOSE, PAN_INDEX_PURPOSE, SAD_PURPOSE } from './key-kinds.ts';
import { ROOT_OWNER } from './rotation-events.ts';

/** Days after which keys are to be rotated; 0: never. */
export interface KeyPeriods {
  readonly rootDays: number;
  readonly wrappingDays: number;
  readonly dataDays: number;
  /** For keys of fingerprints, digests and MACs. */
  readonly digestDays: number;
}

export interface OverdueKeys {
  readonly count: number;
  /** When the first of them became overdue. */
  readonly since: number | undefined;
}

const RECOUNT_AFTER_MS = MINUTE;

/** Newest versions of the keys of a purpose, by their age. */
const countOlderSql = (condition: string): string => `select count(*) as number, min(newest.at) as since
  from (select max(created_at) as at from wrapped_keys where purpose = ? and ${condition} and destroyed_at is null
    group by account, environment) as newest
  where newest.at <= ?`;
const OLDER_OF_SERVICE = countOlderSql('account = 0');
const OLDER_OF_ACCOUNTS = countOlderSql('account <> 0');
const FIRST_KEY = `select min(created_at) as at from wrapped_keys where purpose = 'wrapping'`;

/** Counts the keys that are older than their period. Reads at most once a minute. */
export class KeyAges {
  readonly #database: DatabaseReads;
  readonly #clock: Clock;
  readonly #sealed: readonly SealedColumns[];
  readonly #digests: RotatedColumns['digests'];
  readonly #periods: KeyPeriods;
  #known: { readonly overdue: OverdueKeys; readonly at: number } | undefined;

  constructor(options: RotatedColumns & { database: DatabaseReads; clock: Clock; periods: KeyPeriods }) {
    this.#database = options.database;
    this.#clock = options.clock;
    this.#sealed = options.sealed;
    this.#digests = options.digests;
    this.#periods = options.periods;
  }

  async countOverdue(): Promise<OverdueKeys> {
    const now = this.#clock();
    if (this.#known !== undefined && Math.abs(now - this.#known.at) < RECOUNT_AFTER_MS) return this.#known.overdue;
    const overdue = await this.#count(now);
    this.#known = { overdue, at: now };
    return overdue;
  }

  async #count(now: number): Promise<OverdueKeys> {
    const { rootDays, wrappingDays, dataDays, digestDays } = this.#periods;
    const counts = [await this.#countRoot(now, rootDays), await this.#countOlder('wrapping', true, now, wrappingDays)];
    const purposes = new Map(this.#sealed.map(({ purpose, scope }) => [purpose, scope === 'service']));
    for (const [purpose, isOfService] of [...purposes, [SAD_PURPOSE, true] as const])
      counts.push(await this.#countOlder(purpose, isOfService, now, dataDays));
    for (const [purpose, isOfService] of this.#listDigestPurposes())
      counts.push(await this.#countOlder(purpose, isOfService, now, digestDays));
    const since = counts.flatMap((each) => each.since ?? []);
    const count = counts.reduce((sum, each) => sum + each.count, 0);
    return { count, since: since.length === 0 ? undefined : Math.min(...since) };
  }

  /** Without the indexes that clients see, whose rotation changes them: it needs a reason. */
  #listDigestPurposes(): readonly (readonly [purpose: string, isOfService: boolean])[] {
    const scopes = new Map(this.#digests.map(({ purpose, scope }) => [purpose, scope === 'service']));
    scopes.delete(PAN_INDEX_PURPOSE);
    return [...scopes, [API_KEY_PURPOSE, true], [FINGERPRINT_PURPOSE, false]];
  }

  async #countRoot(now: number, days: number): Promise<OverdueKeys> {
    if (days === 0) return NONE;
    const [row = {}] = await this.#database.read(FIRST_KEY);
    const rotation = await findRotation(this.#database, ROOT_OWNER);
    const since = (rotation?.startedAt ?? integer(row, 'at')) + days * DAY;
    return since <= now ? { count: 1, since } : NONE;
  }

  async #countOlder(purpose: string, isOfService: boolean, now: number, days: number): Promise<OverdueKeys> {
    if (days === 0) return NONE;
    const sql = isOfService ? OLDER_OF_SERVICE : OLDER_OF_ACCOUNTS;
    const [row = {}] = await this.#database.read(sql, purpose, now - days * DAY);
    const oldest = integerOrNull(row, 'since');
    return { count: integer(row, 'number'), since: oldest === undefined ? undefined : oldest + days * DAY };
  }
}

const NONE: OverdueKeys = { count: 0, since: undefined };
