import { hash } from 'node:crypto';
import type { SadKeyStore, WrappedSadKey } from '../crypto/sad-keys.ts';
import { MINUTE } from '../kernel/clock.ts';
import { OperatorError } from '../kernel/operator-error.ts';
import {
  commitOrThrow,
  type Database,
  type DatabaseReads,
  integerOrNull,
  StorageError,
  text,
  type Value,
  write,
} from './database.ts';
import { knownSchema, schemaVersion } from './migrate.ts';
import { digestTable, type RowPage, readPages, type TableDigest } from './row-pages.ts';
import type { Table } from './table.ts';
import { hasWrappedKeys } from './wrapped-key-store.ts';

export const TABLES: readonly Table[] = [
  {
    name: 'copies',
    key: ['id'],
    columns: { id: 'integer', source: 'text', started_at: 'integer', finished_at: 'integer' },
    isLocal: true,
  },
];

/** The progress of a copy is stored in its target, so that nothing uses an incomplete target. */
const STATE = 'select source, finished_at from copies where id = 1';
const beginSql = (tables: readonly Table[]): string => `insert into copies (id, source, started_at, finished_at)
  select 1, cast(? as text), cast(? as bigint), null
  where not exists (select 1 from copies)${tables.map(({ name }) => ` and not exists (select 1 from ${name})`).join('')}`;
const FINISH = 'update copies set finished_at = ? where id = 1 and finished_at is null';
const WRAPPING_KEYS = `select id from wrapped_keys where account = 0 and purpose = 'wrapping' and version = 1
  order by environment`;
const RECENT_WRITER = 'select 1 as seen from writers where last_seen_at > ? limit 1';

/** How long a node that was killed counts as running. */
const ACTIVE_WITHIN_MS = MINUTE;

/** Thrown with the reason why there is no copy, for the operator. */
export class CopyError extends OperatorError {
  override readonly name = 'CopyError';
  override readonly isUsageError: boolean;
  override readonly problems: readonly string[];
  constructor(
    message: string,
    { isUsageError = true, problems = [] }: { isUsageError?: boolean; problems?: string[] } = {},
  ) {
    super(message);
    this.isUsageError = isUsageError;
    this.problems = problems;
  }
}

interface State {
  /** Identifies the vault that is copied. */
  readonly source: string;
  readonly finishedAt: number | undefined;
}

async function loadState(database: DatabaseReads): Promise<State | undefined> {
  const [row] = await database.read(STATE);
  return row && { source: text(row, 'source'), finishedAt: integerOrNull(row, 'finished_at') };
}

/** True when this database is the target of an unfinished copy and therefore incomplete. */
export async function unfinishedCopy(database: DatabaseReads): Promise<boolean> {
  const state = await loadState(database);
  return state !== undefined && state.finishedAt === undefined;
}

/** True when a copy into this database was started, whether or not it was finished. */
export const hasCopyBegun = async (database: Database): Promise<boolean> => (await loadState(database)) !== undefined;

/**
 * Checks that this is a complete vault of the present schema, and returns a digest that identifies it and its copies.
 */
export async function identifySource(source: Database): Promise<string> {
  let version: number;
  try {
    version = await schemaVersion(source);
  } catch (cause) {
    if (!(cause instanceof StorageError)) throw cause;
    throw new CopyError(`the source holds no vault that can be read: ${cause.message}`);
  }
  const newest = knownSchema();
  if (version < newest) {
    const hint = 'start the service with it once, or run: cardvault migrate';
    throw new CopyError(`the source has schema ${version}, and this cardvault ${newest}; ${hint}`);
  }
  if (version !== newest) throw new CopyError(`the source has schema ${version}, made by a newer cardvault`);
  if (await unfinishedCopy(source)) throw new CopyError('the source is itself a copy that was not finished');
  const keys = await source.read(WRAPPING_KEYS);
  if (keys.length === 0) throw new CopyError('the source holds no vault: it has no keys');
  return hash('sha256', keys.map((row) => text(row, 'id')).join('\n'));
}

const INSERT_PROBE = 'insert into leases (name, owner, expires_at) values (?, ?, 0)';
const DELETE_PROBE = 'delete from leases where owner = ?';

/**
 * True when both are one database at two addresses: a probe, a random text, that is written to the target appears in
 * the source.
 */
export async function isSameDatabase(source: Database, target: Database, probe: string): Promise<boolean> {
  await commitOrThrow(target, { writes: [write(INSERT_PROBE, [`copy ${probe}`, probe], 1)] });
  const found = await source.read('select 1 as found from leases where owner = ?', probe);
  await commitOrThrow(target, { writes: [write(DELETE_PROBE, [probe], 1)] });
  return found.length > 0;
}

