import type { StoredUnit } from '../account-numbers.ts';
import type { GroupResult } from '../group-commit.ts';
import { type Connection, ConnectionLost } from './connection.ts';
import { failure, isServerFault, RETRYABLE, sqlState } from './sqlstate.ts';
import { CHECK_FAILED, checkedRun, plain, type Statement, simple } from './statements.ts';

interface WritePosition {
  readonly unit: number;
  readonly write: number;
  readonly row: number;
}

interface SavepointStep {
  readonly statement: Statement;
  /** The run of a write; undefined for savepoints. */
  readonly at?: WritePosition;
}

const step = (text: string): SavepointStep => ({ statement: simple(text) });
const BEGIN = step('savepoint unit');
const END = step('release savepoint unit');
const UNDO = step('rollback to savepoint unit; release savepoint unit');

/**
 * Runs units inside a transaction, each behind a savepoint, so that a unit that fails is rolled back alone. All are
 * sent together. The server skips the statements behind a failed run; its unit is rolled back, and the units behind it
 * are sent again: first one, then twice as many as before as long as none fails. Where one unit fails the next often
 * does as well, and all of those behind it would be sent as often as units fail.
 */
export async function runSeparately(connection: Connection, units: readonly StoredUnit[]): Promise<GroupResult[]> {
  const results = units.map((): GroupResult => ({ committed: true }));
  let undo: SavepointStep[] = [];
  let count = units.length;
  for (let next = 0; next < units.length || undo.length > 0; ) {
    const sent = units.slice(next, next + count);
    const steps = [...undo, ...sent.flatMap((unit, index) => toSteps(unit, next + index))];
    const answers = await Promise.allSettled(steps.map(({ statement }) => connection.run(statement)));
    const failed = answers.findIndex(({ status }) => status === 'rejected');
    const answer = answers[failed];
    if (answer?.status === 'rejected') {
      const position = steps[failed]?.at;
      if (position === undefined) throw answer.reason;
      results[position.unit] = toResult(position, answer.reason);
      next = position.unit + 1;
      undo = [UNDO];
      count = 1;
    } else {
      next += sent.length;
      undo = [];
      count *= 2;
    }
  }
  return results;
}

function toSteps({ writes }: StoredUnit, unit: number): SavepointStep[] {
  const runs = writes.flatMap(({ sql, rows, expectedRows }, write) =>
    rows.map((values, row) => ({
      statement: expectedRows === undefined ? plain(sql, values) : checkedRun(sql, values, expectedRows),
      at: { unit, write, row },
    })),
  );
  return [BEGIN, ...runs, END];
}

function toResult({ write, row }: WritePosition, error: unknown): GroupResult {
  const state = sqlState(error) ?? '';
  if (error instanceof ConnectionLost || isServerFault(error) || RETRYABLE.has(state)) throw error;
  return state === CHECK_FAILED ? { committed: false, write, row } : { error: failure(error).message };
}
