import type { Keyring } from '../crypto/keyring.ts';
import type { Database } from '../storage/database.ts';
import { listDestroyedKeys } from '../storage/wrapped-key-store.ts';

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
    const destroyed = await listDestroyedKeys(this.#database, this.#from);
    const unknown = destroyed.filter(({ id }) => !this.#known.has(id));
    if (unknown.length === 0) return;
    this.#keyring.forget(unknown.map(({ id }) => id));
    this.#from = Math.max(...destroyed.map(({ destroyedAt }) => destroyedAt));
    // The next call finds those of the same millisecond again.
    this.#known = new Set(destroyed.filter(({ destroyedAt }) => destroyedAt === this.#from).map(({ id }) => id));
  }
}
