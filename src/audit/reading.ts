import { MINUTE } from '../kernel/clock.ts';
import type { Environment } from '../kernel/environment.ts';
import { invalid } from '../kernel/failure.ts';
import { LIMITS } from '../kernel/limits.ts';
import { type Database, integer, type Row, text } from '../storage/database.ts';
import { decodeParts, encodeCursor, type Page } from '../storage/pagination.ts';
import { yieldBeforeScan } from '../storage/scan-queue.ts';
import type { AuditRecord } from './audit.ts';
import { lanesWith } from './chains.ts';
import { Readers } from './readers.ts';

/** What somebody looks for in the audit log. */
export interface AuditFilter {
  readonly actions?: readonly string[] | undefined;
  readonly actorType?: string | undefined;
  readonly actorId?: string | undefined;
  /** Id or name. */
  readonly actor?: string | undefined;
  /** One of the records concerned, `token:…`. */
  readonly target?: string | undefined;
  readonly outcome?: string | undefined;
  readonly environment?: Environment | '' | undefined;
  /** Milliseconds; `to` is not of it. */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
}

export interface ReadRecord {
  readonly lane: number;
  readonly sequence: number;
  readonly at: number;
  readonly environment: string;
  /** Undefined when it cannot be read: somebody changed it in the database, as verification tells. */
  readonly record: AuditRecord | undefined;
  /** Of the chain here. */
  readonly hash: string;
}

export interface AuditPage extends Page<ReadRecord> {
  /** All that is newer was looked at; undefined when there is none beyond the page. */
  readonly lookedUntil: number | undefined;
}

const COLUMNS = 'lane, sequence, environment, at, record, hash';
const BEFORE = `select ${COLUMNS} from journal where account = ? and lane = ? and sequence < ?
  order by sequence desc limit ?`;

/** Records of a lane are in the order of their commits, which the clocks of nodes and waiting writes follow loosely. */
const LOOSELY_MS = 10 * MINUTE;

/** The lanes of an account, read backwards and merged by time. */
export class AuditReading {
  /** Where whoever reads is put on record first. */
  readonly readers: Readers;
  readonly #database: Database;

  constructor(options: { database: Database }) {
    this.readers = new Readers(options);
    this.#database = options.database;
  }

  /** Of an account, or with '' of the service itself, the newest first. Throws `invalid_field`. */
  async read(account: string, filter: AuditFilter, cursor?: string): Promise<AuditPage> {
    const lanes = await this.#lanes(account, filter, cursor);
    const items: ReadRecord[] = [];
    let lookedUntil: number | undefined;
    for (let looked = 0; looked < LIMITS.rowsPerPage && items.length < LIMITS.recordsPerPage; looked++) {
      const empty = lanes.filter(({ rows, isEnd }) => rows.length === 0 && !isEnd);
      if (empty.length > 0) await Promise.all(empty.map((lane) => this.#refill(account, lane)));
      const next = newestOf(lanes);
      if (next === undefined || isTooOld(next.rows[0], filter)) return lastPage(items);
      const read = readRecord(next.rows.shift() as Row);
      next.before = read.sequence;
      lookedUntil = read.at;
      if (matches(filter, read)) items.push(read);
    }
    if (lanes.every(({ rows, isEnd }) => rows.length === 0 && isEnd)) return lastPage(items);
    const places = lanes.flatMap(({ lane, before }) => [lane, before]);
    return { items, cursor: encodeCursor(...places), lookedUntil };
  }

  /** Where each lane is read on from. */
  async #lanes(account: string, { to }: AuditFilter, cursor: string | undefined): Promise<Lane[]> {
    const given = cursor === undefined ? undefined : placesOf(cursor);
    // A lane that has begun since the first page is newer than all of this one.
    const lanes = (await lanesWith(this.#database, account)).filter((lane) => given?.has(lane) !== false);
    return Promise.all(
      lanes.map(async (lane): Promise<Lane> => {
        const before = given?.get(lane) ?? (await this.#firstBefore(account, lane, to));
        return { lane, before, rows: [], isEnd: false };
      }),
    );
  }

  /** A sequence before which all records up to a time are: found by halving, because a log may be long. */
  async #firstBefore(account: string, lane: number, to: number | undefined): Promise<number> {
    if (to === undefined) return Number.MAX_SAFE_INTEGER;
    const [newest] = await this.#before(account, lane, Number.MAX_SAFE_INTEGER, 1);
    let [low, high] = [0, newest === undefined ? 0 : integer(newest, 'sequence') + 1];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      const [row] = await this.#before(account, lane, middle + 1, 1);
      if (row === undefined || integer(row, 'at') < to + LOOSELY_MS) low = middle + 1;
      else high = middle;
    }
    return high + 1;
  }

  async #refill(account: string, lane: Lane): Promise<void> {
    await yieldBeforeScan();
    lane.rows = await this.#before(account, lane.lane, lane.before, LIMITS.rowsPerScan);
    lane.isEnd = lane.rows.length < LIMITS.rowsPerScan;
  }

  #before(account: string, lane: number, sequence: number, limit: number): Promise<Row[]> {
    return this.#database.read(BEFORE, account, lane, sequence, limit);
  }
}

