import type { Keyring } from '../crypto/keyring.ts';
import { DAY } from '../kernel/clock.ts';
import type { Database } from '../storage/database.ts';
import { listDestroyedKeys } from '../storage/wrapped-key-store.ts';

/** How far a clock is set back at most so that destructions are found nevertheless. */
const MAX_SET_BACK_MS = 30 * DAY;

/** Drops from the memory of this process, periodically, the keys that a command has destroyed. */
export class DestroyedKeys {
  readonly #database: Database;
  readonly #keyring: Keyring;
  #known = new Set<string>();
  #from = 0;

  constructor(options: { database: Database; keyring: Keyring }) {
    this.#database = options.database;
    this.#keyring = options.keyring;
  }

  async forget(): Promise<void> {
    // With a clock that was set back, a later destruction has an earlier time.
    const destroyed = await listDestroyedKeys(this.#database, this.#from - MAX_SET_BACK_MS);
    const unknown = destroyed.filter(({ id }) => !this.#known.has(id));
    if (unknown.length === 0) return;
    this.#keyring.forget(unknown.map(({ id }) => id));
    this.#from = Math.max(this.#from, destroyed.at(-1)?.destroyedAt ?? 0);
    this.#known = new Set(destroyed.map(({ id }) => id));
  }
}
