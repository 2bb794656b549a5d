import type { KeyObject } from 'node:crypto';
import type { Keyring } from '../crypto/keyring.ts';
import type { Tenant } from '../kernel/environment.ts';
import type { Value, Write } from '../storage/database.ts';
import { slotOf } from './slot.ts';
import type { Token } from './token.ts';
import { markOf, markTexts } from './token-marks.ts';

/** One that is there is written again, so that every run touches one row and many runs become one statement. */
const INSERT = `insert into token_marks (account, environment, mark, created_at, slot) values (?, ?, ?, ?, ?)
  on conflict (account, environment, mark, created_at, slot) do update set slot = excluded.slot`;
const REMOVE = `delete from token_marks
  where account = ? and environment = ? and mark = ? and created_at = ? and slot = ?`;

/** A token that gets the marks that it has not had `before`. */
interface Marked {
  readonly token: Token;
  readonly before?: Token;
}

/** The marks of the tokens of one tenant; written in the unit that writes the token. */
export class MarkStore {
  readonly #tenant: Tenant;
  readonly #key: KeyObject;

  private constructor(tenant: Tenant, key: KeyObject) {
    this.#tenant = tenant;
    this.#key = key;
  }

  static async of(keyring: Keyring, tenant: Tenant): Promise<MarkStore> {
    return new MarkStore(tenant, await keyring.digestKey({ ...tenant, purpose: 'token-marks' }));
  }

  /** Empty when they have none. */
  insert(tokens: readonly Marked[]): Write[] {
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

  mark(text: string): Uint8Array {
    return markOf(this.#key, text);
  }

  #rows({ token, before }: Marked, known: Map<string, Uint8Array>): Value[][] {
    const { account, environment } = this.#tenant;
    const slot = slotOf(token.token) ?? '';
    // By their bytes: texts that differ only in what is no Unicode have the same digest.
    const marks = new Map<string, Uint8Array>();
    const there = new Set(before === undefined ? [] : markTexts(before));
    for (const text of markTexts(token)) {
      if (there.has(text)) continue;
      const mark = known.get(text) ?? this.mark(text);
      known.set(text, mark);
      marks.set(Buffer.from(mark).toString('latin1'), mark);
    }
    return [...marks.values()].map((mark) => [account, environment, mark, token.createdAt, slot]);
  }
}
