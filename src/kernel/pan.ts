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

// Blanks and dashes of every kind, and what is not even seen between digits.
const DIGIT_GROUPS = /[0-9](?:[\s\p{Pd}\u00ad\u200b-\u200d\u2060]*[0-9])*/gu;

/**
 * Text with every Luhn-valid run of 12 to 19 digits truncated. Blanks and dashes inside a run are dropped with it. A run
 * may begin and end at any group of digits, so that `12 4111 1111 1111 1111` hides the card and keeps the 12.
 */
export function truncatePansIn(text: string): string {
  return text.replace(DIGIT_GROUPS, (run) => {
    if (run.length < LIMITS.panDigits.min) return run;
    const parts = run.match(/[0-9]+|[^0-9]+/g) ?? [];
    const shown = [...parts];
    // Every beginning is tried: two runs may overlap, and each hides its own middle.
    for (let start = 0; start < parts.length; start += 2) {
      const end = endOfPan(parts, start);
      if (end !== undefined) hideMiddle(shown, start, end);
    }
    return shown.join('');
  });
}

/** Does the text hold something that reads as a card number? */
export const holdsPan = (text: string): boolean => truncatePansIn(text) !== text;

/** Drops the separators from `start` to `end` and puts a star for each digit but the first six and last four. */
function hideMiddle(parts: string[], start: number, end: number): void {
  let digits = 0;
  for (let index = start; index < end; index += 2) digits += parts[index]?.length ?? 0;
  let at = 0;
  for (let index = start; index < end; index++) {
    const isSeparator = (index - start) % 2 === 1;
    parts[index] = isSeparator
      ? ''
      : (parts[index] ?? '').replace(/./g, (sign) => (++at > 6 && at <= digits - 4 ? '*' : sign));
  }
}

/** `parts` alternates digits and separators; the end of the longest card number that begins at `start`, if any does. */
function endOfPan(parts: readonly string[], start: number): number | undefined {
  let digits = '';
  let found: number | undefined;
  for (let index = start; index < parts.length && digits.length < LIMITS.panDigits.max; index += 2) {
    const group = parts[index] ?? '';
    digits += group;
    if (digits.length >= LIMITS.panDigits.min && digits.length <= LIMITS.panDigits.max && passesLuhn(digits)) {
      found = index + 1;
    }
  }
  return found;
}
