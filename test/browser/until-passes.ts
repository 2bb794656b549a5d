import { setTimeout as sleep } from 'node:timers/promises';

/** Longer than a page takes on a machine that has much else to do. */
export const WITHIN_MS = 45_000;
const LOOK_EVERY_MS = 50;

/** A page takes a moment: as soon as the claim holds, or with what it says in the end. */
export async function untilPasses(claim: () => Promise<void>, withinMs = WITHIN_MS): Promise<void> {
  for (const end = performance.now() + withinMs; ; await sleep(LOOK_EVERY_MS)) {
    try {
      return await claim();
    } catch (error) {
      if (performance.now() > end) throw error;
    }
  }
}
