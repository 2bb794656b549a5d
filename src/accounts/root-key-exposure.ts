import type { Clock, MonotonicClock } from '../kernel/clock.ts';
import { MINUTE } from '../kernel/clock.ts';
import type { Database } from '../storage/database.ts';
import { hasActiveKeys } from './api-key-store.ts';

/** How long an answer is reused: reading it may take a scan of all API keys. */
const REUSED_MS = 5 * MINUTE;

interface ExposureOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly monotonic: MonotonicClock;
  /** True when the root key is a file in clear in the data directory, where a copy of the data includes it. */
  readonly isKeyBesideData: boolean;
}

/** Tells whether a vault with API keys for production still has its root key in clear beside the data. */
export class RootKeyExposure {
  readonly #options: ExposureOptions;
  #last: { readonly at: number; readonly isExposed: boolean } | undefined;

  constructor(options: ExposureOptions) {
    this.#options = options;
  }

  async isExposed(): Promise<boolean> {
    const { database, clock, monotonic, isKeyBesideData } = this.#options;
    if (!isKeyBesideData) return false;
    const now = monotonic();
    if (this.#last === undefined || now - this.#last.at > REUSED_MS)
      this.#last = { at: now, isExposed: await hasActiveKeys(database, 'production', clock()) };
    return this.#last.isExposed;
  }
}
