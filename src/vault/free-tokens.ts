import { setImmediate } from 'node:timers/promises';
import type { Random } from '../kernel/clock.ts';
import { LIMITS } from '../kernel/limits.ts';
import { isInSpace, middleAt, middleCount, type TokenSpace } from './scheme.ts';
import { slotOf } from './slot.ts';
import type { TokenStore } from './token-store.ts';

/**
 * Walks once around a token space from a random start, past what is taken, and yields every free token it meets. For
 * spaces so full that random draws no longer find one; ends when there is none left.
 */
export async function* freeTokens(store: TokenStore, space: TokenSpace, random: Random): AsyncGenerator<string> {
  if (space.hidden <= 0 || space.alphabet === '') return;
  const count = middleCount(space);
  const start = Math.floor((random.below(2 ** 32) / 2 ** 32) * count);
  yield* freeBetween(store, space, start, count);
  yield* freeBetween(store, space, 0, start);
}

async function* freeBetween(store: TokenStore, space: TokenSpace, from: number, to: number): AsyncGenerator<string> {
  let next = from;
  while (next < to) {
    const taken = await store.slotsInUse(slotAt(space, next), endOf(space), LIMITS.tokenSearchPage);
    const isLastPage = taken.length < LIMITS.tokenSearchPage;
    const known = isLastPage ? undefined : taken.at(-1);
    const inUse = new Set(taken);
    // What lies beyond the last slot of a full page is not known yet.
    for (; next < to; next++) {
      const slot = slotAt(space, next);
      if (known !== undefined && slot > known) break;
      const token = space.head + middleAt(space, next) + space.tail;
      if (!inUse.has(slot) && isInSpace(space, token)) yield token;
    }
    // Other requests go on between pages.
    await setImmediate();
  }
}

const slotAt = (space: TokenSpace, index: number): string =>
  slotOf(space.head + middleAt(space, index) + space.tail) ?? '';

/** Behind every slot of the space: `~` sorts after all letters of a token. */
const endOf = (space: TokenSpace): string => {
  const first = slotAt(space, 0);
  return `${first.slice(0, first.length - space.hidden)}~`;
};
