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
import { byCreation, type Creation, creationOf, ListingStore, NEWEST_OF_ALL } from './listing-store.ts';
import { MarkStore } from './mark-store.ts';
import { SCHEMES, type Scheme } from './scheme.ts';
import { slotOf, slotsOfBin, tokenOf } from './slot.ts';
import type { Creator, Token } from './token.ts';
import { markText } from './token-marks.ts';
import { fits, mayFit, readSearch, type Search, type TokenSearch } from './token-search.ts';
import { openIfGenuine } from './token-store.ts';

/** A token without the card number. */
export interface ListedToken {
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
export class TokenListing {
  readonly #database: Database;
  readonly #keyring: Keyring;

  constructor(options: { database: Database; keyring: Keyring }) {
    this.#database = options.database;
    this.#keyring = options.keyring;
  }

  /** The newest first. Throws `invalid_field` for a cursor that is none. */
  list(tenant: Tenant, cursor?: string): Promise<Page<ListedToken>> {
    const store = new ListingStore(this.#database, tenant);
    return this.#page(
      tenant,
      newestFirst((after, limit) => store.newest(after, limit)),
      cursor,
    );
  }

  /**
   * By token (one at most), tag, BIN or last four: the newest first. Those of a BIN come in the order of their slots, and
   * after them those whose scheme keeps nothing of the card. Throws `invalid_field`.
   */
  async search(tenant: Tenant, wanted: TokenSearch, cursor?: string): Promise<Page<ListedToken>> {
    const search = readSearch(wanted);
    const store = new ListingStore(this.#database, tenant);
    if (search.by === 'token') {
      const rows = await store.one(slotOf(search.text) ?? '');
      return { items: await Promise.all(rows.map((row) => this.#listed(tenant, row))), cursor: undefined };
    }
    const marks = await MarkStore.of(this.#keyring, tenant);
    return this.#page(tenant, orderOf(search, { store, marks }), cursor, search);
  }

  async #page(tenant: Tenant, order: Order, cursor: string | undefined, search?: Search): Promise<Page<ListedToken>> {
    const begin = cursor === undefined ? order.begin : creationFrom(cursor);
    const { items, last, isEnd } = await this.#walk(
      tenant,
      (row, limit) => order.read(row === undefined ? begin : order.placeOf(row), limit),
      search,
    );
    if (isEnd || last === undefined) return { items, cursor: undefined };
    const { createdAt, slot } = order.placeOf(last);
    return { items, cursor: encodeCursor(createdAt, slot) };
  }

  #walk(tenant: Tenant, read: Read, search?: Search): Promise<PageScanResult<Row, ListedToken>> {
    const accept = async (row: Row): Promise<ListedToken | undefined> => {
      if (search === undefined) return this.#listed(tenant, row);
      if (!mayFit(search, { token: tokenOf(text(row, 'slot')), scheme: schemeOf(row) })) return undefined;
      const token = await this.#open(tenant, row);
      // What the database says of marks is not sealed, and older code leaves some behind.
      return token !== undefined && fits(search, token) ? listedOf(row, token) : undefined;
    };
    return scanPage({ read, accept });
  }

  async #listed(tenant: Tenant, row: Row): Promise<ListedToken> {
    return listedOf(row, await this.#open(tenant, row));
  }

  #open(tenant: Tenant, row: Row): Promise<Token | undefined> {
    return openIfGenuine(this.#keyring, tenant, row);
  }
}

type Read = PageScan<Row, ListedToken>['read'];

interface Sources {
  readonly store: ListingStore;
  readonly marks: MarkStore;
}

/** Tokens one after the other, from a place on. */
interface Order {
  readonly begin: Creation;
  placeOf(row: Row): Creation;
  read(after: Creation, limit: number): Promise<Row[]>;
}

const newestFirst = (read: Order['read']): Order => ({ begin: NEWEST_OF_ALL, placeOf: creationOf, read });

function orderOf({ by, text: sought }: Search, sources: Sources): Order {
  const { store, marks } = sources;
  if (by === 'bin') return inBin(sources, sought);
  if (by === 'tag') {
    const mark = marks.mark(markText.tag(sought));
    return newestFirst((after, limit) => store.marked(mark, after, limit));
  }
  const mark = marks.mark(markText.lastFour(sought));
  return newestFirst(async (after, limit) => {
    const both = await Promise.all([store.byLastFour(sought, after, limit), store.marked(mark, after, limit)]);
    return both.flat().sort(byCreation).slice(0, limit);
  });
}

/** In place of a time: the order is still that of slots. */
const BY_SLOT = -1;

/** Length by length, then those that keep nothing of the card. */
const inBin = ({ store, marks }: Sources, digits: string): Order => ({
  begin: { createdAt: BY_SLOT, slot: '' },
  placeOf: (row) =>
    SCHEMES[schemeOf(row)].keepsEnds ? { createdAt: BY_SLOT, slot: text(row, 'slot') } : creationOf(row),
  async read(after, limit) {
    const rows: Row[] = [];
    for (const [from, to] of after.createdAt === BY_SLOT ? slotsOfBin(digits) : []) {
      if (after.slot < to)
        rows.push(...(await store.between(after.slot > from ? after.slot : from, to, limit - rows.length)));
      if (rows.length >= limit) return rows;
    }
    const begin = after.createdAt === BY_SLOT ? NEWEST_OF_ALL : after;
    return [...rows, ...(await store.marked(marks.mark(markText.bin(digits)), begin, limit - rows.length))];
  },
});

const schemeOf = (row: Row): Scheme => integer(row, 'scheme') as Scheme;

function listedOf(row: Row, token: Token | undefined): ListedToken {
  const { card, tags, createdBy } = token ?? {};
  return {
    token: tokenOf(text(row, 'slot')),
    scheme: schemeOf(row),
    isPersistent: textOrNull(row, 'form') !== undefined,
    createdAt: integer(row, 'created_at'),
    details: card &&
      tags &&
      createdBy && { truncated: truncatePan(card.pan), name: card.name, expiry: card.expiry, tags, createdBy },
  };
}

function creationFrom(cursor: string): Creation {
  const [createdAt, slot] = decodeCursor(cursor, 0, '');
  return { createdAt, slot };
}
