import type { Tenant } from '../kernel/environment.ts';
import { LIMITS } from '../kernel/limits.ts';
import { blob, type Database, integer, integerOrNull, type Row, text, type Write, write } from '../storage/database.ts';
import type { Table } from '../storage/table.ts';

/**
 * Imports of cards and their progress. Each committed batch has a row, which is written in the unit of its tokens: an
 * import that was killed continues with the batches that have none.
 */
export const TABLES: readonly Table[] = [
  {
    name: 'imports',
    key: ['account', 'environment', 'id'],
    columns: {
      account: 'integer',
      environment: 'integer',
      id: 'blob',
      batch_cards: 'integer',
      started_at: 'integer',
      finished_at: 'integer',
    },
  },
  {
    name: 'import_batches',
    key: ['account', 'environment', 'import', 'batch'],
    columns: {
      account: 'integer',
      environment: 'integer',
      import: 'blob',
      batch: 'integer',
      digest: 'text',
      results: 'text',
    },
  },
];

const OF_IMPORT = 'account = ?account and environment = ?environment and';
const FIND = `select id, batch_cards, started_at, finished_at from imports where ${OF_IMPORT} id = ?`;
const INSERT = `insert into imports (account, environment, id, batch_cards, started_at)
  values (?account, ?environment, ?, ?, ?) on conflict do nothing`;
const FINISH = `update imports set finished_at = ? where ${OF_IMPORT} id = ? and finished_at is null`;
const FIND_BATCH = `select digest, results from import_batches where ${OF_IMPORT} import = ? and batch = ?`;
const LIST_BATCHES = `select batch from import_batches where ${OF_IMPORT} import = ? and batch >= ? order by batch limit ?`;
const INSERT_BATCH = `insert into import_batches (account, environment, import, batch, digest, results)
  select account, environment, id, cast(? as bigint), cast(? as text), cast(? as text)
    from imports where ${OF_IMPORT} id = ? and finished_at is null on conflict do nothing`;
const DELETE_BATCHES = `delete from import_batches where ${OF_IMPORT} import = ? and batch < ?`;

export interface ImportRow {
  /** Keyed digest of the file, or of the name that the operator gave. */
  readonly id: Uint8Array;
  /** Cards of a batch. */
  readonly batchCards: number;
  readonly startedAt: number;
  readonly finishedAt: number | undefined;
}

export async function findImport(
  database: Database,
  { account, environment }: Tenant,
  id: Uint8Array,
): Promise<ImportRow | undefined> {
  const [row] = await database.read(FIND, account, environment, id);
  return row && toImport(row);
}

const toImport = (row: Row): ImportRow => ({
  id: blob(row, 'id'),
  batchCards: integer(row, 'batch_cards'),
  startedAt: integer(row, 'started_at'),
  finishedAt: integerOrNull(row, 'finished_at'),
});

/** Conflicts when the import exists. */
export const insertImport = ({ account, environment }: Tenant, row: ImportRow): Write =>
  write(INSERT, [account, environment, row.id, row.batchCards, row.startedAt], 1);

/** Conflicts when the import is finished. */
export const finishImport = ({ account, environment }: Tenant, id: Uint8Array, now: number): Write =>
  write(FINISH, [now, account, environment, id], 1);

interface StoredBatch {
  /** Keyed digest of its lines; empty when the import is identified by its file. */
  readonly digest: string;
  /** The text that `formatResults` returned. */
  readonly results: string;
}

export async function findBatch(
  database: Database,
  { account, environment }: Tenant,
  id: Uint8Array,
  batch: number,
): Promise<StoredBatch | undefined> {
  const [row] = await database.read(FIND_BATCH, account, environment, id, batch);
  return row && { digest: text(row, 'digest'), results: text(row, 'results') };
}

/** Returns the numbers of the batches that are committed. */
export async function listBatches(
  database: Database,
  { account, environment }: Tenant,
  id: Uint8Array,
): Promise<Set<number>> {
  const batches = new Set<number>();
  for (let from = 0; ; ) {
    const rows = await database.read(LIST_BATCHES, account, environment, id, from, LIMITS.importBatchesPerDeletion);
    for (const row of rows) batches.add(integer(row, 'batch'));
    const last = rows.at(-1);
    if (last === undefined || rows.length < LIMITS.importBatchesPerDeletion) return batches;
    from = integer(last, 'batch') + 1;
  }
}

/** Conflicts when the batch is committed already, and when the import is finished: its rows of progress are deleted then. */
export const insertBatch = (
  { account, environment }: Tenant,
  id: Uint8Array,
  batch: number,
  { digest, results }: StoredBatch,
): Write => write(INSERT_BATCH, [batch, digest, results, account, environment, id], 1);

/** Deletes the rows of the batches before this one. */
export const deleteBatches = ({ account, environment }: Tenant, id: Uint8Array, before: number): Write =>
  write(DELETE_BATCHES, [account, environment, id, before]);
