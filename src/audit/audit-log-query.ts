import { MINUTE, type Random } from '../kernel/clock.ts';
import type { Environment } from '../kernel/environment.ts';
import { invalidField } from '../kernel/failure.ts';
import { LIMITS } from '../kernel/limits.ts';
import { type Database, integer, type Row, text } from '../storage/database.ts';
import { decodeParts, encodeCursor, type Page, type RecordCount, yieldBeforeScan } from '../storage/pagination.ts';
import { sanitizeTime } from '../storage/sanitize-columns.ts';
import type { SortOrder } from '../storage/sort-order.ts';
import { AccessRecorder } from './access-recorder.ts';
import type { AuditRecord } from './audit.ts';
import { listLanesOfAccount } from './chain-reader.ts';

/** The filters of a search in the audit log. */
export interface AuditFilter {
  readonly actions?: readonly string[] | undefined;
  readonly actorType?: string | undefined;
  readonly actorId?: string | undefined;
  /** Id or name of the actor. */
  readonly actor?: string | undefined;
  /** One of the records concerned, such as `token:…`. */
  readonly target?: string | undefined;
  readonly outcome?: string | undefined;
  readonly environment?: Environment | '' | undefined;
  /** Unix times in milliseconds; `to` is exclusive. */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  /** Absent: the newest first. */
  readonly order?: SortOrder | undefined;
}

export interface LogEntry {
  readonly lane: number;
  readonly sequence: number;
  readonly at: number;
  readonly environment: string;
  /** Undefined when the record cannot be parsed: it was altered in the database, which verification reports. */
  readonly record: AuditRecord | undefined;
  /** Number of the record in its chain. */
  readonly hash: string;
}

export interface AuditPage extends Page<LogEntry> {
  /** All records before this time in the order were searched; undefined when there are none beyond the page. */
  readonly searchedUntil: number | undefined;
}

const COLUMNS = 'lane, sequence, environment, at, record, hash';
const OF_LANE = `select ${COLUMNS} from journal where account = ?account and lane = ?`;
/** Rows behind a sequence in an order. */
const BEHIND: Readonly<Record<SortOrder, string>> = {
  newest: `${OF_LANE} and sequence < ? order by sequence desc limit ?`,
  oldest: `${OF_LANE} and sequence > ? order by sequence limit ?`,
};

/** Records of a chain are numbered from 1. */
const HEADS = 'select sequence from journal_heads where account = ?account';

/**
 * Records of a lane are in the order of their commits, which follows their times with this tolerance: clocks of nodes
 * differ, and writes wait.
 */
const MAX_DISORDER_MS = 10 * MINUTE;

/** The lanes of an account, read in one direction and merged by time. */
export class AuditLogQuery {
  /** Records each reader first. */
  readonly accessRecorder: AccessRecorder;
  readonly #database: Database;

  constructor(options: { database: Database; random: Random }) {
    this.accessRecorder = new AccessRecorder(options);
    this.#database = options.database;
  }

  /** Returns the records of an account, or with '' of the service, by default the newest first. Throws `invalid_field`. */
  async read(account: string, filter: AuditFilter, cursor?: string): Promise<AuditPage> {
    const { order = 'newest' } = filter;
    const lanes = await this.#openLanes(account, filter, cursor);
    const items: LogEntry[] = [];
    let searchedUntil: number | undefined;
    for (let searched = 0; searched < LIMITS.rowsPerPage && items.length < LIMITS.recordsPerPage; searched++) {
      const empty = lanes.filter(({ rows, isEnd }) => rows.length === 0 && !isEnd);
      if (empty.length > 0) await Promise.all(empty.map((lane) => this.#refill(account, lane, order)));
      const next = findNextLane(lanes, order);
      if (next === undefined || isBeyondPeriod(next.rows[0], filter)) return lastPage(items);
      const read = toLogEntry(next.rows.shift() as Row);
      next.last = read.sequence;
      searchedUntil = read.at;
      if (matches(filter, read)) items.push(read);
    }
    if (lanes.every(({ rows, isEnd }) => rows.length === 0 && isEnd)) return lastPage(items);
    const positions = lanes.flatMap(({ lane, last }) => [lane, last]);
    return { items, cursor: encodeCursor(...positions), searchedUntil };
  }

  /** Counts the records of an account; undefined with a filter, because records would have to be read. */
  async countMatching(account: string, { order: _, ...filter }: AuditFilter): Promise<RecordCount | undefined> {
    if (Object.values(filter).some((wanted) => wanted !== undefined)) return undefined;
    const heads = await this.#database.read(HEADS, account);
    return { number: heads.reduce((sum, head) => sum + integer(head, 'sequence'), 0), isMore: false };
  }

  /** Returns the position from which each lane is read on. */
  async #openLanes(account: string, filter: AuditFilter, cursor: string | undefined): Promise<LaneCursor[]> {
    const positions = cursor === undefined ? undefined : parseLanePositions(cursor);
    const lanes = await listLanesOfAccount(this.#database, account);
    // A lane that has started since the first page is newer than all of this one.
    const read = filter.order === 'oldest' ? lanes : lanes.filter((lane) => positions?.has(lane) !== false);
    return Promise.all(
      read.map(async (lane): Promise<LaneCursor> => {
        const last = positions?.get(lane) ?? (await this.#findStart(account, lane, filter));
        return { lane, last, rows: [], isEnd: false };
      }),
    );
  }

  /** Returns a sequence behind which all records of the period are in the order. */
  async #findStart(account: string, lane: number, { from, to, order }: AuditFilter): Promise<number> {
    if (order === 'oldest')
      return from === undefined ? 0 : (await this.#findFirstFrom(account, lane, from - MAX_DISORDER_MS)) - 1;
    if (to === undefined) return Number.MAX_SAFE_INTEGER;
    return (await this.#findFirstFrom(account, lane, to + MAX_DISORDER_MS)) + 1;
  }

  /**
   * Returns the sequence of the first record that is not older than a time, and one more than the newest without such a record.
   * It is found by halving, because a log may be long.
   */
  async #findFirstFrom(account: string, lane: number, time: number): Promise<number> {
    const newestBefore = (sequence: number): Promise<Row[]> => this.#readBehind(account, lane, 'newest', sequence, 1);
    const [newest] = await newestBefore(Number.MAX_SAFE_INTEGER);
    let [low, high] = [0, newest === undefined ? 0 : integer(newest, 'sequence') + 1];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      const [row] = await newestBefore(middle + 1);
      if (row === undefined || integer(row, 'at') < time) low = middle + 1;
      else high = middle;
    }
    return high;
  }

  async #refill(account: string, lane: LaneCursor, order: SortOrder): Promise<void> {
    await yieldBeforeScan();
    lane.rows = await this.#readBehind(account, lane.lane, order, lane.last, LIMITS.rowsPerScan);
    lane.isEnd = lane.rows.length < LIMITS.rowsPerScan;
  }

  #readBehind(account: string, lane: number, order: SortOrder, sequence: number, limit: number): Promise<Row[]> {
    return this.#database.read(BEHIND[order], account, lane, sequence, limit);
  }
}

