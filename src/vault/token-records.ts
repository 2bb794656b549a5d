import type { Keyring } from '../crypto/keyring.ts';
import type { Tenant } from '../kernel/environment.ts';
import { LIMITS } from '../kernel/limits.ts';
import { blob, type Database, integer, type Row, textOrNull } from '../storage/database.ts';
import { fromSlot } from './slot.ts';
import type { Token } from './token.ts';
import { unsealIfAuthentic } from './token-store.ts';

const PAGE = `select slot, scheme, format, record, created_at from tokens
  where account = ?account and environment = ?environment and record is not null and created_at between ? and ?
  and (created_at > ? or slot > ?) order by created_at, slot limit ?`;

/** A token with its card number, for an export. */
export interface TokenExport {
  readonly token: string;
  /** Undefined when the record cannot be unsealed: it was altered in the database. */
  readonly content: Token | undefined;
  /** Name of the format under which it is persistent, as `persistentFormat` returns it. */
  readonly persistentFormat: string | undefined;
}

/**
 * Returns all tokens that were created until a time, oldest first, in pages. Each page is one moment of the database; a
 * token that exists from the first page to the last is returned once.
 */
export async function* readTokenPages(
  { database, keyring }: { database: Database; keyring: Keyring },
  tenant: Tenant,
  until: number,
): AsyncGenerator<readonly TokenExport[]> {
  let createdAt = 0;
  let slot = new Uint8Array(0);
  for (;;) {
    const { account, environment } = tenant;
    const position = [createdAt, until, createdAt, slot];
    const rows: Row[] = await database.read(PAGE, account, environment, ...position, LIMITS.rowsPerExportPage);
    const last = rows.at(-1);
    if (last === undefined) return;
    yield await Promise.all(rows.map((row) => toExport(keyring, tenant, row)));
    if (rows.length < LIMITS.rowsPerExportPage) return;
    createdAt = integer(last, 'created_at');
    slot = new Uint8Array(blob(last, 'slot'));
  }
}

async function toExport(keyring: Keyring, tenant: Tenant, row: Row): Promise<TokenExport> {
  return {
    token: fromSlot(blob(row, 'slot')),
    content: await unsealIfAuthentic(keyring, tenant, row),
    persistentFormat: textOrNull(row, 'format'),
  };
}
