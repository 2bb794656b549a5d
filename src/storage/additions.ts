import type { StoredUnit } from './account-numbers.ts';
import type { Addition, Value } from './database.ts';

const toValues = ({ key, numbers }: Addition, lane: number): readonly Value[] => [...key, lane, ...numbers];

/** Returns the unit with its additions as writes, each of which touches one row. */
export const withAdditions = (unit: StoredUnit, additions: readonly Addition[], lane: number): StoredUnit => ({
  ...unit,
  writes: [
    ...unit.writes,
    ...additions.map((addition) => ({ sql: addition.sql, rows: [toValues(addition, lane)], expectedRows: 1 })),
  ],
});

/**
 * Returns one run for each row of totals that the units add to, always in the same order, so that transactions that add to
 * the same rows do not wait for each other in a circle.
 */
export function mergeAdditions(
  units: readonly StoredUnit[],
  lane: number,
): { readonly sql: string; readonly values: readonly Value[] }[] {
  const merged = new Map<string, Addition>();
  for (const { additions = [] } of units) {
    for (const addition of additions) {
      const row = JSON.stringify([addition.sql, addition.key]);
      merged.set(row, sum(merged.get(row), addition));
    }
  }
  return [...merged]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([, addition]) => ({ sql: addition.sql, values: toValues(addition, lane) }));
}

const sum = (before: Addition | undefined, addition: Addition): Addition =>
  before === undefined
    ? addition
    : { ...addition, numbers: addition.numbers.map((number, index) => number + (before.numbers[index] ?? 0)) };
