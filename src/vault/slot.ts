import { LIMITS } from '../kernel/limits.ts';

/**
 * The slot is the sort key of a token: length, first six, last four, then the rest. It holds the same value as the token
 * and turned back into it, but sorted so that all tokens that a BIN and last four can have stand together: whether any
 * is free is answered by walking along the index instead of by luck.
 */
const HEAD_DIGITS = 6;
const TAIL_DIGITS = 4;
const LENGTH_DIGITS = 2;
const MAX_TOKEN_LENGTH = 99;

/** Returns undefined for a text that cannot be a token. */
export function toSlot(token: string): string | undefined {
  if (token.length < HEAD_DIGITS + TAIL_DIGITS || token.length > MAX_TOKEN_LENGTH) return undefined;
  return `${String(token.length).padStart(LENGTH_DIGITS, '0')}${token.slice(0, HEAD_DIGITS)}${token.slice(-TAIL_DIGITS)}${token.slice(HEAD_DIGITS, -TAIL_DIGITS)}`;
}

/** Returns the bounds of the slots with the length, first six and last four of a number. `~` sorts after every slot. */
export const slotRangeOf = (number: string): [from: string, to: string] => {
  const start = (toSlot(number) ?? '').slice(0, LENGTH_DIGITS + HEAD_DIGITS + TAIL_DIGITS);
  return [start, `${start}~`];
};

/** Returns the bounds of the slots with these first six digits, one pair for each length of a card number, ascending. */
export function listSlotsForBin(firstSix: string): [from: string, to: string][] {
  const { min, max } = LIMITS.panDigits;
  return Array.from({ length: max - min + 1 }, (_, index) => {
    const start = `${min + index}${firstSix}`;
    return [start, `${start}~`];
  });
}

export function fromSlot(slot: string): string {
  const head = slot.slice(LENGTH_DIGITS, LENGTH_DIGITS + HEAD_DIGITS);
  const tail = slot.slice(LENGTH_DIGITS + HEAD_DIGITS, LENGTH_DIGITS + HEAD_DIGITS + TAIL_DIGITS);
  return head + slot.slice(LENGTH_DIGITS + HEAD_DIGITS + TAIL_DIGITS) + tail;
}
