import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemRandom } from '../src/crypto/random.ts';
import type { Driver } from '../src/storage/database.ts';
import { readAddress } from '../src/storage/postgres/address.ts';
import { PostgresDatabase } from '../src/storage/postgres/postgres.ts';
import { SqliteDatabase } from '../src/storage/sqlite/sqlite.ts';
import { sharedPostgres } from './postgres.ts';
import { installPostgres } from './postgres-binaries.ts';

/** New, empty databases of both kinds, by the addresses that operators give. */

export type Kind = 'SQLite' | 'PostgreSQL';

/** Which copies there are; those that this machine cannot make say why. */
export const WAYS: readonly { from: Kind; to: Kind; skip: string | false }[] = (() => {
  const found = installPostgres();
  const skip = 'why' in found && found.why;
  return [
    { from: 'SQLite', to: 'SQLite', skip: false },
    { from: 'SQLite', to: 'PostgreSQL', skip },
    { from: 'PostgreSQL', to: 'SQLite', skip },
    { from: 'PostgreSQL', to: 'PostgreSQL', skip },
  ];
})();

const POOL = { connectTimeoutMs: 10_000, statementTimeoutMs: 60_000, writers: 2, readers: 2, sharded: false };

/** Databases of one test, in a folder of its own, all removed at its end. */
export class Databases {
  readonly directory = mkdtempSync(join(tmpdir(), 'cardvault-copy-'));
  readonly #made: string[] = [];
  readonly #open: Driver[] = [];
  #count = 0;

  async address(kind: Kind): Promise<string> {
    if (kind === 'SQLite') return `sqlite:${join(this.directory, `vault-${this.#count++}.db`)}`;
    const address = await (await sharedPostgres()).newDatabase();
    this.#made.push(address);
    return address;
  }

  /** It is closed at the end, too. */
  open(address: string): Driver {
    const path = /^sqlite:(.*)$/.exec(address)?.[1];
    const database =
      path === undefined
        ? new PostgresDatabase(
            { ...POOL, address: readAddress(address), passwordFile: undefined },
            { clock: () => Date.now(), random: systemRandom() },
          )
        : new SqliteDatabase(path);
    this.#open.push(database);
    return database;
  }

  /** An empty one. */
  async make(kind: Kind): Promise<Driver> {
    return this.open(await this.address(kind));
  }

  async remove(): Promise<void> {
    for (const database of this.#open.splice(0)) await database.close();
    for (const address of this.#made.splice(0)) await (await sharedPostgres()).dropDatabase(address);
    rmSync(this.directory, { recursive: true, force: true });
  }
}
