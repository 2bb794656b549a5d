import { ENVIRONMENTS, type Environment } from '../kernel/environment.ts';
import { invalidField } from '../kernel/failure.ts';
import { type Database, type Row, text } from '../storage/database.ts';
import { decodeCursor, encodeCursor, type Page, scanPage } from '../storage/pagination.ts';
import { sanitizeInteger, sanitizeText, sanitizeTime } from '../storage/sanitize-columns.ts';
import type { SortOrder } from '../storage/sort-order.ts';
import { buildNetworkCheck, parseCidr } from './allow-list.ts';
import { type LogPosition, listLogRows, NEWEST, type RowRange, toLogPosition } from './request-log-store.ts';
import { isInStatusClass, type StatusClass } from './request-log-terms.ts';

/** The requests that a reader may see. Pure. */
export interface RequestScope {
  /** '' has the requests without a known account; undefined has all. */
  readonly account: string | undefined;
  /** Undefined: both. */
  readonly environment: Environment | undefined;
}

/** The filters of a search in the request log. */
export interface RequestFilter {
  /** The id of an API key. */
  readonly key?: string | undefined;
  /** A path pattern, or `NO_ROUTE`. */
  readonly route?: string | undefined;
  readonly statuses?: StatusClass | undefined;
  /** The code of a failure. */
  readonly failure?: string | undefined;
  readonly requestId?: string | undefined;
  /** An address or network. */
  readonly address?: string | undefined;
  /** Unix times in milliseconds; `to` is exclusive. */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  /** Absent: the newest first. */
  readonly order?: SortOrder | undefined;
}

/** A recorded request. Its columns are displayable whatever the row contains. */
export interface LoggedRequest {
  /** Distinguishes requests of the same time. */
  readonly id: number;
  readonly at: number;
  /** '' when it is unknown. */
  readonly account: string;
  readonly environment: string;
  readonly method: string;
  readonly route: string;
  readonly status: number;
  readonly microseconds: number;
  readonly failure: string | undefined;
  readonly reason: string | undefined;
  readonly field: string | undefined;
  readonly requestId: string;
  /** The id of the API key. */
  readonly key: string | undefined;
  readonly address: string;
  /** Further requests like this one that were not recorded. */
  readonly repeats: number;
}

interface RequestPage extends Page<LoggedRequest> {
  /** All requests before this time in the order were searched; undefined when there are none beyond the page. */
  readonly searchedUntil: number | undefined;
}

/** Searches the request log. */
export class RequestLogQuery {
  readonly #database: Database;

  constructor(options: { database: Database }) {
    this.#database = options.database;
  }

  /** Returns matching requests, by default the newest first. Throws `invalid_field`. */
  async list(scope: RequestScope, filter: RequestFilter, cursor?: string): Promise<RequestPage> {
    const { from = 0, to = NEWEST.at, order = 'newest' } = filter;
    const first = { at: Math.max(order === 'oldest' ? from : to, 0), id: -1 };
    const start = cursor === undefined ? first : parsePosition(cursor);
    const matches = matcherOf(scope, filter);
    const { items, last, isEnd } = await scanPage<Row, LoggedRequest>({
      read: (after, limit) => {
        const behind = after === undefined ? start : toLogPosition(after);
        return this.#read(scope, { from, to, behind, order, limit });
      },
      accept: (row) => {
        const request = toLoggedRequest(row);
        return matches(request) ? request : undefined;
      },
    });
    if (isEnd || last === undefined) return { items, cursor: undefined, searchedUntil: undefined };
    const { at, id } = toLogPosition(last);
    return { items, cursor: encodeCursor(at, id), searchedUntil: at };
  }

  /** Reads the rows of one account in both environments by its keys, and those of all accounts by time. */
  async #read({ account, environment }: RequestScope, range: RowRange): Promise<Row[]> {
    if (account === undefined) return listLogRows(this.#database, undefined, range);
    const rows: Row[] = [];
    for (const each of environment === undefined ? ENVIRONMENTS : [environment])
      rows.push(...(await listLogRows(this.#database, { account, environment: each }, range)));
    const sign = range.order === 'oldest' ? 1 : -1;
    return rows.sort((one, other) => sign * comparePositions(one, other)).slice(0, range.limit);
  }
}

function comparePositions(one: Row, other: Row): number {
  const [left, right] = [toLogPosition(one), toLogPosition(other)];
  return left.at - right.at || left.id - right.id;
}

function parsePosition(cursor: string): LogPosition {
  const [at, id] = decodeCursor(cursor, 0, 0);
  return { at, id };
}

/** Throws `invalid_field`. */
function matcherOf({ environment }: RequestScope, filter: RequestFilter): (request: LoggedRequest) => boolean {
  const { key, route, statuses, failure, requestId } = filter;
  const isInNetwork = filter.address === undefined ? undefined : buildNetworkCheck([parseNetwork(filter.address)]);
  return (request) =>
    (environment === undefined || request.environment === environment) &&
    (key === undefined || request.key === key) &&
    (route === undefined || request.route === route) &&
    (statuses === undefined || isInStatusClass(statuses, request.status)) &&
    (failure === undefined || request.failure === failure) &&
    (requestId === undefined || request.requestId === requestId) &&
    (isInNetwork === undefined || isInNetwork(request.address));
}

function parseNetwork(text: string): string {
  const network = parseCidr(text);
  if (network === undefined) throw invalidField('address', 'address');
  return network;
}

const toOptionalText = (row: Row, column: string): string | undefined =>
  row[column] === null ? undefined : sanitizeText(row[column]);

const toLoggedRequest = (row: Row): LoggedRequest => ({
  id: sanitizeInteger(row['id']),
  at: sanitizeTime(row['at']),
  account: text(row, 'account'),
  environment: text(row, 'environment'),
  method: sanitizeText(row['method']),
  route: sanitizeText(row['route']),
  status: sanitizeInteger(row['status']),
  microseconds: sanitizeInteger(row['duration_us']),
  failure: toOptionalText(row, 'failure'),
  reason: toOptionalText(row, 'reason'),
  field: toOptionalText(row, 'field'),
  requestId: sanitizeText(row['request_id']),
  key: toOptionalText(row, 'api_key'),
  address: sanitizeText(row['address']),
  repeats: sanitizeInteger(row['repeats']),
});
