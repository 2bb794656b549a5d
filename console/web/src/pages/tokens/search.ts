import { LIMITS } from '../../../../../src/kernel/limits.ts';
import { containsPan } from '../../../../../src/kernel/pan.ts';
import { TOKEN_SEARCHES } from '../../../../wire/records.ts';

export type SearchKind = (typeof TOKEN_SEARCHES)[number];

export interface Search {
  readonly by: SearchKind;
  readonly value: string;
}

export type SearchFault = 'empty' | 'last_four' | 'bin' | 'card' | 'long';

/** Returns the search of a saved view; undefined for all tokens. */
export function parseSearch({ by, value }: Readonly<Record<string, string>>): Search | undefined {
  const kind = TOKEN_SEARCHES.find((each) => each === by);
  return kind === undefined || value === undefined ? undefined : { by: kind, value };
}

const isDigits = (by: SearchKind): boolean => by === 'last_four' || by === 'bin';

/** Removes the blanks that copied digits may contain. */
export const toSearch = (by: SearchKind, typed: string): Search => ({
  by,
  value: isDigits(by) ? typed.replace(/[\s-]/g, '') : typed.trim(),
});

/**
 * Tokens may look like card numbers, and a tag with a card number must be found, so only digit searches are checked.
 */
export function findFault({ by, value }: Search): SearchFault | undefined {
  if (value === '') return 'empty';
  if (isDigits(by) && containsPan(value)) return 'card';
  if (by === 'last_four' && !/^\d{4}$/.test(value)) return 'last_four';
  if (by === 'bin' && !/^\d{6}(\d{2})?$/.test(value)) return 'bin';
  return [...value].length > LIMITS.tagCharacters ? 'long' : undefined;
}
