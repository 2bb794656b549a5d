import type { Keyring } from '../crypto/keyring.ts';
import type { Environment, Tenant } from '../kernel/environment.ts';
import { LIMITS } from '../kernel/limits.ts';
import { type Database, integer, type Row, text, type Write, write } from '../storage/database.ts';
import { BlindIndexStore } from './blind-index-store.ts';
import { unsealIfAuthentic } from './token-store.ts';

const WITHOUT = '(marks is null or marks <> revision) and record is not null';
const FIND = `select account, environment, slot, scheme, record, revision, created_at from tokens where ${WITHOUT}
  order by account, environment, slot limit ?`;
const NOTE = `update tokens set marks = revision where account = ? and environment = ? and slot = ? and revision = ?
  and ${WITHOUT}`;

/** Gives marks to tokens that code without marks wrote, before an upgrade and beside it. */
export class BlindIndexBackfill {
  readonly #database: Database;
  readonly #keyring: Keyring;

  constructor(options: { database: Database; keyring: Keyring }) {
    this.#database = options.database;
    this.#keyring = options.keyring;
  }

  /** Some of them. Any number of nodes may do this at once, beside whatever else changes tokens. */
  async runBatch(): Promise<void> {
    const rows = await this.#database.read(FIND, LIMITS.tokensMarkedPerRound);
    await Promise.all(rows.map((row) => this.#mark(row)));
  }

  async #mark(row: Row): Promise<void> {
    const tenant: Tenant = { account: text(row, 'account'), environment: text(row, 'environment') as Environment };
    const note = write(NOTE, [tenant.account, tenant.environment, text(row, 'slot'), integer(row, 'revision')], 1);
    // Alone in its unit: whoever changes or deletes the token first wins, and the others go on.
    await this.#database.commit({ account: tenant.account, writes: [note, ...(await this.#marksOf(tenant, row))] });
  }

  /** One that was changed in the database is found by nothing, and must not stand in the way of the others. */
  async #marksOf(tenant: Tenant, row: Row): Promise<Write[]> {
    const [marks, token] = await Promise.all([
      BlindIndexStore.load(this.#keyring, tenant),
      unsealIfAuthentic(this.#keyring, tenant, row),
    ]);
    return token === undefined ? [] : marks.insert([{ token }]);
  }
}
