import { type Unknown, unknown } from '../../processor.ts';

const TIMED_OUT = unknown('timeout');
const STORE_FAILED = unknown('store');

/**
 * Returns the simulator's response, or the caller's deadline. The work continues when the caller stops waiting, as at a
 * remote processor. The result always resolves: an error of the database is an unknown outcome, too.
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

/** A response that never arrives. */
export const neverResponds = (): Promise<never> => new Promise(() => undefined);

export const pause = (milliseconds: number): Promise<void> =>
  milliseconds === 0 ? Promise.resolve() : new Promise((resolve) => setTimeout(resolve, milliseconds));
