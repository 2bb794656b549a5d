import { createHash } from 'node:crypto';
import { passesLuhn, truncatePan } from '../../src/kernel/pan.ts';
import type { SeededRandom } from '../simulation/seeded-random.ts';
import type { CaptureData, ChaosResponse } from './ledger.ts';

/**
 * Tolerance of the times of captures, in milliseconds: they are the database's, and clients learn them a little early
 * or late.
 */
export const TOLERANCE_MS = 1000;

/** A token that a client got, and its card. */
export interface ExpectedToken {
  readonly token: string;
  readonly card: string;
}

/** An acknowledged capture, and the times between which it must expire. */
export interface ExpectedCapture extends CaptureData {
  readonly id: string;
  readonly endsAfter: number;
  readonly endsBefore: number;
}

const BINS = ['411111', '455667', '520082', '555555', '370000'];

/** The records of the vault as far as clients know them. */
export class ExpectedRecords {
  readonly #seeded: SeededRandom;
  readonly #cards = new Set<string>();
  /** Tokens that are not persistent, and that no client wants to delete. */
  readonly tokens: ExpectedToken[] = [];
  readonly captures: ExpectedCapture[] = [];
  /** When the deletion of a token or capture was sent. */
  readonly deletions = new Map<string, number>();
  /** The persistent token of a card, by scheme and card. */
  readonly persistent = new Map<string, { readonly token: string; readonly by: number }>();
  /** All cards for which a persistent token was requested. */
  readonly wantedPersistent = new Set<string>();
  /** When the deciding clock was ahead of the right one, in milliseconds of the right clock. */
  readonly clockAhead: { readonly from: number; to: number }[] = [];
  readonly #seen = new Map<string, number>();
  #amount = 0;

  /**
   * True when a capture may seem expired to a request of this time, or expires late because of a fault at its creation.
   */
  isClockAhead(from: number, to: number): boolean {
    return this.clockAhead.some((jump) => from <= jump.to && to >= jump.from);
  }

  constructor(seeded: SeededRandom) {
    this.#seeded = seeded;
  }

  /** Returns a card number that was never used before. */
  newCard(): string {
    for (;;) {
      const digits = this.#seeded.pick(BINS) + String(this.#seeded.below(1e9)).padStart(9, '0');
      const card = [...'0123456789'].map((check) => digits + check).find(passesLuhn) as string;
      if (this.#cards.has(card)) continue;
      this.#cards.add(card);
      return card;
    }
  }

  nextAmount(): number {
    return ++this.#amount;
  }

  /** Removes a token from the expected records. */
  takeToken(): ExpectedToken | undefined {
    return take(this.tokens, this.#seeded);
  }

  takeCapture(): ExpectedCapture | undefined {
    return take(this.captures, this.#seeded);
  }

  /** Returns the tokens of a response, or its fault. */
  tokenized(by: number, cards: readonly string[], scheme: number, response: ChaosResponse): string | undefined {
    const records = response.json?.data?.tokens;
    if (!Array.isArray(records) || records.length !== cards.length) return 'has another number of tokens';
    for (const [index, card] of cards.entries()) {
      const { token, card: truncated, status, scheme: recordedScheme } = records[index];
      if (status !== 1 || truncated !== truncatePan(card) || recordedScheme !== scheme)
        return `has another card at ${index}`;
      const before = this.#seen.get(token);
      if (before !== undefined) return `got the token of request ${before} at ${index}`;
      this.#seen.set(token, by);
      this.tokens.push({ token, card });
    }
    return undefined;
  }

  /** Checks that a token is the only one of its card. */
  persisted(by: number, scheme: number, card: string, token: unknown): string | undefined {
    const known = this.persistent.get(`${scheme} ${card}`);
    if (known !== undefined)
      return token === known.token
        ? undefined
        : `got ${token} for a card that has ${known.token} by request ${known.by}`;
    const other = this.#seen.get(String(token));
    if (typeof token !== 'string' || other !== undefined) return `got the token of request ${other} for another card`;
    this.#seen.set(token, by);
    this.persistent.set(`${scheme} ${card}`, { token, by });
    return undefined;
  }
}

function take<T>(items: T[], seeded: SeededRandom): T | undefined {
  if (items.length === 0) return undefined;
  const at = seeded.below(items.length);
  const item = items[at] as T;
  items[at] = items.at(-1) as T;
  items.pop();
  return item;
}

const SEPARATOR = '\n';

/** Returns a text with the card behind each of these tokens, and its expected digest. */
export function cardsText(held: readonly ExpectedToken[]): { readonly text: string; readonly digest: string } {
  const text = held.map(({ token }) => `{{${token}:detokenize | extract:card}}`).join(SEPARATOR);
  const clear = held.map(({ card }) => card).join(SEPARATOR);
  return { text, digest: createHash('sha256').update(clear).digest('base64') };
}
