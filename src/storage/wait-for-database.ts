import { setTimeout as pause } from 'node:timers/promises';
import { type Clock, SECOND } from '../kernel/clock.ts';
import { isPowerOfTwo } from './periodic-task.ts';
import { ConnectionLost } from './postgres/connection.ts';

/** How long a start waits for a database that is away. */
const MAX_WAIT_MS = 60 * SECOND;

/**
 * What `open` returns, as soon as the database is there: nodes and their database may be started in any order. `waiting`
 * hears what is in the way, ever less often.
 */
export async function waitForDatabase<T>(
  open: () => Promise<T>,
  { clock, onRetry }: { clock: Clock; onRetry: (error: unknown) => void },
): Promise<T> {
  const begun = clock();
  for (let tries = 1; ; tries++) {
    try {
      return await open();
    } catch (error) {
      if (!(error instanceof ConnectionLost) || clock() - begun > MAX_WAIT_MS) throw error;
      if (isPowerOfTwo(tries)) onRetry(error);
      await pause(SECOND);
    }
  }
}
