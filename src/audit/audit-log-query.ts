import { MINUTE, type Random } from '../kernel/clock.ts';
import type { Environment } from '../kernel/environment.ts';
import { invalidField } from '../kernel/failure.ts';
import { LIMITS } from '../kernel/limits.ts';
import { type Database, integer, type Row, text } from '../storage/database.ts';
import { decodeParts, encodeCursor, type Page, type RecordCount, yieldBeforeScan } from '../storage/pagination.ts';
import { sanitizeTime } from '../storage/sanitize-columns.ts';
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
  /** All newer records were searched; undefined when there are none beyond the page. */
  readonly searchedUntil: number | undefined;
}

const COLUMNS = 'lane, sequence, environment, at, record, hash';
const BEFORE = `select ${COLUMNS} from journal where account = ?account and lane = ? and sequence < ?
  order by sequence desc limit ?`;

/** Records of a chain are numbered from 1. */
const HEADS = 'select sequence from journal_heads where account = ?account';

/**
 * Records of a lane are in the order of their commits, which follows their times with this tolerance: clocks of nodes
 * differ, and writes wait.
 */
const MAX_DISORDER_MS = 10 * MINUTE;

/** The lanes of an account, read backwards and merged by time. */
export class AuditLogQuery {
  /** Records each reader first. */
  readonly accessRecorder: AccessRecorder;
  readonly #database: Database;

  constructor(options: { database: Database; random: Random }) {
    this.accessRecorder = new AccessRecorder(options);
    this.#database = options.database;
  }

  /** Returns the records of an account, or with '' of the service, the newest first. Throws `invalid_field`. */
  async read(account: string, filter: AuditFilter, cursor?: string): Promise<AuditPage> {
    const lanes = await this.#openLanes(account, filter, cursor);
    const items: LogEntry[] = [];
    let searchedUntil: number | undefined;
    for (let searched = 0; searched < LIMITS.rowsPerPage && items.length < LIMITS.recordsPerPage; searched++) {
      const empty = lanes.filter(({ rows, isEnd }) => rows.length === 0 && !isEnd);
      if (empty.length > 0) await Promise.all(empty.map((lane) => this.#refill(account, lane)));
      const next = findLaneWithNewestRecord(lanes);
      if (next === undefined || isTooOld(next.rows[0], filter)) return lastPage(items);
      const read = toLogEntry(next.rows.shift() as Row);
      next.before = read.sequence;
      searchedUntil = read.at;
      if (matches(filter, read)) items.push(read);
    }
    if (lanes.every(({ rows, isEnd }) => rows.length === 0 && isEnd)) return lastPage(items);
    const positions = lanes.flatMap(({ lane, before }) => [lane, before]);
    return { items, cursor: encodeCursor(...positions), searchedUntil: searchedUntil };
  }

  /** Counts the records of an account; undefined with a filter, because records would have to be read. */
  async countMatching(account: string, filter: AuditFilter): Promise<RecordCount | undefined> {
    if (Object.values(filter).some((wanted) => wanted !== undefined)) return undefined;
    const heads = await this.#database.read(HEADS, account);
    return { number: heads.reduce((sum, head) => sum + integer(head, 'sequence'), 0), isMore: false };
  }

  /** Returns the position from which each lane is read on. */
  async #openLanes(account: string, { to }: AuditFilter, cursor: string | undefined): Promise<LaneCursor[]> {
    const positions = cursor === undefined ? undefined : parseLanePositions(cursor);
    // A lane that has started since the first page is newer than all of this one.
    const lanes = (await listLanesOfAccount(this.#database, account)).filter((lane) => positions?.has(lane) !== false);
    return Promise.all(
      lanes.map(async (lane): Promise<LaneCursor> => {
        const before = positions?.get(lane) ?? (await this.#findFirstBefore(account, lane, to));
        return { lane, before, rows: [], isEnd: false };
      }),
    );
  }

  /**
   * Returns a sequence that has all records up to a time before it. It is found by halving, because a log may be long.
   */
  async #findFirstBefore(account: string, lane: number, to: number | undefined): Promise<number> {
    if (to === undefined) return Number.MAX_SAFE_INTEGER;
    const [newest] = await this.#readBefore(account, lane, Number.MAX_SAFE_INTEGER, 1);
    let [low, high] = [0, newest === undefined ? 0 : integer(newest, 'sequence') + 1];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      const [row] = await this.#readBefore(account, lane, middle + 1, 1);
      if (row === undefined || integer(row, 'at') < to + MAX_DISORDER_MS) low = middle + 1;
      else high = middle;
    }
    return high + 1;
  }

  async #refill(account: string, lane: LaneCursor): Promise<void> {
    await yieldBeforeScan();
    lane.rows = await this.#readBefore(account, lane.lane, lane.before, LIMITS.rowsPerScan);
    lane.isEnd = lane.rows.length < LIMITS.rowsPerScan;
  }

  #readBefore(account: string, lane: number, sequence: number, limit: number): Promise<Row[]> {
    return this.#database.read(BEFORE, account, lane, sequence, limit);
  }
}

const lastPage = (items: readonly LogEntry[]): AuditPage => ({ items, cursor: undefined, searchedUntil: undefined });

interface LaneCursor {
  readonly lane: number;
  /** The sequence of the last record that was read. */
  before: number;
  /** Records behind it that were read ahead. */
  rows: Row[];
  /** True when the lane has no more records. */
  isEnd: boolean;
}

function findLaneWithNewestRecord(lanes: readonly LaneCursor[]): LaneCursor | undefined {
  let newest: LaneCursor | undefined;
  for (const lane of lanes) {
    const [row] = lane.rows;
    const [best] = newest?.rows ?? [];
    if (row !== undefined && (best === undefined || integer(row, 'at') > integer(best, 'at'))) newest = lane;
  }
  return newest;
}

const isTooOld = (row: Row | undefined, { from }: AuditFilter): boolean =>
  row !== undefined && from !== undefined && integer(row, 'at') < from - MAX_DISORDER_MS;

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
