import type { Sealer } from '../crypto/seal.ts';
import type { Random } from '../kernel/clock.ts';
import { Failure } from '../kernel/failure.ts';
import { LIMITS } from '../kernel/limits.ts';
import { passesLuhn } from '../kernel/pan.ts';
import type { Write } from '../storage/database.ts';
import { findFreeTokens } from './free-tokens.ts';
import { buildTokenSpace, randomToken, SCHEMES, type TokenFormat, type TokenSpace } from './scheme.ts';
import { StoredPans } from './stored-pans.ts';
import { type Card, type Creator, mergeToken, type Token, toTokenRecord } from './token.ts';
import type { ExistingToken, TokenStore } from './token-store.ts';

export interface Tokenization {
  readonly cards: readonly Card[];
  readonly tags: readonly string[];
  readonly format: TokenFormat;
  /** One token per card number, also across requests. */
  readonly persistent: boolean;
  readonly creator: Creator;
}

/** What became of one card of a request; without a token it could not be tokenized. */
export interface TokenizationResult {
  readonly card: Card;
  readonly token: Token | undefined;
}

type TokenizationFailure = 'luhn' | 'full';

/** One token to be: a card of the request, or with `persistent` all mentions of one card number. */
interface CardEntry {
  card: Card;
  token: Token | undefined;
  /** The persistent token that was there already. */
  stored: ExistingToken | undefined;
  /** It was looked for the persistent token since the last time that somebody else was first. */
  isLookedUp: boolean;
  failure: TokenizationFailure | undefined;
  /** The token was seen to be free after a collision made us look. */
  isKnownFree: boolean;
}

/**
 * One tokenization on its way to the database. It draws tokens by luck first, because collisions are rare; after the
 * first one it looks before it writes, and when luck runs out it searches what is free.
 */
export class TokenizationRun {
  readonly #store: TokenStore;
  readonly #request: Tokenization;
  readonly #random: Random;
  readonly #now: number;
  /** For each card of the request; persistent ones share entries. */
  readonly #entries: CardEntry[];
  readonly #distinct: CardEntry[];
  /** Tokens this run has tried, and for Luhn-valid ones the card numbers of the request: not to be drawn. */
  readonly #used: Set<string>;
  /** Tokens of this format read as card numbers, so each is checked not to be one that is stored. */
  readonly #mayBePan: boolean;
  readonly #storedPans: StoredPans;
  readonly #searches = new Map<string, AsyncGenerator<string>>();
  #checksFirst = false;
  #inserts: CardEntry[] = [];
  #updates: CardEntry[] = [];

