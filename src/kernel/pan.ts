import { LIMITS } from './limits.ts';

/** A card number: 12 to 19 digits, nothing else (ISO/IEC 7812). */
export type Pan = string & { readonly __pan: true };

/** The digits of a card number written as people write it, with blanks and dashes; undefined when it is none. */
export function readPan(text: string): Pan | undefined {
  const digits = text.replace(/[ -]/g, '');
  const { min, max } = LIMITS.panDigits;
  return digits.length >= min && digits.length <= max && /^[0-9]+$/.test(digits) ? (digits as Pan) : undefined;
}

/** The Luhn check (ISO/IEC 7812-1 annex B) over a string of digits. */
export function passesLuhn(digits: string): boolean {
  let sum = 0;
  const parity = digits.length % 2;
  for (let index = 0; index < digits.length; index++) {
    const digit = digits.charCodeAt(index) - 48;
    const doubled = index % 2 === parity ? digit * 2 : digit;
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return sum % 10 === 0;
}

/** First six, a star for each hidden digit, last four (PCI DSS 3.4.1). */
export const truncatePan = (pan: string): string => `${pan.slice(0, 6)}${'*'.repeat(pan.length - 10)}${pan.slice(-4)}`;

const DIGIT_GROUPS = /[0-9](?:[\s-]*[0-9])*/g;

/**
 * Text with every Luhn-valid run of 12 to 19 digits truncated. Blanks and dashes inside a run are dropped with it. A run
 * may begin and end at any group of digits, so that `12 4111 1111 1111 1111` hides the card and keeps the 12.
 */
export function truncatePansIn(text: string): string {
  return text.replace(DIGIT_GROUPS, (run) => {
    if (run.length < LIMITS.panDigits.min) return run;
    const parts = run.match(/[0-9]+|[^0-9]+/g) ?? [];
    let result = '';
    for (let start = 0; start < parts.length; ) {
      const end = endOfPan(parts, start);
      if (end === undefined) result += parts[start++];
      else {
        result += truncatePan(digitsOf(parts, start, end));
        start = end;
      }
    }
    return result;
  });
}

/** Does the text hold something that reads as a card number? */
export const holdsPan = (text: string): boolean => truncatePansIn(text) !== text;

const digitsOf = (parts: readonly string[], start: number, end: number): string =>
  parts
    .slice(start, end)
    .join('')
    .replace(/[^0-9]/g, '');

/** `parts` alternates digits and separators; the end of the longest card number that begins at `start`, if any does. */
function endOfPan(parts: readonly string[], start: number): number | undefined {
  let digits = '';
  let found: number | undefined;
  for (let index = start; index < parts.length && digits.length < LIMITS.panDigits.max; index += 2) {
    const group = parts[index] ?? '';
    if (index === start && !/^[0-9]/.test(group)) return undefined;
    digits += group;
    if (digits.length >= LIMITS.panDigits.min && digits.length <= LIMITS.panDigits.max && passesLuhn(digits)) {
      found = index + 1;
    }
  }
  return found;
}
