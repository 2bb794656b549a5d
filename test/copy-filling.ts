import { randomBytes } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import { commitAll, type Database, type Row, type Value } from '../src/storage/database.ts';
import { readMigrations } from '../src/storage/migrate.ts';
import { applyMigrations } from '../src/storage/sqlite/apply-migrations.ts';
import type { Kind, Table } from '../src/storage/table.ts';
import { VAULT_TABLES } from '../src/storage/tables.ts';

/** Rows in every table of a vault, with values at the edges of what columns hold. They are no records of a service. */

/** Of texts; those beyond U+FFFF come before those of the private area in UTF-16, and behind them in bytes. */
const TEXTS = ['', 'a', 'it\'s \\ "quoted" %', 'ñandú', '\u{e000}', '\u{1f600}', 'line\nline\ttab', ' blank '];
const INTEGERS = [0, 1, -1, Number.MAX_SAFE_INTEGER, -Number.MAX_SAFE_INTEGER];
/** What fits a column `integer` of PostgreSQL. */
const SMALL_INTEGERS = [0, 1, -1, 2 ** 31 - 1, -(2 ** 31)];
const BLOBS = [new Uint8Array(), Uint8Array.of(0), Uint8Array.of(0xff, 0x00, 0x5c, 0x78), randomBytes(40)];

interface Column {
  readonly kind: Kind;
  readonly small: boolean;
  readonly nullable: boolean;
}

/** From the schema itself. */
function columnsOf(table: Table): Map<string, Column> {
  const database = new DatabaseSync(':memory:');
  try {
    applyMigrations(database, readMigrations(), 1);
    const found = database.prepare(`pragma table_xinfo(${table.name})`).all() as {
      name: string;
      type: string;
      notnull: number;
    }[];
    return new Map(
      found.map(({ name, type, notnull }) => {
        const kind = table.columns[name] ?? 'text';
        return [name, { kind, small: type.toLowerCase() === 'integer', nullable: notnull === 0 }];
      }),
    );
  } finally {
    database.close();
  }
}

function valueAt({ kind, small, nullable }: Column, index: number): Value {
  if (nullable && index % 3 === 1) return null;
  const values: readonly Value[] =
    kind === 'text' ? TEXTS : kind === 'blob' ? BLOBS : small ? SMALL_INTEGERS : INTEGERS;
  return values[index % values.length] ?? null;
}

/** Different in every row and, as text, in every table; not in the order of the rows. */
function keyAt({ kind }: Column, index: number, table: string): Value {
  const scattered = (index * 7919) % 100_003;
  if (kind === 'integer') return scattered;
  const text = `${TEXTS[index % TEXTS.length]}${scattered}${table}`;
  return kind === 'text' ? text : new Uint8Array(Buffer.from(text));
}

/** The same in many rows. */
function sharedKeyAt({ kind }: Column, index: number): Value {
  if (kind === 'integer') return index % 3;
  const text = `${TEXTS[index % 3]}key`;
  return kind === 'text' ? text : new Uint8Array(Buffer.from(text));
}

/** A row; `wide` bytes of it are of its first column that holds bytes or, without one, text. */
function rowAt(table: Table, columns: Map<string, Column>, index: number, wide: number): Value[] {
  const last = table.key.at(-1);
  const widened = [...columns].find(([name, { kind }]) => kind === 'blob' && !table.key.includes(name))?.[0];
  return [...columns].map(([name, column]) => {
    if (name === last) return keyAt(column, index, table.name);
    if (table.key.includes(name)) return sharedKeyAt(column, index);
    if (name === widened && wide > 0) return randomBytes(wide);
    return valueAt(column, index);
  });
}

export const isLarge = (table: string): boolean => LARGE.includes(table);

/** Unique beside the key. */
const UNIQUE: Readonly<Record<string, readonly string[]>> = { tokens: ['fingerprint'], people: ['email'] };

/** Some tables of each kind: of a few columns and of many, and with keys of one, two and more. */
const LARGE = ['accounts', 'tokens', 'captures', 'journal', 'payments', 'people'];

export interface Filling {
  /** In each table. */
  readonly rows: number;
  /** In some of them, when it is more. */
  readonly most?: number;
  /** Bytes in a row of captures, by the number of the row; others are narrow. */
  readonly wide?: (index: number) => number;
}

/** A vault with its own wrapping keys. */
export async function fillVault(database: Database, { rows, most = rows, ...more }: Filling): Promise<void> {
  for (const table of VAULT_TABLES)
    await fillTable(database, table, { rows: isLarge(table.name) ? most : rows, ...more });
  const keys = ['production', 'sandbox', 'service'].map(wrappingKey);
  const sql = insertInto('wrapped_keys', Object.keys(keys[0] ?? {}));
  await commitAll(database, { writes: [{ sql, rows: keys.map((key) => Object.values(key)), touches: 1 }] });
}

/** Rows in those tables that whoever used the vault left empty. */
export async function fillUnused(database: Database): Promise<void> {
  for (const table of VAULT_TABLES) {
    const found = await database.read(`select 1 as found from ${table.name} limit 1`);
    if (found.length === 0) await fillTable(database, table, { rows: 20 });
  }
}

async function fillTable(database: Database, table: Table, { rows, wide = () => 0 }: Filling): Promise<void> {
  const columns = columnsOf(table);
  const names = [...columns.keys()];
  const written = Array.from({ length: rows }, (_, index) => {
    const row = rowAt(table, columns, index, table.name === 'captures' ? wide(index) : 0);
    for (const name of UNIQUE[table.name] ?? []) row[names.indexOf(name)] = randomBytes(16);
    return row;
  });
  const sql = insertInto(table.name, names);
  for (let at = 0; at < rows; at += 500)
    await commitAll(database, { writes: [{ sql, rows: written.slice(at, at + 500), touches: 1 }] });
}

const insertInto = (table: string, names: readonly string[]): string =>
  `insert into ${table} (${names.join(', ')}) values (${names.map(() => '?').join(', ')})`;

const wrappingKey = (environment: string): Record<string, Value> => ({
  account: '',
  environment,
  purpose: 'wrapping',
  version: 1,
  id: randomBytes(16).toString('hex'),
  wrapped: randomBytes(80),
  reserved: 0,
  created_at: 1,
});

/** All rows of all tables of a vault, each table in the order of its keys as the database sees it. */
export async function everything(database: Database): Promise<Record<string, Row[]>> {
  const tables: Record<string, Row[]> = {};
  for (const { name, key } of VAULT_TABLES) {
    const rows = await database.read(`select * from ${name} order by ${key.join(', ')}`);
    tables[name] = rows.map((row) =>
      Object.fromEntries(
        Object.entries(row).map(([column, value]) => [
          column,
          value instanceof Uint8Array ? `x'${Buffer.from(value).toString('hex')}'` : value,
        ]),
      ),
    );
  }
  return tables;
}