const lastPage = (items: readonly ReadRecord[]): AuditPage => ({ items, cursor: undefined, lookedUntil: undefined });

interface Lane {
  readonly lane: number;
  /** The sequence of the last record that was looked at. */
  before: number;
  /** Behind it, read ahead. */
  rows: Row[];
  /** There are no more than these. */
  isEnd: boolean;
}

function newestOf(lanes: readonly Lane[]): Lane | undefined {
  let newest: Lane | undefined;
  for (const lane of lanes) {
    const [row] = lane.rows;
    const [best] = newest?.rows ?? [];
    if (row !== undefined && (best === undefined || integer(row, 'at') > integer(best, 'at'))) newest = lane;
  }
  return newest;
}

const isTooOld = (row: Row | undefined, { from }: AuditFilter): boolean =>
  row !== undefined && from !== undefined && integer(row, 'at') < from - LOOSELY_MS;

const readRecord = (row: Row): ReadRecord => ({
  lane: integer(row, 'lane'),
  sequence: integer(row, 'sequence'),
  at: integer(row, 'at'),
  environment: text(row, 'environment'),
  record: parsed(text(row, 'record')),
  hash: text(row, 'hash'),
});

function parsed(record: string): AuditRecord | undefined {
  try {
    const read: unknown = JSON.parse(record);
    return isRecord(read) ? read : undefined;
  } catch {
    return undefined;
  }
}

const isText = (value: unknown): boolean => typeof value === 'string';

/** In every part that is read here: one that was changed must not keep people from seeing the others. */
function isRecord(read: unknown): read is AuditRecord {
  const { action, outcome, actor, address = '', request_id = '', targets = [] } = read as Partial<AuditRecord>;
  const { type, id = '', name = '', source = '' } = actor ?? {};
  const texts = [action, outcome, type, id, name, source, address, request_id];
  return texts.every(isText) && Array.isArray(targets) && targets.every(isText);
}

/** What cannot be read is left out only where its time and environment say so. */
function matches(filter: AuditFilter, { at, environment, record }: ReadRecord): boolean {
  const { from = 0, to = Number.POSITIVE_INFINITY } = filter;
  if (at < from || at >= to) return false;
  if (filter.environment !== undefined && environment !== filter.environment) return false;
  return record === undefined || isAbout(filter, record);
}

const isAbout = ({ actions, actorType, actorId, actor, target, outcome }: AuditFilter, record: AuditRecord): boolean =>
  (actions === undefined || actions.includes(record.action)) &&
  (actorType === undefined || record.actor.type === actorType) &&
  (actorId === undefined || record.actor.id === actorId) &&
  (actor === undefined || record.actor.id === actor || record.actor.name === actor) &&
  (target === undefined || record.targets?.includes(target) === true) &&
  (outcome === undefined || record.outcome === outcome);

/** Pairs of lane and sequence. Throws `invalid_field`. */
function placesOf(cursor: string): Map<number, number> {
  const parts = decodeParts(cursor);
  const places = new Map<number, number>();
  for (let at = 0; at < parts.length; at += 2) {
    const [lane, before] = [parts[at], parts[at + 1]];
    if (typeof lane !== 'number' || typeof before !== 'number')
      throw invalid('cursor', 'expected the cursor of a page');
    places.set(lane, before);
  }
  return places;
}
