import type { Random } from '../kernel/clock.ts';
import { newUuid } from '../kernel/ids.ts';
import { type Pan, passesLuhn } from '../kernel/pan.ts';

/**
 * Token formats (decisions: Permanent tokens). All but UUID keep the length of the card number, its first six (or
 * eight) and last four digits, and replace what lies between.
 */
export const SCHEMES = {
  1: {
    name: 'sixTOKENfour',
    alphabet: '0123456789',
    eightDigitBin: true,
    keepsEnds: true,
    accepts: (token: string) => !passesLuhn(token),
  },
  3: {
    name: 'sixANTOKENfour',
    // In the order of their codes, as a database sorts them.
    alphabet: '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz',
    eightDigitBin: true,
    keepsEnds: true,
    accepts: (token: string) => /[A-Za-z]/.test(token),
  },
  7: { name: 'UUID', alphabet: '', eightDigitBin: false, keepsEnds: false, accepts: () => true },
  8: { name: 'LuhnValid', alphabet: '0123456789', eightDigitBin: true, keepsEnds: true, accepts: passesLuhn },
} as const;

export type Scheme = keyof typeof SCHEMES;

export const isScheme = (value: number): value is Scheme => Object.hasOwn(SCHEMES, value);

export interface TokenFormat {
  readonly scheme: Scheme;
  readonly bin: 6 | 8;
}

/** A name for the format, under which a card has at most one persistent token. */
export const formName = ({ scheme, bin }: TokenFormat): string => `${scheme}/${bin}`;

const LAST = 4;

/** All tokens that a card number may get in a format. */
export interface TokenSpace {
  readonly pan: Pan;
  readonly format: TokenFormat;
  readonly head: string;
  readonly tail: string;
  /** How many characters the token has of its own. */
  readonly hidden: number;
  readonly alphabet: string;
}

export const tokenSpace = (pan: Pan, format: TokenFormat): TokenSpace => ({
  pan,
  format,
  head: pan.slice(0, format.bin),
  tail: pan.slice(-LAST),
  hidden: pan.length - format.bin - LAST,
  alphabet: SCHEMES[format.scheme].alphabet,
});

/** Is this a token of the space? Never the card number itself. */
export const isInSpace = (space: TokenSpace, token: string): boolean =>
  token !== space.pan && SCHEMES[space.format.scheme].accepts(token);

const DRAWS = 300;

/** A random token of the space, independent of the hidden digits; undefined when the space has hardly any. */
export function drawToken(space: TokenSpace, random: Random): string | undefined {
  if (space.format.scheme === 7) return newUuid(random);
  for (let draw = 0; draw < DRAWS && space.hidden > 0; draw++) {
    let middle = '';
    for (let index = 0; index < space.hidden; index++) middle += space.alphabet[random.below(space.alphabet.length)];
    const token = space.head + middle + space.tail;
    if (isInSpace(space, token)) return token;
  }
  return undefined;
}

/** The middle with this number, when all are counted in the order of the alphabet. */
export function middleAt(space: TokenSpace, index: number): string {
  const base = space.alphabet.length;
  let middle = '';
  for (let rest = index, place = 0; place < space.hidden; place++, rest = Math.floor(rest / base)) {
    middle = space.alphabet[rest % base] + middle;
  }
  return middle;
}

export const middleCount = (space: TokenSpace): number => space.alphabet.length ** space.hidden;
