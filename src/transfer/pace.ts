import { SECOND } from '../kernel/clock.ts';

/** Waits for `milliseconds`. */
type Wait = (milliseconds: number) => Promise<void>;

/**
 * Returns a function that bounds a rate: it is called with the number of records that were handled, and waits until as
 * many are due. `clock` never jumps.
 */
export function createPace(perSecond: number, clock: () => number, wait: Wait): (records: number) => Promise<void> {
  const startedAt = clock();
  let records = 0;
  return async (more) => {
    records += more;
    const early = startedAt + (records / perSecond) * SECOND - clock();
    if (early > 0) await wait(early);
  };
}
