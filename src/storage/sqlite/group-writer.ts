import type { KeyObject } from 'node:crypto';
import { environmentNumber, SERVICE_NUMBER, type StoredEntry, type StoredUnit } from '../account-numbers.ts';
import type { CommitResult, Row } from '../database.ts';
import type { GroupResult } from '../group-commit.ts';
import { extendChains, FIRST_LANE, type Head } from '../journal.ts';
import {
  findRegisterWithout,
  READ_REGISTER,
  REPLACE_REGISTER,
  type RegisteredLane,
  withLane,
} from '../lane-register.ts';
import type { Table } from '../table.ts';
import type { Connection } from './connection.ts';

/** SQLite has one writer at a time, so all growing chains belong to one lane. */
const LANE = FIRST_LANE;

const FIND_HEAD = 'select sequence, hash from journal_heads where account = ? and lane = ?';
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
 * Writes a group of units as one durable transaction. A unit that conflicts is rolled back alone. `committed: true` is
 * returned only after the commit is on disk.
 */
export function writeGroup(
  connection: Connection,
  journalKey: KeyObject | undefined,
  units: readonly StoredUnit[],
): GroupResult[] {
  const { database } = connection;
  connection.statement('begin immediate').run();
  try {
    const results = units.map((unit) => writeUnit(connection, unit));
    const kept = units.flatMap((unit, index) => (isCommitted(results[index]) ? (unit.journal ?? []) : []));
    if (kept.length > 0) appendToJournal(connection, journalKey, kept);
    connection.statement('commit').run();
    return results;
  } catch (error) {
    if (database.isTransaction) database.exec('rollback');
    throw error;
  }
}

const isCommitted = (result: GroupResult | undefined): boolean =>
  result !== undefined && 'committed' in result && result.committed;

function writeUnit(connection: Connection, unit: StoredUnit): GroupResult {
  connection.statement('savepoint unit').run();
  let result: GroupResult;
  try {
    result = runWrites(connection, unit);
  } catch (error) {
    if (isFileFault(error)) throw error;
    result = { error: `a write failed: ${(error as { code?: string }).code ?? 'unknown'}` };
  }
  if (!isCommitted(result)) connection.statement('rollback to unit').run();
  connection.statement('release unit').run();
  return result;
}

function runWrites(connection: Connection, unit: StoredUnit): CommitResult {
  for (const [write, { sql, rows, expectedRows }] of unit.writes.entries()) {
    const statement = connection.statement(sql);
    for (const [row, values] of rows.entries()) {
      const { changes } = statement.run(...values);
      if (expectedRows !== undefined && changes !== expectedRows) return { committed: false, write, row };
    }
  }
  return { committed: true };
}

function appendToJournal(connection: Connection, key: KeyObject | undefined, entries: readonly StoredEntry[]): void {
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

function register(connection: Connection, key: KeyObject, lane: RegisteredLane): void {
  const row = connection.statement(READ_REGISTER).get() as Row | undefined;
  const present = findRegisterWithout(lane.lane, key, row);
  if (present !== undefined) connection.statement(REPLACE_REGISTER).run(...withLane(key, present, lane));
}

/** The numbers of the accounts whose chains grow, and of the service. */
const numbersOf = (entries: readonly StoredEntry[]): Map<string, number> =>
  new Map([['', SERVICE_NUMBER], ...entries.map(({ account, number }) => [account, number] as const)]);

/** Read within the transaction, never cached: a command is another process that writes the same lane. */
function loadHeads(connection: Connection, numbers: ReadonlyMap<string, number>): Map<string, Head> {
  const statement = connection.statement(FIND_HEAD);
  const heads = new Map<string, Head>();
  for (const [account, number] of numbers) {
    const found = statement.get(number, LANE);
    if (found === undefined) continue;
    heads.set(account, { account, lane: LANE, sequence: Number(found['sequence']), hash: String(found['hash']) });
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
