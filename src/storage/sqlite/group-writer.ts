import type { DigestKeys } from '../../crypto/digest-keys.ts';
import { environmentNumber, SERVICE_NUMBER, type StoredEntry } from '../account-numbers.ts';
import type { Row, Value } from '../database.ts';
import { type GroupResult, isCommitted } from '../group-commit.ts';
import { extendChains, FIRST_LANE, type KnownHead } from '../journal.ts';
import {
  findRegisterWithout,
  READ_REGISTER,
  REPLACE_REGISTER,
  type RegisteredLane,
  withLane,
} from '../lane-register.ts';
import type { Table } from '../table.ts';
import type { Connection } from './connection.ts';
import { type Packed, PackedReader } from './packing.ts';

/** SQLite has one writer at a time, so all growing chains belong to one lane. */
const LANE = FIRST_LANE;

const FIND_HEAD = 'select sequence, hash, seal from journal_heads where account = ? and lane = ?';
const INSERT_RECORD =
  'insert into journal (account, lane, sequence, environment, at, record, hash) values (?, ?, ?, ?, ?, ?, ?)';
const UPSERT_HEAD = `insert into journal_heads (account, lane, sequence, hash, seal) values (?, ?, ?, ?, ?)
  on conflict (account, lane) do update set sequence = excluded.sequence, hash = excluded.hash, seal = excluded.seal`;

/** Faults of the disk or the file fail every unit of a group; any other error fails only its unit. */
const FILE_FAULTS = {
  SQLITE_BUSY: 5,
  SQLITE_LOCKED: 6,
  SQLITE_NOMEM: 7,
  SQLITE_READONLY: 8,
  SQLITE_IOERR: 10,
  SQLITE_CORRUPT: 11,
  SQLITE_FULL: 13,
  SQLITE_CANTOPEN: 14,
  SQLITE_NOTADB: 26,
};

const FAULT_CODES = new Set(Object.values(FILE_FAULTS));

const isFileFault = (error: unknown): boolean => FAULT_CODES.has(((error as { errcode?: number }).errcode ?? 0) & 0xff);

/**
 * Writes groups of units as one durable transaction, and returns the results of each group. A unit that conflicts is
 * rolled back alone. `committed: true` is returned only after the commit is on disk.
 */
export function writeGroups(
  connection: Connection,
  journalKey: DigestKeys | undefined,
  groups: readonly Packed[],
): GroupResult[][] {
  // Savepoints cost as much as the writes of a unit, and conflicts are rare.
  return (
    attemptGroups(connection, journalKey, groups, { savepoints: false }) ??
    (attemptGroups(connection, journalKey, groups, { savepoints: true }) as GroupResult[][])
  );
}

interface Attempt {
  /** Each unit has a savepoint, to which it is rolled back alone. */
  readonly savepoints: boolean;
}

/** Without savepoints: returns undefined, with nothing written, when a unit is not committed. */
function attemptGroups(
  connection: Connection,
  journalKey: DigestKeys | undefined,
  groups: readonly Packed[],
  attempt: Attempt,
): GroupResult[][] | undefined {
  const { database } = connection;
  connection.statement('begin immediate').run();
  try {
    const kept: StoredEntry[] = [];
    const results: GroupResult[][] = [];
    for (const packed of groups) {
      const ofGroup = runGroup(connection, packed, attempt, kept);
      if (ofGroup === undefined) {
        database.exec('rollback');
        return undefined;
      }
      results.push(ofGroup);
    }
    if (kept.length > 0) appendToJournal(connection, journalKey, kept);
    connection.statement('commit').run();
    return results;
  } catch (error) {
    if (database.isTransaction) database.exec('rollback');
    throw error;
  }
}

/** Adds the journal entries of committed units to `kept`. */
function runGroup(
  connection: Connection,
  packed: Packed,
  { savepoints }: Attempt,
  kept: StoredEntry[],
): GroupResult[] | undefined {
  const reader = new PackedReader(packed);
  const results: GroupResult[] = [];
  while (!reader.isAtEnd) {
    const result = (savepoints ? runUnitAlone : runUnit)(connection, packed.statements, reader);
    const committed = isCommitted(result);
    if (!committed && !savepoints) return undefined;
    results.push(result);
    for (let left = reader.count(); left > 0; left--) {
      const entry = reader.entry();
      if (committed) kept.push(entry);
    }
  }
  return results;
}