/** Creates the present schema in an empty target. Throws `CopyError` for an older vault, which is no target. */
export async function createSchema(target: Database, clock: () => number): Promise<void> {
  const version = await schemaVersion(target).catch((cause: unknown) => {
    if (cause instanceof StorageError) return undefined;
    throw cause;
  });
  if (version !== undefined && version < knownSchema() && (await hasWrappedKeys(target)))
    throw new CopyError(`the target is not empty: it holds a vault of schema ${version}`);
  await target.migrate(clock);
}

/**
 * Stores in the target that a copy of this source was started, unless one was. Returns the time at which it was finished,
 * if it was. Writes nothing into a target that contains anything else.
 */
export async function beginCopy(
  target: Database,
  { source, tables }: { source: string; tables: readonly Table[] },
  now: number,
): Promise<number | undefined> {
  let state = await loadState(target);
  if (state === undefined) {
    const begun = await target.commit({ writes: [write(beginSql(tables), [source, now], 1)] });
    if (begun.committed) return undefined;
    // Another copy may have started in the meantime.
    state = await loadState(target);
  }
  if (state === undefined)
    throw new CopyError(`the target is not empty: table ${await findFilledTable(target, tables)} has rows`);
  if (state.source !== source) throw new CopyError('the target holds a copy of another vault');
  return state.finishedAt;
}

async function findFilledTable(target: Database, tables: readonly Table[]): Promise<string | undefined> {
  for (const { name } of tables)
    if ((await target.read(`select 1 as filled from ${name} limit 1`)).length > 0) return name;
  return undefined;
}

/** Turns the target into a vault like any other. */
export async function finishCopy(target: Database, now: number): Promise<void> {
  const { committed } = await target.commit({ writes: [write(FINISH, [now], 1)] });
  if (!committed) throw new CopyError('another process has finished or removed this copy', { isUsageError: false });
}

/** True when a node has used the database within the last minute. */
export const hasRecentActivity = async (database: Database, now: number): Promise<boolean> =>
  (await database.read(RECENT_WRITER, now - ACTIVE_WITHIN_MS)).length > 0;

/**
 * Moves a vault into another database unchanged: sealed values stay sealed. Rows are written in the order of their
 * keys, page by page, and each page is atomic. An interrupted copy therefore continues behind the greatest key of each
 * table in the target, and needs no other record of its progress.
 */
export interface CopyJob {
  readonly source: Database;
  /** A copy of this source was started in the target. */
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

/** A copy of which only the rows are read. */
export type RowsJob = Omit<CopyJob, 'source'> & { readonly source: Pick<Database, 'readStored'> };

export async function copyRows(move: RowsJob): Promise<void> {
  for (const table of move.tables) await copyTable(table, move);
}

async function copyTable(table: Table, { source, target, progress }: RowsJob): Promise<void> {
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

/** Has the end of every chain of the journal, which all changes of records extend. */
const CHANGED_BY_EACH = 'journal_heads';

/**
 * Compares once more what each change of records touches, as the last step of a copy: a table that was compared early may have
 * changed in the source since. Throws `CopyError`.
 */
export async function compareHeads(copy: CopyJob): Promise<void> {
  const tables = copy.tables.filter(({ name }) => name === CHANGED_BY_EACH);
  await compareRows({ ...copy, tables });
}

const tablesDiffer = ({ name }: Table, here: TableDigest, there: TableDigest): CopyError =>
  new CopyError(`table ${name} differs between source and target`, {
    isUsageError: false,
    problems: [`source: ${formatDigest(here)}`, `target: ${formatDigest(there)}`],
  });

const formatDigest = ({ rows, sha256 }: TableDigest): string => `${rows} rows, SHA-256 ${sha256}`;

/**
 * Copies the keys of sensitive authentication data, still wrapped; returns their number. An interrupted copy can be
 * repeated.
 */
export async function copySadKeys(source: SadKeyStore, target: SadKeyStore): Promise<number> {
  const keys = await source.list();
  for (const key of keys) await target.insert(key);
  const copied = new Set((await target.list()).map(formatKey));
  if (copied.size === keys.length && keys.every((key) => copied.has(formatKey(key)))) return keys.length;
  throw new CopyError('the target holds other keys of sensitive authentication data than the source', {
    isUsageError: false,
    problems: ['remove what an earlier vault left beside the target, and begin again'],
  });
}

/**
 * Removes the keys from a target that is a backup: an earlier, interrupted copy may not have been one. Throws
 * `CopyError`.
 */
export async function assertNoSadKeys(target: SadKeyStore): Promise<void> {
  if ((await target.list()).length === 0) return;
  throw new CopyError('the target holds keys of sensitive authentication data; empty it, and begin again');
}

const formatKey = ({ wrapped, ...key }: WrappedSadKey): string =>
  JSON.stringify([key.id, key.environment, key.period, key.closedAt, Buffer.from(wrapped).toString('hex')]);
