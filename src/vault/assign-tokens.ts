import { setImmediate } from 'node:timers/promises';
import type { Random } from '../kernel/clock.ts';
import { Failure } from '../kernel/failure.ts';
import { LIMITS } from '../kernel/limits.ts';
import { passesLuhn } from '../kernel/pan.ts';
import {
  buildTokenSpace,
  countTokenBodies,
  isInSpace,
  randomToken,
  SCHEMES,
  type TokenFormat,
  type TokenSpace,
  tokenBodyAt,
} from './scheme.ts';
import { type Card, type Creator, mergeToken, type Token, toTokenRecord } from './token.ts';
import type { StoredToken, TokenStore, TokenUpdate } from './token-store.ts';
import { inTurns } from './turns.ts';

export interface Tokenization {
  readonly cards: readonly Card[];
  readonly tags: readonly string[];
  readonly format: TokenFormat;
  /** One token per card number, also across requests. */
  readonly persistent: boolean;
  readonly creator: Creator;
}

/** Result of one card of a request; without a token the card could not be tokenized. */
export interface TokenizationResult {
  readonly card: Card;
  readonly token: Token | undefined;
}

type TokenizationFailure = 'luhn' | 'full';

/** A token to assign: to one card of the request, or with `persistent` to all entries of one card number. */
interface CardEntry {
  card: Card;
  token: Token | undefined;
  /** The persistent token that the card has already. */
  stored: StoredToken | undefined;
  failure: TokenizationFailure | undefined;
}

interface AssignedTokens {
  /** One result for each card, in the order of the request. */
  readonly results: TokenizationResult[];
  readonly inserts: readonly Token[];
  readonly updates: readonly TokenUpdate[];
}

interface AssignmentOptions {
  readonly random: Random;
  readonly now: number;
  /** The same as `Transaction.attempt`. */
  readonly attempt: number;
}

/**
 * Chooses the tokens of cards; nothing is written. Random tokens are not checked at the first attempt, because
 * collisions are rare and conflict when they are written. Throws `nothing_tokenized` or `token_space_full` when no card
 * gets a token.
 */
export async function assignTokens(
  store: TokenStore,
  request: Tokenization,
  options: AssignmentOptions,
): Promise<AssignedTokens> {
  const assignment = new TokenAssignment(store, request, options);
  await assignment.run();
  return { results: assignment.results(), inserts: assignment.inserts, updates: assignment.updates };
}

class TokenAssignment {
  readonly inserts: Token[] = [];
  readonly updates: TokenUpdate[] = [];
  readonly #store: TokenStore;
  readonly #request: Tokenization;
  readonly #options: AssignmentOptions;
  /** One entry for each card of the request; persistent ones share entries. */
  readonly #entries: CardEntry[];
  readonly #distinct: CardEntry[];
  /** Tokens of this request, and for Luhn-valid ones its card numbers: these values are not issued. */
  readonly #used: Set<string>;
  /** Tokens of this format look like card numbers, so each is checked not to be a stored one. */
  readonly #mayBePan: boolean;
  readonly #searches = new Map<string, AsyncGenerator<string>>();

  constructor(store: TokenStore, request: Tokenization, options: AssignmentOptions) {
    this.#store = store;
    this.#request = request;
    this.#options = options;
    const { cards, persistent } = request;
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
    this.#mayBePan = SCHEMES[request.format.scheme].readsAsPan;
    this.#used = new Set(this.#mayBePan ? cards.map(({ pan }) => pan) : []);
  }

  /** Gives every entry a token, or finds that there is none for it. */
  async run(): Promise<void> {
    const pending = this.#distinct.filter(({ failure }) => this.#request.persistent && failure === undefined);
    await inTurns(pending, (entry) => this.#findPersistent(entry));
    const checksFirst = this.#options.attempt > 0 || this.#mayBePan;
    for (const [index, entry] of this.#distinct.entries()) {
      // Other requests are served between some cards and the next: their queries are answered immediately over SQLite.
      if (index > 0 && index % LIMITS.cardsPerTurn === 0) await setImmediate();
      if (entry.failure !== undefined) continue;
      if (entry.stored !== undefined) {
        this.#update(entry, entry.stored);
        continue;
      }
      this.#assignRandom(entry);
      if (checksFirst || entry.token === undefined) await this.#ensureFree(entry);
      if (entry.token !== undefined) this.inserts.push(entry.token);
    }
  }

  results(): TokenizationResult[] {
    const results = this.#entries.map(({ token }, index) => ({ card: cardAt(this.#request, index), token }));
    if (results.every(({ token }) => token === undefined)) {
      const isFull = this.#entries.some(({ failure }) => failure === 'full');
      throw new Failure(isFull ? 'token_space_full' : 'nothing_tokenized');
    }
    return results;
  }

  async #findPersistent(entry: CardEntry): Promise<void> {
    const { format, tags } = this.#request;
    entry.stored = await this.#store.findPersistent(entry.card.pan, format);
    if (entry.stored !== undefined) entry.token = mergeToken(entry.stored.token, entry.card, tags);
  }

