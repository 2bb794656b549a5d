import type { Sealer } from '../crypto/seal.ts';
import type { Random } from '../kernel/clock.ts';
import { Failure } from '../kernel/failure.ts';
import { LIMITS } from '../kernel/limits.ts';
import { passesLuhn } from '../kernel/pan.ts';
import type { Write } from '../storage/database.ts';
import { freeTokens } from './free-tokens.ts';
import { drawToken, SCHEMES, type TokenFormat, type TokenSpace, tokenSpace } from './scheme.ts';
import { StoredPans } from './stored-pans.ts';
import { type Card, type Creator, mergedToken, recordOf, type Token } from './token.ts';
import type { Found, TokenStore } from './token-store.ts';

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

type Obstacle = 'luhn' | 'full';

/** One token to be: a card of the request, or with `persistent` all mentions of one card number. */
interface Entry {
  card: Card;
  token: Token | undefined;
  /** The persistent token that was there already. */
  stored: Found | undefined;
  /** It was looked for the persistent token since the last time that somebody else was first. */
  isSought: boolean;
  obstacle: Obstacle | undefined;
  /** The token was seen to be free after a collision made us look. */
  seenFree: boolean;
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
  readonly #entries: Entry[];
  readonly #distinct: Entry[];
  /** Tokens this run has tried, and for Luhn-valid ones the card numbers of the request: not to be drawn. */
  readonly #used: Set<string>;
  /** Tokens of this format read as card numbers, so each is checked not to be one that is stored. */
  readonly #mayBePan: boolean;
  readonly #storedPans: StoredPans;
  readonly #walks = new Map<string, AsyncGenerator<string>>();
  #careful = false;
  #inserts: Entry[] = [];
  #updates: Entry[] = [];

