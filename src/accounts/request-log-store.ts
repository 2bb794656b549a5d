import type { Environment } from '../kernel/environment.ts';
import { commitOrThrow, type Database, integer, type Row, text, type Value } from '../storage/database.ts';
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

const BEFORE = 'at <= ? and (at < ? or id < ?)';
const NEWEST_FIRST = 'order by at desc, id desc limit ?';
const LIST = `select account, environment, ${COLUMNS} from request_log where at >= ? and ${BEFORE} ${NEWEST_FIRST}`;
const LIST_OF_TENANT = `select account, environment, ${COLUMNS} from request_log
  where account = ?account and environment = ?environment and at >= ? and ${BEFORE} ${NEWEST_FIRST}`;

const OLDEST = 'select account, environment, at from request_log where at <= ? order by at limit ?';
const SKIP = `select at, id from request_log where ${BEFORE} ${NEWEST_FIRST} offset ?`;
const DELETE = 'delete from request_log where account = ?account and environment = ?environment and at <= ?';

/** A row of the log, in the order of the columns of `INSERT`. */
export type LogRow = readonly Value[];

/** Writes rows with keys that no other rows have, also when an earlier call wrote them although it failed. */
export async function insertLogRows(database: Database, rows: readonly LogRow[]): Promise<void> {
  const { committed } = await database.commit({ writes: [{ sql: INSERT, rows, expectedRows: 1 }] });
  if (!committed) await commitOrThrow(database, { writes: [{ sql: INSERT, rows }] });
}

/** A place in the order of the log, from the newest row to the oldest. */
export interface LogPosition {
  readonly at: number;
  readonly id: number;
}

export const NEWEST: LogPosition = { at: Number.MAX_SAFE_INTEGER, id: Number.MAX_SAFE_INTEGER };

export interface RowRange {
  /** The oldest time, milliseconds. */
  readonly from: number;
  readonly before: LogPosition;
  readonly limit: number;
}

/** The account '' has the requests without a known account. */
export interface LogOwner {
  readonly account: string;
  readonly environment: Environment;
}

/** Returns the newest rows of a range: those of one owner, or of all. */
export function listLogRows(database: Database, owner: LogOwner | undefined, range: RowRange): Promise<Row[]> {
  const { from, before, limit } = range;
  const values = [from, before.at, before.at, before.id, limit];
  return owner === undefined
    ? database.read(LIST, ...values)
    : database.read(LIST_OF_TENANT, owner.account, owner.environment, ...values);
}

export const toLogPosition = (row: Row): LogPosition => ({ at: integer(row, 'at'), id: integer(row, 'id') });

/** Returns the row that follows `count` others behind a position; undefined when there are fewer rows. */
export async function findPositionBehind(
  database: Database,
  { at, id }: LogPosition,
  count: number,
): Promise<LogPosition | undefined> {
  const [row] = await database.read(SKIP, at, at, id, 1, count);
  return row && toLogPosition(row);
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

const ownerOf = (row: Row): [account: string, environment: string] => [text(row, 'account'), text(row, 'environment')];
