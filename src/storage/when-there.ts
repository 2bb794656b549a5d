import { setTimeout as pause } from 'node:timers/promises';
import { type Clock, SECOND } from '../kernel/clock.ts';
import { ConnectionLost } from './postgres/connection.ts';
import { isWorthTelling } from './sweeper.ts';

/** How long a start waits for a database that is away. */
const WAITS_FOR_MS = 60 * SECOND;

/**
 * What `open` returns, as soon as the database is there: nodes and their database may be started in any order. `waiting`
 * hears what is in the way, ever less often.
 */
export async function whenThere<T>(
  open: () => Promise<T>,
  { clock, waiting }: { clock: Clock; waiting: (error: unknown) => void },
): Promise<T> {
  const begun = clock();
  for (let tries = 1; ; tries++) {
    try {
      return await open();
    } catch (error) {
      if (!(error instanceof ConnectionLost) || clock() - begun > WAITS_FOR_MS) throw error;
      if (isWorthTelling(tries)) waiting(error);
      await pause(SECOND);
    }
  }
}
