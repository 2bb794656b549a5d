import type { Keyring } from '../crypto/keyring.ts';
import type { Tenant } from '../kernel/environment.ts';
import type { Expiry } from '../kernel/expiry.ts';
import { truncatePan } from '../kernel/pan.ts';
import { type Database, integer, type Row, text, textOrNull } from '../storage/database.ts';
import {
  decodeCursor,
  encodeCursor,
  type Page,
  type PageScan,
  type PageScanResult,
  scanPage,
} from '../storage/pagination.ts';
import { blindIndexInput } from './blind-index.ts';
import { BlindIndexStore } from './blind-index-store.ts';
import { SCHEMES, type Scheme } from './scheme.ts';
import { fromSlot, listSlotsForBin, toSlot } from './slot.ts';
import type { Creator, Token } from './token.ts';
import {
  compareNewestFirst,
  FIRST_POSITION,
  type ListPosition,
  TokenListingStore,
  toListPosition,
} from './token-listing-store.ts';
import { matches, mayMatch, type ParsedSearch, parseSearch, type TokenSearch } from './token-search.ts';
import { unsealIfAuthentic } from './token-store.ts';

/** A token without the card number. */
export interface TokenView {
  readonly token: string;
  readonly scheme: Scheme;
  readonly isPersistent: boolean;
  readonly createdAt: number;
  /** Undefined when the record cannot be opened: somebody changed it in the database. */
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

/** Tokens as people look for them, a page at a time. */
export class TokenQueries {
  readonly #database: Database;
  readonly #keyring: Keyring;

  constructor(options: { database: Database; keyring: Keyring }) {
    this.#database = options.database;
    this.#keyring = options.keyring;
  }

  /** The newest first. Throws `invalid_field` for a cursor that is none. */
  list(tenant: Tenant, cursor?: string): Promise<Page<TokenView>> {
    const store = new TokenListingStore(this.#database, tenant);
    return this.#page(
      tenant,
      newestFirst((after, limit) => store.listNewest(after, limit)),
      cursor,
    );
  }

  /**
   * By token (one at most), tag, BIN or last four: the newest first. Those of a BIN come in the order of their slots, and
   * after them those whose scheme keeps nothing of the card. Throws `invalid_field`.
   */
  async search(tenant: Tenant, query: TokenSearch, cursor?: string): Promise<Page<TokenView>> {
    const search = parseSearch(query);
    const store = new TokenListingStore(this.#database, tenant);
    if (search.by === 'token') {
      const rows = await store.findBySlot(toSlot(search.text) ?? '');
      return { items: await Promise.all(rows.map((row) => this.#toView(tenant, row))), cursor: undefined };
    }
    const marks = await BlindIndexStore.load(this.#keyring, tenant);
    return this.#page(tenant, toOrder(search, { store, marks }), cursor, search);
  }

  async #page(
    tenant: Tenant,
    order: SearchOrder,
    cursor: string | undefined,
    search?: ParsedSearch,
  ): Promise<Page<TokenView>> {
    const start = cursor === undefined ? order.start : parsePosition(cursor);
    const { items, last, isEnd } = await this.#walk(
      tenant,
      (row, limit) => order.read(row === undefined ? start : order.positionOf(row), limit),
      search,
    );
    if (isEnd || last === undefined) return { items, cursor: undefined };
    const { createdAt, slot } = order.positionOf(last);
    return { items, cursor: encodeCursor(createdAt, slot) };
  }

  #walk(tenant: Tenant, read: Read, search?: ParsedSearch): Promise<PageScanResult<Row, TokenView>> {
    const accept = async (row: Row): Promise<TokenView | undefined> => {
      if (search === undefined) return this.#toView(tenant, row);
      if (!mayMatch(search, { token: fromSlot(text(row, 'slot')), scheme: toScheme(row) })) return undefined;
      const token = await this.#unseal(tenant, row);
      // Digests in the database are not sealed.
      return token !== undefined && matches(search, token) ? toTokenView(row, token) : undefined;
    };
    return scanPage({ read, accept });
  }

  async #toView(tenant: Tenant, row: Row): Promise<TokenView> {
    return toTokenView(row, await this.#unseal(tenant, row));
  }

  #unseal(tenant: Tenant, row: Row): Promise<Token | undefined> {
    return unsealIfAuthentic(this.#keyring, tenant, row);
  }
}

type Read = PageScan<Row, TokenView>['read'];

interface SearchStores {
  readonly store: TokenListingStore;
  readonly marks: BlindIndexStore;
}

/** Tokens one after the other, from a place on. */
interface SearchOrder {
  readonly start: ListPosition;
  positionOf(row: Row): ListPosition;
  read(after: ListPosition, limit: number): Promise<Row[]>;
}

const newestFirst = (read: SearchOrder['read']): SearchOrder => ({
  start: FIRST_POSITION,
  positionOf: toListPosition,
  read,
});

function toOrder({ by, text }: ParsedSearch, sources: SearchStores): SearchOrder {
  const { store, marks } = sources;
  if (by === 'bin') return toBinOrder(sources, text);
  if (by === 'tag') {
    const mark = marks.compute(blindIndexInput.tag(text));
    return newestFirst((after, limit) => store.listByBlindIndex(mark, after, limit));
  }
  const mark = marks.compute(blindIndexInput.lastFour(text));
  return newestFirst(async (after, limit) => {
    const both = await Promise.all([
      store.listByLastFour(text, after, limit),
      store.listByBlindIndex(mark, after, limit),
    ]);
    return both.flat().sort(compareNewestFirst).slice(0, limit);
  });
}

/** In place of a time: the order is still that of slots. */
const BY_SLOT = -1;

/** Length by length, then those that keep nothing of the card. */
const toBinOrder = ({ store, marks }: SearchStores, digits: string): SearchOrder => ({
  start: { createdAt: BY_SLOT, slot: '' },
  positionOf: (row) =>
    SCHEMES[toScheme(row)].keepsEnds ? { createdAt: BY_SLOT, slot: text(row, 'slot') } : toListPosition(row),
  async read(after, limit) {
    const rows: Row[] = [];
    for (const [from, to] of after.createdAt === BY_SLOT ? listSlotsForBin(digits) : []) {
      if (after.slot < to)
        rows.push(...(await store.listBetweenSlots(after.slot > from ? after.slot : from, to, limit - rows.length)));
      if (rows.length >= limit) return rows;
    }
    const start = after.createdAt === BY_SLOT ? FIRST_POSITION : after;
    return [
      ...rows,
      ...(await store.listByBlindIndex(marks.compute(blindIndexInput.bin(digits)), start, limit - rows.length)),
    ];
  },
});

const toScheme = (row: Row): Scheme => integer(row, 'scheme') as Scheme;

function toTokenView(row: Row, token: Token | undefined): TokenView {
  const { card, tags, createdBy } = token ?? {};
  return {
    token: fromSlot(text(row, 'slot')),
    scheme: toScheme(row),
    isPersistent: textOrNull(row, 'format') !== undefined,
    createdAt: integer(row, 'created_at'),
    details: card &&
      tags &&
      createdBy && { truncated: truncatePan(card.pan), name: card.name, expiry: card.expiry, tags, createdBy },
  };
}

function parsePosition(cursor: string): ListPosition {
  const [createdAt, slot] = decodeCursor(cursor, 0, '');
  return { createdAt, slot };
}
