import type { Keyring } from '../crypto/keyring.ts';
import type { Transaction } from '../idempotency/transaction.ts';
import type { Random } from '../kernel/clock.ts';
import type { Tenant } from '../kernel/environment.ts';
import { LIMITS } from '../kernel/limits.ts';
import { passesLuhn } from '../kernel/pan.ts';
import { type Database, isAlteration } from '../storage/database.ts';
import { findFreeTokens } from './assign-tokens.ts';
import { findRule, toDay, upsertUses } from './retention-store.ts';
import {
  buildTokenSpace,
  hasTokenForm,
  persistentFormat,
  randomToken,
  SCHEMES,
  type TokenFormat,
  type TokenSpace,
} from './scheme.ts';
import { type Card, type Creator, mergeToken, type Token, toTokenRecord } from './token.ts';
import { type StoredToken, TokenStore, type TokenUpdate } from './token-store.ts';
import type { TokenUses } from './token-uses.ts';

/** A card of an import, and the token that it is to have. */
export interface ImportedCard {
  readonly card: Card;
  readonly tags: readonly string[];
  readonly format: TokenFormat;
  /** One token per card number and format. */
  readonly isPersistent: boolean;
  /** Undefined: a token is issued as for a request. */
  readonly wanted: string | undefined;
  readonly creator: Creator;
  /** Unix time in milliseconds; undefined: the time of the import. */
  readonly createdAt: number | undefined;
}

/**
 * `token_unavailable` is one code for values of scheme 8 that are stored card numbers and for those that this vault never
 * issues: an import must not tell which values are card numbers.
 */
export type ImportFault =
  | 'card_luhn'
  | 'token_form'
  | 'token_taken'
  | 'token_altered'
  | 'token_unavailable'
  | 'token_space_full';

/**
 * Result of one card. `existing`: the card has the token already. `conflict`: the card has another persistent token, which
 * stays unchanged.
 */
export type ImportResult =
  | { readonly status: 'created' | 'existing' | 'conflict'; readonly token: string }
  | { readonly status: 'rejected'; readonly field: 'pan' | 'token'; readonly code: ImportFault };

interface Services {
  readonly database: Database;
  readonly keyring: Keyring;
  readonly random: Random;
  readonly tokenUses: Pick<TokenUses, 'note' | 'isDeleting'>;
}

interface ImportOptions {
  /**
   * True when tokens are looked up before they are written. Without it a collision is found by the write, as for requests,
   * and the transaction runs again.
   */
  readonly checksFirst: boolean;
}

/** Adds cards to the tokens of a tenant, with tokens that were issued elsewhere or with new ones. */
export class TokenImport {
  readonly #tenant: Tenant;
  readonly #store: TokenStore;
  readonly #database: Database;
  readonly #keyring: Keyring;
  readonly #random: Random;
  readonly #tokenUses: Services['tokenUses'];

  private constructor(tenant: Tenant, store: TokenStore, { database, keyring, random, tokenUses }: Services) {
    this.#tenant = tenant;
    this.#store = store;
    this.#database = database;
    this.#keyring = keyring;
    this.#random = random;
    this.#tokenUses = tokenUses;
  }

  static async open(services: Services, tenant: Tenant): Promise<TokenImport> {
    const { database, keyring } = services;
    return new TokenImport(tenant, await TokenStore.load(database, keyring, tenant), services);
  }

