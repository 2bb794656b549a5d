import type { Environment } from '../kernel/environment.ts';
import { commitOrThrow, type Database, integer, type Row, text, type Value, write } from '../storage/database.ts';
import type { SortOrder } from '../storage/sort-order.ts';
import type { Table } from '../storage/table.ts';

export const TABLES: readonly Table[] = [
  {
    name: 'request_log',
    key: ['account', 'environment', 'at', 'id'],
    columns: {
      account: 'integer',
      environment: 'integer',
      at: 'integer',
      id: 'integer',
      method: 'text',
      route: 'text',
      status: 'integer',
      duration_us: 'integer',
      failure: 'text',
      reason: 'text',
      field: 'text',
      request_id: 'text',
      api_key: 'text',
      address: 'text',
      repeats: 'integer',
    },
    isLocal: true,
  },
];

const COLUMNS =
  'at, id, method, route, status, duration_us, failure, reason, field, request_id, api_key, address, repeats';
/** A repeated write after an unknown outcome finds the rows of the first one. */
const INSERT = `insert into request_log (account, environment, ${COLUMNS})
  values (?account, ?environment, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) on conflict do nothing`;

const OF_OWNER = 'account = ?account and environment = ?environment';
const BEFORE = 'at <= ? and (at < ? or id < ?)';
const NEWEST_FIRST = 'order by at desc, id desc limit ?';
const BEHIND: Readonly<Record<SortOrder, string>> = {
  newest: `at >= ? and ${BEFORE} ${NEWEST_FIRST}`,
  oldest: 'at < ? and at >= ? and (at > ? or id > ?) order by at, id limit ?',
};
const LIST = `select account, environment, ${COLUMNS} from request_log where`;
const LIST_OF_TENANT = `${LIST} ${OF_OWNER} and`;

const OLDEST = 'select account, environment, at from request_log where at <= ? order by at limit ?';
const SKIP = `select at, id from request_log where ${BEFORE} ${NEWEST_FIRST} offset ?`;
/** Over SQLite the index by time has the columns of the key, so that no row is read. */
const COUNT = `select account, environment, count(*) as number from
    (select account, environment from request_log where ${BEFORE} ${NEWEST_FIRST}) as page
  group by account, environment`;
const OLDEST_OF_OWNER = `select at, id from request_log where ${OF_OWNER} order by at, id limit 1 offset ?`;
const DELETE_OF_OWNER = `delete from request_log where ${OF_OWNER} and at <= ? and (at < ? or id <= ?)`;
const DELETE = `delete from request_log where ${OF_OWNER} and at <= ?`;

/** A row of the log, in the order of the columns of `INSERT`. */
export type LogRow = readonly Value[];

/** Writes rows with keys that no other rows have, also when an earlier call wrote them although it failed. */
export async function insertLogRows(database: Database, rows: readonly LogRow[]): Promise<void> {
  const { committed } = await database.commit({ writes: [{ sql: INSERT, rows, expectedRows: 1 }] });
  if (!committed) await commitOrThrow(database, { writes: [{ sql: INSERT, rows }] });
}

/** A place in the order of the log. */
export interface LogPosition {
  readonly at: number;
  readonly id: number;
}

export const NEWEST: LogPosition = { at: Number.MAX_SAFE_INTEGER, id: Number.MAX_SAFE_INTEGER };

export interface RowRange {
  /** Times in milliseconds; `to` is exclusive. */
  readonly from: number;
  readonly to: number;
  /** The rows behind this position in the order are read. */
  readonly behind: LogPosition;
  readonly order: SortOrder;
  readonly limit: number;
}

/** The account '' has the requests without a known account. */
export interface LogOwner {
  readonly account: string;
  readonly environment: Environment;
}

/** Returns the first rows of a range: those of one owner, or of all. */
export function listLogRows(database: Database, owner: LogOwner | undefined, range: RowRange): Promise<Row[]> {
  const { from, to, behind, order, limit } = range;
  const values = [order === 'oldest' ? to : from, behind.at, behind.at, behind.id, limit];
  return owner === undefined
    ? database.read(`${LIST} ${BEHIND[order]}`, ...values)
    : database.read(`${LIST_OF_TENANT} ${BEHIND[order]}`, owner.account, owner.environment, ...values);
}

export const toLogPosition = (row: Row): LogPosition => ({ at: integer(row, 'at'), id: integer(row, 'id') });

/** Returns the last one of the `count` rows behind a position; undefined when there are fewer. */
export async function findPositionBehind(
  database: Database,
  { at, id }: LogPosition,
  count: number,
): Promise<LogPosition | undefined> {
  const [row] = await database.read(SKIP, at, at, id, 1, count - 1);
  return row && toLogPosition(row);
}

/** Counts the `limit` rows behind a position by their owners. */
export async function countRowsOfOwners(
  database: Database,
  { at, id }: LogPosition,
  limit: number,
): Promise<{ readonly owner: LogOwner; readonly rows: number }[]> {
  return (await database.read(COUNT, at, at, id, limit)).map((row) => {
    const [account, environment] = ownerOf(row);
    return { owner: { account, environment }, rows: integer(row, 'number') };
  });
}

/** Deletes the oldest `count` rows of an owner; none when there are fewer. Returns how many. */
export async function deleteOldestRowsOf(
  database: Database,
  { account, environment }: LogOwner,
  count: number,
): Promise<number> {
  const [row] = await database.read(OLDEST_OF_OWNER, account, environment, count - 1);
  if (row === undefined) return 0;
  const { at, id } = toLogPosition(row);
  await commitOrThrow(database, { writes: [write(DELETE_OF_OWNER, [account, environment, at, at, id])] });
  return count;
}

/** Deletes the oldest rows up to a time, about `limit` of them; returns how many were found. */
export async function deleteOldestRows(database: Database, upTo: number, limit: number): Promise<number> {
  const rows = await database.read(OLDEST, upTo, limit);
  const last = rows.at(-1);
  if (last === undefined) return 0;
  const at = integer(last, 'at');
  const owners = new Map(rows.map((row) => [JSON.stringify(ownerOf(row)), [...ownerOf(row), at]]));
  await commitOrThrow(database, { writes: [{ sql: DELETE, rows: [...owners.values()] }] });
  return rows.length;
}

const ownerOf = (row: Row): [account: string, environment: Environment] => [
  text(row, 'account'),
  text(row, 'environment') as Environment,
];
