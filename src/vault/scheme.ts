import type { Random } from '../kernel/clock.ts';
import { isUuid, newUuid } from '../kernel/ids.ts';
import { type Pan, passesLuhn } from '../kernel/pan.ts';

/**
 * Token formats (decisions: Permanent tokens). All but UUID keep the length of the card number, its first six (or
 * eight) and last four digits, and replace the digits between.
 */
export const SCHEMES = {
  1: {
    name: 'sixTOKENfour',
    alphabet: '0123456789',
    eightDigitBin: true,
    keepsEnds: true,
    accepts: (token: string) => !passesLuhn(token),
    readsAsPan: false,
  },
  3: {
    name: 'sixANTOKENfour',
    // In the order of their character codes, by which a database sorts them.
    alphabet: '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz',
    eightDigitBin: true,
    keepsEnds: true,
    accepts: (token: string) => /[A-Za-z]/.test(token),
    readsAsPan: false,
  },
  7: { name: 'UUID', alphabet: '', eightDigitBin: false, keepsEnds: false, accepts: () => true, readsAsPan: false },
  8: {
    name: 'LuhnValid',
    alphabet: '0123456789',
    eightDigitBin: true,
    keepsEnds: true,
    accepts: passesLuhn,
    readsAsPan: true,
  },
} as const;

export type Scheme = keyof typeof SCHEMES;

export const isScheme = (value: number): value is Scheme => Object.hasOwn(SCHEMES, value);

export interface TokenFormat {
  readonly scheme: Scheme;
  /** The digits to keep of card numbers that are long enough for it. */
  readonly bin: BinWidth;
}

type BinWidth = 6 | 8;

/** Card numbers with fewer digits keep six: with eight and the last four too few would be hidden. */
const MIN_DIGITS_FOR_WIDE_BIN = 16;

/** The most digits that a token of this length may keep of the card number's beginning. */
export const maxBinWidth = (length: number): BinWidth => (length >= MIN_DIGITS_FOR_WIDE_BIN ? 8 : 6);

const binWidthFor = (pan: Pan, { bin }: TokenFormat): BinWidth => (maxBinWidth(pan.length) === 8 ? bin : 6);

/** Names the format that a card number gets; it has at most one persistent token under each name. */
export const persistentFormat = (pan: Pan, format: TokenFormat): string =>
  `${format.scheme}/${binWidthFor(pan, format)}`;

const LAST_DIGITS = 4;

interface Half {
  has(token: string): boolean;
}

/** All tokens that a card number may get in a format. */
export interface TokenSpace {
  readonly pan: Pan;
  readonly format: TokenFormat;
  readonly head: string;
  readonly tail: string;
  /** The number of characters of the token that replace hidden digits. */
  readonly hidden: number;
  readonly alphabet: string;
  /** The values of scheme 8 that may be issued. */
  readonly half: Half;
}

export function buildTokenSpace(pan: Pan, format: TokenFormat, half: Half): TokenSpace {
  const bin = binWidthFor(pan, format);
  return {
    pan,
    format,
    head: pan.slice(0, bin),
    tail: pan.slice(-LAST_DIGITS),
    hidden: pan.length - bin - LAST_DIGITS,
    alphabet: SCHEMES[format.scheme].alphabet,
    half,
  };
}

/** Returns whether the space may issue this token. It never issues the card number itself. */
export function isInSpace({ pan, format, half }: TokenSpace, token: string): boolean {
  const { accepts, readsAsPan } = SCHEMES[format.scheme];
  return token !== pan && accepts(token) && (!readsAsPan || half.has(token));
}

const BODIES: Readonly<Record<Scheme, RegExp>> = { 1: /^[0-9]+$/, 3: /^[0-9A-Za-z]+$/, 7: /^/, 8: /^[0-9]+$/ };

/**
 * Returns whether a text has the form of the space's tokens: it keeps the digits of the card number that the format
 * keeps, and is another value. Which of them may be issued is decided by `isInSpace`.
 */
export function hasTokenForm(space: TokenSpace, text: string): boolean {
  const { pan, format, head, tail, hidden } = space;
  if (!SCHEMES[format.scheme].keepsEnds) return isUuid(text);
  if (hidden <= 0 || text.length !== pan.length || text === pan) return false;
  const body = text.slice(head.length, -tail.length);
  const keepsEnds = text.startsWith(head) && text.endsWith(tail);
  return keepsEnds && BODIES[format.scheme].test(body) && SCHEMES[format.scheme].accepts(text);
}

/** One random value in twenty is an issuable Luhn-valid one, so one run in 10^17 ends without a token. */
const MAX_DRAWS = 1000;

/** Returns a random token of the space, independent of the hidden digits; undefined when the space has hardly any. */
export function randomToken(space: TokenSpace, random: Random): string | undefined {
  if (space.format.scheme === 7) return newUuid(random);
  for (let draw = 0; draw < MAX_DRAWS && space.hidden > 0; draw++) {
    let body = '';
    for (let index = 0; index < space.hidden; index++) body += space.alphabet[random.below(space.alphabet.length)];
    const token = space.head + body + space.tail;
    if (isInSpace(space, token)) return token;
  }
  return undefined;
}

/** Returns the hidden part with this number, counted in the order of the alphabet. */
export function tokenBodyAt(space: TokenSpace, index: number): string {
  const base = space.alphabet.length;
  let body = '';
  for (let rest = index, place = 0; place < space.hidden; place++, rest = Math.floor(rest / base)) {
    body = space.alphabet[rest % base] + body;
  }
  return body;
}

export const countTokenBodies = (space: TokenSpace): number => space.alphabet.length ** space.hidden;
