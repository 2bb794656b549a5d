import type { KeyObject } from 'node:crypto';
import type { Keyring } from '../crypto/keyring.ts';
import type { Tenant } from '../kernel/environment.ts';
import type { Value, Write } from '../storage/database.ts';
import type { Table } from '../storage/table.ts';
import { blindIndexInputs, computeBlindIndex } from './blind-index.ts';
import { toSlot } from './slot.ts';
import type { Token } from './token.ts';

export const TABLES: readonly Table[] = [
  {
    name: 'token_tags',
    key: ['account', 'environment', 'tag', 'created_at', 'slot'],
    columns: { account: 'text', environment: 'text', tag: 'blob', created_at: 'integer', slot: 'text' },
  },
];

/** One that is there is written again, so that every run touches one row and many runs become one statement. */
const INSERT = `insert into token_tags (account, environment, tag, created_at, slot) values (?, ?, ?, ?, ?)
  on conflict (account, environment, tag, created_at, slot) do update set slot = excluded.slot`;
const REMOVE = `delete from token_tags
  where account = ? and environment = ? and tag = ? and created_at = ? and slot = ?`;

/** A token that gets the marks that it has not had `before`. */
interface IndexedToken {
  readonly token: Token;
  readonly before?: Token;
}

/** The marks of the tokens of one tenant; written in the unit that writes the token. */
export class BlindIndexStore {
  readonly #tenant: Tenant;
  readonly #key: KeyObject;

  private constructor(tenant: Tenant, key: KeyObject) {
    this.#tenant = tenant;
    this.#key = key;
  }

  static async load(keyring: Keyring, tenant: Tenant): Promise<BlindIndexStore> {
    return new BlindIndexStore(tenant, await keyring.digestKey({ ...tenant, purpose: 'token-tags' }));
  }

  /** Empty when they have none. */
  insert(tokens: readonly IndexedToken[]): Write[] {
    // Tokens of one request share their tags.
    const known = new Map<string, Uint8Array>();
    const rows = tokens.flatMap((token) => this.#rows(token, known));
    return rows.length === 0 ? [] : [{ sql: INSERT, rows, expectedRows: 1 }];
  }

  /** Of tokens as they are: of what changes them meanwhile nothing is known here. */
  remove(tokens: readonly Token[]): Write[] {
    const known = new Map<string, Uint8Array>();
    const rows = tokens.flatMap((token) => this.#rows({ token }, known));
    return rows.length === 0 ? [] : [{ sql: REMOVE, rows }];
  }

  compute(text: string): Uint8Array {
    return computeBlindIndex(this.#key, text);
  }

  #rows({ token, before }: IndexedToken, known: Map<string, Uint8Array>): Value[][] {
    const { account, environment } = this.#tenant;
    const slot = toSlot(token.token) ?? '';
    // By their bytes: texts that differ only in what is no Unicode have the same digest.
    const marks = new Map<string, Uint8Array>();
    const there = new Set(before === undefined ? [] : blindIndexInputs(before));
    for (const text of blindIndexInputs(token)) {
      if (there.has(text)) continue;
      const compute = known.get(text) ?? this.compute(text);
      known.set(text, compute);
      marks.set(Buffer.from(compute).toString('latin1'), compute);
    }
    return [...marks.values()].map((compute) => [account, environment, compute, token.createdAt, slot]);
  }
}