function runUnitAlone(connection: Connection, statements: readonly string[], reader: PackedReader): GroupResult {
  connection.statement('savepoint unit').run();
  const result = runUnit(connection, statements, reader);
  if (!isCommitted(result)) connection.statement('rollback to unit').run();
  connection.statement('release unit').run();
  return result;
}

const COMMITTED: GroupResult = { committed: true };

/** Reads all writes of the unit, and executes them until one conflicts. */
function runUnit(connection: Connection, statements: readonly string[], reader: PackedReader): GroupResult {
  let result = COMMITTED;
  const writes = reader.count();
  for (let write = 0; write < writes; write++) {
    const { statement, rows, columns, expectedRows } = reader.write();
    const values = new Array<Value>(columns);
    for (let row = 0; row < rows; row++) {
      for (let column = 0; column < columns; column++) values[column] = reader.value();
      if (result !== COMMITTED) continue;
      const changes = runStatement(connection, statements[statement] ?? '', values);
      if (typeof changes !== 'number') result = changes;
      else if (expectedRows !== undefined && changes !== expectedRows) result = { committed: false, write, row };
    }
  }
  return result;
}

/** Returns the number of rows that were touched. Throws when the file is at fault. */
function runStatement(
  connection: Connection,
  sql: string,
  values: readonly Value[],
): number | { readonly error: string } {
  try {
    return Number(connection.statement(sql).run(...values).changes);
  } catch (error) {
    if (isFileFault(error)) throw error;
    return { error: `a write failed: ${(error as { code?: string }).code ?? 'unknown'}` };
  }
}

function appendToJournal(connection: Connection, key: DigestKeys | undefined, entries: readonly StoredEntry[]): void {
  if (key === undefined) throw new Error('the journal is written before its key is known');
  const numbers = numbersOf(entries);
  const heads = loadHeads(connection, numbers);
  const extended = extendChains(key, LANE, heads, entries);
  const insert = connection.statement(INSERT_RECORD);
  for (const { account, lane, sequence, environment, at, record, hash } of extended.records)
    insert.run(numbers.get(account) ?? null, lane, sequence, environmentNumber(environment), at, record, hash);
  const upsert = connection.statement(UPSERT_HEAD);
  for (const { account, lane, sequence, hash, seal: headSeal } of extended.heads)
    upsert.run(numbers.get(account) ?? null, lane, sequence, hash, headSeal);
  if (extended.newLane !== undefined) register(connection, key, extended.newLane);
}

function register(connection: Connection, key: DigestKeys, lane: RegisteredLane): void {
  const row = connection.statement(READ_REGISTER).get() as Row | undefined;
  const present = findRegisterWithout(lane.lane, key, row);
  if (present !== undefined) connection.statement(REPLACE_REGISTER).run(...withLane(key, present, lane));
}

/** The numbers of the accounts whose chains grow, and of the service. */
const numbersOf = (entries: readonly StoredEntry[]): Map<string, number> =>
  new Map([['', SERVICE_NUMBER], ...entries.map(({ account, number }) => [account, number] as const)]);

/** In the place of a value that is no seal, which only an attacker writes. */
const NO_SEAL = new Uint8Array(0);

/** Read within the transaction, never cached: a command is another process that writes the same lane. */
function loadHeads(connection: Connection, numbers: ReadonlyMap<string, number>): Map<string, KnownHead> {
  const statement = connection.statement(FIND_HEAD);
  const heads = new Map<string, KnownHead>();
  for (const [account, number] of numbers) {
    const found = statement.get(number, LANE);
    if (found === undefined) continue;
    const { sequence, hash, seal } = found;
    const known = { account, lane: LANE, sequence: Number(sequence), hash: String(hash) };
    heads.set(account, { ...known, seal: seal instanceof Uint8Array ? seal : NO_SEAL });
  }
  return heads;
}

export const TABLES: readonly Table[] = [
  {
    name: 'heartbeat',
    key: ['id'],
    columns: { id: 'integer', beats: 'integer' },
    isLocal: true,
  },
];

/** Shows that the database can be written again, for example after a full disk. */
export const PROBE_WRITE =
  'insert into heartbeat (id, beats) values (1, 1) on conflict (id) do update set beats = beats + 1';