  #update({ token }: CardEntry, { token: before, revision }: StoredToken): void {
    if (token === undefined || toTokenRecord(before) === toTokenRecord(token)) return;
    this.updates.push({ token, before, revision });
  }

  #assignRandom(entry: CardEntry): void {
    const space = this.#toSpace(entry);
    for (let attempt = 0; attempt < LIMITS.randomTokenAttempts; attempt++) {
      const token = randomToken(space, this.#options.random);
      if (token === undefined) return;
      if (!this.#used.has(token)) {
        this.#assign(entry, token);
        return;
      }
    }
  }

  async #ensureFree(entry: CardEntry): Promise<void> {
    for (let attempt = 0; entry.token !== undefined; attempt++) {
      if (await this.#isFree(entry.token.token)) return;
      entry.token = undefined;
      // No token is assigned that would not be checked: it would count as used, and be missed by the search.
      if (attempt < LIMITS.randomTokenAttempts) this.#assignRandom(entry);
    }
    await this.#assignBySearch(entry);
  }

  async #assignBySearch(entry: CardEntry): Promise<void> {
    const space = this.#toSpace(entry);
    const search = this.#searchOf(space);
    for (let step = await search.next(); step.done !== true; step = await search.next()) {
      const token = step.value;
      if (token === space.pan || this.#used.has(token) || !(await this.#isFree(token))) continue;
      this.#assign(entry, token);
      return;
    }
    entry.failure = 'full';
  }

  #toSpace({ card }: CardEntry): TokenSpace {
    return buildTokenSpace(card.pan, this.#request.format, this.#store.half);
  }

  /** Cards of one space continue one search, so that a request searches the space once at most. */
  #searchOf(space: TokenSpace): AsyncGenerator<string> {
    const name = `${space.pan.length}/${space.head}/${space.tail}`;
    let search = this.#searches.get(name);
    if (search === undefined) {
      search = findFreeTokens(this.#store, space, this.#options.random);
      this.#searches.set(name, search);
    }
    return search;
  }

  async #isFree(token: string): Promise<boolean> {
    if (await this.#store.isTaken(token)) return false;
    return !this.#mayBePan || !(await this.#store.isStoredPan(token));
  }

  #assign(entry: CardEntry, token: string): void {
    const { tags, creator, format } = this.#request;
    this.#used.add(token);
    const { now: createdAt } = this.#options;
    entry.token = { token, scheme: format.scheme, card: entry.card, tags, createdBy: creator, createdAt };
  }
}

const toCardEntry = (card: Card): CardEntry => ({
  card,
  token: undefined,
  stored: undefined,
  failure: passesLuhn(card.pan) ? undefined : 'luhn',
});

const mergeCards = (earlier: Card, later: Card): Card => ({
  pan: earlier.pan,
  name: later.name ?? earlier.name,
  expiry: later.expiry ?? earlier.expiry,
});

function cardAt(request: Tokenization, index: number): Card {
  const card = request.cards[index];
  if (card === undefined) throw new Error('a result without a card');
  return card;
}

/**
 * Searches a token space once from a random start and yields every free token: for spaces so full that random values no
 * longer find one. Ends when no token is left.
 */
export async function* findFreeTokens(store: TokenStore, space: TokenSpace, random: Random): AsyncGenerator<string> {
  if (space.hidden <= 0 || space.alphabet === '') return;
  const count = countTokenBodies(space);
  const start = Math.floor((random.below(2 ** 32) / 2 ** 32) * count);
  yield* findFreeBetween(store, space, start, count);
  yield* findFreeBetween(store, space, 0, start);
}

async function* findFreeBetween(
  store: TokenStore,
  space: TokenSpace,
  from: number,
  to: number,
): AsyncGenerator<string> {
  const tokenAt = (index: number): string => space.head + tokenBodyAt(space, index) + space.tail;
  let next = from;
  while (next < to) {
    const taken = await store.listTaken(tokenAt(next), space, LIMITS.tokenSearchPage);
    const isLastPage = taken.length < LIMITS.tokenSearchPage;
    const known = isLastPage ? undefined : taken.at(-1);
    const inUse = new Set(taken);
    // Tokens behind the last one of a full page have not been read yet.
    for (; next < to; next++) {
      const token = tokenAt(next);
      if (known !== undefined && token > known) break;
      if (!inUse.has(token) && isInSpace(space, token)) yield token;
    }
    // Other requests are served between pages.
    await setImmediate();
  }
}
