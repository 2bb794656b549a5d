import { isUuid } from '../kernel/ids.ts';
import { LIMITS } from '../kernel/limits.ts';

/**
 * The sort key of a token, as bytes. A UUID is its 16 bytes. Any other token is ASCII: length, first six, last four,
 * then the rest, so that all tokens of one BIN and last four are adjacent and a search along the index finds the free
 * ones. No bytes represent both: byte 8 of a UUID of version 4 is above 0x7f, and its byte 6 is not a digit.
 */
const HEAD_DIGITS = 6;
const TAIL_DIGITS = 4;
const LENGTH_DIGITS = 2;
const UUID_BYTES = 16;
const UUID_VARIANT_BYTE = 8;
const MIN_VARIANT = 0x80;
/** Follows every character of a token. */
const LAST_CHARACTER = '~';

const { min, max } = LIMITS.panDigits;
const ASCII_TOKEN = new RegExp(`^[0-9A-Za-z]{${min},${max}}$`);

/** Returns undefined for a text that cannot be a token. */
export function toSlot(token: string): Uint8Array | undefined {
  if (isUuid(token)) return Buffer.from(token.replaceAll('-', ''), 'hex');
  return ASCII_TOKEN.test(token) ? Buffer.from(reorder(token), 'latin1') : undefined;
}

const reorder = (token: string): string =>
  `${token.length}${token.slice(0, HEAD_DIGITS)}${token.slice(-TAIL_DIGITS)}${token.slice(HEAD_DIGITS, -TAIL_DIGITS)}`;

/** Returns the token of a slot without checks: a record is unsealed only under the token for which it was sealed. */
export function fromSlot(slot: Uint8Array): string {
  const bytes = Buffer.from(slot.buffer, slot.byteOffset, slot.length);
  if (slot.length === UUID_BYTES && (slot[UUID_VARIANT_BYTE] ?? 0) >= MIN_VARIANT) return toUuid(bytes.toString('hex'));
  const text = bytes.toString('latin1');
  const head = text.slice(LENGTH_DIGITS, LENGTH_DIGITS + HEAD_DIGITS);
  const tail = text.slice(LENGTH_DIGITS + HEAD_DIGITS, LENGTH_DIGITS + HEAD_DIGITS + TAIL_DIGITS);
  return head + text.slice(LENGTH_DIGITS + HEAD_DIGITS + TAIL_DIGITS) + tail;
}

const toUuid = (hex: string): string =>
  `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;

/** Slots from the first bound on, and before the second. */
export type SlotRange = readonly [from: Uint8Array, to: Uint8Array];

const rangeOf = (start: string): SlotRange => [
  Buffer.from(start, 'latin1'),
  Buffer.from(`${start}${LAST_CHARACTER}`, 'latin1'),
];

/** Returns the range of the tokens with the length and last four of `token` and its first characters: six, or more. */
export const rangeOfSpace = (token: string, headCharacters: number): SlotRange =>
  rangeOf(reorder(token).slice(0, LENGTH_DIGITS + headCharacters + TAIL_DIGITS));

/** Returns the ranges of the tokens with these first six digits, one for each length of a card number, ascending. */
export const rangesOfBin = (firstSix: string): SlotRange[] =>
  Array.from({ length: max - min + 1 }, (_, index) => rangeOf(`${min + index}${firstSix}`));