  /** Adds the writes of a batch to the transaction, and returns one result for each card, in their order. */
  async add(
    transaction: Transaction,
    cards: readonly ImportedCard[],
    { checksFirst }: ImportOptions,
  ): Promise<ImportResult[]> {
    const { now, attempt } = transaction;
    // An import lasts longer than a phase of a rotation of the fingerprints' key.
    await this.#store.refresh(now);
    const isChecked = checksFirst || attempt > 0;
    const batch = new ImportBatch(this.#store, cards, { random: this.#random, now, isChecked });
    // Tokens that exist are read after their use was stored: a deletion of unused ones has come before, or leaves them.
    if (isChecked && this.#tokenUses.isDeleting(this.#tenant))
      await this.#tokenUses.note(this.#tenant, await batch.findExisting());
    const results = await batch.run();
    const { inserts, updates } = batch.changes();
    const seal = await this.#keyring.sealer(this.#tenant, 'tokens', updates.length + batch.insertCount);
    for (const { format, tokens } of inserts)
      for (const write of this.#store.insert(tokens, seal, format)) transaction.write(write);
    if (updates.length > 0) for (const write of this.#store.update(updates, seal)) transaction.write(write);
    await this.#recordUses(transaction, results);
    return results;
  }

  /** A token that was created long ago elsewhere must not count as unused since then. */
  async #recordUses(transaction: Transaction, results: readonly ImportResult[]): Promise<void> {
    const tokens = results.flatMap((result) => (result.status === 'rejected' ? [] : [result.token]));
    if (tokens.length === 0 || (await findRule(this.#database, this.#keyring, this.#tenant)) === undefined) return;
    transaction.write(upsertUses(this.#tenant, tokens, toDay(transaction.now)));
  }

  /** False when the value is the token of another card number. A token may have been deleted since it was imported. */
  async mayBeTokenOf(token: string, pan: string): Promise<boolean> {
    const found = await ifAuthentic(this.#store.find(token));
    if (found === 'altered') return false;
    return found === undefined ? this.#store.isTaken(token) : found.token.card.pan === pan;
  }
}

/** A token of the batch: a new one, or a persistent one that the card has already. */
interface AssignedToken {
  token: Token;
  readonly stored: StoredToken | undefined;
  /** Undefined when the token is not persistent. */
  readonly persistent: TokenFormat | undefined;
}

/** The stored tokens that concern one card. */
interface KnownTokens {
  readonly persistent?: StoredToken | undefined;
  readonly atWanted?: StoredToken | undefined;
  /** True when the wanted value is in use, or reserved after a deletion. */
  readonly isTaken?: boolean;
}

interface InsertGroup {
  readonly format: TokenFormat | undefined;
  readonly tokens: Token[];
}

const UNCHECKED: KnownTokens = {};
/** A token that concerns the card was altered in the database: nothing is known of it, and nothing is added to it. */
const ALTERED: KnownTokens = {};

const ifAuthentic = <Found>(found: Promise<Found>): Promise<Found | 'altered'> =>
  found.catch((error: unknown) => {
    if (isAlteration(error)) return 'altered';
    throw error;
  });

class ImportBatch {
  readonly #store: TokenStore;
  readonly #cards: readonly ImportedCard[];
  readonly #options: { readonly random: Random; readonly now: number; readonly isChecked: boolean };
  readonly #assigned: AssignedToken[] = [];
  readonly #byToken = new Map<string, AssignedToken>();
  /** Persistent tokens by format and card number. */
  readonly #byCard = new Map<string, AssignedToken>();
  /** Card numbers of the batch so far: no value of scheme 8 that equals one is accepted behind it. */
  readonly #pans = new Set<string>();
  readonly #searches = new Map<string, AsyncGenerator<string>>();

  constructor(
    store: TokenStore,
    cards: readonly ImportedCard[],
    options: { random: Random; now: number; isChecked: boolean },
  ) {
    this.#store = store;
    this.#cards = cards;
    this.#options = options;
  }

  async run(): Promise<ImportResult[]> {
    const { isChecked } = this.#options;
    // Concurrently: over a network each query has its round trip.
    const known = isChecked ? await Promise.all(this.#cards.map((each) => this.#load(each))) : [];
    const results: ImportResult[] = [];
    for (const [index, each] of this.#cards.entries()) {
      results.push(await this.#assign(each, known[index] ?? UNCHECKED));
      this.#pans.add(each.card.pan);
    }
    return results;
  }

  /** Returns the tokens that the cards have already, or are to have. */
  async findExisting(): Promise<string[]> {
    const known = await Promise.all(this.#cards.map((each) => this.#load(each)));
    return known.flatMap(({ persistent, atWanted }) =>
      [persistent, atWanted].flatMap((each) => each?.token.token ?? []),
    );
  }

  get insertCount(): number {
    return this.#assigned.reduce((count, { stored }) => count + (stored === undefined ? 1 : 0), 0);
  }

  /** Returns the new tokens by the format under which they are persistent, and the changed ones. */
  changes(): { inserts: readonly InsertGroup[]; updates: readonly TokenUpdate[] } {
    const groups = new Map<string, InsertGroup>();
    const updates: TokenUpdate[] = [];
    for (const { token, stored, persistent } of this.#assigned) {
      if (stored === undefined) {
        const name = persistent === undefined ? '' : `${persistent.scheme}/${persistent.bin}`;
        const group = groups.get(name) ?? { format: persistent, tokens: [] };
        groups.set(name, group);
        group.tokens.push(token);
      } else if (toTokenRecord(stored.token) !== toTokenRecord(token))
        updates.push({ token, before: stored.token, revision: stored.revision });
    }
    return { inserts: [...groups.values()], updates };
  }

  async #load({ card, format, isPersistent, wanted }: ImportedCard): Promise<KnownTokens> {
    if (!passesLuhn(card.pan)) return UNCHECKED;
    const [persistent, atWanted, isTaken] = await Promise.all([
      isPersistent ? ifAuthentic(this.#store.findPersistent(card.pan, format)) : undefined,
      wanted === undefined ? undefined : ifAuthentic(this.#store.find(wanted)),
      wanted === undefined ? false : this.#store.isTaken(wanted),
    ]);
    return persistent === 'altered' || atWanted === 'altered' ? ALTERED : { persistent, atWanted, isTaken };
  }

  async #assign(imported: ImportedCard, known: KnownTokens): Promise<ImportResult> {
    const { card, format, isPersistent, wanted } = imported;
    if (!passesLuhn(card.pan)) return { status: 'rejected', field: 'pan', code: 'card_luhn' };
    const space = buildTokenSpace(card.pan, format, this.#store.half);
    if (wanted !== undefined && !hasTokenForm(space, wanted)) return reject('token_form');
    if (known === ALTERED) return reject('token_altered');
    const own = isPersistent ? this.#findPersistent(imported, known.persistent) : undefined;
    if (own !== undefined) return merge(own, imported);
    return wanted === undefined ? this.#issue(imported, space) : this.#take(imported, space, wanted, known);
  }

  #findPersistent(imported: ImportedCard, stored: StoredToken | undefined): AssignedToken | undefined {
    const name = cardKey(imported);
    const known = this.#byCard.get(name);
    if (known !== undefined || stored === undefined) return known;
    return this.#add(imported, { token: stored.token, stored, persistent: imported.format });
  }

  /** Gives the card the token that it is to have. */
  async #take(
    imported: ImportedCard,
    space: TokenSpace,
    wanted: string,
    { atWanted, isTaken = false }: KnownTokens,
  ): Promise<ImportResult> {
    const other = this.#byToken.get(wanted);
    const token = other?.token ?? atWanted?.token;
    if (token !== undefined && isSameCard(token, imported) && other?.persistent === undefined && !imported.isPersistent)
      return { status: 'existing', token: wanted };
    if (token !== undefined || isTaken) return reject('token_taken');
    if (SCHEMES[space.format.scheme].readsAsPan && !(await this.#isIssuable(space, wanted)))
      return reject('token_unavailable');
    return this.#create(imported, wanted);
  }

  async #isIssuable(space: TokenSpace, value: string): Promise<boolean> {
    return space.half.has(value) && !this.#pans.has(value) && !(await this.#store.isStoredPan(value));
  }

  /** Issues a token as for a request. */
  async #issue(imported: ImportedCard, space: TokenSpace): Promise<ImportResult> {
    for (let attempt = 0; attempt < LIMITS.randomTokenAttempts; attempt++) {
      const token = randomToken(space, this.#options.random);
      if (token === undefined) break;
      if (await this.#isFree(space, token, this.#options.isChecked)) return this.#create(imported, token);
    }
    const search = this.#searchOf(space);
    for (let step = await search.next(); step.done !== true; step = await search.next())
      if (step.value !== space.pan && (await this.#isFree(space, step.value, true)))
        return this.#create(imported, step.value);
    return { status: 'rejected', field: 'pan', code: 'token_space_full' };
  }

  async #isFree({ format }: TokenSpace, token: string, isChecked: boolean): Promise<boolean> {
    const { readsAsPan } = SCHEMES[format.scheme];
    if (this.#byToken.has(token) || (readsAsPan && this.#pans.has(token))) return false;
    if ((isChecked || readsAsPan) && (await this.#store.isTaken(token))) return false;
    return !readsAsPan || !(await this.#store.isStoredPan(token));
  }

  /** Cards of one space continue one search, so that a batch searches the space once at most. */
  #searchOf(space: TokenSpace): AsyncGenerator<string> {
    const name = `${space.format.scheme}/${space.pan.length}/${space.head}/${space.tail}`;
    let search = this.#searches.get(name);
    if (search === undefined) {
      search = findFreeTokens(this.#store, space, this.#options.random);
      this.#searches.set(name, search);
    }
    return search;
  }

  #create(imported: ImportedCard, token: string): ImportResult {
    const { card, tags, format, isPersistent, creator, createdAt = this.#options.now } = imported;
    const { scheme } = format;
    this.#add(imported, {
      token: { token, scheme, card, tags, createdBy: creator, createdAt },
      stored: undefined,
      persistent: isPersistent ? format : undefined,
    });
    return { status: 'created', token };
  }

  #add(imported: ImportedCard, assigned: AssignedToken): AssignedToken {
    this.#assigned.push(assigned);
    this.#byToken.set(assigned.token.token, assigned);
    if (assigned.persistent !== undefined) this.#byCard.set(cardKey(imported), assigned);
    return assigned;
  }
}

const cardKey = ({ card, format }: ImportedCard): string => `${persistentFormat(card.pan, format)}/${card.pan}`;

const isSameCard = (token: Token, { card, format }: ImportedCard): boolean =>
  token.card.pan === card.pan && token.scheme === format.scheme;

const reject = (code: ImportFault): ImportResult => ({ status: 'rejected', field: 'token', code });

/** Takes over what the import knows newly about a card, unless it wants another token than the card has. */
function merge(own: AssignedToken, { card, tags, wanted }: ImportedCard): ImportResult {
  const { token } = own.token;
  if (wanted !== undefined && wanted !== token) return { status: 'conflict', token };
  own.token = mergeToken(own.token, card, tags);
  return { status: 'existing', token };
}
