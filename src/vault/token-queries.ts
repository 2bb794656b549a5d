import type { Keyring } from '../crypto/keyring.ts';
import type { Tenant } from '../kernel/environment.ts';
import type { Expiry } from '../kernel/expiry.ts';
import { invalidField } from '../kernel/failure.ts';
import { LIMITS } from '../kernel/limits.ts';
import { truncatePan } from '../kernel/pan.ts';
import { blob, blobOrNull, type Database, integer, type Row, type Value } from '../storage/database.ts';
import {
  decodeCursor,
  encodeCursor,
  type Page,
  type PageScan,
  type PageScanResult,
  type RecordCount,
  ROWS_COUNTED,
  scanPage,
  toRecordCount,
} from '../storage/pagination.ts';
import { sanitizeInteger, sanitizeTime } from '../storage/sanitize-columns.ts';
import type { SortOrder } from '../storage/sort-order.ts';
import { BIN_DIGITS, type BlindIndexes } from './blind-index.ts';
import { isScheme, SCHEMES, type Scheme } from './scheme.ts';
import { fromSlot, rangesOfBin, type SlotRange, toSlot } from './slot.ts';
import type { Creator, Token } from './token.ts';
import { loadBlindIndexes, unsealIfAuthentic } from './token-store.ts';

const COLUMNS = 'slot, scheme, format, search, record, created_at';
const LIVE = 'account = ?account and environment = ?environment and record is not null';
/** Without a lower bound a position could have a negative time, which no cursor may contain, and which is `BY_SLOT`. */
const AFTER_POSITION =
  'created_at between 0 and ? and (created_at < ? or slot < ?) order by created_at desc, slot desc limit ?';

const NEWEST = `select ${COLUMNS} from tokens where ${LIVE} and ${AFTER_POSITION}`;
const OLDEST = `select ${COLUMNS} from tokens where ${LIVE} and created_at between ? and ${Number.MAX_SAFE_INTEGER}
  and (created_at > ? or slot > ?) order by created_at, slot limit ?`;
/** The times that `NEWEST` and `OLDEST` cannot reach, which this service never writes. */
const UNTIMED = `select ${COLUMNS} from tokens
  where ${LIVE} and (created_at < 0 or created_at > ${Number.MAX_SAFE_INTEGER}) and slot > ? order by slot limit ?`;
const BETWEEN = `select ${COLUMNS} from tokens where ${LIVE} and slot > ? and slot < ? order by slot limit ?`;
/** Deleted tokens are read as well, and not counted. */
const COUNT_LISTED = `select count(*) as looked, count(record) as number from
  (select record from tokens where account = ?account and environment = ?environment
    order by created_at desc limit ${ROWS_COUNTED}) newest`;
const ONE = `select ${COLUMNS} from tokens where ${LIVE} and slot = ?`;

/** The tokens of index entries; the newest are chosen before a row is read. */
const tokensOf = (entries: string): string =>
  `select ${COLUMNS.split(', ')
    .map((column) => `t.${column}`)
    .join(', ')} from (${entries}) e
  join tokens t on t.account = e.account and t.environment = e.environment and t.created_at = e.created_at
    and t.slot = e.slot
  where t.record is not null order by e.created_at desc, e.slot desc`;
/** Phrased so that the index of the search is used: in the order of the list, all tokens of the account would be read. */
const lastFourSql = (versions: number): string =>
  tokensOf(`select account, environment, created_at, slot from tokens
    where account = ?account and environment = ?environment
    and (${Array(versions).fill('(search >= ? and search <= ?)').join(' or ')})
    and ${AFTER_POSITION.replaceAll('created_at', '+created_at')}`);
/** While the key is rotated, a token may have a tag under two versions. */
const byTagSql = (versions: number): string =>
  tokensOf(`select ${versions > 1 ? 'distinct ' : ''}account, environment, created_at, slot from token_tags
    where account = ?account and environment = ?environment and tag in (${Array(versions).fill('?').join(', ')})
    and ${AFTER_POSITION}`);

/** A search for tokens. */
export interface TokenSearch {
  readonly by: 'token' | 'tag' | 'bin' | 'last-four';
  readonly text: string;
}

