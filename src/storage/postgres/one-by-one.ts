import type { Unit } from '../database.ts';
import type { GroupResult } from '../group.ts';
import { type Connection, ConnectionLost } from './connection.ts';
import { CHECK_FAILED, checkedRun, plain, type Statement, simple } from './statements.ts';
import { concernsAll, failure, sqlState, TRY_AGAIN } from './states.ts';

interface Place {
  readonly unit: number;
  readonly write: number;
  readonly row: number;
}

interface Step {
  readonly statement: Statement;
  /** The run of a write that it is; savepoints are none. */
  readonly at?: Place;
}

const step = (text: string): Step => ({ statement: simple(text) });
const BEGIN = step('savepoint unit');
const END = step('release savepoint unit');
const UNDO = step('rollback to savepoint unit; release savepoint unit');

/**
 * Inside a transaction: each unit behind a savepoint, so that one that fails is undone alone. All are sent at once. The
 * server skips what stands behind a run that fails; its unit is undone, and those behind it are sent again. So it takes a
 * round trip, and one more for each unit that fails.
 */
export async function runOneByOne(connection: Connection, units: readonly Unit[]): Promise<GroupResult[]> {
  const results = units.map((): GroupResult => ({ committed: true }));
  let undo: Step[] = [];
  for (let next = 0; ; ) {
    const steps = [...undo, ...units.slice(next).flatMap((unit, index) => stepsOf(unit, next + index))];
    const answers = await Promise.allSettled(steps.map(({ statement }) => connection.run(statement)));
    const failed = answers.findIndex(({ status }) => status === 'rejected');
    const answer = answers[failed];
    if (answer?.status !== 'rejected') return results;
    const place = steps[failed]?.at;
    if (place === undefined) throw answer.reason;
    results[place.unit] = resultOf(place, answer.reason);
    next = place.unit + 1;
    undo = [UNDO];
  }
}

function stepsOf({ writes }: Unit, unit: number): Step[] {
  const runs = writes.flatMap(({ sql, rows, touches }, write) =>
    rows.map((values, row) => ({
      statement: touches === undefined ? plain(sql, values) : checkedRun(sql, values, touches),
      at: { unit, write, row },
    })),
  );
  return [BEGIN, ...runs, END];
}

function resultOf({ write, row }: Place, error: unknown): GroupResult {
  const state = sqlState(error) ?? '';
  if (error instanceof ConnectionLost || concernsAll(error) || TRY_AGAIN.has(state)) throw error;
  return state === CHECK_FAILED ? { committed: false, write, row } : { error: failure(error).message };
}
