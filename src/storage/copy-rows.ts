import { CopyError } from './copy.ts';
import { type Digest, digestOf, type Page, pagesOf } from './copy-pages.ts';
import { type Database, StorageError, type Value } from './database.ts';
import type { Table } from './table.ts';
import { VAULT_TABLES } from './tables.ts';

/**
 * Moves a vault into another database, as it is: whatever is sealed stays sealed. Rows are written in the order of their
 * keys, a page at a time and each page whole or not at all. So an interrupted copy goes on behind the greatest key of
 * each table that is in the target, and needs no other note of how far it came.
 */
export interface Move {
  readonly source: Database;
  /** In which a copy of this source has begun, see `copy.ts`. */
  readonly target: Database;
  progress(step: Progress): void;
}

export interface Progress {
  readonly table: string;
  readonly step: 'copied' | 'compared';
  /** Of this table and step, so far. */
  readonly rows: number;
}

export interface ComparedTable extends Digest {
  readonly name: string;
}

export async function copyRows(move: Move): Promise<void> {
  for (const table of VAULT_TABLES) await copyTable(table, move);
}

async function copyTable(table: Table, { source, target, progress }: Move): Promise<void> {
  let rows = 0;
  let writing: Promise<void> = Promise.resolve();
  for await (const page of pagesOf(source, table, await greatestKey(target, table))) {
    // The next page is read while this one is written; a page never overtakes the one before.
    await writing;
    writing = writePage(target, table, page);
    // When reading fails meanwhile, that is what is told.
    writing.catch(() => undefined);
    rows += page.length;
    progress({ table: table.name, step: 'copied', rows });
  }
  await writing;
}

async function greatestKey(target: Database, { name, key }: Table): Promise<Value[] | undefined> {
  const order = key.map((column) => `${column} desc`).join(', ');
  const [row] = await target.read(`select ${key.join(', ')} from ${name} order by ${order} limit 1`);
  return row && key.map((column) => row[column] ?? null);
}

async function writePage(target: Database, { name, columns }: Table, rows: Page): Promise<void> {
  const names = Object.keys(columns);
  const values = names.map(() => '?').join(', ');
  const sql = `insert into ${name} (${names.join(', ')}) values (${values}) on conflict do nothing`;
  const { committed } = await target.commit({ writes: [{ sql, rows, touches: 1 }] });
  if (!committed)
    throw new StorageError(`table ${name}: something else writes to the target; is another copy running?`);
}

/** Reads everything again, from both sides. Throws when they are not the same. */
export async function compareRows({ source, target, progress }: Move): Promise<ComparedTable[]> {
  const compared: ComparedTable[] = [];
  for (const table of VAULT_TABLES) {
    let rows = 0;
    const told = (more: number): void => {
      rows += more;
      progress({ table: table.name, step: 'compared', rows });
    };
    const [here, there] = await Promise.all([digestOf(source, table, told), digestOf(target, table, () => undefined)]);
    if (here.rows !== there.rows || here.sha256 !== there.sha256) throw differs(table, here, there);
    compared.push({ name: table.name, ...here });
  }
  return compared;
}

const differs = ({ name }: Table, here: Digest, there: Digest): CopyError =>
  new CopyError(`table ${name} differs between source and target`, {
    isUsageError: false,
    problems: [`source: ${shown(here)}`, `target: ${shown(there)}`],
  });

const shown = ({ rows, sha256 }: Digest): string => `${rows} rows, SHA-256 ${sha256}`;
