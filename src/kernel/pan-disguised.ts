import { truncatePansIn } from './pan.ts';

/**
 * Card numbers as they may stand in what people read: with digits of any script, signs that are not seen between them, and
 * dots, slashes and the like between groups. The interface's own rule (`truncatePansIn`) knows blanks and dashes alone.
 */

const FOREIGN_DIGIT = /(?![0-9])\p{Nd}/gu;
const UNSEEN = /(?<=[0-9])[\p{Default_Ignorable_Code_Point}\p{M}\p{Cf}\p{Cc}]+(?=[0-9])/gu;
/** Behind four digits or more: what stands in addresses and dates separates fewer. */
const SEPARATOR = /(?<=[0-9]{4})\s*[\p{P}\p{S}]{1,3}\s*(?=[0-9])/gu;

/** Text with its card numbers truncated. Text without any stays as it is, sign by sign. */
export function truncateDisguisedPansIn(text: string): string {
  const plain = text
    .replace(FOREIGN_DIGIT, (digit) => String(digitOf(digit)))
    .replace(UNSEEN, '')
    .replace(SEPARATOR, '-');
  const truncated = truncatePansIn(plain);
  return truncated === plain ? text : truncated;
}

/** Does the text hold something that people would read as a card number? */
export const holdsDisguisedPan = (text: string): boolean => truncateDisguisedPansIn(text) !== text;

/** Digits stand in runs of ten in Unicode, from zero to nine (chapter 4.6), and runs may touch. */
function digitOf(digit: string): number {
  const code = digit.codePointAt(0) ?? 0;
  let first = code;
  while (/\p{Nd}/u.test(String.fromCodePoint(first - 1))) first--;
  return (code - first) % 10;
}