const lastPage = (items: readonly LogEntry[]): AuditPage => ({ items, cursor: undefined, searchedUntil: undefined });

interface LaneCursor {
  readonly lane: number;
  /** The sequence of the last record that was read. */
  last: number;
  /** Records behind it in the order that were read ahead. */
  rows: Row[];
  /** True when the lane has no more records. */
  isEnd: boolean;
}

/** Returns the lane whose next record is the first one in the order. */
function findNextLane(lanes: readonly LaneCursor[], order: SortOrder): LaneCursor | undefined {
  const sign = order === 'oldest' ? 1 : -1;
  let first: LaneCursor | undefined;
  for (const lane of lanes) {
    const [row] = lane.rows;
    const [best] = first?.rows ?? [];
    if (row === undefined) continue;
    if (best === undefined || sign * (integer(row, 'at') - integer(best, 'at')) < 0) first = lane;
  }
  return first;
}

/** True when neither the record nor those behind it in the order can be in the period. */
function isBeyondPeriod(row: Row | undefined, { from, to, order }: AuditFilter): boolean {
  if (row === undefined) return false;
  const at = integer(row, 'at');
  if (order === 'oldest') return to !== undefined && at >= to + MAX_DISORDER_MS;
  return from !== undefined && at < from - MAX_DISORDER_MS;
}

const toLogEntry = (row: Row): LogEntry => ({
  lane: integer(row, 'lane'),
  sequence: integer(row, 'sequence'),
  at: sanitizeTime(row['at']),
  environment: text(row, 'environment'),
  record: parseRecord(text(row, 'record')),
  hash: text(row, 'hash'),
});

function parseRecord(record: string): AuditRecord | undefined {
  try {
    const read: unknown = JSON.parse(record);
    return isRecord(read) ? read : undefined;
  } catch {
    return undefined;
  }
}

const isText = (value: unknown): boolean => typeof value === 'string';

/** True when every part of the record can be parsed: an altered record must not prevent the display of the others. */
function isRecord(read: unknown): read is AuditRecord {
  const { action, outcome, actor, address = '', request_id = '', targets = [] } = read as Partial<AuditRecord>;
  const { type, id = '', name = '', source = '' } = actor ?? {};
  const texts = [action, outcome, type, id, name, source, address, request_id];
  return texts.every(isText) && Array.isArray(targets) && targets.every(isText);
}

/** An unreadable record is left out only where its time and environment exclude it. */
function matches(filter: AuditFilter, { at, environment, record }: LogEntry): boolean {
  const { from = 0, to = Number.POSITIVE_INFINITY } = filter;
  if (at < from || at >= to) return false;
  if (filter.environment !== undefined && environment !== filter.environment) return false;
  return record === undefined || matchesRecord(filter, record);
}

const matchesRecord = (
  { actions, actorType, actorId, actor, target, outcome }: AuditFilter,
  record: AuditRecord,
): boolean =>
  (actions === undefined || actions.includes(record.action)) &&
  (actorType === undefined || record.actor.type === actorType) &&
  (actorId === undefined || record.actor.id === actorId) &&
  (actor === undefined || record.actor.id === actor || record.actor.name === actor) &&
  (target === undefined || record.targets?.includes(target) === true) &&
  (outcome === undefined || record.outcome === outcome);

/** Returns pairs of lane and sequence. Throws `invalid_field`. */
function parseLanePositions(cursor: string): Map<number, number> {
  const parts = decodeParts(cursor);
  const positions = new Map<number, number>();
  for (let at = 0; at < parts.length; at += 2) {
    const [lane, before] = [parts[at], parts[at + 1]];
    if (typeof lane !== 'number' || typeof before !== 'number') throw invalidField('cursor', 'cursor');
    positions.set(lane, before);
  }
  return positions;
}
