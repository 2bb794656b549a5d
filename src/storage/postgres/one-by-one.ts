import type { Unit, Value } from '../database.ts';
import type { GroupResult } from '../group.ts';
import { type Connection, ConnectionLost } from './connection.ts';
import { plain } from './statements.ts';
import { concernsAll, sqlState, TRY_AGAIN } from './states.ts';

interface Run {
  readonly sql: string;
  readonly values: readonly Value[];
  readonly touches: number | undefined;
  /** Where it stands in the unit. */
  readonly write: number;
  readonly row: number;
}

/** Inside a transaction: each unit behind a savepoint, so that one that fails is undone alone. */
export async function runOneByOne(connection: Connection, units: readonly Unit[]): Promise<GroupResult[]> {
  const results: GroupResult[] = [];
  for (const unit of units) results.push(await runUnit(connection, unit));
  return results;
}

async function runUnit(connection: Connection, unit: Unit): Promise<GroupResult> {
  const runs = runsOf(unit);
  const [begun, ...answers] = await Promise.allSettled([
    connection.command('savepoint unit'),
    ...runs.map(({ sql, values }) => connection.result(plain(sql, values))),
  ]);
  if (begun.status === 'rejected') throw begun.reason;
  const result = resultOf(
    runs,
    answers.map((answer) =>
      answer.status === 'fulfilled' ? { touched: answer.value.rowCount ?? 0 } : { error: answer.reason as unknown },
    ),
  );
  if (!('committed' in result && result.committed)) await connection.command('rollback to savepoint unit');
  await connection.command('release savepoint unit');
  return result;
}

const runsOf = ({ writes }: Unit): Run[] =>
  writes.flatMap(({ sql, rows, touches }, write) => rows.map((values, row) => ({ sql, values, touches, write, row })));

/** The first run that did not do what it had to decides, as if none had come after it. */
function resultOf(
  runs: readonly Run[],
  answers: readonly ({ readonly touched: number } | { readonly error: unknown })[],
): GroupResult {
  for (const [index, { touches, write, row }] of runs.entries()) {
    const answer = answers[index] ?? { touched: 0 };
    if ('error' in answer) {
      const { error } = answer;
      const state = sqlState(error);
      if (error instanceof ConnectionLost || concernsAll(error) || TRY_AGAIN.has(state ?? '')) throw error;
      return { error: `a write failed: ${state ?? 'unknown'}` };
    }
    if (touches !== undefined && answer.touched !== touches) return { committed: false, write, row };
  }
  return { committed: true };
}
