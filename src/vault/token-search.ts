import { invalid } from '../kernel/failure.ts';
import { LIMITS } from '../kernel/limits.ts';
import { SCHEMES } from './scheme.ts';
import type { Token } from './token.ts';

/** What somebody looks for among tokens, and which of them fit. Pure. */
export interface TokenSearch {
  readonly by: 'token' | 'tag' | 'bin' | 'last-four';
  readonly text: string;
}

export interface Search extends TokenSearch {
  /** The eight digits of a BIN of which `text` is the first six. */
  readonly eight?: string;
}

const EXPECTED: Readonly<Record<TokenSearch['by'], { readonly form: RegExp; readonly words: string }>> = {
  token: { form: /./s, words: 'a token' },
  tag: { form: /./s, words: 'a tag' },
  bin: { form: /^[0-9]{6}(?:[0-9]{2})?$/, words: '6 or 8 digits' },
  'last-four': { form: /^[0-9]{4}$/, words: '4 digits' },
};

const SIX = 6;
const EIGHT = 8;

/** Throws `invalid_field`. */
export function readSearch({ by, text }: TokenSearch): Search {
  const { form, words } = EXPECTED[by];
  if (text.length > LIMITS.searchCharacters || text.includes('\0') || !form.test(text))
    throw invalid('text', `expected ${words}`);
  return by === 'bin' && text.length === EIGHT ? { by, text: text.slice(0, SIX), eight: text } : { by, text };
}

/** Of eight digits only a token tells that shows them itself: otherwise searching would find out two hidden ones. */
export const mayFit = ({ eight }: Search, { token, scheme }: Pick<Token, 'token' | 'scheme'>): boolean =>
  eight === undefined || (SCHEMES[scheme].keepsEnds && token.startsWith(eight));

export function fits(search: Search, { token, scheme, card, tags }: Token): boolean {
  const { by, text, eight } = search;
  const { pan } = card;
  switch (by) {
    case 'token':
      return token === text;
    case 'tag':
      return tags.includes(text);
    case 'last-four':
      return pan.endsWith(text);
    case 'bin':
      return pan.startsWith(eight ?? text) && mayFit(search, { token, scheme });
  }
}
