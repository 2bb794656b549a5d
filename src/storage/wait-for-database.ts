import { setTimeout as pause } from 'node:timers/promises';
import { type Clock, SECOND } from '../kernel/clock.ts';
import { isPowerOfTwo } from './periodic-task.ts';
import { ConnectionLost } from './postgres/connection.ts';

/** How long a start waits for an unavailable database, in milliseconds. */
const MAX_WAIT_MS = 60 * SECOND;

/**
 * Retries `open` until the database accepts connections, so that nodes and database can start in any order. `waiting`
 * is called with the error, at growing intervals.
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
