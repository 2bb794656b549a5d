import { CopyError } from './copy.ts';
import { type Database, StorageError, type Value } from './database.ts';
import { digestTable, type RowPage, readPages, type TableDigest } from './row-pages.ts';
import type { Table } from './table.ts';

/**
 * Moves a vault into another database unchanged: sealed values stay sealed. Rows are written in the order of their
 * keys, page by page, and each page is atomic. An interrupted copy therefore continues behind the greatest key of each
 * table in the target, and needs no other record of its progress.
 */
export interface CopyJob {
  readonly source: Database;
  /** A copy of this source was started in the target, see `copy.ts`. */
  readonly target: Database;
  /** All tables of the vault. */
  readonly tables: readonly Table[];
  progress(step: Progress): void;
}

export interface Progress {
  readonly table: string;
  readonly step: 'copied' | 'compared';
  /** Rows of this table and step so far. */
  readonly rows: number;
}

export interface TableComparison extends TableDigest {
  readonly name: string;
}

export async function copyRows(move: CopyJob): Promise<void> {
  for (const table of move.tables) await copyTable(table, move);
}

async function copyTable(table: Table, { source, target, progress }: CopyJob): Promise<void> {
  let rows = 0;
  let writing: Promise<void> = Promise.resolve();
  for await (const page of readPages(source, table, await findGreatestKey(target, table))) {
    // The next page is read while this one is written; pages are written in their order.
    await writing;
    writing = writePage(target, table, page);
    // When reading fails in the meantime, the caller gets that error.
    writing.catch(() => undefined);
    rows += page.length;
    progress({ table: table.name, step: 'copied', rows });
  }
  await writing;
}

async function findGreatestKey(target: Database, { name, key }: Table): Promise<Value[] | undefined> {
  const order = key.map((column) => `${column} desc`).join(', ');
  const [row] = await target.readStored(`select ${key.join(', ')} from ${name} order by ${order} limit 1`);
  return row && key.map((column) => row[column] ?? null);
}

async function writePage(target: Database, { name, columns }: Table, rows: RowPage): Promise<void> {
  const names = Object.keys(columns);
  const values = names.map(() => '?').join(', ');
  const sql = `insert into ${name} (${names.join(', ')}) values (${values}) on conflict do nothing`;
  const { committed } = await target.commit({ writes: [{ sql, rows, expectedRows: 1 }] });
  if (!committed)
    throw new StorageError(`table ${name}: something else writes to the target; is another copy running?`);
}

/** Reads everything again from both sides. Throws when the sides differ. */
export async function compareRows({ source, target, tables, progress }: CopyJob): Promise<TableComparison[]> {
  const compared: TableComparison[] = [];
  for (const table of tables) {
    let rows = 0;
    const report = (more: number): void => {
      rows += more;
      progress({ table: table.name, step: 'compared', rows });
    };
    const [here, there] = await Promise.all([
      digestTable(source, table, report),
      digestTable(target, table, () => undefined),
    ]);
    if (here.rows !== there.rows || here.sha256 !== there.sha256) throw tablesDiffer(table, here, there);
    compared.push({ name: table.name, ...here });
  }
  return compared;
}

const tablesDiffer = ({ name }: Table, here: TableDigest, there: TableDigest): CopyError =>
  new CopyError(`table ${name} differs between source and target`, {
    isUsageError: false,
    problems: [`source: ${formatDigest(here)}`, `target: ${formatDigest(there)}`],
  });

const formatDigest = ({ rows, sha256 }: TableDigest): string => `${rows} rows, SHA-256 ${sha256}`;
