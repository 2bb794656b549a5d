import type { Clocks } from '../src/core.ts';
import type { Clock } from '../src/kernel/clock.ts';
import { TimeGuard, type TrustedTime } from '../src/kernel/time-guard.ts';

/** A clock that never jumps, as far as the code under test can tell. */
export const evenClocks = (clock: Clock): Clocks => ({ clock, monotonic: clock });

export const systemClocks: Clocks = { clock: () => Date.now(), monotonic: () => performance.now() };

/** Trusts the clock whatever it says. */
export function trusting(clock: Clock): TrustedTime {
  const guard = new TimeGuard(evenClocks(clock));
  guard.accept(guard.read());
  return guard;
}
