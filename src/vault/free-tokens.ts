import { setImmediate } from 'node:timers/promises';
import type { Random } from '../kernel/clock.ts';
import { LIMITS } from '../kernel/limits.ts';
import { countTokenBodies, isInSpace, type TokenSpace, tokenBodyAt } from './scheme.ts';
import { toSlot } from './slot.ts';
import type { TokenStore } from './token-store.ts';

/**
 * Walks once around a token space from a random start, past what is taken, and yields every free token it meets. For
 * spaces so full that random draws no longer find one; ends when there is none left.
 */
export async function* findFreeTokens(store: TokenStore, space: TokenSpace, random: Random): AsyncGenerator<string> {
  if (space.hidden <= 0 || space.alphabet === '') return;
  const count = countTokenBodies(space);
  const start = Math.floor((random.below(2 ** 32) / 2 ** 32) * count);
  yield* findFreeBetween(store, space, start, count);
  yield* findFreeBetween(store, space, 0, start);
}

async function* findFreeBetween(
  store: TokenStore,
  space: TokenSpace,
  from: number,
  to: number,
): AsyncGenerator<string> {
  let next = from;
  while (next < to) {
    const taken = await store.listSlotsInUse(toSlotAt(space, next), endOfSpace(space), LIMITS.tokenSearchPage);
    const isLastPage = taken.length < LIMITS.tokenSearchPage;
    const known = isLastPage ? undefined : taken.at(-1);
    const inUse = new Set(taken);
    // Slots beyond the last one of a full page have not been read yet.
    for (; next < to; next++) {
      const slot = toSlotAt(space, next);
      if (known !== undefined && slot > known) break;
      const token = space.head + tokenBodyAt(space, next) + space.tail;
      if (!inUse.has(slot) && isInSpace(space, token)) yield token;
    }
    // Other requests go on between pages.
    await setImmediate();
  }
}

const toSlotAt = (space: TokenSpace, index: number): string =>
  toSlot(space.head + tokenBodyAt(space, index) + space.tail) ?? '';

/** Returns a bound behind every slot of the space: `~` sorts after all characters of a token. */
const endOfSpace = (space: TokenSpace): string => {
  const first = toSlotAt(space, 0);
  return `${first.slice(0, first.length - space.hidden)}~`;
};
