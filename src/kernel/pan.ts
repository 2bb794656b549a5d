import { LIMITS } from './limits.ts';

/** A card number (PAN): 12 to 19 digits, nothing else (ISO/IEC 7812). */
export type Pan = string & { readonly __pan: true };

/** Returns the digits of a card number that may contain blanks and dashes; undefined for any other text. */
export function parsePan(text: string): Pan | undefined {
  const digits = text.replace(/[ -]/g, '');
  const { min, max } = LIMITS.panDigits;
  return digits.length >= min && digits.length <= max && /^[0-9]+$/.test(digits) ? (digits as Pan) : undefined;
}

/** Returns the result of the Luhn check (ISO/IEC 7812-1 annex B) over a string of digits. */
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

/** Returns the first six digits, a star for each hidden digit, and the last four (PCI DSS 3.4.1). */
export const truncatePan = (pan: string): string => `${pan.slice(0, 6)}${'*'.repeat(pan.length - 10)}${pan.slice(-4)}`;

/**
 * First digits and number of digits of what card schemes issue (ISO/IEC 7812-1, and the ranges that the schemes
 * publish). The row for 5 and 6 covers Discover, Elo, Hipercard, Maestro, Mastercard, RuPay, UnionPay and the national
 * schemes among them.
 */
const LONG_LENGTHS = [16, 17, 18, 19];
const ISSUER_RANGES: readonly (readonly [scheme: string, first: RegExp, lengths: readonly number[]])[] = [
  ['Visa', /^4/, [13, 16, 19]],
  ['Mastercard', /^2(?:22[1-9]|2[3-9]|[3-6]|7[01]|720)/, [16]],
  ['American Express', /^3[47]/, [15]],
  ['Diners Club', /^3(?:0[0-5]|095|[689])/, [14, ...LONG_LENGTHS]],
  ['JCB', /^35(?:2[89]|[3-8])/, LONG_LENGTHS],
  ['5 and 6', /^[56]/, LONG_LENGTHS],
  ['Maestro with few digits', /^(?:50(?:18|20|38)|5893|6304|6759|676[1-3])/, [12, 13, 14, 15]],
  ['Mir', /^220[0-4]/, LONG_LENGTHS],
  ['UnionPay, RuPay', /^8[12]/, LONG_LENGTHS],
  ['Troy', /^9792/, [16]],
];

const matchesIssuerRange = (digits: string): boolean =>
  ISSUER_RANGES.some(([, first, lengths]) => lengths.includes(digits.length) && first.test(digits));

/** Blanks and dashes of every kind, and characters without width. */
const SEPARATOR = '[\\s\\p{Pd}\\u00ad\\u200b-\\u200d\\u2060]';
const DIGIT_GROUPS = new RegExp(`[0-9](?:${SEPARATOR}*[0-9])*`, 'gu');

/** A UUID with a version and the variant of RFC 9562, which other digits do not continue. */
const UUID = new RegExp(
  `(?=[0-9a-f]{8}-)(?<![0-9a-z]|[0-9]${SEPARATOR}+)[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}(?![0-9a-z]|${SEPARATOR}+[0-9])`,
  'giu',
);

/**
 * Truncates every Luhn-valid run of 12 to 19 digits, and drops the blanks and dashes inside it. A run may start and end
 * at any group of digits, so that `12 4111 1111 1111 1111` becomes the truncated card number behind an unchanged 12.
 */
export const truncatePans = (text: string): string => truncateRuns(text, passesLuhn);

/**
 * True when `truncatePans` finds a card number. Use it for texts that must not be stored, logged or sent: one other
 * number in ten passes too.
 */
export const containsPan = (text: string): boolean => truncatePans(text) !== text;

/** A UUID of digits alone counts as digits, because a card number between dashes could look like it. */
const hasLetter = (uuid: string): boolean => /[a-f]/i.test(uuid);

/**
 * True when `containsPan` is, without the UUIDs of the text that have a letter. Use it for URLs: one random UUID in 200 has digits
 * that pass as a card number.
 */
export const containsPanOutsideUuids = (text: string): boolean =>
  containsPan(text.replace(UUID, (uuid) => (hasLetter(uuid) ? 'u' : uuid)));

const SIXTEEN_DIGITS = /^[0-9]{16}$/;

/** False for one random UUID in 10,000: a card number could be written as the first three groups, or as the last two. */
function isNoPan(uuid: string): boolean {
  const groups = uuid.split('-');
  return ![groups.slice(0, 3), groups.slice(3)].some((some) => {
    const digits = some.join('');
    return SIXTEEN_DIGITS.test(digits) && containsIssuedPan(digits);
  });
}

/**
 * Truncates as `truncatePans` does, and leaves UUIDs that have a letter and no card number in whole groups. Use it for references, by
 * which a receiver finds an order.
 */
export function truncateReference(text: string): string {
  let truncated = '';
  let end = 0;
  for (const { 0: uuid, index } of text.matchAll(UUID)) {
    if (!hasLetter(uuid) || !isNoPan(uuid)) continue;
    truncated += truncatePans(text.slice(end, index)) + uuid;
    end = index + uuid.length;
  }
  return truncated + truncatePans(text.slice(end));
}

/**
 * True when the text contains a number that an issuer could have issued. Use it for names and notes, which may contain
 * merchant numbers, times and telephone numbers (docs/decisions/0029-card-numbers-in-texts.md).
 */
export const containsIssuedPan = (text: string): boolean =>
  truncateRuns(text, (digits) => matchesIssuerRange(digits) && passesLuhn(digits)) !== text;

function truncateRuns(text: string, isPan: (digits: string) => boolean): string {
  return text.replace(DIGIT_GROUPS, (run) => {
    if (run.length < LIMITS.panDigits.min) return run;
    const parts = run.match(/[0-9]+|[^0-9]+/g) ?? [];
    const shown = [...parts];
    // Every start is tried, because two runs may overlap and each hides its own middle.
    for (let start = 0; start < parts.length; start += 2) {
      const end = findPanEnd(parts, start, isPan);
      if (end !== undefined) hideMiddle(shown, start, end);
    }
    return shown.join('');
  });
}

/** Drops the separators from `start` to `end` and replaces each digit but the first six and last four with a star. */
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

/**
 * Returns the end of the longest card number that starts at `start`, if one does. `parts` alternates digits and
 * separators.
 */
function findPanEnd(parts: readonly string[], start: number, isPan: (digits: string) => boolean): number | undefined {
  let digits = '';
  let found: number | undefined;
  for (let index = start; index < parts.length && digits.length < LIMITS.panDigits.max; index += 2) {
    const group = parts[index] ?? '';
    digits += group;
    if (digits.length >= LIMITS.panDigits.min && digits.length <= LIMITS.panDigits.max && isPan(digits)) {
      found = index + 1;
    }
  }
  return found;
}
