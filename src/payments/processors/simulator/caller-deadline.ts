import { type Unknown, unknown } from '../../processor.ts';

const TIMED_OUT = unknown('timeout');
const STORE_FAILED = unknown('store');

/**
 * The line between the simulator and who calls it. Whoever stops waiting leaves the work to go on, as at a processor that
 * is far away. It always resolves: an error of the database is an unknown outcome, too.
 */
export function withCallerDeadline<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T | Unknown> {
  if (signal.aborted) return Promise.resolve(TIMED_OUT);
  return new Promise((resolve) => {
    const onAbort = (): void => resolve(TIMED_OUT);
    signal.addEventListener('abort', onAbort, { once: true });
    work()
      .catch(() => STORE_FAILED)
      .then((result) => {
        signal.removeEventListener('abort', onAbort);
        resolve(result);
      });
  });
}

/** The answer that never comes. */
export const neverResponds = (): Promise<never> => new Promise(() => undefined);

export const pause = (milliseconds: number): Promise<void> =>
  milliseconds === 0 ? Promise.resolve() : new Promise((resolve) => setTimeout(resolve, milliseconds));
