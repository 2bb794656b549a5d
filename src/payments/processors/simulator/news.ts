import { type Clock, HOUR, SECOND } from '../../../kernel/clock.ts';
import type { Database } from '../../../storage/database.ts';
import type { News } from '../../processor.ts';
import { findNews, updateEntry } from './books.ts';
import { type Entry, firstNewsAt } from './entry.ts';

/** News are told again until somebody asks after the payment: whoever took them may have crashed. */
const AGAIN_MS = 10 * SECOND;
const GIVEN_UP_MS = HOUR;

/** Were the news told at least once, and do they still wait for somebody who asks? */
export const isTold = (entry: Entry): boolean => entry.newsAt !== undefined && entry.newsAt !== firstNewsAt(entry);

/** When they are told after now; less and less often, and undefined in the end. */
function nextNewsAt(entry: Entry, now: number): number | undefined {
  const since = now - (firstNewsAt(entry) ?? now);
  return since < GIVEN_UP_MS ? now + Math.max(AGAIN_MS, since) : undefined;
}

/** News that are due, each taken by one caller only, whichever node it runs on. */
export async function takeNews(database: Database, clock: Clock): Promise<readonly News[]> {
  const now = clock();
  const due = await findNews(database, now);
  const taken = await Promise.all(
    due.map(async ({ tenant, entry }) => {
      const { committed } = await database.commit({
        writes: [updateEntry(tenant, { ...entry, newsAt: nextNewsAt(entry, now) })],
      });
      const news: News = { tenant, key: entry.key };
      if (!committed) return [];
      return entry.behaviour.includes('duplicate_news') ? [news, news] : [news];
    }),
  );
  return taken.flat();
}
