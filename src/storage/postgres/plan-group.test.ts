import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { StoredUnit } from '../account-numbers.ts';
import type { Value } from '../database.ts';
import { planGroup } from './plan-group.ts';

const unit = (...writes: [string, Value[][], (number | undefined)?][]): StoredUnit => ({
  writes: writes.map(([sql, rows, expectedRows]) =>
    expectedRows === undefined ? { sql, rows } : { sql, rows, expectedRows },
  ),
});
/** Verb and table of each statement, and its number of runs. */
const shape = (units: readonly StoredUnit[], merge = true): string[] =>
  planGroup(units, merge).map(({ text, values }) => {
    const [, verb, table] = /(insert into|update|delete from) (\w+)/.exec(text) ?? [];
    return `${verb?.split(' ')[0]} ${table} ${text.includes('unnest') ? values[0] : 1}`;
  });

const A = 'insert into a (id, n) values (?, ?)';
const B = 'update b set n = ? where id = ?';
const A2 = 'update a set n = ? where id = ?';
const READS_A = 'insert into c (id) select ? where not exists (select 1 from a where id = ?)';

describe('the plan of a group', () => {
  test('runs of one text are merged, and those of a unit keep their order', () => {
    const one = unit([A, [['x', 1]], 1], [B, [[1, 'x']], 1]);
    assert.deepEqual(shape([one, one, one]), ['insert a 3', 'update b 3']);
    assert.deepEqual(
      shape([
        unit([
          A,
          [
            ['x', 1],
            ['y', 2],
          ],
          1,
        ]),
      ]),
      ['insert a 2'],
    );
    assert.deepEqual(shape([unit([B, [[1, 'x']], 1], [A, [['x', 1]], 1], [B, [[1, 'x']], 1])]), [
      'update b 1',
      'insert a 1',
      'update b 1',
    ]);
  });

  test('no run moves before another statement on its table', () => {
    const one = unit([A, [['x', 1]], 1], [A2, [[1, 'x']], 1]);
    assert.deepEqual(shape([one, one]), ['insert a 1', 'update a 1', 'insert a 1', 'update a 1']);
  });

  test('no run moves before a statement that may read its table', () => {
    const one = unit([A, [['x', 1]], 1], [READS_A, [['x', 'y']], 1]);
    assert.deepEqual(shape([one, one]), ['insert a 1', 'insert c 1', 'insert a 1', 'insert c 1']);
  });

  test('units that start with the same text are adjacent', () => {
    const [one, other] = [unit([A, [['x', 1]], 1]), unit([A2, [[1, 'x']], 1])];
    assert.deepEqual(shape([one, other, one, other]), ['insert a 2', 'update a 2']);
  });

  test('only runs that must touch one row are merged', () => {
    for (const expectedRows of [undefined, 0, 2]) {
      const one = unit([
        B,
        [
          [1, 'x'],
          [2, 'y'],
        ],
        expectedRows,
      ]);
      assert.deepEqual(shape([one, one]), ['update b 1', 'update b 1', 'update b 1', 'update b 1']);
    }
    assert.deepEqual(
      shape(
        [
          unit([
            B,
            [
              [1, 'x'],
              [2, 'y'],
            ],
            1,
          ]),
        ],
        false,
      ),
      ['update b 1', 'update b 1'],
    );
  });

  test('no values are dropped or added', () => {
    const rows: Value[][] = [['x', 1], ['y', 2, 'more'], ['z']];
    const plan = planGroup(
      rows.map((row) => unit([A, [row], 1])),
      true,
    );
    assert.deepEqual(
      plan.map(({ values }) => values),
      rows.map((row) => [...row, 1]),
    );
  });

  test('values of different types are not merged', () => {
    const rows = [
      ['x', 1],
      [7, 2],
    ];
    assert.equal(planGroup([unit(['insert into a (id, k) values (?, ?)', rows, 1])], true).length, 2);
  });

  test('writes without rows are omitted', () => assert.deepEqual(shape([unit([A, [], 1]), unit()]), []));

  test('each text has one name, up to a thousand texts', async () => {
    // A second instance of the module: other tests of this process name texts with the first one.
    const url = new URL('./statements.ts?without-names', import.meta.url).href;
    const { statement } = (await import(url)) as typeof import('./statements.ts');
    const named = Array.from({ length: 1500 }, (_, index) => statement(`select ${index}`).name);
    assert.equal(new Set(named.slice(0, 1000)).size, 1000);
    assert.deepEqual(new Set(named.slice(1000)), new Set(['']));
    assert.equal(statement('select 1').name, named[1]);
  });
});
