import type { EncryptionContext } from '../crypto/seal.ts';
import type { KeyScope, Purpose } from '../crypto/wrapped-key.ts';
import { parameterOf } from './account-numbers.ts';
import { blob, type Database, integer, type Row, type Value, type Write, write } from './database.ts';

/**
 * The sealed columns of a table, as its owner declares them: so that a rotation of keys can seal every row again, and count
 * what is still sealed under an older key. Every owner of sealed columns exports its declarations beside its tables.
 */
export interface SealedColumns {
  readonly table: string;
  readonly purpose: Purpose;
  /** The owner of the keys: the account and environment of the row, or the service. */
  readonly scope: 'tenant' | 'service';
  /** Unique and not null; of tables of tenants without account and environment, which precede it. */
  readonly key: readonly string[];
  /** Further columns that contexts contain. */
  readonly bound: readonly string[];
  /** Sealed columns with the encryption context of a row. Throws `MalformedRowError`. */
  readonly contexts: Readonly<Record<string, (row: Row) => EncryptionContext>>;
}

/** Values of `key` behind which a page starts; undefined for the first page. */
export type SealedPosition = readonly Value[] | undefined;

const unique = (names: readonly string[]): string[] => [...new Set(names)];
const isTenants = ({ scope }: SealedColumns): boolean => scope === 'tenant';

/** Returns `where …`, with parameters of the scope and then of the position. */
function condition(columns: SealedColumns, after: SealedPosition): string {
  const { key } = columns;
  const conditions = [
    ...(isTenants(columns) ? ['account = ?account and environment = ?environment'] : []),
    ...(after === undefined ? [] : [`(${key.join(', ')}) > (${key.map(parameterOf).join(', ')})`]),
  ];
  return conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`;
}

const scopeValues = (columns: SealedColumns, { account, environment }: KeyScope): Value[] =>
  isTenants(columns) ? [account, environment] : [];

/** Reads the next rows of a scope in the order of the key, with all columns that opening and sealing need. */
export function readSealedRows(
  database: Database,
  columns: SealedColumns,
  scope: KeyScope,
  after: SealedPosition,
  limit: number,
): Promise<Row[]> {
  const { table, key, bound, contexts } = columns;
  const owner = isTenants(columns) ? ['account', 'environment'] : [];
  const names = unique([...owner, ...key, ...bound, ...Object.keys(contexts)]);
  const sql = `select ${names.join(', ')} from ${table} ${condition(columns, after)} order by ${key.join(', ')} limit ${limit}`;
  return database.read(sql, ...scopeValues(columns, scope), ...(after ?? []));
}

/** Reads all rows of a scope, page by page. */
export async function* readAllSealedRows(
  database: Database,
  columns: SealedColumns,
  scope: KeyScope,
  pageRows: number,
): AsyncGenerator<Row, void, undefined> {
  for (let after: SealedPosition; ; ) {
    const rows = await readSealedRows(database, columns, scope, after, pageRows);
    yield* rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < pageRows) return;
    after = positionOf(columns, last);
  }
}

export const positionOf = ({ key }: SealedColumns, row: Row): readonly Value[] => key.map((name) => row[name] ?? null);

/** Returns the write that replaces a sealed value; conflicts when the row was changed since it was read. */
export function replaceSealed(
  columns: SealedColumns,
  scope: KeyScope,
  { row, column, sealed }: { readonly row: Row; readonly column: string; readonly sealed: Uint8Array },
): Write {
  const { table, key } = columns;
  const owner = isTenants(columns) ? 'account = ?account and environment = ?environment and ' : '';
  const place = key.map((name) => `${name} = ${parameterOf(name)}`).join(' and ');
  const sql = `update ${table} set ${column} = ? where ${owner}${place} and ${column} = ?`;
  return write(sql, [sealed, ...scopeValues(columns, scope), ...positionOf(columns, row), blob(row, column)], 1);
}

/** Bytes of the key's id in a sealed value, see `crypto/seal.ts`. */
const keyIdSql = (column: string): string => `substr(${column}, 2, 8)`;

/** Counts the sealed values of a scope by the hexadecimal id of their key. Reads page by page, each at once. */
export async function countSealed(
  database: Database,
  columns: SealedColumns,
  scope: KeyScope,
  pageRows: number,
): Promise<Map<string, number>> {
  const { table, key, contexts } = columns;
  const counts = new Map<string, number>();
  let after: SealedPosition;
  for (;;) {
    const values = [...scopeValues(columns, scope), ...(after ?? [])];
    const page = `from ${table} ${condition(columns, after)} order by ${key.join(', ')}`;
    for (const column of Object.keys(contexts)) {
      const rows = await database.read(
        `select ${keyIdSql('sealed')} as key_id, count(*) as number
          from (select ${column} as sealed ${page} limit ${pageRows}) as page where sealed is not null group by ${keyIdSql('sealed')}`,
        ...values,
      );
      for (const row of rows) {
        const id = Buffer.from(blob(row, 'key_id')).toString('hex');
        counts.set(id, (counts.get(id) ?? 0) + integer(row, 'number'));
      }
    }
    const [last] = await database.read(`select ${key.join(', ')} ${page} limit 1 offset ${pageRows - 1}`, ...values);
    if (last === undefined) return counts;
    after = positionOf(columns, last);
  }
}