interface ParsedSearch extends TokenSearch {
  /** Eight digits of a BIN; `text` is the first six of them. */
  readonly longBin?: string;
}

const EXPECTED: Readonly<Record<TokenSearch['by'], { readonly pattern: RegExp; readonly expected: string }>> = {
  token: { pattern: /./s, expected: 'a token' },
  tag: { pattern: /./s, expected: 'a tag' },
  bin: { pattern: /^[0-9]{6}(?:[0-9]{2})?$/, expected: '6 or 8 digits' },
  'last-four': { pattern: /^[0-9]{4}$/, expected: '4 digits' },
};

const LONG_BIN_DIGITS = 8;

/** A token without the card number. */
export interface TokenView {
  readonly token: string;
  readonly scheme: Scheme;
  readonly isPersistent: boolean;
  readonly createdAt: number;
  /** Undefined when the record cannot be unsealed: it was altered in the database. */
  readonly details:
    | {
        /** First six and last four of the card number. */
        readonly truncated: string;
        readonly name: string | undefined;
        readonly expiry: Expiry | undefined;
        readonly tags: readonly string[];
        readonly createdBy: Creator;
      }
    | undefined;
}

/** Lists and searches of tokens for users, page by page. */
export class TokenQueries {
  readonly #database: Database;
  readonly #keyring: Keyring;

  constructor(options: { database: Database; keyring: Keyring }) {
    this.#database = options.database;
    this.#keyring = options.keyring;
  }

