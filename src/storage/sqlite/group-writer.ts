import type { KeyObject } from 'node:crypto';
import type { JournalEntry, Outcome, Unit } from '../database.ts';
import type { GroupResult } from '../group.ts';
import { emptyHead, type Head, linkAfter, sealHead } from '../journal.ts';
import type { Connection } from './open.ts';

/** SQLite has one writer at a time, so its journal has one lane. */
const LANE = 1;

const HEAD = 'select sequence, hash from journal_heads where lane = ?';
const LINK =
  'insert into journal (lane, sequence, account, environment, at, record, hash) values (?, ?, ?, ?, ?, ?, ?)';
const SEAL = `insert into journal_heads (lane, sequence, hash, seal) values (?, ?, ?, ?)
  on conflict (lane) do update set sequence = excluded.sequence, hash = excluded.hash, seal = excluded.seal`;

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
  const found = connection.statement(HEAD).get(LANE);
  let head: Head =
    found === undefined
      ? emptyHead(LANE)
      : { lane: LANE, sequence: Number(found['sequence']), hash: String(found['hash']) };
  const insert = connection.statement(LINK);
  for (const entry of entries) {
    const link = linkAfter(head, entry);
    insert.run(link.lane, link.sequence, link.account, link.environment, link.at, link.record, link.hash);
    head = link;
  }
  connection.statement(SEAL).run(head.lane, head.sequence, head.hash, sealHead(key, head));
}
