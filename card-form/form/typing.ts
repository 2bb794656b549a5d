import { brandOf } from '../../src/kernel/card-brand.ts';

/** How typed, pasted and filled texts are read and shown. Pure. */

/** Code points of the digit 0 of scripts whose digits follow one another (Unicode, category Nd). */
const ZEROS = [
  ...[0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xe50, 0xed0, 0xf20, 0x1040],
  ...[0x17e0, 0x1810, 0xff10],
];

/** Replaces digits of other scripts by 0 to 9. */
export const toAsciiDigits = (text: string): string =>
  text.replace(/\p{Nd}/gu, (digit) => {
    const code = digit.codePointAt(0) ?? 0;
    const zero = ZEROS.find((each) => code >= each && code < each + 10);
    return zero === undefined ? digit : String(code - zero);
  });

const MAX_DIGITS = 19;

/** The digits of what was entered; anything else is dropped, as blanks and dashes of a pasted number. */
export const digitsOf = (text: string): string => toAsciiDigits(text).replace(/[^0-9]/g, '');

/** Groups the digits as printed on cards of the brand. */
export function formatNumber(text: string): string {
  const digits = digitsOf(text).slice(0, MAX_DIGITS);
  const parts: string[] = [];
  let at = 0;
  for (const size of brandOf(digits).groups) {
    if (at >= digits.length) break;
    parts.push(digits.slice(at, at + size));
    at += size;
  }
  return [...parts, ...(at < digits.length ? [digits.slice(at)] : [])].join(' ');
}

/** Returns the place in `formatted` behind as many digits as stood before the caret. */
export function caretAfter(formatted: string, digitsBefore: number): number {
  let digits = 0;
  for (let index = 0; index < formatted.length; index++) {
    if (digits === digitsBefore) return index;
    if (/[0-9]/.test(formatted[index] ?? '')) digits++;
  }
  return formatted.length;
}

const pad = (month: string): string => month.padStart(2, '0');

/** Returns `MM/YY` for `9/29`, `0929`, `09/2029`, `2029-09` and the like; any other text as it is. */
export function normalizeExpiry(text: string): string {
  const plain = toAsciiDigits(text).replace(/\s/g, '').replace(/[-.]/g, '/');
  const yearFirst = /^20([0-9]{2})\/?([0-9]{1,2})$/.exec(plain);
  if (yearFirst !== null) return `${pad(yearFirst[2] ?? '')}/${yearFirst[1]}`;
  const slashed = /^([0-9]{1,2})\/(?:20)?([0-9]{2})$/.exec(plain);
  if (slashed !== null) return `${pad(slashed[1] ?? '')}/${slashed[2]}`;
  const joined = /^([0-9]{2})(?:20)?([0-9]{2})$/.exec(plain);
  return joined === null ? plain : `${joined[1]}/${joined[2]}`;
}

/** While a person types digits one by one: the slash follows the month by itself. */
export function formatTypedExpiry(text: string, isDeleting: boolean): string {
  const plain = toAsciiDigits(text).replace(/[^0-9/]/g, '');
  if (isDeleting) return plain;
  if (/^[2-9]$/.test(plain)) return `0${plain}/`;
  if (/^(0[1-9]|1[0-2])$/.test(plain)) return `${plain}/`;
  return /^[0-9]{3,4}$/.test(plain) ? `${plain.slice(0, 2)}/${plain.slice(2)}` : plain.slice(0, 7);
}
