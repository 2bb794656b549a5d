import type { Tenant } from '../kernel/environment.ts';
import { type Database, integer, type Row, text, type Value } from '../storage/database.ts';

/** The tokens of a tenant in two orders: by their creation, the newest first, and by their slots. */
const COLUMNS = 'slot, scheme, format, record, created_at';
const MARKED_COLUMNS = 't.slot, t.scheme, t.format, t.record, t.created_at';
const LIVE = 'account = ? and environment = ? and record is not null';
const AFTER_POSITION = 'created_at <= ? and (created_at < ? or slot < ?) order by created_at desc, slot desc limit ?';

const NEWEST = `select ${COLUMNS} from tokens where ${LIVE} and ${AFTER_POSITION}`;
/** In the words of its index. */
const LAST_FOUR = `select ${COLUMNS} from tokens where ${LIVE} and scheme <> 7 and substr(slot, 9, 4) = ? and ${AFTER_POSITION}`;
const BETWEEN = `select ${COLUMNS} from tokens where ${LIVE} and slot > ? and slot < ? order by slot limit ?`;
const ONE = `select ${COLUMNS} from tokens where ${LIVE} and slot = ?`;
const LIST_BY_BLIND_INDEX = `select ${MARKED_COLUMNS} from token_tags m
  join tokens t on t.account = m.account and t.environment = m.environment and t.slot = m.slot
    and t.created_at = m.created_at
  where m.account = ? and m.environment = ? and m.tag = ? and t.record is not null
    and m.created_at <= ? and (m.created_at < ? or m.slot < ?) order by m.created_at desc, m.slot desc limit ?`;

/** A place in the order of creation. */
export interface ListPosition {
  readonly createdAt: number;
  readonly slot: string;
}

/** The newest first. */
export function compareNewestFirst(one: Row, other: Row): number {
  const [left, right] = [toListPosition(one), toListPosition(other)];
  return right.createdAt - left.createdAt || (left.slot > right.slot ? -1 : 1);
}

/** Before the newest token; `~` sorts after all of a slot. */
export const FIRST_POSITION: ListPosition = { createdAt: Number.MAX_SAFE_INTEGER, slot: '~' };

export const toListPosition = (row: Row): ListPosition => ({
  createdAt: integer(row, 'created_at'),
  slot: text(row, 'slot'),
});

const COUNT = 'select count(*) as number from tokens where account = ? and environment = ?';
/** The index of deleted tokens alone serves it; without `|| ''` the planner would prefer the tokens of the account. */
const COUNT_DELETED = `select count(*) as number from tokens
  where deleted_at is not null and account || '' = ? and environment || '' = ?`;

/** Returns how many tokens are not deleted, by indexes alone. */
export async function countTokens(database: Database, { account, environment }: Tenant): Promise<number> {
  const [[all = {}], [deleted = {}]] = await Promise.all([
    database.read(COUNT, account, environment),
    database.read(COUNT_DELETED, account, environment),
  ]);
  // The two reads see two moments: a deletion between them must not make the result negative.
  return Math.max(0, integer(all, 'number') - integer(deleted, 'number'));
}

export class TokenListingStore {
  readonly #database: Database;
  readonly #scope: readonly [account: string, environment: string];

  constructor(database: Database, { account, environment }: Tenant) {
    this.#database = database;
    this.#scope = [account, environment];
  }

  listNewest(after: ListPosition, limit: number): Promise<Row[]> {
    return this.#read(NEWEST, ...toValues(after), limit);
  }

  /** Of the schemes whose slots hold the last four. */
  listByLastFour(digits: string, after: ListPosition, limit: number): Promise<Row[]> {
    return this.#read(LAST_FOUR, digits, ...toValues(after), limit);
  }

  /** Slots after one and before another, in order. */
  listBetweenSlots(after: string, to: string, limit: number): Promise<Row[]> {
    return this.#read(BETWEEN, after, to, limit);
  }

  findBySlot(slot: string): Promise<Row[]> {
    return this.#read(ONE, slot);
  }

  listByBlindIndex(mark: Uint8Array, after: ListPosition, limit: number): Promise<Row[]> {
    return this.#read(LIST_BY_BLIND_INDEX, mark, ...toValues(after), limit);
  }

  #read(sql: string, ...values: readonly Value[]): Promise<Row[]> {
    return this.#database.read(sql, ...this.#scope, ...values);
  }
}

const toValues = ({ createdAt, slot }: ListPosition): [number, number, string] => [createdAt, createdAt, slot];
