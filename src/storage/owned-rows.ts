import type { KeyScope } from '../crypto/wrapped-key.ts';
import { parameterOf } from './account-numbers.ts';
import { blob, type Database, integer, type Row, type Value, type Write, write } from './database.ts';

/** The rows of a table that depend on keys: each belongs to the account and environment in its columns, or to the service. */
export interface OwnedRows {
  readonly table: string;
  /** The owner of the keys: the account and environment of the row, or the service. */
  readonly scope: 'tenant' | 'service';
  /** Unique and not null; of tables of tenants without account and environment, which precede it. */
  readonly key: readonly string[];
}

/** Values of `key` behind which a page starts; undefined for the first page. */
export type RowPosition = readonly Value[] | undefined;

const isTenants = ({ scope }: OwnedRows): boolean => scope === 'tenant';

/** Returns `where …`, with parameters of the scope and then of the position. */
function condition(rows: OwnedRows, after: RowPosition): string {
  const { key } = rows;
  const conditions = [
    ...(isTenants(rows) ? ['account = ?account and environment = ?environment'] : []),
    ...(after === undefined ? [] : [`(${key.join(', ')}) > (${key.map(parameterOf).join(', ')})`]),
  ];
  return conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`;
}

const scopeValues = (rows: OwnedRows, { account, environment }: KeyScope): Value[] =>
  isTenants(rows) ? [account, environment] : [];

export interface RowPage {
  readonly after: RowPosition;
  readonly limit: number;
}

/** Reads the next rows of a scope in the order of the key. `columns`: what to select; of tenants account and environment as well. */
export function readOwnedRows(
  database: Database,
  rows: OwnedRows,
  columns: readonly string[],
  scope: KeyScope,
  { after, limit }: RowPage,
): Promise<Row[]> {
  const names = [...new Set([...(isTenants(rows) ? ['account', 'environment'] : []), ...columns])];
  const sql = `select ${names.join(', ')} from ${rows.table} ${condition(rows, after)} order by ${rows.key.join(', ')} limit ${limit}`;
  return database.read(sql, ...scopeValues(rows, scope), ...(after ?? []));
}

export const positionOf = ({ key }: OwnedRows, row: Row): readonly Value[] => key.map((name) => row[name] ?? null);

/** Returns the write that replaces a value of a row; conflicts when the value was changed since the row was read. */
export function replaceValue(
  rows: OwnedRows,
  scope: KeyScope,
  { row, column, value }: { readonly row: Row; readonly column: string; readonly value: Uint8Array },
): Write {
  const { table, key } = rows;
  const owner = isTenants(rows) ? 'account = ?account and environment = ?environment and ' : '';
  const place = key.map((name) => `${name} = ${parameterOf(name)}`).join(' and ');
  const sql = `update ${table} set ${column} = ? where ${owner}${place} and ${column} = ?`;
  return write(sql, [value, ...scopeValues(rows, scope), ...positionOf(rows, row), blob(row, column)], 1);
}

/** A part of the values of a column that names their key, as SQL over `value`, and as text. */
export interface KeyName {
  readonly sql: string;
  readonly parse: (bytes: Uint8Array) => string;
}

/** Counts the values of columns in the rows of a scope by the key that they name. Reads page by page, each at once. */
export async function countByKey(
  database: Database,
  rows: OwnedRows & { readonly columns: readonly string[] },
  scope: KeyScope,
  { name, pageRows }: { readonly name: KeyName; readonly pageRows: number },
): Promise<Map<string, number>> {
  const { table, key, columns } = rows;
  const counts = new Map<string, number>();
  let after: RowPosition;
  for (;;) {
    const values = [...scopeValues(rows, scope), ...(after ?? [])];
    const page = `from ${table} ${condition(rows, after)} order by ${key.join(', ')}`;
    for (const column of columns) {
      const groups = await database.read(
        `select ${name.sql} as key_name, count(*) as number
          from (select ${column} as value ${page} limit ${pageRows}) as page where value is not null group by ${name.sql}`,
        ...values,
      );
      for (const group of groups) {
        const id = name.parse(blob(group, 'key_name'));
        counts.set(id, (counts.get(id) ?? 0) + integer(group, 'number'));
      }
    }
    const [last] = await database.read(`select ${key.join(', ')} ${page} limit 1 offset ${pageRows - 1}`, ...values);
    if (last === undefined) return counts;
    after = positionOf(rows, last);
  }
}
