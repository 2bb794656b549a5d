import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { SECOND, type Timers } from './kernel/clock.ts';

/**
 * Lets each thread collect its own young generation alone. V8 divides each of these collections among four more threads,
 * however many cores there are. On a node that is busy they take turns with the requests, and cost a tenth to a third of the
 * CPU of all requests.
 */
export function collectWithoutHelpers(): void {
  setFlagsFromString('--no-parallel-scavenge');
}

/** By then the first requests are served, and no sweep has run. */
const AFTER_MS = 3 * SECOND;

/**
 * Collects the garbage of the start of this thread, once and soon after it. A start fills the young generation to its
 * largest size, and V8 returns nothing of that to the system while the thread is idle.
 */
export function releaseStartMemory(timers: Timers): void {
  timers.after(AFTER_MS, () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as (options: object) => void;
    collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  });
}
