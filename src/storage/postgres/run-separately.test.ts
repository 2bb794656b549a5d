import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StoredUnit } from '../account-numbers.ts';
import type { Connection } from './connection.ts';
import { runSeparately } from './run-separately.ts';

const ABORTED = Object.assign(new Error('aborted'), { code: '25P02' });
const CONFLICT = Object.assign(new Error('division by zero'), { code: '22012' });

/** Answers as a server does whose transaction is aborted from a failed statement to the next rollback. */
function serverOf(isConflict: (id: unknown) => boolean) {
  let aborted = false;
  const counts = { statements: 0, inserted: [] as unknown[] };
  const run = async ({ text, values = [] }: { text: string; values?: readonly unknown[] }): Promise<unknown[]> => {
    counts.statements++;
    if (text.startsWith('rollback to savepoint')) aborted = false;
    if (aborted) throw ABORTED;
    if (!text.includes('insert')) return [];
    if (isConflict(values.at(-1))) {
      aborted = true;
      throw CONFLICT;
    }
    counts.inserted.push(values.at(-1));
    return [];
  };
  return { connection: { run } as unknown as Connection, counts };
}

const unitsOf = (number: number): StoredUnit[] =>
  Array.from({ length: number }, (_, id) => ({ writes: [{ sql: 'insert into a (id) values (?)', rows: [[id]] }] }));

test('units that fail do not make those behind them be sent again and again', async () => {
  const { connection, counts } = serverOf((id) => Number(id) > 0);
  const results = await runSeparately(connection, unitsOf(200));
  assert.deepEqual(counts.inserted, [0]);
  assert.equal(results.filter((result) => 'error' in result).length, 199);
  assert.ok(counts.statements < 200 * 3 * 3, String(counts.statements));
});

test('a unit that fails leaves those before and behind it committed', async () => {
  const { connection, counts } = serverOf((id) => id === 40 || id === 41 || id === 99);
  const results = await runSeparately(connection, unitsOf(100));
  const failed = results.flatMap((result, index) => ('error' in result ? [index] : []));
  assert.deepEqual(failed, [40, 41, 99]);
  // The units behind a failed one were executed once each; those before it were not repeated.
  assert.deepEqual(
    counts.inserted,
    Array.from({ length: 100 }, (_, id) => id).filter((id) => !failed.includes(id)),
  );
});