  constructor(options: { store: TokenStore; request: Tokenization; random: Random; now: number }) {
    this.#store = options.store;
    this.#storedPans = new StoredPans(options.store);
    this.#request = options.request;
    this.#random = options.random;
    this.#now = options.now;
    const { cards, persistent } = options.request;
    const byPan = new Map<string, CardEntry>();
    this.#entries = cards.map((card) => {
      const known = persistent ? byPan.get(card.pan) : undefined;
      if (known === undefined) {
        const entry = toCardEntry(card);
        if (persistent) byPan.set(card.pan, entry);
        return entry;
      }
      known.card = mergeCards(known.card, card);
      return known;
    });
    this.#distinct = persistent ? [...byPan.values()] : this.#entries;
    this.#mayBePan = SCHEMES[options.request.format.scheme].readsAsPan;
    this.#used = new Set(this.#mayBePan ? cards.map(({ pan }) => pan) : []);
  }

  /** Gives every entry a token, or finds that there is none for it. */
  async assign(): Promise<void> {
    this.#inserts = [];
    this.#updates = [];
    const pending = this.#distinct.filter((entry) => this.#request.persistent && !entry.failure && !entry.isLookedUp);
    // All at once: over a network each question has its way to go.
    await Promise.all(pending.map((entry) => this.#findPersistent(entry)));
    for (const entry of this.#distinct) {
      if (entry.failure !== undefined) continue;
      if (entry.stored !== undefined) {
        if (hasChanged(entry)) this.#updates.push(entry);
        continue;
      }
      if (entry.token === undefined) this.#assignRandom(entry);
      if (this.#checksFirst || this.#mayBePan || entry.token === undefined) await this.#ensureFree(entry);
      if (entry.token !== undefined) this.#inserts.push(entry);
    }
  }

  results(): TokenizationResult[] {
    const results = this.#entries.map(({ token }, index) => ({ card: cardAt(this.#request, index), token }));
    if (results.every(({ token }) => token === undefined)) {
      const full = this.#entries.some(({ failure }) => failure === 'full');
      throw new Failure(full ? 'token_space_full' : 'nothing_tokenized');
    }
    return results;
  }

  sealCount(): number {
    return this.#inserts.length + this.#updates.length;
  }

  insertCount = (): number => this.#inserts.length;

  writes(seal: Sealer): Write[] {
    const { format, persistent } = this.#request;
    const tokens = this.#inserts.flatMap(({ token }) => token ?? []);
    const updates = this.#updates.flatMap(({ token, stored }) =>
      token !== undefined && stored !== undefined ? [{ token, before: stored, revision: stored.revision }] : [],
    );
    const inserts = tokens.length > 0 ? [this.#store.insert(tokens, seal, persistent ? format : undefined)] : [];
    const changed = updates.length > 0 ? [this.#store.update(updates, seal)] : [];
    return [...inserts, ...changed, ...this.#store.indexWrites(tokens, updates)];
  }

  /** Somebody else was first with one row of the writes: that entry is chosen anew. */
  onConflict({ write, row }: { write: number; row: number }): void {
    const groups = [this.#inserts, this.#updates].filter((group) => group.length > 0);
    const entry = groups[write]?.[row];
    if (entry === undefined) return;
    // When it was another row that was in the way, the value is still free.
    if (entry.token !== undefined) this.#used.delete(entry.token.token);
    entry.token = undefined;
    entry.stored = undefined;
    // Whoever was first with one card may have been with the others, too.
    for (const other of [...this.#inserts, ...this.#updates]) other.isLookedUp = false;
    // What was free for the others may be gone as well; found one by one, each would cost a whole commit.
    for (const other of this.#inserts) other.isKnownFree = false;
    this.#checksFirst = true;
  }

  async #findPersistent(entry: CardEntry): Promise<void> {
    const { format, tags } = this.#request;
    const stored = await this.#store.findPersistent(entry.card.pan, format);
    if (stored !== undefined) {
      // One that was drawn for it is still free.
      if (entry.stored === undefined && entry.token !== undefined) this.#used.delete(entry.token.token);
      entry.token = mergeToken(stored.token, entry.card, tags);
    } else if (entry.stored !== undefined) entry.token = undefined;
    entry.stored = stored;
    entry.isLookedUp = true;
  }

  #assignRandom(entry: CardEntry): void {
    const space = this.#toSpace(entry);
    for (let draw = 0; draw < LIMITS.randomTokenAttempts; draw++) {
      const token = randomToken(space, this.#random);
      if (token === undefined) return;
      if (!this.#used.has(token)) {
        this.#assign(entry, token, false);
        return;
      }
    }
  }

  async #ensureFree(entry: CardEntry): Promise<void> {
    for (let draw = 0; entry.token !== undefined && !entry.isKnownFree; draw++) {
      entry.isKnownFree = await this.#isFree(entry.token.token);
      if (entry.isKnownFree) return;
      entry.token = undefined;
      // None is drawn that would not be looked at: it would count as used, and be missed by the search.
      if (draw < LIMITS.randomTokenAttempts) this.#assignRandom(entry);
    }
    if (entry.token === undefined) await this.#assignBySearch(entry);
  }

  async #assignBySearch(entry: CardEntry): Promise<void> {
    const space = this.#toSpace(entry);
    entry.token = undefined;
    const search = this.#searchOf(space);
    for (let step = await search.next(); step.done !== true; step = await search.next()) {
      const token = step.value;
      if (token === space.pan || this.#used.has(token) || !(await this.#isFree(token))) continue;
      return this.#assign(entry, token, true);
    }
    entry.failure = 'full';
  }

  #toSpace({ card }: CardEntry): TokenSpace {
    return buildTokenSpace(card.pan, this.#request.format, this.#store.half);
  }

  /** Cards of one space go on with one walk, so that a request walks around it once at most. */
  #searchOf(space: TokenSpace): AsyncGenerator<string> {
    const name = `${space.pan.length}/${space.head}/${space.tail}`;
    let search = this.#searches.get(name);
    if (search === undefined) {
      search = findFreeTokens(this.#store, space, this.#random);
      this.#searches.set(name, search);
    }
    return search;
  }

  async #isFree(token: string): Promise<boolean> {
    if (await this.#store.isTaken(token)) return false;
    return !this.#mayBePan || !(await this.#storedPans.has(token));
  }

  #assign(entry: CardEntry, token: string, isKnownFree: boolean): void {
    const { tags, creator, format } = this.#request;
    this.#used.add(token);
    entry.isKnownFree = isKnownFree;
    entry.token = { token, scheme: format.scheme, card: entry.card, tags, createdBy: creator, createdAt: this.#now };
  }
}

const toCardEntry = (card: Card): CardEntry => ({
  card,
  token: undefined,
  stored: undefined,
  isLookedUp: false,
  failure: passesLuhn(card.pan) ? undefined : 'luhn',
  isKnownFree: false,
});

const mergeCards = (earlier: Card, later: Card): Card => ({
  pan: earlier.pan,
  name: later.name ?? earlier.name,
  expiry: later.expiry ?? earlier.expiry,
});

const hasChanged = ({ stored, token }: CardEntry): boolean =>
  stored !== undefined && token !== undefined && toTokenRecord(stored.token) !== toTokenRecord(token);

function cardAt(request: Tokenization, index: number): Card {
  const card = request.cards[index];
  if (card === undefined) throw new Error('a result without a card');
  return card;
}
