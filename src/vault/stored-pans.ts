import { setImmediate } from 'node:timers/promises';
import { LIMITS } from '../kernel/limits.ts';
import { slotRangeOf } from './slot.ts';
import type { TokenStore } from './token-store.ts';

/**
 * Tells whether a number is the card number of a token or capture, for one tokenization. Tokens that kept first six and
 * last four stand together in their slots; such a range is read once and remembered, however many numbers of it are
 * asked for.
 */
export class StoredPans {
  readonly #store: TokenStore;
  readonly #ranges = new Map<string, Promise<ReadonlySet<string>>>();

  constructor(store: TokenStore) {
    this.#store = store;
  }

  async has(number: string): Promise<boolean> {
    const [from, to] = slotRangeOf(number);
    let range = this.#ranges.get(from);
    if (range === undefined) {
      range = this.#read(from, to);
      this.#ranges.set(from, range);
    }
    return (await range).has(this.#store.fingerprintOf(number)) || this.#store.isPanElsewhere(number);
  }

  async #read(from: string, to: string): Promise<ReadonlySet<string>> {
    const fingerprints = new Set<string>();
    for (let after = from; ; ) {
      const page = await this.#store.listFingerprints(after, to, LIMITS.tokenSearchPage);
      for (const { fingerprint } of page) fingerprints.add(fingerprint);
      const last = page.at(-1);
      if (last === undefined || page.length < LIMITS.tokenSearchPage) return fingerprints;
      after = last.slot;
      // Other requests go on between pages.
      await setImmediate();
    }
  }
}