  /**
   * Returns the newest or oldest first, and last those with a time that no token has: they were altered in the database.
   * Throws `invalid_field` for an invalid cursor.
   */
  list(tenant: Tenant, cursor?: string, order: SortOrder = 'newest'): Promise<Page<TokenView>> {
    const timed = this.#byTime(tenant, order === 'oldest' ? OLDEST : NEWEST);
    const read: SearchOrder['read'] = async (after, limit) => {
      if (after.createdAt === NO_TIME) return this.#read(tenant, UNTIMED, after.slot, limit);
      const rows = await timed.read(after, limit);
      if (rows.length === limit) return rows;
      return [...rows, ...(await this.#read(tenant, UNTIMED, NO_SLOT, limit - rows.length))];
    };
    const start = order === 'oldest' ? BEFORE_OLDEST : timed.start;
    return this.#page(tenant, { read, start }, cursor);
  }

  /**
   * Searches by token (one at most), tag, BIN or last four: the newest first. Those of a BIN come in the order of their
   * slots, and after them those whose scheme keeps nothing of the card, for which all tokens are searched, a bounded
   * number for each page. Throws `invalid_field`.
   */
  async search(tenant: Tenant, query: TokenSearch, cursor?: string): Promise<Page<TokenView>> {
    const search = parseSearch(query);
    if (search.by === 'token') {
      const slot = toSlot(search.text);
      const rows = slot === undefined ? [] : await this.#read(tenant, ONE, slot);
      return { items: await Promise.all(rows.map((row) => this.#toView(tenant, row))), cursor: undefined };
    }
    return this.#page(tenant, await this.#toOrder(tenant, search), cursor, search);
  }

  /** Counts the tokens of the list; undefined when more rows would have to be read than a count may. */
  async countListed(tenant: Tenant): Promise<RecordCount | undefined> {
    const [row = {}] = await this.#read(tenant, COUNT_LISTED);
    return toRecordCount(integer(row, 'looked'), integer(row, 'number'));
  }

  async #page(
    tenant: Tenant,
    order: SearchOrder,
    cursor: string | undefined,
    search?: ParsedSearch,
  ): Promise<Page<TokenView>> {
    const start = cursor === undefined ? order.start : parsePosition(cursor);
    const { items, last, isEnd } = await this.#walk(tenant, order, start, search);
    if (isEnd || last === undefined) return { items, cursor: undefined };
    const { createdAt, slot } = toPosition(last);
    return { items, cursor: encodeCursor(createdAt, Buffer.from(slot).toString('hex')) };
  }

  #walk(
    tenant: Tenant,
    order: SearchOrder,
    start: Position,
    search?: ParsedSearch,
  ): Promise<PageScanResult<Row, TokenView>> {
    const read: PageScan<Row, TokenView>['read'] = (row, limit) =>
      order.read(row === undefined ? start : toPosition(row), limit);
    const accept = async (row: Row): Promise<TokenView | undefined> => {
      if (search === undefined) return this.#toView(tenant, row);
      if (!mayMatch(search, toSchemeAndToken(row)) || order.mayMatch?.(row) === false) return undefined;
      const token = await this.#unseal(tenant, row);
      // The digests by which the record was found are short, and are not sealed.
      return token !== undefined && matches(search, token) ? toTokenView(row, token) : undefined;
    };
    return scanPage({ read, accept });
  }

  async #toOrder(tenant: Tenant, { by, text, longBin }: ParsedSearch): Promise<SearchOrder> {
    const indexes = await loadBlindIndexes(this.#keyring, tenant);
    if (by === 'bin')
      return this.#binOrder(tenant, rangesOfBin(text), longBin === undefined ? indexes.binTest(text) : undefined);
    const values = by === 'tag' ? indexes.listTags(text) : indexes.all.flatMap((index) => index.lastFourBounds(text));
    const versions = indexes.all.length;
    return this.#byTime(tenant, by === 'tag' ? byTagSql(versions) : lastFourSql(versions), ...values);
  }

  /** Starts at the newest. */
  #byTime(tenant: Tenant, sql: string, ...values: readonly Value[]): SearchOrder {
    return {
      start: FIRST_POSITION,
      read: ({ createdAt, slot }, limit) => this.#read(tenant, sql, ...values, createdAt, createdAt, slot, limit),
    };
  }

  /** The slots of the BIN, then with `hasBin` the whole list for schemes that keep nothing of the card. */
  #binOrder(tenant: Tenant, ranges: readonly SlotRange[], hasBin: BinTest | undefined): SearchOrder {
    const list = this.#byTime(tenant, NEWEST);
    const readBySlot = async ({ slot }: Position, limit: number): Promise<Row[]> => {
      const rows: Row[] = [];
      for (const [from, to] of ranges) {
        if (rows.length >= limit || Buffer.compare(slot, to) >= 0) continue;
        const start = Buffer.compare(slot, from) > 0 ? slot : from;
        rows.push(...(await this.#read(tenant, BETWEEN, start, to, limit - rows.length)));
      }
      return rows.map((row) => ({ ...row, [BY_SLOT_COLUMN]: 1 }));
    };
    return {
      start: { createdAt: BY_SLOT, slot: NO_SLOT },
      mayMatch: (row) => isBySlot(row) || (!keepsEnds(toScheme(row)) && hasBin?.(blobOrNull(row, 'search')) === true),
      read: async (after, limit) => {
        if (after.createdAt !== BY_SLOT) return list.read(after, limit);
        const rows = await readBySlot(after, limit);
        if (hasBin === undefined || rows.length >= limit) return rows;
        return [...rows, ...(await list.read(FIRST_POSITION, limit - rows.length))];
      },
    };
  }

  async #toView(tenant: Tenant, row: Row): Promise<TokenView> {
    return toTokenView(row, await this.#unseal(tenant, row));
  }

  #unseal(tenant: Tenant, row: Row): Promise<Token | undefined> {
    return unsealIfAuthentic(this.#keyring, tenant, row);
  }

  #read({ account, environment }: Tenant, sql: string, ...values: readonly Value[]): Promise<Row[]> {
    return this.#database.read(sql, account, environment, ...values);
  }
}

type BinTest = ReturnType<BlindIndexes['binTest']>;

/** A position in an order: of creation, or of slots with `BY_SLOT` or `NO_TIME` in place of the time. */
interface Position {
  readonly createdAt: number;
  readonly slot: Uint8Array;
}

const BY_SLOT = -1;
/** The position of a token whose time was altered to one that no token has. */
const NO_TIME = -2;
const NO_SLOT = new Uint8Array(0);
/** Marks rows that were read in the order of slots. */
const BY_SLOT_COLUMN = 'by_slot';

/** Before the oldest token. */
const BEFORE_OLDEST: Position = { createdAt: 0, slot: NO_SLOT };
/** Before the newest token. */
const FIRST_POSITION: Position = { createdAt: Number.MAX_SAFE_INTEGER, slot: NO_SLOT };

/** Returns tokens in their order, from a position on. */
interface SearchOrder {
  readonly start: Position;
  read(after: Position, limit: number): Promise<Row[]>;
  /** True when the columns in clear show that a row does not match, so that it need not be unsealed. */
  mayMatch?(row: Row): boolean;
}

const isBySlot = (row: Row): boolean => row[BY_SLOT_COLUMN] !== undefined;

const toPosition = (row: Row): Position => ({
  createdAt: isBySlot(row) ? BY_SLOT : isSafeTime(row['created_at']) ? row['created_at'] : NO_TIME,
  slot: blob(row, 'slot'),
});

const isSafeTime = (value: Value | undefined): value is number => Number.isSafeInteger(value) && Number(value) >= 0;

function parsePosition(cursor: string): Position {
  const [createdAt, slot] = decodeCursor(cursor, 0, '');
  return { createdAt, slot: new Uint8Array(Buffer.from(slot, 'hex')) };
}

const toScheme = (row: Row): Scheme => sanitizeInteger(row['scheme']) as Scheme;

/** The column is not sealed: it may hold a number that is no scheme, which must not fail the search. */
const keepsEnds = (scheme: Scheme): boolean => isScheme(scheme) && SCHEMES[scheme].keepsEnds;

const toSchemeAndToken = (row: Row): Pick<Token, 'token' | 'scheme'> => ({
  token: fromSlot(blob(row, 'slot')),
  scheme: toScheme(row),
});

function toTokenView(row: Row, token: Token | undefined): TokenView {
  const { card, tags, createdBy } = token ?? {};
  return {
    ...toSchemeAndToken(row),
    isPersistent: row['format'] !== null,
    createdAt: sanitizeTime(row['created_at']),
    details: card &&
      tags &&
      createdBy && { truncated: truncatePan(card.pan), name: card.name, expiry: card.expiry, tags, createdBy },
  };
}

/** Throws `invalid_field`. */
function parseSearch({ by, text }: TokenSearch): ParsedSearch {
  const { pattern, expected } = EXPECTED[by];
  if (text.length > LIMITS.searchCharacters || text.includes('\0') || !pattern.test(text))
    throw invalidField('text', 'environmentChoice', { words: expected });
  return by === 'bin' && text.length === LONG_BIN_DIGITS
    ? { by, text: text.slice(0, BIN_DIGITS), longBin: text }
    : { by, text };
}

/**
 * An eight-digit BIN matches only tokens that show all eight digits: otherwise a search would reveal two hidden ones.
 */
const mayMatch = ({ longBin }: ParsedSearch, { token, scheme }: Pick<Token, 'token' | 'scheme'>): boolean =>
  longBin === undefined || (keepsEnds(scheme) && token.startsWith(longBin));

function matches(search: ParsedSearch, { token, scheme, card, tags }: Token): boolean {
  const { by, text, longBin } = search;
  const { pan } = card;
  switch (by) {
    case 'token':
      return token === text;
    case 'tag':
      return tags.includes(text);
    case 'last-four':
      return pan.endsWith(text);
    case 'bin':
      return pan.startsWith(longBin ?? text) && mayMatch(search, { token, scheme });
  }
}

const COUNT = 'select count(*) as number from tokens where account = ?account and environment = ?environment';
/**
 * The index of deleted tokens alone serves this query; without `+ 0` the planner would choose the tokens of the account.
 */
const COUNT_DELETED = `select count(*) as number from tokens
  where deleted_at is not null and account + 0 = ?account and environment + 0 = ?environment`;

/** Returns the number of tokens that are not deleted, from indexes alone. */
export async function countTokens(database: Database, { account, environment }: Tenant): Promise<number> {
  const [[all = {}], [deleted = {}]] = await Promise.all([
    database.read(COUNT, account, environment),
    database.read(COUNT_DELETED, account, environment),
  ]);
  // The two reads see two moments: a deletion between them must not make the result negative.
  return Math.max(0, integer(all, 'number') - integer(deleted, 'number'));
}
