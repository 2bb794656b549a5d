import { type Unknown, unknown } from '../../processor.ts';

const STORE_FAILED = unknown('store');

/**
 * Returns the result of the work; an error of the database is an unknown outcome. The deadline is the caller's: the work
 * continues when the caller has stopped waiting, as at a remote processor.
 */
export const orUnknown = <T>(work: () => Promise<T>): Promise<T | Unknown> => work().catch(() => STORE_FAILED);

/** A response that never arrives. */
export const neverResponds = (): Promise<never> => new Promise(() => undefined);

export const pause = (milliseconds: number): Promise<void> =>
  milliseconds === 0 ? Promise.resolve() : new Promise((resolve) => setTimeout(resolve, milliseconds));
