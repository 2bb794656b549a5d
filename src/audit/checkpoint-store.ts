import { blob, type Database, integer, type Row, text, type Write, write } from '../storage/database.ts';
import type { Table } from '../storage/table.ts';
import type { SignedStatement } from './statements.ts';

/** Signed statements about the log. They protect themselves: without the signing key none can be written or changed. */
export const TABLES: readonly Table[] = [
  {
    name: 'audit_checkpoints',
    key: ['account', 'number'],
    columns: {
      account: 'integer',
      number: 'integer',
      at: 'integer',
      statement: 'text',
      key_id: 'text',
      signature: 'blob',
    },
  },
  {
    name: 'audit_beginnings',
    key: ['account', 'part'],
    columns: { account: 'integer', part: 'integer', statement: 'text', key_id: 'text', signature: 'blob' },
  },
];

const PAGE = 50;
const COLUMNS = 'number, at, statement, key_id, signature';
const LIST = `select ${COLUMNS} from audit_checkpoints where account = 0 and number > ? order by number limit ${PAGE}`;
const NEWEST = `select ${COLUMNS} from audit_checkpoints where account = 0 order by number desc limit 1`;
/** The key holds one checkpoint of each number, so that two nodes never write different ones. */
const INSERT = `insert into audit_checkpoints (account, ${COLUMNS}) values (0, ?, ?, ?, ?, ?) on conflict do nothing`;
/** Up to the first that remains: with a clock that was set back or forward, later ones can have earlier times. */
const DELETE_BEFORE = `delete from audit_checkpoints where account = 0 and at < ? and number <
  coalesce((select min(number) from audit_checkpoints where account = 0 and at >= ?), ${Number.MAX_SAFE_INTEGER})`;

const LIST_BEGINNINGS =
  'select part, statement, key_id, signature from audit_beginnings where account = 0 and part > ? order by part limit 1';
const DELETE_FIRST_BEGINNING = 'delete from audit_beginnings where account = 0 and part = 1 and signature = ?';
const DELETE_BEGINNINGS = 'delete from audit_beginnings where account = 0';
const INSERT_BEGINNING = `insert into audit_beginnings (account, part, statement, key_id, signature) values (0, ?, ?, ?, ?)
  on conflict do nothing`;

export interface StoredCheckpoint extends SignedStatement {
  readonly kind: 'checkpoint';
  readonly number: number;
  /** Unix time in milliseconds. */
  readonly at: number;
}

/** Returns the checkpoints behind a number, in order. */
export async function* listCheckpoints(database: Database, after = 0): AsyncGenerator<StoredCheckpoint> {
  for (let last = after; ; ) {
    const rows = await database.read(LIST, last);
    for (const row of rows) yield toCheckpoint(row);
    const newest = rows.at(-1);
    if (newest === undefined || rows.length < PAGE) return;
    last = integer(newest, 'number');
  }
}

export async function findNewestCheckpoint(database: Database): Promise<StoredCheckpoint | undefined> {
  const [row] = await database.read(NEWEST);
  return row && toCheckpoint(row);
}

/** Conflicts when another node has written a checkpoint of this number. */
export const insertCheckpoint = ({ number, at, statement, keyId, signature }: StoredCheckpoint): Write =>
  write(INSERT, [number, at, statement, keyId, signature], 1);

export const deleteCheckpointsBefore = (at: number): Write => write(DELETE_BEFORE, [at, at]);

/** Returns the statements about the beginning of the log, one in memory at a time; none for a log that was never pruned. */
export async function* listBeginnings(database: Database): AsyncGenerator<SignedStatement> {
  for (let last = 0; ; ) {
    const [row] = await database.read(LIST_BEGINNINGS, last);
    if (row === undefined) return;
    last = integer(row, 'part');
    yield { kind: 'beginning', ...toSigned(row) };
  }
}

/**
 * Replaces the beginning of the log. Conflicts when it is no longer `before`: another pruning has replaced it. Absent
 * `before`: nothing was removed so far.
 */
export const replaceBeginnings = (
  before: SignedStatement | undefined,
  statements: readonly SignedStatement[],
): Write[] => [
  ...(before === undefined ? [] : [write(DELETE_FIRST_BEGINNING, [before.signature], 1), write(DELETE_BEGINNINGS, [])]),
  {
    sql: INSERT_BEGINNING,
    rows: statements.map(({ statement, keyId, signature }, index) => [index + 1, statement, keyId, signature]),
    expectedRows: 1,
  },
];

const toSigned = (row: Row): Omit<SignedStatement, 'kind'> => ({
  statement: text(row, 'statement'),
  keyId: text(row, 'key_id'),
  signature: blob(row, 'signature'),
});

const toCheckpoint = (row: Row): StoredCheckpoint => ({
  kind: 'checkpoint',
  number: integer(row, 'number'),
  at: integer(row, 'at'),
  ...toSigned(row),
});
