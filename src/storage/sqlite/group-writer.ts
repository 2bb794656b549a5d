import type { KeyObject } from 'node:crypto';
import type { JournalEntry, Outcome, Row, Unit } from '../database.ts';
import type { GroupResult } from '../group.ts';
import { extendChains, FIRST_LANE, type Head } from '../journal.ts';
import {
  READ_REGISTER,
  REPLACE_REGISTER,
  type RegisteredLane,
  registerLane,
  registerWithout,
} from '../lane-register.ts';
import type { Connection } from './open.ts';

/** SQLite has one writer at a time, so all chains that grow are of one lane. */
const LANE = FIRST_LANE;

const HEAD = 'select sequence, hash from journal_heads where account = ? and lane = ?';
const LINK =
  'insert into journal (account, lane, sequence, environment, at, record, hash) values (?, ?, ?, ?, ?, ?, ?)';
const SEAL = `insert into journal_heads (account, lane, sequence, hash, seal) values (?, ?, ?, ?, ?)
  on conflict (account, lane) do update set sequence = excluded.sequence, hash = excluded.hash, seal = excluded.seal`;

/** Faults of the disk or the file concern every unit of a group; any other error only the unit that ran into it. */
const CONCERNS_ALL = {
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

const FAULT_CODES = new Set(Object.values(CONCERNS_ALL));

const isFaultOfDatabase = (error: unknown): boolean =>
  FAULT_CODES.has(((error as { errcode?: number }).errcode ?? 0) & 0xff);

/**
 * Writes a group of units as one durable transaction. A unit that conflicts is undone alone. `committed: true` is only
 * returned after the commit is on disk.
 */
export function writeGroup(
  connection: Connection,
  journalKey: KeyObject | undefined,
  units: readonly Unit[],
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

function writeUnit(connection: Connection, unit: Unit): GroupResult {
  connection.statement('savepoint unit').run();
  let result: GroupResult;
  try {
    result = runWrites(connection, unit);
  } catch (error) {
    if (isFaultOfDatabase(error)) throw error;
    result = { error: `a write failed: ${(error as { code?: string }).code ?? 'unknown'}` };
  }
  if (!isCommitted(result)) connection.statement('rollback to unit').run();
  connection.statement('release unit').run();
  return result;
}

function runWrites(connection: Connection, unit: Unit): Outcome {
  for (const [write, { sql, rows, touches }] of unit.writes.entries()) {
    const statement = connection.statement(sql);
    for (const [row, values] of rows.entries()) {
      const { changes } = statement.run(...values);
      if (touches !== undefined && changes !== touches) return { committed: false, write, row };
    }
  }
  return { committed: true };
}

function appendToJournal(connection: Connection, key: KeyObject | undefined, entries: readonly JournalEntry[]): void {
  if (key === undefined) throw new Error('the journal is written before its key is known');
  const heads = headsOf(connection, entries);
  const grown = extendChains(key, LANE, heads, entries);
  const insert = connection.statement(LINK);
  for (const { account, lane, sequence, environment, at, record, hash } of grown.links)
    insert.run(account, lane, sequence, environment, at, record, hash);
  const seal = connection.statement(SEAL);
  for (const head of grown.heads) seal.run(head.account, head.lane, head.sequence, head.hash, head.seal);
  if (grown.begun !== undefined) register(connection, key, grown.begun);
}

function register(connection: Connection, key: KeyObject, lane: RegisteredLane): void {
  const row = connection.statement(READ_REGISTER).get() as Row | undefined;
  const present = registerWithout(lane.lane, key, row);
  if (present !== undefined) connection.statement(REPLACE_REGISTER).run(...registerLane(key, present, lane));
}

/** Read within the transaction, never remembered: a command is another process that writes the same lane. */
function headsOf(connection: Connection, entries: readonly JournalEntry[]): Map<string, Head> {
  const statement = connection.statement(HEAD);
  const heads = new Map<string, Head>();
  for (const account of new Set(['', ...entries.map((entry) => entry.account)])) {
    const found = statement.get(account, LANE);
    if (found === undefined) continue;
    heads.set(account, { account, lane: LANE, sequence: Number(found['sequence']), hash: String(found['hash']) });
  }
  return heads;
}