  constructor(options: { store: TokenStore; request: Tokenization; random: Random; now: number }) {
    this.#store = options.store;
    this.#storedPans = new StoredPans(options.store);
    this.#request = options.request;
    this.#random = options.random;
    this.#now = options.now;
    const { cards, persistent } = options.request;
    const byPan = new Map<string, Entry>();
    this.#entries = cards.map((card) => {
      const known = persistent ? byPan.get(card.pan) : undefined;
      if (known === undefined) {
        const entry = newEntry(card);
        if (persistent) byPan.set(card.pan, entry);
        return entry;
      }
      known.card = laterCard(known.card, card);
      return known;
    });
    this.#distinct = persistent ? [...byPan.values()] : this.#entries;
    this.#mayBePan = SCHEMES[options.request.format.scheme].readsAsPan;
    this.#used = new Set(this.#mayBePan ? cards.map(({ pan }) => pan) : []);
  }

  /** Gives every entry a token, or finds that there is none for it. */
  async choose(): Promise<void> {
    this.#inserts = [];
    this.#updates = [];
    const sought = this.#distinct.filter((entry) => this.#request.persistent && !entry.obstacle && !entry.isSought);
    // All at once: over a network each question has its way to go.
    await Promise.all(sought.map((entry) => this.#findPersistent(entry)));
    for (const entry of this.#distinct) {
      if (entry.obstacle !== undefined) continue;
      if (entry.stored !== undefined) {
        if (changes(entry)) this.#updates.push(entry);
        continue;
      }
      if (entry.token === undefined) this.#draw(entry);
      if (this.#careful || this.#mayBePan || entry.token === undefined) await this.#makeSure(entry);
      if (entry.token !== undefined) this.#inserts.push(entry);
    }
  }

  results(): TokenizationResult[] {
    const results = this.#entries.map(({ token }, index) => ({ card: cardAt(this.#request, index), token }));
    if (results.every(({ token }) => token === undefined)) {
      const full = this.#entries.some(({ obstacle }) => obstacle === 'full');
      throw new Failure(full ? 'token_space_full' : 'nothing_tokenized');
    }
    return results;
  }

  sealCount(): number {
    return this.#inserts.length + this.#updates.length;
  }

  madeCount = (): number => this.#inserts.length;

  writes(seal: Sealer): Write[] {
    const { format, persistent } = this.#request;
    const tokens = this.#inserts.flatMap(({ token }) => token ?? []);
    const updates = this.#updates.flatMap(({ token, stored }) =>
      token !== undefined && stored !== undefined ? [{ token, before: stored, revision: stored.revision }] : [],
    );
    const inserts = tokens.length > 0 ? [this.#store.insert(tokens, seal, persistent ? format : undefined)] : [];
    const changed = updates.length > 0 ? [this.#store.update(updates, seal)] : [];
    return [...inserts, ...changed, ...this.#store.mark(tokens, updates)];
  }

  /** Somebody else was first with one row of the writes: that entry is chosen anew. */
  lost({ write, row }: { write: number; row: number }): void {
    const groups = [this.#inserts, this.#updates].filter((group) => group.length > 0);
    const entry = groups[write]?.[row];
    if (entry === undefined) return;
    // When it was another row that was in the way, the value is still free.
    if (entry.token !== undefined) this.#used.delete(entry.token.token);
    entry.token = undefined;
    entry.stored = undefined;
    // Whoever was first with one card may have been with the others, too.
    for (const other of [...this.#inserts, ...this.#updates]) other.isSought = false;
    // What was free for the others may be gone as well; found one by one, each would cost a whole commit.
    for (const other of this.#inserts) other.seenFree = false;
    this.#careful = true;
  }

  async #findPersistent(entry: Entry): Promise<void> {
    const { format, tags } = this.#request;
    const stored = await this.#store.findPersistent(entry.card.pan, format);
    if (stored !== undefined) {
      // One that was drawn for it is still free.
      if (entry.stored === undefined && entry.token !== undefined) this.#used.delete(entry.token.token);
      entry.token = mergedToken(stored.token, entry.card, tags);
    } else if (entry.stored !== undefined) entry.token = undefined;
    entry.stored = stored;
    entry.isSought = true;
  }

  #draw(entry: Entry): void {
    const space = this.#spaceOf(entry);
    for (let draw = 0; draw < LIMITS.randomTokenAttempts; draw++) {
      const token = drawToken(space, this.#random);
      if (token === undefined) return;
      if (!this.#used.has(token)) {
        this.#assign(entry, token, false);
        return;
      }
    }
  }

  async #makeSure(entry: Entry): Promise<void> {
    for (let draw = 0; entry.token !== undefined && !entry.seenFree; draw++) {
      entry.seenFree = await this.#isFree(entry.token.token);
      if (entry.seenFree) return;
      entry.token = undefined;
      // None is drawn that would not be looked at: it would count as used, and be missed by the search.
      if (draw < LIMITS.randomTokenAttempts) this.#draw(entry);
    }
    if (entry.token === undefined) await this.#search(entry);
  }

  async #search(entry: Entry): Promise<void> {
    const space = this.#spaceOf(entry);
    entry.token = undefined;
    const walk = this.#walk(space);
    for (let step = await walk.next(); step.done !== true; step = await walk.next()) {
      const token = step.value;
      if (token === space.pan || this.#used.has(token) || !(await this.#isFree(token))) continue;
      return this.#assign(entry, token, true);
    }
    entry.obstacle = 'full';
  }

  #spaceOf({ card }: Entry): TokenSpace {
    return tokenSpace(card.pan, this.#request.format, this.#store.half);
  }

  /** Cards of one space go on with one walk, so that a request walks around it once at most. */
  #walk(space: TokenSpace): AsyncGenerator<string> {
    const name = `${space.pan.length}/${space.head}/${space.tail}`;
    let walk = this.#walks.get(name);
    if (walk === undefined) {
      walk = freeTokens(this.#store, space, this.#random);
      this.#walks.set(name, walk);
    }
    return walk;
  }

  async #isFree(token: string): Promise<boolean> {
    if (await this.#store.isTaken(token)) return false;
    return !this.#mayBePan || !(await this.#storedPans.has(token));
  }

  #assign(entry: Entry, token: string, seenFree: boolean): void {
    const { tags, creator, format } = this.#request;
    this.#used.add(token);
    entry.seenFree = seenFree;
    entry.token = { token, scheme: format.scheme, card: entry.card, tags, createdBy: creator, createdAt: this.#now };
  }
}

const newEntry = (card: Card): Entry => ({
  card,
  token: undefined,
  stored: undefined,
  isSought: false,
  obstacle: passesLuhn(card.pan) ? undefined : 'luhn',
  seenFree: false,
});

const laterCard = (earlier: Card, later: Card): Card => ({
  pan: earlier.pan,
  name: later.name ?? earlier.name,
  expiry: later.expiry ?? earlier.expiry,
});

const changes = ({ stored, token }: Entry): boolean =>
  stored !== undefined && token !== undefined && recordOf(stored.token) !== recordOf(token);

function cardAt(request: Tokenization, index: number): Card {
  const card = request.cards[index];
  if (card === undefined) throw new Error('a result without a card');
  return card;
}
