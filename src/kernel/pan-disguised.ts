import { isIssued, withLikeSeparatorsDashed } from './like-separators.ts';
import { LIMITS } from './limits.ts';
import { truncatePansIn } from './pan.ts';
import { UNSEEN_SIGNS } from './unseen.ts';

/**
 * Card numbers as they may stand in what people read: with digits of any script and shape, signs that are not seen between
 * them, and anything between groups. The interface's own rule (`truncatePansIn`) knows blanks and dashes alone. Each step
 * puts what people read through in the form which that rule knows.
 */

const FOREIGN_DIGIT = /(?![0-9])[\p{Nd}\p{No}]/gu;
const NO_DIGITS = /[^0-9]+/g;
/** A blank as web pages, addresses and programs write it. */
const ESCAPED = /(?<=[0-9])(?:&#?[a-z0-9]{1,10};|%[0-9a-f]{2}|\\u[0-9a-f]{4})+(?=[0-9])/gi;
const UNSEEN = String.raw`(?:(?!\s)[${UNSEEN_SIGNS}\p{M}])+`;
const UNSEEN_BETWEEN_DIGITS = new RegExp(`(?<=[0-9])${UNSEEN}(?=[0-9])`, 'gu');
const UNSEEN_BESIDE_SEPARATOR = new RegExp(String.raw`(?<=[0-9\p{P}])${UNSEEN}(?=[0-9\p{P}\s])`, 'gu');
/** Behind four digits or more: what stands in addresses and dates separates fewer. */
const SEPARATOR = /(?<=[0-9]{4})\s*[\p{P}\p{S}]{1,3}\s*(?=[0-9])/gu;
const LEADING_ZEROS = /(?<![0-9])(0+)([1-9][0-9]*)(?![0-9])/g;

/** Text with its card numbers truncated. Text without any stays as it is, sign by sign. */
export function truncateDisguisedPansIn(text: string): string {
  const plainDigits = text.replace(FOREIGN_DIGIT, digitsOf);
  if (plainDigits.replace(NO_DIGITS, '').length < LIMITS.panDigits.min) return text;
  const seen = plainDigits
    .replace(ESCAPED, '-')
    .replace(UNSEEN_BETWEEN_DIGITS, '-')
    .replace(UNSEEN_BESIDE_SEPARATOR, '')
    .replace(LEADING_ZEROS, withZerosApart);
  const plain = withLikeSeparatorsDashed(seen).replace(SEPARATOR, '-');
  const truncated = truncatePansIn(plain);
  return truncated === plain ? text : truncated;
}

/** Does the text hold something that people would read as a card number? */
export const holdsDisguisedPan = (text: string): boolean => truncateDisguisedPansIn(text) !== text;

/** Circled digits that Unicode does not know as forms of others, from one; and zeros of their kind. */
const CIRCLED_ONES = [0x24f5, 0x2776, 0x2780, 0x278a];
const CIRCLED_ZEROS = [0x24ff, 0x1f10b, 0x1f10c];

/** The digits that a sign reads as: raised, lowered, circled, in brackets, or of another script. */
function digitsOf(sign: string): string {
  const code = sign.codePointAt(0) ?? 0;
  if (/\p{Nd}/u.test(sign)) return String(digitOf(code));
  const [, formOf] = /^\(?([0-9]{1,2})[.,)]?$/.exec(sign.normalize('NFKC')) ?? [];
  if (formOf !== undefined) return formOf;
  if (CIRCLED_ZEROS.includes(code)) return '0';
  const one = CIRCLED_ONES.find((first) => code >= first && code < first + 9);
  return one === undefined ? sign : String(code - one + 1);
}

/** Digits stand in runs of ten in Unicode, from zero to nine (chapter 4.6), and runs may touch. */
function digitOf(code: number): number {
  let first = code;
  while (/\p{Nd}/u.test(String.fromCodePoint(first - 1))) first--;
  return (code - first) % 10;
}

/**
 * More digits than a card number has are something else, such as the number of an order or an account: of those that begin
 * or end anywhere in them, one would pass by chance. Zeros before a card number are no part of it, as everybody reads it.
 */
function withZerosApart(run: string, zeros: string, rest: string): string {
  return run.length > LIMITS.panDigits.max && isIssued(rest) ? `${zeros}-${rest}` : run;
}
