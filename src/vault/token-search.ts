import { invalidField } from '../kernel/failure.ts';
import { LIMITS } from '../kernel/limits.ts';
import { SCHEMES } from './scheme.ts';
import type { Token } from './token.ts';

/** A search for tokens. */
export interface TokenSearch {
  readonly by: 'token' | 'tag' | 'bin' | 'last-four';
  readonly text: string;
}

export interface ParsedSearch extends TokenSearch {
  /** Eight digits of a BIN; `text` is the first six of them. */
  readonly longBin?: string;
}

const EXPECTED: Readonly<Record<TokenSearch['by'], { readonly pattern: RegExp; readonly expected: string }>> = {
  token: { pattern: /./s, expected: 'a token' },
  tag: { pattern: /./s, expected: 'a tag' },
  bin: { pattern: /^[0-9]{6}(?:[0-9]{2})?$/, expected: '6 or 8 digits' },
  'last-four': { pattern: /^[0-9]{4}$/, expected: '4 digits' },
};

const SHORT_BIN_DIGITS = 6;
const LONG_BIN_DIGITS = 8;

/** Throws `invalid_field`. */
export function parseSearch({ by, text }: TokenSearch): ParsedSearch {
  const { pattern, expected } = EXPECTED[by];
  if (text.length > LIMITS.searchCharacters || text.includes('\0') || !pattern.test(text))
    throw invalidField('text', 'environmentChoice', { words: expected });
  return by === 'bin' && text.length === LONG_BIN_DIGITS
    ? { by, text: text.slice(0, SHORT_BIN_DIGITS), longBin: text }
    : { by, text };
}

/** An eight-digit BIN matches only tokens that show all eight digits: else a search would reveal two hidden ones. */
export const mayMatch = ({ longBin }: ParsedSearch, { token, scheme }: Pick<Token, 'token' | 'scheme'>): boolean =>
  longBin === undefined || (SCHEMES[scheme].keepsEnds && token.startsWith(longBin));

export function matches(search: ParsedSearch, { token, scheme, card, tags }: Token): boolean {
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
