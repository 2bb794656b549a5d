import { setImmediate } from 'node:timers/promises';
import { LIMITS } from '../kernel/limits.ts';

/**
 * Applies work to each item, to some of them concurrently: over a network each query has its round trip, and over SQLite, which answers
 * immediately, other requests are served between these and the next ones.
 */
export async function inTurns<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const size = LIMITS.cardsPerTurn;
  if (items.length <= size) return Promise.all(items.map(work));
  const results: Result[] = [];
  for (let at = 0; at < items.length; at += size) {
    if (at > 0) await setImmediate();
    results.push(...(await Promise.all(items.slice(at, at + size).map(work))));
  }
  return results;
}
