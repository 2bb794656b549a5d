import type { Unit, Value } from '../database.ts';
import { canMerge, checkedRun, mergedRuns, plain, type Statement } from './statements.ts';

/** Runs of one statement, of different units, that take place at the same time. */
interface Stage {
  readonly sql: string;
  readonly touches: number | undefined;
  readonly rows: (readonly Value[])[];
}

/**
 * The statements that do all of a group at once: those of equal text that touch one row each become one. The writes of a
 * unit keep their order. When every check holds, the group did what its units would have done one after the other; when
 * one does not, the transaction fails as a whole, and the units are run one by one.
 */
export function planGroup(units: readonly Unit[], merge: boolean): Statement[] {
  const stages: Stage[] = [];
  /** Where runs of a text were put last. */
  const latest = new Map<string, number>();
  for (const unit of units) {
    let after = -1;
    for (const { sql, rows, touches } of unit.writes) {
      if (rows.length === 0) continue;
      const mergeable = merge && touches === 1 && canMerge(sql);
      const found = mergeable ? (latest.get(sql) ?? -1) : -1;
      if (found > after) {
        stages[found]?.rows.push(...rows);
        after = found;
      } else {
        after = stages.push({ sql, touches, rows: [...rows] }) - 1;
        if (mergeable) latest.set(sql, after);
      }
    }
  }
  return stages.flatMap((stage) => statementsOf(stage, merge));
}

function statementsOf({ sql, rows, touches }: Stage, merge: boolean): Statement[] {
  const all = merge && touches === 1 && rows.length > 1 ? mergedRuns(sql, rows) : undefined;
  if (all !== undefined) return [all];
  return rows.map((row) => (touches === undefined ? plain(sql, row) : checkedRun(sql, row, touches)));
}
