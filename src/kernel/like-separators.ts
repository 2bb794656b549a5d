import { LIMITS } from './limits.ts';
import { passesLuhn } from './pan.ts';

/**
 * Card numbers whose digits or groups have the same sign, or signs, between them: `4.1.1.1…`, `411.111.111.111.1111`,
 * `4111....1111…`, `4111x1111…`. Versions, lists and telephone numbers are written so as well; for that reason more is
 * asked of them than the Luhn check.
 */

/** How the numbers of cards begin, and how long they are then; with Diners Club, UnionPay, Maestro, Mir, RuPay and Troy. */
const ISSUED = /^(?:3[0-9]{13,15}|4(?:[0-9]{3}){4,6}|(?=[0-9]{16,19}$)(?:2[2-7]|[56]|8[12]|9792)[0-9]+)$/;
/** Telephone numbers have up to 13, but are not written digit by digit. */
const GROUPED_DIGITS_AT_LEAST = 14;
const SEPARATOR_CHARACTERS = 12;

const DIGITS = /([0-9]+)/;
const BLANK = /\s/;
const BLANKS = /\s+/g;
/** Once or more: alike even where there is one separator alone. */
const ONE_SIGN = /^\s*([\p{P}\p{S}])(?:\s*\1)*\s*$/u;
const LETTER = /^\p{L}$/u;

/** Digits that some scheme would give out, check digit and all. */
export const isIssued = (digits: string): boolean => ISSUED.test(digits) && passesLuhn(digits);

/** Text with a dash for each such separator. */
export function withLikeSeparatorsDashed(text: string): string {
  const parts = text.split(DIGITS);
  const kinds = parts.map((part, index) => (index % 2 === 0 ? kindOf(part) : ''));
  const dashed = [...parts];
  // Digits are at odd places. Each run of groups goes to where the separator changes, and the next begins there.
  for (let start = 1; start < parts.length; ) {
    const end = endOfRun(kinds, start);
    if (end > start) dashRun(parts.slice(start, end + 1), start, dashed);
    start = Math.max(end, start + 2);
  }
  return dashed.join('');
}

/** The last group that is joined to the one at `start` by separators of one kind. The last kind is that of what comes after. */
function endOfRun(kinds: readonly string[], start: number): number {
  const kind = kinds[start + 1] ?? '';
  let end = start;
  if (kind.length > SEPARATOR_CHARACTERS) return end;
  while (end + 3 < kinds.length && kinds[end + 1] === kind) end += 2;
  return end;
}

/** Blanks make no difference, nor which single letter it is. */
function kindOf(separator: string): string {
  const signs = BLANK.test(separator) ? separator.replace(BLANKS, '') : separator;
  return signs.length <= 2 && LETTER.test(signs) ? 'x' : signs;
}

function dashRun(run: readonly string[], offset: number, dashed: string[]): void {
  const groups = run.filter((_, index) => index % 2 === 0);
  const separator = run[1] ?? '';
  if (groups.join('').length < LIMITS.panDigits.min) return;
  for (let first = 0; first < groups.length; first++) {
    const last = lastOfCard(groups, first, separator);
    for (let index = first; index < last; index++) dashed[offset + 2 * index + 1] = '-';
  }
}

/** The last group of the card number that begins at the one, or the same group when none does. */
function lastOfCard(groups: readonly string[], first: number, separator: string): number {
  let digits = '';
  let found = first;
  for (let last = first; last < groups.length; last++) {
    digits += groups[last];
    if (digits.length > LIMITS.panDigits.max) break;
    if (isIssued(digits) && isWrittenSo(groups.slice(first, last + 1), separator, groups.length)) found = last;
  }
  return found;
}

/** Digit by digit or in groups of four, among others; in twos or threes with no others, which would be a list. */
function isWrittenSo(groups: readonly string[], separator: string, groupsInRun: number): boolean {
  const sizes = groups.map(({ length }) => length);
  if (sizes.every((size) => size === 1)) return true;
  if (groups.join('').length < GROUPED_DIGITS_AT_LEAST) return false;
  const last = sizes.pop() ?? 0;
  // Numbers written with letters have digits in any number between two.
  if (/\p{L}/u.test(separator)) return last <= 4 && sizes.every((size) => size === 4);
  if (sizes.every((size) => size >= 4)) return sizes.length > 1 || ONE_SIGN.test(separator);
  const isEven = sizes.every((size) => size === sizes[0]);
  return isEven && groups.length === groupsInRun && !/[,;]/.test(separator);
}
